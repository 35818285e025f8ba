//! An evaluation is taken in from a file: checked as a whole, then made visible by one change.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use serde::de::DeserializeOwned;
use uwf_engine::ThreadId;
use uwf_engine::export::lines::{Lines, VariableLine};
use uwf_engine::export::parts;
use uwf_store::{Batch, Expect, Hash, Store, StoreError, VarChange};

use super::{FORMAT, Header};
use crate::EvalError;
use crate::record::{
    CASES, EvalRun, Evaluation, RUNS, Records, cases_prefix, evaluation_variable, is_segment,
};

/// The level of a sandbox that weakens nothing.
const STRICT: &str = "strict";

/// An evaluation that was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// What it is called here.
    pub name: String,
    /// Its cases.
    pub cases: usize,
    /// Its threads that were not here before.
    pub threads: usize,
    /// Nodes in the file.
    pub nodes: u64,
    /// What was chosen for it there and is not taken over.
    pub left_out: Vec<&'static str>,
}

/// Stores an evaluation that [`export`](super::export()) wrote, by its own name or by another one.
///
/// # Errors
/// There is one of this name, a thread of it stands elsewhere here, or the file is none, damaged or incomplete. Nothing was
/// changed then.
pub fn import(store: &Store, input: &mut dyn BufRead, name: Option<&str>) -> Result<Imported, EvalError> {
    let (header, mut lines) = Lines::open::<Header>(input, FORMAT)?;
    let name = name.unwrap_or(&header.evaluation).to_owned();
    if !is_segment(&name) {
        return Err(EvalError::BadName { name });
    }
    if store.vars().get(&evaluation_variable(&name))?.is_some() {
        return Err(EvalError::Taken { name });
    }
    let (expected, mut batch) = (header.nodes.saturating_add(header.variables), store.batch());
    for _ in 0..header.nodes {
        lines.node(expected, &mut batch)?;
    }
    let mut taken = Taken::of(&batch, &header.record).map_err(|why| lines.damaged(why))?;
    taken.name.clone_from(&name);
    for _ in 0..header.variables {
        let line: VariableLine = lines.next(expected)?;
        taken.variable(store, &batch, line).map_err(|fault| match fault {
            Fault::Damaged(why) => lines.damaged(why).into(),
            Fault::Other(error) => error,
        })?;
    }
    lines.end()?;
    let (evaluation, mut left_out) = taken.evaluation.clone().taken_over(&name);
    let records = Records::known();
    let payload = uwf_store::json::tree(&evaluation).expect("records have names for fields");
    let value = batch.put(&records.evaluation, &payload)?;
    batch.commit()?;
    Records::register(store)?;
    let mut changes = vec![
        // What an evaluation of this name may have left.
        VarChange::RemovePrefix { prefix: cases_prefix(&name) },
        set(evaluation_variable(&name), (records.evaluation, value), BTreeMap::new(), Expect::Absent),
    ];
    let (cases, threads) = (evaluation.cases.len(), taken.new.len());
    for line in taken.cases {
        changes.push(set(line.variable, (records.run, line.value), line.tags, Expect::Any));
    }
    for (thread, line) in taken.threads {
        if taken.new.contains(&thread) {
            changes.push(parts::change(store, &thread, line, &mut left_out)?);
        }
    }
    store.vars().apply(&changes)?;
    left_out.sort_unstable();
    left_out.dedup();
    Ok(Imported { name, cases, threads, nodes: header.nodes, left_out })
}

fn set(
    name: String,
    (schema, value): (Hash, Hash),
    tags: BTreeMap<String, String>,
    expect: Expect,
) -> VarChange {
    VarChange::Set { name, schema, value, tags, expect }
}

impl Evaluation {
    /// The same without what says who plays here and what that may do; and what that was.
    fn taken_over(self, name: &str) -> (Evaluation, Vec<&'static str>) {
        let (options, mut left) = self.config.options.from_elsewhere();
        let weaker = self.config.sandbox.as_deref().is_some_and(|level| level != STRICT);
        left.extend(weaker.then_some("sandbox"));
        left.extend(self.config.judge_mock.as_ref().map(|_| "judgeMock"));
        let sandbox = self.config.sandbox.filter(|_| !weaker);
        let config = crate::record::EvalConfig { options, sandbox, judge_mock: None, ..self.config };
        (Evaluation { name: name.to_owned(), config, imported: true, ..self }, left)
    }
}

/// Why a line is not taken.
enum Fault {
    Damaged(String),
    Other(EvalError),
}

impl<E: Into<EvalError>> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault::Other(error.into())
    }
}

/// What a file holds, as far as it was read.
struct Taken {
    /// What it is called here.
    name: String,
    evaluation: Evaluation,
    /// The threads of its cases.
    of_cases: BTreeSet<ThreadId>,
    /// Variables of cases, by their names here.
    cases: Vec<VariableLine>,
    /// Variables of threads.
    threads: Vec<(ThreadId, VariableLine)>,
    /// The threads that are not here.
    new: BTreeSet<ThreadId>,
}

impl Taken {
    /// The evaluation of a file, with the threads of its cases.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    fn of(batch: &Batch<'_>, record: &Hash) -> Result<Taken, String> {
        let records = Records::known();
        let evaluation: Evaluation = read(batch, (&records.evaluation, record))?;
        if evaluation.finished_at.is_none() {
            return Err("the evaluation is not finished".to_owned());
        }
        let mut of_cases = BTreeSet::new();
        if let Some(task) = evaluation.tasks.iter().find(|task| !is_segment(&task.name)) {
            return Err(format!("a task cannot be called `{}`", task.name));
        }
        for case in &evaluation.cases {
            let run: EvalRun = read(batch, (&records.run, &case.run))?;
            let is_its = run.task == case.task && run.repeat == case.repeat;
            if !is_its || !evaluation.tasks.iter().any(|task| task.name == case.task) {
                return Err(format!("{} is no record of case {}/{}", case.run, case.task, case.repeat));
            }
            check_scores(&case.run, &run)?;
            of_cases.extend(run.thread_id.and_then(|thread| thread.parse::<ThreadId>().ok()));
        }
        let (cases, threads, new) = (Vec::new(), Vec::new(), BTreeSet::new());
        Ok(Taken { name: String::new(), evaluation, of_cases, cases, threads, new })
    }

    /// Takes a variable that an evaluation has, and no other.
    fn variable(&mut self, store: &Store, batch: &Batch<'_>, line: VariableLine) -> Result<(), Fault> {
        let said = |error: StoreError| Fault::Damaged(error.to_string());
        let thread =
            |of: &&ThreadId| parts::is_head(of, &line.variable) || parts::stands_beside(of, &line.variable);
        if let Some(thread) = self.of_cases.iter().find(thread).copied() {
            let checked = parts::check(batch, &thread, &line);
            checked.map_err(|error| Fault::Damaged(error.to_string()))?;
            if parts::is_head(&thread, &line.variable) && !parts::is_here(store, &thread, &line.value)? {
                self.new.insert(thread);
            }
            self.threads.push((thread, line));
            return Ok(());
        }
        let not_its = || Fault::Damaged(format!("it sets {} to {}", line.variable, line.value));
        let variable = self.of_case(&line.variable).ok_or_else(not_its)?;
        uwf_store::check_name(&variable).map_err(said)?;
        let run: EvalRun = read(batch, (&Records::known().run, &line.value)).map_err(Fault::Damaged)?;
        check_scores(&line.value, &run).map_err(Fault::Damaged)?;
        let there = store.vars().get(&variable)?;
        if variable.starts_with(RUNS) && there.is_some_and(|there| there.value != line.value) {
            return Err(Fault::Damaged(format!("{variable} names another case here")));
        }
        self.cases.push(VariableLine { variable, ..line });
        Ok(())
    }

    /// The name that a variable of a case has here; none where it is no such variable.
    fn of_case(&self, variable: &str) -> Option<String> {
        let is_task = |task: &str| self.evaluation.tasks.iter().any(|known| known.name == task);
        if let Some((task, id)) = variable.strip_prefix(RUNS).and_then(|rest| rest.split_once('/')) {
            return (is_task(task) && id.parse::<ThreadId>().is_ok()).then(|| variable.to_owned());
        }
        let below = variable.strip_prefix(&cases_prefix(&self.evaluation.name))?;
        let (task, repeat) = below.split_once('/')?;
        let is_case = is_task(task) && repeat.parse::<u32>().is_ok();
        is_case.then(|| format!("{CASES}{}/{below}", self.name))
    }
}

/// A record of a file.
fn read<T: DeserializeOwned>(batch: &Batch<'_>, (type_, hash): (&Hash, &Hash)) -> Result<T, String> {
    let node = batch.get(hash).map_err(|error| error.to_string())?;
    if node.type_ != *type_ {
        return Err(format!("node {hash} is no record of an evaluation: its type is {}", node.type_));
    }
    let cannot = |error: serde_json::Error| format!("node {hash} is no record of an evaluation: {error}");
    serde_json::from_value(node.payload).map_err(cannot)
}

/// Scores are from 0 to 1, which everything that counts goes by.
fn check_scores(hash: &Hash, run: &EvalRun) -> Result<(), String> {
    let judges =
        run.judges.iter().flat_map(|judge| judge.score.into_iter().chain(judge.votes.iter().copied()));
    match run.overall.into_iter().chain(judges).find(|score| !(0.0..=1.0).contains(score)) {
        Some(score) => Err(format!("record {hash} has the score {score}, which is not from 0 to 1")),
        None => Ok(()),
    }
}
