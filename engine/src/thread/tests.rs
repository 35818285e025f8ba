use serde_json::json;

use super::*;
use crate::fixture::Place;
use crate::spawn::protocol::{AgentRequest, EdgePromptSource};

fn ask(
    place: &Place,
    thread: &ThreadId,
    role: &str,
    prompt: Option<&str>,
) -> Result<RoleContext, ThreadError> {
    role_context(&place.store(), &AgentRequest::new(*thread, role, prompt.map(Into::into), None))
}

#[test]
fn a_started_thread_stands_at_its_start_and_is_idle() {
    let place = Place::new();
    let thread = place.flow_thread();
    let head = head(&place.store(), &thread).unwrap();
    assert_eq!((head.hash, &head.status), (head.start_hash(), &Status::Idle));
    let HeadKind::Start(start) = head.kind else { panic!("{head:?}") };
    assert_eq!(start.prompt, "A text, please.");
    assert_eq!(thread.time_ms(), crate::fixture::clock());
}

#[test]
fn an_unknown_thread_is_an_error_with_a_hint() {
    let place = Place::new();
    let thread = ThreadId::new(7);
    let error = head(&place.store(), &thread).unwrap_err();
    assert_eq!(error.to_string(), format!("no such thread: {thread}"));
    assert!(error.hint().unwrap().contains("thread list"));
}

#[test]
fn a_head_moves_only_from_where_it_was_thought_to_be() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    let first = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let second = place.step(&thread, Some(first), "writer", &json!({"$status": "done"}));
    advance(&store, &thread, &start, &first, &Status::Idle).unwrap();
    let stale = advance(&store, &thread, &start, &second, &Status::Idle).unwrap_err();
    assert!(matches!(stale, ThreadError::HeadMoved { found: Some(found), .. } if found == first), "{stale}");
    assert_eq!(head(&store, &thread).unwrap().hash, first);
}

#[test]
fn the_chain_is_told_oldest_first() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    assert_eq!(chain(&store, &start).unwrap().steps, []);
    let first = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let second = place.step(&thread, Some(first), "writer", &json!({"$status": "done"}));
    let chain = chain(&store, &second).unwrap();
    let hashes: Vec<Hash> = chain.steps.iter().map(|(hash, _)| *hash).collect();
    assert_eq!((chain.start_hash, hashes), (start, vec![first, second]));
}

#[test]
fn failed_attempts_gather_by_role_until_they_are_cleared() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let error = |text: &str| place.step(&thread, None, "writer", &json!({"$status": "error", "error": text}));
    let (first, second) = (error("a"), error("b"));
    for step in [&first, &second, &second] {
        record_failure(&store, &thread, "writer", step).unwrap();
    }
    assert_eq!(failed_attempts(&store, &thread, "writer").unwrap(), [first, second]);
    assert_eq!(failed_attempts(&store, &thread, "checker").unwrap(), []);
    clear_failures(&store, &thread, "writer").unwrap();
    assert_eq!(failed_attempts(&store, &thread, "writer").unwrap(), []);
}

#[test]
fn a_first_visit_is_asked_what_the_moderator_asks() {
    let place = Place::new();
    let thread = place.flow_thread();
    let context = ask(&place, &thread, "writer", None).unwrap();
    assert_eq!(
        (context.edge_prompt.as_str(), context.edge_prompt_source),
        ("Write it.", EdgePromptSource::Routed)
    );
    assert_eq!((context.visit(), context.prev(), context.steps.len()), (0, None, 0));
    assert_eq!(context.schema["title"], "flow.writer");
    assert_eq!(context.role.goal, "You write.");
    let given = ask(&place, &thread, "writer", Some("- other words")).unwrap();
    assert_eq!(
        (given.edge_prompt.as_str(), given.edge_prompt_source),
        ("- other words", EdgePromptSource::Given)
    );
}

#[test]
fn a_role_nobody_routes_to_gets_the_task() {
    let place = Place::new();
    let thread = place.flow_thread();
    let context = ask(&place, &thread, "checker", None).unwrap();
    assert_eq!(
        (context.edge_prompt.as_str(), context.edge_prompt_source),
        ("A text, please.", EdgePromptSource::Task)
    );
}

#[test]
fn a_suspended_thread_routes_nobody() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    let suspended = Status::Suspended { role: "writer".into(), message: "?".into() };
    advance(&store, &thread, &start, &start, &suspended).unwrap();
    let context = ask(&place, &thread, "writer", None).unwrap();
    assert_eq!(context.edge_prompt_source, EdgePromptSource::Task);
}

#[test]
fn later_visits_see_what_happened() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    let first = place.step(&thread, None, "writer", &json!({"$status": "again", "dir": "x"}));
    advance(&store, &thread, &start, &first, &Status::Idle).unwrap();
    let failed = place.step(&thread, Some(first), "writer", &json!({"$status": "error", "error": "a"}));
    record_failure(&store, &thread, "writer", &failed).unwrap();
    let context = ask(&place, &thread, "writer", None).unwrap();
    assert_eq!((context.visit(), context.prev()), (1, Some(first)));
    assert_eq!(context.edge_prompt, "Once more.");
    assert_eq!(context.previous_attempts, [failed]);
    let [step] = context.steps.as_slice() else { panic!("{context:?}") };
    assert_eq!(
        (step.output["dir"].as_str(), step.answer.as_deref(), step.agent.as_str()),
        (Some("x"), None, "scripted")
    );
}

#[test]
fn an_unknown_role_names_those_there_are_nearest_first() {
    let place = Place::new();
    let thread = place.flow_thread();
    let error = ask(&place, &thread, "chekker", None).unwrap_err();
    assert_eq!(error.to_string(), "workflow `flow` has no role `chekker`: it has checker, writer");
    assert_eq!(error.hint().as_deref(), Some("did you mean `checker`?"));
}

#[test]
fn the_answer_is_the_last_thing_an_assistant_said() {
    let place = Place::new();
    let store = place.store();
    let object = store.put(&builtin::META_SCHEMA, &json!({"type": "object"})).unwrap();
    let turn = |role: &str, content: &str| {
        store.put(&object, &json!({"role": role, "content": content, "toolCalls": null})).unwrap()
    };
    let turns = [
        turn("assistant", "early"),
        turn("assistant", "---\n$status: x\n---\nlate"),
        turn("assistant", ""),
        turn("tool", "t"),
    ];
    let detail = |payload| store.put(&object, &payload).unwrap();
    let answer = |detail| answer_of(&store, &detail).unwrap();
    assert_eq!(answer(detail(json!({"turns": turns}))).as_deref(), Some("---\n$status: x\n---\nlate"));
    assert_eq!(answer(detail(json!({"turns": []}))), None);
    assert_eq!(answer(detail(json!({"turns": ["not a hash"]}))), None);
    assert_eq!(answer(detail(json!({"sessionId": "x"}))), None);
}

/// Another program's way with a head: the row goes, and comes back a moment later with the same or another value.
#[test]
fn a_head_that_is_removed_and_set_again_is_waited_for() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let at = head(&store, &thread).unwrap().hash;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = rusqlite::Connection::open(place.homes().ocas.join("vars/_store.db")).unwrap();
            other.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
            other.pragma_update(None, "foreign_keys", true).unwrap();
            // How long the disk takes is not what this is about.
            other.pragma_update(None, "synchronous", "OFF").unwrap();
            let name = variable(&thread);
            while !over.load(Ordering::SeqCst) {
                let columns = "name, schema, value, created, updated, tags, labels";
                let row: Vec<rusqlite::types::Value> = other
                    .query_row(&format!("SELECT {columns} FROM vars WHERE name = ?1"), [&name], |row| {
                        (0..7).map(|at| row.get(at)).collect()
                    })
                    .unwrap();
                other.execute("DELETE FROM vars WHERE name = ?1", [&name]).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(3));
                let sql = format!("INSERT INTO vars({columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
                other.execute(&sql, rusqlite::params_from_iter(row)).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(30));
            }
        });
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..30 {
                assert_eq!(head(&store, &thread).unwrap().hash, at);
            }
            for round in 0..10 {
                let message = round.to_string();
                let status = Status::Suspended { role: "writer".into(), message };
                advance(&store, &thread, &at, &at, &status).unwrap();
            }
        }));
        over.store(true, Ordering::SeqCst);
        looked.unwrap();
    });
    remove(&store, &thread).unwrap();
    assert!(matches!(head(&store, &thread), Err(ThreadError::Unknown { .. })));
}

#[test]
fn a_thread_is_given_up_once_and_forgets_its_failures() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let failed = place.step(&thread, None, "writer", &json!({"$status": "error", "error": "a"}));
    record_failure(&store, &thread, "writer", &failed).unwrap();
    assert!(cancel(&store, &thread).unwrap());
    let first = head(&store, &thread).unwrap();
    assert_eq!(first.status, Status::Cancelled { completed_at: crate::fixture::clock() });
    assert_eq!(failed_attempts(&store, &thread, "writer").unwrap(), []);
    assert!(!cancel(&store, &thread).unwrap());
    assert_eq!(head(&store, &thread).unwrap(), first);
    let ended = place.flow_thread();
    advance(&store, &ended, &first.hash, &first.hash, &Status::Ended { completed_at: 1 }).unwrap();
    let error = cancel(&store, &ended).unwrap_err();
    assert_eq!(error.to_string(), format!("thread {ended} has ended already"));
}

#[test]
fn what_is_forgotten_leaves_its_nodes_and_other_threads() {
    let place = Place::new();
    let (thread, other, store) = (place.flow_thread(), place.flow_thread(), place.store());
    let failed = place.step(&thread, None, "writer", &json!({"$status": "error", "error": "a"}));
    record_failure(&store, &thread, "writer", &failed).unwrap();
    record_failure(&store, &other, "writer", &failed).unwrap();
    remove(&store, &thread).unwrap();
    assert!(matches!(head(&store, &thread), Err(ThreadError::Unknown { .. })));
    assert_eq!(failed_attempts(&store, &thread, "writer").unwrap(), []);
    assert_eq!(failed_attempts(&store, &other, "writer").unwrap(), [failed]);
    assert!(store.has(&failed) && head(&store, &other).is_ok());
    assert!(matches!(remove(&store, &thread), Err(ThreadError::Unknown { .. })));
}

#[test]
fn a_fork_stands_where_it_was_made_and_asks_what_its_step_asks() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "done"}));
    let asks = place.step(&thread, None, "writer", &json!({"$status": "$SUSPEND", "reason": "Which?"}));
    let waits = place.step(&thread, None, "writer", &json!({"$status": "waits"}));
    for (node, status) in [
        (start, Status::Idle),
        (step, Status::Idle),
        (waits, Status::Suspended { role: "writer".into(), message: "What now?".into() }),
        (asks, Status::Suspended { role: "writer".into(), message: "Which?".into() }),
    ] {
        let forked = head(&store, &fork(&store, &node).unwrap()).unwrap();
        assert_eq!((forked.hash, forked.status), (node, status));
    }
    assert_eq!(head(&store, &thread).unwrap().hash, start);
    let text = store.put_text("x").unwrap();
    assert!(matches!(fork(&store, &text), Err(ThreadError::NotAThreadNode { .. })));
}

#[test]
fn a_thread_whose_head_is_gone_still_has_an_entry() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    std::fs::remove_file(place.homes().ocas.join(format!("nodes/{start}.bin"))).unwrap();
    assert_eq!(entry(&store, &thread).unwrap().head, start);
    assert_eq!(entries(&store).count(), 1);
    assert!(head(&store, &thread).is_err());
    remove(&store, &thread).unwrap();
    assert_eq!(entries(&store).count(), 0);
}
