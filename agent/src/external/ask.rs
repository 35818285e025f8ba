//! Questions to a step that is over: `--mode fork` and `--mode ask` of the protocol.
//!
//! A fork is made when it is first asked something: until then it is an id of ours, which stands for a session that is to be forked.
//! Without a session, and for an agent that cannot fork, a fresh session is told the step's record; where a fork was asked for and
//! there is none, that is an error, never a fresh session in its place. The step's own session is never asked: the agent would write
//! the question into the very history that it is about.

use std::io;
use std::path::Path;

use thiserror::Error;
use uwf_engine::record::{Detail, Turn};
use uwf_prompts::{PromptError, asked_anew, question};
use uwf_store::{Clock, Hash, Store, StoreError};

use super::argv::{CallKind, CallValues};
use super::definition::{Definition, SessionId};
use super::listener::{HeardCall, Listener};
use super::process::{self, CallError, ExternalAgent};
use super::reply::{Act, Turns, UsedBefore};
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
    /// The step, where who asks tells it.
    pub step: Option<&'a str>,
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
    #[error("the agent `{agent}` has no fork {session}: it was never made here, or not used for four weeks")]
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
        /// Whether it was to fork a session for it.
        in_fork: bool,
    },
    /// A template did not render: a bug of ours.
    #[error("internal error")]
    Prompt(#[from] PromptError),
}

impl AskError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        matches!(self, AskError::Failed { in_fork: true, .. })
            .then_some("without a fork it is asked from the step's record alone: `uwf step ask --no-fork`")
    }
}

impl From<CallError> for AskError {
    fn from(error: CallError) -> AskError {
        AskError::Call(Box::new(error))
    }
}

/// A fork of the session, which is made when it is first asked; `home` is `$UWF_HOME`, `step` whose session it is.
///
/// # Errors
/// [`AskError::NoForks`], [`AskError::Sessions`].
pub fn fork(
    definition: &Definition,
    home: &Path,
    (session, step): (&str, Option<&str>),
    clock: Clock,
) -> Result<String, AskError> {
    if definition.args.fork.is_none() {
        return Err(AskError::NoForks { agent: definition.name.clone() });
    }
    let sessions = Sessions::of(home, &definition.name, clock);
    let id = sessions.new_id();
    let fork =
        KnownSession { fork: Some(id.clone()), fork_of: Some(session.to_owned()), ..KnownSession::default() };
    sessions.keep(&Sessions::ask(step.unwrap_or(&id)), fork).map_err(AskError::Sessions)?;
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
    let key = Sessions::ask(question.step.unwrap_or(id));
    let known = asked.sessions.get(&key).filter(|known| known.fork.as_deref() == Some(id));
    let known = known.ok_or_else(unknown)?;
    // Each question is put to another fork, of the step's session or of the last fork: a session that goes on may do what a
    // visit may.
    let session = known.fork_of.clone().filter(|_| known.id.is_empty()).unwrap_or_else(|| known.id.clone());
    let text = uwf_prompts::question(question.text)?;
    let told = asked.call(CallKind::Fork, text, session.clone())?;
    // One that tells no session of its own: the next question is put to another fork.
    if let Some(id_of_agent) = told.session.filter(|made| *made != session) {
        let fork = KnownSession { id: id_of_agent, ..known };
        asked.sessions.keep(&key, fork).map_err(AskError::Sessions)?;
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
    /// A fresh session is told the step's record. Nobody goes on with it.
    fn anew(&self, store: &Store) -> Result<String, AskError> {
        let record = record(store, &self.question.detail)?;
        let text = asked_anew(&record, &question(self.question.text)?)?;
        let definition = self.agent.definition;
        if definition.session != SessionId::Given {
            return Ok(self.call(CallKind::Ask, text, String::new())?.text);
        }
        let id = self.sessions.new_id();
        if definition.keeps_session_file() {
            self.sessions.make_directory_of(&id).map_err(AskError::Sessions)?;
        }
        let told = self.call(CallKind::Ask, text, id.clone());
        self.sessions.remove_files(&id);
        Ok(told?.text)
    }

    fn call(&self, kind: CallKind, prompt: String, session: String) -> Result<ToldAnswer, AskError> {
        let Definition { name, reply, exit, .. } = self.agent.definition;
        let session_file = self.sessions.file_of(&session).display().to_string();
        let values = CallValues { prompt, session, session_file, question: true, ..CallValues::default() };
        let secrets = self.agent.secrets();
        let turns = Turns::new(0, UsedBefore::default());
        let (mut listener, cache) = (Listener::new(reply, secrets.clone(), turns), self.home.join("cache"));
        let mut session = None;
        let mut take = |acts: Vec<Act>| {
            for act in acts {
                if let Act::Session(id) = act {
                    session = Some(id);
                }
            }
        };
        let finished =
            process::call(self.agent, (kind, values), (self.question.cwd, &cache), &mut |heard| {
                take(listener.hear(&heard));
            })?;
        let (acts, heard) = listener.end();
        take(acts);
        let answer = heard.answer(reply.format);
        let HeardCall { turns, .. } = heard;
        let exited = finished.status.code().is_some_and(|code| exit.done.contains(&code));
        let has_said = turns.is_done || !reply.tells_end();
        let refusal = turns.refusal();
        if exited && !turns.has_failed && has_said && refusal.is_none() && !answer.trim().is_empty() {
            return Ok(ToldAnswer { text: secrets.clean(answer.trim()).into_owned(), session });
        }
        let words = refusal.or(turns.error).unwrap_or_else(|| finished.stderr_tail.clone());
        let words = secrets.clean(&words);
        let words = uwf_store::excerpt(&words, MESSAGE);
        let words = if words.is_empty() { String::new() } else { format!(": {words}") };
        let in_fork = kind == CallKind::Fork;
        Err(AskError::Failed { agent: name.clone(), exit: finished.exit(), words, in_fork })
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
