//! `uwf run`: a thread from its task to its end in one command, with the last answer alone on stdout.

use super::making::{self, Made, Wanted};
use super::{Continuation, ExecContext, Keeps, background, exit};
use crate::shell::prompt_text::{PromptSource, WantedText};
use crate::shell::{CliError, Format, Session, render};
use crate::uwf::args::{How, Run};
use crate::uwf::begin::{Begun, begin};
use uwf_engine::exec::hold;
use uwf_engine::thread::{self, ThreadId};
use uwf_engine::view::{RunView, ThreadView};
use uwf_engine::workflow::Workflow;
use uwf_workflow::yaml;

pub(in crate::uwf) fn run(session: &mut Session<'_>, what: &Run) -> Result<u8, CliError> {
    print_text_unless_asked(session, what.json);
    let source = PromptSource::of(what.start.prompt.as_deref(), what.start.file.as_deref());
    let prompt = session.prompt_text(&source, &WantedText::task())?;
    let how = How { cwd: None, flags: what.flags.clone() };
    let mut context =
        ExecContext::open(session, &how)?.with_rounds(what.rounds).asking(session, !what.background);
    context.typed.check()?;
    context.telling.on_stderr = true;
    let found = |workflow: &Workflow, cwd: &str| context.find_agents(workflow, cwd);
    let Begun { thread, name, .. } = begin(session, &what.start, &prompt, found)?;
    let context = context.of_thread(session, &thread, Keeps::All)?;
    thread::keep_options(&context.store, &thread, &context.options.chosen)?;
    let wanted = Wanted {
        resume: None,
        limit: what.max_steps,
        until_end: true,
        go_on: Continuation::new("exec").like(&context.options).until(true, what.max_steps),
        resume_with: None,
    };
    if what.background {
        return background::launch(session, &context, &thread, &wanted);
    }
    session.ui.note(&format!("thread {thread} of {name}"));
    let lock = hold(&context.engine(&session.stop), &thread)?;
    let made = making::make(session, &context, &lock, &wanted);
    drop(lock);
    made.tell_limit(session, &wanted);
    finish(session, &context, &thread, made)
}

/// What a person or a script wants of a run is its answer, also where stdout is no terminal.
fn print_text_unless_asked(session: &mut Session<'_>, json: bool) {
    if json {
        session.ui.format = Format::Json;
    } else if !session.ui.explicit_format {
        session.ui.format = Format::Text;
    }
    // The answer is alone on stdout: what happens meanwhile can be read on stderr by anybody.
    session.ui.remarks |= session.ui.format == Format::Text && !session.ui.is_quiet();
}

fn finish(
    session: &mut Session<'_>,
    context: &ExecContext,
    thread: &ThreadId,
    made: Made,
) -> Result<u8, CliError> {
    let view = match made.reports.last() {
        Some(last) => ThreadView::after(last),
        None => ThreadView::of(&context.store, &context.homes.uwf, thread, context.judge())?,
    };
    let view = RunView::of(&context.store, view, &made.reports)?;
    session.ui.result(&view, || answer(&view))?;
    if let Some(error) = made.error {
        return Err(error);
    }
    if let Some(error) =
        view.error.as_ref().filter(|_| session.ui.format == Format::Text && !session.ui.remarks)
    {
        // Nobody was told of the step.
        session.ui.error(&CliError::user(format!("a step failed: {}", error.message))).ok();
    }
    session.ui.note(&summary(&view));
    Ok(exit(context, &made.reports))
}

/// The last answer, where the thread has come to its end.
fn answer(view: &RunView) -> String {
    match (view.status, view.answer(), &view.output) {
        ("end", Some(text), _) => format!("{}\n", text.trim_end()),
        ("end", None, Some(output)) => yaml::write(output),
        _ => String::new(),
    }
}

/// What was done, in a line.
fn summary(view: &RunView) -> String {
    let count = view.steps.len();
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let usage = view.usage.as_ref().map(|usage| format!(", {}", render::usage(usage))).unwrap_or_default();
    let cost = view.cost.filter(|cost| *cost > 0.0).map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    format!("{steps}{usage}{cost}; what happened: uwf thread read {}", view.thread)
}
