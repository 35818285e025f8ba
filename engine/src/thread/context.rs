//! What a role may see of its thread, gathered once before an agent says its first word.
//!
//! Pure reading: the head, the chain behind it, the workflow, the outputs and the answers of earlier steps. It decides
//! which edge prompt counts and tells where that is from; it renders no text for a model.

use serde_json::Value;
use uwf_store::{Hash, Store, StoreError, suggest};
use uwf_workflow::ContextSource;
use uwf_workflow::moderator::Target;

use super::{
    COMPACT, Head, Link, MAX_LEVELS, StartNode, Status, StepNode, SummaryPlace, ThreadError, ThreadId,
    WalkBack, artifacts_of, chain, compact_role, decode, detail_of, failed_attempts, head, next, stack,
    start_node,
};
use crate::builtin;
use crate::record::{Artifact, Detail, Turn};
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
    /// What happened before the first of `steps`, where that was summed up.
    pub summary: Option<String>,
    /// What happened so far, oldest first; no step from before the summary.
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
    /// What is kept of it.
    pub artifacts: Vec<Artifact>,
}

impl RoleContext {
    /// How often this role has had its turn before; where that was summed up, since then.
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
    let Remembered { start_hash, start, steps, summary } = remembered(store, head)?;
    let workflow = workflow::get(store, &start.workflow)?;
    let role = role_played(&workflow, &request.role)?;
    let own: Vec<EarlierStep> =
        steps.into_iter().map(|link| earlier(store, link.hash, link.step)).collect::<Result<_, _>>()?;
    let mut steps = callers_steps(store, &start, &role)?;
    steps.extend(own);
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
        summary,
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

/// The role of that name, as [`role_of`], or the one that sums up.
///
/// # Errors
/// [`ThreadError::UnknownRole`].
pub fn role_played(workflow: &Workflow, name: &str) -> Result<Role, ThreadError> {
    if name == COMPACT { Ok(compact_role()) } else { role_of(workflow, name).cloned() }
}

/// What a thread has that a role may see: no more of it is read.
struct Remembered {
    start_hash: Hash,
    start: StartNode,
    /// Oldest first.
    steps: Vec<Link>,
    summary: Option<String>,
}

/// Walks back from `head` to the first step before which a summary stands, that one included, or to the start.
fn remembered(store: &Store, head: &Hash) -> Result<Remembered, ThreadError> {
    let (mut back, mut steps, mut found) = (WalkBack::from(store, head)?, Vec::new(), None);
    let start_hash = back.start();
    for link in &mut back {
        let link = link?;
        found = SummaryPlace::of(&link.hash, &link.step);
        steps.push(link);
        if found.is_some() {
            break;
        }
    }
    steps.reverse();
    let text = |place: SummaryPlace| {
        let node = store.get(&place.summary);
        let node =
            node.map_err(|error| ThreadError::from(error).severed(&place.step, "the summary before"))?;
        Ok::<_, ThreadError>(node.payload.as_str().unwrap_or_default().to_owned())
    };
    let summary = found.map(text).transpose()?;
    let start = start_node(store, &start_hash).map_err(|error| error.severed(head, "the start of"))?;
    Ok(Remembered { start_hash, start, steps, summary })
}

/// What the moderator asks of this role now.
fn edge_prompt(store: &Store, request: &AgentRequest, head: &Head, workflow: &Workflow) -> Option<String> {
    if matches!(head.status, Status::Suspended { .. }) {
        return None;
    }
    let route = next(store, workflow, head, None).ok()?;
    (route.target == Target::Role(request.role.clone())).then_some(route.prompt)
}

/// What was done before the call, by every thread above this one, if the role is to see it: the outermost thread first. Their
/// roles are told by the names of their workflows, so that nobody takes them for roles of this one.
fn callers_steps(store: &Store, start: &StartNode, role: &Role) -> Result<Vec<EarlierStep>, ThreadError> {
    if !role.context.contains(&ContextSource::Caller) {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    for frame in stack(store, start)?.iter().rev() {
        for (hash, step) in chain(store, &frame.state)?.steps {
            let step = earlier(store, hash, step)?;
            steps.push(EarlierStep { role: format!("{}/{}", frame.workflow, step.role), ..step });
        }
    }
    Ok(steps)
}

fn earlier(store: &Store, hash: Hash, step: StepNode) -> Result<EarlierStep, ThreadError> {
    Ok(EarlierStep {
        hash,
        artifacts: artifacts_of(store, &step)?,
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
    detail_of(store, step).ok()?.failed_calls
}

/// The last thing an assistant said in a detail node that keeps `turns`, or in the last step of a thread that was called;
/// none when the detail has no such shape.
///
/// # Errors
/// The detail node or one of its turns cannot be read; a turn that is missing is not an error.
pub fn answer_of(store: &Store, detail: &Hash) -> Result<Option<String>, ThreadError> {
    let mut node = store.get(detail)?;
    for _ in 0..MAX_LEVELS {
        if !builtin::STEPS.contains(&node.type_) {
            break;
        }
        node = store.get(&decode::<StepNode>(detail, node)?.detail)?;
    }
    let turns = Detail::of(node.payload).turns;
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
