//! The call stack in a report: who called a thread, and what the threads did that it called.

use uwf_store::Store;

use super::step_section;
use crate::shell::CliError;
use uwf_engine::thread::{self, StartNode, StepNode, ThreadId};
use uwf_engine::view::ParentView;
use uwf_engine::workflow;

/// How many levels of called threads are told within each other; those below are told by their own threads.
const NESTED: usize = 8;

/// Who called a thread that began so; nothing where nobody did.
pub(super) fn above(store: &Store, thread: &ThreadId, start: &StartNode) -> Result<String, CliError> {
    let Some(parent) = ParentView::of(store, thread, start)? else { return Ok(String::new()) };
    let role = parent.role.map(|role| format!(" for role `{role}`")).unwrap_or_default();
    let by = parent.thread.map(|thread| format!(", thread `{thread}`")).unwrap_or_default();
    let stack: Vec<String> = parent.stack.iter().map(|name| format!("`{name}`")).collect();
    Ok(format!("\n**Called by:** {}{role}{by}, at `{}`\n", stack.join(", called by "), parent.state))
}

/// The steps of the thread that was called for a step, each with a number below its own, if it has one; nothing where an
/// agent made it.
pub(super) fn below(store: &Store, number: &str, step: &StepNode) -> Result<String, CliError> {
    if number.matches('.').count() == NESTED {
        return Ok(String::new());
    }
    let steps = thread::called_steps(store, step)?;
    let Some((_, first)) = steps.first() else { return Ok(String::new()) };
    let name = workflow::get(store, &thread::start_node(store, &first.start)?.workflow)?.name;
    let mut text = format!("\n**Played by workflow `{name}`:**\n");
    for (at, (hash, step)) in steps.iter().enumerate() {
        let at = at + 1;
        let number = if number.is_empty() { at.to_string() } else { format!("{number}.{at}") };
        text += &format!("\n#{}", step_section(store, &number, hash, step)?);
    }
    if !number.is_empty() {
        text += &format!("\n**Step {number} in all:**\n");
    }
    Ok(text)
}
