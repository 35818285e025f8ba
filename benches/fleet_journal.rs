//! What it costs to keep the journal of a running step at a remote, a turn, beside one durable row of the same Postgres in the
//! same run: `cargo bench --bench fleet_journal`.
//!
//! Not a test: machines are noisy. A turn here is one request to a scripted model and one tool call, so two waits.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that cannot be made says so by panicking"
)]

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use uwf_engine::journals::sink::{KeepAnswer, KeepRequest, since_boot};
use uwf_engine::spawn::protocol::{JOURNAL_SINK, STEP_OF};
use uwf_engine::{open_store, thread, workflow};
use uwf_fleet::fixture::{Options, Postgres};
use uwf_fleet::journal::{Keeper, Stream};
use uwf_fleet::queue::{self, Claimant, Terms};
use uwf_fleet::{Connection, sync};

const AGENT: &str = env!("CARGO_BIN_EXE_uwf-builtin");
const TURNS: u32 = 40;
const RUNS: usize = 9;
const WORKFLOW: &str = "name: bench\ndescription: One role\nroles:\n  worker:\n    goal: You work.\n    frontmatter: { type: object, required: [$status], properties: { $status: { const: done } } }\ngraph:\n  $START: { new: { role: worker, prompt: Work. } }\n  worker: { done: { role: $END, prompt: Done. } }\n";

fn clock() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let Some(postgres) = Postgres::with(&Options { fsync: true, ..Options::default() }) else { return };
    let mut at = postgres.connection();
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("work")).unwrap();
    std::fs::write(home.path().join("work/a.txt"), "one\n").unwrap();
    std::fs::write(home.path().join("bench.yaml"), WORKFLOW).unwrap();
    let call = "  - tool_calls: [{ name: read_file, arguments: { path: a.txt } }]\n";
    let end = "  - content: \"---\\n$status: done\\n---\\nDone.\"\n";
    let script = format!("turns:\n{}{end}", call.repeat(TURNS as usize));
    std::fs::write(home.path().join("mock.yaml"), script).unwrap();

    let row = floor(&mut at);
    let mut plain = Vec::new();
    let mut kept = Vec::new();
    // One after the other, so that both have the same weather.
    for _ in 0..RUNS {
        plain.push(run(&mut at, home.path(), false));
        kept.push(run(&mut at, home.path(), true));
    }
    let (plain, kept) = (median(plain) / TURNS, median(kept) / TURNS);
    let more = kept.saturating_sub(plain);
    println!("floor: one durable row {}", ms(row));
    println!("{:<48} {:>10}", "a turn with a tool call, journal on this disk", ms(plain));
    println!("{:<48} {:>10}", "the same, kept at the remote, too", ms(kept));
    let verdict = if more <= Duration::from_millis(3) { "ok" } else { "TOO SLOW" };
    println!("{:<48} {:>10} {:>10}  {verdict}", "which is more by", ms(more), "3.00 ms");
}

/// One durable insert, as the median of many.
fn floor(at: &mut Connection) -> Duration {
    at.client().batch_execute("CREATE TABLE floor (bytes bytea)").unwrap();
    let insert = at.client().prepare("INSERT INTO floor VALUES ($1)").unwrap();
    let bytes = vec![b'x'; 1024];
    let one = |_| {
        let begun = Instant::now();
        at.client().execute(&insert, &[&bytes]).unwrap();
        begun.elapsed()
    };
    median((0..201).map(one).collect())
}

/// How long a step takes from the start of its agent to its reply.
fn run(at: &mut Connection, home: &Path, is_kept: bool) -> Duration {
    let store = open_store(&home.join("ocas"), clock).unwrap();
    let hash = workflow::resolve(&store, "bench.yaml", home).unwrap().ensure_stored(&store).unwrap();
    let id = thread::start(&store, &hash, "Work", home.join("work").to_str().unwrap()).unwrap();
    sync::begin(at, &store, &id, Some("worker")).unwrap();
    queue::submit(at, &id, &Terms::default()).unwrap();
    let lease = Duration::from_secs(600);
    let claimant = Claimant { name: "bench".into(), labels: vec![], workflow: None, lease };
    let claim = queue::claim(at, &claimant).unwrap().unwrap();
    let keeper = Keeper::open(home, &claim.lease).unwrap();
    let mut command = Command::new(AGENT);
    command.args([id.as_str(), "worker", "--prompt", "Work.", "--no-snapshots", "--mock"]);
    command.arg(home.join("mock.yaml")).current_dir(home.join("work"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home);
    command.env("UWF_HOME", home).env("OCAS_HOME", home.join("ocas")).env(STEP_OF, id.as_str());
    if is_kept {
        command.env(JOURNAL_SINK, keeper.path());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut known, mut lengths) = (HashSet::new(), BTreeMap::new());
    let mut stream = Stream {
        store: &store,
        home,
        lease: &claim.lease,
        head: claim.head,
        known: &mut known,
        kept: &mut lengths,
        has_progressed: false,
    };
    let mut keep = |request: &KeepRequest| match stream.keep(at, request) {
        Ok(()) => KeepAnswer::Kept { until: since_boot() + lease },
        Err(error) => KeepAnswer::Refused(error.to_string()),
    };
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| keeper.serve(&mut keep));
        let begun = Instant::now();
        let status = command.status().unwrap();
        let took = begun.elapsed();
        keeper.close();
        serving.join().unwrap().unwrap();
        assert!(status.success());
        took
    })
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
