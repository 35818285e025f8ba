//! Questions to a step that is over: `--mode fork` and `--mode ask` of the protocol.
//!
//! A fork is made when it is first asked something: until then it is an id of ours, which stands for a session that is to be forked.
//! Without a session, and for an agent that cannot fork, a fresh session is told the step's record. The step's own session is never
//! asked: the agent would write the question into the very history that it is about.

use std::io;
use std::path::Path;

use serde_json::Value;
use thiserror::Error;
use uwf_engine::ThreadId;
use uwf_engine::record::{Detail, Turn};
use uwf_prompts::{PromptError, asked_anew, question};
use uwf_store::{Clock, Hash, Store, StoreError};

use super::argv::{CallKind, CallValues};
use super::definition::{Definition, SessionId};
use super::process::{self, CallError, ExternalAgent, Heard};
use super::reply::{Act, Format, Reply, Told, Turns, UsedBefore, told, value_in};
use super::sessions::{KnownSession, Sessions};

/// How much of a step's record an agent is told, in characters; of what is longer the end.
const RECORD: usize = 60_000;

/// How much of one message of it.
const MESSAGE: usize = 8_000;

/// What is asked, and where.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The session, as [`fork`] calls it; none asks a fresh one.
    pub session: Option<&'a str>,
    /// In words.
    pub text: &'a str,
    /// The step's record.
    pub detail: Hash,
    /// The directory that it is asked in.
    pub cwd: &'a Path,
}

/// Why there is no fork, or no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// The agent has no forks.
    #[error("the agent `{agent}` cannot fork a session")]
    NoForks {
        /// The agent.
        agent: String,
    },
    /// The session is none that can be asked.
    #[error("no fork {session} is known: it is none of `{agent}`, or four weeks old")]
    UnknownFork {
        /// The session.
        session: String,
        /// The agent.
        agent: String,
    },
    /// The record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The fork cannot be remembered.
    #[error("cannot write the sessions of the agent")]
    Sessions(#[source] io::Error),
    /// The call.
    #[error("the agent could not be asked")]
    Call(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The agent has failed.
    #[error("the agent `{agent}` gave no answer: it ended with {exit}{words}")]
    Failed {
        /// The agent.
        agent: String,
        /// How.
        exit: String,
        /// What it said of it.
        words: String,
    },
    /// A template did not render: a bug of ours.
    #[error("internal error")]
    Prompt(#[from] PromptError),
}

impl From<CallError> for AskError {
    fn from(error: CallError) -> AskError {
        AskError::Call(Box::new(error))
    }
}

/// A fork of the session, which is made when it is first asked; `home` is `$UWF_HOME`.
///
/// # Errors
/// [`AskError::NoForks`], [`AskError::Sessions`].
pub fn fork(definition: &Definition, home: &Path, session: &str, clock: Clock) -> Result<String, AskError> {
    if definition.args.fork.is_none() {
        return Err(AskError::NoForks { agent: definition.name.clone() });
    }
    let id = ThreadId::new(clock()).to_string();
    let fork = KnownSession { fork_of: Some(session.to_owned()), ..KnownSession::default() };
    let sessions = Sessions::of(home, &definition.name, clock);
    sessions.keep(&Sessions::ask(&id), fork).map_err(AskError::Sessions)?;
    Ok(id)
}

/// Puts the question and gives the answer.
///
/// # Errors
/// See [`AskError`].
pub fn ask(
    agent: &ExternalAgent<'_>,
    (store, home): (&Store, &Path),
    question: &Question<'_>,
    clock: Clock,
) -> Result<String, AskError> {
    let sessions = Sessions::of(home, &agent.definition.name, clock);
    let asked = Asked { agent, home, sessions, question };
    let Some(id) = question.session else { return asked.anew(store) };
    let name = &agent.definition.name;
    let unknown = || AskError::UnknownFork { session: id.to_owned(), agent: name.clone() };
    let known = asked.sessions.get(&Sessions::ask(id)).ok_or_else(unknown)?;
    // Each question is put to another fork, of the step's session or of the last fork: a session that goes on may do what a
    // visit may.
    let session = known.fork_of.clone().filter(|_| known.id.is_empty()).unwrap_or_else(|| known.id.clone());
    let text = uwf_prompts::question(question.text)?;
    let told = match asked.call(CallKind::Fork, text, session.clone()) {
        Err(AskError::Failed { .. }) => return asked.anew(store),
        told => told?,
    };
    // One that tells no session of its own: the next question is put to another fork.
    if let Some(id_of_agent) = told.session.filter(|made| *made != session) {
        let fork = KnownSession { id: id_of_agent, ..known };
        asked.sessions.keep(&Sessions::ask(id), fork).map_err(AskError::Sessions)?;
    }
    Ok(told.text)
}

/// One question to one agent.
struct Asked<'a> {
    agent: &'a ExternalAgent<'a>,
    home: &'a Path,
    sessions: Sessions,
    question: &'a Question<'a>,
}

/// What came of a call.
struct ToldAnswer {
    text: String,
    session: Option<String>,
}

impl Asked<'_> {
    /// A fresh session is told the step's record.
    fn anew(&self, store: &Store) -> Result<String, AskError> {
        let record = record(store, &self.question.detail)?;
        let text = asked_anew(&record, &question(self.question.text)?)?;
        let given = self.agent.definition.session == SessionId::Given;
        let session = if given { ThreadId::new(store.now()).to_string() } else { String::new() };
        Ok(self.call(CallKind::Ask, text, session)?.text)
    }

    fn call(&self, kind: CallKind, prompt: String, session: String) -> Result<ToldAnswer, AskError> {
        let Definition { name, reply, exit, .. } = self.agent.definition;
        let session_file = self.sessions.file_of(&session).display().to_string();
        let values = CallValues { prompt, session, session_file, question: true, ..CallValues::default() };
        let (mut listener, cache) = (Listener::new(reply), self.home.join("cache"));
        let finished =
            process::call(self.agent, (kind, values), (self.question.cwd, &cache), &mut |heard| {
                listener.hear(&heard);
            })?;
        let secrets = self.agent.secrets();
        let (turns, text) = listener.end();
        let exited = finished.status.code().is_some_and(|code| exit.done.contains(&code));
        let has_said = turns.turns.is_done || !reply.tells_end();
        let answer = match reply.format {
            Format::Text => text,
            Format::Json | Format::Jsonl => {
                turns.turns.answer.clone().unwrap_or(turns.turns.last_text.clone())
            }
        };
        if exited && !turns.turns.has_failed && has_said && !answer.trim().is_empty() {
            return Ok(ToldAnswer {
                text: secrets.clean(answer.trim()).into_owned(),
                session: turns.session,
            });
        }
        let words = turns.turns.error.clone().unwrap_or_else(|| finished.stderr_tail.clone());
        let words = secrets.clean(&words);
        let words = uwf_store::excerpt(&words, MESSAGE);
        let words = if words.is_empty() { String::new() } else { format!(": {words}") };
        Err(AskError::Failed { agent: name.clone(), exit: finished.exit(), words })
    }
}

/// Hears the answer to a question.
struct Listener<'r> {
    reply: &'r Reply,
    turns: Turns,
    session: Option<String>,
    lines: Vec<String>,
}

impl Listener<'_> {
    fn new(reply: &Reply) -> Listener<'_> {
        let turns = Turns::new(0, UsedBefore::default());
        Listener { reply, turns, session: None, lines: Vec::new() }
    }

    fn hear(&mut self, heard: &Heard<'_>) {
        let (line, is_reply) = match heard {
            Heard::Line(line) => (*line, true),
            Heard::Complaint(line) => (*line, false),
            Heard::Idle => return,
        };
        if let Some(id) = self.reply.session_in(line) {
            self.session = Some(id.to_owned()).filter(|id| !id.is_empty()).or(self.session.take());
        } else if !is_reply || self.reply.skips(line) {
        } else if self.reply.ends(line) {
            drop(self.turns.take(Told::Done));
        } else if self.reply.format == Format::Jsonl {
            serde_json::from_str(line).iter().for_each(|event| self.event(event));
        } else {
            self.lines.push(line.to_owned());
        }
    }

    fn event(&mut self, event: &Value) {
        for told in told(&self.reply.events, event) {
            for act in self.turns.take(told) {
                if let Act::Session(id) = act {
                    self.session = Some(id);
                }
            }
        }
    }

    /// Nothing more comes: what was told, and the text of what is no event.
    fn end(mut self) -> (Self, String) {
        let text = self.lines.join("\n");
        if let Some(value) = value_in(&text).filter(|_| self.reply.format == Format::Json) {
            self.event(&value);
        }
        drop(self.turns.end());
        (self, text)
    }
}

/// The record of a step as a text: who said what, in order; of a long one the end.
fn record(store: &Store, detail: &Hash) -> Result<String, StoreError> {
    let turns = Detail::read(store, detail)?.conversation(store)?;
    let all: Vec<String> = turns.iter().map(one).filter(|text| !text.is_empty()).collect();
    let text = all.join("\n\n");
    let over = text.chars().count().saturating_sub(RECORD);
    match text.char_indices().nth(over).filter(|_| over > 0) {
        Some((start, _)) => Ok(format!("[the beginning is left out]\n{}", &text[start..])),
        None => Ok(text),
    }
}

fn one(turn: &Turn) -> String {
    let who = turn.role.as_deref().unwrap_or("somebody");
    let content = uwf_store::excerpt(turn.content.as_deref().unwrap_or_default().trim(), MESSAGE);
    let calls = turn.calls().iter().map(|call| {
        let (name, args) = (call.name.as_deref().unwrap_or("tool"), call.args.as_deref().unwrap_or("{}"));
        format!("[calls {name} {}]", uwf_store::excerpt(args, MESSAGE))
    });
    let said = Some(content.into_owned()).filter(|content| !content.is_empty());
    let all: Vec<String> = said.into_iter().chain(calls).collect();
    if all.is_empty() { String::new() } else { format!("{who}: {}", all.join("\n")) }
}
