//! Whether an agent's reply is true: the step it names exists, belongs to this thread and this visit, its output is one
//! the role may give, and what it records beside that is there.
//!
//! What an agent did is its own to describe: its record may be of any type that the store knows, but for those that say
//! what something else is; of a thread that was called for the step it is that thread's last step.

use serde_json::Value;
use thiserror::Error;
use uwf_store::schema::{self, Violation};
use uwf_store::{Hash, Store, StoreError};
use uwf_workflow::moderator::SUSPEND;

use super::StepResult;
use crate::builtin;
use crate::record;
use crate::spawn::protocol::AgentReply;
use crate::thread::{StepNode, ThreadError, called_by, step_node};

/// What the step must say of itself.
pub(super) struct Expected<'a> {
    pub(super) start: Hash,
    pub(super) head: Hash,
    pub(super) role: &'a str,
}

/// What a visit came to.
#[derive(Debug)]
pub(super) enum Outcome {
    /// An output of the role.
    Answer,
    /// The role asks the person something.
    Suspended(String),
    /// No valid output; why.
    Failed(String),
}

/// How a reply can be untrue.
#[derive(Debug, Error)]
pub enum ReplyFault {
    /// There is no such step.
    #[error("the step {step} it names cannot be read")]
    NoStep {
        /// The step.
        step: Hash,
        /// What cannot be read of the thread.
        source: Box<ThreadError>,
    },
    /// The step belongs elsewhere.
    #[error("its step {step} has {field} {found}, expected {expected}")]
    Elsewhere {
        /// The step.
        step: Hash,
        /// `start`, `prev` or `role`.
        field: &'static str,
        /// What the step says.
        found: String,
        /// What this visit would say.
        expected: String,
    },
    /// The output is of a type the role does not give.
    #[error(
        "its output {output} is of type {found}: expected the role's schema {expected}, ErrorOutput or SuspendOutput"
    )]
    OutputType {
        /// The output node.
        output: Hash,
        /// Its type.
        found: Hash,
        /// The role's schema.
        expected: Hash,
    },
    /// The output does not obey its own schema.
    #[error("its output {output} does not obey the role's schema: {}", schema::sentence(violations))]
    OutputInvalid {
        /// The output node.
        output: Hash,
        /// In which ways.
        violations: Vec<Violation>,
    },
    /// What the step refers to is not there, or cannot be read.
    #[error("its {what} {hash} cannot be read: expected {}", wanted(what))]
    NoRecord {
        /// `detail` or `assembledPrompt`.
        what: &'static str,
        /// The node.
        hash: Hash,
        /// What the store could not read.
        source: Box<StoreError>,
    },
    /// The detail is a node that means something else.
    #[error("its detail {detail} is a {found}: expected {}", wanted("detail"))]
    DetailType {
        /// The node.
        detail: Hash,
        /// What it is.
        found: &'static str,
    },
    /// The detail does not obey its own type.
    #[error("its detail {detail} does not obey its type {type_}: {}", schema::sentence(violations))]
    DetailInvalid {
        /// The node.
        detail: Hash,
        /// Its type.
        type_: Hash,
        /// In which ways.
        violations: Vec<Violation>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a step refers to, in words.
fn wanted(what: &str) -> &'static str {
    match what {
        "detail" => {
            "the agent's record of what it did, a node of any type but Workflow, StartNode, StepNode and schema"
        }
        _ => "the opening messages, a text node",
    }
}

/// What is never a record.
const NO_RECORDS: [(Hash, &str); 7] = [
    (builtin::WORKFLOW, "Workflow"),
    (builtin::WORKFLOW_2, "Workflow"),
    (builtin::START_NODE, "StartNode"),
    (builtin::UWF_START, "StartNode"),
    (builtin::STEP_NODE, "StepNode"),
    (builtin::UWF_STEP, "StepNode"),
    (builtin::META_SCHEMA, "schema"),
];

/// Reads the step that `reply` names and compares it with what was asked; `schema` is the role's.
pub(super) fn check(
    store: &Store,
    reply: AgentReply,
    expected: &Expected<'_>,
    schema: &Hash,
) -> Result<(StepResult, Outcome), ReplyFault> {
    let (hash, told_detail, told_failure) = match reply {
        AgentReply::Bare(hash) => (hash, None, None),
        AgentReply::Output(output) => (
            output.step_hash,
            Some(output.detail_hash),
            output
                .is_error
                .then(|| output.error_message.unwrap_or_else(|| "the agent gave no reason".to_owned())),
        ),
    };
    let step = step_node(store, &hash)
        .map_err(|source| ReplyFault::NoStep { step: hash, source: Box::new(source) })?;
    belongs(&hash, &step, expected)?;
    is_record(store, &step.detail)?;
    if let Some(told) = told_detail.filter(|told| *told != step.detail) {
        is_record(store, &told)?;
    }
    if let Some(hash) = step.assembled_prompt {
        store.get(&hash).map_err(unread("assembledPrompt", hash))?;
    }
    let node = store.get(&step.output)?;
    if ![*schema, builtin::ERROR_OUTPUT, builtin::SUSPEND_OUTPUT].contains(&node.type_) {
        return Err(ReplyFault::OutputType { output: step.output, found: node.type_, expected: *schema });
    }
    let violations = store.validate(&node.type_, &node.payload)?;
    if !violations.is_empty() {
        return Err(ReplyFault::OutputInvalid { output: step.output, violations });
    }
    let text = |part: fn(&Value) -> Option<&str>| part(&node.payload).unwrap_or_default().to_owned();
    let outcome = match told_failure {
        Some(message) => Outcome::Failed(message),
        None if node.type_ == builtin::ERROR_OUTPUT => Outcome::Failed(text(record::error)),
        None if record::status(&node.payload) == Some(SUSPEND) => Outcome::Suspended(text(record::reason)),
        None => Outcome::Answer,
    };
    Ok((StepResult { hash, step, output: node.payload }, outcome))
}

fn unread(what: &'static str, hash: Hash) -> impl FnOnce(StoreError) -> ReplyFault {
    move |source| ReplyFault::NoRecord { what, hash, source: Box::new(source) }
}

fn is_record(store: &Store, detail: &Hash) -> Result<(), ReplyFault> {
    let node = store.get(detail).map_err(unread("detail", *detail))?;
    let unreadable = |source| ReplyFault::NoStep { step: *detail, source: Box::new(source) };
    if called_by(store, detail).map_err(unreadable)?.is_some() {
        return Ok(());
    }
    if let Some((_, found)) = NO_RECORDS.iter().find(|(type_, _)| *type_ == node.type_) {
        return Err(ReplyFault::DetailType { detail: *detail, found });
    }
    let violations = store.validate(&node.type_, &node.payload).map_err(unread("detail", *detail))?;
    if violations.is_empty() {
        return Ok(());
    }
    Err(ReplyFault::DetailInvalid { detail: *detail, type_: node.type_, violations })
}

fn belongs(hash: &Hash, step: &StepNode, expected: &Expected<'_>) -> Result<(), ReplyFault> {
    let name = |hash: Option<Hash>| hash.map_or("null".to_owned(), |hash| hash.to_string());
    let prev = (expected.head != expected.start).then_some(expected.head);
    let fields = [
        ("start", step.start.to_string(), expected.start.to_string()),
        ("prev", name(step.prev), name(prev)),
        ("role", step.role.clone(), expected.role.to_owned()),
    ];
    match fields.into_iter().find(|(_, found, expected)| found != expected) {
        Some((field, found, expected)) => Err(ReplyFault::Elsewhere { step: *hash, field, found, expected }),
        None => Ok(()),
    }
}
