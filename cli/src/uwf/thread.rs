//! `uwf thread start|show|read`, and where every other command of the noun is: running steps in `exec`, lists and
//! changes of state below.

mod change;
mod list;

pub(super) use self::change::fork_at;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uwf_store::{Hash, Store};
use uwf_workflow::moderator::{Route, Target};

use super::args::Thread;
use super::{exec, hash, narrate, step, transfer};
use crate::shell::{Failure, Format, OK, Session, render};
use uwf_engine::exec::StepReport;
use uwf_engine::lock::{self, Running};
use uwf_engine::log::{Event, Log};
use uwf_engine::record;
use uwf_engine::thread::{self, Head, Status, ThreadId};
use uwf_engine::workflow::{self, Workflow};

pub(super) fn run(session: &mut Session<'_>, command: Thread) -> Result<u8, Failure> {
    match command {
        Thread::Start { workflow, prompt, cwd } => start(session, &workflow, &prompt, cwd.as_deref()),
        Thread::Exec(exec) => exec::exec(session, &exec),
        Thread::Resume { thread, prompt, how } => exec::resume(session, &thread, prompt.as_deref(), &how),
        Thread::Poke { thread, prompt, how } => exec::poke(session, &thread, &prompt, &how),
        Thread::Show { thread } => show(session, &thread),
        Thread::List(which) => list::list(session, &which),
        Thread::Stop { thread } => change::stop(session, &thread),
        Thread::Cancel { thread } => change::cancel(session, &thread),
        Thread::Rm { thread, force } => change::remove(session, &thread, force),
        Thread::Fork { from } => change::fork(session, &from),
        Thread::Steps { thread } => step::list(session, &thread),
        Thread::StepDetails { step } => step::show(session, &step),
        Thread::Export { thread, output } => transfer::export(session, &thread, output.as_deref()),
        Thread::Import { file } => transfer::import(session, &file),
        Thread::Read { thread, quota, before, start } => {
            let before = before.as_deref().map(hash).transpose()?;
            read(session, &thread, &narrate::Part { quota, before, with_task: before.is_none() || start })
        }
    }
}

/// A thread as a command line names it.
pub(super) fn id(text: &str) -> Result<ThreadId, Failure> {
    Ok(text.parse()?)
}

fn start(
    session: &mut Session<'_>,
    reference: &str,
    prompt: &str,
    cwd: Option<&Path>,
) -> Result<u8, Failure> {
    thread::check_task(prompt)?;
    let directory = session.directory(cwd)?;
    let directory = utf8(directory)?;
    let store = session.store()?;
    let resolved = workflow::resolve(&store, reference, &session.cwd)?;
    resolved.checked.iter().for_each(|checked| session.ui.warn_of(checked));
    let workflow = resolved.ensure_stored(&store)?;
    let thread = thread::start(&store, &workflow, prompt, &directory)?;
    let log = Log::new(&session.homes()?.uwf, store.now());
    log.write(&thread, Event::ThreadStarted { workflow: &workflow, name: &resolved.name });
    session.ui.result(&json!({"workflow": workflow, "thread": thread}), || format!("{thread}\n"))?;
    if session.ui.format == Format::Text {
        session.ui.note(&format!("started `{}`; run it with `uwf thread exec {thread}`", resolved.name));
    }
    Ok(OK)
}

/// Nodes hold text, so a directory's name must be some.
fn utf8(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string()
        .into_string()
        .map_err(|path| Failure::user(format!("the directory's name is not UTF-8: {}", path.display())))
}

/// Where a thread stands, as `show` and `exec` print it.
pub(super) struct Standing {
    pub(super) thread: ThreadId,
    pub(super) workflow: Hash,
    pub(super) head: Hash,
    pub(super) status: Status,
    pub(super) running: bool,
    /// Whether what runs does so in the background, when that is known.
    pub(super) background: Option<bool>,
    pub(super) current_role: Option<String>,
    pub(super) error: Option<FailedStep>,
    pub(super) hint: Option<String>,
}

/// The step that stands between a thread and its next one.
pub(super) struct FailedStep {
    hash: Hash,
    message: String,
}

impl FailedStep {
    /// How to try again, where `command` is what does so.
    fn again(&self, command: &str) -> String {
        format!("the failed step is {}; try again with `uwf thread {command}`", self.hash)
    }

    fn json(&self) -> Value {
        json!({"stepHash": self.hash, "message": self.message})
    }
}

impl Standing {
    /// After a step.
    pub(super) fn after(report: &StepReport) -> Standing {
        let thread = &report.thread;
        let command = match (report.poked, &report.status) {
            (true, _) => format!("poke {thread} -p TEXT"),
            (false, Status::Idle) => format!("exec {thread}"),
            (false, _) => format!("resume {thread} -p TEXT"),
        };
        let failed = report.played.as_ref().zip(report.failure.clone());
        let error = failed.map(|(played, message)| FailedStep { hash: played.hash, message });
        let hint = match (&error, &report.obstacle) {
            (Some(error), _) => Some(error.again(&command)),
            (None, Some(obstacle)) => Some(format!("the next step has no way to go: {obstacle}")),
            (None, None) => resume_hint(&report.thread, &report.status),
        };
        Standing {
            thread: report.thread,
            workflow: report.workflow,
            head: report.head,
            status: report.status.clone(),
            running: false,
            background: None,
            current_role: report.current_role.clone(),
            error,
            hint,
        }
    }

    /// As it is stored.
    pub(super) fn now(
        store: &Store,
        (thread, head): (ThreadId, &Head),
        (hash, workflow): (Hash, &Workflow),
    ) -> Standing {
        let next = (head.status == Status::Idle).then(|| thread::next(store, workflow, head));
        let (current_role, obstacle) = match next.transpose() {
            Ok(route) => (route.and_then(player), None),
            Err(error) => (None, Some(format!("the next step has no way to go: {error}"))),
        };
        let retried = thread::retried(workflow, &head.status, current_role.as_deref());
        let command = match head.status {
            Status::Idle => format!("exec {thread}"),
            _ => format!("resume {thread} -p TEXT"),
        };
        let error = retried.and_then(|role| last_failure(store, &thread, &role));
        let again = error.as_ref().map(|error| error.again(&command));
        Standing {
            thread,
            workflow: hash,
            head: head.hash,
            running: false,
            background: None,
            current_role,
            error,
            hint: obstacle.or(again).or_else(|| resume_hint(&thread, &head.status)),
            status: head.status.clone(),
        }
    }

    /// The same with what runs just now: that it failed before is not how it stands.
    pub(super) fn running(self, running: &Running) -> Standing {
        match running.is_running() {
            true => self.while_running(running.background()),
            false => self,
        }
    }

    /// The same for a thread that runs.
    pub(super) fn while_running(self, background: Option<bool>) -> Standing {
        Standing { running: true, background, error: None, hint: None, ..self }
    }

    /// The status as people see it: a step that runs just now is no stored state.
    pub(super) fn word(&self) -> &'static str {
        if self.running { "running" } else { self.status.as_str() }
    }

    pub(super) fn json(&self) -> Value {
        let (role, message) = match &self.status {
            Status::Suspended { role, message } => (Some(role), Some(message)),
            _ => (None, None),
        };
        json!({
            "workflow": self.workflow, "thread": self.thread, "head": self.head, "status": self.word(),
            "currentRole": self.current_role, "suspendedRole": role, "suspendMessage": message,
            "done": self.status.is_final(), "background": self.background, "hint": self.hint,
            "error": self.error.as_ref().map(FailedStep::json),
        })
    }
}

fn resume_hint(thread: &ThreadId, status: &Status) -> Option<String> {
    let suspended = matches!(status, Status::Suspended { .. });
    suspended.then(|| format!("Thread is suspended. Resume with: uwf thread resume {thread}"))
}

/// The last try of a role that has not succeeded since.
fn last_failure(store: &Store, thread: &ThreadId, role: &str) -> Option<FailedStep> {
    let hash = *thread::failed_attempts(store, thread, role).ok()?.last()?;
    let output = store.get(&thread::step_node(store, &hash).ok()?.output).ok()?.payload;
    let message = record::error(&output).unwrap_or("it failed").to_owned();
    Some(FailedStep { hash, message })
}

/// Who plays next, if anybody does and it can be told.
pub(super) fn current_role(store: &Store, workflow: &Workflow, head: &Head) -> Option<String> {
    let route = (head.status == Status::Idle).then(|| thread::next(store, workflow, head))?;
    player(route.ok()?)
}

fn player(route: Route) -> Option<String> {
    match route.target {
        Target::Role(role) => Some(role),
        Target::End | Target::Suspend => None,
    }
}

fn show(session: &mut Session<'_>, thread: &str) -> Result<u8, Failure> {
    let (thread, homes, store) = (id(thread)?, session.homes()?, session.store()?);
    let head = thread::head(&store, &thread)?;
    let start = head.start(&store)?;
    let workflow = workflow::get(&store, &start.workflow)?;
    let head = head.settled(&store, &workflow);
    let standing = Standing::now(&store, (thread, &head), (start.workflow, &workflow))
        .running(&lock::running(&homes.uwf, &thread));
    session.ui.result(&standing.json(), || standing_text(&standing, &workflow.name, &start.prompt))?;
    Ok(OK)
}

fn standing_text(standing: &Standing, workflow: &str, task: &str) -> String {
    let mut lines = vec![
        ("thread", standing.thread.to_string()),
        ("workflow", format!("{workflow} ({})", standing.workflow)),
        ("task", render::first_line(task, 90)),
        ("started", format!("{} UTC", render::time(standing.thread.time_ms()))),
        ("head", standing.head.to_string()),
        ("status", standing.word().to_owned()),
    ];
    if let Some(role) = &standing.current_role {
        lines.push(("next role", role.clone()));
    }
    if let Status::Suspended { role, message } = &standing.status {
        lines.push(("asked by", role.clone()));
        lines.push(("question", message.clone()));
    }
    if let Some(error) = &standing.error {
        lines.push(("failed", error.message.clone()));
    }
    if let Some(hint) = &standing.hint {
        lines.push(("hint", hint.clone()));
    }
    lines.iter().map(|(name, value)| format!("{name:<10} {value}\n")).collect()
}

fn read(session: &mut Session<'_>, thread: &str, part: &narrate::Part) -> Result<u8, Failure> {
    let (thread, store) = (id(thread)?, session.store()?);
    let text = narrate::thread(&store, &thread, part)?;
    session.ui.document(|| json!({"thread": thread, "markdown": text}), &text)?;
    Ok(OK)
}
