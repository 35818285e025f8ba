//! The loop: complete, run the tools that were asked for, complete again, until there is a text.
//!
//! Everything that is said or heard goes through [`React::say`], [`React::hear`] and [`React::act`], which journal it
//! before it has effect. What a text is worth as an answer is decided elsewhere (`frontmatter`), and so is what is kept
//! of it (`record`).

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::task::JoinError;
use uwf_engine::{AdapterOutput, Clock};
use uwf_prompts::{DeadlineView, GraceView, INTERRUPTED, NudgeView, PromptError, missing};
use uwf_tools::{Cancel, ToolOutput, ToolSpec, Toolbox};

use crate::budget::{Budget, Spent, Use, Verdict};
use crate::conversation::{BrokenInvariant, Conversation};
use crate::frontmatter::ExtractError;
use crate::journal::{Entry, Journal};
use crate::provider::message::{
    Completion, Kind, Message, Request, Sampling, Speaker, ToolCall, ToolChoice, ToolDeclaration,
};
use crate::provider::{Progress, Provider, ProviderError};
use crate::reading::{self, Reading};
use crate::record::{self, Failure};
use crate::secrets::Secrets;
use crate::signals::{Signal, Signals};

/// How many nudges a run gives before a text that is no answer fails it.
const MAX_NUDGES: usize = 3;

/// How many calls run side by side at most.
const MAX_SIDE_BY_SIDE: usize = 8;

/// What happens, told to people as it happens.
#[derive(Clone, Debug)]
pub(crate) enum Event<'a> {
    /// Something arrives from the provider.
    Progress(Progress<'a>),
    /// A turn of the model is complete.
    Turn {
        /// Which, from 1.
        number: u64,
        /// How long it took.
        took: Duration,
        /// How many tools it asks for.
        calls: usize,
    },
    /// A tool has run.
    Tool {
        /// One line: what was done, on what.
        title: &'a str,
        /// Whether it could not be done, or a command ended with another exit code than 0.
        failed: bool,
        /// How long it took.
        took: Duration,
    },
    /// An interrupted run goes on.
    Continued {
        /// How many turns of the model are done.
        turns: u64,
    },
    /// No edge prompt was given and the moderator has none for this role: the thread's task serves.
    NoEdgePrompt,
    /// The model was told that it must do something else or soon.
    Said(Kind),
}

/// Why there is no text.
#[derive(Debug, Error)]
pub enum Stopped {
    /// A limit ended the run.
    #[error("the budget is used up: {0}")]
    Budget(Use),
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
    /// A template did not render: a bug of ours.
    #[error("internal error")]
    Prompt(#[from] PromptError),
    /// The conversation was broken: a bug of ours, found before it was sent.
    #[error("internal error")]
    Invariant(#[from] BrokenInvariant),
    /// A tool panicked: a bug of ours.
    #[error("internal error: a tool panicked: {0}")]
    Tool(String),
}

/// A turn of the model that is not acted on to the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    /// The calls that are to be run.
    pub calls: Vec<ToolCall>,
    /// What it said.
    pub text: String,
    /// Whether it thought aloud.
    pub thought: bool,
}

/// Where the loop stands between two messages; a new run stands at its default.
#[derive(Debug, Default)]
pub(crate) struct Stand {
    /// Reminders since the last text.
    pub nudges: usize,
    /// Corrections given.
    pub corrections: usize,
    /// The next turn is granted already, and the model was told what it must know.
    pub admitted: Option<ToolChoice>,
    /// The model has spoken, and nothing or not all of it was done.
    pub heard: Option<Heard>,
}

/// A run of the loop: what it works with, and how far it is.
pub(crate) struct React<'a> {
    /// Who completes.
    pub provider: &'a mut dyn Provider,
    /// What the model may do.
    pub toolbox: Arc<Toolbox>,
    /// The same, as declared to it.
    pub tools: Vec<ToolDeclaration>,
    /// What was said.
    pub conversation: Conversation,
    /// The same, on disk.
    pub journal: Journal,
    /// What may still be spent.
    pub budget: Budget,
    /// The model's name.
    pub model: &'a str,
    /// How to sample.
    pub sampling: &'a Sampling,
    /// The role's schema, repeated in the grace turn.
    pub schema: &'a Value,
    /// What must not be in anything that a tool says.
    pub secrets: Secrets,
    /// Told of everything.
    pub watch: &'a mut dyn FnMut(Event<'_>),
    /// Whether to stop.
    pub signals: Signals,
    /// ms since the epoch.
    pub clock: Clock,
    /// When the run started.
    pub started: Instant,
    /// What was spent.
    pub spent: Spent,
    /// Where it stands.
    pub stand: Stand,
}

impl Heard {
    /// What there is to do about a turn of the model.
    pub(crate) fn of(message: &Message) -> Heard {
        Heard {
            calls: message.tool_calls.clone(),
            text: message.content.clone(),
            thought: message.reasoning.is_some(),
        }
    }
}

impl React<'_> {
    /// Goes on until the model says something without asking for a tool.
    ///
    /// # Errors
    /// See [`Stopped`]. Whatever happened up to then is in the journal.
    pub(crate) async fn until_text(&mut self) -> Result<String, Stopped> {
        loop {
            let Some(Heard { calls, text, thought }) = self.turn().await? else { continue };
            if !calls.is_empty() {
                for group in groups(&calls, self.toolbox.specs()) {
                    self.act(group).await?;
                }
                continue;
            }
            let missing = match reading::read(&text) {
                Reading::Text(_) => {
                    self.stand.nudges = 0;
                    return Ok(text);
                }
                Reading::Nothing if thought => missing::ONLY_REASONING,
                Reading::Nothing => missing::EMPTY,
                Reading::LeakedCall => missing::TOOL_CALL,
            };
            self.stand.nudges += 1;
            let attempt = self.stand.nudges;
            if attempt > MAX_NUDGES {
                return Err(Stopped::NoAnswer(missing));
            }
            let text = uwf_prompts::nudge(&NudgeView { missing, attempt, of: MAX_NUDGES })?;
            self.say(Message::text(Speaker::User, Kind::Nudge, text))?;
        }
    }

    /// The next turn of the model, or the one that an interruption left; none when its time was up.
    async fn turn(&mut self) -> Result<Option<Heard>, Stopped> {
        if let Some(heard) = self.stand.heard.take() {
            return Ok(Some(heard));
        }
        let tool_choice = self.admit()?;
        let Some((completion, took)) = self.complete(tool_choice).await? else { return Ok(None) };
        self.hear(completion, took).map(Some)
    }

    /// Our side says something: into the journal, then into the conversation.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub(crate) fn say(&mut self, message: Message) -> Result<(), Stopped> {
        (self.watch)(Event::Said(message.kind));
        let at = (self.clock)();
        self.write(Entry::Said { message: message.clone(), at })?;
        self.conversation.push(message);
        Ok(())
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

    /// The run is over: the last line, durable before the reply is printed.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub(crate) fn reply(&mut self, reply: &AdapterOutput) -> Result<(), Stopped> {
        self.finish(json!(reply))
    }

    /// The same with a reply of any shape.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub(crate) fn finish(&mut self, reply: Value) -> Result<(), Stopped> {
        let entry = Entry::Replied { reply, at: (self.clock)() };
        self.write(entry)?;
        self.sync()
    }

    /// The tools are over: what still runs ends, and what it did to git is taken back, told and recorded.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub(crate) fn close(&mut self) -> Result<(), Stopped> {
        let undone = self.toolbox.close().undone;
        if undone.is_empty() {
            return Ok(());
        }
        let text = format!("at the end of the run, git: {}", undone.join("; "));
        self.say(Message::text(Speaker::User, Kind::Warning, text))
    }

    /// Asks the budget, and tells the model what it must know before its next turn.
    fn admit(&mut self) -> Result<ToolChoice, Stopped> {
        if let Some(granted) = self.stand.admitted.take() {
            return Ok(granted);
        }
        self.spent.time = self.started.elapsed();
        match self.budget.next(self.spent) {
            Verdict::Go => Ok(ToolChoice::Auto),
            Verdict::Warn(Use { unit, used, total }) => {
                let text = uwf_prompts::deadline(&DeadlineView { unit, used, total })?;
                self.say(Message::text(Speaker::User, Kind::Warning, text))?;
                Ok(ToolChoice::Auto)
            }
            Verdict::Grace(ended) => {
                let budget = ended.to_string();
                let text = uwf_prompts::grace(&GraceView { budget: &budget, schema: self.schema })?;
                self.say(Message::text(Speaker::User, Kind::Grace, text))?;
                Ok(ToolChoice::None)
            }
            Verdict::Stop(ended) => Err(Stopped::Budget(ended)),
        }
    }

    /// One turn of the model; none when its time is up. The request is checked, and everything in it is on disk, before
    /// it is sent.
    async fn complete(&mut self, tool_choice: ToolChoice) -> Result<Option<(Completion, Duration)>, Stopped> {
        self.conversation.check()?;
        self.sync()?;
        let (messages, tools) = (self.conversation.messages(), self.tools.as_slice());
        let request = Request { messages, tools, tool_choice, model: self.model, sampling: self.sampling };
        let watch = &mut *self.watch;
        let mut progress = |heard: Progress<'_>| watch(Event::Progress(heard));
        let asked = Instant::now();
        let time_left = self.budget.time_left(self.started.elapsed());
        let answered = tokio::select! {
            completion = self.provider.complete(request, &mut progress) => Ok(completion),
            signal = self.signals.next() => Err(signal),
            () = passed(time_left) => return Ok(None),
        };
        let mut completion = match answered {
            Ok(completion) => completion?,
            Err(signal) => return Err(self.interrupted(signal).await),
        };
        if tool_choice == ToolChoice::None {
            completion.tool_calls.clear();
        }
        self.spent.count(completion.usage);
        let (number, calls, took) = (self.spent.turns, completion.tool_calls.len(), asked.elapsed());
        (self.watch)(Event::Turn { number, took, calls });
        Ok(Some((completion, took)))
    }

    /// The model has spoken: into the journal, then into the conversation.
    fn hear(&mut self, completion: Completion, took: Duration) -> Result<Heard, Stopped> {
        let Completion { content, reasoning, tool_calls, finish_reason, usage, raw } = completion;
        let (thought, text) = reading::without_thought(&content);
        let reasoning = reasoning.or(thought.map(str::to_owned));
        let message =
            Message { tool_calls, reasoning, ..Message::text(Speaker::Assistant, Kind::Turn, text) };
        let (at, duration_ms) = ((self.clock)(), millis(took));
        self.write(Entry::Answered { message: message.clone(), at, duration_ms, usage, finish_reason, raw })?;
        let heard = Heard::of(&message);
        self.conversation.hear(message);
        Ok(heard)
    }

    /// Runs calls side by side. That they start is on disk before any does; they are answered in their order.
    async fn act(&mut self, calls: &[ToolCall]) -> Result<(), Stopped> {
        for call in calls {
            self.write(Entry::Started { call_id: call.id.clone(), at: (self.clock)() })?;
        }
        self.sync()?;
        let (outputs, signal) = self.call(calls).await?;
        for (call, (output, took)) in calls.iter().zip(outputs) {
            let title = self.secrets.clean(&output.title);
            let failed = output.is_error || output.facts.exit_code.is_some_and(|code| code != 0);
            (self.watch)(Event::Tool { title: &title, failed, took });
            let facts = record::facts(&output);
            let mut text = self.secrets.clean(&output.text).into_owned();
            if signal.is_some() && output.facts.cancelled {
                text = format!("{}\n{INTERRUPTED}", text.trim_end());
            }
            let message = Message::result(&call.id, text);
            let (at, duration_ms) = ((self.clock)(), millis(took));
            self.write(Entry::Finished { message: message.clone(), at, duration_ms, facts })?;
            self.conversation.push(message);
        }
        self.sync()?;
        match signal {
            Some(signal) => Err(self.interrupted(signal).await),
            None => Ok(()),
        }
    }

    /// What still runs ends before we do; a second signal does not wait for it.
    async fn interrupted(&mut self, signal: Signal) -> Stopped {
        let toolbox = Arc::clone(&self.toolbox);
        let closing = tokio::task::spawn_blocking(move || toolbox.close());
        tokio::select! {
            _ = closing => Stopped::Interrupted(signal),
            again = self.signals.next() => Stopped::Interrupted(again),
        }
    }

    /// The tools themselves, on threads of their own so that a signal, or the end of the time, can end them. A second
    /// signal does not wait for what they have to say.
    async fn call(&mut self, calls: &[ToolCall]) -> Result<(Outputs, Option<Signal>), Stopped> {
        let cancel = Cancel::default();
        let mut running = try_join_all(calls.iter().map(|call| {
            let (toolbox, call, token) = (Arc::clone(&self.toolbox), call.clone(), cancel.clone());
            tokio::task::spawn_blocking(move || {
                let begun = Instant::now();
                let output = toolbox.call(&call.name, &call.arguments, &token);
                (output, begun.elapsed())
            })
        }));
        let panicked = |panic: JoinError| Stopped::Tool(panic.to_string());
        let time_left = self.budget.time_left(self.started.elapsed());
        let signal = tokio::select! {
            outputs = &mut running => return Ok((outputs.map_err(panicked)?, None)),
            signal = self.signals.next() => Some(signal),
            () = passed(time_left) => None,
        };
        cancel.cancel();
        tokio::select! {
            outputs = running => Ok((outputs.map_err(panicked)?, signal)),
            again = self.signals.next() => Err(Stopped::Interrupted(again)),
        }
    }

    fn write(&mut self, entry: Entry) -> Result<(), Stopped> {
        let written = self.journal.append(entry);
        written.map_err(|source| self.journal_failed(source))
    }

    fn sync(&mut self) -> Result<(), Stopped> {
        let synced = self.journal.sync();
        synced.map_err(|source| self.journal_failed(source))
    }

    fn journal_failed(&self, source: io::Error) -> Stopped {
        Stopped::Journal { path: self.journal.path().display().to_string(), source }
    }
}

/// The calls of a turn, in order, as groups that may run side by side: reading tools that follow each other together,
/// anything else alone.
fn groups<'a>(calls: &'a [ToolCall], tools: &[ToolSpec]) -> Vec<&'a [ToolCall]> {
    let reads = |call: &ToolCall| tools.iter().any(|tool| tool.read_only && tool.name == call.name);
    let alike = calls.chunk_by(|one, next| reads(one) && reads(next));
    alike.flat_map(|group| group.chunks(MAX_SIDE_BY_SIDE)).collect()
}

/// What the tools of a group gave, in the order of the calls.
type Outputs = Vec<(ToolOutput, Duration)>;

/// Is over when the time is; never where there is no limit.
async fn passed(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_calls_that_follow_each_other_run_side_by_side() {
        let names = "grep glob write_file write_file nonsense read_file run_command grep";
        let call = |name: &str| ToolCall { id: String::new(), name: name.into(), arguments: "{}".into() };
        let calls: Vec<ToolCall> = names.split(' ').map(call).collect();
        let sizes = |calls: &[ToolCall]| -> Vec<usize> {
            groups(calls, &uwf_tools::specs()).iter().map(|group| group.len()).collect()
        };
        assert_eq!(sizes(&calls), [2, 1, 1, 1, 1, 1, 1]);
        assert_eq!(sizes(&vec![call("grep"); 19]), [8, 8, 3]);
        assert!(sizes(&[]).is_empty());
    }
}
