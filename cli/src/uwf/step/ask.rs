//! `uwf step ask`: a question to the agent of a step.

use crate::shell::{CliError, Session};
use crate::uwf::args::Ask;
use crate::uwf::exec::{ExecContext, leave_unread};
use uwf_engine::ask::{self, AskError, Question};
use uwf_engine::view::StepAnswer;

#[expect(clippy::result_large_err, reason = "the engine's error is large, and there is one of it at most")]
pub(super) fn ask(session: &mut Session<'_>, what: &Ask) -> Result<u8, CliError> {
    let Ask { step, prompt, no_fork, fresh, how } = what;
    let question = Question {
        step: session.step_argument(step)?.find(&session.store()?)?,
        text: prompt,
        no_fork: *no_fork,
        fresh: *fresh,
    };
    let context = ExecContext::open(session, how)?;
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
