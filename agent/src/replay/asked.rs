//! The questions that were put to a step, played again: the conversation of the record is opened once more, and the request
//! must be the one that was sent.

use std::path::Path;

use uwf_engine::record::Detail;
use uwf_engine::thread;
use uwf_store::{Hash, Store};

use super::{ReplayError, Replayed, provider, replayed};
use crate::ask::{self, RecordedQuestion, StepQuestion};
use crate::journal::{self, Entry, Journal, SharedRecording};
use crate::react::Notice;
use crate::role_run::{RunContext, RunError};
use crate::settings::Settings;

/// A question that was put to a step, and answered.
pub struct AskedQuestion {
    step: Hash,
    detail: Hash,
    record: Detail,
    question: RecordedQuestion,
}

/// The questions that were put to forks of the step's session and are remembered below `home`, the oldest of each fork first.
///
/// # Errors
/// There is no such step, or its record or the directory of the questions cannot be read.
pub fn questions(store: &Store, home: &Path, step: &Hash) -> Result<Vec<AskedQuestion>, ReplayError> {
    let detail = thread::step_node(store, step)?.detail;
    let record = Detail::read(store, &detail)?;
    let questions = ask::questions(home, record.session_id.as_deref())?.into_iter();
    let asked = |question| AskedQuestion { step: *step, detail, record: record.clone(), question };
    Ok(questions.map(asked).collect())
}

impl AskedQuestion {
    /// In words.
    pub fn text(&self) -> &str {
        match self.question.entries.first() {
            Some(Entry::Run { prompt, .. }) => prompt,
            _ => "",
        }
    }

    /// Puts it again. The store, the workers and the clock of `run` count; its settings do not.
    ///
    /// # Errors
    /// See [`ReplayError`]. A difference is none.
    pub async fn replay(
        &self,
        run: &RunContext<'_>,
        on_notice: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Replayed, ReplayError> {
        let RecordedQuestion { name, entries, earlier } = &self.question;
        let none = |why: &str| ReplayError::NoRecord { step: self.step, why: why.to_owned() };
        let settings = match entries.first() {
            Some(Entry::Run { settings, version: journal::VERSION, .. }) => settings,
            _ => return Err(none("the question was put by an earlier version")),
        };
        let settings = ask::settings(&Settings::on_record(settings, run.home)?, run.store, &self.detail)?;
        let run = &RunContext { settings: &settings, env: run.env.clone(), claim: None, ..*run };
        let recording = SharedRecording::new(entries.clone(), false);
        let context = ask::provider_context(&self.record, (earlier.len(), self.text()), None);
        let script = self.record.settings().provider.script().unwrap_or_default().to_owned();
        let mut provider = provider(&settings, context, (&recording, &script)).map_err(RunError::from)?;
        let before = ask::before(run.store, (&self.detail, &self.record), earlier.clone())?;
        let mut journal = Journal::replayed(name.clone(), recording.clone(), Vec::new());
        let question = StepQuestion { session: None, text: self.text().to_owned(), detail: self.detail };
        // Where it is another one, the recording keeps that.
        journal.append(ask::first_entry(&question, run, name.session, None)).ok();
        let answered = ask::answer(self.text(), (before, journal), run, provider.as_mut(), on_notice).await;
        match recording.difference() {
            Some(difference) => Ok(replayed(&recording, Some(difference.into()))),
            None => {
                answered.map(|_| replayed(&recording, recording.left().map(Into::into))).map_err(Into::into)
            }
        }
    }
}
