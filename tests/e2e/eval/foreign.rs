//! The same cases scored by an evaluator that others wrote, Inspect AI: the same answers and workspaces, the same judge scripts.
//!
//! Skipped, and said so, without it (`python3 -m venv target/inspect && target/inspect/bin/pip install --no-deps -r
//! tests/inspect/requirements.txt`), unless UWF_REQUIRE_INSPECT is set.
//!
//! Both define the same score of a case, the same mean of a task over its repeats, the same mean over tasks and the same
//! standard error of a mean, s/√n. What they make of the standard error differs, and is compared by way of it: Inspect prints
//! it as it is, an interval here is Student's, kept from 0 to 1. Over tasks it is never narrower than what the repeats alone
//! tell, so that it is held to contain Student's; for each task over its repeats it is the same. The interval over these
//! tasks has no counterpart: the nearest, `stderr(cluster=…)`, has neither degrees of freedom nor n/(n − 1).

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;

/// The tasks, and how often each is run.
const TASKS: [&str; 2] = ["fix-off-by-one", "names-with-blanks"];
const REPEATS: usize = 6;
/// Student's t of 95 % for the mean of two, and of as many as there are repeats.
const T_OF_TWO: f64 = 12.706_204_736;
const T_OF_REPEATS: f64 = 2.570_581_836;
/// Both write numbers in full; sums are made in another order.
const CLOSE: f64 = 1e-9;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Python that has Inspect, if it is here.
fn python() -> Option<PathBuf> {
    let python = root().join("target/inspect/bin/python");
    let mut asked = Command::new(&python);
    asked.args(["-c", "import inspect_ai"]).stdout(Stdio::null()).stderr(Stdio::null());
    if asked.status().is_ok_and(|status| status.success()) {
        return Some(python);
    }
    assert!(std::env::var_os("UWF_REQUIRE_INSPECT").is_none(), "Inspect AI is required and not installed");
    // Not by eprintln!: what a passing test prints is shown to nobody.
    let skipped = "skipped: Inspect AI is not here (python3 -m venv target/inspect && target/inspect/bin/pip \
                   install --no-deps -r tests/inspect/requirements.txt)";
    let mut past_the_runner = std::io::stderr();
    writeln!(past_the_runner, "{skipped}").unwrap();
    None
}

/// Copies an example task without the judges that are built in, which nobody else has.
fn task(site: &Site, name: &str) {
    let (from, to) = (example(&format!("eval/{name}")), site.workspace());
    let copied = Command::new("cp").args(["-R", &from]).arg(&to).status().unwrap();
    assert!(copied.success());
    let file = to.join(name).join("task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().filter(|line| !line.contains("builtin: true")).map(|line| format!("{line}\n"));
    fs::write(&file, lines.collect::<String>()).unwrap();
}

/// What Inspect is told of a task: its judges, and its cases as they were left.
fn told(site: &Site, shown: &Value, name: &str) -> Value {
    let dir = site.workspace().join(name).canonicalize().unwrap();
    let cases = shown["cases"].as_array().unwrap().iter().filter(|case| case["task"] == name);
    let judge = |judge: &Value| {
        let script =
            ["sh", "py"].map(|kind| dir.join(format!("judges/{}.{kind}", judge["name"].as_str().unwrap())));
        let entry = script.iter().find(|file| file.exists()).unwrap();
        json!({"name": judge["name"], "weight": judge["weight"], "entry": entry})
    };
    let case = |case: &Value| {
        let thread = case["thread"].as_str().unwrap();
        let workspace = workspaces(site).join(format!("n/{name}/{}", case["repeat"]));
        let answer = site.uwf(&["thread", "read", thread]).ok().out;
        json!({"repeat": case["repeat"], "thread": thread, "workspace": workspace, "answer": answer})
    };
    let cases: Vec<&Value> = cases.collect();
    let judges: Vec<Value> = cases[0]["judges"].as_array().unwrap().iter().map(judge).collect();
    let cases: Vec<Value> = cases.into_iter().map(case).collect();
    json!({"name": name, "prompt": "as recorded", "judges": judges, "cases": cases})
}

fn rescored(site: &Site, python: &Path, plan: &Value) -> Value {
    let mut command = site.command(python);
    command.arg(root().join("tests/inspect/rescore.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(plan.to_string().as_bytes()).unwrap();
    Said::of(child.wait_with_output().unwrap()).ok().json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn same(ours: &Value, theirs: f64, what: &str) {
    let ours = number(ours);
    assert!((ours - theirs).abs() < CLOSE, "{what}: {ours} here, {theirs} there");
}

/// The interval that is made here of the mean and the standard error that are found there.
fn interval(theirs: &Value, t: f64) -> (f64, f64) {
    let (mean, error) = (number(&theirs["mean"]), number(&theirs["stderr"]));
    assert!(error > 0.0, "samples are not alike");
    ((mean - t * error).max(0.0), (mean + t * error).min(1.0))
}

#[test]
fn another_evaluator_gives_the_same_scores() {
    let Some(python) = python() else { return };
    let site = Site::new();
    TASKS.iter().for_each(|name| task(&site, name));
    let (workflow, count) = (example("eval/solve-issue-unreviewed.yaml"), REPEATS.to_string());
    let with =
        ["--workflow", &workflow, "--offline", "--count", &count, "--seed", "5", "--keep", "--name", "n"];
    eval(&site, &[&["run"], &TASKS[..], &with[..]].concat()).ok();
    let shown = eval(&site, &["show", "n"]).ok().json();
    let report = eval(&site, &["report", "n", "--format", "json"]).ok().json();
    let plan = json!({"tasks": TASKS.map(|name| told(&site, &shown, name))});
    let theirs = rescored(&site, &python, &plan);

    // Every sample, judge by judge and as a whole. Some are right, some wrong, some have failed.
    let cases = shown["cases"].as_array().unwrap();
    assert_eq!(theirs["scores"].as_array().unwrap().len(), cases.len());
    for case in cases {
        let is_it = |score: &&Value| score["task"] == case["task"] && score["repeat"] == case["repeat"];
        let values = &theirs["scores"].as_array().unwrap().iter().find(is_it).unwrap()["values"];
        let what = format!("{}/{}", case["task"], case["repeat"]);
        for judge in case["judges"].as_array().unwrap() {
            same(&judge["score"], number(&values[judge["name"].as_str().unwrap()]), &what);
        }
        same(&case["score"], number(&values["overall"]), &what);
    }
    let outcomes =
        ["scored", "failed"].map(|outcome| cases.iter().filter(|case| case["outcome"] == outcome).count());
    assert!(outcomes[0] > 0 && outcomes[1] > 0 && outcomes[0] + outcomes[1] == cases.len(), "{outcomes:?}");

    // The means, over tasks and of each task.
    same(&report["score"]["mean"], number(&theirs["overTasks"]["overall"]["mean"]), "the score");
    let (ours, (low, high)) =
        (&report["score"]["interval"], interval(&theirs["overTasks"]["overall"], T_OF_TWO));
    assert!(
        number(&ours["low"]) <= low + CLOSE && number(&ours["high"]) >= high - CLOSE,
        "{ours}: {low} to {high}"
    );
    for judge in report["judges"].as_array().unwrap() {
        let name = judge["name"].as_str().unwrap();
        same(&judge["score"]["mean"], number(&theirs["overTasks"][name]["mean"]), name);
    }
    for task in report["tasks"].as_array().unwrap() {
        let name = task["task"].as_str().unwrap();
        let found = &theirs["byTask"][name]["overall"];
        same(&task["score"], number(&found["mean"]), name);
        let (low, high) = interval(found, T_OF_REPEATS);
        same(&task["interval"]["low"], low, name);
        same(&task["interval"]["high"], high, name);
    }
    site.verify();
}
