//! Resuming: the journal of an interrupted run is found and taken over. What the run had come to is its `RunState`.
//!
//! Apart from the loop, which knows nothing of interruptions but that a turn may be there already. The rule: what was
//! answered is not asked again; a call that finished is not run again; one that had started and not finished is
//! answered with [`INTERRUPTED`], since nobody knows what it did; one that had not started runs now. Finding takes a torn
//! last line off and changes nothing else; `ResumedRun::resume` writes the first new lines.

use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::Value;
use uwf_engine::AdapterOutput;
use uwf_prompts::INTERRUPTED;
use uwf_store::{Clock, Store, StoreError};
use uwf_tools::sandbox::Enforced;

use crate::journal::{
    Entry, FindError, Journal, Journals, PassedOver, Surroundings, ToolFacts, Unreadable, WantedRun,
    has_failed, stretches,
};
use crate::provider::message::{Message, ToolCall, ToolDeclaration};
use crate::run_state::RunState;

/// A run that another process began.
#[derive(Debug)]
pub struct ResumedRun {
    /// Its journal, locked.
    pub(crate) journal: Journal,
    /// What it had come to, under whatever settings.
    pub(crate) state: RunState,
}

/// Finds the run, unless it ended with an error: then the next one is a new attempt.
///
/// # Errors
/// See [`FindError`].
pub fn find(
    journals: &Journals,
    wanted: &WantedRun<'_>,
    tell: &mut dyn FnMut(PassedOver),
) -> Result<Option<ResumedRun>, FindError> {
    let Some(journal) = journals.find(wanted, tell)? else { return Ok(None) };
    match RunState::default().after(journal.entries()) {
        Ok(state) => Ok((!has_failed(journal.entries())).then_some(ResumedRun { journal, state })),
        Err((index, why)) => {
            let why = Unreadable::Order { line: index + 1, why };
            tell(PassedOver { path: journal.path().to_owned(), why: why.into() });
            Ok(None)
        }
    }
}

/// Makes sure that nobody has begun the run since it was looked for, nor will as long as the file lives that is returned:
/// until then a new journal must tell whose it is.
///
/// # Errors
/// [`FindError::Busy`] or [`FindError::JustBegun`] where another process was faster, [`FindError::Io`] where the journals
/// cannot be read or locked.
pub(crate) fn claim(dir: &Path, wanted: &WantedRun<'_>) -> Result<File, FindError> {
    let failed = |source| FindError::Io { path: dir.to_owned(), source };
    let lock = Journals::lock(dir).map_err(failed)?;
    let journals = Journals::list(dir)?.without_waiting();
    let Some(begun) = find(&journals, wanted, &mut |_| ())? else { return Ok(lock) };
    let (role, path) = (begun.header().role.to_owned(), begun.journal.path().to_owned());
    Err(FindError::JustBegun { role, thread: wanted.thread, path })
}

/// What the first line says of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunHeader<'a> {
    /// The role.
    pub role: &'a str,
    /// The edge prompt.
    pub prompt: &'a str,
    /// Whether it moves the head itself.
    pub stand_alone: bool,
    /// The directory it works in.
    pub workspace: &'a str,
    /// The tools as declared to the model.
    pub(crate) tools: &'a [ToolDeclaration],
}

impl ResumedRun {
    /// How the run began.
    pub fn header(&self) -> RunHeader<'_> {
        let Some(Entry::Run { role, prompt, stand_alone, workspace, tools, .. }) =
            self.journal.entries().first()
        else {
            unreachable!("a journal was found by this line")
        };
        RunHeader { role, prompt, stand_alone: *stand_alone, workspace, tools }
    }

    /// What was set for it when it stopped.
    pub fn settings(&self) -> &Value {
        stretches(self.journal.entries()).last().map_or(&Value::Null, |last| last.settings)
    }

    /// The calls that were under way when it stopped.
    pub(crate) fn cut_off(&self) -> impl Iterator<Item = &ToolCall> {
        let calls = self.journal.entries().iter().flat_map(|entry| match entry {
            Entry::Answered { message, .. } => message.tool_calls.as_slice(),
            _ => &[],
        });
        calls.filter(|call| self.state.started.contains(&call.id))
    }

    /// The reply that was given, if everything that it names is still in the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn reply(&self, store: &Store) -> Result<Option<AdapterOutput>, StoreError> {
        let Some(reply) = self.journal.reply() else { return Ok(None) };
        if !store.has(&reply.step_hash) {
            return Ok(None);
        }
        let walk = store.walk(&reply.step_hash)?;
        Ok((walk.missing.is_empty() && walk.corrupt.is_empty()).then_some(reply))
    }

    /// Takes the run over, of which `state` is what it had come to: says so in the journal, and answers what was cut
    /// off. A run of which the end was decided is only to be recorded: nothing is added to it.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn resume(
        self,
        state: &mut RunState,
        (settings, sandbox, surroundings): (Value, &Enforced, Surroundings),
        clock: Clock,
    ) -> io::Result<Journal> {
        let mut journal = self.journal;
        let mut append = |entry| state.apply(journal.append(entry)?).map_err(io::Error::other);
        if self.state.ended.is_none() {
            append(Entry::Continued { at: clock(), settings, sandbox: sandbox.clone(), surroundings })?;
        }
        for call in self.state.started {
            let message = Message::result(&call, INTERRUPTED);
            let facts = ToolFacts { is_error: true, cancelled: true, ..ToolFacts::default() };
            append(Entry::Finished { message, at: clock(), duration_ms: 0, facts })?;
        }
        Ok(journal)
    }
}
