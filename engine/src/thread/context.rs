//! What a role may see of its thread, gathered once before an agent says its first word.
//!
//! Pure reading: the head, the chain behind it, the workflow, the outputs and the answers of earlier steps. It decides
//! which edge prompt counts and tells where that is from; it renders no text for a model.

use serde_json::Value;
use uwf_store::{Hash, Store, StoreError, suggest};
use uwf_workflow::moderator::Target;

use super::{
    Chain, Head, StartNode, Status, StepNode, ThreadError, ThreadId, chain, failed_attempts, head, next,
};
use crate::record::{Detail, Turn};
use crate::spawn::protocol::{AgentRequest, EdgePromptSource};
use crate::workflow::{self, Role, Workflow};

/// Everything one visit of one role is told.
#[derive(Clone, Debug)]
pub struct RoleContext {
    /// The thread.
    pub thread: ThreadId,
    /// Its head: the new step's `prev`, unless it is the start.
    pub head: Hash,
    /// The thread's StartNode.
    pub start_hash: Hash,
    /// The payload of the StartNode.
    pub start: StartNode,
    /// The workflow.
    pub workflow: Workflow,
    /// The role to play.
    pub role_name: String,
    /// The role's part of the workflow.
    pub role: Role,
    /// The JSON Schema of the role's output.
    pub schema: Value,
    /// What happened so far, oldest first.
    pub steps: Vec<EarlierStep>,
    /// Failed visits of this role since its last success.
    pub previous_attempts: Vec<Hash>,
    /// What this visit is asked for.
    pub edge_prompt: String,
    /// Where that is from.
    pub edge_prompt_source: EdgePromptSource,
}

/// A finished step as a later role sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierStep {
    /// The StepNode.
    pub hash: Hash,
    /// Who played.
    pub role: String,
    /// What it was asked for.
    pub edge_prompt: String,
    /// Its output's payload.
    pub output: Value,
    /// The whole final text, frontmatter included, when its detail keeps turns.
    pub answer: Option<String>,
    /// Which agent.
    pub agent: String,
    /// How many attempts had failed before it.
    pub failures: usize,
}

impl RoleContext {
    /// How often this role has had its turn before.
    pub fn visit(&self) -> usize {
        self.steps.iter().filter(|step| step.role == self.role_name).count()
    }

    /// The hash for the new step's `prev`: none on the first step.
    pub fn prev(&self) -> Option<Hash> {
        (self.head != self.start_hash).then_some(self.head)
    }
}

/// Gathers what `request.role` may see of `request.thread`.
///
/// # Errors
/// The thread, its chain, its workflow or an output cannot be read, or the workflow has no such role.
pub fn role_context(store: &Store, request: &AgentRequest) -> Result<RoleContext, ThreadError> {
    let head = head(store, &request.thread)?;
    let attempts = failed_attempts(store, &request.thread, &request.role)?;
    let context = role_context_at(store, request, &head.hash, attempts)?;
    if request.prompt.is_some() {
        return Ok(context);
    }
    let routed = edge_prompt(store, request, &head, &context.workflow);
    Ok(match routed {
        Some(prompt) => {
            RoleContext { edge_prompt: prompt, edge_prompt_source: EdgePromptSource::Routed, ..context }
        }
        None => context,
    })
}

/// The same as of another head, after these failed attempts; without a prompt the thread's task serves.
///
/// # Errors
/// As [`role_context`].
pub fn role_context_at(
    store: &Store,
    request: &AgentRequest,
    head: &Hash,
    previous_attempts: Vec<Hash>,
) -> Result<RoleContext, ThreadError> {
    let Chain { start_hash, start, steps } = chain(store, head)?;
    let workflow = workflow::get(store, &start.workflow)?;
    let role = role_of(&workflow, &request.role)?.clone();
    let steps: Vec<EarlierStep> =
        steps.into_iter().map(|(hash, step)| earlier(store, hash, step)).collect::<Result<_, _>>()?;
    let (edge_prompt, edge_prompt_source) = match &request.prompt {
        Some(prompt) => (prompt.clone(), request.prompt_source),
        None => (start.prompt.clone(), EdgePromptSource::Task),
    };
    Ok(RoleContext {
        thread: request.thread,
        head: *head,
        start_hash,
        start,
        role_name: request.role.clone(),
        schema: store.schema_of(&role.frontmatter)?,
        role,
        workflow,
        previous_attempts,
        steps,
        edge_prompt,
        edge_prompt_source,
    })
}

/// The role of that name; the error lists those there are, the nearest name first.
///
/// # Errors
/// [`ThreadError::UnknownRole`].
pub fn role_of<'a>(workflow: &'a Workflow, name: &str) -> Result<&'a Role, ThreadError> {
    workflow.roles.get(name).ok_or_else(|| {
        let roles = suggest::sorted(name, workflow.roles.keys());
        ThreadError::UnknownRole { role: name.to_owned(), workflow: workflow.name.clone(), roles }
    })
}

/// What the moderator asks of this role now.
fn edge_prompt(store: &Store, request: &AgentRequest, head: &Head, workflow: &Workflow) -> Option<String> {
    if matches!(head.status, Status::Suspended { .. }) {
        return None;
    }
    let route = next(store, workflow, head, None).ok()?;
    (route.target == Target::Role(request.role.clone())).then_some(route.prompt)
}

fn earlier(store: &Store, hash: Hash, step: StepNode) -> Result<EarlierStep, ThreadError> {
    Ok(EarlierStep {
        hash,
        output: store.get(&step.output)?.payload,
        answer: answer_of(store, &step.detail)?,
        role: step.role,
        edge_prompt: step.edge_prompt,
        agent: step.agent,
        failures: step.previous_attempts.map_or(0, |attempts| attempts.len()),
    })
}

/// How many tool calls of a step failed, where its detail counts them; a detail that cannot be read counts nothing.
pub fn failed_calls(store: &Store, step: &StepNode) -> Option<u64> {
    Detail::read(store, &step.detail).ok()?.failed_calls
}

/// The last thing an assistant said in a detail node that keeps `turns`; none when the detail has no such shape.
///
/// # Errors
/// The detail node or one of its turns cannot be read; a turn that is missing is not an error.
pub fn answer_of(store: &Store, detail: &Hash) -> Result<Option<String>, ThreadError> {
    let turns = Detail::read(store, detail)?.turns;
    for turn in turns.unwrap_or_default().iter().rev() {
        let Some(hash) = turn.turn() else { return Ok(None) };
        let turn = match Turn::read(store, &hash) {
            Err(StoreError::NotFound { .. }) => return Ok(None),
            turn => turn?,
        };
        match turn.content {
            Some(content) if turn.role.as_deref() == Some("assistant") && !content.is_empty() => {
                return Ok(Some(content));
            }
            _ => {}
        }
    }
    Ok(None)
}
