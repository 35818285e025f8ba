//! A step and the thread it is of, where what a command does concerns both.

use uwf_store::{Hash, Store};

use super::changes::why_unknown;
use crate::names::StepArgument;
use crate::shell::CliError;
use uwf_engine::ThreadId;
use uwf_engine::record::Detail;
use uwf_engine::thread::{self, StepNode};

/// A step with the thread it is of.
pub(super) struct StepOfThread {
    pub(super) thread: ThreadId,
    /// From 1; none for a failed attempt, which is no step of the chain.
    pub(super) number: Option<usize>,
    pub(super) hash: Hash,
    pub(super) node: StepNode,
}

impl StepArgument {
    /// The node, and the thread that it is a step of.
    pub(super) fn in_thread(self, store: &Store) -> Result<StepOfThread, CliError> {
        let hash = self.find(store)?;
        let node = thread::step_node(store, &hash)?;
        if let StepArgument::Number(thread, number) = self {
            return Ok(StepOfThread { thread, number: Some(number), hash, node });
        }
        let none = || {
            CliError::user(format!("step {hash} is of no thread any more"))
                .with_hint("`uwf step list THREAD` shows the steps of a thread")
        };
        let thread = thread::owner(store, &hash)?.ok_or_else(none)?;
        let steps = thread::chain(store, &thread::head(store, &thread)?.hash)?.steps;
        // One that was named before its thread was summed up may be stored again since.
        let is_it = |(named, step): &(Hash, StepNode)| *named == hash || step.is_of_visit(&node);
        let number = steps.iter().position(is_it).map(|at| at + 1);
        Ok(StepOfThread { thread, number, hash, node })
    }
}

impl StepOfThread {
    /// Only then can a fork of it work in a directory of its own.
    pub(super) fn works_where_its_thread_does(&self, store: &Store) -> Result<(), CliError> {
        let (usual, cwd) = (thread::start_node(store, &self.node.start)?.cwd, &self.node.cwd);
        if *cwd == usual {
            return Ok(());
        }
        let error = format!("{} worked in {cwd}, and its thread works in {usual}", self.name());
        let hint = "`uwf thread checkout STEP DIR` writes its files, and `uwf thread exec --cwd DIR` works with them";
        Err(CliError::user(error).with_hint(hint))
    }

    /// The step in a sentence.
    pub(super) fn name(&self) -> String {
        name(&self.thread, self.number, &self.hash)
    }

    /// The error where something cannot be done with a step because the workspace was not captured.
    pub(super) fn without_snapshots(&self, what: &str, detail: &Detail) -> CliError {
        let why = match detail.settings.is_object() {
            true => why_unknown(detail),
            false => format!("its agent, {}, kept no snapshots of the workspace", self.node.agent),
        };
        CliError::user(format!("{} {what}: {why}", self.name()))
    }
}

/// A step in a sentence.
pub(super) fn name(thread: &ThreadId, number: Option<usize>, hash: &Hash) -> String {
    match number {
        Some(number) => format!("step {number} of thread {thread}"),
        None => format!("the failed attempt {hash} of thread {thread}"),
    }
}
