//! What an earlier process left of a run: found, taken up again, told.
//!
//! Apart from `run` because an ordinary run needs nothing of it but one look into a directory.

use std::path::{Path, PathBuf};

use crate::shell::{CliError, Session};
use uwf_engine::exec::command_for;
use uwf_engine::{AdapterOutput, AgentRequest, ThreadId, thread};
use uwf_store::Store;

use uwf_agent::journal::{Journals, PassedOver, WantedRun};
use uwf_agent::resume::{self, ResumedRun};
use uwf_agent::role_run;

/// The edge prompt that a visit has when none is given.
pub(crate) fn usual_prompt(store: &Store, request: &AgentRequest) -> Result<Option<String>, CliError> {
    match &request.prompt {
        Some(_) => Ok(None),
        None => Ok(Some(thread::role_context(store, request)?.edge_prompt)),
    }
}

/// The run, if it was begun; people are told of journals that cannot be continued.
pub(crate) fn find(
    journals: &Journals,
    wanted: &WantedRun<'_>,
    session: &mut Session<'_>,
) -> Result<Option<ResumedRun>, CliError> {
    let mut tell = |passed: PassedOver| session.ui.warn(&format!("{passed}. The run starts over"));
    Ok(resume::find(journals, wanted, &mut tell)?)
}

/// The reply of a run that is over: whoever was to be given it may have died before he made use of it.
pub(crate) fn reply(
    store: &Store,
    request: &AgentRequest,
    resumed: &ResumedRun,
    session: &mut Session<'_>,
) -> Result<Option<AdapterOutput>, CliError> {
    let reply = role_run::reply_again(store, request, resumed)?;
    if reply.is_some() {
        session.ui.note("this visit was finished by an earlier process: its reply is given again");
    }
    Ok(reply)
}

/// The request as the run was begun with.
pub(crate) fn request(thread: ThreadId, resumed: &ResumedRun) -> AgentRequest {
    let begun = resumed.header();
    AgentRequest::new(thread, begun.role, Some(begun.prompt.to_owned()), None)
}

/// The directory in which the run began.
pub(crate) fn workspace(resumed: &ResumedRun) -> Result<PathBuf, CliError> {
    let workspace = PathBuf::from(resumed.header().workspace);
    if workspace.is_dir() {
        return Ok(workspace);
    }
    let error = format!("the run was begun in {}, which cannot be used any more", workspace.display());
    Err(CliError::user(error).with_hint("put it back, or start the run over where you are with --fresh"))
}

/// The command that continues an interrupted run in that directory: the one by which it came to be.
pub(super) fn command(store: &Store, request: &AgentRequest, workspace: &Path, stand_alone: bool) -> String {
    match stand_alone {
        true => format!("uwf-builtin run --continue {}", request.thread),
        false => command_of(store, request, workspace, None),
    }
}

/// The same of a visit that an engine asks for, by the agent of that name where an adapter plays it.
pub(super) fn command_of(
    store: &Store,
    request: &AgentRequest,
    workspace: &Path,
    adapted: Option<&str>,
) -> String {
    let (thread, role) = (&request.thread, &request.role);
    // To a shell, `$COMPACT` is a variable.
    let quote = if role.starts_with('$') { "'" } else { "" };
    let role_word = format!("{quote}{role}{quote}");
    let alone = match adapted {
        Some(agent) => format!("uwf adapt {agent} --thread {thread} --role {role_word}"),
        None => format!("uwf-builtin {thread} {role_word}"),
    };
    let prompt = thread::role_context(store, request).map(|context| context.edge_prompt);
    let engines =
        prompt.ok().and_then(|prompt| command_for(store, thread, (role, prompt.as_str()), workspace));
    engines.map_or_else(|| alone.clone(), |command| format!("{command}  (this role alone: {alone})"))
}
