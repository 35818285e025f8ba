//! A task that a script plays, evaluated, and its threads run alone.

use std::fs;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench_home::{BenchHome, UWF};

const EVAL: &str = env!("CARGO_BIN_EXE_uwf-eval");

/// How many threads run side by side.
pub(crate) const PARALLEL: usize = 2;
/// The seed of the evaluation.
const SEED: &str = "5";
/// What differs from one run to the next, or tells of times.
const OF_A_RUN: [&str; 10] = [
    "name",
    "startedAt",
    "finishedAt",
    "seconds",
    "thread",
    "run",
    "dataHash",
    "givenUp",
    "path",
    "timestamp",
];

/// Who judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judges {
    /// Nobody: the threads are run alone.
    None,
    /// What comes with the program, and runs no program.
    Builtin,
    /// These, a command that tests and a script.
    Scripts,
}

impl Judges {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Judges::None => "nobody judges",
            Judges::Builtin => "evaluated, four judges that are built in, each",
            Judges::Scripts => "evaluated, tests and a script beside them, each",
        }
    }

    fn yaml(self) -> &'static str {
        const BUILTIN: &str = "judges:
  - { name: hallucination, weight: 1, builtin: true }
  - { name: frontmatter-compliance, weight: 1, builtin: true }
  - { name: diff-size, weight: 1, builtin: true, budget: 20 }
  - { name: token-stats, weight: 0, builtin: true }
";
        const SCRIPTS: &str = "judges:
  - { name: hallucination, weight: 1, builtin: true }
  - { name: frontmatter-compliance, weight: 1, builtin: true }
  - { name: diff-size, weight: 1, builtin: true, budget: 20 }
  - { name: token-stats, weight: 0, builtin: true }
  - { name: tests, weight: 1, builtin: true, command: sh test.sh }
  - { name: small, weight: 1, entry: judges/small.sh, schema: schemas/small.json }
";
        if self == Judges::Scripts { SCRIPTS } else { BUILTIN }
    }
}

/// A home with the task.
pub(crate) struct Place {
    home: BenchHome,
}

impl Place {
    pub(crate) fn new(judges: Judges) -> Place {
        let place = Place { home: BenchHome::new() };
        assert!(place.eval(&["init", "double"]).status().unwrap().success());
        let file = place.home.dir().join("work/double/task.yaml");
        let text = fs::read_to_string(&file).unwrap();
        let (before, _) = text.split_once("judges:\n").unwrap();
        fs::write(&file, format!("{before}{}", judges.yaml())).unwrap();
        place
    }

    fn eval(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(EVAL);
        command.args(args).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn running(&self, name: &str, count: u32) -> Command {
        let (count, parallel) = (count.to_string(), PARALLEL.to_string());
        let args = ["run", "double", "--offline", "--seed", SEED, "--name", name, "--count", &count];
        let mut command = self.eval(&args);
        command.args(["-j", &parallel, "--fresh"]);
        command
    }

    /// Runs the cases up to this one; gives the largest resident set of `uwf-eval`, in KiB.
    pub(crate) fn run(&self, name: &str, count: u32) -> u64 {
        let mut child = self.running(name, count).spawn().unwrap();
        let peak = self.home.peak_memory(&mut child, Duration::from_millis(50));
        assert!(child.wait().unwrap().success(), "the evaluation failed");
        peak
    }

    /// Runs the cases, and kills that after a time.
    pub(crate) fn kill_after(&self, name: &str, count: u32, after: Duration) {
        let mut child = self.running(name, count).spawn().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < after && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().ok();
        child.wait().unwrap();
    }

    /// Runs the threads of these cases alone.
    pub(crate) fn threads_alone(&self, repeats: RangeInclusive<u32>) {
        let next = Mutex::new(repeats);
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL {
                scope.spawn(|| {
                    while let Some(repeat) = { next.lock().unwrap().next() } {
                        self.thread_alone(repeat);
                    }
                });
            }
        });
    }

    fn thread_alone(&self, repeat: u32) {
        let work = self.home.dir().join("work");
        let (task, cwd) = (work.join("double"), work.join(format!("of-{repeat}")));
        fs::create_dir(&cwd).unwrap();
        for entry in fs::read_dir(task.join("fixture")).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, cwd.join(path.file_name().unwrap())).unwrap();
        }
        let seed = uwf_eval::run::seed_of(SEED.parse().unwrap(), "double", repeat).to_string();
        let mut uwf = self.home.command(UWF);
        uwf.args(["--quiet", "run"])
            .arg(task.join("workflow.yaml"))
            .args(["-p", "Mend it.", "--cwd"])
            .arg(&cwd);
        uwf.arg("--mock").arg(task.join("mock.yaml")).args(["--mock-seed", &seed]);
        uwf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(uwf.status().unwrap().success(), "a thread failed");
        fs::remove_dir_all(&cwd).unwrap();
    }

    fn said(&self, args: &[&str]) -> Value {
        let output = self.eval(args).stdout(Stdio::piped()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The report, without what differs from one run to the next.
    pub(crate) fn report(&self, name: &str) -> Value {
        let mut report = self.said(&["report", name, "--format", "json"]);
        strip(&mut report);
        report
    }

    /// How many threads were begun and given up.
    pub(crate) fn given_up(&self, name: &str) -> u64 {
        let shown = self.said(&["show", name]);
        shown["cases"].as_array().unwrap().iter().filter_map(|case| case["givenUp"]["threads"].as_u64()).sum()
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OF_A_RUN.contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
