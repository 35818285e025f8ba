//! Where a thread goes from its head: the moderator, asked with the last role and its output.

use serde_json::{Value, json};
use uwf_store::Store;
use uwf_workflow::moderator::{self, Route, RouteError, SUSPEND, Target, Ways};
use uwf_workflow::{ARTIFACTS, condition};

use super::{Head, HeadKind, Status, ThreadError, artifacts_of, chain};
use crate::conditions::{Answer, Judge, Question};
use crate::record::{self, Artifact};
use crate::workflow::Workflow;

/// The route from `head`. Costs two reads at most (the last output, and its artifacts), however long the chain is, unless
/// conditions decide: they see all of it. An output that asks a person leads to them whatever the graph says.
///
/// # Errors
/// The last output cannot be read, or no edge of the graph fits it. Where conditions decide: nobody is there to judge
/// them, an expression fails, or none is true and there is no fallback.
pub fn next(store: &Store, workflow: &Workflow, head: &Head, judge: Judge<'_>) -> Result<Route, ThreadError> {
    let (role, output) = match &head.kind {
        HeadKind::Start(_) => (moderator::START, begin("new")),
        HeadKind::Step(step) => {
            let output = store.get(&step.output)?.payload;
            (step.role.as_str(), with_artifacts(output, &artifacts_of(store, step)?))
        }
    };
    if record::status(&output) == Some(SUSPEND) {
        let prompt = record::reason(&output).unwrap_or_default().to_owned();
        return Ok(Route { target: Target::Suspend, prompt, location: None });
    }
    let otherwise = match &head.kind {
        HeadKind::Start(start) => moderator::begun(&start.prompt),
        HeadKind::Step(_) => moderator::delivered(role, &output),
    };
    let ways = moderator::ways(&workflow.graph, role, &output)?;
    let first = first_true(store, workflow, (head, role), &ways, judge)?;
    Ok(ways.follow(first, &otherwise)?)
}

/// What templates see: the output, and the artifacts of the step where that has no field of their name.
fn with_artifacts(mut output: Value, artifacts: &[Artifact]) -> Value {
    if let Value::Object(fields) = &mut output
        && !artifacts.is_empty()
    {
        fields.entry(ARTIFACTS).or_insert_with(|| json!(artifacts));
    }
    output
}

/// The route on which an ended thread begins again: by an edge of `$START` for the status `resume`, which a list does
/// not have.
///
/// # Errors
/// The graph has no edge from `$START` for `resume`, its prompt cannot be rendered, or as in [`next`] where conditions
/// decide.
pub fn again(
    store: &Store,
    workflow: &Workflow,
    head: &Head,
    judge: Judge<'_>,
) -> Result<Route, ThreadError> {
    let output = begin(RESUME);
    let ways = resumed(workflow, &output)?;
    let first = first_true(store, workflow, (head, moderator::START), &ways, judge)?;
    Ok(ways.follow(first, &moderator::begun(&head.start(store)?.prompt))?)
}

/// Whether an ended thread may begin again at all: whether there is an edge, whatever it leads to.
pub fn begins_again(workflow: &Workflow) -> bool {
    resumed(workflow, &begin(RESUME)).is_ok()
}

const RESUME: &str = "resume";

fn resumed<'w>(workflow: &'w Workflow, output: &'w Value) -> Result<Ways<'w>, RouteError> {
    match workflow.graph.get(moderator::START) {
        Some(moderator::Edges::Listed(_)) => Err(RouteError::UnknownStatus {
            role: moderator::START.to_owned(),
            status: RESUME.to_owned(),
            known: Vec::new(),
        }),
        _ => moderator::ways(&workflow.graph, moderator::START, output),
    }
}

/// What stands for an output where no role has spoken: the graph's `$START` edges are chosen by it.
fn begin(status: &str) -> Value {
    json!({"$status": status})
}

/// The first of the conditions that is true, by its place; none where none is, or none has to be asked.
fn first_true(
    store: &Store,
    workflow: &Workflow,
    (head, role): (&Head, &str),
    ways: &Ways<'_>,
    judge: Judge<'_>,
) -> Result<Option<usize>, ThreadError> {
    let names = ways.conditions();
    if names.is_empty() {
        return Ok(None);
    }
    let name_of = |index: usize| names.get(index).copied().unwrap_or_default().to_owned();
    let judge = judge.ok_or_else(|| RouteError::Conditional {
        role: role.to_owned(),
        conditions: (0..names.len()).map(name_of).collect(),
    })?;
    let expression = |name: &&str| match workflow.conditions.get(*name) {
        Some(condition) => Ok(condition.expression.clone()),
        None => Err(ThreadError::UndefinedCondition { role: role.to_owned(), condition: (*name).to_owned() }),
    };
    let expressions = names.iter().map(expression).collect::<Result<Vec<_>, _>>()?;
    let question = Question { context: context(store, head)?, expressions };
    let answer = judge.answer(&question).map_err(|source| ThreadError::Unjudged {
        role: role.to_owned(),
        conditions: match source.tried {
            Some(tried) => vec![name_of(tried)],
            None => (0..names.len()).map(name_of).collect(),
        },
        source,
    })?;
    match answer {
        Answer::First { index } => Ok(Some(index)),
        Answer::None => Ok(None),
        Answer::Failed { index, error } => Err(ThreadError::Condition {
            role: role.to_owned(),
            condition: name_of(index),
            expression: question.expressions.get(index).cloned().unwrap_or_default(),
            source: Box::new(error.into()),
        }),
    }
}

/// What conditions see of a thread that stands at `head`.
fn context(store: &Store, head: &Head) -> Result<Value, ThreadError> {
    let chain = chain(store, &head.hash)?;
    let step = |step: &super::StepNode| -> Result<Value, ThreadError> {
        let output = store.get(&step.output)?.payload;
        Ok(json!({"role": step.role, "output": output, "detail": step.detail, "agent": step.agent}))
    };
    let steps = chain.steps.iter().map(|(_, node)| step(node)).collect::<Result<_, _>>()?;
    Ok(condition::context(chain.start.workflow.as_str(), &chain.start.prompt, steps))
}

/// Whose turn it is, when it was tried and failed: the next role, the one that asked, or the one that takes an ended
/// thread up, where no condition decides that.
pub fn retried(workflow: &Workflow, status: &Status, next: Option<&str>) -> Option<String> {
    match status {
        Status::Idle => next.map(str::to_owned),
        Status::Suspended { role, .. } => Some(role.clone()),
        Status::Ended { .. } => {
            let output = begin(RESUME);
            let ways = resumed(workflow, &output).ok().filter(|ways| ways.conditions().is_empty())?;
            match ways.follow(None, RESUME).ok()?.target {
                Target::Role(role) => Some(role),
                Target::End | Target::Suspend => None,
            }
        }
        Status::Cancelled { .. } => None,
    }
}
