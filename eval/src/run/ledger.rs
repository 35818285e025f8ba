//! What the store knows of an evaluation and of each of its cases: written before what it tells of happens.

use std::collections::BTreeMap;

use uwf_engine::ThreadId;
use uwf_store::{Expect, Hash, Store, VarChange};

use super::{Plan, begun};
use crate::record::{
    EvalRun, Evaluation, Records, Sample, case_variable, cases_prefix, evaluation_variable, put,
    run_variable, sample_variable,
};
use crate::{EvalError, load};

/// The tag with the thread of a case that has begun, or of a sample.
const THREAD: &str = "thread";
/// The tag with the workspace as a sample's thread left it.
const AFTER: &str = "after";

/// The evaluation of a plan: begun now, or before.
pub(super) fn open(store: &Store, records: &Records, plan: &Plan) -> Result<Evaluation, EvalError> {
    let known = match load::evaluation(store, &plan.name) {
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
    }
    name(store, records, &evaluation, Vec::new())?;
    Ok(evaluation)
}

/// Makes the record of an evaluation whose cases are all finished; those of its cases alone are needed no more.
pub(super) fn close(store: &Store, records: &Records, evaluation: Evaluation) -> Result<(), EvalError> {
    let finished_at = Some(evaluation.finished_at.unwrap_or_else(|| store.now()));
    let evaluation = Evaluation { finished_at, ..evaluation };
    let forget = VarChange::RemovePrefix { prefix: cases_prefix(&evaluation.name) };
    name(store, records, &evaluation, vec![forget])
}

fn name(
    store: &Store,
    records: &Records,
    evaluation: &Evaluation,
    mut others: Vec<VarChange>,
) -> Result<(), EvalError> {
    let value = put(store, &records.evaluation, evaluation)?;
    let name = evaluation_variable(&evaluation.name);
    let (schema, tags, expect) = (records.evaluation, BTreeMap::new(), Expect::Any);
    others.insert(0, VarChange::Set { name, schema, value, tags, expect });
    Ok(store.vars().apply(&others)?)
}

/// The thread of a case: the one that it has begun, or a new one, which is noted before there is such a thread.
pub(super) fn thread_of(
    store: &Store,
    (evaluation, task, repeat): (&str, &str, u32),
) -> Result<ThreadId, EvalError> {
    let name = case_variable(evaluation, task, repeat);
    let found = store.vars().get(&name)?;
    if let Some(thread) = found.and_then(|found| found.tags.get(THREAD)?.parse().ok()) {
        return Ok(thread);
    }
    let thread = ThreadId::new(store.now());
    let named = store.vars().get(&evaluation_variable(evaluation))?;
    let named = named.ok_or_else(|| EvalError::Unknown { name: evaluation.to_owned(), known: Vec::new() })?;
    let tags = BTreeMap::from([(THREAD.to_owned(), thread.to_string())]);
    let (schema, value, expect) = (named.schema, named.value, Expect::Any);
    store.vars().apply(&[VarChange::Set { name, schema, value, tags, expect }])?;
    Ok(thread)
}

/// A thread that was run for a sample, and the workspace as it left it.
pub(super) fn sampled(
    store: &Store,
    records: &Records,
    sample: &Sample,
) -> Result<Option<(ThreadId, Hash)>, EvalError> {
    let Some(found) = store.vars().get(&sample_variable(&hash_of(records, sample)))? else { return Ok(None) };
    let tag = |name: &str| found.tags.get(name);
    let thread = tag(THREAD).and_then(|thread| thread.parse().ok());
    let after = tag(AFTER).and_then(|after| after.parse().ok());
    // Somebody may have removed the thread, and what it left may be collected.
    let (Some(thread), Some(after)) = (thread, after) else { return Ok(None) };
    Ok((uwf_engine::thread::head(store, &thread).is_ok() && store.has(&after)).then_some((thread, after)))
}

fn hash_of(records: &Records, sample: &Sample) -> Hash {
    let payload = uwf_store::json::tree(sample).expect("a sample has names for fields");
    Hash::of(&records.sample, &payload)
}

/// Records a finished case, and that its thread may stand for the sample where it may; gives the record.
pub(super) fn finish(
    store: &Store,
    records: &Records,
    run: &EvalRun,
    sample: Option<&Sample>,
) -> Result<Hash, EvalError> {
    let value = put(store, &records.run, run)?;
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
    if let (Some(sample), Some(thread), Some(after)) = (sample, &run.thread_id, run.after) {
        let node = put(store, &records.sample, sample)?;
        let tags = [(THREAD, thread.clone()), (AFTER, after.to_string())];
        let tags = tags.map(|(name, value)| (name.to_owned(), value)).into();
        changes.push(set(sample_variable(&node), records.sample, node, tags));
    }
    store.vars().apply(&changes)?;
    Ok(value)
}

/// Records a case that was judged again; gives the record.
pub(super) fn note(store: &Store, records: &Records, run: &EvalRun) -> Result<Hash, EvalError> {
    let value = put(store, &records.run, run)?;
    let name = run_variable(&run.task, &ThreadId::new(store.now()).to_string());
    let (schema, tags, expect) = (records.run, BTreeMap::new(), Expect::Any);
    store.vars().apply(&[VarChange::Set { name, schema, value, tags, expect }])?;
    Ok(value)
}

/// The record of an evaluation whose cases were judged again.
pub(super) fn replace(store: &Store, records: &Records, evaluation: &Evaluation) -> Result<(), EvalError> {
    let forget = VarChange::RemovePrefix { prefix: cases_prefix(&evaluation.name) };
    name(store, records, evaluation, vec![forget])
}
