//! The steps that one command makes: from the first, or from an answer, to where it stops, with the questions in between
//! that a person at the terminal answers.

use super::continuation::Continuation;
use super::{ExecContext, question, unmade};
use crate::shell::{CliError, Session};
use uwf_engine::drive::{DriveError, Driven, Halt, drive, resume};
use uwf_engine::exec::StepReport;
use uwf_engine::lock::ThreadLock;
use uwf_engine::thread::Status;

/// What is to be made.
pub(super) struct Wanted {
    /// It begins by taking the thread up again, with this answer if there is one.
    pub(super) resume: Option<Option<String>>,
    /// Steps at most.
    pub(super) limit: u32,
    /// Whether it is to go to the end.
    pub(super) until_end: bool,
    /// What goes on with it when it is cut off.
    pub(super) go_on: Continuation,
    /// The same, where what was cut off is the step that takes the thread up again.
    pub(super) resume_with: Option<Continuation>,
}

impl Wanted {
    /// Whether there may be several steps.
    pub(super) fn is_many(&self) -> bool {
        self.until_end || self.limit > 1
    }
}

/// What was made.
#[derive(Default)]
pub(super) struct Made {
    pub(super) reports: Vec<StepReport>,
    pub(super) halt: Option<Halt>,
    pub(super) error: Option<CliError>,
}

impl Made {
    fn add(&mut self, Driven { steps, halt }: Driven) {
        self.reports.extend(steps);
        self.halt = Some(halt);
    }

    /// Says that the limit of steps was reached: to everybody, where the end was wanted.
    pub(super) fn tell_limit(&self, session: &mut Session<'_>, wanted: &Wanted) {
        let (Some(Halt::Limit), Some(last)) = (self.halt, self.reports.last()) else { return };
        let count = if wanted.limit == 1 { "1 step".to_owned() } else { format!("{} steps", wanted.limit) };
        if wanted.until_end {
            session.ui.warn(&format!("stopped after {count}, as --max-steps says; the thread has not ended"));
            session.ui.hint(&format!("go on with: {}", wanted.go_on.command(&last.thread)));
        } else if wanted.limit > 1 {
            session.ui.note(&format!("stopped after {count} as asked; the thread is still idle"));
        }
    }
}

/// Makes the steps.
pub(super) fn make(
    session: &mut Session<'_>,
    context: &ExecContext,
    lock: &ThreadLock,
    wanted: &Wanted,
) -> Made {
    let mut made = Made::default();
    let mut answer = wanted.resume.clone();
    let mut resume_with = wanted.resume_with.clone();
    loop {
        let done = u32::try_from(made.reports.len()).unwrap_or(u32::MAX);
        let left = wanted.limit.saturating_sub(done);
        let taken_up = answer.take();
        let (ran, unprinted) = context.watched(session, |engine, options, observer| match &taken_up {
            Some(text) => resume(engine, lock, (text.as_deref(), options), left, observer),
            None => drive(engine, lock, options, left, observer),
        });
        match ran {
            Ok(driven) => made.add(driven),
            Err(DriveError { steps, source }) => {
                let resumes = resume_with.filter(|_| taken_up.is_some() && steps.is_empty());
                let go_on = resumes.unwrap_or_else(|| wanted.go_on.clone());
                made.reports.extend(steps);
                made.error = Some(unmade(*source, (&session.ui, context), (lock.thread(), &go_on)));
                return made;
            }
        }
        made.error = unprinted;
        if made.error.is_some() || made.reports.len() >= usize::try_from(wanted.limit).unwrap_or(usize::MAX) {
            return made;
        }
        match asked(session, context, &made) {
            Ok(Some(text)) => {
                let told = Continuation::new("resume").told(Some(&text));
                resume_with = Some(told.like(&context.options).until(wanted.until_end, wanted.limit));
                answer = Some(Some(text));
            }
            Ok(None) => return made,
            Err(error) => {
                made.error = Some(error);
                return made;
            }
        }
    }
}

/// What a person says to what the last step asks; none where there is no question, nobody to ask, or no answer.
fn asked(session: &mut Session<'_>, context: &ExecContext, made: &Made) -> Result<Option<String>, CliError> {
    let Some(StepReport { failure: None, status: Status::Suspended { role, message }, thread, .. }) =
        made.reports.last()
    else {
        return Ok(None);
    };
    if !context.telling.asks_person {
        return Ok(None);
    }
    let answer = match session.stop.signal() {
        Some(_) => None,
        None => question::ask(session, role, message)?,
    };
    if answer.is_none() {
        session
            .ui
            .note(&format!("the thread stays suspended; answer with: uwf thread resume {thread} -p TEXT"));
    }
    Ok(answer)
}
