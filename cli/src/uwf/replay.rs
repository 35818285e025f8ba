//! `uwf replay`: recorded steps, played again; and a live run that branches off one.

use std::path::Path;

use super::args::{AgentFlags, Exec, How, Replay, Rounds};
use crate::builtin::{Host, replay as play};
use crate::shell::{CliError, Session};
use crate::uwf::{checkout, exec, utf8};
use uwf_agent::replay::RecordedRun;
use uwf_engine::thread;

pub(super) fn replay(session: &mut Session<'_>, args: &Replay) -> Result<u8, CliError> {
    if let (Some(turn), Some(dir)) = (args.from, &args.worktree) {
        return branch(session, args, (turn as usize, dir));
    }
    play(session, &args.replay)
}

/// Forks the thread before the step, gives the fork the recorded turns and the files, and runs the step from there.
fn branch(session: &mut Session<'_>, args: &Replay, (turn, dir): (usize, &Path)) -> Result<u8, CliError> {
    let named = session.step_argument(&args.replay.step)?;
    let host = Host::open(session)?;
    let store = &host.store;
    let step = named.in_thread(store)?;
    step.works_where_its_thread_does(store)?;
    let recorded = RecordedRun::read(store, step.hash)?;
    let part = recorded.until(turn)?;
    utf8(session.cwd.join(dir))?;
    let dir = checkout::make(session, store, (&part.tree()?, dir))?;
    let cwd = utf8(dir.clone())?;
    let from = step.node.prev.unwrap_or(step.node.start);
    let thread = thread::fork_into(store, &from, &cwd)?;
    host.offline(&dir, false, session, async |context| part.continue_in(thread, context))??;
    session.ui.note(&format!("thread {thread} goes on after turn {turn} of {}, in {cwd}", step.name()));
    let (agent, timeout, sandbox) = (args.agent.clone(), args.timeout, args.sandbox);
    let how = How { cwd: None, flags: AgentFlags { agent, timeout, sandbox, ..AgentFlags::default() } };
    let rounds = Rounds::default();
    let (thread, background, detached) = (thread.to_string(), false, false);
    exec::exec(
        session,
        &Exec { thread, count: 1, until_end: false, max_steps: 1, rounds, background, detached, how },
    )
}
