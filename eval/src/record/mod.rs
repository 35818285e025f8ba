//! The nodes of evaluations, and the variables that name them.
//!
//! | variable | what it names |
//! |---|---|
//! | `@uwf/eval/<task>/<ULID>` | a case that is finished: an [`EvalRun`] |
//! | `@uwf/evaluation/<name>` | an evaluation: an [`Evaluation`] |
//! | `@uwf/eval-case/<name>/<task>/<repeat>` | a case of an evaluation that goes on: what its tags say, or its [`EvalRun`] |
//! | `@uwf/eval-sample/<hash>` | the last thread that was run for exactly this: see [`Sample`] |
//! | `@uwf/eval-run`, `@uwf/eval-judge-…`, `@uwf/evaluation`, `@uwf/eval-sample` | the types themselves |
//!
//! The types are part of no store before its first evaluation. Nothing here decides what is written, or when.

mod evaluation;
mod judged;
mod run;
mod sample;
mod variables;

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uwf_engine::builtin::META_SCHEMA;
use uwf_store::{Expect, Hash, Store, VarChange};

use crate::EvalError;

pub use self::evaluation::{CaseRef, EvalConfig, Evaluation, TaskRef};
pub use self::judged::{
    ClaimByModel, Frontmatter, Hallucination, InvalidStep, StepClaims, StepTokens, StepUpstream, TokenStats,
    Upstream,
};
pub use self::run::{EvalRun, RunConfig, RunJudge};
pub use self::sample::Sample;
pub use self::variables::{
    CASES, EVALUATIONS, RUNS, SAMPLES, case_variable, cases_prefix, evaluation_variable, is_segment,
    run_variable, sample_variable,
};

/// The types of the nodes, as hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// [`EvalRun`].
    pub run: Hash,
    /// [`Evaluation`].
    pub evaluation: Hash,
    /// [`Sample`].
    pub sample: Hash,
    /// [`Frontmatter`].
    pub frontmatter: Hash,
    /// [`Upstream`].
    pub upstream: Hash,
    /// [`Hallucination`].
    pub hallucination: Hash,
    /// [`TokenStats`].
    pub token_stats: Hash,
    /// What other judges found, where they have no schema of their own: any JSON.
    pub data: Hash,
}

/// The names of the types, without their scope, in the order of [`Records`].
const NAMES: [&str; 8] = [
    "eval-run",
    "evaluation",
    "eval-sample",
    "eval-judge-frontmatter",
    "eval-judge-upstream",
    "eval-judge-hallucination",
    "eval-judge-token-stats",
    "eval-judge-data",
];

impl Records {
    /// The types as every store has them; asks no store.
    pub fn known() -> Records {
        let schemas = schemas();
        Records::by(|name| Hash::of(&META_SCHEMA, &schemas[name]))
    }

    /// The types, registered: each a schema of the store with a variable that names it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn register(store: &Store) -> Result<Records, EvalError> {
        let mut changes = Vec::new();
        for (name, schema) in schemas() {
            let (name, value) = (format!("@uwf/{name}"), Hash::of(&META_SCHEMA, &schema));
            if store.vars().get(&name)?.is_some_and(|found| found.value == value) && store.has(&value) {
                continue;
            }
            let value = store.put(&META_SCHEMA, &schema)?;
            let (schema, tags, expect) = (META_SCHEMA, BTreeMap::new(), Expect::Any);
            changes.push(VarChange::Set { name, schema, value, tags, expect });
        }
        if !changes.is_empty() {
            store.vars().apply(&changes)?;
        }
        Ok(Records::known())
    }

    fn by(hash: impl Fn(&str) -> Hash) -> Records {
        let [run, evaluation, sample, frontmatter, upstream, hallucination, token_stats, data] =
            NAMES.map(hash);
        Records { run, evaluation, sample, frontmatter, upstream, hallucination, token_stats, data }
    }
}

/// Stores a record.
///
/// # Errors
/// The node cannot be written.
pub fn put(store: &Store, type_: &Hash, record: &impl Serialize) -> Result<Hash, EvalError> {
    Ok(store.put(type_, &payload(record))?)
}

/// A record as the payload of a node.
pub(crate) fn payload(record: &impl Serialize) -> Value {
    uwf_store::json::tree(record).expect("records have names for fields")
}

/// Reads a record of this type.
///
/// # Errors
/// The node is missing, damaged, or of another type.
pub fn get<T: DeserializeOwned>(store: &Store, type_: &Hash, hash: &Hash) -> Result<T, EvalError> {
    let node = store.get(hash)?;
    if node.type_ != *type_ {
        return Err(EvalError::OtherType { hash: *hash, type_: node.type_ });
    }
    serde_json::from_value(node.payload).map_err(|source| EvalError::Malformed { hash: *hash, source })
}

/// The schemas, by the names of their variables without the scope.
fn schemas() -> BTreeMap<String, Value> {
    serde_json::from_str(include_str!("schemas.json")).expect("the file is part of this program")
}

#[cfg(test)]
mod tests;
