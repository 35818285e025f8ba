//! Two things done in turns, so that what disturbs one disturbs the other.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The median times of what is measured and of its floor.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) measured: Duration,
    pub(crate) floor: Duration,
}

/// Does each of the two once uncounted, then `turns` times. `turns` is odd.
pub(crate) fn take_turns(turns: usize, mut measured: impl FnMut(), mut floor: impl FnMut()) -> Times {
    measured();
    floor();
    let (mut of_measured, mut of_floor) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        of_measured.push(timed(&mut measured));
        of_floor.push(timed(&mut floor));
    }
    Times { measured: median(of_measured), floor: median(of_floor) }
}

fn timed(work: &mut impl FnMut()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Runs a program to its end. What it prints is read, as a caller would: programs take short cuts towards /dev/null.
pub(crate) fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
}
