//! `uwf thread start|show|list|read`; running steps is apart, in `exec`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::args::{Format, StatusWord, Thread, ThreadList};
use super::failure::{Failure, OK, USAGE};
use super::{Session, exec, hash, narrate, render, transfer};
use crate::exec::StepReport;
use crate::lock;
use crate::log::{Event, Log};
use crate::moderator::Target;
use crate::store::{Hash, Store};
use crate::thread::{self, Head, Status, ThreadError, ThreadId};
use crate::workflow::{self, Workflow};

pub(super) fn run(session: &mut Session<'_>, command: Thread) -> Result<u8, Failure> {
    match command {
        Thread::Start { workflow, prompt, cwd } => start(session, &workflow, &prompt, cwd.as_deref()),
        Thread::Exec { thread, count, until_end, max_steps, how } => {
            let many = until_end || count > 1;
            exec::exec(
                session,
                &thread,
                exec::Span { limit: if until_end { max_steps } else { count }, many },
                &how,
            )
        }
        Thread::Resume { thread, prompt, how } => exec::resume(session, &thread, prompt.as_deref(), &how),
        Thread::Show { thread } => show(session, &thread),
        Thread::List(which) => list(session, &which),
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
    pub(super) current_role: Option<String>,
    pub(super) error: Option<String>,
    pub(super) hint: Option<String>,
}

impl Standing {
    /// After a step.
    pub(super) fn after(report: &StepReport) -> Standing {
        let verb = if report.status == Status::Idle { "exec" } else { "resume" };
        let failed = report.played.as_ref().map(|played| {
            format!(
                "the failed step is {}; try again with `uwf thread {verb} {}`",
                played.hash, report.thread
            )
        });
        let hint = match (&report.failure, &report.obstacle) {
            (Some(_), _) => failed,
            (None, Some(obstacle)) => Some(format!("the next step has no way to go: {obstacle}")),
            (None, None) => resume_hint(&report.thread, &report.status),
        };
        Standing {
            thread: report.thread,
            workflow: report.workflow,
            head: report.head,
            status: report.status.clone(),
            running: false,
            current_role: report.current_role.clone(),
            error: report.failure.clone(),
            hint,
        }
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
            "done": self.status.is_final(), "background": null, "error": self.error, "hint": self.hint,
        })
    }
}

fn resume_hint(thread: &ThreadId, status: &Status) -> Option<String> {
    let suspended = matches!(status, Status::Suspended { .. });
    suspended.then(|| format!("Thread is suspended. Resume with: uwf thread resume {thread}"))
}

/// Who plays next, if anybody does and it can be told.
pub(super) fn current_role(store: &Store, workflow: &Workflow, head: &Head) -> Option<String> {
    let route = (head.status == Status::Idle).then(|| thread::next(store, workflow, head))?;
    match route.ok()?.target {
        Target::Role(role) => Some(role),
        Target::End | Target::Suspend => None,
    }
}

fn show(session: &mut Session<'_>, thread: &str) -> Result<u8, Failure> {
    let (thread, homes, store) = (id(thread)?, session.homes()?, session.store()?);
    let head = thread::head(&store, &thread)?;
    let start = head.start(&store)?;
    let workflow = workflow::get(&store, &start.workflow)?;
    let standing = Standing {
        thread,
        workflow: start.workflow,
        head: head.hash,
        running: lock::is_running(&homes.uwf, &thread),
        current_role: current_role(&store, &workflow, &head),
        error: None,
        hint: resume_hint(&thread, &head.status),
        status: head.status,
    };
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
    if let Some(hint) = &standing.hint {
        lines.push(("hint", hint.clone()));
    }
    lines.iter().map(|(name, value)| format!("{name:<10} {value}\n")).collect()
}

/// One row of `thread list`.
struct Row {
    thread: ThreadId,
    head: Head,
    workflow: Hash,
    workflow_name: String,
    running: bool,
    current_role: Option<String>,
}

impl Row {
    fn word(&self) -> &'static str {
        if self.running { "running" } else { self.head.status.as_str() }
    }

    fn json(&self) -> Value {
        json!({
            "thread": self.thread, "workflow": self.workflow, "workflowName": self.workflow_name,
            "head": self.head.hash, "status": self.word(), "currentRole": self.current_role,
            "startedAt": self.thread.time_ms(),
        })
    }

    fn cells(&self) -> [String; 5] {
        let role = match &self.head.status {
            Status::Suspended { role, .. } => role.clone(),
            _ => self.current_role.clone().unwrap_or_default(),
        };
        let started = render::time(self.thread.time_ms());
        [self.thread.to_string(), self.word().to_owned(), self.workflow_name.clone(), role, started]
    }
}

fn list(session: &mut Session<'_>, which: &ThreadList) -> Result<u8, Failure> {
    let (homes, store) = (session.homes()?, session.store()?);
    let wanted = wanted(which, session.terminals.out && session.ui.format == Format::Text);
    let after = which.after.as_deref().map(|text| moment(text, store.now())).transpose()?;
    let before = which.before.as_deref().map(|text| moment(text, store.now())).transpose()?;
    let mut workflows = HashMap::new();
    let mut rows = Vec::new();
    let in_time = |ms: u64| after.is_none_or(|after| ms > after) && before.is_none_or(|before| ms < before);
    for thread::Listed { thread, head } in thread::list(&store)? {
        if !in_time(thread.time_ms()) {
            continue;
        }
        let running = lock::is_running(&homes.uwf, &thread);
        match head {
            Ok(head) if !wanted.contains(&word(&head.status, running)) => {}
            Ok(head) => match row(&store, &mut workflows, (thread, head, running)) {
                Ok(row) => rows.push(row),
                Err(error) => session.ui.warn(&format!("thread {thread} cannot be read: {error}")),
            },
            Err(error) => session.ui.warn(&format!("thread {thread} cannot be read: {error}")),
        }
    }
    let rows: Vec<Row> = rows.into_iter().skip(which.skip).take(which.take.unwrap_or(usize::MAX)).collect();
    let value = rows.iter().map(Row::json).collect();
    session.ui.result(&value, || {
        let cells: Vec<_> = rows.iter().map(Row::cells).collect();
        render::table(["THREAD", "STATUS", "WORKFLOW", "ROLE", "STARTED (UTC)"], &cells)
    })?;
    if rows.is_empty() && session.terminals.out {
        session.ui.note("no threads; `uwf thread list --all` shows finished ones too");
    }
    Ok(OK)
}

fn word(status: &Status, running: bool) -> StatusWord {
    match status {
        _ if running => StatusWord::Running,
        Status::Idle => StatusWord::Idle,
        Status::Suspended { .. } => StatusWord::Suspended,
        Status::Ended { .. } => StatusWord::End,
        Status::Cancelled { .. } => StatusWord::Cancelled,
    }
}

/// The states to show; a person is shown by default what waits for him, too.
fn wanted(which: &ThreadList, for_a_person: bool) -> Vec<StatusWord> {
    use StatusWord::{Active, Cancelled, End, Idle, Running, Suspended};
    match &which.status {
        _ if which.all => vec![Idle, Running, Suspended, End, Cancelled],
        typed if typed.is_empty() && for_a_person => vec![Idle, Running, Suspended],
        typed if typed.is_empty() => vec![Idle, Running],
        typed if typed.contains(&Active) => [typed.as_slice(), &[Idle, Running]].concat(),
        typed => typed.clone(),
    }
}

/// Threads of one workflow are many: each workflow is read once.
fn row(
    store: &Store,
    workflows: &mut HashMap<Hash, Workflow>,
    (thread, head, running): (ThreadId, Head, bool),
) -> Result<Row, ThreadError> {
    let hash = head.start(store)?.workflow;
    let workflow = match workflows.entry(hash) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => place.insert(workflow::get(store, &hash)?),
    };
    let current_role = current_role(store, workflow, &head);
    Ok(Row { thread, workflow: hash, workflow_name: workflow.name.clone(), running, current_role, head })
}

/// `7d` (so long ago), a day, or a time; as milliseconds since the epoch.
pub(super) fn moment(text: &str, now_ms: u64) -> Result<u64, Failure> {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(now_ms.saturating_sub(ms(ago)));
    }
    let day = format!("{text}T00:00:00Z");
    let parsed = humantime::parse_rfc3339_weak(text).or_else(|_| humantime::parse_rfc3339_weak(&day));
    let since = parsed.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map(ms).ok_or_else(|| Failure::Said {
        error: format!("`{text}` is not a time").into(),
        hint: Some("expected 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago".to_owned()),
        exit: USAGE,
    })
}

fn read(session: &mut Session<'_>, thread: &str, part: &narrate::Part) -> Result<u8, Failure> {
    let (thread, store) = (id(thread)?, session.store()?);
    let text = narrate::thread(&store, &thread, part)?;
    session.ui.document(|| json!({"thread": thread, "markdown": text}), &text)?;
    Ok(OK)
}
