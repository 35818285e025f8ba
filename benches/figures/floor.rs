//! What the machine itself costs: starting a program, and getting bytes onto the disk.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench_home::BenchHome;

/// The median time of `runs` runs of what `command` builds; each must succeed.
pub(crate) fn median(runs: usize, mut command: impl FnMut() -> Command) -> Duration {
    let mut times: Vec<Duration> = (0..runs).map(|_| timed(command())).collect();
    times.sort();
    times[runs / 2]
}

/// How long it runs; it must succeed.
pub(crate) fn timed(mut command: Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    assert!(command.status().unwrap().success(), "{command:?} failed");
    begun.elapsed()
}

/// The median time of one small `write` + `fdatasync` in `dir`.
pub(crate) fn sync_time(dir: &Path) -> Duration {
    let mut file = File::create(dir.join("sync")).unwrap();
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let begun = Instant::now();
            file.write_all(&[b'x'; 512]).unwrap();
            file.sync_data().unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[50]
}

/// How many syncs a program makes.
#[derive(Clone, Copy)]
pub(crate) enum Syncs {
    /// Counted by strace.
    Counted(u32),
    /// No strace here: as it was counted when this was written.
    Assumed(u32),
}

impl Syncs {
    /// Counts those of one run of `program`, its children included.
    pub(crate) fn of(home: &BenchHome, program: &str, args: &[String]) -> Syncs {
        let log = home.dir().join("strace");
        let mut strace = home.command("strace");
        strace.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,syncfs,sync_file_range", "-o"]).arg(&log);
        let traced = strace.arg(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !traced.is_ok_and(|status| status.success()) {
            return Syncs::Assumed(if program.ends_with("uwf") { 14 } else { 8 });
        }
        let text = std::fs::read_to_string(log).unwrap();
        Syncs::Counted(
            text.lines().filter(|line| line.contains("sync") && line.contains("= 0")).count() as u32
        )
    }

    pub(crate) fn count(self) -> u32 {
        match self {
            Syncs::Counted(count) | Syncs::Assumed(count) => count,
        }
    }
}

impl fmt::Display for Syncs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Syncs::Counted(count) => write!(f, "{count}"),
            Syncs::Assumed(count) => write!(f, "about {count}"),
        }
    }
}
