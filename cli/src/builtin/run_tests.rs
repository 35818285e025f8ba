//! The end of a stand-alone run: where the head stands, and how the program exits.

use serde_json::{Value, json};
use uwf_engine::AdapterOutput;
use uwf_engine::fixture::Place;
use uwf_engine::thread::head;
use uwf_store::Hash;

use super::*;

fn reply(step: Hash, output: Value, is_error: bool) -> AdapterOutput {
    AdapterOutput {
        step_hash: step,
        detail_hash: step,
        role: "writer".to_owned(),
        frontmatter: output,
        body: String::new(),
        started_at_ms: 0,
        completed_at_ms: 0,
        usage: None,
        is_error,
        error_message: None,
    }
}

#[test]
fn the_head_moves_as_the_reply_demands_and_the_exit_status_says_so() {
    let place = Place::new();
    let store = place.store();
    for (output, is_error, status, code) in [
        (json!({"$status": "done"}), false, "end", OK),
        (json!({"$status": "$SUSPEND", "reason": "Which?"}), false, "suspended", SUSPENDED),
        (json!({"$status": "error", "phase": "budget"}), true, "idle", 4),
        (json!({"$status": "error", "phase": "provider"}), true, "idle", 5),
        (json!({"$status": "error", "phase": "no such"}), true, "idle", FAILED_STEP),
        (json!({"$status": "error"}), true, "idle", FAILED_STEP),
    ] {
        let thread = place.flow_thread();
        let from = head(&store, &thread).unwrap().hash;
        let step = place.step(&thread, None, "writer", &json!({"$status": "done"}));
        let end = stand_alone::advance(&store, &thread, &from, &reply(step, output, is_error)).unwrap();
        let head = head(&store, &thread).unwrap();
        let moved = if is_error { from } else { step };
        assert_eq!((exit(end), head.hash, head.status.as_str()), (code, moved, status));
    }
}
