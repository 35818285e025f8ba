//! Questions about a finished step, answered from its record.
//!
//! The conversation that the record keeps is opened again, byte for byte, and goes on with the question; the tools are
//! those that only read. Nothing of the thread changes: no node is written, no head moves, no failed attempt is noted.
//!
//! A fork is a directory, `$UWF_HOME/cache/asks/<session>`: whose fork it is, and a journal for each question that was
//! put to it, so that the next question can refer to the answers before. The step's own session remembers nothing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use uwf_engine::{Clock, Hash, Store, StoreError, ThreadId};
use uwf_tools::Toolbox;

use crate::conversation::Conversation;
use crate::journal::{self, Entry, Journal, Mark, Name};
use crate::narrowing::Narrowing;
use crate::outputs::Recorded;
use crate::provider::message::{Kind, Message, Speaker, ToolCall, ToolDeclaration};
use crate::provider::{MockPlace, Provider};
use crate::react::{Event, React, Stand, Stopped};
use crate::role_run::{self, RunError, Site};
use crate::settings::Settings;
use crate::signals::Signals;

/// What a script calls the one who answers: `roles: { ask: … }`, one entry a question.
const ROLE: &str = "ask";

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The session it is put to: a fork, or the step's own.
    pub session: Option<String>,
    /// In words.
    pub text: String,
    /// The step's detail node.
    pub detail: Hash,
}

/// Why there is no answer, or no fork.
#[derive(Debug, Error)]
pub enum AskError {
    /// The record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record that another agent wrote.
    #[error("{detail} is no record of uwf-builtin: {why}")]
    Foreign {
        /// The detail node.
        detail: Hash,
        /// What is missing.
        why: String,
    },
    /// A session that is neither a fork of ours nor the step's own.
    #[error("no session {session} of this step is known")]
    UnknownSession {
        /// The session.
        session: String,
    },
    /// The directory of the questions cannot be used.
    #[error("cannot use {path}")]
    Io {
        /// The file or directory.
        path: String,
        /// The disk's reason.
        source: io::Error,
    },
    /// The run could not begin.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The loop ended without an answer.
    #[error("the question was not answered")]
    Stopped(#[from] Stopped),
}

/// Whose fork a session is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fork {
    forked_from: String,
}

/// Makes a fork of `session` and gives its id. The step's record holds all that was said, so nothing is copied.
///
/// # Errors
/// [`AskError::Io`].
pub(crate) fn fork(home: &Path, session: &str, clock: Clock) -> Result<String, AskError> {
    let id = ThreadId::new(clock()).to_string();
    let dir = forks(home).join(&id);
    let fork = json!(Fork { forked_from: session.to_owned() }).to_string();
    fs::create_dir_all(&dir).and_then(|()| fs::write(dir.join("fork.json"), fork)).map_err(failed(&dir))?;
    Ok(id)
}

fn forks(home: &Path) -> PathBuf {
    home.join("cache/asks")
}

/// The settings of the one who answers: the tools that only read, of those the step had.
pub(crate) fn settings(settings: &Settings, store: &Store, detail: &Hash) -> Result<Settings, AskError> {
    let recorded = store.get(detail)?.payload["settings"]["tools"].clone();
    let tools: Option<Vec<String>> = serde_json::from_value(recorded).unwrap_or_default();
    let narrowing = Narrowing { tools, read_only: true, ..Narrowing::default() };
    Ok(Settings { tools: narrowing.tools(settings.tools.clone()), narrowing, ..settings.clone() })
}

/// Puts the question and gives the answer.
///
/// # Errors
/// See [`AskError`].
pub(crate) async fn ask(
    question: &Question,
    site: &Site<'_>,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<String, AskError> {
    let record = site.store.get(&question.detail)?.payload;
    let place = Place::find(question, &record, site.home)?;
    let mut before = recorded(site.store, &question.detail, &record)?;
    let earlier = place.earlier()?;
    let visit = earlier.len();
    before.extend(earlier.into_iter().flatten());
    let mock = MockPlace { role: ROLE, visit, step: visit };
    let provider = role_run::provider(site.settings, (mock, 0), site.trace);
    let mut provider = provider.map_err(RunError::from)?;
    let journal = place.journal(question, site)?;
    let outputs = role_run::recorded(site);
    let toolbox = role_run::toolbox(site, site.settings.tools.clone(), (journal.spool_dir(), &outputs));
    let toolbox = toolbox.map_err(RunError::from)?;
    let parts = Parts { before, journal, toolbox, outputs };
    let mut react = react(parts, site, provider.as_mut(), watch)?;
    let text = uwf_prompts::question(&question.text).map_err(Stopped::from)?;
    react.say(Message::text(Speaker::User, Kind::Opening, text))?;
    let answer = react.until_text().await;
    react.close()?;
    let answer = answer?.trim().to_owned();
    react.finish(json!({"answer": answer}))?;
    Ok(answer)
}

/// What a run of the loop is made of, beside its surroundings.
struct Parts {
    /// What was said before the question.
    before: Vec<Message>,
    journal: Journal,
    toolbox: Toolbox,
    outputs: Arc<Recorded>,
}

fn react<'a>(
    parts: Parts,
    site: &'a Site<'_>,
    provider: &'a mut dyn Provider,
    watch: &'a mut dyn FnMut(Event<'_>),
) -> Result<React<'a>, AskError> {
    let Parts { before, journal, toolbox, outputs } = parts;
    let tools: Vec<ToolDeclaration> = toolbox.specs().iter().map(role_run::declare).collect();
    let mut entries = journal.entries().to_vec();
    entries.extend(before.into_iter().map(|message| Entry::Said { message, at: (site.clock)() }));
    Ok(React {
        provider,
        course: role_run::course(site, &tools, &entries),
        tools,
        toolbox: Arc::new(toolbox),
        journal,
        outputs,
        model: &site.settings.model,
        sampling: &site.settings.sampling,
        schema: &Value::Null,
        secrets: site.settings.secrets(),
        watch,
        signals: Signals::install().map_err(RunError::Signals)?,
        clock: site.clock,
        started: Instant::now(),
        stand: Stand::default(),
    })
}

/// Where a question is journalled.
struct Place {
    dir: PathBuf,
    /// Removed at the end: the step's own session remembers nothing.
    _passing: Option<tempfile::TempDir>,
}

impl Place {
    /// The directory of the session, which must be one of the step's.
    fn find(question: &Question, record: &Value, home: &Path) -> Result<Place, AskError> {
        let own = record["sessionId"].as_str();
        let forks = forks(home);
        match question.session.as_deref() {
            session if session.is_none() || session == own => {
                let passing = fs::create_dir_all(&forks).and_then(|()| tempfile::tempdir_in(&forks));
                let passing = passing.map_err(failed(&forks))?;
                Ok(Place { dir: passing.path().to_owned(), _passing: Some(passing) })
            }
            Some(session)
                if session.parse::<ThreadId>().is_ok() && fork_of(&forks.join(session)).as_deref() == own =>
            {
                Ok(Place { dir: forks.join(session), _passing: None })
            }
            session => Err(AskError::UnknownSession { session: session.unwrap_or_default().to_owned() }),
        }
    }

    /// The questions that were answered before, each with all that was said for it.
    fn earlier(&self) -> Result<Vec<Vec<Message>>, AskError> {
        let files = fs::read_dir(&self.dir).map_err(failed(&self.dir))?.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> =
            files.filter(|file| file.extension().is_some_and(|end| end == "jsonl")).collect();
        // The name ends with the time.
        files.sort();
        let mut answered = Vec::new();
        for path in files {
            let said = File::open(&path).and_then(complete).map_err(failed(&path))?;
            answered.extend(said);
        }
        Ok(answered)
    }

    /// The journal of a new question, opened with what it is.
    fn journal(&self, question: &Question, site: &Site<'_>) -> Result<Journal, AskError> {
        let session = ThreadId::new((site.clock)());
        let fork = question.session.as_ref().and_then(|session| session.parse().ok());
        let name = Name { thread: fork.unwrap_or(session), head: question.detail, session };
        let mut journal = Journal::create(&self.dir, name).map_err(failed(&self.dir))?;
        let entry = Entry::Run {
            version: journal::VERSION,
            session: session.to_string(),
            thread: String::new(),
            role: ROLE.to_owned(),
            head: question.detail,
            prompt: question.text.clone(),
            stand_alone: true,
            workspace: site.workspace.display().to_string(),
            at: (site.clock)(),
            settings: site.settings.describe(),
            sandbox: site.sandbox.enforced().clone(),
            tools: Vec::<ToolDeclaration>::new(),
            opening: 1,
        };
        journal.append(entry).map_err(failed(&self.dir))?;
        Ok(journal)
    }
}

fn fork_of(dir: &Path) -> Option<String> {
    let fork: Fork = serde_json::from_slice(&fs::read(dir.join("fork.json")).ok()?).ok()?;
    Some(fork.forked_from)
}

/// A message as what was said before the question: it opens the conversation, and counts for nothing else.
fn before(message: Message) -> Message {
    Message { kind: Kind::Opening, ..message }
}

/// What was said for a question, if it came to its answer.
fn complete(journal: File) -> io::Result<Option<Vec<Message>>> {
    let mut said = Vec::new();
    for line in BufReader::new(journal).lines() {
        match serde_json::from_str(&line?) {
            Ok(
                Entry::Said { message, .. }
                | Entry::Answered { message, .. }
                | Entry::Finished { message, .. },
            ) => {
                said.push(message);
            }
            Ok(Entry::Replied { .. }) => {
                return Ok(Some(said.into_iter().filter(is_something).map(before).collect()));
            }
            // What was left out for want of room is said again.
            Ok(_) => {}
            // A line that was cut off, or another version's.
            Err(_) => break,
        }
    }
    Ok(None)
}

/// The messages of a record as its last request sent them; what was said before counts as the opening.
fn recorded(store: &Store, detail: &Hash, record: &Value) -> Result<Vec<Message>, AskError> {
    let foreign = |why: String| AskError::Foreign { detail: *detail, why };
    let turns = record["messages"].as_array().ok_or_else(|| foreign("it keeps no messages".to_owned()))?;
    let mut conversation = Conversation::default();
    for turn in turns {
        let hash: Hash = turn
            .as_str()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| foreign(format!("{turn} is no message")))?;
        let turn: Turn = serde_json::from_value(store.get(&hash)?.payload)
            .map_err(|error| foreign(format!("{hash} is no message: {error}")))?;
        turn.go_on(&mut conversation);
    }
    Ok(conversation.messages().iter().cloned().map(before).collect())
}

/// Empty turns are on record, but no endpoint takes them back.
fn is_something(message: &Message) -> bool {
    message.role == Speaker::Tool || !message.says_nothing()
}

/// A turn node, as far as a conversation needs it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Turn {
    role: Speaker,
    kind: Option<Value>,
    content: String,
    tool_calls: Option<Vec<Call>>,
    call_id: Option<String>,
    reasoning: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    name: String,
    args: String,
}

/// How the requests became shorter, in the content of a node of the kind `summed-up`.
#[derive(Deserialize)]
struct SummedUp {
    summary: String,
    kept: usize,
}

impl Turn {
    /// What the conversation was after it. A node of another kind than messages have tells how requests became shorter;
    /// one that cannot be read is passed over, since it is nothing that was said.
    fn go_on(self, conversation: &mut Conversation) {
        let kind = self.kind.clone().unwrap_or_else(|| json!(Kind::Opening));
        if let Ok(kind) = serde_json::from_value(kind.clone()) {
            let message = self.message(kind);
            if is_something(&message) {
                conversation.push(message);
            }
        } else if kind == "left-out" {
            let marks: BTreeMap<String, String> = serde_json::from_str(&self.content).unwrap_or_default();
            let mark = |(call_id, text)| Mark { call_id, text };
            conversation.leave_out(&marks.into_iter().map(mark).collect::<Vec<_>>());
        } else if kind == "summed-up"
            && let Ok(SummedUp { summary, kept }) = serde_json::from_str(&self.content)
        {
            conversation.sum_up(Message::text(Speaker::User, Kind::Recap, summary), kept);
        }
    }

    fn message(self, kind: Kind) -> Message {
        let call = |call: Call| ToolCall { id: call.id, name: call.name, arguments: call.args };
        Message {
            role: self.role,
            kind,
            content: self.content,
            tool_calls: self.tool_calls.unwrap_or_default().into_iter().map(call).collect(),
            tool_call_id: self.call_id,
            reasoning: self.reasoning,
        }
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> AskError {
    let path = path.display().to_string();
    move |source| AskError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn turn(role: &str, kind: &str, content: &str) -> Turn {
        serde_json::from_value(json!({"role": role, "kind": kind, "content": content})).unwrap()
    }

    fn calls(id: &str) -> Turn {
        let calls = json!([{"id": id, "name": "grep", "args": "{}"}]);
        let turn = json!({"role": "assistant", "kind": "turn", "content": "", "toolCalls": calls});
        serde_json::from_value(turn).unwrap()
    }

    fn result(id: &str, content: &str) -> Turn {
        Turn { call_id: Some(id.to_owned()), ..turn("tool", "result", content) }
    }

    fn after(turns: Vec<Turn>) -> Conversation {
        let mut conversation = Conversation::default();
        let opening = [turn("system", "opening", "rules"), turn("user", "opening", "task")];
        opening.into_iter().chain(turns).for_each(|turn| turn.go_on(&mut conversation));
        conversation
    }

    fn texts(conversation: &Conversation) -> Vec<&str> {
        conversation.messages().iter().map(|message| message.content.as_str()).collect()
    }

    #[test]
    fn what_is_no_part_of_the_conversation_is_not_sent() {
        let said = after(vec![
            turn("assistant", "turn", "No."),
            turn("system", "extract", "fields"),
            turn("user", "extract", "No."),
            turn("assistant", "extract", "{}"),
            turn("user", "unheard-of", "{}"),
            turn("user", "closing", "undone"),
        ]);
        assert_eq!(texts(&said), ["rules", "task", "No.", "undone"]);
        assert_eq!(said.check(), Ok(()));
    }

    #[test]
    fn what_was_left_out_and_summed_up_stays_so() {
        let said = after(vec![
            turn("assistant", "turn", "I look."),
            calls("a"),
            result("a", "long"),
            turn("user", "left-out", "{\"a\":\"[result]\"}"),
        ]);
        assert_eq!(texts(&said), ["rules", "task", "I look.", "", "[result]"]);
        let said = after(vec![
            turn("assistant", "turn", "I look."),
            calls("a"),
            result("a", "long"),
            turn("user", "summary", "sum up"),
            turn("assistant", "summary", "I looked."),
            turn("user", "summed-up", "{\"summary\":\"recap\",\"kept\":2}"),
        ]);
        assert_eq!(texts(&said), ["rules", "task", "recap", "", "long"]);
        assert_eq!(said.check(), Ok(()));
    }

    #[test]
    fn earlier_questions_count_for_nothing() {
        let message = Message::text(Speaker::User, Kind::Grace, "Answer now.");
        let mut journal = tempfile::tempfile().unwrap();
        for entry in [Entry::Said { message, at: 0 }, Entry::Replied { reply: Value::Null, at: 0 }] {
            writeln!(journal, "{}", json!(entry)).unwrap();
        }
        journal.rewind().unwrap();
        let said = complete(journal).unwrap().unwrap();
        assert_eq!(said, [Message::text(Speaker::User, Kind::Opening, "Answer now.")]);
    }
}
