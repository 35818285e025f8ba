//! The workflow of one role that a run of the library is: the agent's instructions and the answer's schema in it.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};
use uwf_engine::workflow::CheckedWorkflow;
use uwf_workflow::WorkflowText;

use super::error::AgentError;
use super::schema::AnswerSchema;

/// What the role is called: in reports, in records, and in scripts under `roles:`.
pub(super) const ROLE: &str = "agent";

/// What an agent without instructions is to achieve.
const GOAL: &str = "Do what is asked for.";

/// The workflow; whatever is wrong with the answer's schema is found here.
pub(super) fn workflow(instructions: &str, answer: &AnswerSchema) -> Result<CheckedWorkflow, AgentError> {
    let end = json!({"role": "$END", "prompt": "Done."});
    let ends: Map<String, Value> =
        answer.statuses.iter().map(|status| (status.clone(), end.clone())).collect();
    let workflow = json!({
        "name": ROLE,
        "description": "A task, and an answer to it.",
        "roles": {ROLE: {
            "description": "Does what is asked for, and answers.",
            "goal": if instructions.trim().is_empty() { GOAL } else { instructions },
            "capabilities": [],
            "procedure": "",
            "output": "",
            "frontmatter": answer.schema,
        }},
        "graph": {"$START": {"new": {"role": ROLE, "prompt": "Begin."}}, ROLE: ends},
    });
    let nothing = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let (text, empty) = (workflow.to_string(), Path::new(""));
    let text =
        WorkflowText { text: &text, called: Path::new(ROLE), path: empty, directory: empty, open: &nothing };
    uwf_workflow::read(&text).map_err(|invalid| AgentError::Schema(invalid.to_string()))
}
