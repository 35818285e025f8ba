//! What is heard of a call of the agent becomes entries of the journal, and its end an outcome.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;
use uwf_engine::spawn::Finished;

use super::{Visit, took};
use crate::external::argv::CallKind;
use crate::external::listener::{HeardCall, Listener};
use crate::external::process::Heard;
use crate::external::reply::{Act, Format, ToldResult, ToldTurn, Turns};
use crate::external::sessions::KnownSession;
use crate::failure::{FailedAt, Failure};
use crate::journal::{Entry, ToolFacts};
use crate::provider::message::{Message, MessageKind, Speaker, ToolCall};
use crate::react::Stopped;

/// How long the title of a call is, in characters.
const TITLE: usize = 80;

/// How much of an agent's own words goes into an error, in characters.
const WORDS: usize = 2_000;

/// What a call came to.
pub(super) enum Outcome {
    /// The agent has spoken.
    Text(String),
    /// It has failed.
    Failed(Failure),
    /// It does not know the session that it was to go on with.
    UnknownSession,
}

/// Writes what is heard of a call.
pub(super) struct Recorder<'v, 'a> {
    visit: &'v mut Visit<'a>,
    /// Since when the model has its turn.
    since: Instant,
    started: BTreeMap<String, (Instant, String)>,
    /// Why nothing more can be written.
    broken: Option<Stopped>,
}

impl<'v, 'a> Recorder<'v, 'a> {
    pub(super) fn new(visit: &'v mut Visit<'a>) -> Recorder<'v, 'a> {
        Recorder { visit, since: Instant::now(), started: BTreeMap::new(), broken: None }
    }

    /// Takes over what is heard. What cannot be written is told at the end: the agent is not stopped in the middle for it.
    pub(super) fn hear(&mut self, heard: &Heard<'_>, listener: &mut Listener<'_>) {
        if matches!(heard, Heard::Idle) {
            self.visit.tick();
        }
        self.act(listener.hear(heard));
    }

    fn act(&mut self, acts: Vec<Act>) {
        for act in acts {
            let done = match act {
                Act::Session(id) => {
                    self.visit.begins_session(&id);
                    Ok(())
                }
                Act::Model(name) => {
                    self.visit.model.get_or_insert(name);
                    Ok(())
                }
                Act::Answered(turn) => self.answered(turn),
                Act::Finished(result) => self.finished(result),
            };
            if let Err(stopped) = done {
                self.broken.get_or_insert(stopped);
            }
        }
    }

    fn at(&self) -> u64 {
        (self.visit.place.clock)()
    }

    fn answered(&mut self, turn: ToldTurn) -> Result<(), Stopped> {
        if self.broken.is_some() {
            return Ok(());
        }
        let ToldTurn { text, reasoning, calls, usage } = turn;
        let usage = self.visit.place.agent.definition.reply.priced(usage);
        let text = Message::text(Speaker::Assistant, MessageKind::Turn, text);
        let message = Message { tool_calls: calls.clone(), reasoning, ..text };
        let (at, duration_ms) = (self.at(), took(self.since));
        let (finish_reason, raw) = (None, Value::Null);
        self.visit.write(Entry::Answered { message, at, duration_ms, usage, finish_reason, raw })?;
        for call in calls {
            self.visit.write(Entry::Started { call_id: call.id.clone(), shown: None, at })?;
            self.started.insert(call.id.clone(), (Instant::now(), title(&call)));
        }
        self.since = Instant::now();
        self.visit.sync()
    }

    fn finished(&mut self, result: ToldResult) -> Result<(), Stopped> {
        if self.broken.is_some() {
            return Ok(());
        }
        let ToldResult { id, output, failed, exit_code } = result;
        let (since, title) = self.started.remove(&id).unwrap_or((Instant::now(), String::new()));
        let facts = ToolFacts { title, is_error: failed, exit_code, ..ToolFacts::default() };
        let (message, at, duration_ms) = (Message::result(&id, output), self.at(), took(since));
        self.since = Instant::now();
        self.visit.write(Entry::Finished { message, at, duration_ms, facts })
    }

    /// Nothing more comes: what was held back is written.
    pub(super) fn end(mut self, listener: Listener<'_>) -> Result<HeardCall, Stopped> {
        let (acts, heard) = listener.end();
        self.act(acts);
        match self.broken {
            Some(stopped) => Err(stopped),
            None => Ok(heard),
        }
    }
}

/// A call in a line.
fn title(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let named = ["description", "command", "cmd", "file_path", "filePath", "path", "pattern", "url", "query"];
    let on = named.iter().find_map(|name| arguments[name].as_str());
    let on = on.and_then(|on| on.lines().next()).unwrap_or_default();
    uwf_store::excerpt(format!("{} {on}", call.name).trim(), TITLE).into_owned()
}

impl Visit<'_> {
    /// What a call came to that has ended by itself.
    pub(super) fn judge(
        &mut self,
        heard: HeardCall,
        finished: &Finished,
        kind: CallKind,
    ) -> Result<Outcome, Stopped> {
        let definition = self.place.agent.definition;
        let answer = heard.answer(definition.reply.format);
        let HeardCall { turns, text, .. } = heard;
        let code = finished.status.code();
        let exited = code.is_some_and(|code| definition.exit.done.contains(&code));
        let has_said = turns.is_done || !definition.reply.tells_end();
        if definition.reply.sums_cost() && !turns.tells_cost {
            self.unpriced("the agent has not told what a call costs")?;
        }
        if let Some(refusal) = turns.refusal() {
            let error = format!("the agent `{}` failed: {refusal}", definition.name);
            return Ok(Outcome::Failed(Failure { phase: FailedAt::Agent, error }));
        }
        if !exited || turns.has_failed || !has_said {
            let words = self.words(&turns, &text, finished);
            let is_unknown =
                definition.unknown_session.iter().any(|unknown| words.contains(unknown.as_str()));
            return Ok(match kind == CallKind::Resume && is_unknown {
                true => Outcome::UnknownSession,
                false => Outcome::Failed(self.failure(exited, finished, &words)),
            });
        }
        if let Some(session) = self.session.take() {
            let run = self.journal.session().to_owned();
            let session = KnownSession { run, ..session.having_used(turns.used()) };
            // Known at once: whoever goes on after an interruption of the next call counts from here.
            self.sessions.keep(&self.key(), session.clone()).ok();
            self.session = Some(session);
        }
        if answer.trim() != turns.last_text.trim() {
            let message = Message::text(Speaker::Assistant, MessageKind::Turn, answer.clone());
            let (at, usage) = ((self.place.clock)(), definition.reply.priced(None));
            let (finish_reason, raw) = (None, Value::Null);
            let answered = Entry::Answered { message, at, duration_ms: 0, usage, finish_reason, raw };
            self.write(answered)?;
            self.sync()?;
        }
        Ok(Outcome::Text(answer))
    }

    /// What became of git, behind all that was said in the call: for the record, and for the agent if it is called again.
    pub(super) fn tell_of_git(&mut self, git: &[String]) -> Result<(), Stopped> {
        if git.is_empty() {
            return Ok(());
        }
        let text = format!(
            "at the end of the call, git: {}. Nobody but people may change which programs git runs: say in your answer what \
             they should set, or that it is needed",
            git.join("; ")
        );
        self.say(MessageKind::Closing, text)
    }

    /// What the agent says of its failure.
    fn words(&self, turns: &Turns, text: &str, finished: &Finished) -> String {
        let told = turns.error.clone().unwrap_or_default();
        let said = if self.place.agent.definition.reply.format == Format::Jsonl { "" } else { text };
        let all = [told.trim(), said.trim(), finished.stderr_tail.trim()];
        let all: Vec<&str> = all.into_iter().filter(|words| !words.is_empty()).collect();
        self.secrets.clean(&all.join("\n")).into_owned()
    }

    fn failure(&self, exited: bool, finished: &Finished, words: &str) -> Failure {
        let definition = self.place.agent.definition;
        let code = finished.status.code().map(|code| code.to_string()).unwrap_or_default();
        let how = match definition.exit.means.get(&code) {
            Some(meaning) => format!("{meaning} ({})", finished.exit()),
            None if exited => "it exited without reporting completion".to_owned(),
            None => format!("it ended with {}", finished.exit()),
        };
        let words = uwf_store::excerpt(words, WORDS);
        let words = if words.is_empty() { String::new() } else { format!(": {words}") };
        Failure {
            phase: FailedAt::Agent,
            error: format!("the agent `{}` failed: {how}{words}", definition.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_a_title() {
        let call =
            |arguments: &str| ToolCall { id: "a".into(), name: "shell".into(), arguments: arguments.into() };
        assert_eq!(title(&call(r#"{"command":"ls -l\npwd"}"#)), "shell ls -l");
        assert_eq!(title(&call("no JSON")), "shell");
    }
}
