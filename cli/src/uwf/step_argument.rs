//! A step as a command line names it: by its hash, or as the n-th step of a thread, `T:n`, as `step list` and
//! `thread read` number them.

use uwf_store::{Hash, Store};

use super::changes::why_unknown;
use super::{hash, thread_id};
use crate::shell::CliError;
use uwf_engine::ThreadId;
use uwf_engine::record::Detail;
use uwf_engine::thread::{self, StepNode};

/// What was typed; read before a store is opened, so that what is none creates none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepArgument {
    /// A node.
    Hash(Hash),
    /// A step of a thread, from 1.
    Number(ThreadId, usize),
}

/// A step with the thread it is of.
pub(super) struct StepOfThread {
    pub(super) thread: ThreadId,
    /// From 1; none for a failed attempt, which is no step of the chain.
    pub(super) number: Option<usize>,
    pub(super) hash: Hash,
    pub(super) node: StepNode,
}

impl StepArgument {
    /// What was typed.
    pub(super) fn parse(text: &str) -> Result<StepArgument, CliError> {
        let Some((thread, number)) = text.split_once(':') else { return Ok(StepArgument::Hash(hash(text)?)) };
        match number.parse() {
            Ok(number @ 1..) => Ok(StepArgument::Number(thread_id(thread)?, number)),
            _ => Err(CliError::user(format!("`{text}` names no step: {number:?} is no number from 1 on"))
                .with_hint("`uwf step list THREAD` shows the steps with their numbers")),
        }
    }

    /// The node.
    pub(super) fn find(self, store: &Store) -> Result<Hash, CliError> {
        match self {
            StepArgument::Hash(hash) => Ok(hash),
            StepArgument::Number(thread, number) => {
                let steps = hashes(store, &thread)?;
                let none = || {
                    let error = format!("thread {thread} has no step {number}: it has {}", steps.len());
                    CliError::user(error)
                        .with_hint(format!("`uwf step list {thread}` shows the steps with their numbers"))
                };
                steps.get(number - 1).copied().ok_or_else(none)
            }
        }
    }

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
        let number = hashes(store, &thread)?.iter().position(|step| *step == hash).map(|at| at + 1);
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

/// The steps of a thread, the oldest first.
pub(super) fn hashes(store: &Store, thread: &ThreadId) -> Result<Vec<Hash>, CliError> {
    let head = thread::entry(store, thread)?.head;
    let mut steps = Vec::new();
    thread::links(store, &head, &mut |link| steps.push(link.hash)).map_err(|error| error.headless(thread))?;
    steps.reverse();
    Ok(steps)
}
