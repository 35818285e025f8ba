//! `uwf as-agent`: a workflow as the agent of any engine. The engine that calls holds the thread's lock and moves its head; here
//! only the thread that is called runs.

use super::args::{AsAgent, How};
use super::exec::ExecContext;
use crate::shell::{CliError, OK, Session};
use uwf_engine::AgentRequest;
use uwf_engine::exec::{WorkflowCall, call_workflow};
use uwf_engine::spawn::protocol::EDGE_PROMPT;
use uwf_engine::thread::role_context;
use uwf_engine::workflow;

pub(super) fn run(session: &mut Session<'_>, args: AsAgent) -> Result<u8, CliError> {
    let AsAgent { workflow, thread, role, prompt, older_thread, older_role } = args;
    let thread = session.thread_id(&thread.or(older_thread).unwrap_or_default())?;
    let role = role.or(older_role).unwrap_or_default();
    let context = ExecContext::open(session, &How::default())?;
    let environment = session.env.text(EDGE_PROMPT).map(str::to_owned);
    let asked = AgentRequest::new(thread, &role, prompt, environment);
    let seen = role_context(&context.store, &asked)?;
    let request =
        AgentRequest { prompt: Some(seen.edge_prompt), prompt_source: seen.edge_prompt_source, ..asked };
    // What is typed counts from here, whatever directory the thread works in.
    let workflow = workflow::anchored(&workflow, &session.cwd);
    let call =
        WorkflowCall { request: &request, workflow: &workflow, cwd: &session.cwd.clone(), instead: None };
    let reply =
        context.run(session, |engine, options, observer| call_workflow(engine, &call, options, observer))?;
    session.ui.print(&reply.to_line())?;
    Ok(OK)
}
