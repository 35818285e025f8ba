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
    let warn = |used, total| deadline(&DeadlineView { used, total, unit: "turns" }).unwrap();
    insta::assert_snapshot!("deadlines", [warn(48, 60), warn(56, 60), warn(57, 60)].join("\n"));
    assert!(warn(u64::MAX, 60).contains("0 left"));
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
