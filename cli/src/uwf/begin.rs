//! A thread is begun: what `uwf thread start` and `uwf run` have in common.

use uwf_store::Hash;

use super::args::Start;
use super::utf8;
use crate::shell::{CliError, Session};
use uwf_engine::log::{Log, LogEvent};
use uwf_engine::thread::{self, ThreadId};
use uwf_engine::workflow::{self, Workflow};

/// A thread that has begun.
pub(super) struct Begun {
    pub(super) thread: ThreadId,
    pub(super) workflow: Hash,
    /// What its workflow is called.
    pub(super) name: String,
}

/// Begins a thread with this task, where `check` has nothing against its workflow in that directory; nothing runs.
pub(super) fn begin(
    session: &mut Session<'_>,
    what: &Start,
    prompt: &str,
    check: impl FnOnce(&Workflow, &str) -> Result<(), CliError>,
) -> Result<Begun, CliError> {
    thread::check_task(prompt)?;
    let directory = utf8(session.directory(what.cwd.as_deref())?)?;
    let store = session.store()?;
    let resolved = workflow::resolve(&store, &what.workflow, &session.cwd)?;
    resolved.checked.iter().for_each(|checked| session.ui.warn_of(checked));
    check(&resolved.workflow(&store)?, &directory)?;
    let workflow = resolved.ensure_stored(&store)?;
    let thread = thread::start(&store, &workflow, prompt, &directory)?;
    let log = Log::new(&session.homes()?.uwf, store.now());
    log.write(&thread, LogEvent::ThreadStarted { workflow: &workflow, name: &resolved.name });
    Ok(Begun { thread, workflow, name: resolved.name })
}
