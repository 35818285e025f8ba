//! Workers, each with homes of its own, beside the same threads run where they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use uwf_engine::{ThreadId, open_store, thread, workflow};
use uwf_fleet::fixture::Postgres;
use uwf_fleet::queue::{self, Terms};
use uwf_fleet::sync;

use crate::{now, tell};

const UWF: &str = env!("CARGO_BIN_EXE_uwf");
const AGENT: &str = env!("CARGO_BIN_EXE_uwf-builtin");
/// How many steps a thread has.
const STEPS: usize = 6;

pub(crate) fn measure(postgres: &Postgres) {
    for (workers, each) in [(1, 8), (16, 3)] {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let steps = (workers * each * STEPS) as f64;
        let alone = local(dir.path(), workers, each).as_secs_f64();
        let (fleet, memory) = fleet(postgres, dir.path(), (workers, each));
        let fleet = fleet.as_secs_f64();
        let at_once = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
        tell(&format!("steps a second, {at_once}; as many local runs"), steps / fleet, steps / alone, "");
        tell(&format!("a step, {at_once}; local"), fleet / steps * 1e3, alone / steps * 1e3, "ms");
        println!("{:<58} {:>9.2} MB", format!("a worker's memory at most, {at_once}"), memory);
    }
}

/// A home whose agents are scripted, with its own copy of some threads.
fn home(dir: &Path, name: &str, count: usize) -> (PathBuf, Vec<ThreadId>) {
    let home = dir.join(name);
    fs::create_dir_all(home.join(".uwf")).unwrap();
    let script = home.join("mock.yaml");
    fs::write(&script, "turns:\n  - content: \"---\\n$status: done\\n---\\nDone.\"\n").unwrap();
    let config = format!(
        "agents: {{ mock: {{ command: {AGENT}, args: [--mock, {}] }} }}\ndefaultAgent: mock\n",
        script.display()
    );
    fs::write(home.join(".uwf/config.yaml"), config).unwrap();
    let store = open_store(&home.join(".ocas"), now).unwrap();
    let file = home.join("chain.yaml");
    fs::write(&file, chain()).unwrap();
    let hash = workflow::put(&store, &workflow::load(&file).unwrap()).unwrap();
    let work = home.join("work");
    fs::create_dir(&work).unwrap();
    let begin = |_| thread::start(&store, &hash, "count", work.to_str().unwrap()).unwrap();
    let threads = (0..count).map(begin).collect();
    (home, threads)
}

fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(UWF);
    command.args(args).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn local(dir: &Path, runs: usize, each: usize) -> Duration {
    let homes: Vec<_> = (0..runs).map(|number| home(dir, &format!("local-{number}"), each)).collect();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for (home, threads) in &homes {
            scope.spawn(move || {
                for thread in threads {
                    let ran =
                        command(home, &["thread", "exec", thread.as_str(), "--until-end"]).status().unwrap();
                    assert!(ran.success());
                }
            });
        }
    });
    begun.elapsed()
}

fn fleet(postgres: &Postgres, dir: &Path, (workers, each): (usize, usize)) -> (Duration, f64) {
    let (submitter, threads) = home(dir, "submitter", workers * each);
    let store = open_store(&submitter.join(".ocas"), now).unwrap();
    let mut at = postgres.connection();
    let submit = |at: &mut _| {
        for thread in &threads {
            queue::submit(at, thread, &Terms::default()).unwrap();
        }
    };
    threads.iter().for_each(|thread| assert!(sync::begin(&mut at, &store, thread, Some("one")).unwrap()));
    let mut running: Vec<Child> = (0..workers)
        .map(|number| {
            let (home, _) = home(dir, &format!("worker-{number}"), 0);
            assert!(
                command(&home, &["remote", "add", "team", &postgres.url(), "--offline"])
                    .status()
                    .unwrap()
                    .success()
            );
            command(&home, &["worker", "--remote", "team", "--shared-root", dir.to_str().unwrap()])
                .spawn()
                .unwrap()
        })
        .collect();
    let mut client = postgres.client();
    let mut count = |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, i64>(0);
    let wait = Duration::from_millis(10);
    while count("SELECT count(*) FROM uwf.worker") < i64::try_from(workers).unwrap() {
        std::thread::sleep(wait);
    }
    // They wait by now; what is measured begins with the submission.
    let begun = Instant::now();
    submit(&mut at);
    while count("SELECT count(*) FROM uwf.thread WHERE state <> 'done'") > 0 {
        std::thread::sleep(wait);
    }
    let took = begun.elapsed();
    let memory = running.iter().map(|worker| memory(worker.id())).fold(0.0, f64::max);
    for worker in &mut running {
        assert!(Command::new("kill").arg(worker.id().to_string()).status().unwrap().success());
        assert!(worker.wait().unwrap().success());
    }
    client.batch_execute("DELETE FROM uwf.thread; DELETE FROM uwf.event").unwrap();
    (took, memory)
}

/// The largest resident set, in MB.
fn memory(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

fn chain() -> String {
    let roles = ["one", "two", "three", "four", "five", "six"];
    let mut text = "name: chain\ndescription: Roles one after another\nroles:\n".to_owned();
    for role in roles {
        text += &format!(
            "  {role}: {{ goal: You count., frontmatter: {{ type: object, required: [$status], properties: {{ $status: {{ enum: [done] }} }} }} }}\n"
        );
    }
    text += "graph:\n  $START: { new: { role: one, prompt: Begin. } }\n";
    for (at, role) in roles.iter().enumerate() {
        let next = roles.get(at + 1).unwrap_or(&"$END");
        text += &format!("  {role}: {{ done: {{ role: {next}, prompt: Go on. }} }}\n");
    }
    text
}
