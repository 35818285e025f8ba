//! `uwf step ask`: a question to the agent of a step.

use crate::shell::prompt_text::{PromptSource, WantedText};
use crate::shell::{CliError, Session};
use crate::uwf::args::Ask;
use crate::uwf::exec::{ExecContext, Keeps, leave_unread};
use uwf_engine::ask::{self, AskError, Question};
use uwf_engine::thread;
use uwf_engine::view::StepAnswer;

#[expect(clippy::result_large_err, reason = "the engine's error is large, and there is one of it at most")]
pub(super) fn ask(session: &mut Session<'_>, what: &Ask) -> Result<u8, CliError> {
    let Ask { step, prompt, file, no_fork, fresh, how } = what;
    let named = session.step_argument(step)?;
    let source = PromptSource::of(prompt.as_deref(), file.as_deref());
    let wanted = WantedText { name: "question", about: "The text above this line is the question." };
    let text = &session.prompt_text(&source, &wanted)?;
    let question = Question { step: named.find(&session.store()?)?, text, no_fork: *no_fork, fresh: *fresh };
    let context = ExecContext::open(session, how)?;
    let context = match named.thread() {
        Some(thread) => context.of_thread(session, &thread, Keeps::Nothing)?,
        None => {
            context.over(session, |store| thread::options_of_node(store, &question.step), Keeps::Nothing)?
        }
    };
    let answer =
        context.run(session, |engine, options, observer| ask::ask(engine, &question, options, observer));
    let answer = answer.map_err(|mut error| {
        if let AskError::Refused { stderr, .. } = &mut error {
            leave_unread(stderr, &session.ui);
        }
        error
    })?;
    let view = StepAnswer::of(question.step, answer);
    session.ui.document(&view, &format!("{}\n", view.answer))
}
