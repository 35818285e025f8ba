//! An agent as a role of a workflow that the program drives itself.

use std::path::Path;

use uwf_engine::{AdapterOutput, AgentRequest, Homes, thread};
use uwf_store::Store;

use super::agent::Agent;
use super::environment::{RunEnvironment, VisitRequest, on_a_thread, play};
use super::error::AgentError;
use super::run::find;
use crate::journal::{Prompt, WantedRun};
use crate::role_run::reply_again;

impl Agent {
    /// Plays a role of somebody else's thread: what [`uwf_engine::drive`](mod@uwf_engine::drive) asks of an agent. The role, its
    /// schema and its prompt are the workflow's; model, tools and limits are this agent's, and its tools work in `cwd`.
    /// The instructions count for nothing here. The step is recorded with its whole conversation; a visit that was
    /// cut off goes on. It blocks until the step is made.
    ///
    /// ```no_run
    /// # fn demo(agent: uwf_agent::Agent, store: uwf_store::Store, homes: uwf_engine::Homes) {
    /// use std::path::Path;
    /// use uwf_engine::{AgentRequest, AdapterOutput, exec::StepAgentError};
    ///
    /// let plays = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
    ///     Ok(agent.play((&store, &homes), request, cwd)?)
    /// };
    /// # let _ = plays;
    /// # }
    /// ```
    ///
    /// # Errors
    /// Why there is no step. A role that failed is none: it is a reply with `is_error`.
    pub fn play(
        &self,
        (store, homes): (&Store, &Homes),
        request: &AgentRequest,
        cwd: &Path,
    ) -> Result<AdapterOutput, AgentError> {
        let environment = RunEnvironment::of(store, homes, cwd);
        let (agent, request) = (self.clone(), request.clone());
        let (sender, receiver) = std::sync::mpsc::channel();
        // A runtime cannot be started on a thread that has one.
        on_a_thread(move || sender.send(visit(&agent, &environment, &request)).unwrap_or_default())
            .map_err(|source| AgentError::System { what: "start the thread of the run", source })?;
        let gone = |_| AgentError::Internal("the thread of the run panicked".to_owned());
        receiver.recv().map_err(gone)?
    }
}

/// One visit of a role, or what is left of it.
fn visit(
    agent: &Agent,
    environment: &RunEnvironment,
    request: &AgentRequest,
) -> Result<AdapterOutput, AgentError> {
    let mut settings = agent.settings(None)?;
    settings.snapshots.enabled = agent.workspace.as_ref().is_some_and(|workspace| workspace.snapshots);
    let context = thread::role_context(&environment.store, request)?;
    let prompt = match &request.prompt {
        Some(prompt) => Prompt::This(prompt),
        None => Prompt::Usual(&context.edge_prompt),
    };
    let (role, workspace) = (Some(request.role.as_str()), Some(environment.root.as_path()));
    let (thread, head) = (request.thread, context.head);
    let wanted = WantedRun { thread, head, role, prompt, stand_alone: false, workspace, agent: None };
    let earlier = find(environment, &wanted)?;
    if let Some(earlier) = &earlier
        && let Some(reply) = reply_again(&environment.store, request, earlier)?
    {
        return Ok(reply);
    }
    let claim = Some(&wanted);
    let visit = VisitRequest { request, earlier, claim, settings: &settings, stand_alone: false, stop: None };
    play(agent, environment, visit, &mut |_| ())
}
