//! What a run costs on the disk: nodes and bytes by schema, before and after what nobody needs is collected, and the bytes
//! of its record beside those that were said in it: `cargo bench --bench disk`. Bytes are those in the files; what a file
//! system takes for them beside is its own.
//!
//! Not a test, though nothing of it is a matter of the machine but time and memory.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that cannot be made says so by panicking"
)]

#[expect(dead_code, reason = "shared with the other figures, which need more of it")]
#[path = "figures/bench_home.rs"]
mod bench_home;
#[path = "disk/kept.rs"]
mod kept;
#[path = "disk/said.rs"]
mod said;

use std::fmt::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bench_home::BenchHome;
use kept::Kept;
use said::said;

const TURNS: usize = 100;

/// How much larger than what was said its record may be.
const ALLOWED: f64 = 1.3;

fn main() {
    conversation(4);
    conversation(32);
    conversation(160);
    changes();
}

/// A run that was played.
struct Played {
    before: Kept,
    after: Kept,
    /// The largest resident set, in KiB.
    peak: u64,
    took: Duration,
    thread: String,
}

/// Each turn says some words and reads another file of two kilobytes. The files are no part of what is said: nothing is
/// captured.
fn conversation(lines: usize) {
    let home = BenchHome::new();
    let turn = |n: usize| {
        let line = format!("line of file {n}: the quick brown fox jumps over the lazy dog\n");
        home.write(&format!("work/read{n}.txt"), &line.repeat(lines));
        let words = format!("I look at the next file, number {n}, since the one before it says too little. ")
            .repeat(4);
        format!(
            "  - content: \"{words}\"\n    tool_calls: [{{ name: read_file, arguments: {{ path: read{n}.txt }} }}]\n"
        )
    };
    let run = play(&home, &(0..TURNS).map(turn).collect::<String>(), &["--no-snapshots"]);
    let said = said(&home, &run.thread);
    let kept = run.after.bytes_since(&run.before);
    println!("{TURNS} turns that say some words and read {lines} lines, one after the other\n");
    println!("said, each message once     {said:>10} bytes, {} a turn", said / TURNS as u64);
    let share = kept as f64 / said as f64;
    let verdict = if share <= ALLOWED { "holds" } else { "TOO MUCH" };
    println!("on record                   {kept:>10} bytes, {} a turn", kept / TURNS as u64);
    println!("record / said               {share:>10.2}, allowed {ALLOWED}: {verdict}\n");
    table(&home, &run);
}

/// Each turn has a command that writes ten of a thousand files anew.
fn changes() {
    let home = BenchHome::new();
    home.project(10 * TURNS);
    let turn = |n: usize| {
        let command = format!("for f in d{n}/*; do echo changed >> $f; done");
        format!("  - tool_calls: [{{ name: run_command, arguments: {{ command: \"{command}\" }} }}]\n")
    };
    let run = play(&home, &(0..TURNS).map(turn).collect::<String>(), &[]);
    println!("{TURNS} turns whose commands change {} files, ten a turn\n", 10 * TURNS);
    table(&home, &run);
}

fn play(home: &BenchHome, turns: &str, more: &[&str]) -> Played {
    let script = format!("turns:\n{turns}{}", bench_home::ANSWER);
    let script = home.write("script.yaml", &script);
    let thread = home.thread();
    let before = Kept::of(home);
    let options = [&["--max-turns", "1000", "--mock", &script], more].concat();
    let agent = [&[thread.as_str(), "worker", "--prompt", "Answer."][..], &options].concat();
    let begun = Instant::now();
    let mut child = home.agent(&agent).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let peak = home.peak_memory(&mut child, Duration::from_millis(5));
    let took = begun.elapsed();
    // The visit is over: the engine is given its reply again, and moves the head.
    let agent = format!("{} {}", bench_home::AGENT, options.join(" "));
    let exec = ["thread", "exec", &thread, "--agent", &agent].map(str::to_owned);
    let status = home.uwf(&exec).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.unwrap().success());
    Played { before, after: Kept::of(home), peak, took, thread }
}

/// What the run added, by schema, before and after a collection.
fn table(home: &BenchHome, run: &Played) {
    kept::age(&home.dir().join(".ocas/nodes"));
    let gc = home.uwf(&["cas", "gc"].map(str::to_owned)).stdout(Stdio::null()).status().unwrap();
    assert!(gc.success());
    let collected = Kept::of(home);
    let mut text = format!("{:<26} {:>7} {:>11} {:>9} {:>11}\n", "", "nodes", "bytes", "after gc", "bytes");
    let nodes = |kept: &Kept, name: &str| kept.of_type(name).0.saturating_sub(run.before.of_type(name).0);
    let bytes = |kept: &Kept, name: &str| kept.of_type(name).1.saturating_sub(run.before.of_type(name).1);
    let mut sums = [0; 4];
    for name in run.after.names() {
        let row = [
            nodes(&run.after, name),
            bytes(&run.after, name),
            nodes(&collected, name),
            bytes(&collected, name),
        ];
        if row[0] > 0 {
            writeln!(text, "{name:<26} {:>7} {:>11} {:>9} {:>11}", row[0], row[1], row[2], row[3]).unwrap();
        }
        sums.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
    }
    writeln!(text, "{:<26} {:>7} {:>11} {:>9} {:>11}", "all", sums[0], sums[1], sums[2], sums[3]).unwrap();
    let (before, after) = (run.after.journals, collected.journals);
    writeln!(text, "{:<26} {:>7} {:>11} {:>9} {:>11}", "journal", "", before, "", after).unwrap();
    let (before, after) = (run.after.caches, collected.caches);
    writeln!(text, "{:<26} {:>7} {:>11} {:>9} {:>11}", "cache of the workspace", "", before, "", after)
        .unwrap();
    println!("{text}");
    println!("{:.2} s, peak {:.1} MiB\n", run.took.as_secs_f64(), run.peak as f64 / 1024.0);
}
