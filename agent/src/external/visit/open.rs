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
use crate::journal::{self, Concern, Entry, FindError, Journal, Surroundings, ToolFacts};
use crate::project::ProjectWords;
use crate::provider::message::{Message, MessageKind};
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

/// Whether the last call of the agent was cut off, and nothing says so yet: its process was killed with ours. Where an agent
/// tells the `sum` of what it cost, it does so at the end of a call.
pub(super) fn cut_off(entries: &[Entry], sums: bool) -> bool {
    let after: Vec<&Entry> =
        entries.iter().rev().take_while(|entry| !matches!(entry, Entry::Asked { .. })).collect();
    let is_told = |entry: &&Entry| match entry {
        // What became of git is told of a call that was cut off, too.
        Entry::Said { message, .. } => message.kind != MessageKind::Closing,
        Entry::Ended { .. } => true,
        Entry::Warned { about, .. } => *about == Concern::Unpriced,
        Entry::Answered { usage, .. } => {
            sums && usage.and_then(|usage| usage.cost_usd).is_some_and(|usd| usd > 0.0)
        }
        _ => false,
    };
    after.len() < entries.len() && !after.iter().any(is_told)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::message::{Speaker, TokenUsage};

    #[test]
    fn a_call_that_nobody_has_heard_the_end_of_was_cut_off() {
        let of = |kind| Message::text(Speaker::Assistant, kind, String::new());
        let message = || of(MessageKind::Turn);
        let asked = || Entry::Asked { at: 0 };
        let answered = |usd: f64| Entry::Answered {
            message: message(),
            at: 0,
            duration_ms: 0,
            usage: Some(TokenUsage { cost_usd: Some(usd), ..TokenUsage::default() }),
            finish_reason: None,
            raw: Value::Null,
        };
        let said = || Entry::Said { message: message(), near: None, at: 0 };
        let warned = || Entry::Warned { about: Concern::Unpriced, message: String::new(), at: 0 };
        assert!(!cut_off(&[said()], true), "there was none");
        assert!(cut_off(&[said(), asked()], true) && cut_off(&[asked(), answered(0.0)], true));
        assert!(!cut_off(&[asked(), answered(0.1)], true), "the sum was told");
        assert!(cut_off(&[asked(), answered(0.1)], false), "the next turn's was not");
        assert!(!cut_off(&[asked(), answered(0.0), said()], true), "a correction comes when it has ended");
        let closing = Entry::Said { message: of(MessageKind::Closing), near: None, at: 0 };
        assert!(cut_off(&[asked(), closing], true));
        assert!(!cut_off(&[asked(), warned()], true) && cut_off(&[asked(), warned(), asked()], true));
    }
}
