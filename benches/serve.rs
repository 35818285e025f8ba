//! What `uwf serve` costs with a hundred pages open: `cargo bench --bench serve`.
//!
//! A page that is open is a stream of events; browsers share one among their tabs, so a hundred streams are a hundred
//! browsers. Measured are the largest resident set, the processor time while nothing happens, and how long after a step
//! each of them is told of it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that cannot be made says so by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use uwf_engine::{Status, ThreadId, thread, workflow};
use uwf_store::{Hash, Store};

/// How many pages are open.
const PAGES: usize = 100;
/// How many steps are told of.
const STEPS: usize = 20;
/// How long nothing happens.
const IDLE: Duration = Duration::from_secs(10);

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

const WORKFLOW: &str = "\
name: rounds
description: One role, round after round
roles:
  worker:
    goal: You answer.
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [more] } } }
graph:
  $START:
    new: { role: worker, prompt: Answer. }
  worker:
    more: { role: worker, prompt: Once more. }
";

fn main() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = uwf_engine::open_store(&dir.path().join(".ocas"), now).unwrap();
    let thread = begin(&store, dir.path());
    let served = Served::of(dir.path());
    let alone = served.memory();
    let mut streams: Vec<BufReader<TcpStream>> = (0..PAGES).map(|_| served.stream(&thread)).collect();
    streams.iter_mut().for_each(|stream| drop(event(stream)));
    println!("{:<48} {:>10}", "figure", "measured");
    let before = served.cpu();
    std::thread::sleep(IDLE);
    let idle = (served.cpu() - before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    let mut told: Vec<Duration> = Vec::new();
    let mut prev = None;
    for _ in 0..STEPS {
        prev = Some(step(&store, &thread, prev));
        let begun = Instant::now();
        told.extend(streams.iter_mut().map(|stream| {
            event(stream);
            begun.elapsed()
        }));
    }
    told.sort();
    println!("{:<48} {:>7} kB", "resident, no page open", alone);
    println!("{:<48} {:>7} kB", format!("resident, {PAGES} pages open"), served.memory());
    println!("{:<48} {:>8.2} %", format!("processor, {PAGES} pages open, nothing happens"), idle);
    println!("{:<48} {:>7} ms", "a step is told, median", told[told.len() / 2].as_millis());
    println!("{:<48} {:>7} ms", "a step is told, the last of all", told[told.len() - 1].as_millis());
    let begun = Instant::now();
    let size = served.page(&format!("/t/{thread}"));
    println!("{:<48} {:>7} ms", format!("its page ({size} bytes)"), begun.elapsed().as_millis());
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn begin(store: &Store, dir: &Path) -> ThreadId {
    let file = dir.join("rounds.yaml");
    fs::write(&file, WORKFLOW).unwrap();
    let hash = workflow::put(store, &workflow::load(&file).unwrap()).unwrap();
    thread::start(store, &hash, "The task.", dir.to_str().unwrap()).unwrap()
}

/// One more step, as an agent would make it.
fn step(store: &Store, thread: &ThreadId, prev: Option<Hash>) -> Hash {
    let head = thread::head(store, thread).unwrap();
    let schema =
        workflow::get(store, &head.start(store).unwrap().workflow).unwrap().roles["worker"].frontmatter;
    let output = store.put(&schema, &json!({"$status": "more"})).unwrap();
    let detail = store.put_text("no record").unwrap();
    let node = json!({
        "start": head.start_hash(), "prev": prev, "role": "worker", "output": output, "detail": detail, "agent": "bench",
        "edgePrompt": "Answer.", "startedAtMs": now(), "completedAtMs": now(), "cwd": "/", "assembledPrompt": null,
        "usage": null, "previousAttempts": null,
    });
    let step = store.put(&uwf_engine::builtin::STEP_NODE, &node).unwrap();
    thread::advance(store, thread, &head.hash, &step, &Status::Idle).unwrap();
    step
}

/// A server of this home; it ends with the measurement.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn of(home: &Path) -> Served {
        let file = home.join("token");
        fs::write(&file, TOKEN).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_uwf"));
        command.args(["serve", "--format", "text", "--quiet", "--token-file"]).arg(file);
        command.env_clear().env("HOME", home).current_dir(home).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap().split_once('/').unwrap().0.to_owned();
        Served { child, address }
    }

    fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let Served { address, .. } = self;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// The size of a page.
    fn page(&self, path: &str) -> usize {
        let mut page = Vec::new();
        self.ask(path).read_to_end(&mut page).unwrap();
        page.len()
    }

    fn stream(&self, thread: &ThreadId) -> BufReader<TcpStream> {
        BufReader::new(self.ask(&format!("/events?topic={thread}")))
    }

    /// The resident set in kB.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Processor time up to now.
    fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<u64> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        // In hundredths of a second: the user's part and the system's.
        Duration::from_millis((fields[11] + fields[12]) * 10)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The next event of a stream.
fn event(stream: &mut BufReader<TcpStream>) -> String {
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream has ended");
        if let Some(data) = line.strip_prefix("data:") {
            return data.trim().to_owned();
        }
    }
}
