//! The tasks to evaluate workflows by: their scripts are as good as the page beside them says, and their judges tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::site::{Said, Site, example};

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

fn has(program: &str) -> bool {
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
