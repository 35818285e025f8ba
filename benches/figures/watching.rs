//! What it costs to watch runs of which nothing is heard.

use std::process::{Child, Stdio};
use std::time::Duration;

use uwf_engine::ThreadId;
use uwf_engine::lock::ThreadLock;
use uwf_store::Hash;

use crate::bench_home::BenchHome;
use crate::threads::Threads;

/// How long it is watched.
const WHILE: Duration = Duration::from_secs(10);

/// Of a core, in percent, while `count` threads run and say nothing.
pub(crate) fn idle(count: usize) -> f64 {
    let home = BenchHome::new();
    let mut threads = Threads::of(&home);
    let written: Vec<ThreadId> =
        (0..count).map(|n| threads.thread(&format!("task {n}"), 3, 0).thread).collect();
    threads.flush();
    let workflow: Hash = "0123456789ABC".parse().unwrap();
    let uwf = home.dir().join(".uwf");
    let locks: Vec<_> =
        written.iter().map(|thread| ThreadLock::acquire(&uwf, thread, &workflow, 1).unwrap()).collect();
    let mut watching = home.uwf(&["watch".to_owned()]).stdout(Stdio::null()).spawn().unwrap();
    // Until it has looked at all of them.
    std::thread::sleep(Duration::from_secs(3));
    let before = ticks(&watching);
    std::thread::sleep(WHILE);
    let used = ticks(&watching) - before;
    watching.kill().unwrap();
    watching.wait().unwrap();
    drop(locks);
    let second = rustix::param::clock_ticks_per_second() as f64;
    used as f64 / second / WHILE.as_secs_f64() * 100.0
}

/// What the process has used of processors, in clock ticks.
fn ticks(process: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
