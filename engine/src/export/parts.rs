//! What of a store makes a thread: its variables, what they name, and what of it is taken over elsewhere.

use uwf_store::{Batch, Expect, Hash, Node, Store, VarChange, check_name};

use super::ExportError;
use super::lines::VariableLine;
use crate::builtin;
use crate::thread::{self, Status, ThreadError, ThreadId, UWF_OPTIONS, options};
use crate::undo_log;

/// The variables of a thread, its head first, which is also the first of what is added to `roots`.
///
/// # Errors
/// There is no such thread, or it cannot be read.
pub fn variables(
    store: &Store,
    thread: &ThreadId,
    roots: &mut Vec<Hash>,
) -> Result<Vec<VariableLine>, ExportError> {
    let head = thread::variable_of(store, thread)?.ok_or(ThreadError::Unknown { thread: *thread })?;
    store.get(&head.value).map_err(|error| ThreadError::from(error).headless(thread))?;
    let failures = thread::all_failures(store, Some(thread))?;
    roots.push(head.value);
    let mut variables = vec![VariableLine { variable: head.name, value: head.value, tags: head.tags }];
    for failed in failures {
        // A list that cannot be read can only stay where it is.
        let Ok(steps) = failed.steps else { continue };
        roots.push(failed.variable.value);
        roots.extend(steps);
        let (variable, value, tags) = (failed.variable.name, failed.variable.value, failed.variable.tags);
        variables.push(VariableLine { variable, value, tags });
    }
    for name in [undo_log::variable(thread), options::variable(thread)] {
        if let Some(found) = store.vars().get(&name)? {
            roots.push(found.value);
            variables.push(VariableLine { variable: found.name, value: found.value, tags: found.tags });
        }
    }
    Ok(variables)
}

/// Whether a thread of a file is here already, at the same head.
///
/// # Errors
/// [`ExportError::Exists`] where it is here at another one.
pub fn is_here(store: &Store, thread: &ThreadId, head: &Hash) -> Result<bool, ExportError> {
    match thread::variable_of(store, thread)? {
        Some(there) if there.value == *head => Ok(true),
        Some(there) => Err(ExportError::Exists { thread: *thread, head: *head, found: there.value }),
        None => Ok(false),
    }
}

/// Whether a variable is a thread's head.
pub fn is_head(thread: &ThreadId, variable: &str) -> bool {
    variable == thread::variable(thread)
}

/// Whether a variable is a thread's own, but not its head.
pub fn stands_beside(thread: &ThreadId, variable: &str) -> bool {
    variable.starts_with(&format!("{}{thread}/", thread::FAILED))
        || variable == undo_log::variable(thread)
        || variable == options::variable(thread)
}

/// Whether what a thread's variable names is in the file and is what it must be: later nothing else asks that.
///
/// # Errors
/// What is wrong with it.
pub fn check(batch: &Batch<'_>, thread: &ThreadId, line: &VariableLine) -> Result<(), ThreadError> {
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

/// The change that gives a thread of a file its variable here. Who plays, and what that may do, is left out.
///
/// # Errors
/// The store cannot be read or written.
pub fn change(
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
