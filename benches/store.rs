//! The figures we claim of the store, each beside a floor measured in the same run: `cargo bench --bench store`, with
//! `-- --million` on a million nodes instead of a hundred thousand.
//!
//! Not a test: machines are noisy. What is measured and its floor take turns where both are short, and the median
//! counts. The floors do the same file operations with nothing around them.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that cannot be made says so by panicking"
)]

#[expect(dead_code, reason = "shared with the other figures, which need more of it")]
#[path = "figures/bench_home.rs"]
mod bench_home;
#[path = "figures/floor.rs"]
mod floor;
#[path = "store/nodes.rs"]
mod nodes;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench_home::{BenchHome, UWF};
use floor::{Syncs, median, sync_time};
use nodes::Graph;

/// How often a program is started for one figure.
const RUNS: usize = 31;
/// The same for what takes a good part of a second.
const FEW_RUNS: usize = 5;
/// Nodes that are synced one by one.
const SYNCED: usize = 200;

fn main() {
    let nodes = if std::env::args().any(|arg| arg == "--million") { 1_000_000 } else { 100_000 };
    println!("{:<48} {:>12} {:>12} {:>12}", "figure", "measured", "floor", "allowed");
    let home = BenchHome::new();
    // First: some file systems (ext4 without a journal) make files much more slowly for minutes after many were removed.
    let graph = together(&home, nodes);
    workflow_add(&home);
    synced_one_by_one();
    let floor = median(RUNS, || home.command("/bin/true"));
    let get = median(RUNS, || home.uwf(&["cas", "get", graph.leaf()].map(str::to_owned)));
    line(&format!("open and get, {nodes} nodes"), get, floor, Duration::from_millis(10));
    collect(&home, &graph, nodes);
}

/// `workflow add`, each time of a workflow that is new to the store.
fn workflow_add(home: &BenchHome) {
    let text = std::fs::read_to_string(home.dir().join("w.yaml")).unwrap();
    let files: Vec<String> = (0..=RUNS)
        .map(|n| {
            let path = home.dir().join(format!("w{n}.yaml"));
            std::fs::write(&path, text.replace("One role", &format!("Version {n}"))).unwrap();
            path.display().to_string()
        })
        .collect();
    let add = |file: &str| ["workflow", "add", file].map(str::to_owned);
    // The store comes to be with the first.
    done(&mut home.uwf(&add(&files[0])));
    let counted = std::fs::read_to_string(&files[0]).unwrap().replace("Version 0", "Counted");
    std::fs::write(&files[0], counted).unwrap();
    let syncs = Syncs::of(home, UWF, &add(&files[0]));
    let floor = median(RUNS, || home.command("/bin/true")) + sync_time(&home.dir()) * syncs.count();
    let mut next = files[1..].iter();
    let took = median(RUNS, || home.uwf(&add(next.next().unwrap())));
    line(&format!("workflow add ({syncs} syncs)"), took, floor, floor + Duration::from_millis(15));
}

/// `cas put --jsonl --sync-each` beside the same files written, synced and renamed one by one.
fn synced_one_by_one() {
    let (mut took, mut floor) = (Vec::new(), Vec::new());
    let home = BenchHome::new();
    for turn in 0..FEW_RUNS {
        let file = nodes::texts(&home, &format!("turn {turn}"), SYNCED);
        took.push(timed(&mut put(&home, &["--sync-each"], &file)));
        floor.push(nodes::bare(&home.dir().join(format!("bare-{turn}")), SYNCED, true));
    }
    let (took, floor) = (middle(took), middle(floor));
    line(&format!("cas put --jsonl --sync-each, {SYNCED} nodes"), took, floor, floor * 13 / 10);
}

/// `cas put --jsonl`: at least 20,000 nodes a second, or 1.3 times as long as bare files where these alone are slower.
fn together(home: &BenchHome, nodes: usize) -> Graph {
    let graph = Graph::of(home, nodes);
    let took = timed(&mut put(home, &[], graph.file()));
    let floor = nodes::bare(&home.dir().join("bare"), nodes, false);
    let claimed = Duration::from_micros(50) * u32::try_from(nodes).unwrap();
    let allowed = if floor > claimed { floor * 13 / 10 } else { claimed };
    line(&format!("cas put --jsonl, {nodes} nodes"), took, floor, allowed);
    let rate = |took: Duration| format!("{:.0}/s", nodes as f64 / took.as_secs_f64());
    println!("{:<48} {:>12} {:>12}", "", rate(took), rate(floor));
    graph
}

/// `cas gc` when half of the nodes is needed and the other half is old.
fn collect(home: &BenchHome, graph: &Graph, nodes: usize) {
    let name = ["var", "set", "@figures/root", graph.root()].map(str::to_owned);
    done(&mut home.uwf(&name));
    nodes::age(&home.dir().join(".ocas/nodes"));
    let floor = nodes::read_all(&home.dir().join(".ocas/nodes"));
    let took = timed(&mut home.uwf(&["cas", "gc"].map(str::to_owned)));
    let allowed = Duration::from_secs(5) * u32::try_from(nodes / 100_000).unwrap();
    line(&format!("cas gc, {nodes} nodes (floor: reading them)"), took, floor, allowed);
    assert!(!home.dir().join(format!(".ocas/nodes/{}.bin", graph.garbage())).exists(), "it was collected");
    done(&mut home.uwf(&["cas", "get", graph.leaf()].map(str::to_owned)));
}

fn put(home: &BenchHome, options: &[&str], file: &str) -> Command {
    let args = ["cas", "put", "--jsonl"].iter().chain(options).chain([&file]);
    home.uwf(&args.map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
}

fn timed(command: &mut Command) -> Duration {
    let begun = Instant::now();
    done(command);
    begun.elapsed()
}

fn done(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.unwrap().success(), "{command:?} failed");
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn line(figure: &str, measured: Duration, floor: Duration, allowed: Duration) {
    let ms = |duration: Duration| format!("{:.2} ms", duration.as_secs_f64() * 1000.0);
    let verdict = if measured <= allowed { "holds" } else { "TOO MUCH" };
    println!("{figure:<48} {:>12} {:>12} {:>12} {verdict:>10}", ms(measured), ms(floor), ms(allowed));
}
