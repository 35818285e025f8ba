//! How a visit opens: one that nobody has begun, or one that was interrupted.

use std::path::Path;

use serde_json::{Value, json};
use uwf_engine::journals::JournalName;
use uwf_engine::thread::COMPACT;
use uwf_engine::{RoleContext, ThreadId};
use uwf_prompts::{INTERRUPTED, PromptError, WorkspaceView};
use uwf_tools::sandbox::Network;

use super::VisitContext;
use crate::conversation::Conversation;
use crate::external::process::ExternalAgent;
use crate::journal::{self, Entry, FindError, Journal, Surroundings, ToolFacts};
use crate::project::ProjectWords;
use crate::provider::message::Message;
use crate::resume::{ResumedRun, claim};
use crate::role_run::{RunError, journals_dir};
use crate::run_state::RunState;

/// What the role is told on this visit, where nothing of it is known.
pub(super) fn opening(
    context: &RoleContext,
    (workspace, project): (&Path, &ProjectWords),
) -> Result<Conversation, PromptError> {
    let root = workspace.display().to_string();
    let workspace = WorkspaceView { root: &root, tools: &[], own_tools: true };
    project.with_view(|project| Conversation::open(context, (&workspace, project)))
}

/// What the project says of itself, as far as the agent does not read it by itself; nothing to whoever sums a thread up, who has all
/// that it needs.
fn project(context: &RoleContext, place: &VisitContext<'_>) -> ProjectWords {
    if context.role_name == COMPACT {
        return ProjectWords::default();
    }
    let text =
        |path: &str, most: usize| uwf_tools::text_in(place.workspace, &[place.home, place.ocas], path, most);
    ProjectWords::unread(&text, &place.shared.project, &place.agent.definition.reads)
}

/// A visit that nobody has begun. In a session of earlier visits these are not told again.
pub(super) fn begun(
    context: &RoleContext,
    place: &VisitContext<'_>,
    has_session: bool,
) -> Result<(Journal, RunState), RunError> {
    let dir = journals_dir(place.home);
    let name =
        JournalName { thread: context.thread, head: context.head, session: ThreadId::new((place.clock)()) };
    let project = project(context, place);
    let conversation = opening(context, (place.workspace, &project))?;
    let opening: Vec<&Message> = match conversation.messages() {
        [rules, .., last] if has_session => vec![rules, last],
        all => all.iter().collect(),
    };
    let failed = |source| RunError::Journal { dir: dir.display().to_string(), source };
    let claimed = place.claim.map(|wanted| claim(&dir, wanted)).transpose();
    let _claim = claimed.map_err(|error| match error {
        FindError::Io { source, .. } => failed(source),
        taken => RunError::Taken(taken),
    })?;
    let mut journal = Journal::create(&dir, name).map_err(failed)?;
    let run = Entry::Run {
        version: journal::VERSION,
        session: journal.session().to_owned(),
        thread: context.thread.to_string(),
        role: context.role_name.clone(),
        head: context.head,
        prompt: context.edge_prompt.clone(),
        stand_alone: false,
        workspace: place.workspace.display().to_string(),
        at: (place.clock)(),
        settings: settings(place),
        sandbox: place.sandbox.clone(),
        tools: Vec::new(),
        opening: opening.len(),
        surroundings: surroundings(place),
        project,
    };
    journal.append(run).map_err(failed)?;
    for message in opening {
        let said = Entry::Said { message: message.clone(), near: None, at: (place.clock)() };
        journal.append(said).map_err(failed)?;
    }
    let state = RunState::default().after(journal.entries()).map_err(|(_, error)| error)?;
    Ok((journal, state))
}

/// A visit that was begun.
pub(super) fn resumed(
    earlier: ResumedRun,
    place: &VisitContext<'_>,
) -> Result<(Journal, RunState), RunError> {
    let dir = journals_dir(place.home).display().to_string();
    let mut state = RunState::default().after(earlier.journal.entries()).map_err(|(_, error)| error)?;
    let set = (settings(place), place.sandbox, surroundings(place));
    let failed = |source| RunError::Journal { dir: dir.clone(), source };
    let mut journal = earlier.resume(&mut state, set, place.clock).map_err(failed)?;
    // Calls that the agent had made, of which nothing else was written.
    let open = state.turn.as_ref().map(|turn| turn.calls.clone()).unwrap_or_default();
    let open = if state.ended.is_none() { open } else { Vec::new() };
    for call in &open {
        let message = Message::result(&call.id, INTERRUPTED);
        let facts = ToolFacts { is_error: true, cancelled: true, ..ToolFacts::default() };
        let entry = Entry::Finished { message, at: (place.clock)(), duration_ms: 0, facts };
        state.apply(journal.append(entry).map_err(failed)?)?;
    }
    Ok((journal, state))
}

fn surroundings(place: &VisitContext<'_>) -> Surroundings {
    let env = place.agent.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Surroundings::of(&env.collect::<Vec<_>>(), false)
}

/// What holds for the visit, without keys.
fn settings(place: &VisitContext<'_>) -> Value {
    let ExternalAgent { definition, file, passed, model, .. } = place.agent;
    json!({
        "agent": definition.name, "program": file, "model": model,
        "arguments": uwf_engine::config::masked(&json!(passed), "args"),
        "definition": definition.file.as_ref().map_or("shipped".into(), |file| file.display().to_string()),
        "sandbox": sandbox(place),
        "snapshots": {"enabled": true},
    })
}

/// What it is confined to: what was asked for, and of the network what holds.
fn sandbox(place: &VisitContext<'_>) -> Value {
    let network = matches!(place.sandbox.network, Network::Open | Network::None);
    let asked = place.agent.confined_by.map(|by| by.asked.clone().settings().describe());
    let mut sandbox = asked.unwrap_or_else(|| json!({"level": place.sandbox.level}));
    sandbox["network"] = json!(network);
    sandbox
}
