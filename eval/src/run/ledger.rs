//! What the store knows of an evaluation and of each of its cases: written before what it tells of happens.

use std::collections::BTreeMap;

use uwf_engine::ThreadId;
use uwf_store::{Batch, Expect, Hash, Store, VarChange};

use super::workspace::All;
use super::{Plan, begun};
use crate::case::GivenUp;
use crate::record::{
    EvalRun, Evaluation, Records, Sample, case_variable, cases_prefix, evaluation_variable, payload, put,
    run_variable, sample_variable,
};
use crate::{EvalError, load};

/// The tag with the thread of a case that has begun, or of a sample.
const THREAD: &str = "thread";
/// The tag with the thread in whose place a case's thread is.
const REPLACES: &str = "replaces";
/// The tag with what was given up for a case, as JSON.
const GIVEN_UP: &str = "given-up";
/// The tag with where a sample's thread stood when it was over.
const HEAD: &str = "head";
/// The tag with the workspace as a sample's thread left it.
const LEFT: &str = "left";
/// The tag with the directory of git's in it.
const LEFT_GIT: &str = "left-git";
/// The tag of a case that was judged again, with what it was judged by.
const JUDGED: &str = "judged";

/// A thread that was run for a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled {
    pub(super) thread: ThreadId,
    /// The workspace as it left it.
    pub(super) left: All,
}

/// The evaluation of a plan: begun now, or before.
pub(super) fn open(store: &Store, records: &Records, plan: &Plan) -> Result<Evaluation, EvalError> {
    let known = store.vars().get(&evaluation_variable(&plan.name))?;
    let expect = known.map_or(Expect::Absent, |known| Expect::Value(known.value));
    let known = match load::evaluation(store, &plan.name) {
        Ok(known) if plan.is_new => return Err(EvalError::Taken { name: known.name }),
        // What it was run with elsewhere is not here, though it may be called the same.
        Ok(known) if known.imported => return Err(EvalError::Imported { name: known.name }),
        Ok(known) => {
            plan.check_same(&known)?;
            if known.config.count == plan.config.count {
                return Ok(known);
            }
            Some(known)
        }
        Err(EvalError::Unknown { .. }) => None,
        Err(error) => return Err(error),
    };
    let mut evaluation = begun(plan, store.now());
    if let Some(known) = known {
        (evaluation.started_at, evaluation.cases) = (known.started_at, known.cases);
        evaluation.config.fresh |= known.config.fresh;
        evaluation.config.keep |= known.config.keep;
    }
    name(store, records, (&evaluation, expect), Vec::new())?;
    Ok(evaluation)
}

/// An evaluation that was finished goes on: some of its cases are run again.
pub(super) fn reopen(store: &Store, records: &Records, evaluation: Evaluation) -> Result<(), EvalError> {
    let known = load::hash_of(store, &evaluation.name)?;
    let evaluation = Evaluation { finished_at: None, ..evaluation };
    name(store, records, (&evaluation, Expect::Value(known)), Vec::new())
}

/// Makes the record of an evaluation whose cases are all finished, in the place of `known`; those of its cases alone are needed
/// no more.
pub(super) fn close(
    store: &Store,
    records: &Records,
    (evaluation, known): (Evaluation, Hash),
) -> Result<(), EvalError> {
    let finished_at = Some(evaluation.finished_at.unwrap_or_else(|| store.now()));
    let evaluation = Evaluation { finished_at, ..evaluation };
    let forget = VarChange::RemovePrefix { prefix: cases_prefix(&evaluation.name) };
    name(store, records, (&evaluation, Expect::Value(known)), vec![forget])
}

fn name(
    store: &Store,
    records: &Records,
    (evaluation, expect): (&Evaluation, Expect),
    mut others: Vec<VarChange>,
) -> Result<(), EvalError> {
    let value = put(store, &records.evaluation, evaluation)?;
    let name = evaluation_variable(&evaluation.name);
    let (schema, tags) = (records.evaluation, BTreeMap::new());
    others.insert(0, VarChange::Set { name, schema, value, tags, expect });
    Ok(store.vars().apply(&others)?)
}

/// The case that a thread is run for: its evaluation, its task, and which of the task's cases.
pub(super) type Place<'a> = (&'a str, &'a str, u32);

/// The thread that a case has begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Begun {
    pub(super) thread: ThreadId,
    /// What was given up before.
    pub(super) given_up: GivenUp,
    /// The thread in whose place it is: nobody needs that any more.
    pub(super) replaces: Option<ThreadId>,
}

impl Begun {
    /// A thread that is yet to begin.
    pub(super) fn new(store: &Store) -> Begun {
        Begun { thread: ThreadId::new(store.now()), given_up: GivenUp::default(), replaces: None }
    }
}

/// The thread that a case has begun and that is not recorded, if there is one.
pub(super) fn begun_thread(store: &Store, place: Place<'_>) -> Result<Option<Begun>, EvalError> {
    let Some(found) = store.vars().get(&of_case(place))? else { return Ok(None) };
    let tag = |name: &str| found.tags.get(name);
    let thread = |name| tag(name).and_then(|thread| thread.parse().ok());
    let Some(begun) = thread(THREAD) else { return Ok(None) };
    let given_up = tag(GIVEN_UP).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Ok(Some(Begun { thread: begun, given_up, replaces: thread(REPLACES) }))
}

/// Notes which thread is the case's.
pub(super) fn note_begun(store: &Store, place: Place<'_>, begun: &Begun) -> Result<(), EvalError> {
    Ok(store.vars().apply(&[begun_change(store, place, begun)?])?)
}

/// The change that notes which thread is the case's: made with that thread, or before there is such a thread.
pub(super) fn begun_change(store: &Store, place: Place<'_>, begun: &Begun) -> Result<VarChange, EvalError> {
    let (evaluation, ..) = place;
    let named = store.vars().get(&evaluation_variable(evaluation))?;
    let named = named.ok_or_else(|| EvalError::Unknown { name: evaluation.to_owned(), known: Vec::new() })?;
    let mut tags = BTreeMap::from([(THREAD.to_owned(), begun.thread.to_string())]);
    tags.extend(begun.replaces.map(|thread| (REPLACES.to_owned(), thread.to_string())));
    if !begun.given_up.is_nothing() {
        let told = serde_json::to_string(&begun.given_up).expect("numbers are JSON");
        tags.insert(GIVEN_UP.to_owned(), told);
    }
    let (name, schema, value, expect) = (of_case(place), named.schema, named.value, Expect::Any);
    Ok(VarChange::Set { name, schema, value, tags, expect })
}

fn of_case((evaluation, task, repeat): Place<'_>) -> String {
    case_variable(evaluation, task, repeat)
}

/// A thread that was run for a sample, if it stands where it stood then.
pub(super) fn sampled(
    store: &Store,
    records: &Records,
    sample: &Sample,
) -> Result<Option<Sampled>, EvalError> {
    let Some(found) = store.vars().get(&sample_variable(&hash_of(records, sample)))? else { return Ok(None) };
    let hash = |name: &str| found.tags.get(name).and_then(|hash| hash.parse::<Hash>().ok());
    let thread: Option<ThreadId> = found.tags.get(THREAD).and_then(|thread| thread.parse().ok());
    let (Some(thread), Some(stood), Some(tree)) = (thread, hash(HEAD), hash(LEFT)) else { return Ok(None) };
    let left = All { tree, git: hash(LEFT_GIT) };
    // Somebody may have gone on with the thread, or have removed it, and what it left may be collected.
    let stands = uwf_engine::thread::head(store, &thread).is_ok_and(|head| head.hash == stood);
    let is_there = store.has(&left.tree) && left.git.is_none_or(|git| store.has(&git));
    Ok((stands && is_there).then_some(Sampled { thread, left }))
}

fn hash_of(records: &Records, sample: &Sample) -> Hash {
    Hash::of(&records.sample, &payload(sample))
}

/// Records a finished case, whose record `value` is in `found` with what judges have found, and that its thread may stand for the
/// sample where it may.
pub(super) fn finish(
    store: &Store,
    records: &Records,
    (run, value, mut found): (&EvalRun, Hash, Batch<'_>),
    sample: Option<&Sample>,
) -> Result<(), EvalError> {
    let id = ThreadId::new(store.now()).to_string();
    let set = |name: String, schema: Hash, value: Hash, tags: BTreeMap<String, String>| VarChange::Set {
        name,
        schema,
        value,
        tags,
        expect: Expect::Any,
    };
    let case = case_variable(&run.evaluation, &run.task, run.repeat);
    let mut changes = vec![
        set(run_variable(&run.task, &id), records.run, value, BTreeMap::new()),
        set(case, records.run, value, BTreeMap::new()),
    ];
    if let (Some(sample), Some(thread), Some(head), Some(left)) = (sample, &run.thread_id, run.head, run.left)
    {
        let node = found.put(&records.sample, &payload(sample))?;
        let git = run.left_git.map(|git| (LEFT_GIT, git.to_string()));
        let tags = [(THREAD, thread.clone()), (HEAD, head.to_string()), (LEFT, left.to_string())];
        let tags = tags.into_iter().chain(git).map(|(name, value)| (name.to_owned(), value)).collect();
        changes.push(set(sample_variable(&node), records.sample, node, tags));
    }
    found.commit()?;
    Ok(store.vars().apply(&changes)?)
}

/// What a case was judged again by, where it was and its evaluation is not whole again.
pub(super) fn judged_by(store: &Store, place: Place<'_>) -> Result<Option<String>, EvalError> {
    let found = store.vars().get(&of_case(place))?;
    Ok(found.and_then(|mut found| found.tags.remove(JUDGED)))
}

/// Records a case that was judged again, and what by; gives the record.
pub(super) fn note(store: &Store, records: &Records, run: &EvalRun, by: &str) -> Result<Hash, EvalError> {
    let value = put(store, &records.run, run)?;
    let set = |name, tags| VarChange::Set { name, schema: records.run, value, tags, expect: Expect::Any };
    let case = case_variable(&run.evaluation, &run.task, run.repeat);
    store.vars().apply(&[
        set(run_variable(&run.task, &ThreadId::new(store.now()).to_string()), BTreeMap::new()),
        set(case, BTreeMap::from([(JUDGED.to_owned(), by.to_owned())])),
    ])?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uwf_engine::builtin::PROFILE;
    use uwf_engine::thread::{HEADS, ThreadOptions, head, start_as};

    use super::*;

    fn sample(workflow: Hash) -> Sample {
        let fields = json!({
            "workflow": workflow, "task": "t", "prompt": "p", "agent": "a", "model": null, "engineVersion": "1",
            "seed": 1, "repeat": 1,
        });
        serde_json::from_value(fields).unwrap()
    }

    fn run(workflow: Hash, thread: &ThreadId, head: Hash, left: Option<Hash>) -> EvalRun {
        let fields = json!({
            "task": "t", "config": {"agent": "a", "model": null, "engineVersion": "1"}, "threadId": thread,
            "judges": [], "overall": 1, "timestamp": 1, "outcome": "scored", "evaluation": "e", "repeat": 1,
            "seed": 1, "taskHash": "h", "workflow": workflow, "head": head, "left": left, "seconds": 0.5,
            "steps": 1, "usage": {"input": 1, "output": 2, "turns": 1},
        });
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn a_thread_stands_for_a_sample_while_it_stands_where_it_stood() {
        let store = Store::in_memory(PROFILE, || 1_800_000_000_000).unwrap();
        let records = Records::register(&store).unwrap();
        let workflow = store.put_text("a workflow").unwrap();
        let [thread, other] = [1, 2].map(ThreadId::new);
        start_as(&store, &thread, (&workflow, "p", "/w"), vec![]).unwrap();
        start_as(&store, &other, (&workflow, "q", "/w"), vec![]).unwrap();
        let stood = head(&store, &thread).unwrap().hash;
        let left = uwf_snapshot::capture(
            tempfile::tempdir().unwrap().path(),
            &uwf_snapshot::Options::default(),
            &mut uwf_snapshot::CaptureCache::in_memory(),
            &store,
        );
        let left = left.unwrap().tree;
        let sample = sample(workflow);
        let found =
            || sampled(&store, &records, &sample).unwrap().map(|found| (found.thread, found.left.tree));
        let finish_with = |left| {
            let (run, mut found) = (run(workflow, &thread, stood, left), store.batch());
            let value = found.put(&records.run, &payload(&run)).unwrap();
            finish(&store, &records, (&run, value, found), Some(&sample)).unwrap();
        };
        // What was not kept as a whole cannot be made again.
        finish_with(None);
        assert_eq!(found(), None);
        finish_with(Some(left));
        assert_eq!(found(), Some((thread, left)));
        // Under other settings it is another sample.
        let settings = [("model".to_owned(), "other".to_owned())].into();
        let other_settings = Sample { settings, ..sample.clone() };
        assert!(sampled(&store, &records, &other_settings).unwrap().is_none());
        let options = ThreadOptions { base_url: Some("http://other".to_owned()), ..ThreadOptions::default() };
        let elsewhere = Sample { options, ..sample.clone() };
        assert!(sampled(&store, &records, &elsewhere).unwrap().is_none());
        let moved = store.vars().get(&format!("{HEADS}{other}")).unwrap().unwrap();
        let (name, expect) = (format!("{HEADS}{thread}"), Expect::Any);
        let (schema, value, tags) = (moved.schema, moved.value, moved.tags);
        store.vars().apply(&[VarChange::Set { name, schema, value, tags, expect }]).unwrap();
        assert_eq!(found(), None);
    }

    #[test]
    fn an_evaluation_that_somebody_has_changed_is_not_written_over() {
        let store = Store::in_memory(PROFILE, || 1_800_000_000_000).unwrap();
        let records = Records::register(&store).unwrap();
        let begun: Evaluation = serde_json::from_value(json!({
            "name": "e", "config": {"agent": "a", "model": null, "engineVersion": "1", "seed": 1, "count": 1},
            "tasks": [], "cases": [], "startedAt": 1,
        }))
        .unwrap();
        name(&store, &records, (&begun, Expect::Absent), Vec::new()).unwrap();
        let known = load::hash_of(&store, "e").unwrap();
        close(&store, &records, (begun.clone(), known)).unwrap();
        assert!(matches!(
            close(&store, &records, (begun, known)),
            Err(EvalError::Store(uwf_store::StoreError::Conflict { .. }))
        ));
        let finished = load::evaluation(&store, "e").unwrap();
        reopen(&store, &records, finished).unwrap();
        assert_eq!(load::evaluation(&store, "e").unwrap().finished_at, None);
    }

    #[test]
    fn what_was_imported_is_not_run_whatever_it_is_called() {
        let store = Store::in_memory(PROFILE, || 1_800_000_000_000).unwrap();
        let records = Records::register(&store).unwrap();
        let (_dir, plan) = super::super::plan::tests::plan(1);
        let theirs = Evaluation { imported: true, ..begun(&plan, 1) };
        name(&store, &records, (&theirs, Expect::Absent), Vec::new()).unwrap();
        assert!(matches!(open(&store, &records, &plan), Err(EvalError::Imported { name }) if name == "e"));
        let plan = Plan { is_new: true, ..plan };
        assert!(matches!(open(&store, &records, &plan), Err(EvalError::Taken { name }) if name == "e"));
    }
}
