//! `uwf wait`: until nothing of a thread runs any more.

use std::time::{Duration, Instant};

use super::args::Wait;
use super::watch::{Standing, with_unmade};
use crate::shell::{CliError, Session};
use uwf_agent::live::HomeChanges;
use uwf_engine::{lock, thread};

/// How long nothing must run: one process may follow another.
const QUIET: Duration = Duration::from_millis(300);

/// How long nobody looks by himself: of a process that is killed the kernel says nothing.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn wait(session: &mut Session<'_>, args: &Wait) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(&args.thread)?, session.homes()?, session.store()?);
    thread::entry(&store, &thread)?;
    let begun = Instant::now();
    let mut changes = HomeChanges::of(&homes);
    let is_running = || lock::running(&homes.uwf, &thread).is_running();
    let mut has_run = false;
    loop {
        while is_running() {
            has_run = true;
            let left = args.timeout.map(|timeout| timeout.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                let waited = humantime::format_duration(args.timeout.unwrap_or_default());
                return Err(CliError::user(format!("thread {thread} is still running after {waited}"))
                    .with_hint(format!("`uwf watch {thread}` shows what it does")));
            }
            let wait = left.map_or(LOOK, |left| left.min(LOOK));
            changes.wait(wait, &[]).map_err(|error| CliError::said("cannot wait", error))?;
        }
        if has_run {
            std::thread::sleep(QUIET);
        }
        if !is_running() {
            break;
        }
    }
    let standing = Standing::of(session, (&homes, &store), &thread)?;
    if !has_run && standing.has_never_run(&store) {
        return Err(CliError::user(format!("nothing of thread {thread} runs, nor ever has"))
            .with_hint(format!("run it with `uwf thread exec {thread} --until-end --background`")));
    }
    let view = with_unmade((&homes, &store), standing.view.clone())?;
    session.ui.result(&view, || format!("{}\n", standing.line()))?;
    if let Some(hint) = standing.hint() {
        session.ui.note(&hint);
    }
    standing.exit(session, &homes)
}
