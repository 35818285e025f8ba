//! The figures we claim, each beside a floor measured in the same run: `cargo bench`.
//! Those of the store are in `store.rs`, those of the tools in `tools/benches/`: `cargo bench -p uwf-tools`.
//!
//! Not a test: machines are noisy. A figure is the median of many runs; its floor is `/bin/true` started the same way,
//! plus, where a run must put things on the disk, as many bare `write` + `fdatasync` as the run makes syncs. With
//! `strace` installed the syncs are counted in this very run; without it they are assumed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot be made says so by panicking"
)]

#[path = "figures/floor.rs"]
mod floor;
#[path = "figures/site.rs"]
mod site;

use std::time::Duration;

use floor::{Syncs, median, sync_time};
use site::{AGENT, Site, UWF};

/// How often a program is started for one figure.
const RUNS: usize = 31;

fn main() {
    let site = Site::new();
    let floor = median(RUNS, || site.command("/bin/true"));
    let sync = sync_time(&site.dir());
    println!("floor: /bin/true {}, one write + fdatasync {}\n", ms(floor), ms(sync));
    println!("{:<48} {:>10} {:>10}", "figure", "measured", "allowed");

    let start = median(RUNS, || site.agent(&["--version"]));
    claim("uwf-builtin --version", start, floor + Duration::from_millis(3));

    let thread = site.thread();
    let role_run = site.role_run(&thread);
    let syncs = Syncs::of(&site, AGENT, &role_run);
    let run = median(RUNS, || site.agent(&role_run));
    claim(
        &format!("a role run, mock, no tool call ({syncs} syncs)"),
        run,
        floor + sync * syncs.count() + Duration::from_millis(15),
    );

    let exec = |thread: &str| ["thread", "exec", thread, "--agent", &site.mock_agent()].map(str::to_owned);
    let syncs = Syncs::of(&site, UWF, &exec(&site.thread()));
    let threads: Vec<String> = (0..RUNS).map(|_| site.thread()).collect();
    let mut threads = threads.iter();
    let step = median(RUNS, || site.uwf(&exec(threads.next().unwrap())));
    claim(
        &format!("uwf thread exec, one step, mock ({syncs} syncs)"),
        step,
        floor + sync * syncs.count() + Duration::from_millis(30),
    );

    let peak = site.peak_memory_of_20_tool_calls();
    println!(
        "{:<48} {:>7.1} MiB {:>5} MiB {:>10}",
        "peak memory, 20 tool calls",
        peak as f64 / 1024.0,
        20,
        verdict(peak < 20 * 1024)
    );

    let (small, large) = (Site::with_nodes(10), Site::with_nodes(100_000));
    let open = |site: &Site| median(RUNS, || site.uwf(&["cas", "has", "7VQ43ZSJTEWA7"].map(str::to_owned)));
    let (few, many) = (open(&small), open(&large));
    claim(&format!("a command on 100,000 nodes (on 10: {})", ms(few)), many, few + Duration::from_millis(2));
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
