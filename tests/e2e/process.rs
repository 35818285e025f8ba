//! Processes that tests wait for, look at and signal.

use std::process::Command;
use std::time::{Duration, Instant};

/// Waits for something that must happen soon, and on a slow machine a little later.
#[track_caller]
pub(crate) fn wait_for(mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never happened");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Whether a process has `word` in its command line.
pub(crate) fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(word))
}

/// Sends a signal (`-INT`) to a process that is there.
pub(crate) fn signal(name: &str, pid: impl ToString) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}
