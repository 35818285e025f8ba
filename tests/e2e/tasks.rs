//! The tasks to evaluate workflows by: their scripts are as good as the page beside them says, and their judges tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::site::{Said, Site, UWF, example, search_path};

/// Each task with the judge whose score is 1 or 0, and the program that it needs.
const TASKS: [(&str, &str, &str); 6] = [
    ("fix-off-by-one", "test-pass.sh", "python3"),
    ("names-with-blanks", "test-pass.sh", "sh"),
    ("slug-letters", "test-pass.sh", "node"),
    ("refuse-no-unit", "test-pass.sh", "rustc"),
    ("sort-glossary", "test-pass.py", "python3"),
    ("debate-tabs", "verdict.py", "python3"),
];

/// Of a change that comes back: how likely it is right in the end.
const MENDED: f64 = 0.76 / 0.78;

/// Whether there is such a program here.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|found| found.status.success())
}

/// The weights of the behaviours of a role's visit, by their names.
fn weights(script: &Value, role: &str, visit: usize) -> BTreeMap<String, f64> {
    let behaviours = script["roles"][role][visit]["behaviours"].as_array().unwrap();
    let weight = |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["weight"].as_f64().unwrap());
    behaviours.iter().map(weight).collect()
}

#[test]
fn scripts_are_as_good_as_the_page_says() {
    let page = fs::read_to_string(example("eval/README.md")).unwrap();
    for (task, _, _) in TASKS {
        let text = fs::read_to_string(example(&format!("eval/{task}/mock.yaml"))).unwrap();
        let script = uwf_workflow::yaml::parse_value(&text).unwrap();
        let first = weights(&script, "developer", 0);
        assert_eq!(
            weights(&script, "developer", 1),
            BTreeMap::from([("mends".into(), 4.0), ("wrong-again".into(), 1.0)])
        );
        let review = [("approves", 19.0), ("catches", 9.0), ("misses", 1.0), ("nitpicks", 1.0)];
        let review = review.map(|(name, weight)| (name.to_owned(), weight));
        assert_eq!(weights(&script, "reviewer", 0), BTreeMap::from(review));
        let (right, wrong) = (first["right"] + first["slow"], first["wrong"]);
        let all = right + wrong + first["failing"];
        let (right, wrong) = (right / all, wrong / all);
        let reviewed = right * (0.95 + 0.05 * MENDED) + wrong * 0.9 * MENDED;
        let drawn = ["right", "wrong", "slow", "failing"].map(|name| first[name].to_string()).join(", ");
        let row = format!("| `{task}` | {drawn} | {right:.3} | {reviewed:.3} |");
        assert!(page.contains(&row), "{row}");
    }
}

/// What a judge says of a directory.
fn judged(judge: &str, dir: &Path) -> f64 {
    let said = Said::of(Command::new(judge).arg(dir).arg("thread").output().unwrap()).ok();
    said.json()["score"].as_f64().unwrap()
}

/// What each of these seeds draws for the first visit of a developer, in all of the tasks.
const DRAWN: [(&str, &str, f64); 4] =
    [("3", "right", 1.0), ("14", "wrong", 0.0), ("0", "slow", 1.0), ("4", "failing", 0.0)];

#[test]
fn judges_tell_right_from_wrong() {
    let site = Site::in_memory();
    let workflow = example("eval/solve-issue-unreviewed.yaml");
    for (task, judge, _) in TASKS.iter().filter(|(_, _, program)| has(program)) {
        let script = example(&format!("eval/{task}/mock.yaml"));
        for (seed, name, expected) in DRAWN {
            let place = site.workspace().join(format!("{task}-{seed}"));
            copy(Path::new(&example(&format!("eval/{task}/fixture"))), &place);
            let cwd = place.display().to_string();
            let run = [
                "run",
                &workflow,
                "-p",
                "x",
                "--cwd",
                &cwd,
                "--mock",
                &script,
                "--mock-seed",
                seed,
                "--json",
            ];
            let ran = site.uwf(&run);
            if name == "failing" {
                assert_eq!(ran.code, 3, "{ran:?}");
            } else {
                assert_eq!(drawn(&site, &ran.ok().json()), name, "{task}");
            }
            let score = judged(&example(&format!("eval/{task}/judges/{judge}")), &place);
            assert_eq!(score, expected, "{task}, {name}");
            let quality = example(&format!("eval/{task}/judges/code-quality.py"));
            if name == "right" && Path::new(&quality).exists() {
                assert_eq!(judged(&quality, &place), 1.0, "{task}");
            }
        }
    }
}

/// The behaviour of the developer.
fn drawn(site: &Site, ran: &Value) -> String {
    let step = format!("{}:2", ran["thread"].as_str().unwrap());
    let shown = site.uwf(&["step", "show", &step]).ok().json();
    shown["settings"]["provider"]["behaviour"].as_str().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The last word on the change of a thread, as its roles drew it: whether it is right.
fn is_right(site: &Site, thread: &str) -> bool {
    let listed = site.uwf(&["step", "list", thread]).ok().json();
    let makers = ["developer", "judge"];
    let mut steps = listed["steps"].as_array().unwrap()[1..].iter();
    let made = steps.rfind(|step| makers.contains(&step["role"].as_str().unwrap()));
    let Some(made) = made else { return false };
    let shown = site.uwf(&["step", "show", made["hash"].as_str().unwrap()]).ok().json();
    let drawn = shown["settings"]["provider"]["behaviour"].as_str().unwrap().to_owned();
    ["right", "slow", "mends"].contains(&drawn.as_str())
}

/// Evaluates all tasks that can be judged here with a workflow; gives the cases.
fn evaluated(site: &Site, name: &str, workflow: &[&str]) -> Vec<Value> {
    let tasks: Vec<String> = TASKS
        .iter()
        .filter(|(_, _, program)| has(program))
        .map(|(task, _, _)| example(&format!("eval/{task}")))
        .collect();
    let eval = |args: &[&str]| {
        let program = Path::new(UWF).with_file_name("uwf-eval");
        Said::of(site.command(program).env("PATH", search_path()).args(args).output().unwrap())
    };
    let mut run = vec!["run", "--offline", "--count", "2", "--name", name];
    run.extend(tasks.iter().map(String::as_str).chain(workflow.iter().copied()));
    eval(&run).ok();
    let report = eval(&["report", name, "--format", "json"]).ok().json();
    assert_eq!(report["outcomes"]["unscored"], 0, "{report:#}");
    assert_eq!(report["outcomes"]["error"], 0, "{report:#}");
    report["cases"].as_array().unwrap().clone()
}

#[test]
fn both_workflows_are_evaluated_and_what_is_said_of_each_case_is_true() {
    let site = Site::in_memory();
    let unreviewed = example("eval/solve-issue-unreviewed.yaml");
    for workflow in ["solve-issue", "debate"] {
        site.uwf(&["workflow", "add", &example(&format!("{workflow}/workflow.yaml"))]).ok();
    }
    let before = evaluated(&site, "before", &["--workflow", &unreviewed]);
    let after = evaluated(&site, "after", &[]);
    assert_eq!(before.len(), after.len());
    let mut seen = std::collections::BTreeSet::new();
    for case in before.iter().chain(&after) {
        let judges = case["judges"].as_array().unwrap();
        let found =
            judges.iter().find(|judge| ["test-pass", "verdict"].contains(&judge["name"].as_str().unwrap()));
        let score = found.unwrap()["score"].as_f64().unwrap();
        let has_failed = case["outcome"] == "failed";
        let is_right = !has_failed && is_right(&site, case["thread"].as_str().unwrap());
        assert_eq!(score, f64::from(u8::from(is_right)), "{case:#}");
        seen.insert((is_right, has_failed));
    }
    assert_eq!(seen.len(), 3, "right, wrong and failed: {seen:?}");
    site.verify();
}
