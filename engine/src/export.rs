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
//! Reading keeps one node in memory, checks each against its hash and its type before anything is visible, and changes
//! nothing if there is a fault anywhere, up to the last line.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_store::{Batch, Expect, Hash, Node, Store, StoreError, VarChange, check_name};

use crate::builtin;
use crate::lock::{LockError, ThreadLock};
use crate::thread::{self, Status, ThreadError, ThreadId, UWF_OPTIONS, options};
use crate::undo_log;

const FORMAT: &str = "uwf-thread";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    thread: String,
    head: Hash,
    nodes: u64,
    variables: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeLine {
    node: Hash,
    #[serde(rename = "type")]
    type_: Hash,
    payload: Value,
    timestamp: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableLine {
    variable: String,
    value: Hash,
    tags: BTreeMap<String, String>,
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
    #[error("this is no thread that was exported: {why}")]
    NotAnExport {
        /// What is wrong with it.
        why: String,
    },
    /// A later version of the format.
    #[error("the file is of version {found} of the format; this uwf reads version {VERSION}")]
    Version {
        /// What the file says.
        found: u32,
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
            ExportError::NotAnExport { .. } => {
                Some("`uwf thread export <thread> -o FILE` writes such a file".to_owned())
            }
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
    let head = thread::variable_of(store, thread)?.ok_or(ThreadError::Unknown { thread: *thread })?;
    store.get(&head.value).map_err(|error| ThreadError::from(error).headless(thread))?;
    let failures = thread::all_failures(store, Some(thread))?;
    let mut roots = vec![head.value];
    let mut variables = vec![VariableLine { variable: head.name, value: head.value, tags: head.tags }];
    for failed in failures {
        // A list that cannot be read can only stay where it is.
        let Ok(steps) = failed.steps else { continue };
        roots.push(failed.variable.value);
        roots.extend(steps);
        let (variable, value, tags) = (failed.variable.name, failed.variable.value, failed.variable.tags);
        variables.push(VariableLine { variable, value, tags });
    }
    if let Some(undone) = store.vars().get(&undo_log::variable(thread))? {
        roots.push(undone.value);
        variables.push(VariableLine { variable: undone.name, value: undone.value, tags: undone.tags });
    }
    if let Some(kept) = store.vars().get(&options::variable(thread))? {
        roots.push(kept.value);
        variables.push(VariableLine { variable: kept.name, value: kept.value, tags: kept.tags });
    }
    let nodes = store.closure(&roots)?;
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        thread: thread.to_string(),
        head: head.value,
        nodes: nodes.len() as u64,
        variables: variables.len() as u64,
    };
    let mut line =
        |value: Value| writeln!(out, "{value}").map_err(|source| ExportError::Io { doing: "write", source });
    line(json(&header))?;
    for node in &nodes {
        let Node { type_, payload, timestamp } = store.get(node)?;
        line(json(&NodeLine { node: *node, type_, payload, timestamp }))?;
    }
    variables.iter().try_for_each(|variable| line(json(variable)))?;
    Ok(ExportedThread {
        thread: *thread,
        head: head.value,
        nodes: header.nodes,
        new: true,
        forwarded: false,
        left_out: Vec::new(),
    })
}

/// By way of a value, whose keys are sorted.
fn json(line: &impl Serialize) -> Value {
    uwf_store::json::tree(line).expect("hashes, texts, numbers and values are JSON")
}

/// Stores a thread that [`export`] wrote. One that is here already, at the same head, stays as it is; where the chain of the file
/// has the head that is here, it moves on, under the lock of runs of `home`, which is `$UWF_HOME`.
///
/// # Errors
/// The file is not an export, is damaged or incomplete, holds a node that the store refuses, or names a thread that
/// stands elsewhere here, or of which a step runs. Nothing was changed then.
pub fn import(store: &Store, home: &Path, input: &mut dyn BufRead) -> Result<ExportedThread, ExportError> {
    let mut lines = Lines { input, number: 0, text: String::new() };
    let header = lines.header()?;
    let not_one = |error: thread::ThreadIdError| ExportError::NotAnExport { why: error.to_string() };
    let thread: ThreadId = header.thread.parse().map_err(not_one)?;
    let there = thread::stands_at(store, &thread)?;
    let mut batch = store.batch();
    for _ in 0..header.nodes {
        lines.node(header.expected(), &mut batch)?;
    }
    let mut variables: Vec<VariableLine> = Vec::new();
    for _ in 0..header.variables {
        variables.push(lines.next(header.expected())?);
        lines.check_variable(&thread, &header.head, &variables)?;
        let checked = variables.last().map_or(Ok(()), |line| check(&batch, &thread, line));
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
        let changed = |line| change(store, &thread, line, &mut left_out);
        let changes: Result<Vec<VarChange>, ExportError> = variables.into_iter().map(changed).collect();
        store.vars().apply(&changes?)?;
    }
    let forwarded = behind.is_some();
    Ok(ExportedThread { thread, head: header.head, nodes: header.nodes, new, forwarded, left_out })
}

/// Whether a node is in the chain of the thread in the file.
fn is_in_chain(batch: &Batch<'_>, wanted: &Hash, header: &Header) -> Result<bool, ExportError> {
    let mut at = Some(header.head);
    // The file has all of the chain.
    for _ in 0..header.nodes {
        let Some(hash) = at else { break };
        if hash == *wanted {
            return Ok(true);
        }
        let payload = batch.get(&hash)?.payload;
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

/// Whether what a variable names is in the file and is what it must be: later nothing else asks that.
fn check(batch: &Batch<'_>, thread: &ThreadId, line: &VariableLine) -> Result<(), ThreadError> {
    let VariableLine { variable, value, tags } = line;
    check_name(variable)?;
    let node = batch.get(value)?;
    if *variable == thread::variable(thread) {
        let unknown = |status| ThreadError::UnknownStatus { thread: *thread, status };
        Status::from_tags(tags, 0).map_err(unknown)?;
        return of_type(value, &node, &[builtin::STARTS, builtin::STEPS].concat());
    }
    if *variable == undo_log::variable(thread) {
        return of_type(value, &node, &[builtin::UWF_UNDO]);
    }
    if *variable == options::variable(thread) {
        return of_type(value, &node, &[UWF_OPTIONS]);
    }
    let is_step = |step: &Hash| of_type(step, &batch.get(step)?, &builtin::STEPS);
    thread::steps_in(value, &node)?.iter().try_for_each(is_step)
}

fn of_type(hash: &Hash, node: &Node, types: &[Hash]) -> Result<(), ThreadError> {
    match types.contains(&node.type_) {
        true => Ok(()),
        false => Err(ThreadError::NotAThreadNode { hash: *hash, type_: node.type_ }),
    }
}

fn change(
    store: &Store,
    thread: &ThreadId,
    line: VariableLine,
    left_out: &mut Vec<&'static str>,
) -> Result<VarChange, ExportError> {
    let VariableLine { variable: name, value, tags } = line;
    if name == thread::variable(thread) {
        return Ok(thread::adoption(store, thread, &value, tags)?);
    }
    let schema = store.get(&value)?.type_;
    // Whoever made the file says neither who plays here nor what that may do.
    let value = match name == options::variable(thread) {
        true => {
            let (taken, left) = options::read(store, &value)?.from_elsewhere();
            left_out.extend(left);
            options::put(store, &taken)?
        }
        false => value,
    };
    Ok(VarChange::Set { name, schema, value, tags, expect: Expect::Any })
}

impl Header {
    /// The number of lines after the first.
    fn expected(&self) -> u64 {
        self.nodes.saturating_add(self.variables)
    }
}

/// The file, line by line.
struct Lines<'r> {
    input: &'r mut dyn BufRead,
    /// Of the line in `text`, from 1.
    number: u64,
    text: String,
}

impl Lines<'_> {
    fn header(&mut self) -> Result<Header, ExportError> {
        let why = |why: String| ExportError::NotAnExport { why };
        if !self.read()? {
            return Err(why("it is empty".to_owned()));
        }
        let header: Header = serde_json::from_str(&self.text).map_err(|error| {
            why(match error.is_data() {
                true => {
                    format!("its first line is not `{{\"format\": {FORMAT:?}, …}}` as it must be: {error}")
                }
                false => format!("its first line is no JSON: {error}"),
            })
        })?;
        if header.format != FORMAT {
            return Err(why(format!("its format is {:?}", header.format)));
        }
        if header.version != VERSION {
            return Err(ExportError::Version { found: header.version });
        }
        if header.variables == 0 {
            return Err(why("it tells no thread's head".to_owned()));
        }
        Ok(header)
    }

    fn node(&mut self, expected: u64, batch: &mut Batch<'_>) -> Result<(), ExportError> {
        let NodeLine { node, type_, payload, timestamp } = self.next(expected)?;
        let stored = batch.put_node(&Node { type_, payload, timestamp });
        match stored.map_err(|source| ExportError::Refused { line: self.number, source })? {
            hash if hash == node => Ok(()),
            hash => Err(self.damaged(format!("node {node} hashes to {hash}"))),
        }
    }

    /// The thread's own variables, the head among them, and no others.
    fn check_variable(
        &self,
        thread: &ThreadId,
        head: &Hash,
        variables: &[VariableLine],
    ) -> Result<(), ExportError> {
        let Some(last) = variables.last() else { return Ok(()) };
        let is_head = last.variable == thread::variable(thread) && last.value == *head;
        let is_failed = last.variable.starts_with(&format!("{}{thread}/", thread::FAILED));
        let is_undone = last.variable == undo_log::variable(thread);
        let is_chosen = last.variable == options::variable(thread);
        match variables.len() {
            1 if is_head => Ok(()),
            2.. if is_failed || is_undone || is_chosen => Ok(()),
            _ => Err(self.damaged(format!("it sets {} to {}", last.variable, last.value))),
        }
    }

    fn end(&mut self) -> Result<(), ExportError> {
        while self.read()? {
            if !self.text.trim().is_empty() {
                return Err(self.damaged("it is one too many".to_owned()));
            }
        }
        Ok(())
    }

    fn next<T: DeserializeOwned>(&mut self, expected: u64) -> Result<T, ExportError> {
        let lines = self.number - 1;
        if !self.read()? {
            return Err(ExportError::Cut { lines, expected });
        }
        serde_json::from_str(&self.text).map_err(|error| self.damaged(error.to_string()))
    }

    fn read(&mut self) -> Result<bool, ExportError> {
        self.text.clear();
        self.number += 1;
        let read = self.input.read_line(&mut self.text);
        Ok(read.map_err(|source| ExportError::Io { doing: "read", source })? > 0)
    }

    fn damaged(&self, why: String) -> ExportError {
        ExportError::Damaged { line: self.number, why }
    }
}

#[cfg(test)]
mod tests;
