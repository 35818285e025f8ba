use serde_json::json;

use super::*;
use std::time::Duration;

use crate::budget::{Budget, Limits, Verdict};
use crate::course::Course;
use crate::provider::message::{TokenUsage, ToolCall};
use crate::window::Window;

fn said(kind: Kind, at: u64) -> Entry {
    let role = if at == 0 { Speaker::System } else { Speaker::User };
    Entry::Said { message: Message::text(role, kind, "said"), at }
}

fn answered(text: &str, calls: &[&str], at: u64) -> Entry {
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "grep".into(), arguments: "{}".into() };
    let tool_calls = calls.iter().map(call).collect();
    let message = Message { tool_calls, ..Message::text(Speaker::Assistant, Kind::Turn, text) };
    let usage = Some(TokenUsage { input_tokens: 10, output_tokens: 5, ..TokenUsage::default() });
    Entry::Answered { message, at, duration_ms: 1, usage, finish_reason: None, raw: Value::Null }
}

fn started(id: &str, at: u64) -> Entry {
    Entry::Started { call_id: id.into(), at }
}

fn finished(id: &str, at: u64) -> Entry {
    let facts = ToolFacts::default();
    Entry::Finished { message: Message::result(id, "found"), at, duration_ms: 1, facts }
}

fn opened(entries: Vec<Entry>) -> Vec<Entry> {
    [said(Kind::Opening, 0), said(Kind::Opening, 1)].into_iter().chain(entries).collect()
}

/// What comes after an opening.
fn after(entries: Vec<Entry>) -> Result<Stood, Unreadable> {
    replay(&opened(entries))
}

/// How far a run of at most five turns has come.
fn course(entries: Vec<Entry>) -> Course {
    let limits = Limits { turns: 5, tokens: None, time: None, usd: None };
    let mut course = Course::new(Budget::new(limits), Window::new(128_000, 0), None);
    opened(entries).iter().for_each(|entry| course.apply(entry));
    course
}

fn left(stood: &Stood) -> Vec<&str> {
    stood.stand.heard.iter().flat_map(|heard| &heard.calls).map(|call| call.id.as_str()).collect()
}

#[test]
fn finished_calls_are_done_started_ones_are_cut_off_and_the_rest_is_to_be_run() {
    let stood = after(vec![
        answered("", &["a", "b", "c", "d"], 10),
        started("a", 11),
        started("b", 11),
        finished("a", 12),
    ])
    .unwrap();
    assert_eq!((stood.started.as_slice(), left(&stood)), (&["b".to_owned()][..], vec!["c", "d"]));
    assert_eq!(stood.turns, 1);
    let stood = after(vec![answered("", &["a"], 10), started("a", 11)]).unwrap();
    assert!(
        stood.stand.heard.is_none(),
        "the one call that was cut off is answered, and then it is the model's turn"
    );
    let all = vec![answered("", &["a"], 10), started("a", 11), finished("a", 12)];
    assert!(course(all.clone()).conversation.check().is_ok());
    assert!(after(all).unwrap().stand.heard.is_none());
}

#[test]
fn a_text_that_nobody_has_looked_at_is_looked_at() {
    let stood = after(vec![answered("Fine.", &[], 10)]).unwrap();
    assert_eq!(stood.stand.heard.unwrap().text, "Fine.");
    for kind in [Kind::Nudge, Kind::Correction] {
        let stood = after(vec![answered("Fine.", &[], 10), said(kind, 11)]).unwrap();
        assert!(stood.stand.heard.is_none());
    }
    let closed = vec![answered("Fine.", &[], 10), said(Kind::Closing, 11)];
    let stand = after(closed.clone()).unwrap().stand;
    assert!(stand.heard.is_some(), "what was taken back at the end is no answer to it");
    assert!(stand.admitted.is_none(), "nor does it grant another turn");
    let mut near = (1..=3).map(|n| answered("", &[], n)).collect::<Vec<_>>();
    near.extend(closed);
    let course = course(near);
    assert!(matches!(course.budget.next(course.spent), Verdict::Warn(_)), "nor does it tell of a budget");
}

#[test]
fn a_summary_and_an_extraction_are_no_turns_to_act_on() {
    let of = |kind, at| {
        let Entry::Answered { message, duration_ms, usage, finish_reason, raw, .. } = answered("x", &[], at)
        else {
            unreachable!()
        };
        Entry::Answered { message: Message { kind, ..message }, at, duration_ms, usage, finish_reason, raw }
    };
    let stood = after(vec![said(Kind::Warning, 9), said(Kind::Summary, 10), of(Kind::Summary, 11)]).unwrap();
    assert!(stood.stand.heard.is_none() && stood.stand.admitted == Some(ToolChoice::Auto));
    let stood =
        after(vec![answered("No.", &[], 10), said(Kind::Extract, 11), of(Kind::Extract, 12)]).unwrap();
    assert_eq!((stood.stand.heard.unwrap().text.as_str(), stood.turns), ("No.", 2));
}

#[test]
fn reminders_and_corrections_go_on_counting() {
    let course = course(vec![
        answered("", &[], 10),
        said(Kind::Nudge, 11),
        answered("No.", &[], 12),
        said(Kind::Correction, 13),
        answered("", &[], 14),
        said(Kind::Nudge, 15),
        answered("", &[], 16),
        said(Kind::Nudge, 17),
    ]);
    assert_eq!((course.nudges, course.corrections, course.spent.turns), (2, 1, 4));
    assert!(course.conversation.check().is_ok(), "empty turns are not repeated");
}

#[test]
fn warnings_are_not_given_twice_and_a_grace_turn_that_was_promised_is_had() {
    let turns = |n: u64| (1..=n).map(|n| answered("", &[], n * 10)).collect::<Vec<_>>();
    let next = |entries: &[Entry]| {
        let course = course(entries.to_vec());
        course.budget.next(course.spent)
    };
    let admitted = |entries: &[Entry]| after(entries.to_vec()).unwrap().stand.admitted;
    let mut entries = turns(4);
    assert!(matches!(next(&entries), Verdict::Warn(_)));
    entries.push(said(Kind::Warning, 45));
    assert_eq!((admitted(&entries), next(&entries)), (Some(ToolChoice::Auto), Verdict::Go));
    entries.push(answered("", &[], 50));
    assert!(admitted(&entries).is_none());
    entries.push(said(Kind::Grace, 51));
    assert_eq!(admitted(&entries), Some(ToolChoice::None), "it is granted, and nothing is told again");
    assert!(matches!(next(&entries), Verdict::Stop(_)));
}

#[test]
fn time_goes_on_where_it_stopped() {
    let sandbox = crate::journal::tests::enforced();
    let continued = |at| Entry::Continued { at, settings: json!({}), sandbox: sandbox.clone() };
    let course = course(vec![
        answered("", &["a"], 100),
        started("a", 110),
        continued(100_000),
        finished("a", 100_020),
        answered("", &[], 100_050),
    ]);
    assert_eq!(course.spent.time, Duration::from_millis(110 + 50));
}

#[test]
fn what_makes_no_run_is_named_with_its_line() {
    let cases = [
        (vec![finished("a", 10)], "line 3: a result without a call"),
        (vec![answered("", &["a"], 10), finished("b", 11)], "line 4: a result without a call"),
        (vec![answered("", &["a"], 10), said(Kind::Nudge, 11)], "line 4: a call is left unanswered"),
        (vec![said(Kind::Opening, 0)], "line 3: the system message is not the first"),
    ];
    for (entries, expected) in cases {
        let error = after(entries).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
}
