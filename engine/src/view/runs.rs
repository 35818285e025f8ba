//! What the runs of agents took: turns, tokens, money. One run is one row, wherever it is told: a step of a chain, an
//! attempt that failed before it or since, a step of a thread that was called for one.
//!
//! Apart because lists, threads and reports of costs add the same runs up in their own ways, and none of them may count one
//! twice: forks share their steps, a step may be stored again, and the step of a caller is the sum of those below it.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use uwf_store::{Hash, Store};

use crate::builtin;
use crate::record::{Detail, Listed, Turn};
use crate::thread::{self, MAX_LEVELS, StepNode, ThreadError, ThreadId, WalkBack};

/// A run of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunRow {
    /// What makes it this run, however often it is stored.
    pub(super) key: (Hash, Hash, u64, u64),
    /// The StartNode of its thread.
    pub(super) start: Hash,
    pub(super) role: String,
    /// The model, where the agent tells.
    pub(super) model: Option<String>,
    pub(super) turns: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    /// Of those that were sent, the ones that came from a cache; 0 where nobody asked for it.
    pub(super) cached_tokens: u64,
    /// In USD, where it is known.
    pub(super) cost: Option<f64>,
    /// Whether it failed.
    pub(super) failed: bool,
    /// When it was over, in milliseconds since the epoch.
    pub(super) at: u64,
    pub(super) duration_ms: u64,
    /// How long it was worked at, in seconds.
    pub(super) worked: f64,
}

impl RunRow {
    /// Whether it used a model at a price that nobody knows.
    pub(super) fn is_unpriced(&self) -> bool {
        self.cost.is_none() && self.input_tokens + self.output_tokens > 0
    }
}

/// Which runs are read, and how closely.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunsWanted {
    /// Of how many steps of the chain, the last ones.
    pub(super) most: usize,
    /// Whether it is told what came from a cache, which costs a read a turn.
    pub(super) cached: bool,
}

/// How many steps a chain has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepCount {
    pub(super) walked: usize,
    /// Whether there are others before these.
    pub(super) are_more: bool,
}

/// What is noted beside the chains: failed attempts that no step links yet, and who called whom.
#[derive(Debug, Default)]
pub struct RunsBeside {
    failed: HashMap<ThreadId, Vec<Hash>>,
    called: HashMap<ThreadId, Vec<ThreadId>>,
    callers: HashMap<ThreadId, ThreadId>,
}

impl RunsBeside {
    /// Of all threads; two reads of variables, and one of each list of failed attempts. A list that cannot be read is left
    /// out.
    ///
    /// # Errors
    /// The variables cannot be listed.
    pub fn of(store: &Store) -> Result<RunsBeside, ThreadError> {
        let mut beside = RunsBeside::calls(store)?;
        beside.note_failed(thread::all_failures(store, None)?);
        Ok(beside)
    }

    /// As [`RunsBeside::of`], of a thread and of those that were called for it alone: the failed attempts of others are not
    /// read.
    ///
    /// # Errors
    /// The variables cannot be listed.
    pub fn of_thread(store: &Store, thread: &ThreadId) -> Result<RunsBeside, ThreadError> {
        let mut beside = RunsBeside::calls(store)?;
        for member in beside.family(thread) {
            beside.note_failed(thread::all_failures(store, Some(&member))?);
        }
        Ok(beside)
    }

    fn calls(store: &Store) -> Result<RunsBeside, ThreadError> {
        let mut beside = RunsBeside::default();
        for (called, caller) in thread::callers(store)? {
            beside.called.entry(caller).or_default().push(called);
            beside.callers.insert(called, caller);
        }
        Ok(beside)
    }

    fn note_failed(&mut self, failures: Vec<thread::Failures>) {
        for attempts in failures {
            let thread = attempts.variable.name.strip_prefix(thread::FAILED);
            let thread = thread.and_then(|rest| rest.split('/').next()?.parse().ok());
            if let (Some(thread), Ok(steps)) = (thread, attempts.steps) {
                self.failed.entry(thread).or_default().extend(steps);
            }
        }
    }

    /// Who called a thread, where that is noted.
    pub fn caller(&self, thread: &ThreadId) -> Option<ThreadId> {
        self.callers.get(thread).copied()
    }

    /// The last attempt of a thread that failed and that no success came after; of several roles that of the last list.
    pub(super) fn last_failed(&self, thread: &ThreadId) -> Option<Hash> {
        self.failed.get(thread)?.last().copied()
    }

    /// A thread, and those that were called for it, however deep.
    fn family(&self, thread: &ThreadId) -> Vec<ThreadId> {
        let (mut family, mut met) = (vec![*thread], HashSet::from([*thread]));
        let mut at = 0;
        while let Some(caller) = family.get(at) {
            let called = self.called.get(caller).into_iter().flatten().copied();
            let new: Vec<ThreadId> = called.filter(|called| met.insert(*called)).collect();
            family.extend(new);
            at += 1;
        }
        family
    }

    /// The runs of a thread and of those that were called for it, each once; and how many steps its own chain has.
    pub(super) fn runs(
        &self,
        store: &Store,
        thread: &ThreadId,
        wanted: RunsWanted,
    ) -> Result<(Vec<RunRow>, StepCount), ThreadError> {
        let mut found = Vec::new();
        let mut steps = StepCount::default();
        for member in self.family(thread) {
            // One that was removed is told by the steps of its caller.
            let Some(head) = thread::stands_at(store, &member)? else { continue };
            let walked = of_chain(store, &head, wanted, &mut found)?;
            if member == *thread {
                steps = walked;
            }
            for attempt in self.failed.get(&member).into_iter().flatten() {
                of_step(store, &thread::step_node(store, attempt)?, (0, true), wanted, &mut found)?;
            }
        }
        let mut met = HashSet::new();
        found.retain(|run: &RunRow| met.insert(run.key));
        Ok((found, steps))
    }
}

fn of_chain(
    store: &Store,
    head: &Hash,
    wanted: RunsWanted,
    found: &mut Vec<RunRow>,
) -> Result<StepCount, ThreadError> {
    let mut back = WalkBack::from(store, head)?.at_most(wanted.most);
    let mut count = 0;
    for link in back.by_ref().take(wanted.most) {
        of_step(store, &link?.step, (0, false), wanted, found)?;
        count += 1;
    }
    Ok(StepCount { walked: count, are_more: back.peek().is_some() })
}

/// The runs of a step: its own, or those of the steps that were made for it, the attempts before it, and what summed up the
/// steps before it.
fn of_step(
    store: &Store,
    step: &StepNode,
    (level, failed): (usize, bool),
    wanted: RunsWanted,
    found: &mut Vec<RunRow>,
) -> Result<(), ThreadError> {
    if level == MAX_LEVELS {
        return Err(ThreadError::CallsWithoutEnd { node: step.detail });
    }
    if !failed {
        for attempt in step.previous_attempts.iter().flatten() {
            of_step(store, &thread::step_node(store, attempt)?, (level, true), wanted, found)?;
        }
    }
    if let Some(by) = &step.links.compacted_by {
        of_step(store, &thread::step_node(store, by)?, (level + 1, false), wanted, found)?;
    }
    let node = store.get(&step.detail)?;
    if builtin::STEPS.contains(&node.type_) {
        for (_, below) in thread::called_steps(store, step)? {
            of_step(store, &below, (level + 1, false), wanted, found)?;
        }
        return Ok(());
    }
    let detail = Detail::of(node.payload);
    let usage = step.usage.as_ref();
    found.push(RunRow {
        key: (step.detail, step.output, step.started_at_ms, step.completed_at_ms),
        start: step.start,
        role: step.role.clone(),
        model: detail.model.clone().filter(|model| !model.is_empty()),
        turns: usage.map(|usage| usage.turns).or(detail.turn_count).unwrap_or_default(),
        input_tokens: usage.map_or(0, |usage| usage.input_tokens),
        output_tokens: usage.map_or(0, |usage| usage.output_tokens),
        cached_tokens: if wanted.cached { cached(store, &detail)? } else { 0 },
        cost: detail.cost,
        failed,
        at: step.completed_at_ms,
        duration_ms: step.duration_ms(),
        worked: step.worked(),
    });
    Ok(())
}

/// How many of the tokens that were sent came from a cache; a turn that is missing tells nothing.
fn cached(store: &Store, detail: &Detail) -> Result<u64, ThreadError> {
    let listed = detail.turns.as_ref().or(detail.messages.as_ref());
    let mut sum = 0_u64;
    for hash in listed.into_iter().flatten().filter_map(Listed::turn) {
        let turn = match store.get(&hash) {
            Err(uwf_store::StoreError::NotFound { .. }) => continue,
            node => Turn::of(node?.payload),
        };
        sum = sum.saturating_add(turn.usage.map_or(0, |usage| usage.cached_tokens));
    }
    Ok(sum)
}

/// What a thread took, those that were called for it included.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadFacts {
    /// How many steps its chain has; of a very long one, of how many the rest is told.
    pub steps: usize,
    /// Whether there are more steps than these.
    #[serde(skip_serializing_if = "is_false")]
    pub more_steps: bool,
    /// Turns of the model, those of failed attempts included, as is all that follows.
    pub turns: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// In USD, as far as it is known; null where nothing of it is.
    pub cost: Option<f64>,
    /// How many runs used a model whose price nobody knows: they are not in `cost`.
    pub unpriced: u64,
    /// The attempts that failed.
    pub failed_runs: u64,
    /// How long agents worked, in milliseconds.
    pub worked_ms: u64,
    /// The models, the one that was used last first.
    pub models: Vec<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl ThreadFacts {
    /// Of a thread, by its last steps: `most` of them.
    ///
    /// # Errors
    /// The chain, or the record of a step, cannot be read.
    pub fn of(
        store: &Store,
        beside: &RunsBeside,
        thread: &ThreadId,
        most: usize,
    ) -> Result<ThreadFacts, ThreadError> {
        let (mut runs, count) = beside.runs(store, thread, RunsWanted { most, cached: false })?;
        runs.sort_by_key(|run| std::cmp::Reverse(run.at));
        let mut facts = ThreadFacts { steps: count.walked, more_steps: count.are_more, ..Self::default() };
        for run in &runs {
            facts.turns += run.turns;
            facts.input_tokens += run.input_tokens;
            facts.output_tokens += run.output_tokens;
            facts.cost = sum(facts.cost, run.cost);
            facts.unpriced += u64::from(run.is_unpriced());
            facts.failed_runs += u64::from(run.failed);
            facts.worked_ms += run.duration_ms;
            if let Some(model) = run.model.as_ref().filter(|model| !facts.models.contains(model)) {
                facts.models.push(model.clone());
            }
        }
        Ok(facts)
    }
}

/// Both amounts, as far as they are known; without the noise of adding tenths.
pub(super) fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    const BILLION: f64 = 1e9;
    match (one, other) {
        (None, None) => None,
        (one, other) => Some(((one.unwrap_or(0.0) + other.unwrap_or(0.0)) * BILLION).round() / BILLION),
    }
}

#[cfg(test)]
#[path = "runs/tests.rs"]
mod tests;
