//! `uwf step ask`: a question to the agent of a step.

use crate::shell::{CliError, Session, Ui};
use crate::uwf::args::Ask;
use crate::uwf::exec::{ExecContext, unheard};
use crate::uwf::hash;
use uwf_engine::ask::{self, AskError, Question};
use uwf_engine::view::StepAnswer;

#[expect(clippy::result_large_err, reason = "the engine's error is large, and there is one of it at most")]
pub(super) fn ask(session: &mut Session<'_>, what: &Ask) -> Result<u8, CliError> {
    let Ask { step, prompt, no_fork, fresh, how } = what;
    let question = Question { step: hash(step)?, text: prompt, no_fork: *no_fork, fresh: *fresh };
    let context = ExecContext::open(session, how)?;
    let answer =
        context.run(session, |engine, options, observer| ask::ask(engine, &question, options, observer));
    let answer = answer.map_err(|error| unsaid(error, &session.ui))?;
    let view = StepAnswer::of(question.step, answer);
    session.ui.document(&view, &format!("{}\n", view.answer))
}

/// The error without what was passed on already of the agent's last words.
fn unsaid(error: AskError, ui: &Ui<'_>) -> AskError {
    match error {
        AskError::Refused { agent, remembered, exit, stderr } => {
            AskError::Refused { agent, remembered, exit, stderr: unheard(stderr, ui) }
        }
        other => other,
    }
}
