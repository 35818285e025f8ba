//! Summing up by hand and by rule, with agents that are code.

use std::cell::{Cell, RefCell};
use std::path::Path;

use serde_json::{Value, json};
use uwf_store::Hash;

use super::*;
use crate::exec::{StepAgent, StepAgentError, Unobserved, answer, hold, poke_once, step_once};
use crate::fixture::{FLOW, Place};
use crate::spawn::protocol::{AdapterOutput, AgentRequest};
use crate::thread::{SummaryPlace, chain, failed_attempts, head, role_context, start_node, step_node};
use crate::view::ThreadView;
use crate::workflow;

type Played = Result<AdapterOutput, StepAgentError>;

/// What each role is shown, and answers: `again` for ever, and whatever `summary` gives.
fn agent<'a>(
    place: &'a Place,
    shown: &'a RefCell<Vec<(String, Option<String>, usize)>>,
    summary: &'a dyn Fn() -> Value,
) -> impl Fn(&AgentRequest, &Path) -> Played + 'a {
    move |request, cwd| {
        let context = role_context(&place.store(), request)?;
        shown.borrow_mut().push((request.role.clone(), context.summary, context.steps.len()));
        let output = if request.role == COMPACT { summary() } else { json!({"$status": "again"}) };
        Ok(answer(&place.store(), request, cwd, &output)?)
    }
}

fn with<T>(place: &Place, agent: &dyn StepAgent, run: impl FnOnce(&Engine<'_>) -> T) -> T {
    place.with_engine(|engine| run(&Engine { agent: Some(agent), ..*engine }))
}

/// A thread of a workflow that is summed up by rule.
fn ruled(place: &Place, rule: &str) -> ThreadId {
    let text = format!("{FLOW}\ncompact: {rule}\n");
    let checked = workflow::read(&mut text.as_bytes(), Path::new("f.yaml"), &place.project()).unwrap();
    let hash = workflow::put(&place.store(), &checked).unwrap();
    thread::start(&place.store(), &hash, "A task.", place.project().to_str().unwrap()).unwrap()
}

fn steps(place: &Place, agent: &dyn StepAgent, thread: &ThreadId, count: usize) -> Vec<StepReport> {
    with(place, agent, |engine| {
        let lock = hold(engine, thread).unwrap();
        let once = |_| step_once(engine, &lock, &ExecOptions::default(), &mut Unobserved).unwrap();
        (0..count).map(once).collect()
    })
}

fn compact(
    place: &Place,
    agent: &dyn StepAgent,
    thread: &ThreadId,
    keep: u32,
) -> Result<Compaction, ExecError> {
    with(place, agent, |engine| {
        let lock = hold(engine, thread).unwrap();
        compact_once(engine, &lock, keep, &ExecOptions::default(), &mut Unobserved)
    })
}

fn done(ran: Result<Compaction, ExecError>) -> Compacted {
    match ran.unwrap() {
        Compaction::Done(compacted) => compacted,
        Compaction::Failed(report) => panic!("{report:?}"),
    }
}

#[test]
fn the_last_steps_stay_and_the_others_are_summed_up() {
    let place = Place::new();
    let (thread, shown) = (place.flow_thread(), RefCell::new(Vec::new()));
    let summary = || json!({"$status": "done", "summary": "  What happened.\n"});
    let agent = agent(&place, &shown, &summary);
    steps(&place, &agent, &thread, 8);
    let store = place.store();
    let before = head(&store, &thread).unwrap();
    let compacted = done(compact(&place, &agent, &thread, 3));
    assert_eq!(shown.borrow().last().unwrap(), &(COMPACT.to_owned(), None, 8));
    let after = head(&store, &thread).unwrap();
    assert_eq!((compacted.from, compacted.head, compacted.keep), (before.hash, after.hash, 3));
    assert_eq!(store.get(&compacted.summary).unwrap().payload, json!("What happened."));
    let by = step_node(&store, &compacted.compacted_by).unwrap();
    assert_eq!((by.role.as_str(), by.prev), (COMPACT, Some(before.hash)));
    let place_of = SummaryPlace::last(&store, &after.hash).unwrap().unwrap();
    assert_eq!((place_of.step, place_of.by), (compacted.step, Some(compacted.compacted_by)));
    // The steps say what they said.
    let told = |hash: &Hash| {
        let steps = chain(&store, hash).unwrap().steps;
        steps
            .into_iter()
            .map(|(_, step)| (step.role, step.output, step.detail, step.edge_prompt))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&before.hash), told(&after.hash));
    steps(&place, &agent, &thread, 1);
    assert_eq!(shown.borrow().last().unwrap(), &("writer".to_owned(), Some("What happened.".to_owned()), 3));
    store.verify(&mut |finding| panic!("{finding}")).unwrap();
    // And again: the next summary is made of the one before and the steps since.
    done(compact(&place, &agent, &thread, 1));
    assert_eq!(shown.borrow().last().unwrap(), &(COMPACT.to_owned(), Some("What happened.".to_owned()), 4));
}

#[test]
fn a_step_that_takes_the_place_of_one_after_a_summary_keeps_it() {
    let place = Place::new();
    let (thread, shown) = (place.flow_thread(), RefCell::new(Vec::new()));
    let summary = || json!({"$status": "done", "summary": "What happened."});
    let agent = agent(&place, &shown, &summary);
    steps(&place, &agent, &thread, 3);
    let compacted = done(compact(&place, &agent, &thread, 1));
    with(&place, &agent, |engine| {
        let lock = hold(engine, &thread).unwrap();
        poke_once(engine, &lock, "Better.", &ExecOptions::default(), &mut Unobserved).unwrap();
    });
    let head = head(&place.store(), &thread).unwrap();
    let links = head.step().unwrap().links.clone();
    assert_ne!(head.hash, compacted.head);
    assert_eq!((links.compact, links.compacted_by), (Some(compacted.summary), Some(compacted.compacted_by)));
}

#[test]
fn a_thread_that_waits_or_has_ended_stays_so() {
    for (status, word) in [
        (Status::Suspended { role: "writer".into(), message: "Which?".into() }, "suspended"),
        (Status::Ended { completed_at: 7 }, "end"),
    ] {
        let place = Place::new();
        let (store, thread, shown) = (place.store(), place.flow_thread(), RefCell::new(Vec::new()));
        let summary = || json!({"$status": "done", "summary": "What happened."});
        let agent = agent(&place, &shown, &summary);
        steps(&place, &agent, &thread, 3);
        let at = head(&store, &thread).unwrap().hash;
        thread::advance(&store, &thread, &at, &at, &status).unwrap();
        done(compact(&place, &agent, &thread, 1));
        assert_eq!(
            (head(&store, &thread).unwrap().status.as_str(), head(&store, &thread).unwrap().status),
            (word, status)
        );
    }
    let place = Place::new();
    let (thread, shown) = (place.flow_thread(), RefCell::new(Vec::new()));
    let none = || Value::Null;
    let agent = agent(&place, &shown, &none);
    steps(&place, &agent, &thread, 3);
    let nothing = |keep| compact(&place, &agent, &thread, keep).unwrap_err().to_string();
    assert!(nothing(0).starts_with("no step would stay"));
    assert!(nothing(3).contains("3 steps since its start or its last summary, and 3 are to stay"));
    thread::cancel(&place.store(), &thread).unwrap();
    assert!(nothing(1).contains("is not active: its status is cancelled"));
    assert_eq!(shown.borrow().len(), 3, "nobody was asked");
}

#[test]
fn by_rule_a_thread_is_summed_up_before_the_next_role_plays() {
    let place = Place::new();
    let (thread, shown) = (ruled(&place, "{ after: 4, keep: 2 }"), RefCell::new(Vec::new()));
    let count = Cell::new(0);
    let summary = || {
        count.set(count.get() + 1);
        json!({"$status": "done", "summary": format!("Summary {}.", count.get())})
    };
    let agent = agent(&place, &shown, &summary);
    let reports = steps(&place, &agent, &thread, 12);
    let compacted: Vec<usize> = reports
        .iter()
        .enumerate()
        .filter(|(_, report)| report.compacted.is_some())
        .map(|(at, _)| at + 1)
        .collect();
    assert_eq!(compacted, [6, 9, 12]);
    let seen: Vec<String> = shown
        .borrow()
        .iter()
        .map(|(role, summary, steps)| format!("{role} {} {steps}", summary.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(&seen[4..8], ["writer - 4", "$COMPACT - 5", "writer Summary 1. 2", "writer Summary 1. 3"]);
    assert_eq!(seen[9], "$COMPACT Summary 1. 5");
    let store = place.store();
    let last = head(&store, &thread).unwrap();
    let chain = chain(&store, &last.hash).unwrap();
    assert_eq!(chain.steps.len(), 12);
    assert!(chain.steps.iter().skip(11).all(|(_, step)| step.links.ancestors.len() == 11));
    assert_eq!(start_node(&store, &chain.start_hash).unwrap(), chain.start);
    store.verify(&mut |finding| panic!("{finding}")).unwrap();
}

#[test]
fn a_summary_that_fails_is_a_failed_step_and_tried_again() {
    let place = Place::new();
    let (thread, shown) = (ruled(&place, "{ after: 2, keep: 1 }"), RefCell::new(Vec::new()));
    let tries = Cell::new(0);
    let summary = || {
        tries.set(tries.get() + 1);
        match tries.get() {
            1 => json!({"$status": "$SUSPEND", "reason": "Which part?"}),
            _ => json!({"$status": "done", "summary": "What happened."}),
        }
    };
    let agent = agent(&place, &shown, &summary);
    steps(&place, &agent, &thread, 3);
    let store = place.store();
    let before = head(&store, &thread).unwrap();
    let report = steps(&place, &agent, &thread, 1).remove(0);
    assert_eq!(report.failure.as_deref(), Some("it asks instead: Which part?"));
    let failed = report.played.clone().unwrap();
    assert_eq!((failed.step.role.as_str(), report.head), (COMPACT, before.hash));
    assert_eq!(failed_attempts(&store, &thread, COMPACT).unwrap(), [failed.hash]);
    let workflow = workflow::get(&store, &before.start(&store).unwrap().workflow).unwrap();
    let view = ThreadView::stored(&store, (thread, &before), (report.workflow, &workflow), None);
    let hint = view.hint.unwrap();
    assert!(hint.ends_with(&format!("try again with `uwf thread exec {thread}`")), "{hint}");
    assert_eq!(view.error.unwrap().step_hash, Some(failed.hash));
    let report = steps(&place, &agent, &thread, 1).remove(0);
    let compacted = report.compacted.unwrap();
    assert_eq!(failed_attempts(&store, &thread, COMPACT).unwrap(), []);
    let by = step_node(&store, &compacted.compacted_by).unwrap();
    assert_eq!(by.previous_attempts, Some(vec![failed.hash]), "and it is on record");
}

/// What is not valid never becomes a summary.
#[test]
fn an_answer_that_is_no_summary_changes_nothing() {
    for bad in [
        json!({"$status": "done"}),
        json!({"$status": "done", "summary": ""}),
        json!({"$status": "done", "summary": " \n"}),
        json!({"$status": "done", "summary": 7}),
        json!({"$status": "done", "summary": "x".repeat(12_001)}),
        json!({"$status": "again", "summary": "x"}),
    ] {
        let place = Place::new();
        let (thread, shown) = (place.flow_thread(), RefCell::new(Vec::new()));
        let summary = || bad.clone();
        let agent = agent(&place, &shown, &summary);
        steps(&place, &agent, &thread, 3);
        let before = head(&place.store(), &thread).unwrap();
        let error = compact(&place, &agent, &thread, 1).unwrap_err().to_string();
        assert!(error.contains("the agent for role `$COMPACT` failed"), "{error}");
        assert_eq!(head(&place.store(), &thread).unwrap(), before);
    }
}
