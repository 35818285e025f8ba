//! `uwf thread start|show|read`, and where every other command of the noun is: running steps in `exec`, lists and
//! changes of state below.

mod artifacts;
pub(super) mod at_remote;
mod change;
mod compact;
mod diff;
mod html;
mod list;
mod prune;
mod running;

use self::running::ShownThread;
use super::args::{AtRemote, Start, ThreadCommand, Watch};
use super::begin::{Begun, begin};
use super::checkout::{CheckoutMoment, checkout};
use super::watch::with_unmade;
use super::{exec, export, report, step};
use crate::shell::prompt_text::{PromptSource, WantedText};
use crate::shell::{CliError, Format, OK, Session, Text, render};
use uwf_engine::conditions::process::judge;
use uwf_engine::exec::quoted;
use uwf_engine::lock;
use uwf_engine::thread::{self, ThreadError, ThreadOptions};
use uwf_engine::view::{ThreadDocument, ThreadOutcome, ThreadStarted, ThreadView};
use uwf_engine::workflow;
use uwf_workflow::moderator::RouteError;

/// `uwf watch`, here or at a remote.
pub(super) fn watch(session: &mut Session<'_>, what: &Watch) -> Result<u8, CliError> {
    match (&what.remote, &what.thread) {
        (Some(remote), Some(thread)) => at_remote::watch(session, remote, thread),
        _ => super::watch::watch(session, what),
    }
}

pub(super) fn run(session: &mut Session<'_>, command: ThreadCommand) -> Result<u8, CliError> {
    match command {
        ThreadCommand::Start(what) => match &what.terms.remote {
            Some(remote) => at_remote::start(session, remote, (&what.start, &what.terms)),
            None => start(session, &what.start),
        },
        ThreadCommand::Watch(what) => watch(session, &what),
        ThreadCommand::Exec(exec) => exec::exec(session, &exec),
        ThreadCommand::Resume(resume) => match &resume.remote {
            Some(remote) => at_remote::resume(session, remote, &resume),
            None => exec::resume(session, &resume),
        },
        ThreadCommand::Poke(poke) => exec::poke(session, &poke),
        ThreadCommand::Compact { thread, keep, how } => compact::compact(session, &thread, keep, &how),
        ThreadCommand::Show { thread, at } => either(session, (&thread, &at), show, at_remote::show),
        ThreadCommand::List(which) => match &which.at.remote {
            Some(remote) => at_remote::list(session, remote, &which),
            None => list::list(session, &which),
        },
        ThreadCommand::Diff { thread, shape } => diff::diff(session, &thread, shape),
        ThreadCommand::Checkout { step, dir, before } => checkout(
            session,
            &step,
            &dir,
            if before { CheckoutMoment::Before } else { CheckoutMoment::After },
        ),
        ThreadCommand::Artifacts(what) => artifacts::run(session, &what),
        ThreadCommand::Pause { thread, at } => {
            either(session, (&thread, &at), change::pause, at_remote::pause)
        }
        ThreadCommand::Stop { thread } => change::stop(session, &thread),
        ThreadCommand::Cancel { thread, at } => {
            either(session, (&thread, &at), change::cancel, at_remote::cancel)
        }
        ThreadCommand::Rm { thread, force } => change::remove(session, &thread, force),
        ThreadCommand::Prune(which) => prune::prune(session, &which),
        ThreadCommand::Fork { from } => change::fork(session, &from),
        ThreadCommand::Steps { thread } => step::list(session, &thread, None, None),
        ThreadCommand::StepDetails { step } => step::show(session, &step),
        ThreadCommand::Export { thread, output } => export::export(session, &thread, output.as_deref()),
        ThreadCommand::Import { file } => export::import(session, &file),
        ThreadCommand::Read { thread, html: Some(file), .. } => html::write(session, &thread, &file),
        ThreadCommand::Read { thread, quota, remote: Some(remote), .. } => {
            let quota = Some(quota).filter(|quota| *quota > 0);
            let range = report::ReportRange { quota, before: None, with_task: true };
            at_remote::read(session, (&remote, &thread), &range)
        }
        ThreadCommand::Read { thread, quota, before, start, html: None, .. } => {
            let step = |step: &str| session.step_argument(step)?.find(&session.store()?);
            let before = before.as_deref().map(step).transpose()?;
            let quota = Some(quota).filter(|quota| *quota > 0);
            read(
                session,
                &thread,
                &report::ReportRange { quota, before, with_task: before.is_none() || start },
            )
        }
    }
}

/// A command about a thread that is here, or at a remote.
fn either(
    session: &mut Session<'_>,
    (thread, at): (&str, &AtRemote),
    here: fn(&mut Session<'_>, &str) -> Result<u8, CliError>,
    there: fn(&mut Session<'_>, &str, &str) -> Result<u8, CliError>,
) -> Result<u8, CliError> {
    match &at.remote {
        Some(remote) => there(session, remote, thread),
        None => here(session, thread),
    }
}

fn start(session: &mut Session<'_>, what: &Start) -> Result<u8, CliError> {
    let source = PromptSource::of(what.prompt.as_deref(), what.file.as_deref());
    let prompt = session.prompt_text(&source, &WantedText::task())?;
    let Begun { thread, workflow, name } = begin(session, what, &prompt, |_, _| Ok(()))?;
    session.ui.made(thread.as_str(), &ThreadStarted { workflow, thread }, || format!("{thread}\n"))?;
    if session.ui.format == Format::Text {
        session.ui.note(&format!("started `{name}`; run it with `uwf thread exec {thread}`"));
    }
    Ok(OK)
}

fn show(session: &mut Session<'_>, thread: &str) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(thread)?, session.homes()?, session.store()?);
    let head = thread::head(&store, &thread)?;
    let start = head.start(&store)?;
    let workflow = workflow::get(&store, &start.workflow)?;
    let conditions = session.conditions();
    let judge = judge(conditions.as_ref());
    let head = head.settled(&store, &workflow, judge);
    let view = ThreadView::stored(&store, (thread, &head), (start.workflow, &workflow), judge)
        .linked(&store, &head)?
        .running(&lock::running(&homes.uwf, &thread))
        .with_artifacts(&store, &workflow)?;
    let view = with_unmade((&homes, &store), view)?;
    let outcome = ThreadOutcome::of(&store, &thread, &head, &start).ok();
    let shown = ShownThread::of(view, &homes, &store).with(outcome);
    let resumes = match thread::again(&store, &workflow, &head, None) {
        Err(error) => matches!(error, ThreadError::Route(RouteError::Conditional { .. })),
        Ok(_) => true,
    };
    session.ui.result(&shown, || view_text(&shown, &workflow.name, &start.prompt, resumes))
}

/// How many artifacts are shown with their thread: the newest.
const ARTIFACTS: usize = 20;

fn view_text(shown: &ShownThread, workflow: &str, task: &str, resumes: bool) -> Text {
    let view = &shown.view;
    let mut lines = vec![
        ("thread", view.thread.to_string()),
        ("workflow", format!("{workflow} ({})", view.workflow)),
        ("task", render::first_line(task, 90)),
        ("started", format!("{} UTC", render::time(view.thread.time_ms()))),
        ("head", view.head.to_string()),
        ("status", view.status.to_owned()),
    ];
    lines.extend(shown.lines());
    lines.extend(shown.outcome_lines());
    if let Some(parent) = &view.parent {
        let by = parent.thread.map_or_else(|| parent.state.to_string(), |thread| thread.to_string());
        let stack: Vec<&str> = parent.stack.iter().rev().map(String::as_str).collect();
        lines.push(("called by", format!("{by} ({})", stack.join(" → "))));
    }
    if let Some(child) = &view.child {
        lines.push(("called", format!("{} for role {} ({})", child.thread, child.role, child.status)));
    }
    if let Some(role) = &view.current_role {
        lines.push(("next role", role.clone()));
    }
    if let (Some(role), Some(message)) = (&view.suspended_role, &view.suspend_message) {
        lines.push(("asked by", role.clone()));
        lines.push(("question", message.clone()));
    }
    if let Some(reason) = &view.pause_reason {
        lines.push(("paused", reason.clone()));
    }
    let chosen = chosen(&view.options);
    if !chosen.is_empty() {
        lines.push(("options", chosen));
    }
    if let Some(place) = &view.summary {
        lines.push(("summary", format!("{}, before the step {}", place.summary, place.step)));
    }
    if let Some(error) = &view.error {
        lines.push(("failed", error.message.clone()));
    }
    if let Some(hint) = &view.hint {
        lines.push(("hint", hint.clone()));
    }
    lines.extend(shown.next(resumes).map(|next| ("next", next)));
    let more = view.artifacts.len().saturating_sub(ARTIFACTS);
    for row in &view.artifacts[more..] {
        lines.push(("artifact", format!("{} (step {})", render::artifact(&row.artifact), row.number)));
    }
    if more > 0 {
        lines.push(("", format!("and {more} older ones: uwf thread artifacts {}", view.thread)));
    }
    lines.iter().fold(Text::default(), |text, (name, value)| match *name {
        "status" => text.then(format!("{name:<10} ")).then_status(value).then("\n"),
        name => text.then(format!("{name:<10} {value}\n")),
    })
}

/// What was chosen for a thread, as it is typed.
fn chosen(options: &ThreadOptions) -> String {
    let agent = options.agent.as_ref().map(|agent| {
        let words = agent.typed();
        let words = words.iter().map(|word| quoted(word));
        format!("--agent {}", quoted(&words.collect::<Vec<_>>().join(" ")))
    });
    let sandbox = options.sandbox.as_ref().map(|level| format!("--sandbox {level}"));
    let rounds = options.max_rounds.map(|rounds| format!("--max-rounds {rounds}"));
    let others = options.to_builtin_args();
    let others = others.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let all = [agent, sandbox, rounds, Some(others).filter(|others| !others.is_empty())];
    all.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn read(session: &mut Session<'_>, thread: &str, range: &report::ReportRange) -> Result<u8, CliError> {
    let (thread, store) = (session.thread_id(thread)?, session.store()?);
    let conditions = session.conditions();
    let judge = judge(conditions.as_ref());
    let document = ThreadDocument { thread, markdown: report::thread(&store, &thread, range, judge)? };
    session.ui.document(&document, &document.markdown)
}
