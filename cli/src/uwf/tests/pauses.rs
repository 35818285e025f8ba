//! Threads that make no further step for now: paused, or out of rounds.

use serde_json::json;
use uwf_store::Hash;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;
use uwf_engine::thread::ThreadId;

/// So many steps of the writer, each of whom is to play again, and an agent that makes them.
fn writing(place: &Place, thread: &ThreadId, count: usize) -> String {
    let mut prev: Option<Hash> = None;
    let steps = (0..count).map(|_| {
        let step = place.step(thread, prev, "writer", &json!({"$status": "again"}));
        prev = Some(step);
        step.to_string()
    });
    place.agent(&steps.collect::<Vec<_>>())
}

#[test]
fn a_role_plays_no_more_often_than_it_may() {
    let place = Place::new();
    let thread = place.flow_thread();
    let agent = writing(&place, &thread, 7);
    let id = thread.as_str();
    let ran = place.uwf(&["thread", "exec", id, "--until-end", "--agent", &agent, "--max-rounds", "3"]);
    let told = ran.json();
    assert_eq!((ran.exit, told.as_array().unwrap().len()), (10, 3), "{ran:?}");
    let reason = "3 rounds used up: writer would play a 4th time";
    assert_eq!((&told[2]["status"], &told[2]["pauseReason"]), (&json!("paused"), &json!(reason)));
    let shown = place.uwf(&["thread", "show", id]).json();
    assert_eq!((&shown["status"], &shown["pauseReason"]), (&json!("paused"), &json!(reason)));
    let go_on = format!("uwf thread resume {id} --max-rounds N");
    for hint in [&told[2]["hint"], &shown["hint"]] {
        assert_eq!(hint.as_str().unwrap(), format!("Thread is paused. Go on with: {go_on}"));
    }
    assert_eq!(place.uwf(&["thread", "list", "--status", "paused"]).json()[0]["pauseReason"], reason);
    assert_eq!(
        place.uwf(&["thread", "list"]).json(),
        json!([]),
        "like what is suspended, it waits for somebody"
    );
    assert!(place.on_terminal(&["thread", "list"]).out.contains("paused"));
    for verb in ["exec", "resume"] {
        let again = place.uwf(&["thread", verb, id]);
        assert_eq!((again.exit, again.out.as_str()), (10, ""));
        let hint =
            format!("  hint: it goes on with `uwf thread resume {id} --max-rounds N`, with a larger N\n");
        assert_eq!(again.err, format!("error: thread {id} is paused: {reason}\n{hint}"));
    }
    // More rounds are had by either command, and kept.
    let four = place.uwf(&["thread", "exec", id, "--max-rounds", "4"]);
    assert_eq!((four.exit, &four.json()["status"]), (10, &json!("paused")), "{four:?}");
    let five = place.uwf(&["thread", "exec", id, "--max-rounds", "5", "--format", "text"]);
    assert!(five.out.ends_with(&format!("go on with: {go_on}\n")), "{five:?}");
    let more = place.uwf(&["thread", "resume", id, "--max-rounds", "9", "--until-end", "--max-steps", "1"]);
    assert_eq!((more.exit, &more.json()[0]["status"]), (0, &json!("idle")), "{more:?}");
    assert_eq!(place.uwf(&["thread", "show", id]).json()["options"]["maxRounds"], 9);
    assert_eq!(place.uwf(&["thread", "exec", id]).json()["status"], "idle");
}

#[test]
fn a_thread_that_is_paused_goes_on_when_it_is_resumed() {
    let place = Place::new();
    let thread = place.flow_thread();
    let agent = writing(&place, &thread, 3);
    let id = thread.as_str();
    assert_eq!(place.uwf(&["thread", "exec", id, "--agent", &agent]).exit, 0);
    let paused = place.uwf(&["thread", "pause", id]);
    assert_eq!(paused.json(), json!({"thread": id, "paused": true, "running": false}));
    assert_eq!(place.uwf(&["thread", "pause", id]).exit, 0, "twice is once");
    let refused = place.uwf(&["thread", "exec", id, "--until-end"]);
    let hint = format!("it goes on with `uwf thread resume {id}`");
    let expected = format!("error: thread {id} is paused: somebody paused it\n  hint: {hint}\n");
    assert_eq!((refused.exit, refused.err), (10, expected));
    assert_eq!(place.uwf(&["thread", "exec", id, "--background"]).exit, 10, "nothing is started");
    let told = place.uwf(&["thread", "resume", id, "-p", "Go on."]);
    assert!(told.exit == 1 && told.err.contains("is paused and asks nothing"), "{told:?}");
    assert_eq!(place.uwf(&["thread", "show", id]).json()["status"], "paused", "bad input changes nothing");
    let resumed = place.uwf(&["thread", "resume", id]);
    assert_eq!((resumed.exit, &resumed.json()["status"]), (0, &json!("idle")));
    let not_paused = place.uwf(&["thread", "resume", id]);
    assert!(not_paused.err.contains("cannot be resumed: its status is idle"), "{not_paused:?}");
}

#[test]
fn a_pause_while_a_step_runs_comes_after_it() {
    let place = Place::new();
    let thread = place.flow_thread();
    let id = thread.as_str();
    let step = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let agent = place
        .script(&format!("touch \"$D/up\"; while [ ! -e \"$D/go\" ]; do sleep 0.01; done; echo {step}\n"));
    let dir = std::path::Path::new(agent.strip_prefix("sh ").unwrap()).parent().unwrap().to_owned();
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| place.uwf(&["thread", "exec", id, "--until-end", "--agent", &agent]));
        while !dir.join("up").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let paused = place.uwf(&["thread", "pause", id]);
        assert_eq!(paused.json()["running"], true);
        std::fs::write(dir.join("go"), "").unwrap();
        run.join().unwrap()
    });
    assert_eq!((ran.exit, ran.json().as_array().unwrap().len()), (10, 1), "{ran:?}");
    assert_eq!(ran.json()[0]["pauseReason"], "somebody paused it while it ran");
}

#[test]
fn what_asks_or_has_ended_is_not_paused() {
    let place = Place::new();
    let asks = place.flow_thread();
    let step = place.step(&asks, None, "writer", &json!({"$status": "$SUSPEND", "reason": "Why?"}));
    let agent = place.agent(&[step.to_string()]);
    assert_eq!(place.uwf(&["thread", "exec", asks.as_str(), "--agent", &agent]).exit, 10);
    let told = place.uwf(&["thread", "pause", asks.as_str()]);
    assert!(told.exit == 0 && told.err.contains("waits for an answer to writer"), "{told:?}");
    assert_eq!(place.uwf(&["thread", "show", asks.as_str()]).json()["status"], "suspended");
    let refused = place.uwf(&["thread", "resume", asks.as_str()]);
    let expected = format!(
        "error: thread {asks} waits for an answer: writer asks: Why?\n  hint: answer with: uwf thread resume {asks} -p TEXT\n"
    );
    assert_eq!((refused.exit, refused.err), (10, expected));
    place.uwf(&["thread", "cancel", asks.as_str()]);
    let cancelled = place.uwf(&["thread", "pause", asks.as_str()]);
    assert!(cancelled.exit == 1 && cancelled.err.contains("is cancelled"), "{cancelled:?}");
}
