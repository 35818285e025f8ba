//! A thread is run as `uwf thread exec` runs one: a process in a group of its own, which ends at the limits of its case.

use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use uwf_agent::runtime::live::LiveReader;
use uwf_engine::ThreadId;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::spawn::{ProcessSpec, Sinks, SpawnError, StopSignal, run_engine_within};

use super::Runner;
use crate::measure::Measured;
use crate::task::Limits;

/// How often it is looked at what a thread has cost.
const LOOK: Duration = Duration::from_millis(500);
/// What a process is told that has to end.
const TERMINATE: usize = 15;

/// How a process that ran a thread ended.
#[derive(Debug)]
pub(super) enum Drove {
    /// By itself, with this status; its last words where it could do nothing.
    Exited {
        /// The exit status; none where a signal ended it.
        status: Option<i32>,
        /// What it said last.
        last_words: String,
    },
    /// It was ended: the case has used up one of its limits.
    Limit {
        /// Which.
        why: String,
        /// Whether another thread would come to it, too.
        is_certain: bool,
    },
    /// It was ended, or not begun: with what was given up before, the case has cost what it may. That is not this thread's doing.
    Paid {
        /// How much.
        why: String,
    },
    /// It was ended: this program is to stop.
    Stopped,
    /// It could not be started, or not be waited for.
    Failed(SpawnError),
}

/// What a case has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    /// Its thread, with the visit that goes on there.
    pub(super) thread: f64,
    /// What was given up before.
    pub(super) given_up: f64,
}

impl Spent {
    /// Why nothing more may be spent, if that is so.
    fn beyond(self, most: f64) -> Option<Drove> {
        let all = self.thread + self.given_up;
        match () {
            () if self.thread > most => {
                let why = format!("it cost ${:.4}, more than ${most}", self.thread);
                Some(Drove::Limit { why, is_certain: false })
            }
            () if self.given_up > 0.0 && all >= most => {
                let why = format!(
                    "it cost ${all:.4} of ${most}, ${:.4} of it for what was given up",
                    self.given_up
                );
                Some(Drove::Paid { why })
            }
            () => None,
        }
    }
}

/// Runs a thread on from where it stands, after `so_far`, which has cost its part of `spent`.
pub(super) fn drive(
    runner: &Runner<'_>,
    thread: &ThreadId,
    (limits, so_far, spent): (&Limits, &Measured, Spent),
) -> Drove {
    let left = u64::from(limits.max_steps).saturating_sub(so_far.steps);
    if left == 0 {
        return Drove::Limit { why: format!("it made {} steps", limits.max_steps), is_certain: true };
    }
    let worked = Duration::try_from_secs_f64(so_far.seconds).unwrap_or_default();
    let time = limits.timeout.saturating_sub(worked);
    let limit = |why| Drove::Limit { why, is_certain: false };
    let late = || limit(format!("it took longer than {}", told(limits.timeout)));
    if time.is_zero() {
        return late();
    }
    if let Some(ended) = limits.cost_usd.and_then(|most| spent.beyond(most)) {
        return ended;
    }
    let command = AgentCommand::new(runner.program, Vec::new());
    let words = ["--quiet", "--format", "json", "--color", "never", "thread", "exec", thread.as_str()];
    let bounds = ["--until-end".to_owned(), "--max-steps".to_owned(), left.to_string()];
    let args = words.map(OsString::from).into_iter().chain(bounds.map(OsString::from)).collect();
    let stop = StopSignal::default();
    let spec = ProcessSpec {
        command: &command,
        file: runner.program,
        args,
        cwd: runner.root,
        env: runner.env,
        deadline: Some(time),
        inherit_stderr: false,
        stop: &stop,
    };
    let (mut too_dear, mut looked) = (None, Instant::now());
    let mut live = LiveReader::new(&runner.homes.uwf);
    let mut idle = || {
        if runner.stop.signal().is_some() {
            stop.cell().store(TERMINATE, Ordering::SeqCst);
        }
        let Some(most) = limits.cost_usd.filter(|_| looked.elapsed() >= LOOK) else { return };
        looked = Instant::now();
        // In this order: what is recorded in between is not counted twice, but at the next look.
        let recorded = Measured::of(runner.store, thread).ok().and_then(|measured| measured.cost_usd);
        let visit = live.run(runner.store, thread).and_then(|run| run.cost_usd);
        let spent = Spent { thread: recorded.unwrap_or(0.0) + visit.unwrap_or(0.0), ..spent };
        if let Some(ended) = spent.beyond(most) {
            too_dear = Some(ended);
            stop.cell().store(TERMINATE, Ordering::SeqCst);
        }
    };
    let mut sinks = Sinks { stdout: &mut |_| (), stderr: &mut |_| (), idle: &mut idle };
    let ran = run_engine_within(&spec, &mut sinks);
    match (ran, too_dear) {
        (_, Some(ended)) => ended,
        (Ok(finished), None) if runner.stop.signal().is_none() => {
            Drove::Exited { status: finished.status.code(), last_words: finished.stderr_tail }
        }
        (Ok(_) | Err(SpawnError::Stopped { .. }), None) => Drove::Stopped,
        (Err(SpawnError::Deadline { .. }), None) => late(),
        (Err(error), None) => Drove::Failed(error),
    }
}

fn told(time: Duration) -> String {
    match time.as_secs() {
        0..120 => format!("{} s", time.as_secs_f64()),
        seconds => format!("{} min", seconds as f64 / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_counts_and_is_not_the_thread_s_doing() {
        let beyond = |thread, given_up| Spent { thread, given_up }.beyond(1.0);
        assert!(beyond(1.0, 0.0).is_none() && beyond(0.25, 0.5).is_none());
        assert!(matches!(beyond(1.5, 0.5), Some(Drove::Limit { is_certain: false, .. })));
        let Some(Drove::Paid { why }) = beyond(0.5, 0.5) else { panic!("both together are too much") };
        assert_eq!(why, "it cost $1.0000 of $1, $0.5000 of it for what was given up");
    }
}
