//! A thread as one file, to be taken to another store.
//!
//! JSON lines, each whole by itself:
//!
//! | line | holds |
//! |---|---|
//! | first | `{"format": "uwf-thread", "version": 1, "thread", "head", "nodes": <count>, "variables": <count>}` |
//! | nodes | `{"node": <hash>, "type", "payload", "timestamp"}`, each after all that it refers to |
//! | variables | `{"variable", "value", "tags"}`: the thread's head with its state, its failed attempts, the log of what was undone in its workspace, the options that were chosen |
//!
//! Everything that can be reached is in it: steps, answers, records, the workflow, the types of all of these. What is
//! not: names in the registry, and the thread that this one was begun by. The same thread makes the same bytes.
//!
//! [`lines`] reads and writes such files, [`parts`] is what of a store makes a thread: for whoever takes threads along with other
//! things, too.
//!
//! Reading keeps one node in memory, checks each against its hash and its type before anything is visible, and changes
//! nothing if there is a fault anywhere, up to the last line.

pub mod lines;
pub mod parts;

use std::io::{self, BufRead, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use uwf_store::{Batch, Expect, Hash, Store, StoreError, VarChange};

use self::lines::{Format, Lines, VariableLine};
use crate::lock::{LockError, ThreadLock};
use crate::thread::{self, StepNode, ThreadError, ThreadId, options};

/// A thread in a file.
const FORMAT: Format =
    Format { name: "uwf-thread", version: 1, what: "thread", how: "uwf thread export <thread> -o FILE" };

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    thread: String,
    head: Hash,
    nodes: u64,
    variables: u64,
}

/// A thread in a file: as it was exported, or imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Where it stands.
    pub head: Hash,
    /// Nodes in the file.
    pub nodes: u64,
    /// Whether the store that it was imported into did not have it; always so when it is exported.
    pub new: bool,
    /// Whether the store had it where it was before, and its head has moved on.
    pub forwarded: bool,
    /// What was chosen for it there and is not taken over here: who plays, and what weakens its sandbox.
    pub left_out: Vec<&'static str>,
}

/// Why a thread cannot be exported or imported. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The first line is not that of such a file.
    #[error("this is no {} that was exported: {why}", format.what)]
    NotAnExport {
        /// What was expected.
        format: Format,
        /// What is wrong with it.
        why: String,
    },
    /// A later version of the format.
    #[error("the file is of version {found} of the format; this program reads version {reads}")]
    Version {
        /// What is read.
        reads: u32,
        /// What the file says.
        found: u64,
    },
    /// A line that is not what it should be.
    #[error("line {line} is damaged: {why}")]
    Damaged {
        /// From 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A node that the store does not take.
    #[error("line {line} holds a node that cannot be stored")]
    Refused {
        /// From 1.
        line: u64,
        /// Why the store refuses it.
        source: StoreError,
    },
    /// The file ends too early.
    #[error("the file is not whole: it ends after {lines} lines of {expected}")]
    Cut {
        /// Lines found.
        lines: u64,
        /// Lines that the first one promises.
        expected: u64,
    },
    /// There is a thread of this id that stands elsewhere.
    #[error("thread {thread} is here already, at {found}; the file has it at {head}")]
    Exists {
        /// The thread.
        thread: ThreadId,
        /// Where the file has it.
        head: Hash,
        /// Where it is here.
        found: Hash,
    },
    /// The file cannot be read or written.
    #[error("cannot {doing} the file")]
    Io {
        /// The verb.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A step of the thread runs just now.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The thread cannot be read.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ExportError {
    /// What to do, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            ExportError::NotAnExport { format, .. } => Some(format!("`{}` writes such a file", format.how)),
            ExportError::Exists { thread, .. } => Some(format!(
                "see `uwf thread show {thread}`; one id names one thread, and neither replaces the other"
            )),
            ExportError::Refused { source, .. } => source.hint(),
            ExportError::Lock(error) => error.hint(),
            ExportError::Thread(error) => error.hint(),
            ExportError::Store(error) => thread::store_hint(error),
            _ => None,
        }
    }
}

/// Writes a thread as it stands now.
///
/// # Errors
/// There is no such thread, a node that it needs is missing or damaged, or `out` cannot be written.
pub fn export(store: &Store, thread: &ThreadId, out: &mut dyn Write) -> Result<ExportedThread, ExportError> {
    let mut roots = Vec::new();
    let variables = parts::variables(store, thread, &mut roots)?;
    let head = roots[0];
    let nodes = store.closure(&roots)?;
    let header = Header {
        format: FORMAT.name.to_owned(),
        version: FORMAT.version,
        thread: thread.to_string(),
        head,
        nodes: nodes.len() as u64,
        variables: variables.len() as u64,
    };
    lines::write(store, out, (&header, &nodes, &variables))?;
    Ok(ExportedThread {
        thread: *thread,
        head,
        nodes: header.nodes,
        new: true,
        forwarded: false,
        left_out: Vec::new(),
    })
}

/// Stores a thread that [`export`] wrote. One that is here already, at the same head, stays as it is; where the chain of the file
/// has the head that is here, it moves on, under the lock of runs of `home`, which is `$UWF_HOME`.
///
/// # Errors
/// The file is not an export, is damaged or incomplete, holds a node that the store refuses, or names a thread that
/// stands elsewhere here, or of which a step runs. Nothing was changed then.
pub fn import(store: &Store, home: &Path, input: &mut dyn BufRead) -> Result<ExportedThread, ExportError> {
    let (header, mut lines) = Lines::open::<Header>(input, FORMAT)?;
    let not_one = |why: String| ExportError::NotAnExport { format: FORMAT, why };
    if header.variables == 0 {
        return Err(not_one("it tells no thread's head".to_owned()));
    }
    let thread: ThreadId =
        header.thread.parse().map_err(|error: thread::ThreadIdError| not_one(error.to_string()))?;
    let there = thread::stands_at(store, &thread)?;
    let mut batch = store.batch();
    for _ in 0..header.nodes {
        lines.node(header.expected(), &mut batch)?;
    }
    let mut variables: Vec<VariableLine> = Vec::new();
    for _ in 0..header.variables {
        variables.push(lines.next(header.expected())?);
        lines.check_variable(&thread, &header.head, &variables)?;
        let checked = variables.last().map_or(Ok(()), |line| parts::check(&batch, &thread, line));
        checked.map_err(|error| lines.damaged(error.to_string()))?;
    }
    lines.end()?;
    let (new, mut left_out) = (there.is_none(), Vec::new());
    let behind = there.filter(|found| *found != header.head);
    if let Some(found) = behind
        && !is_in_chain(&batch, &found, &header)?
    {
        return Err(ExportError::Exists { thread, head: header.head, found });
    }
    let _still = behind.map(|_| ThreadLock::unannounced(home, &thread)).transpose()?;
    batch.commit()?;
    if let Some(found) = behind {
        store.vars().apply(&forward(store, &thread, found, variables)?)?;
    } else if new {
        let changed = |line| parts::change(store, &thread, line, &mut left_out);
        let changes: Result<Vec<VarChange>, ExportError> = variables.into_iter().map(changed).collect();
        store.vars().apply(&changes?)?;
    }
    let forwarded = behind.is_some();
    Ok(ExportedThread { thread, head: header.head, nodes: header.nodes, new, forwarded, left_out })
}

/// Where the thread stands in a file that [`export`] wrote, by its first line.
///
/// # Errors
/// It is no such file, or cannot be read.
pub fn head_in(input: &mut dyn BufRead) -> Result<Hash, ExportError> {
    Ok(Lines::open::<Header>(input, FORMAT)?.0.head)
}

/// Whether a node is in the chain of the thread in the file, or was before its last steps were stored again behind a summary.
fn is_in_chain(batch: &Batch<'_>, wanted: &Hash, header: &Header) -> Result<bool, ExportError> {
    let (mut at, mut walked) = (Some(header.head), Vec::new());
    // The file has all of the chain.
    for _ in 0..header.nodes {
        let Some(hash) = at else { break };
        if hash == *wanted {
            return Ok(true);
        }
        let payload = batch.get(&hash)?.payload;
        let step: Option<StepNode> = serde_json::from_value(payload.clone()).ok();
        let by = step.as_ref().and_then(|step| step.links.compacted_by);
        walked.extend(step);
        if let Some(by) = by
            && let Some((before, last)) = thread::before_summary(&|hash| batch.get(hash), &by)?
            && walked.iter().any(|step| step.is_of_visit(&last))
        {
            (at, walked) = (Some(before), Vec::new());
            continue;
        }
        let named = |field: &str| payload.get(field)?.as_str()?.parse::<Hash>().ok();
        at = named("prev").or_else(|| named("start"));
    }
    Ok(false)
}

/// The changes that make a thread that stands at `found` stand as in the file. What was chosen for it stays.
fn forward(
    store: &Store,
    thread: &ThreadId,
    found: Hash,
    lines: Vec<VariableLine>,
) -> Result<Vec<VarChange>, ExportError> {
    let mut changes = Vec::new();
    for failed in thread::all_failures(store, Some(thread))? {
        let name = failed.variable.name;
        if !lines.iter().any(|line| line.variable == name) {
            changes.push(VarChange::Remove { name });
        }
    }
    for VariableLine { variable: name, value, tags } in lines {
        let schema = store.get(&value)?.type_;
        let is_head = name == thread::variable(thread);
        let expect = if is_head { Expect::Value(found) } else { Expect::Any };
        if name != options::variable(thread) {
            changes.push(VarChange::Set { name, schema, value, tags, expect });
        }
    }
    Ok(changes)
}

impl Header {
    /// The number of lines after the first.
    fn expected(&self) -> u64 {
        self.nodes.saturating_add(self.variables)
    }
}

impl Lines<'_> {
    /// The thread's own variables, the head among them, and no others.
    fn check_variable(
        &self,
        thread: &ThreadId,
        head: &Hash,
        variables: &[VariableLine],
    ) -> Result<(), ExportError> {
        let Some(last) = variables.last() else { return Ok(()) };
        let is_head = last.variable == thread::variable(thread) && last.value == *head;
        match variables.len() {
            1 if is_head => Ok(()),
            2.. if parts::stands_beside(thread, &last.variable) => Ok(()),
            _ => Err(self.damaged(format!("it sets {} to {}", last.variable, last.value))),
        }
    }
}

#[cfg(test)]
mod tests;
