//! A thread is taken up again: who plays then and what that role is told, and when there is nothing to take up.

use uwf_workflow::moderator::{Route, RouteError, Target};

use super::invocation::Invocation;
use super::{Engine, ExecError, ExecOptions, LockedThread, Observer, StepReport, step_once};
use crate::lock::ThreadLock;
use crate::thread::{self, Head, Status, ThreadError, ThreadId};
use crate::workflow::{self, Workflow};

/// Takes a suspended thread up again with its suspended role, an ended one by its `$START` edge `resume`, or a paused one
/// with its next step. `text` is what the person has to say, added below the message the thread was left with; a paused
/// one asks nothing.
///
/// # Errors
/// The thread is idle and not paused, or was cancelled, has no edge to begin again by, or the step fails as in [`step_once`]. The head
/// stays where it was.
pub fn resume_once(
    engine: &Engine<'_>,
    lock: &ThreadLock,
    text: Option<&str>,
    options: &ExecOptions,
    observer: &mut dyn Observer,
) -> Result<StepReport, ExecError> {
    let locked = LockedThread::begin(engine, lock)?;
    let thread = locked.thread;
    let resumed = resumed(engine, &thread, (&locked.head, &locked.workflow), text)?;
    thread::unpause(engine.store, &thread)?;
    let Some((role, message)) = resumed else { return step_once(engine, lock, options, observer) };
    let last = locked.head.step().map_or(locked.start.cwd.as_str(), |step| step.cwd.as_str());
    let prompt = joined(&message, text.unwrap_or_default());
    let mut invocation = Invocation::again(role, prompt, last, options);
    if let (Status::Suspended { .. }, Some(step)) = (&locked.head.status, locked.head.step()) {
        invocation = invocation.answering(engine.store, step)?;
    }
    locked.play(&invocation, options, observer)
}

/// An error where [`resume_once`] would not take the thread up again: for whoever has that done where nobody is told.
///
/// # Errors
/// As there, before a role plays.
pub fn check_resumable(engine: &Engine<'_>, thread: &ThreadId, text: Option<&str>) -> Result<(), ExecError> {
    let head = thread::head(engine.store, thread)?;
    let workflow =
        workflow::get(engine.store, &head.start(engine.store)?.workflow).map_err(ThreadError::from)?;
    let head = head.settled(engine.store, &workflow, engine.conditions);
    resumed(engine, thread, (&head, &workflow), text).map(drop)
}

/// Who takes a thread up again, and what that is told; nobody in particular where it was paused between two steps.
fn resumed(
    engine: &Engine<'_>,
    thread: &ThreadId,
    (head, workflow): (&Head, &Workflow),
    text: Option<&str>,
) -> Result<Option<(String, String)>, ExecError> {
    let thread = *thread;
    match &head.status {
        Status::Idle if thread::paused(engine.store, &thread)?.is_some() => {
            match text.is_some_and(|text| !text.trim().is_empty()) {
                true => Err(ExecError::NothingAsked { thread }),
                false => Ok(None),
            }
        }
        Status::Suspended { role, message } => Ok(Some((role.clone(), message.clone()))),
        Status::Ended { .. } => match thread::again(engine.store, workflow, head, engine.conditions) {
            Ok(Route { target: Target::Role(role), prompt, .. }) => Ok(Some((role, prompt))),
            Ok(_)
            | Err(ThreadError::Route(RouteError::UnknownStatus { .. } | RouteError::UnknownRole { .. })) => {
                Err(ExecError::NothingToResume { thread })
            }
            Err(error) => Err(error.into()),
        },
        status => Err(ExecError::NotResumable { thread, status: status.as_str() }),
    }
}

/// The message, a blank line, the text; or the one that is there.
fn joined(message: &str, text: &str) -> String {
    match (message.trim().is_empty(), text.trim().is_empty()) {
        (true, _) => text.to_owned(),
        (false, true) => message.to_owned(),
        (false, false) => format!("{message}\n\n{text}"),
    }
}
