//! What an evaluation costs beside the threads that it runs: `cargo bench --bench eval`, with 1,000 cases; `-- 100` takes as many.
//!
//! The floor is the same threads run alone in the same minutes, by `uwf run` for each, as many side by side. Cases and floor take
//! turns, a tenth at a time, so that both see the same machine. An evaluation that is killed ten times and continued must come to
//! the report of one that nobody interrupts.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that cannot be made says so by panicking"
)]

#[path = "figures/bench_home.rs"]
#[expect(dead_code, reason = "shared with the other figures, which need more of it")]
mod bench_home;
#[path = "eval/place.rs"]
mod place;

use std::time::{Duration, Instant};

use place::{Judges, Place};

/// How many cases, unless the command line says it.
const CASES: u32 = 1000;
/// How often cases and floor take turns.
const ROUNDS: u32 = 10;
/// How often an evaluation is killed.
const KILLS: u32 = 10;
/// What an evaluation may take beside its threads.
const ALLOWED: f64 = 1.1;

fn main() {
    let typed = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let cases: u32 = typed.unwrap_or(CASES).next_multiple_of(ROUNDS);
    println!("{:<56} {:>12}", format!("{cases} cases, {} side by side", place::PARALLEL), "measured");
    time(cases);
    let whole = memory(cases);
    killed(cases, &whole);
}

/// Wall time beside that of the threads alone.
fn time(cases: u32) {
    let floor = Place::new(Judges::None);
    let judged = [Judges::Builtin, Judges::Scripts].map(|judges| (judges, Place::new(judges)));
    let (mut alone, mut took) = (Duration::ZERO, [Duration::ZERO; 2]);
    for round in 1..=ROUNDS {
        let (from, to) = ((round - 1) * cases / ROUNDS, round * cases / ROUNDS);
        alone += timed(|| floor.threads_alone(from + 1..=to));
        for (index, (_, place)) in judged.iter().enumerate() {
            took[index] += timed(|| {
                place.run("n", to);
            });
        }
    }
    let each = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0 / f64::from(cases));
    println!("{:<56} {:>12}", "the threads alone, each (the floor)", each(alone));
    for ((judges, _), took) in judged.iter().zip(took) {
        let share = took.as_secs_f64() / alone.as_secs_f64();
        let verdict = match (judges, share <= ALLOWED) {
            (Judges::Scripts, _) => String::new(),
            (_, true) => format!("(allowed {ALLOWED:.2}: holds)"),
            (_, false) => format!("(allowed {ALLOWED:.2}: TOO MUCH)"),
        };
        println!("{:<56} {:>12} {share:.3} of the floor {verdict}", judges.words(), each(took));
        println!("{:<56} {:>12.1}", "  cases in a minute", f64::from(cases) * 60.0 / took.as_secs_f64());
    }
}

/// The largest resident set of an evaluation, of a tenth of the cases and of all. Gives the last report.
fn memory(cases: u32) -> (serde_json::Value, Duration) {
    let (few, many) = (Place::new(Judges::Builtin), Place::new(Judges::Builtin));
    let few_peak = few.run("n", cases / 10);
    let begun = Instant::now();
    let many_peak = many.run("n", cases);
    let took = begun.elapsed();
    let told = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
    println!("{:<56} {:>12}", format!("peak memory of uwf-eval, {} cases", cases / 10), told(few_peak));
    println!("{:<56} {:>12}", format!("peak memory of uwf-eval, {cases} cases"), told(many_peak));
    (many.report("n"), took)
}

/// Killed again and again in the middle, and continued.
fn killed(cases: u32, (whole, took): &(serde_json::Value, Duration)) {
    let place = Place::new(Judges::Builtin);
    let begun = Instant::now();
    for _ in 0..KILLS {
        place.kill_after("n", cases, *took / (KILLS + 2));
    }
    place.run("n", cases);
    let (report, again) = (place.report("n"), begun.elapsed());
    let given_up = place.given_up("n");
    println!("{:<56} {:>12}", format!("killed {KILLS} times: cases that began anew"), given_up);
    let times = again.as_secs_f64() / took.as_secs_f64();
    println!("{:<56} {times:>12.2}", "killed and continued, time beside uninterrupted");
    let verdict = if report == *whole { "the same" } else { "ANOTHER" };
    println!("{:<56} {:>12}", "its report, but for names and times", verdict);
    assert_eq!(report, *whole, "an interruption changed the result");
}

fn timed(what: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    what();
    begun.elapsed()
}
