//! The figures we claim of the tools, each beside a floor measured in the same run: `cargo bench -p uwf-tools`.
//!
//! Not a test: machines are noisy. What is measured and its floor take turns, and the median of each counts, so that
//! both meet the same noise. Files are read from the page cache: one turn goes ahead uncounted. `grep`, `list_dir` and
//! `glob` are held against ripgrep (Debian's package `ripgrep`); without it they are left out, and that is said.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement that cannot be made says so by panicking"
)]

#[path = "tools/memory.rs"]
mod memory;
#[path = "tools/turns.rs"]
mod turns;
#[path = "tools/workspace.rs"]
mod workspace;

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use memory::Peak;
use turns::{Times, run, take_turns};
use workspace::BenchWorkspace;

/// How often each of two things is done for one figure.
const TURNS: usize = 15;
/// How often something is measured that takes a good part of a second.
const FEW_TURNS: usize = 5;

const MIB: u64 = 1 << 20;

fn main() {
    if memory::is_asked_for() {
        return memory::measure();
    }
    println!("{:<48} {:>10} {:>10} {:>10}", "figure", "measured", "floor", "allowed");
    commands();
    edits();
    long_file();
    tree();
}

/// `run_command`: what the sandbox and the supervision cost, and what a flood of output does.
fn commands() {
    let workspace = BenchWorkspace::new();
    let bare = || run(workspace.command("bash").args(["-c", "true"]));
    let times = take_turns(TURNS, || workspace.call("run_command", &json!({"command": "true"})), bare);
    claim("run_command true, strict (floor: bash -c true)", times, times.floor + Duration::from_millis(8));

    let flood = "yes 'one line of a command that prints too much' | head -c 200000000";
    let bare = || run(workspace.command("bash").args(["-c", &format!("{flood} | cat > /dev/null")]));
    let times = take_turns(FEW_TURNS, || workspace.call("run_command", &json!({"command": flood})), bare);
    claim("200 MB of output (floor: … | cat > /dev/null)", times, times.floor * 3 / 2);
    let peak = workspace.peak("run_command", &json!({"command": flood}));
    claim_memory("200 MB of output, memory (floor: idle)", peak, 20 * MIB);
}

/// `edit_file`: what is found at once, what is found but for white space, and what is not there.
fn edits() {
    let workspace = BenchWorkspace::new();
    workspace.lines("ten.txt", 10_000_000);
    let content = std::fs::read(workspace.path("ten.txt")).unwrap();
    let middle = workspace::line(workspace::lines_in(10_000_000) / 2);
    let edit = |old: &str, new: &str| json!({"path": "ten.txt", "old_string": old, "new_string": new});
    let write = || workspace.write_synced("floor", &content);
    // There and back, so that each turn finds what it replaces.
    let swap = |one: &str, other: &str| {
        let (mut next, mut then) = (edit(one, other), edit(other, one));
        let call = || {
            workspace.call("edit_file", &next);
            std::mem::swap(&mut next, &mut then);
        };
        take_turns(TURNS, call, write)
    };
    let allowed = Duration::from_millis(100);
    let times = swap(middle.trim_end(), "another line");
    claim("edit of 10 MB (floor: write, fsync)", times, allowed);
    let times = swap(&format!("  {middle}"), "  another line\n");
    claim("edit of 10 MB, alike but for white space", times, allowed);
    let absent = json!({"path": "ten.txt", "old_string": "let nothing = like(this);", "new_string": ""});
    let times = take_turns(TURNS, || workspace.refused("edit_file", &absent), write);
    claim("edit of 10 MB, no match, with its hint", times, allowed);
}

/// `read_file`: a page in the middle of 1 GB.
fn long_file() {
    const BYTES: u64 = 1_000_000_000;
    let workspace = BenchWorkspace::new();
    workspace.lines("long.txt", BYTES);
    let page = json!({"path": "long.txt", "offset": workspace::lines_in(BYTES) / 2});
    let count = || run(workspace.command("wc").args(["-l", "long.txt"]));
    let times = take_turns(FEW_TURNS, || workspace.call("read_file", &page), count);
    claim("a page in the middle of 1 GB (floor: wc -l)", times, times.floor * 13 / 10);
    claim_memory("a page in the middle of 1 GB, memory", workspace.peak("read_file", &page), 10 * MIB);
}

/// `grep`, `list_dir` and `glob` over 50,000 files.
fn tree() {
    if Command::new("rg").arg("--version").output().is_err() {
        println!("grep, list_dir, glob: left out, there is no `rg` to hold them against (Debian: ripgrep)");
        return;
    }
    let workspace = BenchWorkspace::new();
    workspace.tree(500, 100);
    let rg = |args: &[&str]| run(workspace.command("rg").args(args));
    let search = |pattern: &str, literal: bool| {
        let call = json!({"pattern": pattern, "literal": literal});
        let flags: &[&str] = if literal { &["-n", "-F"] } else { &["-n"] };
        take_turns(TURNS, || workspace.call("grep", &call), || rg(&[flags, &[pattern]].concat()))
    };
    let times = search("line 7 of file 31007", true);
    claim("grep, literal, 50,000 files (floor: rg -F)", times, times.floor * 12 / 10);
    let times = search(r"line 1\d of \w+ 3100[0-4]\b", false);
    claim("grep, regex, 50,000 files (floor: rg)", times, times.floor * 12 / 10);

    let files = || rg(&["--files"]);
    let times = take_turns(TURNS, || workspace.call("list_dir", &json!({"depth": 9})), files);
    show("list_dir, 50,000 files (floor: rg --files)", times);
    let times = take_turns(TURNS, || workspace.call("glob", &json!({"pattern": "*.txt"})), files);
    show("glob, 50,000 files (floor: rg --files)", times);
}

fn claim(figure: &str, times: Times, allowed: Duration) {
    let verdict = verdict(times.measured <= allowed);
    let Times { measured, floor } = times;
    println!("{figure:<48} {:>10} {:>10} {:>10} {verdict:>10}", ms(measured), ms(floor), ms(allowed));
}

/// A figure without a claim: its ratio to the floor.
fn show(figure: &str, times: Times) {
    let Times { measured, floor } = times;
    let ratio = measured.as_secs_f64() / floor.as_secs_f64();
    println!("{figure:<48} {:>10} {:>10} {:>10} {ratio:>9.2}×", ms(measured), ms(floor), "-");
}

/// What counts of a call's memory is what it takes beyond the idle program.
fn claim_memory(figure: &str, peak: Peak, over_idle: u64) {
    let verdict = verdict(peak.most < peak.idle + over_idle);
    let [measured, idle, allowed] = [peak.most, peak.idle, peak.idle + over_idle].map(mib);
    println!("{figure:<48} {measured:>10} {idle:>10} {allowed:>10} {verdict:>10}");
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "TOO MUCH" }
}

fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}
