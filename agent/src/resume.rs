//! From the journal of an interrupted run to where it stood: what was said, what was spent, what is still to be done.
//!
//! Apart from the loop, which knows nothing of interruptions but that a turn may be there already. The rule: what was
//! answered is not asked again; a call that finished is not run again; one that had started and not finished is
//! answered with [`INTERRUPTED`], since nobody knows what it did; one that had not started runs now. Finding changes
//! nothing; [`Earlier::go_on`] writes the first new lines.

use std::io;

use serde_json::Value;
use uwf_engine::AdapterOutput;
use uwf_prompts::INTERRUPTED;
use uwf_store::{Clock, Store, StoreError};
use uwf_tools::sandbox::Enforced;
use uwf_tools::{ReadState, Toolbox};

use crate::journal::{
    Entry, FindError, Journal, Journals, PassedOver, ToolFacts, Unreadable, Wanted, has_failed, stretches,
};
use crate::provider::message::{Kind, Message, Speaker, ToolChoice, ToolDeclaration};
use crate::react::{Heard, Stand};
use crate::record::Failure;

/// A run that another process began.
#[derive(Debug)]
pub struct Earlier {
    /// Its journal, locked.
    pub(crate) journal: Journal,
    /// Where it stood.
    pub(crate) stood: Stood,
}

/// Where a run stood when its journal ends.
#[derive(Debug, Default)]
pub(crate) struct Stood {
    /// Where the loop stood; how far it had come is the [`Course`](crate::course::Course)'s to tell.
    pub stand: Stand,
    /// Completions so far.
    pub turns: u64,
    /// What was seen of files, oldest first.
    pub seen: Vec<ReadState>,
    /// How it ended and when, if that was decided; no failure is an answer.
    pub ended: Option<(Option<Failure>, u64)>,
    /// Calls that had started and not finished.
    pub started: Vec<String>,
}

/// Finds the run, unless it ended with an error: then the next one is a new attempt.
///
/// # Errors
/// See [`FindError`].
pub fn find(
    journals: &Journals,
    wanted: &Wanted<'_>,
    tell: &mut dyn FnMut(PassedOver),
) -> Result<Option<Earlier>, FindError> {
    let Some(journal) = journals.find(wanted, tell)? else { return Ok(None) };
    match replay(journal.entries()) {
        Ok(stood) => Ok((!has_failed(journal.entries())).then_some(Earlier { journal, stood })),
        Err(why) => {
            tell(PassedOver { path: journal.path().to_owned(), why: why.into() });
            Ok(None)
        }
    }
}

/// What the first line says of a run.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
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

impl Earlier {
    /// How the run began.
    pub fn begun(&self) -> Begun<'_> {
        let Some(Entry::Run { role, prompt, stand_alone, workspace, tools, .. }) =
            self.journal.entries().first()
        else {
            unreachable!("a journal was found by this line")
        };
        Begun { role, prompt, stand_alone: *stand_alone, workspace, tools }
    }

    /// What was set for it when it stopped.
    pub fn settings(&self) -> &Value {
        stretches(self.journal.entries()).last().map_or(&Value::Null, |last| last.settings)
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

    /// Takes the run over: says so in the journal, and answers what was cut off. A run of which the end was decided is
    /// only to be recorded: nothing is added to it.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn go_on(
        self,
        toolbox: &Toolbox,
        (settings, sandbox): (Value, &Enforced),
        clock: Clock,
    ) -> io::Result<(Journal, Stood)> {
        let Earlier { mut journal, mut stood } = self;
        if stood.ended.is_none() {
            journal.append(Entry::Continued { at: clock(), settings, sandbox: sandbox.clone() })?;
        }
        for call in std::mem::take(&mut stood.started) {
            let message = Message::result(&call, INTERRUPTED);
            let facts = ToolFacts { is_error: true, cancelled: true, ..ToolFacts::default() };
            let at = clock();
            journal.append(Entry::Finished { message, at, duration_ms: 0, facts })?;
        }
        stood.seen.iter().for_each(|seen| toolbox.remember(seen));
        Ok((journal, stood))
    }
}

/// Goes through the entries as the loop did.
fn replay(entries: &[Entry]) -> Result<Stood, Unreadable> {
    let mut replay = Replay::default();
    for (index, entry) in entries.iter().enumerate() {
        replay.take(entry).map_err(|what| Unreadable::Order(format!("line {}: {what}", index + 1)))?;
    }
    let (called, mut stood) = (replay.called, replay.stood);
    // What is left of the turn are the calls that had not even started.
    let started = &stood.started;
    if let Some(heard) = &mut stood.stand.heard {
        heard.calls.retain(|call| !started.contains(&call.id));
    }
    stood.stand.heard = stood.stand.heard.take().filter(|heard| !heard.calls.is_empty() || !called);
    Ok(stood)
}

/// The way through the entries.
#[derive(Default)]
struct Replay {
    stood: Stood,
    /// Whether the last turn of the model asked for tools.
    called: bool,
    /// Whether anything was said.
    begun: bool,
}

impl Replay {
    /// `Err` says what does not fit.
    fn take(&mut self, entry: &Entry) -> Result<(), &'static str> {
        match entry {
            Entry::Said { message, .. } => self.said(message)?,
            Entry::Answered { message, .. } => {
                self.settled()?;
                self.stood.turns += 1;
                // A summary and an extraction are no turns to act on.
                if message.kind == Kind::Turn {
                    self.stood.stand.admitted = None;
                    self.called = !message.tool_calls.is_empty();
                    self.stood.stand.heard = Some(Heard::of(message));
                }
            }
            Entry::Started { call_id, .. } => self.stood.started.push(call_id.clone()),
            Entry::Finished { message, facts, .. } => self.finished(message, facts)?,
            Entry::Ended { failure, at } => self.stood.ended = Some((failure.clone(), *at)),
            Entry::Run { .. }
            | Entry::Continued { .. }
            | Entry::Learnt { .. }
            | Entry::LeftOut { .. }
            | Entry::SummedUp { .. }
            | Entry::Replied { .. } => {}
        }
        Ok(())
    }

    fn said(&mut self, message: &Message) -> Result<(), &'static str> {
        self.settled()?;
        let stand = &mut self.stood.stand;
        match message.kind {
            Kind::Nudge | Kind::Correction => stand.heard = None,
            Kind::Warning => stand.admitted = Some(ToolChoice::Auto),
            Kind::Grace => stand.admitted = Some(ToolChoice::None),
            // It has a system message of its own.
            Kind::Extract => return Ok(()),
            _ => {}
        }
        let begun = std::mem::replace(&mut self.begun, true);
        if (message.role == Speaker::System) == begun {
            return Err("the system message is not the first");
        }
        Ok(())
    }

    fn finished(&mut self, message: &Message, facts: &ToolFacts) -> Result<(), &'static str> {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let heard = self.stood.stand.heard.as_mut();
        let calls = heard.map(|heard| &mut heard.calls).ok_or("a result without a call")?;
        let at = calls.iter().position(|call| call.id == id).ok_or("a result without a call")?;
        calls.remove(at);
        self.stood.started.retain(|started| started != id);
        self.stood.seen.extend(facts.seen.clone());
        Ok(())
    }

    /// Everything that was asked for is answered.
    fn settled(&self) -> Result<(), &'static str> {
        let open = self.stood.stand.heard.as_ref().is_some_and(|heard| !heard.calls.is_empty());
        if open { Err("a call is left unanswered") } else { Ok(()) }
    }
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;
