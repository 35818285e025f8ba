//! An evaluation by its name, with its cases: what reports are made of.

use std::collections::{BTreeMap, HashMap};

use uwf_store::{Hash, Store};

use crate::EvalError;
use crate::case::Case;
use crate::record::{
    CaseRef, EVALUATIONS, EvalRun, Evaluation, Records, cases_prefix, evaluation_variable, get,
};

/// An evaluation and its cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The evaluation; its `cases` are those that are finished.
    pub evaluation: Evaluation,
    /// The cases that are finished, by task in the order of the evaluation, and by repeat.
    pub cases: Vec<Case>,
}

/// The evaluation of this name, as far as it has come.
///
/// # Errors
/// [`EvalError::Unknown`]; or a record cannot be read.
pub fn load(store: &Store, name: &str) -> Result<Loaded, EvalError> {
    let evaluation = evaluation(store, name)?;
    let cases = cases_of(store, &evaluation)?;
    Ok(Loaded { evaluation, cases })
}

/// The cases of an evaluation.
///
/// # Errors
/// A record cannot be read.
pub fn cases_of(store: &Store, evaluation: &Evaluation) -> Result<Vec<Case>, EvalError> {
    let type_ = Records::known().run;
    let case = |case: &CaseRef| Ok(get::<EvalRun>(store, &type_, &case.run)?.case(&case.run));
    evaluation.cases.iter().map(case).collect()
}

/// The evaluation of this name without what its cases say: `cases` are those that are finished.
///
/// # Errors
/// As [`load()`].
pub fn evaluation(store: &Store, name: &str) -> Result<Evaluation, EvalError> {
    let hash = hash_of(store, name)?;
    let mut evaluation: Evaluation = get(store, &Records::known().evaluation, &hash)?;
    let order: HashMap<&str, usize> =
        evaluation.tasks.iter().enumerate().map(|(at, task)| (task.name.as_str(), at)).collect();
    let recorded = std::mem::take(&mut evaluation.cases).into_iter().chain(finished(store, name)?);
    let place = |case: &CaseRef| (order.get(case.task.as_str()).copied(), case.repeat);
    // What a case of an evaluation that goes on says is the later word.
    let cases: BTreeMap<_, CaseRef> = recorded.map(|case| (place(&case), case)).collect();
    evaluation.cases = cases.into_values().collect();
    Ok(evaluation)
}

/// The names of all evaluations.
///
/// # Errors
/// The variables cannot be listed.
pub fn names(store: &Store) -> Result<Vec<String>, EvalError> {
    let found = store.vars().list(EVALUATIONS)?;
    Ok(found.into_iter().filter_map(|found| Some(found.name.strip_prefix(EVALUATIONS)?.to_owned())).collect())
}

/// The node of an evaluation.
pub(crate) fn hash_of(store: &Store, name: &str) -> Result<Hash, EvalError> {
    let unknown = || -> Result<EvalError, EvalError> {
        Ok(EvalError::Unknown { name: name.to_owned(), known: names(store)? })
    };
    if !crate::record::is_segment(name) {
        return Err(unknown()?);
    }
    match store.vars().get(&evaluation_variable(name))? {
        Some(found) => Ok(found.value),
        None => Err(unknown()?),
    }
}

/// The finished cases of an evaluation that goes on.
fn finished(store: &Store, name: &str) -> Result<Vec<CaseRef>, EvalError> {
    let prefix = cases_prefix(name);
    let (type_, mut cases) = (Records::known().run, Vec::new());
    for found in store.vars().list(&prefix)? {
        let place = found.name.strip_prefix(&prefix).and_then(|rest| rest.split_once('/'));
        let Some((task, Ok(repeat))) = place.map(|(task, repeat)| (task, repeat.parse())) else { continue };
        if found.schema == type_ {
            cases.push(CaseRef { task: task.to_owned(), repeat, run: found.value });
        }
    }
    Ok(cases)
}
