//! What a run has come to, after each way that its entries can go.

use serde_json::{Value, json};

use super::*;
use crate::budget::{Ended, Limits, Unit, Use, Verdict};
use crate::context_window::Elided;

fn said(kind: MessageKind, at: u64) -> Entry {
    let role = if at == 0 { Speaker::System } else { Speaker::User };
    Entry::Said { message: Message::text(role, kind, "said"), near: None, at }
}

fn usage(input_tokens: u64, output_tokens: u64) -> Option<TokenUsage> {
    Some(TokenUsage { input_tokens, output_tokens, ..TokenUsage::default() })
}

fn answered_as(kind: MessageKind, text: &str, calls: &[&str], at: u64) -> Entry {
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "grep".into(), arguments: "{}".into() };
    let tool_calls = calls.iter().map(call).collect();
    let message = Message { tool_calls, ..Message::text(Speaker::Assistant, kind, text) };
    let usage = usage(10, 5);
    Entry::Answered { message, at, duration_ms: 1, usage, finish_reason: None, raw: Value::Null }
}

fn answered(text: &str, calls: &[&str], at: u64) -> Entry {
    answered_as(MessageKind::Turn, text, calls, at)
}

fn started(id: &str, at: u64) -> Entry {
    Entry::Started { call_id: id.into(), shown: None, at }
}

fn continued(at: u64) -> Entry {
    Entry::Continued {
        at,
        settings: json!({}),
        sandbox: crate::journal::tests::enforced(),
        surroundings: crate::journal::Surroundings::default(),
    }
}

fn finished(id: &str, at: u64) -> Entry {
    let facts = ToolFacts::default();
    Entry::Finished { message: Message::result(id, "found"), at, duration_ms: 1, facts }
}

/// A turn that calls, and its result.
fn round(id: &str) -> [Entry; 2] {
    [answered("", &[id], 5), finished(id, 5)]
}

fn rounds(ids: &[&str]) -> Vec<Entry> {
    ids.iter().flat_map(|id| round(id)).collect()
}

fn new(turns: u64, window: u64) -> RunState {
    let limits = Limits { turns, tokens: None, time: None, usd: None };
    let prices = Prices { input: 1.0, output: 1.0, cached_input: None, cache_write: None, tiers: Vec::new() };
    RunState::new(Budget::new(limits), ContextWindow::new(window, 0), Some(prices))
}

fn opened(entries: Vec<Entry>) -> Vec<Entry> {
    [said(MessageKind::Opening, 0), said(MessageKind::Opening, 1)].into_iter().chain(entries).collect()
}

/// What a run of at most five turns has come to after its opening and these.
fn after(entries: Vec<Entry>) -> RunState {
    new(5, 128_000).after(&opened(entries)).unwrap()
}

fn left(state: &RunState) -> Vec<&str> {
    state.turn.iter().flat_map(|turn| &turn.calls).map(|call| call.id.as_str()).collect()
}

#[test]
fn finished_calls_are_done_started_ones_are_cut_off_and_the_rest_is_to_be_run() {
    let mut state = after(vec![
        answered("", &["a", "b", "c", "d"], 10),
        started("a", 11),
        started("b", 11),
        finished("a", 12),
    ]);
    assert_eq!((state.started.as_slice(), state.spent.turns), (&["b".to_owned()][..], 1));
    state.apply(&finished("b", 13)).unwrap();
    assert_eq!((state.started.len(), left(&state)), (0, vec!["c", "d"]));
    let mut state = after(vec![answered("", &["a"], 10), started("a", 11)]);
    state.apply(&finished("a", 12)).unwrap();
    assert!(state.turn.is_none(), "the one call is answered, and then it is the model's turn");
    assert!(state.conversation.check().is_ok());
}

#[test]
fn a_text_that_nobody_has_looked_at_is_looked_at() {
    assert_eq!(after(vec![answered("Fine.", &[], 10)]).turn.unwrap().text, "Fine.");
    for kind in [MessageKind::Nudge, MessageKind::Correction] {
        assert!(after(vec![answered("Fine.", &[], 10), said(kind, 11)]).turn.is_none());
    }
    let closed = vec![answered("Fine.", &[], 10), said(MessageKind::Closing, 11)];
    let state = after(closed.clone());
    assert!(state.turn.is_some(), "what was taken back at the end is no answer to it");
    assert!(state.admitted.is_none(), "nor does it grant another turn");
    let mut near = (1..=3).map(|n| answered("", &[], n)).collect::<Vec<_>>();
    near.extend(closed);
    let state = after(near);
    assert!(matches!(state.budget.next(state.spent), Verdict::Warn(_)), "nor does it tell of a budget");
}

#[test]
fn what_was_taken_back_while_calls_were_open_is_said_behind_their_results() {
    let mut state =
        after(vec![answered("", &["a", "b"], 10), finished("a", 11), said(MessageKind::Closing, 12)]);
    let kinds = |state: &RunState| {
        state.conversation.messages().iter().map(|message| message.kind).skip(2).collect::<Vec<_>>()
    };
    assert_eq!((left(&state), kinds(&state)), (vec!["b"], vec![MessageKind::Turn, MessageKind::Result]));
    state.apply(&finished("b", 13)).unwrap();
    assert_eq!(
        kinds(&state),
        [MessageKind::Turn, MessageKind::Result, MessageKind::Result, MessageKind::Closing]
    );
    assert_eq!(state.conversation.check(), Ok(()));
}

#[test]
fn a_summary_and_an_extraction_are_no_turns_to_act_on() {
    let summary = answered_as(MessageKind::Summary, "x", &[], 11);
    let state = after(vec![said(MessageKind::Warning, 9), said(MessageKind::Summary, 10), summary]);
    assert!(state.turn.is_none() && state.admitted == Some(ToolChoice::Auto));
    let extraction = answered_as(MessageKind::Extract, "x", &[], 12);
    let state = after(vec![answered("No.", &[], 10), said(MessageKind::Extract, 11), extraction]);
    assert_eq!((state.turn.unwrap().text.as_str(), state.spent.turns), ("No.", 2));
}

#[test]
fn an_extraction_is_paid_for_and_not_said() {
    let state = after(vec![said(MessageKind::Extract, 2), answered_as(MessageKind::Extract, "{}", &[], 3)]);
    assert_eq!((state.conversation.messages().len(), state.spent.turns), (2, 1));
}

#[test]
fn reminders_and_corrections_go_on_counting() {
    let mut state = after(vec![
        answered("", &[], 10),
        said(MessageKind::Nudge, 11),
        answered("No.", &[], 12),
        said(MessageKind::Correction, 13),
        answered("", &[], 14),
        said(MessageKind::Nudge, 15),
        answered("", &[], 16),
        said(MessageKind::Nudge, 17),
    ]);
    assert_eq!((state.nudges, state.corrections, state.spent.turns), (2, 1, 4));
    assert!(state.conversation.check().is_ok(), "empty turns are not repeated");
    state.apply(&said(MessageKind::Correction, 18)).unwrap();
    assert_eq!((state.nudges, state.corrections), (0, 2));
}

#[test]
fn warnings_are_not_given_twice_and_a_grace_turn_that_was_promised_is_had() {
    let turns = |n: u64| (1..=n).map(|n| answered("", &[], n * 10)).collect::<Vec<_>>();
    let next = |entries: &[Entry]| {
        let state = after(entries.to_vec());
        state.budget.next(state.spent)
    };
    let admitted = |entries: &[Entry]| after(entries.to_vec()).admitted;
    let mut entries = turns(4);
    assert!(matches!(next(&entries), Verdict::Warn(_)));
    entries.push(said(MessageKind::Warning, 45));
    assert_eq!((admitted(&entries), next(&entries)), (Some(ToolChoice::Auto), Verdict::Go));
    entries.push(answered("", &[], 50));
    assert!(admitted(&entries).is_none());
    entries.push(said(MessageKind::Grace, 51));
    assert_eq!(admitted(&entries), Some(ToolChoice::None), "it is granted, and nothing is told again");
    assert!(matches!(next(&entries), Verdict::Stop(_)));
    entries.push(Entry::Abandoned { at: 60 });
    assert!(admitted(&entries).is_none(), "nobody waits for it any more");
}

#[test]
fn a_warning_counts_by_the_limit_that_holds_now() {
    let near = Use { unit: Unit::Turns, used: 4, total: 5 };
    let warning = Entry::Said {
        message: Message::text(Speaker::User, MessageKind::Warning, "x"),
        near: Some(near),
        at: 45,
    };
    let entries = |more: u64| {
        let turns = |from: u64, to: u64| (from..=to).map(|n| answered("", &[], n * 10)).collect::<Vec<_>>();
        opened([turns(1, 4), vec![warning.clone(), continued(60)], turns(7, 6 + more)].concat())
    };
    let next = |turns, more| {
        let state = new(turns, 128_000).after(&entries(more)).unwrap();
        state.budget.next(state.spent)
    };
    assert_eq!(next(5, 0), Verdict::Go, "it was given");
    assert!(matches!(next(10, 4), Verdict::Warn(_)), "twice as many turns are allowed now");
}

#[test]
fn time_goes_on_where_it_stopped() {
    let state = after(vec![
        answered("", &["a"], 100),
        started("a", 110),
        continued(100_000),
        finished("a", 100_020),
        answered("", &[], 100_050),
    ]);
    assert_eq!(state.spent.time, Duration::from_millis(110 + 50));
}

#[test]
fn what_makes_no_run_is_found_and_changes_nothing() {
    let cases = [
        (vec![finished("a", 10)], (2, "a result without a call")),
        (vec![answered("", &["a"], 10), finished("b", 11)], (3, "a result without a call")),
        (vec![answered("", &["a"], 10), said(MessageKind::Nudge, 11)], (3, "a call is left unanswered")),
        (vec![said(MessageKind::Opening, 0)], (2, "the system message is not the first")),
        (vec![started("a", 10)], (2, "a call starts that is not open")),
        (
            vec![answered("", &["a"], 10), started("a", 11), started("a", 12)],
            (4, "a call starts that is not open"),
        ),
        (
            vec![answered("", &["a", "b"], 10), finished("a", 11), started("a", 12)],
            (4, "a call starts that is not open"),
        ),
    ];
    for (entries, (index, why)) in cases {
        let entries = opened(entries);
        let error = new(5, 1000).after(&entries).unwrap_err();
        assert_eq!(error, (index, OutOfOrder(why)));
        let mut state = new(5, 1000).after(&entries[..index]).unwrap();
        let before = format!("{state:?}");
        state.apply(&entries[index]).unwrap_err();
        assert_eq!(format!("{state:?}"), before);
    }
}

#[test]
fn what_happened_decides_what_is_next() {
    let mut state = after(rounds(&["a", "b", "c"]));
    assert_eq!(state.loop_guard.repetition(), Some(&Repetition::Repeated { tool: "grep".into(), times: 3 }));
    state.apply(&said(MessageKind::Repeated, 6)).unwrap();
    assert_eq!(state.loop_guard.repetition(), None, "it was told");
    assert_eq!(
        (state.spent.turns, state.spent.tokens, state.spent.usd.to_string()),
        (3, 45, "$0.0000".into())
    );
}

#[test]
fn a_circle_is_still_one_after_its_grace_turn_was_interrupted() {
    let mut state = new(10, 1000).after(&opened(rounds(&["a", "b", "c", "d", "e"]))).unwrap();
    assert!(matches!(state.budget.next(state.spent), Verdict::Grace(Ended::Circle { .. })));
    state.apply(&said(MessageKind::Grace, 6)).unwrap();
    state.apply(&answered("I do not know.", &[], 7)).unwrap();
    assert!(matches!(state.budget.next(state.spent), Verdict::Stop(Ended::Circle { .. })));
}

#[test]
fn a_model_that_wrote_no_summary_is_asked_again_when_more_was_said() {
    let mut state = new(10, 1000).after(&opened(rounds(&["a"]))).unwrap();
    let summed_up =
        Entry::Summarised { message: Message::text(Speaker::User, MessageKind::Recap, ""), kept: 2, at: 0 };
    state.apply(&said(MessageKind::Summary, 6)).unwrap();
    state.apply(&summed_up).unwrap();
    assert_eq!((state.conversation.messages().len(), state.may_summarise()), (4, false));
    let long = Message::text(Speaker::User, MessageKind::Warning, "x".repeat(500));
    state.apply(&Entry::Said { message: long, near: None, at: 7 }).unwrap();
    assert!(state.may_summarise());
    state.apply(&summed_up).unwrap();
    state.apply(&Entry::Elided { marks: Vec::new(), at: 8 }).unwrap();
    assert!(state.may_summarise(), "and when there is room for it");
}

#[test]
fn what_a_directory_says_is_told_as_long_as_the_result_that_has_it_is_in_the_conversation() {
    let told = |id: &str, path: &str| {
        let facts = ToolFacts {
            told: vec![crate::project::ToldFile { path: path.to_owned(), bytes: 10 }],
            ..ToolFacts::default()
        };
        Entry::Finished { message: Message::result(id, "found"), at: 5, duration_ms: 1, facts }
    };
    let begun = vec![
        answered("", &["a"], 5),
        told("a", "src/AGENTS.md"),
        answered("", &["b"], 5),
        told("b", "src/deep/AGENTS.md"),
    ];
    let mut state = after(begun.clone());
    assert!(state.told.has("src") && state.told.has("src/deep") && !state.told.has("other"));
    let mark = Elided { call_id: "a".to_owned(), text: "left out".to_owned() };
    state.apply(&Entry::Elided { marks: vec![mark], at: 6 }).unwrap();
    assert!(!state.told.has("src") && state.told.has("src/deep"), "what was left out is told again");
    let mut state = after(begun);
    let message = Message::text(Speaker::User, MessageKind::Recap, "so far");
    state.apply(&Entry::Summarised { message, kept: 2, at: 6 }).unwrap();
    assert!(!state.told.has("src") && state.told.has("src/deep"), "what was kept of the end is not");
}

#[test]
fn what_was_found_out_of_the_window_counts_until_another_process_goes_on() {
    let found = |size, refused| Entry::Window { size, refused, at: 9 };
    let full = |entries| {
        let opening = Entry::Said {
            message: Message::text(Speaker::User, MessageKind::Opening, "x".repeat(4000)),
            near: None,
            at: 1,
        };
        let entries: Vec<Entry> =
            [said(MessageKind::Opening, 0), opening].into_iter().chain(entries).collect();
        new(5, 128_000).after(&entries).unwrap().window.is_full()
    };
    assert!(!full(vec![]) && full(vec![found(1000, true)]) && full(vec![found(1000, false)]));
    assert!(full(vec![found(1000, true), found(2000, true)]), "a refusal makes no window larger");
    // It may ask another model, or be told how large the window is.
    assert!(!full(vec![found(1000, true), continued(9)]) && !full(vec![found(1000, false), continued(9)]));
}
