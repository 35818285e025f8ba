//! The figures we claim, each beside a floor measured in the same run: `cargo bench`.
//! Those of the store are in `store.rs`, those of the tools in `tools/benches/`: `cargo bench -p uwf-tools`.
//!
//! Not a test: machines are noisy. A figure is the median of many runs; its floor is `/bin/true` started the same way,
//! plus, where a run must put things on the disk, as many bare `write` + `fdatasync` as the run makes syncs. With
//! `strace` installed the syncs are counted in this very run; without it they are assumed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that cannot be made says so by panicking"
)]

#[path = "figures/bench_home.rs"]
mod bench_home;
#[path = "figures/floor.rs"]
mod floor;
#[path = "figures/threads.rs"]
mod threads;
#[path = "figures/turns.rs"]
mod turns;
#[path = "figures/watching.rs"]
mod watching;

use std::process::Command;
use std::time::Duration;

use bench_home::{AGENT, BenchHome, UWF};
use floor::{Syncs, median, sync_time, timed};
use threads::{Threads, Written};
use turns::Turns;

/// How often a program is started for one figure.
const RUNS: usize = 31;

/// Syncs of a turn with a tool call.
const SYNCS: u32 = 3;

fn main() {
    // `cargo bench --bench figures -- threads` measures these alone, `-- watching` what watching costs.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("{:<48} {:>10} {:>10}", "figure", "measured", "allowed");
    if wanted.is_empty() {
        single_runs();
    }
    if wanted.is_empty() || wanted.iter().any(|word| word == "watching") {
        for (count, allowed) in [(1, 0.5), (100, 2.0)] {
            share(&format!("uwf watch, {count} running, nothing happens"), watching::idle(count), allowed);
        }
    }
    if wanted.is_empty() || wanted.iter().any(|word| word == "threads") {
        many_threads();
        long_threads();
        pages();
    }
}

/// One program, one run, one step.
fn single_runs() {
    let home = BenchHome::new();
    let floor = median(RUNS, || home.command("/bin/true"));
    let sync = sync_time(&home.dir());
    println!("floor: /bin/true {}, one write + fdatasync {}\n", ms(floor), ms(sync));

    let start = median(RUNS, || home.agent(&["-V"]));
    claim("uwf-builtin -V", start, floor + Duration::from_millis(3));
    let start = median(RUNS, || home.uwf(&["-V".to_owned()]));
    claim("uwf -V", start, floor + Duration::from_millis(3));

    let thread = home.thread();
    let role_run = home.role_run(&thread);
    let syncs = Syncs::of(&home, AGENT, &role_run);
    let run = median(RUNS, || home.agent(&role_run));
    claim(
        &format!("a role run, mock, no tool call ({syncs} syncs)"),
        run,
        floor + sync * syncs.count() + Duration::from_millis(15),
    );

    snapshots();

    let exec = |thread: &str| ["thread", "exec", thread, "--agent", &home.mock_agent()].map(str::to_owned);
    let syncs = Syncs::of(&home, UWF, &exec(&home.thread()));
    let threads: Vec<String> = (0..RUNS).map(|_| home.thread()).collect();
    let mut threads = threads.iter();
    let step = median(RUNS, || home.uwf(&exec(threads.next().unwrap())));
    claim(
        &format!("uwf thread exec, one step, mock ({syncs} syncs)"),
        step,
        floor + sync * syncs.count() + Duration::from_millis(30),
    );

    let peak = home.peak_memory_of_20_tool_calls();
    memory("peak memory, 20 tool calls", peak, 20);
    let floor = home.peak_memory_of_10_commands(0).div_ceil(1024);
    let peak = home.peak_memory_of_10_commands(60_000_000);
    memory(&format!("peak memory, 10 times 60 MB printed (0: {floor} MiB)"), peak, 40);

    turns(&home, sync);

    let (small, large) = (BenchHome::with_nodes(10), BenchHome::with_nodes(100_000));
    let open =
        |home: &BenchHome| median(RUNS, || home.uwf(&["cas", "has", "7VQ43ZSJTEWA7"].map(str::to_owned)));
    let (few, many) = (open(&small), open(&large));
    claim(&format!("a command on 100,000 nodes (on 10: {})", ms(few)), many, few + Duration::from_millis(2));
}

/// What it costs that the workspace is captured, in a project that nothing is changed in.
fn snapshots() {
    let home = BenchHome::new();
    home.project(200);
    let with = home.role_run(&home.thread());
    let without = [with.clone(), vec!["--no-snapshots".to_owned()]].concat();
    // What was written a moment ago is read once more.
    std::thread::sleep(Duration::from_secs(3));
    let [with, without] = in_turn(RUNS, [&|| home.agent(&with), &|| home.agent(&without)]);
    let figure = format!("a role run, 200 files captured (not: {})", ms(without));
    claim(&figure, with, without + Duration::from_millis(3));
}

/// The median times of two that take turns, so that both see the same machine.
fn in_turn(runs: usize, commands: [&dyn Fn() -> Command; 2]) -> [Duration; 2] {
    let (mut ones, mut others): (Vec<_>, Vec<_>) =
        (0..runs).map(|_| (timed(commands[0]()), timed(commands[1]()))).unzip();
    [&mut ones, &mut others].map(|times: &mut Vec<Duration>| {
        times.sort();
        times[runs / 2]
    })
}

/// Lists of 10,000 threads, each with a step.
fn many_threads() {
    let home = BenchHome::new();
    let mut threads = Threads::of(&home);
    (1..10_000).for_each(|n| drop(threads.thread(&format!("task {n}"), 1, 0)));
    let Written { thread: last, .. } = threads.thread("the last task", 1, 0);
    threads.flush();
    let list = |more: &[&str]| {
        let args: Vec<String> =
            ["thread", "list"].iter().chain(more).map(|word| (*word).to_owned()).collect();
        median(RUNS, || home.uwf(&args))
    };
    let allowed = Duration::from_millis;
    claim("thread list, 10,000 threads", list(&[]), allowed(250));
    claim("the same, --take 50", list(&["--take", "50"]), allowed(15));
    // A part of an id is looked for among all; `@` reads where each works, if none works here.
    let show = |name: &str| {
        let args = ["thread", "show", name].map(str::to_owned);
        median(RUNS, || home.uwf(&args))
    };
    claim("thread show @, of 10,000 in this directory", show("@"), allowed(15));
    claim("thread show, by the end of its id", show(&last.as_str()[16..]), allowed(100));
}

/// What must not depend on how long a thread is, and the list of its steps.
fn long_threads() {
    let home = BenchHome::new();
    let mut threads = Threads::of(&home);
    let Written { thread: short, ahead: after_short, .. } = threads.thread("short", 10, RUNS);
    let Written { thread: long, ahead: after_long, .. } = threads.thread("long", 10_000, RUNS);
    threads.flush();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let on = |verb: &str, thread: &str| median(RUNS, || home.uwf(&words(&["thread", verb, thread])));
    let few = on("show", short.as_str());
    claim(&format!("thread show on 10,000 steps (on 10: {})", ms(few)), on("show", long.as_str()), few * 2);
    let list = median(RUNS, || home.uwf(&words(&["step", "list", long.as_str()])));
    claim("step list, 10,000 steps", list, Duration::from_millis(300));
    let exec = |thread: &str, steps: &[uwf_store::Hash]| {
        let mut steps = steps.iter();
        median(RUNS, || {
            let agent = format!("sh -c 'echo {}'", steps.next().unwrap());
            home.uwf(&words(&["thread", "exec", thread, "--agent", &agent]))
        })
    };
    let few = exec(short.as_str(), &after_short);
    let many = exec(long.as_str(), &after_long);
    claim(&format!("exec without its agent on 10,000 steps (on 10: {})", ms(few)), many, few * 2);
}

/// A page of a thread, which costs no more the longer the thread is and wherever in it the page is.
fn pages() {
    let home = BenchHome::new();
    let mut threads = Threads::of(&home);
    let [short, long] = [100, 100_000].map(|steps| threads.thread(&format!("{steps} steps"), steps, 0));
    threads.flush();
    let page = |of: &Written, before: usize| {
        let (thread, before) = (of.thread.to_string(), of.steps[before].to_string());
        let args = ["step", "list", &thread, "--before", &before, "--take", "50"].map(str::to_owned);
        median(RUNS, || home.uwf(&args))
    };
    let few = page(&short, 99);
    for (end, before) in [("deep", 60), ("near", 99_999)] {
        let figure = format!("50 steps at the {end} end of 100,000 (of 100: {})", ms(few));
        claim(&figure, page(&long, before), few * 2);
    }
}

/// Our side of a turn: 2 ms beside its syncs (the reply and the start of the tool, the result, and once more before the
/// request), and no more after many turns.
fn turns(home: &BenchHome, sync: Duration) {
    for count in [20, 100, 1000] {
        let turns = Turns::of(home, count);
        let mean = turns.mean(0..turns.len());
        claim(&format!("a turn of {count}, our side"), mean, sync * SYNCS + Duration::from_millis(2));
        if count == 1000 {
            let (first, last) = (turns.median(0..100), turns.median(900..turns.len()));
            claim(&format!("the last hundred turns (the first: {})", ms(first)), last, first.mul_f64(1.5));
            memory("peak memory, 1,000 turns", turns.peak, 40);
        }
    }
}

/// A share of one core.
fn share(figure: &str, measured: f64, allowed: f64) {
    println!("{figure:<48} {measured:>8.2} % {allowed:>8.2} % {:>10}", verdict(measured <= allowed));
}

fn memory(figure: &str, peak: u64, allowed: u64) {
    let measured = peak as f64 / 1024.0;
    println!("{figure:<48} {measured:>7.1} MiB {allowed:>5} MiB {:>10}", verdict(peak < allowed * 1024));
}

fn claim(figure: &str, measured: Duration, allowed: Duration) {
    println!("{figure:<48} {:>10} {:>10} {:>10}", ms(measured), ms(allowed), verdict(measured <= allowed));
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "TOO MUCH" }
}

fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}
