//! The caller's step, made from where the called thread stands.

use serde_json::json;
use uwf_store::{Hash, Store};
use uwf_workflow::frontmatter;

use super::Caller;
use super::output::{self, Fit};
use super::run::StuckBelow;
use crate::builtin;
use crate::exec::ExecError;
use crate::record::ErrorOutput;
use crate::spawn::protocol::AdapterOutput;
use crate::thread::{self, CalledThread, Head, Status, StepLinks, StepNode, ThreadError, Usage, role_of};
use crate::workflow::{self, Role};

/// The phase of a step that failed below.
const PHASE: &str = "workflow";

impl Caller<'_> {
    /// The step of the caller, made from where the called thread stands.
    pub(super) fn step(
        &self,
        called: &CalledThread,
        failure: Option<StuckBelow>,
    ) -> Result<AdapterOutput, ExecError> {
        let (store, role) = (self.store(), role_of(&self.workflow, self.role())?);
        let standing = self.standing(called)?;
        let (detail, fit) = match failure {
            Some(StuckBelow { error, at }) => (at, Fit::Unfit(error)),
            None => (standing.hash, self.fit(role, &standing)?),
        };
        let (schema, output, error_message) = match fit {
            Fit::Output(output) => (role.frontmatter, output, None),
            Fit::Asks(reason) => {
                (builtin::SUSPEND_OUTPUT, json!({"$status": "$SUSPEND", "reason": reason}), None)
            }
            Fit::Unfit(error) => (builtin::ERROR_OUTPUT, json!(ErrorOutput::new(&error, PHASE)), Some(error)),
        };
        let prev = (self.head.hash != self.head.start_hash()).then_some(self.head.hash);
        let since = thread::called_since(store, prev.as_ref(), &detail)?;
        let started_at_ms = match since.first() {
            Some((_, first)) => first.started_at_ms,
            None => put_at(store, &called.start_hash)?,
        };
        let completed_at_ms = put_at(store, &detail)?;
        let mut batch = store.batch();
        let step = StepNode {
            start: self.head.start_hash(),
            prev,
            role: self.role().to_owned(),
            output: batch.put(&schema, &output).map_err(ThreadError::from)?,
            detail,
            agent: self.agent(),
            edge_prompt: self.prompt().to_owned(),
            started_at_ms,
            completed_at_ms,
            cwd: self.call.cwd.display().to_string(),
            assembled_prompt: None,
            usage: used(since),
            previous_attempts: None,
            links: StepLinks::default(),
        };
        let step_hash = batch.put(&step.type_(), &json!(step)).map_err(ThreadError::from)?;
        batch.commit().map_err(ThreadError::from)?;
        let body = thread::answer_of(store, &detail)?.map(|answer| frontmatter::body(&answer));
        Ok(AdapterOutput {
            step_hash,
            detail_hash: detail,
            role: step.role,
            frontmatter: output,
            body: body.unwrap_or_default(),
            started_at_ms,
            completed_at_ms,
            usage: step.usage,
            is_error: error_message.is_some(),
            error_message,
        })
    }

    /// What the caller's step puts out for where the called thread stands.
    fn fit(&self, role: &Role, standing: &Head) -> Result<Fit, ExecError> {
        let store = self.store();
        if let Status::Suspended { message, .. } = &standing.status {
            return Ok(Fit::Asks(message.clone()));
        }
        let Some(last) = standing.step() else {
            return Ok(Fit::Unfit("the workflow ended without a step".to_owned()));
        };
        if matches!(standing.status, Status::Cancelled { .. }) {
            return Ok(Fit::Unfit("the thread that played it was cancelled".to_owned()));
        }
        let output = store.get(&last.output).map_err(ThreadError::from)?.payload;
        let schema = store.schema_of(&role.frontmatter).map_err(ThreadError::from)?;
        let fields = self.workflow.output.get(self.role());
        let start = thread::start_node(store, &last.start)?;
        let played = workflow::get(store, &start.workflow).map_err(ThreadError::from)?.name;
        Ok(output::fit(&output, &schema, fields, (self.role(), &played)))
    }
}

/// When a node was put.
fn put_at(store: &Store, hash: &Hash) -> Result<u64, ExecError> {
    Ok(store.get(hash).map_err(ThreadError::from)?.timestamp)
}

/// What steps used in all; none where none tells.
fn used(steps: Vec<(Hash, StepNode)>) -> Option<Usage> {
    let used = steps.into_iter().filter_map(|(_, step)| step.usage);
    used.reduce(Usage::with)
}
