use super::*;
use crate::samples;

#[test]
fn a_nudge_says_what_is_missing_and_how_many_are_left() {
    let texts = [missing::EMPTY, missing::TOOL_CALL, missing::ONLY_REASONING];
    let nudges = texts.map(|missing| nudge(&NudgeView { missing, attempt: 1, of: 3 }).unwrap());
    insta::assert_snapshot!("nudges", nudges.join("\n\n=====\n\n"));
    let last = nudge(&NudgeView { missing: missing::EMPTY, attempt: 3, of: 3 }).unwrap();
    assert!(last.ends_with("Reminder 3 of 3: it is the last, then the step fails."), "{last}");
}

#[test]
fn a_deadline_becomes_urgent_at_95_percent() {
    let warn = |used: &str, left: &str, last| {
        deadline(&DeadlineView { used, total: "60 turns", left, last }).unwrap()
    };
    insta::assert_snapshot!("deadlines", [warn("48", "12", false), warn("57", "3", true)].join("\n"));
    let money = DeadlineView { used: "$0.40", total: "$0.50", left: "$0.10", last: false };
    assert!(deadline(&money).unwrap().starts_with("$0.40 of $0.50 are used, $0.10 left. Finish"));
}

#[test]
fn a_repeated_call_is_named() {
    let view = RepeatedView { tool: "grep", times: 3, ends_at: 5 };
    insta::assert_snapshot!("repeated", repeated(&view).unwrap());
}

#[test]
fn what_is_left_out_can_be_read_again_where_there_is_a_tool_for_it() {
    let view = |lines, readable| LeftOutView { hash: "7VQ43ZSJTEWA7", lines, readable };
    let text = left_out(&view(120, true)).unwrap();
    assert_eq!(text, "[result 7VQ43ZSJTEWA7, 120 lines: read again with tool_output]");
    let text = left_out(&view(1, false)).unwrap();
    assert_eq!(text, "[result 7VQ43ZSJTEWA7, 1 line: no longer shown; make the call again if you need it]");
}

#[test]
fn a_summary_is_asked_for_and_handed_on() {
    insta::assert_snapshot!("summarise", summarise().unwrap());
    insta::assert_snapshot!("summary", summary("\n- I read a.rs.\n").unwrap());
}

#[test]
fn the_last_turn_shows_every_form() {
    let grace = |schema: serde_json::Value| {
        grace(&GraceView { budget: "60 of 60 turns are used", schema: &schema }).unwrap()
    };
    insta::assert_snapshot!("grace_flat", grace(samples::flat()));
    insta::assert_snapshot!("grace_variants", grace(samples::variants()));
}

#[test]
fn a_question_comes_with_what_may_be_done_about_it() {
    insta::assert_snapshot!("question", question("Why so?\n").unwrap());
}
