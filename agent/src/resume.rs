//! From the journal of an interrupted run to where it stood: what was said, what was spent, what is still to be done.
//!
//! Apart from the loop, which knows nothing of interruptions but that a turn may be there already. The rule: what was
//! answered is not asked again; a call that finished is not run again; one that had started and not finished is
//! answered with [`INTERRUPTED`], since nobody knows what it did; one that had not started runs now. Finding changes
//! nothing; [`Earlier::go_on`] writes the first new lines.

use std::io;
use std::time::Duration;

use serde_json::Value;
use uwf_engine::{AdapterOutput, Clock, Store, StoreError};
use uwf_prompts::INTERRUPTED;
use uwf_tools::sandbox::Enforced;
use uwf_tools::{Seen, Toolbox};

use crate::budget::Spent;
use crate::conversation::Conversation;
use crate::journal::{
    Entry, FindError, Journal, Journals, PassedOver, ToolFacts, Unreadable, Wanted, stretches,
};
use crate::provider::message::{Kind, Message, Speaker, ToolChoice, ToolDeclaration};
use crate::react::{Heard, Stand};
use crate::record::Failure;

/// A run that another process began.
#[derive(Debug)]
pub(crate) struct Earlier {
    /// Its journal, locked.
    pub journal: Journal,
    /// Where it stood.
    pub stood: Stood,
}

/// Where a run stood when its journal ends.
#[derive(Debug, Default)]
pub(crate) struct Stood {
    /// What was said.
    pub conversation: Conversation,
    /// Where the loop stood.
    pub stand: Stand,
    /// What was spent; time is what its processes worked, without the pauses between them.
    pub spent: Spent,
    /// What was spent each time that a turn was granted.
    pub granted: Vec<Spent>,
    /// What was seen of files, oldest first.
    pub seen: Vec<Seen>,
    /// How it ended and when, if that was decided; no failure is an answer.
    pub ended: Option<(Option<Failure>, u64)>,
    /// Calls that had started and not finished.
    pub started: Vec<String>,
}

/// Finds the run, unless it ended with an error: then the next one is a new attempt.
///
/// # Errors
/// See [`FindError`].
pub(crate) fn find(
    journals: &Journals,
    wanted: &Wanted<'_>,
    tell: &mut dyn FnMut(PassedOver),
) -> Result<Option<Earlier>, FindError> {
    let Some(journal) = journals.find(wanted, tell)? else { return Ok(None) };
    match replay(journal.entries()) {
        Ok(stood) => Ok(Some(Earlier { journal, stood }).filter(|earlier| !earlier.has_failed())),
        Err(why) => {
            tell(PassedOver { path: journal.path().to_owned(), why });
            Ok(None)
        }
    }
}

/// What the first line says of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun<'a> {
    /// The role.
    pub role: &'a str,
    /// The edge prompt.
    pub prompt: &'a str,
    /// Whether it moves the head itself.
    pub stand_alone: bool,
    /// The directory it works in.
    pub workspace: &'a str,
    /// The tools as declared to the model.
    pub tools: &'a [ToolDeclaration],
}

impl Earlier {
    /// How the run began.
    pub(crate) fn begun(&self) -> Begun<'_> {
        let Some(Entry::Run { role, prompt, stand_alone, workspace, tools, .. }) =
            self.journal.entries().first()
        else {
            unreachable!("a journal was found by this line")
        };
        Begun { role, prompt, stand_alone: *stand_alone, workspace, tools }
    }

    /// What was set for it when it stopped.
    pub(crate) fn settings(&self) -> &Value {
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
            journal.append(Entry::Finished { message: message.clone(), at, duration_ms: 0, facts })?;
            stood.conversation.push(message);
        }
        stood.seen.iter().for_each(|seen| toolbox.remember(seen));
        Ok((journal, stood))
    }

    fn has_failed(&self) -> bool {
        self.journal.reply().is_some_and(|reply| reply.is_error)
    }
}

/// Goes through the entries as the loop did.
fn replay(entries: &[Entry]) -> Result<Stood, Unreadable> {
    let mut replay = Replay::default();
    for (index, entry) in entries.iter().enumerate() {
        replay.take(entry).map_err(|what| Unreadable::Order(format!("line {}: {what}", index + 1)))?;
    }
    let (worked, called) = (replay.worked(replay.last), replay.called);
    let mut stood = replay.stood;
    stood.spent.time = worked;
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
    /// Time worked before the present process's part, in ms; where that part began, and its last entry.
    before: u64,
    from: u64,
    last: u64,
}

impl Replay {
    /// `Err` says what does not fit.
    fn take(&mut self, entry: &Entry) -> Result<(), &'static str> {
        match entry {
            Entry::Run { at, .. } | Entry::Continued { at, .. } => {
                self.before += self.last.saturating_sub(self.from);
                self.from = *at;
            }
            Entry::Said { message, at } => self.said(message, *at)?,
            Entry::Answered { message, at, duration_ms, usage, .. } => {
                self.settled()?;
                if self.stood.stand.admitted.take().is_none() {
                    self.grant(at.saturating_sub(*duration_ms));
                }
                self.stood.spent.count(*usage);
                self.called = !message.tool_calls.is_empty();
                self.stood.stand.heard = Some(Heard::of(message));
                self.stood.conversation.hear(message.clone());
            }
            Entry::Started { call_id, .. } => self.stood.started.push(call_id.clone()),
            Entry::Finished { message, facts, .. } => self.finished(message, facts)?,
            Entry::Ended { failure, at } => self.stood.ended = Some((failure.clone(), *at)),
            Entry::Replied { .. } => {}
        }
        self.last = entry.at();
        Ok(())
    }

    fn said(&mut self, message: &Message, at: u64) -> Result<(), &'static str> {
        self.settled()?;
        let stand = &mut self.stood.stand;
        match message.kind {
            Kind::Nudge => (stand.nudges, stand.heard) = (stand.nudges + 1, None),
            Kind::Correction => {
                (stand.nudges, stand.corrections, stand.heard) = (0, stand.corrections + 1, None);
            }
            Kind::Warning | Kind::Grace => {
                let choice = if message.kind == Kind::Grace { ToolChoice::None } else { ToolChoice::Auto };
                stand.admitted = Some(choice);
                self.grant(at);
            }
            _ => {}
        }
        if (message.role == Speaker::System) != self.stood.conversation.messages().is_empty() {
            return Err("the system message is not the first");
        }
        self.stood.conversation.push(message.clone());
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
        self.stood.conversation.push(message.clone());
        Ok(())
    }

    /// Everything that was asked for is answered.
    fn settled(&self) -> Result<(), &'static str> {
        let open = self.stood.stand.heard.as_ref().is_some_and(|heard| !heard.calls.is_empty());
        if open { Err("a call is left unanswered") } else { Ok(()) }
    }

    fn grant(&mut self, at: u64) {
        let time = self.worked(at);
        self.stood.granted.push(Spent { time, ..self.stood.spent });
    }

    fn worked(&self, at: u64) -> Duration {
        Duration::from_millis(self.before + at.saturating_sub(self.from))
    }
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;
