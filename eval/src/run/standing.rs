//! How a thread ended, and whether that was the workflow's doing or the infrastructure's.

use uwf_engine::ThreadId;
use uwf_engine::builtin::{ERROR_OUTPUT, STEPS};
use uwf_engine::record::{error, phase};
use uwf_engine::thread::{PausedBy, Status, StepNode, ThreadError, all_failures, head, paused, step_node};
use uwf_store::Store;

/// How a thread ended, as far as its case is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The workflow came to its end.
    Ended,
    /// The workflow did not: why.
    Failed(String),
    /// The infrastructure failed: why. It may not, next time.
    Broken(String),
    /// A person has ended it, or lets it wait: why. That says nothing of the workflow.
    Halted(String),
    /// There is nothing in the way of its next step.
    Idle,
}

/// Where steps fail, in the agents' words, that says nothing of the workflow: there was no completion, commands could not be
/// confined, an agent could not be started or failed by itself.
const INFRASTRUCTURE: [&str; 4] = ["provider", "sandbox", "spawn", "agent"];
/// Where a step fails that a workflow plays: whatever it was, it was below.
const BELOW: &str = "workflow";

/// How a thread stands.
pub(super) fn standing(store: &Store, thread: &ThreadId) -> Result<Standing, ThreadError> {
    let head = head(store, thread)?;
    match &head.status {
        Status::Ended { .. } => return Ok(Standing::Ended),
        Status::Cancelled { .. } => return Ok(Standing::Halted("it was cancelled".to_owned())),
        Status::Suspended { role, message } => {
            let asked = format!("{role} asks a person: {}", first_line(message));
            return Ok(Standing::Failed(asked));
        }
        Status::Idle => {}
    }
    if let Some(pause) = paused(store, thread)? {
        let why = format!("it was paused: {}", first_line(&pause.reason));
        return Ok(match pause.by {
            PausedBy::Person => Standing::Halted(why),
            PausedBy::Rounds => Standing::Failed(why),
        });
    }
    let mut last: Option<StepNode> = None;
    for failures in all_failures(store, Some(thread))? {
        for step in failures.steps? {
            let step = step_node(store, &step)?;
            if last.as_ref().is_none_or(|last| last.completed_at_ms <= step.completed_at_ms) {
                last = Some(step);
            }
        }
    }
    let Some(step) = last else { return Ok(Standing::Idle) };
    let output = store.get(&step.output)?.payload;
    let why = format!("{} failed: {}", step.role, first_line(error(&output).unwrap_or("it gave no reason")));
    Ok(match failed_in(store, step)?.is_some_and(|phase| INFRASTRUCTURE.contains(&phase.as_str())) {
        true => Standing::Broken(why),
        false => Standing::Failed(why),
    })
}

/// Where a step failed. The step of a role that a workflow plays is made of the one below it at which that could not go on: where
/// that failed, however deep, this one did.
fn failed_in(store: &Store, mut step: StepNode) -> Result<Option<String>, ThreadError> {
    loop {
        let output = store.get(&step.output)?.payload;
        let found = phase(&output).map(str::to_owned);
        if found.as_deref() != Some(BELOW) || !STEPS.contains(&store.get(&step.detail)?.type_) {
            return Ok(found);
        }
        step = step_node(store, &step.detail)?;
        // It did not fail, but was not what its caller needs.
        if store.get(&step.output)?.type_ != ERROR_OUTPUT {
            return Ok(found);
        }
    }
}

/// What fits into a row: the first line, and where that leads to an agent's last words, the first of these.
pub(super) fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let more = lines.next().filter(|_| first.ends_with(':'));
    let line = [first].into_iter().chain(more).collect::<Vec<_>>().join(" ");
    uwf_store::excerpt(&line, 300).into_owned()
}

#[cfg(test)]
mod tests {
    use super::first_line;

    #[test]
    fn a_row_says_why_an_agent_gave_no_reply() {
        let why = "the agent `a` gave no reply: exit status 1; its last words:\n    error: no model is set\n    hint: x";
        assert_eq!(
            first_line(why),
            "the agent `a` gave no reply: exit status 1; its last words: error: no model is set"
        );
        assert_eq!(first_line("one\ntwo"), "one");
    }
}
