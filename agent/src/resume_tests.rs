use serde_json::json;

use super::*;
use crate::budget::{Budget, Limits, Verdict};
use crate::provider::message::{TokenUsage, ToolCall};

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

/// What comes after an opening.
fn after(entries: Vec<Entry>) -> Result<Stood, Unreadable> {
    let mut all = vec![said(Kind::Opening, 0), said(Kind::Opening, 1)];
    all.extend(entries);
    replay(&all)
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
    assert_eq!((stood.spent.turns, stood.spent.tokens), (1, 15));
    let stood = after(vec![answered("", &["a"], 10), started("a", 11)]).unwrap();
    assert!(
        stood.stand.heard.is_none(),
        "the one call that was cut off is answered, and then it is the model's turn"
    );
    let stood = after(vec![answered("", &["a"], 10), started("a", 11), finished("a", 12)]).unwrap();
    assert!(stood.stand.heard.is_none() && stood.conversation.check().is_ok());
}

#[test]
fn a_text_that_nobody_has_looked_at_is_looked_at() {
    let stood = after(vec![answered("Fine.", &[], 10)]).unwrap();
    assert_eq!(stood.stand.heard.unwrap().text, "Fine.");
    for kind in [Kind::Nudge, Kind::Correction] {
        let stood = after(vec![answered("Fine.", &[], 10), said(kind, 11)]).unwrap();
        assert!(stood.stand.heard.is_none());
    }
    let stood = after(vec![answered("Fine.", &[], 10), said(Kind::Warning, 11)]).unwrap();
    assert!(stood.stand.heard.is_some(), "what git had to be told at the end is no answer to it");
}

#[test]
fn reminders_and_corrections_go_on_counting() {
    let stood = after(vec![
        answered("", &[], 10),
        said(Kind::Nudge, 11),
        answered("No.", &[], 12),
        said(Kind::Correction, 13),
        answered("", &[], 14),
        said(Kind::Nudge, 15),
        answered("", &[], 16),
        said(Kind::Nudge, 17),
    ])
    .unwrap();
    assert_eq!((stood.stand.nudges, stood.stand.corrections, stood.spent.turns), (2, 1, 4));
    assert!(stood.conversation.check().is_ok(), "empty turns are not repeated");
}

#[test]
fn warnings_are_not_given_twice_and_a_grace_turn_that_was_promised_is_had() {
    let limits = Limits { turns: 5, tokens: None, time: None };
    let turns = |n: u64| (1..=n).map(|n| answered("", &[], n * 10)).collect::<Vec<_>>();
    let mut entries = turns(4);
    let stood = after(entries.clone()).unwrap();
    assert!(matches!(Budget::replayed(limits, &stood.granted).next(stood.spent), Verdict::Warn(_)));
    entries.push(said(Kind::Warning, 45));
    let stood = after(entries.clone()).unwrap();
    assert_eq!(stood.stand.admitted, Some(ToolChoice::Auto));
    assert_eq!(Budget::replayed(limits, &stood.granted).next(stood.spent), Verdict::Go);
    entries.push(answered("", &[], 50));
    assert!(after(entries.clone()).unwrap().stand.admitted.is_none());
    entries.push(said(Kind::Grace, 51));
    let stood = after(entries.clone()).unwrap();
    assert_eq!(stood.stand.admitted, Some(ToolChoice::None), "it is granted, and nothing is told again");
    assert!(matches!(Budget::replayed(limits, &stood.granted).next(stood.spent), Verdict::Stop(_)));
}

#[test]
fn time_goes_on_where_it_stopped() {
    let sandbox = crate::journal::tests::enforced();
    let continued = |at| Entry::Continued { at, settings: json!({}), sandbox: sandbox.clone() };
    let stood = after(vec![
        answered("", &["a"], 100),
        started("a", 110),
        continued(100_000),
        finished("a", 100_020),
        answered("", &[], 100_050),
    ])
    .unwrap();
    assert_eq!(stood.spent.time, Duration::from_millis(110 + 50));
    assert_eq!(stood.granted.iter().map(|spent| spent.time.as_millis()).collect::<Vec<_>>(), [99, 159]);
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
