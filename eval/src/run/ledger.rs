//! What the store knows of an evaluation and of each of its cases: written before what it tells of happens.

use std::collections::BTreeMap;

use uwf_engine::ThreadId;
use uwf_store::{Expect, Hash, Store, VarChange};

use super::workspace::All;
use super::{Plan, begun};
use crate::record::{
    EvalRun, Evaluation, Records, Sample, case_variable, cases_prefix, evaluation_variable, put,
    run_variable, sample_variable,
};
use crate::{EvalError, load};

/// The tag with the thread of a case that has begun, or of a sample.
const THREAD: &str = "thread";
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

/// The thread of a case: the one that it has begun; else `earlier`, which it began before its infrastructure failed, or a new one:
/// that is noted before there is such a thread.
pub(super) fn thread_of(
    store: &Store,
    (evaluation, task, repeat): (&str, &str, u32),
    earlier: Option<ThreadId>,
) -> Result<ThreadId, EvalError> {
    let name = case_variable(evaluation, task, repeat);
    let found = store.vars().get(&name)?;
    if let Some(thread) = found.and_then(|found| found.tags.get(THREAD)?.parse().ok()) {
        return Ok(thread);
    }
    let thread = earlier.unwrap_or_else(|| ThreadId::new(store.now()));
    let named = store.vars().get(&evaluation_variable(evaluation))?;
    let named = named.ok_or_else(|| EvalError::Unknown { name: evaluation.to_owned(), known: Vec::new() })?;
    let tags = BTreeMap::from([(THREAD.to_owned(), thread.to_string())]);
    let (schema, value, expect) = (named.schema, named.value, Expect::Any);
    store.vars().apply(&[VarChange::Set { name, schema, value, tags, expect }])?;
    Ok(thread)
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
    if let (Some(sample), Some(thread), Some(head), Some(left)) = (sample, &run.thread_id, run.head, run.left)
    {
        let node = put(store, &records.sample, sample)?;
        let git = run.left_git.map(|git| (LEFT_GIT, git.to_string()));
        let tags = [(THREAD, thread.clone()), (HEAD, head.to_string()), (LEFT, left.to_string())];
        let tags = tags.into_iter().chain(git).map(|(name, value)| (name.to_owned(), value)).collect();
        changes.push(set(sample_variable(&node), records.sample, node, tags));
    }
    store.vars().apply(&changes)?;
    Ok(value)
}

/// What a case was judged again by, where it was and its evaluation is not whole again.
pub(super) fn judged_by(
    store: &Store,
    (evaluation, task, repeat): (&str, &str, u32),
) -> Result<Option<String>, EvalError> {
    let found = store.vars().get(&case_variable(evaluation, task, repeat))?;
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
