//! What is heard of a call, read as its definition says: acts as they come, and at the end what the answer is made of.
//!
//! For a visit and for a question alike; what becomes of the acts is the business of each.

use std::collections::VecDeque;

use serde_json::Value;

use super::confined::OF_GIT;
use super::process::Heard;
use super::reply::{Act, Format, Reply, Told, Turns, told, value_in};
use crate::secrets::Secrets;

/// How much of an answer that is a text is kept, in bytes: the end.
const TEXT: usize = 16 << 20;

/// How many lines are heard of what became of git.
const GIT_LINES: usize = 32;

/// Hears a call.
pub(super) struct Listener<'r> {
    reply: &'r Reply,
    secrets: Secrets,
    turns: Turns,
    /// What is no event: the answer, where that is a text.
    lines: VecDeque<String>,
    /// How long that is.
    bytes: usize,
    /// Whether the session was told beside the answer: then nothing in the answer tells it.
    is_session_told: bool,
    /// What became of git.
    git: Vec<String>,
}

/// What was heard of a call in all.
pub(super) struct HeardCall {
    /// What it told.
    pub(super) turns: Turns,
    /// What was no event.
    pub(super) text: String,
    /// What became of git, as the process that confines the call tells it.
    pub(super) git: Vec<String>,
}

impl HeardCall {
    /// The answer, in a reply of that format.
    pub(super) fn answer(&self, format: Format) -> String {
        match format {
            Format::Text => self.text.clone(),
            Format::Json | Format::Jsonl => {
                self.turns.answer.clone().unwrap_or_else(|| self.turns.last_text.clone())
            }
        }
    }
}

impl<'r> Listener<'r> {
    pub(super) fn new(reply: &'r Reply, secrets: Secrets, turns: Turns) -> Listener<'r> {
        let (lines, git) = (VecDeque::new(), Vec::new());
        Listener { reply, secrets, turns, lines, bytes: 0, is_session_told: false, git }
    }

    /// What is to be done about what was heard.
    pub(super) fn hear(&mut self, heard: &Heard<'_>) -> Vec<Act> {
        let reply = self.reply;
        match heard {
            Heard::Idle => self.turns.idle(),
            Heard::Complaint(line) => match line.strip_prefix(OF_GIT) {
                Some(what) => {
                    self.of_git(what);
                    Vec::new()
                }
                None => self.session_in(line),
            },
            Heard::Line(line) if reply.skips(line) => Vec::new(),
            Heard::Line(line) if reply.format == Format::Jsonl => match serde_json::from_str(line) {
                Ok(event) => self.event(event),
                Err(_) => self.session_in(line),
            },
            Heard::Line(line) if reply.ends(line) => self.turns.take(Told::Done),
            Heard::Line(line) => {
                self.keep(line);
                Vec::new()
            }
        }
    }

    /// Nothing more comes.
    pub(super) fn end(mut self) -> (Vec<Act>, HeardCall) {
        let mut acts = self.session_around_the_text();
        let text = self.lines.make_contiguous().join("\n");
        if let Some(event) = value_in(&text).filter(|_| self.reply.format == Format::Json) {
            acts.extend(self.event(event));
        }
        acts.extend(self.turns.end());
        (acts, HeardCall { turns: self.turns, text: self.secrets.clean(&text).into_owned(), git: self.git })
    }

    fn of_git(&mut self, what: &str) {
        if self.git.len() < GIT_LINES {
            self.git.push(self.secrets.clean(what).into_owned());
        }
    }

    fn keep(&mut self, line: &str) {
        self.bytes += line.len() + 1;
        self.lines.push_back(line.to_owned());
        while self.bytes > TEXT {
            let Some(first) = self.lines.pop_front() else { break };
            self.bytes -= first.len() + 1;
        }
    }

    /// The session that a line beside the answer tells.
    fn session_in(&mut self, line: &str) -> Vec<Act> {
        let Some(id) = self.reply.session_in(line) else { return Vec::new() };
        self.is_session_told = true;
        if id.is_empty() { Vec::new() } else { vec![Act::Session(id.to_owned())] }
    }

    /// The session where the last line of a text tells it, or the first: a line like it in the middle is the answer's own.
    fn session_around_the_text(&mut self) -> Vec<Act> {
        if self.is_session_told {
            return Vec::new();
        }
        let is_text = |line: &String| !line.trim().is_empty();
        let ends = [self.lines.iter().rposition(is_text), self.lines.iter().position(is_text)];
        let tells = |at: &usize| self.reply.session_in(&self.lines[*at]).is_some();
        let Some(at) = ends.into_iter().flatten().find(tells) else { return Vec::new() };
        let line = self.lines.remove(at).unwrap_or_default();
        self.session_in(&line)
    }

    fn event(&mut self, event: Value) -> Vec<Act> {
        let event = self.secrets.clean_value(event);
        let told: Vec<Told> = told(&self.reply.events, &event);
        told.into_iter().flat_map(|told| self.turns.take(told)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::definition::Definition;
    use super::super::reply::UsedBefore;
    use super::*;

    /// The sessions that are told, and the answer.
    fn heard(agent: &str, heard: &[Heard<'_>]) -> (Vec<String>, String) {
        let definition = Definition::find(std::path::Path::new("/no/such/home"), agent).unwrap();
        let turns = Turns::new(0, UsedBefore::default());
        let mut listener = Listener::new(&definition.reply, Secrets::default(), turns);
        let mut acts: Vec<Act> = heard.iter().flat_map(|heard| listener.hear(heard)).collect();
        let (last, call) = listener.end();
        acts.extend(last);
        let session = |act| if let Act::Session(id) = act { Some(id) } else { None };
        (acts.into_iter().filter_map(session).collect(), call.answer(definition.reply.format))
    }

    #[test]
    fn a_session_is_told_beside_the_answer_or_around_it_and_not_in_its_middle() {
        let answer = ["---", "$status: done", "---", "The log has:", "session_id: 1", "as it should."];
        let lines = || answer.map(Heard::Line);
        let beside = [Heard::Complaint("session_id: s1")];
        let (sessions, told) = heard("hermes", &lines().into_iter().chain(beside).collect::<Vec<_>>());
        assert_eq!((sessions, told), (vec!["s1".to_owned()], answer.join("\n")));
        // As of versions before 0.19.
        for after in [true, false] {
            let line = [Heard::Line("session_id: s2")];
            let all: Vec<Heard<'_>> = if after {
                lines().into_iter().chain(line).collect()
            } else {
                line.into_iter().chain(lines()).collect()
            };
            assert_eq!(heard("hermes", &all), (vec!["s2".to_owned()], answer.join("\n")));
        }
        let (sessions, told) = heard("hermes", &lines());
        assert!(sessions.is_empty() && told == answer.join("\n"), "{told}");
        let last = [
            Heard::Line("The last line is"),
            Heard::Line("session_id: 1"),
            Heard::Complaint("session_id: s3"),
        ];
        assert_eq!(
            heard("hermes", &last),
            (vec!["s3".to_owned()], "The last line is\nsession_id: 1".to_owned())
        );
    }

    #[test]
    fn of_a_text_without_an_end_the_end_is_kept() {
        let line = "x".repeat(1 << 20);
        let lines: Vec<Heard<'_>> =
            (0..20).map(|_| Heard::Line(&line)).chain([Heard::Line("the end")]).collect();
        let (_, answer) = heard("command", &lines);
        assert!(answer.len() <= TEXT && answer.ends_with("\nthe end"), "{}", answer.len());
    }
}
