//! Reports of evaluations whose numbers can be said by heart.

use serde_json::{Value, json};
use uwf_store::Hash;

use super::*;
use crate::case::{Case, Outcome};
use crate::load::Loaded;
use crate::numbers::{Lost, Unclear, Verdict};

/// An evaluation of so many scores a task; none is a judge that could not say.
fn loaded(name: &str, tasks: &[(&str, &[Option<f64>])]) -> Loaded {
    let hash = Hash::of_self(&json!("flow"));
    let task_refs: Vec<Value> = tasks
        .iter()
        .map(|(task, _)| json!({ "name": task, "path": "/t", "hash": "H", "workflow": hash, "workflowName": "flow" }))
        .collect();
    let count = tasks.iter().map(|(_, scores)| scores.len()).max().unwrap_or(0);
    let config =
        json!({ "agent": "builtin", "model": null, "engineVersion": "0.1.0", "seed": 1, "count": count });
    let evaluation = json!({ "name": name, "config": config, "tasks": task_refs, "cases": [], "startedAt": 0, "finishedAt": 1 });
    let cases = tasks.iter().flat_map(|(task, scores)| {
        scores.iter().enumerate().map(|(at, score)| case(task, at as u32 + 1, *score))
    });
    Loaded { evaluation: serde_json::from_value(evaluation).unwrap(), cases: cases.collect() }
}

fn case(task: &str, repeat: u32, score: Option<f64>) -> Case {
    let error = score.is_none().then_some("it prints no JSON");
    let judge = json!({ "name": "tests", "weight": 1.0, "score": score, "error": error });
    let value = json!({
        "task": task, "repeat": repeat, "outcome": if score.is_some() { "scored" } else { "unscored" }, "score": score,
        "judges": [judge], "costUsd": 0.5, "seconds": f64::from(repeat), "steps": 3,
        "tokens": { "input": 100, "output": 20, "turns": 4 }, "thread": "01K", "seed": 7, "run": format!("{task}{repeat}"),
    });
    serde_json::from_value(value).unwrap()
}

fn options() -> ReportOptions {
    ReportOptions::default()
}

#[test]
fn a_report_counts_tasks_once_however_often_they_are_repeated() {
    let found = Report::of(
        &loaded("a", &[("one", &[Some(1.0), Some(1.0), Some(1.0), Some(0.0)]), ("two", &[Some(0.25)])]),
        &options(),
    );
    let score = found.score.unwrap();
    assert_eq!((score.mean, score.tasks, score.samples), (0.5, 2, 5));
    assert_eq!((found.passes.passed, found.passes.of, found.passes.rate), (3, 5, Some(0.375)));
    assert_eq!(found.unfinished, 3, "four cases were planned of each task");
    assert_eq!((found.cost_usd.unwrap().total, found.tokens.unwrap().p50), (2.5, 120.0));
    assert_eq!(found.tasks[0].score, Some(0.75));
    assert_eq!(found.tasks[1].interval, None, "a single case");
    assert!(!found.reaches(0.0), "what is not finished reaches nothing");
}

#[test]
fn a_bound_is_reached_by_what_is_finished() {
    let found = Report::of(&loaded("a", &[("one", &[Some(0.1 + 0.2)]), ("two", &[Some(0.3)])]), &options());
    assert!(found.reaches(0.3) && !found.reaches(0.31));
    let rounded = Report::of(&loaded("a", &[("one", &[Some(0.8 - 1e-12)])]), &options());
    assert!(rounded.reaches(0.8), "sums of weights are no exact numbers");
}

#[test]
fn of_what_is_not_finished_nothing_is_told() {
    let mut part = of_six("v2", 0.3);
    part.cases.truncate(20);
    let found = Difference::of(&of_six("v1", 0.0), &part, &options());
    assert_eq!(found.verdict, Verdict::Unclear(Unclear::Unfinished { before: 0, after: 4 }));
    let told = "Whether v2 is better than v1 cannot be told: no result: cases are not finished, 4 of v2.";
    assert_eq!((found.sentence.as_str(), found.after.unfinished), (told, 4));
    let back = Difference::of(&part, &of_six("v1", 0.0), &options());
    assert!(!back.regression, "{}", back.sentence);
}

#[test]
fn what_has_no_score_is_counted_apart_and_may_be_too_much() {
    let found = Report::of(&loaded("a", &[("one", &[Some(1.0), Some(1.0), Some(0.5), None])]), &options());
    assert_eq!((found.outcomes.scored, found.outcomes.unscored), (3, 1));
    assert_eq!(found.no_result.unwrap().cases, 1, "a quarter");
    assert!(!found.reaches(0.0), "no result reaches nothing");
    let both = found.score_if_lost.unwrap();
    assert_eq!((both.low, both.high), (2.5 / 4.0, 3.5 / 4.0));
    assert_eq!(found.judges[0].errors, 1);
    let lenient = ReportOptions { max_unscored: 0.25, ..options() };
    assert_eq!(
        Report::of(&loaded("a", &[("one", &[Some(1.0), Some(1.0), Some(0.5), None])]), &lenient).no_result,
        None
    );
}

#[test]
fn a_workflow_that_failed_scores_nothing_and_an_error_says_nothing() {
    let mut found = loaded("a", &[("one", &[Some(1.0), None, None])]);
    found.cases[1].outcome = Outcome::Failed;
    found.cases[2].outcome = Outcome::Error;
    let found = Report::of(&found, &ReportOptions { max_unscored: 0.5, ..options() });
    assert_eq!((found.outcomes.failed, found.outcomes.error, found.score.unwrap().mean), (1, 1, 0.5));
}

/// Scores of six tasks, four repeats each, around a base that differs by task, and `plus` on the average.
fn six(plus: f64) -> Vec<(String, Vec<Option<f64>>)> {
    let plus = |task: usize| plus * (0.9 + 0.04 * task as f64);
    let score = |task: usize, repeat: usize| {
        0.2 + 0.05 * task as f64 + 0.02 * ((task + repeat) % 3) as f64 + plus(task)
    };
    (0..6)
        .map(|task| (format!("t{task}"), (0..4).map(|repeat| Some(score(task, repeat))).collect()))
        .collect()
}

fn of_six(name: &str, plus: f64) -> Loaded {
    let tasks = six(plus);
    let tasks: Vec<(&str, &[Option<f64>])> =
        tasks.iter().map(|(name, scores)| (name.as_str(), scores.as_slice())).collect();
    loaded(name, &tasks)
}

#[test]
fn the_better_one_is_told_with_how_much() {
    let found = Difference::of(&of_six("v1", 0.0), &of_six("v2", 0.3), &options());
    assert_eq!(found.verdict, Verdict::Better);
    assert!(found.sentence.starts_with("v2 is better than v1, by +0.30 (+0."), "{}", found.sentence);
    assert!(!found.regression && found.differs.is_empty());
    let back = Difference::of(&of_six("v2", 0.3), &of_six("v1", 0.0), &options());
    assert!(back.verdict == Verdict::Worse && back.regression, "{}", back.sentence);
}

#[test]
fn a_difference_that_may_be_none_is_not_told() {
    let found = Difference::of(&of_six("v1", 0.0), &of_six("v2", 0.001), &options());
    assert!(matches!(found.verdict, Verdict::Unclear(Unclear::CoversZero { least_seen: Some(_) })));
    assert!(
        found.sentence.contains("cannot be told") && found.sentence.contains("is rarely seen"),
        "{}",
        found.sentence
    );
}

#[test]
fn few_tasks_tell_of_themselves_alone() {
    let low: &[Option<f64>] = &[Some(0.1), Some(0.2), Some(0.1), Some(0.2)];
    let high: &[Option<f64>] = &[Some(0.8), Some(0.9), Some(0.8), Some(0.9)];
    let found = Difference::of(&loaded("v1", &[("one", high)]), &loaded("v2", &[("one", low)]), &options());
    assert_eq!(found.verdict, Verdict::Unclear(Unclear::TooFewTasks { tasks: 1, needed: 5 }));
    assert!(found.regression, "repeated, this very task is worse");
    assert!(found.sentence.contains("on these very tasks it is worse"), "{}", found.sentence);
}

#[test]
fn what_is_configured_otherwise_is_told() {
    let (mut one, mut other) = (of_six("v1", 0.0), of_six("v2", 0.0));
    other.evaluation.config.model = Some("m".into());
    other.evaluation.tasks[1].hash = "J".into();
    other.evaluation.tasks[3].hash = "J".into();
    other.evaluation.tasks[2].workflow = Hash::of_self(&json!("other"));
    one.evaluation.tasks[5].name = "old".into();
    let found = Difference::of(&one, &other, &options());
    let told: Vec<_> = found.differs.iter().map(|differs| (differs.what, differs.tasks.join(" "))).collect();
    assert_eq!(
        told,
        [("model", ""), ("task", "t1 t3"), ("workflow", "t2")].map(|(what, tasks)| (what, tasks.to_owned()))
    );
    assert_eq!(found.differs[1].name(), "task of 2 tasks");
    assert_eq!((found.only_before, found.only_after), (vec!["old".to_owned()], vec!["t5".to_owned()]));
    assert_eq!(found.tasks.len(), 5);
}

#[test]
fn lines_of_values_keep_commas_and_quotes() {
    let mut found = loaded("a", &[("one", &[Some(0.5)])]);
    found.cases[0].reason = Some("a \"b\", c".into());
    let text = csv(&Report::of(&found, &options()));
    let mut lines = text.split("\r\n");
    assert_eq!(lines.next().unwrap().split(',').next_back(), Some("judge:tests"));
    assert!(lines.next().unwrap().ends_with(",\"a \"\"b\"\", c\",0.5"), "{text}");
}

#[test]
fn tests_for_ci_say_what_failed_and_what_is_an_error() {
    let mut found = loaded("a<b", &[("one", &[Some(1.0), Some(0.2), None])]);
    found.cases[1].judges[0].name = "<tests> & \u{1}more".into();
    insta::assert_snapshot!(junit(&Report::of(&found, &options())));
}

#[test]
fn tests_for_ci_pass_as_the_report_has_it() {
    let mut found = loaded("a", &[("one", &[Some(0.9), Some(0.2)])]);
    found.cases[0].outcome = Outcome::Failed;
    let report = Report::of(&found, &options());
    assert_eq!((report.passes.passed, report.tasks[0].passed), (1, 1));
    let text = junit(&report);
    assert!(text.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{text}");
}

#[test]
fn too_many_are_told_with_the_share_that_may_be() {
    let lost = |cases, of| words::no_result(&Lost { cases, of, limit: 0.1 });
    assert_eq!(lost(2, 18), "no result: 2 of 18 cases have no score, more than 10 %");
    assert_eq!(
        [lost(3, 3), lost(0, 0)],
        ["no result: 3 of 3 cases have no score", "no result: no case is finished"]
    );
}

#[test]
fn the_shape_that_programs_read() {
    let report = serde_json::to_value(Report::of(&of_six("a", 0.0), &options())).unwrap();
    for field in [
        "name", "config", "outcomes", "noResult", "score", "passes", "spread", "costUsd", "judges", "tasks",
        "cases",
    ] {
        assert!(report.get(field).is_some(), "{field}");
    }
    assert!(report["score"]["interval"]["low"].is_f64() && report["score"]["theseTasks"]["high"].is_f64());
    let found = Difference::of(&of_six("a", 0.0), &of_six("b", 0.3), &options());
    let found = serde_json::to_value(found).unwrap();
    assert_eq!(found["verdict"], json!({ "is": "better" }));
    assert_eq!(found["score"]["wins"], 6);
}

#[test]
fn numbers_have_words() {
    assert_eq!([words::delta(-0.001), words::delta(0.126), words::score(None)], ["+0.00", "+0.13", "–"]);
    assert_eq!(
        [words::seconds(0.85), words::seconds(12.34), words::seconds(245.0)],
        ["850 ms", "12.3 s", "4 min 5 s"]
    );
    assert_eq!(
        [words::usd(Some(0.0123)), words::usd(Some(0.0)), words::usd(None)],
        ["$0.0123", "$0.00", "–"]
    );
}
