//! The loop: complete, run the tools that were asked for, complete again, until there is a text.
//!
//! Everything that is sent or received goes through `React::append_message`, `React::receive` and
//! `React::run_calls`, which journal it before it has effect; what follows from it is kept in the [`RunState`]. What a
//! text is worth as an answer is decided elsewhere (`frontmatter`), and so is what is kept of it (`record`).

mod close;
mod compaction;
mod notice;
mod replayed;
mod snapshot;
mod tool_calls;
mod wait;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;
use uwf_prompts::{DeadlineView, GraceView, NudgeView, PromptError, RepeatedView, missing};
use uwf_store::{Clock, StoreError};

pub use self::notice::{Notice, Progress, RunEnd};
use self::wait::{Listener, TurnLog};
use crate::blobs::BlobStore;
use crate::budget::{Ended, Spent, Use, Verdict};
use crate::classify::{self, TextClass};
use crate::conversation::BrokenInvariant;
use crate::dispatch::Dispatch;
use crate::failure::Failure;
use crate::frontmatter::ExtractError;
use crate::journal::{self, Entry, Journal, OutOfOrder};
use crate::loop_guard::{self, Repetition};
use crate::project::ProjectSettings;
use crate::provider::message::{
    Completion, Message, MessageKind, Request, Sampling, Speaker, ToolChoice, ToolDeclaration,
};
use crate::provider::{ChatProvider, ProviderError};
use crate::run_state::{AssistantTurn, RunState};
use crate::secrets::Secrets;
use crate::signals::{Signal, Signals};
use crate::snapshots::WorkspaceCapture;
use crate::workers::Workers;

/// How many nudges a run gives before a text that is no answer fails it.
const MAX_NUDGES: usize = 3;

/// Why there is no text.
#[derive(Debug, Error)]
pub enum Stopped {
    /// A limit ended the run, or that it went in circles.
    #[error("{0}")]
    Budget(Ended),
    /// The provider gave no completion.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The model went on saying nothing that could be an answer.
    #[error("after {MAX_NUDGES} reminders the model still gave no answer: {0}")]
    NoAnswer(&'static str),
    /// No text was a valid answer.
    #[error("no valid answer after {corrections} corrections: {error}; the last reply began: {:.500}", .text.trim())]
    Refused {
        /// How many corrections were given.
        corrections: usize,
        /// What was wrong with the last text.
        error: ExtractError,
        /// The last text.
        text: String,
    },
    /// A person or the system ended the run; the journal is kept.
    #[error("interrupted by {0}")]
    Interrupted(Signal),
    /// The journal could not be written: nothing that is not on disk may have an effect.
    #[error("the journal {path} cannot be written")]
    Journal {
        /// The file.
        path: String,
        /// The disk's reason.
        source: io::Error,
    },
    /// What is to be left out of the conversation could not be kept.
    #[error("what is left out of the conversation cannot be stored")]
    Keep(#[source] StoreError),
    /// A template did not render: a bug of ours.
    #[error("internal error")]
    Prompt(#[from] PromptError),
    /// The conversation was broken: a bug of ours, found before it was sent.
    #[error("internal error")]
    Invariant(#[from] BrokenInvariant),
    /// Something happened that cannot follow what was before: a bug of ours, found before it was written.
    #[error("internal error")]
    Order(#[from] OutOfOrder),
    /// A tool panicked: a bug of ours.
    #[error("internal error: a tool panicked: {0}")]
    Tool(String),
}

/// A run of the loop: what it works with, and how far it is.
pub(crate) struct React<'a> {
    /// Who completes.
    pub provider: &'a mut dyn ChatProvider,
    /// What the model may do.
    pub toolbox: Arc<Dispatch>,
    /// The same, as declared to it.
    pub tools: Vec<ToolDeclaration>,
    /// What happened, on disk.
    pub journal: Journal,
    /// What that comes to.
    pub state: RunState,
    /// Where results go that are left out of a long conversation.
    pub blobs: Arc<BlobStore>,
    /// The model's name.
    pub model: &'a str,
    /// How to sample.
    pub sampling: &'a Sampling,
    /// The role's schema, repeated in the grace turn.
    pub schema: &'a Value,
    /// What must not be in anything that a tool says.
    pub secrets: Secrets,
    /// Told of everything.
    pub on_notice: &'a mut dyn FnMut(Notice<'_>),
    /// Who does what blocks.
    pub workers: &'a Workers,
    /// Whether to stop.
    pub signals: Signals,
    /// ms since the epoch.
    pub clock: Clock,
    /// When the run started.
    pub started: Instant,
    /// How often the server may still be asked how large its window is.
    pub window_asks: u8,
    /// Where the project's own words are looked for.
    pub project: ProjectSettings,
    /// What is captured of the workspace; none where nothing is.
    pub workspace: Option<Arc<WorkspaceCapture>>,
}

impl React<'_> {
    /// Goes on until the model says something without asking for a tool.
    ///
    /// # Errors
    /// See [`Stopped`]. Whatever happened up to then is in the journal.
    pub(crate) async fn until_text(&mut self) -> Result<String, Stopped> {
        loop {
            let Some(AssistantTurn { calls, text, thought }) = self.next_turn().await? else { continue };
            if !calls.is_empty() {
                self.run_calls(&calls).await?;
                continue;
            }
            let missing = match TextClass::of(&text) {
                TextClass::Text(_) => return Ok(text),
                TextClass::Nothing if thought => missing::ONLY_REASONING,
                TextClass::Nothing => missing::EMPTY,
                TextClass::LeakedCall => missing::TOOL_CALL,
            };
            let attempt = self.state.nudges + 1;
            if attempt > MAX_NUDGES {
                return Err(Stopped::NoAnswer(missing));
            }
            let text = uwf_prompts::nudge(&NudgeView { missing, attempt, of: MAX_NUDGES })?;
            self.append_message(Message::text(Speaker::User, MessageKind::Nudge, text))?;
        }
    }

    /// The next turn of the model, or the one that an interruption left; none when its time was up.
    async fn next_turn(&mut self) -> Result<Option<AssistantTurn>, Stopped> {
        if let Some(turn) = self.state.turn.clone() {
            return Ok(Some(turn));
        }
        self.summarise_at_last().await?;
        let tool_choice = self.admit()?;
        self.ask_window().await?;
        self.make_room().await?;
        let turn = self.turn(MessageKind::Turn, tool_choice).await?;
        if turn.is_none() {
            self.write(Entry::Abandoned { at: (self.clock)() })?;
        }
        Ok(turn)
    }

    /// Our side says something: into the journal, then into the conversation.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub(crate) fn append_message(&mut self, message: Message) -> Result<(), Stopped> {
        self.write(Entry::Said { message, near: None, at: (self.clock)() })
    }

    /// How the run ended is decided. A failure is durable before it is counted; when it was decided is returned.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub(crate) fn end(&mut self, failure: Option<&Failure>) -> Result<u64, Stopped> {
        let at = (self.clock)();
        self.write(Entry::Ended { failure: failure.cloned(), at })?;
        if failure.is_some() {
            self.sync()?;
        }
        Ok(at)
    }

    /// The run is over: the last line, durable before the reply is printed. Nobody is told before [`React::conclude`].
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub(crate) fn reply(&mut self, reply: Value) -> Result<(), Stopped> {
        let entry = Entry::Replied { reply, at: (self.clock)() };
        self.append(entry)?;
        self.sync()
    }

    /// Tells the end, once nothing can fail any more.
    ///
    /// # Errors
    /// [`Stopped::Order`].
    pub(crate) fn conclude(&mut self) -> Result<(), Stopped> {
        self.take_over()
    }

    /// Asks the budget, and tells the model what it must know before its next turn.
    fn admit(&mut self) -> Result<ToolChoice, Stopped> {
        if let Some(granted) = self.state.admitted {
            return Ok(granted);
        }
        if let Some(Repetition::Repeated { tool, times }) = self.state.loop_guard.repetition().cloned() {
            let view = RepeatedView { tool: &tool, times, ends_at: loop_guard::ENDED };
            self.append_message(Message::text(
                Speaker::User,
                MessageKind::Repeated,
                uwf_prompts::repeated(&view)?,
            ))?;
        }
        let spent = Spent { time: self.elapsed(), ..self.state.spent };
        match self.state.budget.next(spent) {
            Verdict::Go => Ok(ToolChoice::Auto),
            Verdict::Warn(near) => {
                let message = Message::text(Speaker::User, MessageKind::Warning, deadline(near)?);
                self.write(Entry::Said { message, near: Some(near), at: (self.clock)() })?;
                Ok(ToolChoice::Auto)
            }
            Verdict::Grace(ended) => {
                let budget = ended.to_string();
                let text = uwf_prompts::grace(&GraceView { budget: &budget, schema: self.schema })?;
                self.append_message(Message::text(Speaker::User, MessageKind::Grace, text))?;
                Ok(ToolChoice::None)
            }
            Verdict::Stop(ended) => Err(Stopped::Budget(ended)),
        }
    }

    /// One turn of the model; none when its time is up. A conversation that the endpoint finds too long is made shorter
    /// once.
    async fn turn(
        &mut self,
        kind: MessageKind,
        tool_choice: ToolChoice,
    ) -> Result<Option<AssistantTurn>, Stopped> {
        let too_long = match self.ask(kind, tool_choice).await {
            Err(Stopped::Provider(error @ ProviderError::ContextLength { .. })) => error,
            answer => return answer,
        };
        if self.shrink()? { self.ask(kind, tool_choice).await } else { Err(too_long.into()) }
    }

    /// Asks the model. The request is checked, and everything in it is on disk, before it is sent.
    async fn ask(
        &mut self,
        kind: MessageKind,
        tool_choice: ToolChoice,
    ) -> Result<Option<AssistantTurn>, Stopped> {
        self.state.conversation.check()?;
        self.write(Entry::Asked { at: (self.clock)() })?;
        self.sync()?;
        let (messages, tools) = (self.state.conversation.messages(), self.tools.as_slice());
        let request = Request { messages, tools, tool_choice, model: self.model, sampling: self.sampling };
        let asked = Instant::now();
        let time_left = self.time_for_turn();
        let listener = Listener {
            log: TurnLog { on_notice: &mut *self.on_notice, journal: &mut self.journal, state: &self.state },
            signals: &mut self.signals,
            secrets: &self.secrets,
            time_left,
            clock: self.clock,
        };
        let before = listener.log.journal.entries().len();
        let completed = listener.complete(self.provider, request).await;
        self.catch_up(before)?;
        self.learn()?;
        let mut completion = match completed {
            Ok(Some(completion)) => completion,
            Ok(None) => return Ok(None),
            Err(Stopped::Interrupted(signal)) => return Err(self.interrupted(signal).await),
            Err(stopped) => return Err(stopped),
        };
        if tool_choice == ToolChoice::None && !completion.tool_calls.is_empty() {
            // They are not run, so they cannot go back either.
            completion.tool_calls.clear();
            completion.native = None;
        }
        self.look_for_cut(completion.usage)?;
        self.receive(kind, completion, asked.elapsed()).map(Some)
    }

    /// What the endpoint's refusals have taught is kept, so that nobody pays for it again.
    fn learn(&mut self) -> Result<(), Stopped> {
        let learnt = self.provider.learnt();
        match learnt.filter(|learnt| journal::learnt(self.journal.entries()) != Some(learnt)) {
            Some(learnt) => self.write(Entry::Learnt { learnt, at: (self.clock)() }),
            None => Ok(()),
        }
    }

    /// A completion by somebody else than the run's own provider.
    ///
    /// # Errors
    /// See [`Stopped`].
    pub(crate) async fn complete(
        &mut self,
        provider: &mut dyn ChatProvider,
        request: Request<'_>,
    ) -> Result<Option<Completion>, Stopped> {
        let time_left = self.time_for_turn();
        let listener = Listener {
            log: TurnLog { on_notice: &mut *self.on_notice, journal: &mut self.journal, state: &self.state },
            signals: &mut self.signals,
            secrets: &self.secrets,
            time_left,
            clock: self.clock,
        };
        let before = listener.log.journal.entries().len();
        let completed = listener.complete(provider, request).await;
        self.catch_up(before)?;
        completed
    }

    /// Takes over into the state what was written and told while a completion was under way.
    fn catch_up(&mut self, from: usize) -> Result<(), Stopped> {
        for entry in &self.journal.entries()[from..] {
            self.state.apply(entry)?;
        }
        Ok(())
    }

    /// The model has spoken: into the journal, then into the conversation.
    pub(crate) fn receive(
        &mut self,
        kind: MessageKind,
        completion: Completion,
        took: Duration,
    ) -> Result<AssistantTurn, Stopped> {
        let Completion { content, reasoning, tool_calls, finish_reason, usage, native, raw } = completion;
        let (thought, text) = classify::split_thought(&content);
        let reasoning = reasoning.or(thought.map(str::to_owned));
        let message =
            Message { tool_calls, reasoning, native, ..Message::text(Speaker::Assistant, kind, text) };
        let turn = AssistantTurn::of(&message);
        let (at, duration_ms) = ((self.clock)(), millis(took));
        self.write(Entry::Answered { message, at, duration_ms, usage, finish_reason, raw })?;
        Ok(turn)
    }

    /// Into the journal, then what follows from it into the state; then whoever listens is told. An entry that cannot be
    /// written ends the run.
    pub(crate) fn write(&mut self, entry: Entry) -> Result<(), Stopped> {
        self.append(entry)?;
        self.take_over()
    }

    /// Into the journal, if it can come next.
    fn append(&mut self, entry: Entry) -> Result<(), Stopped> {
        self.state.check(&entry)?;
        let written = self.journal.append(entry).map(drop);
        written.map_err(|source| journal_failed(&self.journal, source))
    }

    /// Takes the last entry over into the state, and tells it.
    fn take_over(&mut self) -> Result<(), Stopped> {
        let entry = self.journal.entries().last().expect("one was just written");
        self.state.apply(entry)?;
        (self.on_notice)(Notice::Entry(entry, &self.state));
        Ok(())
    }

    /// Makes what was written and done durable; what comes next waits for more.
    fn sync_here(&self) -> Result<(), Stopped> {
        let synced = self.journal.sync_here();
        synced.map_err(|source| journal_failed(&self.journal, source))
    }

    /// Makes what was written durable, so that it may be done.
    pub(crate) fn sync(&mut self) -> Result<(), Stopped> {
        let synced = self.journal.sync();
        synced.map_err(|source| journal_failed(&self.journal, source))
    }
}

fn journal_failed(journal: &Journal, source: io::Error) -> Stopped {
    Stopped::Journal { path: journal.path().display().to_string(), source }
}

/// How much of a limit is left, in words.
fn deadline(near: Use) -> Result<String, PromptError> {
    let (used, left) = (near.amount(near.used), near.amount(near.total.saturating_sub(near.used)));
    let last = near.percent() >= 95;
    uwf_prompts::deadline(&DeadlineView { used: &used, total: &near.whole(), left: &left, last })
}

/// As journals and events tell durations.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "react_tests.rs"]
pub(crate) mod tests;
