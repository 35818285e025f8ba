//! What steps have cost, by the runs of agents that were paid for: several steps may tell of the same run, as the step of a caller
//! does of those of the thread that it called.

use uwf_engine::ThreadId;
use uwf_engine::thread::{self, FAILED, MAX_LEVELS, StepNode};
use uwf_store::{Hash, Store};

use crate::FleetError;
use crate::heads::{Attempt, PaidRun, RemoteHead};

/// What has been paid for a thread that stands at `head` and whose step failed: the failed attempts that it and those that it
/// called list, and what the thread that is called for the step has finished by then, however deep.
pub(super) fn attempts(
    store: &Store,
    (thread, head): (&ThreadId, &Hash),
    standing: &RemoteHead,
) -> Result<Vec<Attempt>, FleetError> {
    let mut found = Vec::new();
    let listed = standing.variables.iter().filter(|variable| variable.name.starts_with(FAILED));
    for hash in listed.flat_map(|variable| &variable.also) {
        let runs = runs_of(store, &thread::step_node(store, hash)?);
        found.extend(runs.into_iter().map(|run| Attempt { step: *hash, run }));
    }
    below(store, (thread, head), 0, &mut found)?;
    Ok(found)
}

/// What a thread that was called for the step at this head has finished, and those that it called.
pub(super) fn below(
    store: &Store,
    (caller, head): (&ThreadId, &Hash),
    level: usize,
    found: &mut Vec<Attempt>,
) -> Result<(), FleetError> {
    let last = thread::last_called(store, caller)?.filter(|called| called.is_from(head));
    let Some(called) = last.filter(|_| level < MAX_LEVELS) else { return Ok(()) };
    let Some(stands) = thread::stands_at(store, &called.thread)? else { return Ok(()) };
    // The first step of a caller has none before it.
    let before = thread::step_node(store, head).is_ok().then_some(head);
    for (hash, step) in thread::called_since(store, before, &stands).unwrap_or_default() {
        let mut runs = Vec::new();
        add(store, &step, level + 1, &mut runs);
        found.extend(runs.into_iter().map(|run| Attempt { step: hash, run }));
    }
    below(store, (&called.thread, &stands), level + 1, found)
}

/// The runs that a step is made of: its own, or those of the thread that was called for it. One that cannot be read has cost
/// nothing that anybody knows.
pub(super) fn runs_of(store: &Store, step: &StepNode) -> Vec<PaidRun> {
    let mut runs = Vec::new();
    add(store, step, 0, &mut runs);
    runs
}

fn add(store: &Store, step: &StepNode, level: usize, runs: &mut Vec<PaidRun>) {
    // Of a thread that a worker has, a summary is pushed by itself.
    let summary = step.links.compacted_by.filter(|_| level > 0);
    if let Some(by) = summary.and_then(|by| thread::step_node(store, &by).ok()) {
        runs.push(own(store, &by));
    }
    match thread::called_by(store, &step.detail) {
        Ok(Some(_)) if level < MAX_LEVELS => {
            for (_, called) in thread::called_steps(store, step).unwrap_or_default() {
                add(store, &called, level + 1, runs);
            }
        }
        _ => runs.push(own(store, step)),
    }
}

/// The run of a step that an agent has made.
fn own(store: &Store, step: &StepNode) -> PaidRun {
    let count = step.usage.as_ref().map_or(0, |usage| usage.input_tokens.saturating_add(usage.output_tokens));
    PaidRun {
        // A step may be stored again.
        key: format!("{}.{}.{}.{}", step.detail, step.output, step.started_at_ms, step.completed_at_ms),
        cost_usd: thread::detail_of(store, step).ok().and_then(|record| record.cost).unwrap_or(0.0),
        tokens: i64::try_from(count).unwrap_or(i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use serde_json::json;
    use uwf_engine::fixture::Place;
    use uwf_engine::record::Detail;
    use uwf_engine::thread::{CalledFrom, StartNode, Status, record_failure};

    use super::*;
    use crate::fixture::Postgres;
    use crate::heads::{self, FailedStep};
    use crate::queue::{self, Claimant, Terms};
    use crate::{Connection, nodes, sync};

    /// A thread and the one that plays a role of it.
    struct Called {
        place: Place,
        store: Store,
        caller: ThreadId,
        called: ThreadId,
        start: Hash,
    }

    impl Called {
        fn new() -> Called {
            let place = Place::in_memory();
            let (store, caller) = (place.store(), place.flow_thread());
            let head = thread::head(&store, &caller).unwrap();
            let call = Some(CalledFrom { parent_state: head.hash, depth: 1 });
            let start = StartNode { call, ..head.start(&store).unwrap() };
            let called = thread::call(&store, (&caller, "writer"), &start, None).unwrap().thread;
            Called { start: head.hash, place, store, caller, called }
        }

        /// A step of a thread with this record, or with one of this price.
        fn step(&self, of: &ThreadId, said: &str, record: Result<Hash, f64>) -> (Hash, StepNode) {
            let head = thread::head(&self.store, of).unwrap();
            let prev = head.step().map(|_| head.hash);
            let step = self.place.step(of, prev, "writer", &json!({"$status": "again", "dir": said}));
            let mut step = thread::step_node(&self.store, &step).unwrap();
            let mut batch = self.store.batch();
            step.detail = match record {
                Ok(detail) => detail,
                Err(cost) => Detail { cost: Some(cost), ..Detail::empty("", "") }.put(&mut batch).unwrap(),
            };
            let hash = batch.put(&step.type_(), &json!(step)).unwrap();
            batch.commit().unwrap();
            (hash, step)
        }

        /// The called thread makes a step.
        fn goes_on(&self, said: &str, cost: f64) -> Hash {
            let head = thread::head(&self.store, &self.called).unwrap().hash;
            let (step, _) = self.step(&self.called, said, Err(cost));
            thread::advance(&self.store, &self.called, &head, &step, &Status::Idle).unwrap();
            step
        }

        /// A step of the called thread fails, and the caller's with it.
        fn fails(&self, said: &str, cost: f64) {
            let (below, _) = self.step(&self.called, said, Err(cost));
            record_failure(&self.store, &self.called, "writer", &below).unwrap();
            let (above, _) = self.step(&self.caller, said, Ok(below));
            record_failure(&self.store, &self.caller, "writer", &above).unwrap();
        }

        /// What is counted at a remote then.
        fn counted(&self, at: &mut Connection, lease: queue::Lease) -> f64 {
            let standing = RemoteHead::of(&self.store, &self.caller).unwrap();
            let attempts = attempts(&self.store, (&self.caller, &self.start), &standing).unwrap();
            nodes::put(at, &self.store, (&standing.roots(), &mut HashSet::new())).unwrap();
            let variables = &standing.variables;
            let failed = FailedStep { lease, worker: "w", variables, attempts: &attempts, kept: None };
            heads::keep_failed(at, &failed).unwrap()
        }
    }

    #[test]
    fn each_run_of_a_called_thread_counts_once_whatever_fails_and_succeeds() {
        let Some(postgres) = Postgres::start() else { return };
        let (mut at, case) = (postgres.connection(), Called::new());
        sync::begin(&mut at, &case.store, &case.caller, Some("writer")).unwrap();
        queue::submit(&mut at, &case.caller, &Terms::default()).unwrap();
        let claimant =
            Claimant { name: "w".into(), labels: vec![], workflow: None, lease: Duration::from_secs(60) };
        let lease = queue::claim(&mut at, &claimant).unwrap().unwrap().lease;
        case.goes_on("one", 1.0);
        case.fails("no", 0.5);
        assert_eq!(case.counted(&mut at, lease), 1.5);
        assert_eq!(case.counted(&mut at, lease), 0.0);
        case.fails("no again", 0.25);
        assert_eq!(case.counted(&mut at, lease), 0.25);
        // It fails without a step, after one that was made.
        case.goes_on("two", 2.0);
        assert_eq!(case.counted(&mut at, lease), 2.0);
        let last = case.goes_on("three", 4.0);
        let (_, made) = case.step(&case.caller, "done", Ok(last));
        let told = heads::told_runs(&mut at, &lease).unwrap();
        let runs = runs_of(&case.store, &made);
        let all: f64 = runs.iter().map(|run| run.cost_usd).sum();
        let rest: f64 = runs.iter().filter(|run| !told.contains(&run.key)).map(|run| run.cost_usd).sum();
        assert_eq!((all, rest), (7.0, 4.0));
    }
}
