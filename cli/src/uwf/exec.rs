//! `uwf thread exec`, `resume` and `poke`: one step or many, told as they happen.

mod background;
mod complaints;
mod context;
mod continuation;
mod making;
mod players;
mod question;
mod run;
mod watcher;

use self::background::arrive;
use self::complaints::chatter;
pub(super) use self::context::{ExecContext, Keeps, builtin};
pub(super) use self::continuation::Continuation;
use self::making::{Made, Wanted};
pub(super) use self::run::run;
pub(super) use self::watcher::{print_step, summed_up};
use super::args::{Exec, Poke, Resume};
use crate::shell::prompt_text::{PromptSource, WantedText};
use crate::shell::{CliError, FAILED_STEP, Format, OK, SUSPENDED, Session, Ui};
use uwf_engine::exec::{ExecError, StepReport, check_resumable, hold, poke_once};
use uwf_engine::spawn::SpawnError;
use uwf_engine::thread::{self, Pause, PausedBy, Status, ThreadId};
use uwf_engine::view::ThreadView;
use uwf_engine::workflow;

pub(super) fn exec(session: &mut Session<'_>, what: &Exec) -> Result<u8, CliError> {
    let thread = session.thread_id(&what.thread)?;
    let context = ExecContext::open(session, &what.how)?.with_rounds(what.rounds);
    let context =
        context.of_thread(session, &thread, Keeps::All)?.asking(session, what.until_end && !what.detached);
    let steps = if what.until_end { what.max_steps } else { what.count };
    let exec = Continuation::new("exec").like(&context.options);
    let wanted = Wanted {
        resume: None,
        limit: steps,
        until_end: what.until_end,
        go_on: exec.until(what.until_end, steps),
        resume_with: None,
    };
    if !what.detached && (what.until_end || steps > 1) {
        context.find_agents_of(&thread, false)?;
    }
    if what.detached {
        // Its stderr is the log, which is all there will be to read.
        session.ui.remarks = true;
        let lock = arrive(&context, &thread)?;
        let made = making::make(session, &context, &lock, &wanted);
        return told(session, &context, made, &wanted);
    }
    // Only an idle thread has anything to run; any other is told of at once.
    if what.background && standing(&context, &thread)? == Status::Idle {
        not_paused(&context, &thread)?;
        return background::launch(session, &context, &thread, &wanted);
    }
    let lock = hold(&context.engine(&session.stop), &thread)?;
    let made = making::make(session, &context, &lock, &wanted);
    told(session, &context, made, &wanted)
}

/// Whether a thread waits, and for what.
fn standing(context: &ExecContext, thread: &ThreadId) -> Result<Status, CliError> {
    let head = thread::head(&context.store, thread)?;
    let workflow = workflow::get(&context.store, &head.start(&context.store)?.workflow)?;
    Ok(head.settled(&context.store, &workflow, context.judge()).status)
}

fn is_idle(context: &ExecContext, thread: &ThreadId) -> Result<bool, CliError> {
    Ok(standing(context, thread)? == Status::Idle)
}

/// An error where a thread is paused by a person: a run in the background would only say so in its log.
fn not_paused(context: &ExecContext, thread: &ThreadId) -> Result<(), CliError> {
    match thread::paused(&context.store, thread)? {
        Some(Pause { reason, by: by @ PausedBy::Person }) => {
            Err(ExecError::Paused { thread: *thread, reason, by }.into())
        }
        _ => Ok(()),
    }
}

pub(super) fn resume(session: &mut Session<'_>, what: &Resume) -> Result<u8, CliError> {
    let thread = session.thread_id(&what.thread)?;
    let source = match what.detached {
        // It is given as it is to be told.
        true => what.prompt.as_deref().map_or(PromptSource::Nobody, PromptSource::Typed),
        false => PromptSource::of(what.prompt.as_deref(), what.file.as_deref()),
    };
    let wanted_text = WantedText { name: "answer", about: "" };
    let given = source.is_given().then(|| session.prompt_text(&source, &wanted_text)).transpose()?;
    // An empty pipe is no answer.
    let given = given.filter(|text| !text.trim().is_empty());
    let context = ExecContext::open(session, &what.how)?.with_rounds(what.rounds);
    let context =
        context.of_thread(session, &thread, Keeps::All)?.asking(session, what.until_end && !what.detached);
    if what.until_end && !what.detached {
        context.find_agents_of(&thread, true)?;
    }
    let lock = if what.detached { Some(arrive(&context, &thread)?) } else { None };
    let text = match given {
        None if !what.detached => match answer(session, &context, &thread)? {
            Answer::None => None,
            Answer::Given(text) => Some(text),
            Answer::Later => return Ok(SUSPENDED),
        },
        given => given,
    };
    let limit = if what.until_end { what.max_steps } else { 1 };
    let verb = |verb| Continuation::new(verb).like(&context.options);
    let wanted = Wanted {
        go_on: verb("exec").until(what.until_end, limit),
        // What was paused is so no more, and goes on as any other.
        resume_with: (!is_idle(&context, &thread)?)
            .then(|| verb("resume").told(text.as_deref()).until(what.until_end, limit)),
        resume: Some(text),
        limit,
        until_end: what.until_end,
    };
    if what.background {
        let told = wanted.resume.as_ref().and_then(Option::as_deref);
        check_resumable(&context.engine(&session.stop), &thread, told)?;
        return background::launch(session, &context, &thread, &wanted);
    }
    if what.detached {
        session.ui.remarks = true;
    }
    let lock = match lock {
        Some(lock) => lock,
        None => hold(&context.engine(&session.stop), &thread)?,
    };
    let made = making::make(session, &context, &lock, &wanted);
    told(session, &context, made, &wanted)
}

/// What a thread is to be told that was not typed.
enum Answer {
    /// It asks nothing.
    None,
    /// A person has said it.
    Given(String),
    /// A person says it another time.
    Later,
}

/// Asks the person before the terminal what the thread asks; where there is nobody, it is said what to type.
fn answer(session: &mut Session<'_>, context: &ExecContext, thread: &ThreadId) -> Result<Answer, CliError> {
    let (role, message) = match standing(context, thread)? {
        Status::Suspended { role, message } if !message.trim().is_empty() => (role, message),
        _ => return Ok(Answer::None),
    };
    let command = format!("uwf thread resume {thread} -p TEXT");
    if !session.has_person() {
        return Err(CliError::Said {
            error: format!("thread {thread} waits for an answer: {role} asks: {message}").into(),
            hint: Some(format!("answer with: {command}")),
            exit: SUSPENDED,
        });
    }
    Ok(match question::ask(session, &role, &message)? {
        Some(text) => Answer::Given(text),
        None => {
            session.ui.note(&format!("the thread stays suspended; answer with: {command}"));
            Answer::Later
        }
    })
}

pub(super) fn poke(session: &mut Session<'_>, what: &Poke) -> Result<u8, CliError> {
    let thread = session.thread_id(&what.thread)?;
    let source = PromptSource::of(what.prompt.as_deref(), what.file.as_deref());
    let wanted_text =
        WantedText { name: "text for the role", about: "The text above this line is what the role is told." };
    let text = session.prompt_text(&source, &wanted_text)?;
    let context = ExecContext::open(session, &what.how)?.of_thread(session, &thread, Keeps::AllButAgent)?;
    let mut go_on = Continuation::new("poke").like(&context.options).told(Some(&text));
    // It is not kept with the thread.
    if let Some(agent) = &what.how.flags.agent {
        go_on = go_on.option("--agent", agent);
    }
    let lock = hold(&context.engine(&session.stop), &thread)?;
    let report = context
        .run(session, |engine, options, observer| poke_once(engine, &lock, &text, options, observer))
        .map_err(|error| unmade(error, (&session.ui, &context), (&thread, &go_on)))?;
    print_step(&mut session.ui, &report)?;
    finish(session, &context, (&[report], false), None)
}

/// Says how far it went, where that is not to the end, and prints what was done.
fn told(
    session: &mut Session<'_>,
    context: &ExecContext,
    made: Made,
    wanted: &Wanted,
) -> Result<u8, CliError> {
    made.tell_limit(session, wanted);
    finish(session, context, (&made.reports, wanted.is_many()), made.error)
}

/// Prints what was done, then fails if something did.
pub(super) fn finish(
    session: &mut Session<'_>,
    context: &ExecContext,
    (reports, many): (&[StepReport], bool),
    error: Option<CliError>,
) -> Result<u8, CliError> {
    if session.ui.format != Format::Text {
        let views: Vec<ThreadView> = reports.iter().map(ThreadView::after).collect();
        match views.as_slice() {
            [one] if !many => session.ui.result(one, String::new)?,
            [] if !many => OK,
            all => session.ui.result(all, String::new)?,
        };
    }
    if let Some(error) = error {
        return Err(error);
    }
    Ok(exit(context, reports))
}

/// The exit status that says what came of the steps.
fn exit(context: &ExecContext, reports: &[StepReport]) -> u8 {
    match reports.last() {
        _ if context.tells_no_outcome() => OK,
        Some(StepReport { failure: Some(_), .. }) => FAILED_STEP,
        Some(StepReport { status: Status::Suspended { .. }, .. } | StepReport { paused: Some(_), .. }) => {
            SUSPENDED
        }
        _ => OK,
    }
}

/// The error of a step that was not made, without what people have read by now, and with the command that goes on where a
/// signal has cut it off.
pub(super) fn unmade(
    mut error: ExecError,
    (ui, context): (&Ui<'_>, &ExecContext),
    (thread, go_on): (&ThreadId, &Continuation),
) -> CliError {
    // Who has told of an error has said what to do about it.
    let is_told = error.of_agent().is_some() || context.was_told(&error);
    if let ExecError::NoReply { stderr, .. } = &mut error {
        leave_unread(stderr, ui);
    }
    let hint = match &error {
        ExecError::Stopped { .. } => {
            Some(format!("nothing is lost; continue with: {}", go_on.command(thread)))
        }
        ExecError::Spawn(SpawnError::Deadline { .. }) => {
            let command = go_on.command(thread);
            Some(format!("continue with: {command}; a longer --timeout gives it more time"))
        }
        ExecError::NoReply { .. } if !is_told && error.hint().is_none() => {
            Some(format!("try again with: {}", go_on.command(thread)))
        }
        _ => None,
    };
    hint.into_iter().fold(error.into(), CliError::with_hint)
}

/// Leaves of an agent's last words what was not passed on already.
pub(super) fn leave_unread(last_words: &mut String, ui: &Ui<'_>) {
    match (ui.is_quiet(), ui.remarks) {
        (true, _) => {}
        (false, true) => last_words.clear(),
        (false, false) => *last_words = chatter(last_words),
    }
}
