//! Pages of evaluations, whose names are those of somebody who means no good.

use serde_json::{Value, json};
use uwf_eval::report::{CaseDetail, Difference, FoundByJudge, Report, ReportOptions};
use uwf_eval::{Case, Loaded};

use crate::{difference_page, report_page};

const HOSTILE: &str = "</svg></style><script>alert(1)</script>\u{202e}'\"&";

fn loaded(name: &str, plus: f64) -> Loaded {
    let task = |at: usize| format!("task {at} {HOSTILE}");
    let workflow = "0000000000000";
    let tasks: Vec<Value> = (0..6)
        .map(|at| json!({ "name": task(at), "path": "/t", "hash": "h", "workflow": workflow, "workflowName": HOSTILE }))
        .collect();
    let config = json!({ "agent": HOSTILE, "model": null, "engineVersion": "0.1.0", "seed": 1, "count": 3 });
    let evaluation = json!({ "name": name, "config": config, "tasks": tasks, "cases": [], "startedAt": 0 });
    let case = |at: usize, repeat: usize| {
        let score = (0.1 + 0.1 * at as f64 + 0.05 * repeat as f64 + plus).min(1.0);
        let judge = json!({ "name": HOSTILE, "weight": 1.0, "score": score, "error": HOSTILE, "votes": [score, 0.5] });
        let outcome = if at == 5 && repeat == 2 { "error" } else { "scored" };
        json!({
            "task": task(at), "repeat": repeat, "outcome": outcome, "score": score, "reason": HOSTILE, "judges": [judge],
            "costUsd": 0.01 * (at + 1) as f64, "seconds": 1.0, "steps": 3, "seed": 7, "run": format!("{at}-{repeat}"),
            "tokens": { "input": 100, "output": 20, "turns": 4 }, "thread": "01K",
        })
    };
    let cases: Vec<Value> = (0..6).flat_map(|at| (1..=3).map(move |repeat| case(at, repeat))).collect();
    let parse = |value: Value| serde_json::from_value(value).unwrap();
    Loaded {
        evaluation: serde_json::from_value(evaluation).unwrap(),
        cases: cases.into_iter().map(parse).collect::<Vec<Case>>(),
    }
}

fn details(_: &Case) -> Option<CaseDetail> {
    let found = vec![FoundByJudge { judge: HOSTILE.to_owned(), data: json!({ HOSTILE: HOSTILE }) }];
    Some(CaseDetail { found, missing: vec![HOSTILE.to_owned()], ..CaseDetail::default() })
}

fn assert_harmless(page: &str) {
    assert!(!page.contains("<script") && !page.contains("</svg></style>"), "markup of others");
    assert!(!page.contains('\u{202e}'), "what turns a line");
    assert_eq!(page.matches("<style>").count(), 1);
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org/").count()
    );
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
}

#[test]
fn a_page_has_charts_every_case_and_nothing_of_others_as_markup() {
    let report = Report::of(&loaded(HOSTILE, 0.0), &ReportOptions::default());
    let page = report_page(&report, &details);
    assert_harmless(&page);
    assert_eq!(page.matches("<figure class=\"chart\"").count(), 2);
    assert_eq!(page.matches("<details class=\"case\"").count(), 18);
    assert_eq!(page.matches("href=\"#case-").count(), 18);
    assert!(page.contains("id=\"case-6-2\"") && page.contains(">error<"));
}

#[test]
fn two_are_side_by_side() {
    let (before, after) = (loaded("before", 0.0), loaded("after", 0.3));
    let options = ReportOptions::default();
    let found = Difference::of(&before, &after, &options);
    let sides = [&Report::of(&before, &options), &Report::of(&after, &options)];
    let page = difference_page(&found, sides, &details);
    assert_harmless(&page);
    assert_eq!(page.matches("<figure class=\"chart\"").count(), 3);
    assert!(page.contains("after is better than before"));
}

#[test]
fn an_evaluation_without_a_case_has_a_page() {
    let mut nothing = loaded("begun", 0.0);
    nothing.cases.clear();
    let page = report_page(&Report::of(&nothing, &ReportOptions::default()), &|_| None);
    assert!(page.contains("no case is finished"));
    assert_harmless(&page);
}
