//! `uwf workflow graph`: the picture, and how far a thread has come in it.

use uwf_store::Store;
use uwf_workflow::graph_export::{self, ThreadProgress};

use crate::shell::{CliError, Session};
use crate::uwf::args::Language;
use uwf_engine::conditions::Judge;
use uwf_engine::conditions::process::judge;
use uwf_engine::thread::{self, Status, ThreadError, ThreadId};
use uwf_engine::view::{self, WorkflowGraph};
use uwf_engine::workflow::{self, Workflow};

pub(super) fn run(
    session: &mut Session<'_>,
    reference: Option<&str>,
    language: Language,
    thread: Option<&str>,
) -> Result<u8, CliError> {
    let store = session.store()?;
    let thread = thread.map(|thread| session.thread_id(thread)).transpose()?;
    let conditions = session.conditions();
    let judge = judge(conditions.as_ref());
    let played = thread.map(|thread| progress(&store, &thread, judge)).transpose()?;
    let (own, progress) = played.unzip();
    let named =
        reference.map(|reference| workflow::resolve(&store, reference, &session.cwd)?.workflow(&store));
    let workflow = match (named.transpose()?, own) {
        // Another version of it may be looked at.
        (Some(named), Some(own)) if named.name != own.name => {
            return Err(CliError::user(format!(
                "the thread runs the workflow {}, not {}",
                own.name, named.name
            ))
            .with_hint("leave the workflow out to see the thread's own"));
        }
        (Some(workflow), _) | (None, Some(workflow)) => workflow,
        (None, None) => unreachable!("the command line requires one of the two"),
    };
    let progress = progress.unwrap_or_default();
    let (language, graph) = match language {
        Language::Mermaid => ("mermaid", graph_export::mermaid(&workflow, &progress)),
        Language::Svg => ("svg", uwf_web::svg(&workflow, &progress)),
        Language::Dot => ("dot", graph_export::dot(&workflow, &progress)),
    };
    let view = WorkflowGraph { name: workflow.name, language, graph };
    session.ui.document(&view, &view.graph)
}

/// The thread's own workflow, and how far it has come.
fn progress(
    store: &Store,
    thread: &ThreadId,
    judge: Judge<'_>,
) -> Result<(Workflow, ThreadProgress), ThreadError> {
    let head = thread::head(store, thread)?;
    let chain = thread::chain(store, &head.hash)?;
    let workflow = workflow::get(store, &chain.start.workflow)?;
    let head = head.settled(store, &workflow, judge);
    let failures = thread::all_failures(store, Some(thread))?.into_iter();
    let current = match &head.status {
        Status::Suspended { role, .. } => Some(role.clone()),
        _ => view::current_role(store, &workflow, &head, judge),
    };
    let progress = ThreadProgress {
        done: chain.steps.into_iter().map(|(_, step)| step.role).collect(),
        current,
        failed: failures
            .filter_map(|failed| failed.variable.name.rsplit('/').next().map(str::to_owned))
            .collect(),
    };
    Ok((workflow, if matches!(head.status, Status::Ended { .. }) { progress.ended() } else { progress }))
}
