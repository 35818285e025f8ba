//! `uwf-builtin run`, the stand-alone form: a thread of its own, one role, the end. What an interruption left of it is found by
//! `resumed`.

use std::path::Path;

use serde_json::Value;
use uwf_agent::failure::FailedAt;
use uwf_agent::journal::{PassedOver, Prompt, Unfit, Unreadable, WantedRun};
use uwf_agent::resume;
use uwf_agent::role_run;
use uwf_agent::settings::Settings;
use uwf_agent::stand_alone::{self, RunOutcome};
use uwf_engine::lock::ThreadLock;
use uwf_engine::{AdapterOutput, AgentRequest, Head, ThreadId, thread, workflow};
use uwf_store::Hash;
use uwf_workflow::yaml;

use super::args::{IsolationArgs, RunArgs};
use super::error::{PREPARED, UNCONFINED, usage};
use super::events::EventLog;
use super::host::{self, Host, PreparedRun};
use super::isolated::{IsolatedCopy, PatchFile};
use super::resumed;
use crate::shell::prompt_text::{PromptSource, WantedText};
use crate::shell::{CliError, FAILED_STEP, OK, SUSPENDED, Session};

const HELP: &str = "see uwf-builtin run --help";

/// `uwf-builtin run`.
pub(super) fn stand_alone(args: &RunArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    match (&args.thread, &args.workflow, &args.role) {
        (Some(thread), ..) => go_on(thread, args, session),
        (None, Some(workflow), Some(role)) => {
            let prompt = PromptSource::of(args.prompt.as_deref(), args.file.as_deref());
            let prompt = &session.prompt_text(&prompt, &WantedText::task())?;
            begin(&NewRun { workflow, role, prompt }, args, session)
        }
        _ => {
            Err(usage("a run needs WORKFLOW, --role and --prompt, or --continue".to_owned()).with_hint(HELP))
        }
    }
}

/// What a new stand-alone run is about.
struct NewRun<'a> {
    workflow: &'a str,
    role: &'a str,
    prompt: &'a str,
}

fn begin(new: &NewRun<'_>, args: &RunArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    let isolation = &args.isolation;
    if isolation.needs_copy() && !isolation.isolated {
        return Err(not_isolated());
    }
    let workspace = session.directory(args.cwd.as_deref())?;
    let (homes, env) = host::surroundings(session)?;
    let settings = host::settings(&args.run, None, (&homes, &env), session)?;
    let events = EventLog::open(args.run.events.as_deref(), &session.cwd, session.clock)?;
    let patch = PatchFile::open(isolation, &session.cwd)?;
    let host = Host::at((homes, env), session)?;
    let mut copy = match isolation.isolated {
        true => Some(IsolatedCopy::make((&settings, &host.homes), &host.store, &workspace, session)?),
        false => None,
    };
    let workspace = copy.as_ref().map_or(workspace, IsolatedCopy::workspace);
    let (thread, workflow) = new_thread(&host, new, &settings, (&workspace, session))?;
    copy.iter_mut().for_each(IsolatedCopy::keep);
    session.ui.note(&format!("thread {thread}"));
    let lock = ThreadLock::acquire(&host.homes.uwf, &thread, &workflow, host.store.now())?;
    let from = thread::head(&host.store, &thread)?.hash;
    let request = AgentRequest::new(thread, new.role, Some(new.prompt.to_owned()), None);
    let (request, workspace) = (&request, workspace.as_path());
    let run = PreparedRun {
        request,
        workspace,
        settings,
        resumed: None,
        wanted: None,
        fresh: false,
        stand_alone: true,
        events,
    };
    let reply = host.play(run, session).inspect_err(|_| copy.iter().for_each(|copy| copy.tell(session)))?;
    finish(&host, (lock, &thread, &from), reply, copy.map(|copy| (copy, isolation, patch)), session)
}

/// `uwf-builtin run --continue`: all but what is typed is taken from the journal.
fn go_on(thread: &str, args: &RunArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    let thread: ThreadId = thread.parse()?;
    let host = Host::open(session)?;
    let workflow = thread::head(&host.store, &thread)?.start(&host.store)?.workflow;
    let lock = ThreadLock::acquire(&host.homes.uwf, &thread, &workflow, host.store.now())?;
    let head = thread::head(&host.store, &thread)?;
    let (any, stand_alone) = (Prompt::Any, true);
    let wanted = WantedRun {
        thread,
        head: head.hash,
        role: None,
        prompt: any,
        stand_alone,
        workspace: None,
        agent: None,
    };
    let mut passed_over = None;
    let resumed = resume::find(&host.journals, &wanted, &mut |passed| passed_over = Some(passed))?;
    let resumed = match resumed {
        Some(resumed) => resumed,
        None => return Err(nothing_to_continue(&thread, &head, passed_over)),
    };
    if let Some(passed_over) = passed_over {
        session.ui.warn(&passed_over.to_string());
    }
    let copy = IsolatedCopy::of(Path::new(resumed.header().workspace), &host.homes);
    if args.isolation.needs_copy() && copy.is_none() {
        return Err(not_isolated());
    }
    let patch = PatchFile::open(&args.isolation, &session.cwd)?;
    let request = resumed::request(thread, &resumed);
    let finished = if args.fresh { None } else { resumed::reply(&host.store, &request, &resumed, session)? };
    let reply = match finished {
        Some(reply) => (reply, false),
        None => {
            let workspace = match resumed::workspace(&resumed) {
                Err(_) if args.fresh => session.directory(None)?,
                found => found?,
            };
            let settings = host.settings(&args.run, Some(&resumed), session)?;
            let request = &request;
            // Its journal is free again before it is discarded.
            let resumed = Some(resumed).filter(|_| !args.fresh);
            let events = EventLog::open(args.run.events.as_deref(), &session.cwd, session.clock)?;
            let run = PreparedRun {
                request,
                workspace: &workspace,
                settings,
                resumed,
                wanted: Some(&wanted),
                fresh: args.fresh,
                stand_alone: true,
                events,
            };
            host.play(run, session).inspect_err(|_| copy.iter().for_each(|copy| copy.tell(session)))?
        }
    };
    let isolation = copy.map(|copy| (copy, &args.isolation, patch));
    finish(&host, (lock, &thread, &wanted.head), reply, isolation, session)
}

/// Why no run of the thread goes on: its journal is left alone, it is over, or there was none.
fn nothing_to_continue(thread: &ThreadId, head: &Head, passed_over: Option<PassedOver>) -> CliError {
    if let Some(passed_over) = passed_over {
        let version = match passed_over.why {
            Unfit::Unreadable(Unreadable::OtherVersion { .. }) => {
                "a journal of another version goes on with the uwf-builtin that wrote it; else "
            }
            _ => "",
        };
        return CliError::user(passed_over.to_string()).with_hint(format!(
            "{version}begin the task anew: `uwf-builtin run WORKFLOW --role ROLE --prompt TEXT`"
        ));
    }
    let (why, hint) = match head.step() {
        Some(step) => (
            format!(": its last step, of the role {}, is recorded, {}", step.role, head.hash),
            format!(
                "`uwf step read {}` shows it, `uwf thread show {thread}` where the thread stands",
                head.hash
            ),
        ),
        None => (String::new(), format!("`uwf thread show {thread}` tells where it stands")),
    };
    CliError::user(format!("the thread {thread} has no interrupted run of `uwf-builtin run`{why}"))
        .with_hint(hint)
}

/// Moves the head, gives the thread back and prints the reply.
fn finish(
    host: &Host,
    (lock, thread, from): (ThreadLock, &ThreadId, &Hash),
    (reply, read): (AdapterOutput, bool),
    isolation: Option<(IsolatedCopy, &IsolationArgs, Option<PatchFile>)>,
    session: &mut Session<'_>,
) -> Result<u8, CliError> {
    let end = stand_alone::advance(&host.store, thread, from, &reply)?;
    drop(lock);
    print(&reply, read, session)?;
    if let Some((copy, how, patch)) = isolation {
        copy.end((&host.store, &reply, end), (how, patch), session)?;
    }
    Ok(exit(end))
}

fn not_isolated() -> CliError {
    usage("--patch and --keep are for a run that is --isolated".to_owned()).with_hint(HELP)
}

/// Stores the workflow and starts the thread; nothing is written when the role cannot run.
fn new_thread(
    host: &Host,
    new: &NewRun<'_>,
    settings: &Settings,
    (workspace, session): (&Path, &mut Session<'_>),
) -> Result<(ThreadId, Hash), CliError> {
    let resolved = workflow::resolve(&host.store, new.workflow, &session.cwd)?;
    resolved.checked.iter().for_each(|checked| session.ui.warn_of(checked));
    let content = resolved.workflow(&host.store)?;
    thread::role_of(&content, new.role)?;
    thread::check_task(new.prompt)?;
    role_run::check(settings, &content, new.role)?;
    let workflow = resolved.ensure_stored(&host.store)?;
    let cwd = workspace.display().to_string();
    Ok((thread::start(&host.store, &workflow, new.prompt, &cwd)?, workflow))
}

/// The exit status that says what a run came to.
fn exit(end: RunOutcome) -> u8 {
    match end {
        RunOutcome::Ended => OK,
        RunOutcome::Suspended => SUSPENDED,
        RunOutcome::Failed(FailedAt::Budget) => 4,
        RunOutcome::Failed(FailedAt::Provider) => 5,
        RunOutcome::Failed(FailedAt::Sandbox) => UNCONFINED,
        RunOutcome::Failed(FailedAt::Git) => PREPARED,
        RunOutcome::Failed(_) => FAILED_STEP,
    }
}

/// The reply for programs, the answer for people; what went wrong goes to stderr.
/// An answer that was `read` on this very terminal is not shown twice.
fn print(reply: &AdapterOutput, read: bool, session: &mut Session<'_>) -> Result<(), CliError> {
    if let Some(error) = &reply.error_message {
        let step = reply.step_hash;
        let failed = CliError::user(format!("the step of the role {} failed: {error}", reply.role));
        session.ui.error(&failed.with_hint(format!("the attempt is on record: uwf step read {step}"))).ok();
    }
    let read = read && session.terminals.out;
    session.ui.result(reply, || {
        if reply.is_error || read { String::new() } else { answer(&reply.frontmatter, &reply.body) }
    })?;
    Ok(())
}

/// The answer as the role would have written it.
fn answer(frontmatter: &Value, body: &str) -> String {
    let head = format!("---\n{}---\n", yaml::write(frontmatter));
    if body.is_empty() { head } else { format!("{head}\n{}\n", body.trim_end()) }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
