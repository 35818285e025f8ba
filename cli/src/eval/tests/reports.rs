//! Evaluations whose scores are written down, reported and compared.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_eval::Records;
use uwf_eval::record::evaluation_variable;
use uwf_store::{Expect, VarChange};

use super::ran;

/// A home whose store has evaluations.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Home {
        Home { dir: tempfile::tempdir().unwrap() }
    }

    /// Six tasks, three cases each: a base that grows with the task, a part that differs by repeat, and `plus` on the average.
    fn evaluate(self, name: &str, plus: f64, lost: usize) -> Home {
        self.evaluate_of(name, (plus, lost), 3)
    }

    /// The same of an evaluation that has so many cases of each task once it is finished.
    fn evaluate_of(self, name: &str, (plus, lost): (f64, usize), count: u32) -> Home {
        let store = uwf_engine::open_store(&self.dir.path().join(".ocas"), || 1_800_000_000_000).unwrap();
        let records = Records::register(&store).unwrap();
        let workflow = store.put_text("a workflow").unwrap();
        let (mut tasks, mut cases) = (Vec::new(), Vec::new());
        let plus = |task: i32| plus * (0.9 + 0.04 * f64::from(task));
        for task in 0..6 {
            let id = format!("task-{task}");
            tasks.push(json!({ "name": id, "path": "/t", "hash": "h", "workflow": workflow, "workflowName": "solve" }));
            for repeat in 1..=3 {
                let score = (cases.len() >= lost).then(|| {
                    0.1 + 0.05 * f64::from(task) + 0.02 * f64::from((task + repeat) % 3) + plus(task)
                });
                let run = case(name, (&id, repeat), score, &json!(workflow));
                cases.push(
                    json!({ "task": id, "repeat": repeat, "run": store.put(&records.run, &run).unwrap() }),
                );
            }
        }
        let config =
            json!({ "agent": "builtin", "model": "m", "engineVersion": "0.1.0", "seed": 1, "count": count });
        let value = json!({
            "name": name, "config": config, "tasks": tasks, "cases": cases, "startedAt": 1_800_000_000_000_u64,
            "finishedAt": 1_800_000_100_000_u64,
        });
        let value = store.put(&records.evaluation, &value).unwrap();
        let change = VarChange::Set {
            name: evaluation_variable(name),
            schema: records.evaluation,
            value,
            tags: Default::default(),
            expect: Expect::Any,
        };
        store.vars().apply(&[change]).unwrap();
        self
    }

    fn ran(&self, args: &[&str]) -> (u8, String, String) {
        ran(self.dir.path(), args)
    }
}

fn case(name: &str, (task, repeat): (&str, i32), score: Option<f64>, workflow: &Value) -> Value {
    let judge = match score {
        Some(score) => json!({ "name": "tests", "score": score, "weight": 1 }),
        None => json!({ "name": "tests", "score": null, "weight": 1, "error": "it prints no JSON" }),
    };
    json!({
        "task": task, "config": { "agent": "builtin", "model": "m", "engineVersion": "0.1.0" }, "judges": [judge],
        "overall": score, "timestamp": 1, "outcome": if score.is_some() { "scored" } else { "unscored" },
        "evaluation": name, "repeat": repeat, "seed": 7, "taskHash": "h", "workflow": workflow, "costUsd": 0.25,
        "seconds": 2.5, "steps": 3, "usage": { "input": 100, "output": 20, "turns": 4 },
    })
}

#[test]
fn a_report_is_a_table_and_json() {
    let home = Home::new().evaluate("v1", 0.0, 0);
    let (exit, out, err) = home.ran(&["report", "v1", "--format", "text"]);
    assert_eq!((exit, err.as_str()), (0, ""));
    insta::assert_snapshot!("report", out);
    let (_, out, _) = home.ran(&["report", "v1"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["outcomes"]["scored"], &report["score"]["tasks"]), (&json!(18), &json!(6)));
    assert_eq!(report["noResult"], Value::Null);
}

#[test]
fn below_what_was_asked_for_is_told_by_the_exit_status() {
    let home = Home::new().evaluate("v1", 0.0, 0);
    assert_eq!(home.ran(&["report", "v1", "--min", "0.2"]).0, 0);
    let (exit, out, err) = home.ran(&["report", "v1", "--min", "0.9"]);
    assert_eq!((exit, err.as_str()), (1, "warning: the score is 0.24, below 0.90\n"));
    assert!(out.starts_with('{'));
    assert_eq!(home.ran(&["report", "v1", "--min", "2"]).0, 2);
    assert_eq!(home.ran(&["report", "v1", "-o", "x"]).0, 2, "which document?");
}

#[test]
fn too_many_without_a_score_are_no_result() {
    let home = Home::new().evaluate("v1", 0.0, 2).evaluate("v2", 0.0, 0);
    let (exit, _, err) = home.ran(&["report", "v1", "--min", "0"]);
    assert_eq!(
        (exit, err.as_str()),
        (3, "warning: no result: 2 of 18 cases have no score, more than 10 %\n")
    );
    assert_eq!(home.ran(&["report", "v1", "--max-unscored", "20"]).0, 0);
    let (exit, out, _) = home.ran(&["diff", "v1", "v2", "--no-regression"]);
    assert_eq!(exit, 3);
    assert!(out.contains("cannot be told: no result: 2 of 18"), "{out}");
}

#[test]
fn what_is_not_finished_is_no_result_where_a_bound_is_asked() {
    let home = Home::new().evaluate_of("v1", (0.0, 0), 4).evaluate("v2", -0.1, 0);
    let (exit, out, err) = home.ran(&["report", "v1", "--format", "text"]);
    assert!(exit == 0 && err.is_empty() && out.contains("; 6 not finished"), "{out}");
    let told =
        "warning: no result: 6 of 24 cases are not finished\n  hint: go on with: uwf-eval run --resume v1\n";
    for bound in [["--min", "0"], ["--max-unscored", "50"]] {
        let (exit, _, err) = home.ran(&[&["report", "v1"][..], &bound].concat());
        assert_eq!((exit, err.as_str()), (3, told), "{bound:?}");
    }
    let (exit, out, _) = home.ran(&["diff", "v1", "v2", "--no-regression"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((exit, &found["regression"]), (3, &json!(false)));
    assert_eq!(found["verdict"], json!({ "is": "unclear", "why": "unfinished", "before": 6, "after": 0 }));
    assert!(out.contains("cannot be told: no result: cases are not finished, 6 of v1."), "{out}");
}

#[test]
fn what_is_compared_with_itself_is_told() {
    let home = Home::new().evaluate("v1", 0.0, 0);
    let (exit, _, err) = home.ran(&["diff", "v1", "v1"]);
    assert_eq!((exit, err.as_str()), (0, "warning: v1 is compared with itself: nothing can differ\n"));
}

#[test]
fn documents_are_printed_or_written() {
    let home = Home::new().evaluate("v1", 0.0, 0);
    let (exit, out, _) = home.ran(&["report", "v1", "--as", "csv"]);
    assert_eq!((exit, out.lines().count()), (0, 19));
    let (exit, out, _) = home.ran(&["report", "v1", "--as", "junit", "--pass", "0.2"]);
    assert!(exit == 0 && out.contains("<testsuites name=\"v1\" tests=\"18\" failures=\"6\""), "{out}");
    let (exit, out, _) = home.ran(&["report", "v1", "--as", "html", "-o", "page.html"]);
    assert_eq!((exit, out.as_str()), (0, ""));
    let page = fs::read_to_string(home.dir.path().join("page.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("case-6-3") && !page.contains("<script"));
    let (exit, _, err) = home.ran(&["report", "v1", "--as", "html", "-o", "no/such/page.html"]);
    assert!(exit == 1 && err.starts_with("error: cannot write no/such/page.html"), "{err}");
}

#[test]
fn two_are_compared_task_by_task() {
    let home = Home::new().evaluate("v1", 0.0, 0).evaluate("v2", 0.4, 0);
    let (exit, out, err) = home.ran(&["diff", "v1", "v2", "--no-regression", "--format", "text"]);
    assert_eq!((exit, err.as_str()), (0, ""));
    insta::assert_snapshot!("diff", out);
    let (exit, out, err) = home.ran(&["diff", "v2", "v1", "--no-regression"]);
    assert_eq!((exit, err.as_str()), (1, "warning: v1 is worse than v2\n"));
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["verdict"]["is"], &found["regression"]), (&json!("worse"), &json!(true)));
    let (exit, out, _) = home.ran(&["diff", "v1", "v2", "--as", "html"]);
    assert!(exit == 0 && out.contains("v2 is better than v1"));
    assert_eq!(home.ran(&["diff", "v1", "v2", "--as", "csv"]).1.lines().count(), 7);
}

#[test]
fn what_is_not_there_is_told() {
    let home = Home::new().evaluate("v1", 0.0, 0);
    for args in [&["report", "v9"][..], &["diff", "v1", "v9"], &["diff", "v9", "v1"]] {
        let (exit, out, err) = home.ran(args);
        assert_eq!((exit, out.as_str()), (1, ""), "{args:?}");
        assert!(err.starts_with("error: there is no evaluation v9\n  hint: "), "{err}");
    }
}
