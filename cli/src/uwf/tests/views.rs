//! What is printed of threads and steps is what their views hold.

use serde_json::json;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status, record_failure};
use uwf_engine::view::{StepsPage, ThreadRow, ThreadSteps, ThreadView, Workflows};

#[test]
fn a_thread_is_read_as_the_command_line_shows_it() {
    let place = Place::new();
    let (store, thread) = (place.store(), place.flow_thread());
    let shown = |args: &[&str]| place.uwf(&[args, &[thread.as_str()]].concat()).json();
    let of = || json!(ThreadView::of(&store, &place.homes().uwf, &thread, None).unwrap());
    // What it came to is told beside it.
    let whole = shown(&["thread", "show"]);
    let outcome =
        ["directory", "result", "steps", "turns", "inputTokens", "outputTokens", "cost", "unpriced"];
    let outcome = [&outcome[..], &["failedRuns", "workedMs", "models"]].concat();
    let (mut view, told) = (whole.as_object().unwrap().clone(), whole.as_object().unwrap().len());
    view.retain(|name, _| !outcome.contains(&name.as_str()));
    assert_eq!((of(), told), (json!(view), view.len() + outcome.len()));
    assert_eq!((&whole["result"], &whole["steps"]), (&json!(null), &json!(0)));
    assert_eq!((&of()["status"], &of()["currentRole"]), (&json!("idle"), &json!("writer")));
    let failed =
        place.step(&thread, None, "writer", &json!({"$status": "error", "error": "no", "phase": "answer"}));
    record_failure(&store, &thread, "writer", &failed).unwrap();
    assert_eq!(of()["error"], json!({"stepHash": failed, "message": "no"}));
    let (steps, unread) = ThreadSteps::of(&store, &thread, &StepsPage::default()).unwrap();
    assert_eq!((json!(steps), unread.len()), (shown(&["step", "list"]), 0));
    assert_eq!((steps.steps.len(), steps.failed[0].hash), (1, failed));
    let from = thread::head(&store, &thread).unwrap().hash;
    let asks = place.step(&thread, None, "writer", &json!({"$status": "waits"}));
    thread::advance(&store, &thread, &from, &asks, &Status::Idle).unwrap();
    let view = ThreadView::of(&store, &place.homes().uwf, &thread, None).unwrap();
    assert_eq!(
        (view.status, view.suspended_role.as_deref(), view.done),
        ("suspended", Some("writer"), false)
    );
    let entry = thread::entry(&store, &thread).unwrap();
    let row = ThreadRow::of(&store, &Workflows::default(), &entry, false).unwrap();
    assert_eq!(json!([row]), place.uwf(&["thread", "list", "--all"]).json());
    assert_eq!(ThreadRow::of(&store, &Workflows::default(), &entry, true).unwrap().status, "running");
}
