//! An evaluation as one file, to be taken to another store.
//!
//! JSON lines, as those of a thread (see [`uwf_engine::export`]):
//!
//! | line | holds |
//! |---|---|
//! | first | `{"format": "uwf-evaluation", "version": 1, "evaluation": <name>, "record", "nodes": <count>, "variables": <count>}` |
//! | nodes | each after all that it refers to: the records, what judges found, threads, workspaces as they were left |
//! | variables | `@uwf/eval/<task>/<ULID>` of its cases, `@uwf/eval-case/…` of those that were judged again last, and those of its threads |
//!
//! What is not in it: the tasks, and that its threads stand for samples, so that no later evaluation takes them. Whoever takes it
//! in takes over no agent, endpoint or script, and nothing that weakens a sandbox.
//!
//! Everything is checked before anything is visible, and a fault anywhere changes nothing.

mod import;

use std::collections::BTreeSet;
use std::io::Write;

use serde::{Deserialize, Serialize};
use uwf_engine::ThreadId;
use uwf_engine::export::lines::{self, Format, VariableLine};
use uwf_engine::export::parts;
use uwf_store::{Hash, Store, Variable};

pub use self::import::{Imported, import};

use crate::record::{CaseRef, EvalRun, Evaluation, Records, cases_prefix, get, run_variable};
use crate::{EvalError, load};

/// An evaluation in a file.
const FORMAT: Format =
    Format { name: "uwf-evaluation", version: 1, what: "evaluation", how: "uwf-eval export NAME -o FILE" };

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    evaluation: String,
    /// The [`Evaluation`].
    record: Hash,
    nodes: u64,
    variables: u64,
}

/// An evaluation that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its cases.
    pub cases: usize,
    /// The threads that are in the file.
    pub threads: usize,
    /// Nodes in the file.
    pub nodes: u64,
    /// Threads of its cases that are not here any more.
    pub gone: Vec<String>,
}

/// Writes an evaluation that is finished.
///
/// # Errors
/// There is none of this name, it is not finished, a node that it needs is missing or damaged, or `out` cannot be written.
pub fn export(store: &Store, name: &str, out: &mut dyn Write) -> Result<Exported, EvalError> {
    let record = load::hash_of(store, name)?;
    let evaluation = load::evaluation(store, name)?;
    if evaluation.finished_at.is_none() {
        return Err(EvalError::Unfinished { name: name.to_owned() });
    }
    let mut variables = of_cases(store, &evaluation)?;
    let mut roots: Vec<Hash> =
        std::iter::once(record).chain(variables.iter().map(|line| line.value)).collect();
    let threads = threads_of(store, &evaluation.cases)?;
    let mut gone = Vec::new();
    for thread in &threads {
        match uwf_engine::thread::head(store, thread) {
            Ok(_) => variables.extend(parts::variables(store, thread, &mut roots)?),
            Err(_) => gone.push(thread.to_string()),
        }
    }
    let nodes = store.closure(&roots)?;
    let header = Header {
        format: FORMAT.name.to_owned(),
        version: FORMAT.version,
        evaluation: name.to_owned(),
        record,
        nodes: nodes.len() as u64,
        variables: variables.len() as u64,
    };
    lines::write(store, out, (&header, &nodes, &variables))?;
    let threads = threads.len() - gone.len();
    Ok(Exported { cases: evaluation.cases.len(), threads, nodes: header.nodes, gone })
}

/// The variables of an evaluation's cases, also of what was said of them before.
fn of_cases(store: &Store, evaluation: &Evaluation) -> Result<Vec<VariableLine>, EvalError> {
    let (type_, mut found) = (Records::known().run, Vec::new());
    let told: BTreeSet<Hash> = evaluation.cases.iter().map(|case| case.run).collect();
    let is_its = |variable: &Variable| {
        variable.schema == type_
            && (told.contains(&variable.value)
                || get::<EvalRun>(store, &type_, &variable.value)
                    .is_ok_and(|run| run.evaluation == evaluation.name))
    };
    for task in &evaluation.tasks {
        found.extend(store.vars().list(&run_variable(&task.name, ""))?.into_iter().filter(is_its));
    }
    let again = store.vars().list(&cases_prefix(&evaluation.name))?;
    found.extend(again.into_iter().filter(|variable| variable.schema == type_));
    let line = |found: Variable| VariableLine { variable: found.name, value: found.value, tags: found.tags };
    Ok(found.into_iter().map(line).collect())
}

/// The threads of cases.
fn threads_of(store: &Store, cases: &[CaseRef]) -> Result<BTreeSet<ThreadId>, EvalError> {
    let mut found = BTreeSet::new();
    for case in cases {
        let run: EvalRun = get(store, &Records::known().run, &case.run)?;
        found.extend(run.thread_id.and_then(|thread| thread.parse::<ThreadId>().ok()));
    }
    Ok(found)
}
