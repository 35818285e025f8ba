//! Questions to a step that is over: `--mode fork` and `--mode ask` of the protocol.
//!
//! A fork is made when it is first asked something: until then it is an id of ours, which stands for a session that is to be forked.
//! Without a session, and for an agent that cannot fork, a fresh session is told the step's record. The step's own session is never
//! asked: the agent would write the question into the very history that it is about.

use std::io;
use std::path::Path;

use thiserror::Error;
use uwf_engine::ThreadId;
use uwf_engine::record::{Detail, Turn};
use uwf_prompts::{PromptError, asked_anew, question};
use uwf_store::{Clock, Hash, Store, StoreError};

use super::argv::{CallKind, CallValues};
use super::definition::{Definition, SessionId};
use super::process::{self, CallError, ExternalAgent, Heard};
use super::reply::{Act, Format, Told, Turns, UsedBefore, told};
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
    let (kind, session) = match &known.fork_of {
        Some(own) if known.id.is_empty() => (CallKind::Fork, own.clone()),
        _ => (CallKind::Resume, known.id.clone()),
    };
    let text = uwf_prompts::question(question.text)?;
    let told = match asked.call(kind, text, session.clone()) {
        Err(AskError::Failed { .. }) if kind == CallKind::Fork => return asked.anew(store),
        told => told?,
    };
    let made = told.session.filter(|made| kind == CallKind::Resume || *made != session);
    match (made, kind) {
        (Some(id_of_agent), _) => {
            let fork = KnownSession { id: id_of_agent, ..known };
            asked.sessions.keep(&Sessions::ask(id), fork).map_err(AskError::Sessions)?;
        }
        // It did not tell a session of its own: the next question is put to another fork.
        (None, _) => {}
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
        let session = given.then(|| ThreadId::new(store.now()).to_string()).unwrap_or_default();
        Ok(self.call(CallKind::Ask, text, session)?.text)
    }

    fn call(&self, kind: CallKind, prompt: String, session: String) -> Result<ToldAnswer, AskError> {
        let reply = &self.agent.definition.reply;
        let session_file = self.sessions.file_of(&session).display().to_string();
        let values = CallValues { prompt, session, session_file, question: true, ..CallValues::default() };
        let (mut turns, mut lines, mut told_session) =
            (Turns::new(0, UsedBefore::default()), Vec::new(), None);
        let mut event = |turns: &mut Turns, event: &serde_json::Value| {
            for told in told(&reply.events, event) {
                let sessions = turns.take(told).into_iter().filter_map(|act| match act {
                    Act::Session(id) => Some(id),
                    _ => None,
                });
                told_session = sessions.last().or(told_session.take());
            }
        };
        let mut session_line = None;
        let cache = self.home.join("cache");
        let finished =
            process::call(self.agent, (kind, values), (self.question.cwd, &cache), &mut |heard| {
                let (Heard::Line(line) | Heard::Complaint(line)) = heard else { return };
                let told =
                    reply.session_line.as_deref().and_then(|start| line.trim_start().strip_prefix(start));
                match (told, heard) {
                    (Some(id), _) => session_line = id.split_whitespace().next().map(str::to_owned),
                    (None, Heard::Line(line))
                        if reply.skip.iter().all(|skip| !line.starts_with(skip.as_str())) =>
                    {
                        match (reply.format, serde_json::from_str(line)) {
                            _ if reply.ends(line) => drop(turns.take(Told::Done)),
                            (Format::Jsonl, Ok(value)) => event(&mut turns, &value),
                            _ => lines.push(line.to_owned()),
                        }
                    }
                    _ => {}
                }
            })?;
        let text = lines.join("\n");
        if let (Format::Json, Some(value)) = (reply.format, super::reply::value_in(&text)) {
            event(&mut turns, &value);
        }
        turns.end();
        let exited =
            finished.status.code().is_some_and(|code| self.agent.definition.exit.done.contains(&code));
        let has_said = turns.is_done || !reply.tells_end();
        let answer = match reply.format {
            Format::Text => text.clone(),
            Format::Json | Format::Jsonl => turns.answer.clone().unwrap_or(turns.last_text.clone()),
        };
        if !exited || turns.has_failed || !has_said || answer.trim().is_empty() {
            let words = turns.error.clone().unwrap_or_else(|| finished.stderr_tail.clone());
            let words = if words.is_empty() {
                String::new()
            } else {
                format!(": {}", uwf_store::excerpt(&words, MESSAGE))
            };
            return Err(AskError::Failed {
                agent: self.agent.definition.name.clone(),
                exit: finished.exit(),
                words,
            });
        }
        Ok(ToldAnswer { text: answer.trim().to_owned(), session: session_line.or(told_session) })
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
