//! Agents that are code of this very program: who plays a role without a process of its own.
//!
//! What such an agent does is checked as that of any other: its reply names a step that is in the store by then, and
//! only the engine moves the head.

use std::error::Error;
use std::path::Path;

use crate::builtin;
use serde_json::{Value, json};
use uwf_store::Store;
use uwf_workflow::moderator::SUSPEND;

use crate::record::{self, Detail};
use crate::spawn::protocol::{AdapterOutput, AgentRequest};
use crate::thread::{StepLinks, StepNode, ThreadError, role_context};

/// Why an agent gave no reply, in its own words.
pub type StepAgentError = Box<dyn Error + Send + Sync>;

/// Plays roles within this program. Any function that takes a request and a directory, and gives a reply, is one.
pub trait StepAgent {
    /// Plays the role that is asked for, in the directory `cwd`: writes the step, as [`answer`] does, and says which it is.
    ///
    /// # Errors
    /// Why there is no step; then the head stays, and nothing is listed as an attempt.
    fn play(&self, request: &AgentRequest, cwd: &Path) -> Result<AdapterOutput, StepAgentError>;
}

impl<F: Fn(&AgentRequest, &Path) -> Result<AdapterOutput, StepAgentError>> StepAgent for F {
    fn play(&self, request: &AgentRequest, cwd: &Path) -> Result<AdapterOutput, StepAgentError> {
        self(request, cwd)
    }
}

/// What steps say of who made them, and errors of who failed.
pub(super) const NAME: &str = "code";

/// Writes the step of a role that gave `output`, as the protocol wants it, without any conversation on record.
///
/// # Errors
/// The thread cannot be read, or the output does not obey the role's schema; then nothing is written.
pub fn answer(
    store: &Store,
    request: &AgentRequest,
    cwd: &Path,
    output: &Value,
) -> Result<AdapterOutput, ThreadError> {
    let context = role_context(store, request)?;
    let asks = record::status(output) == Some(SUSPEND);
    let schema = if asks { builtin::SUSPEND_OUTPUT } else { context.role.frontmatter };
    let (now, mut batch) = (store.now(), store.batch());
    let detail = Detail::empty("", "").put(&mut batch)?;
    let step = StepNode {
        start: context.start_hash,
        prev: context.prev(),
        role: context.role_name.clone(),
        output: batch.put(&schema, output)?,
        detail,
        agent: NAME.to_owned(),
        edge_prompt: context.edge_prompt.clone(),
        started_at_ms: now,
        completed_at_ms: now,
        cwd: cwd.display().to_string(),
        assembled_prompt: None,
        usage: None,
        previous_attempts: Some(context.previous_attempts).filter(|attempts| !attempts.is_empty()),
        links: StepLinks::default(),
    };
    let step_hash = batch.put(&step.type_(), &json!(step))?;
    batch.commit()?;
    Ok(AdapterOutput {
        step_hash,
        detail_hash: detail,
        role: step.role,
        frontmatter: output.clone(),
        body: String::new(),
        started_at_ms: now,
        completed_at_ms: now,
        usage: None,
        is_error: false,
        error_message: None,
    })
}
