//! Which of the agent's sessions a visit goes on with, and what is said there.
//!
//! A session is gone on with by who knows what it knows: the run that it is in the middle of, or a visit that follows the one that
//! it ended with. Any other visit begins one, which is told everything.

use uwf_engine::{RoleContext, ThreadError, thread};
use uwf_prompts::{PromptError, SaidView, transcript};
use uwf_store::{Hash, Store};

use super::Visit;
use super::open::opening;
use crate::external::argv::CallKind;
use crate::external::definition::SessionId;
use crate::external::sessions::{KnownSession, Sessions};
use crate::journal::Entry;
use crate::project::ProjectWords;
use crate::provider::message::{Message, MessageKind, Speaker};
use crate::react::Stopped;

/// The role's session, where it knows what was done: `run` is the run that is gone on with, if one is.
pub(super) fn usable(
    sessions: &Sessions,
    (store, context): (&Store, &RoleContext),
    run: Option<&str>,
) -> Result<Option<KnownSession>, ThreadError> {
    let key = Sessions::role(context.thread.as_str(), &context.role_name);
    let Some(known) = sessions.get(&key) else { return Ok(None) };
    if run == Some(&known.run) {
        return Ok(Some(known));
    }
    let last = last_visit(store, context)?;
    Ok(Some(known).filter(|known| known.seen.is_some() && known.seen == last))
}

/// The record of the role's last visit, whose step may have been stored again since.
fn last_visit(store: &Store, context: &RoleContext) -> Result<Option<Hash>, ThreadError> {
    let last = context.steps.iter().rev().find(|step| step.role == context.role_name);
    last.map(|step| Ok(thread::step_node(store, &step.hash)?.detail)).transpose()
}

impl Visit<'_> {
    pub(super) fn key(&self) -> String {
        Sessions::role(self.context.thread.as_str(), &self.context.role_name)
    }

    /// Whether the next call goes on with a session.
    pub(super) fn goes_on(&self) -> bool {
        self.place.agent.definition.has_sessions() && self.session.is_some()
    }

    /// Whether the agent was at work on this visit already.
    pub(super) fn was_at_work(&self) -> bool {
        let run = self.journal.session();
        let in_session = self.goes_on() && self.session.as_ref().is_some_and(|session| session.run == run);
        in_session || self.journal.entries().iter().any(|entry| matches!(entry, Entry::Answered { .. }))
    }

    /// The session of the next call, and which kind of call that is. From here on it is in the middle of this visit.
    pub(super) fn session_of_call(&mut self) -> Result<CallKind, Stopped> {
        if self.goes_on() {
            let id = self.session.as_ref().map(|session| session.id.clone()).unwrap_or_default();
            self.begins_session(&id);
            return Ok(CallKind::Resume);
        }
        let definition = self.place.agent.definition;
        if definition.session == SessionId::Given {
            let id = self.sessions.new_id();
            if definition.keeps_session_file() {
                self.sessions.make_directory_of(&id).map_err(|source| self.journal_failed(source))?;
            }
            self.begins_session(&id);
        }
        Ok(CallKind::First)
    }

    /// A session that is in the middle of this visit: whoever comes back after an interruption goes on with it.
    pub(super) fn begins_session(&mut self, id: &str) {
        let (id, run) = (id.to_owned(), self.journal.session().to_owned());
        if self.session.as_ref().is_some_and(|known| known.id == id && known.run == run) {
            return;
        }
        let before = self.session.take().filter(|known| known.id == id).unwrap_or_default();
        let session = KnownSession { id, run, seen: None, ..before };
        // What cannot be remembered is told anew the next time.
        self.sessions.keep(&self.key(), session.clone()).ok();
        self.session = Some(session);
    }

    /// The agent does not know the session any more: a new one is told everything.
    pub(super) fn begin_anew(&mut self) -> Result<(), Stopped> {
        self.session = None;
        self.sessions.forget(&self.key()).ok();
        self.say_all()
    }

    /// What the opening left out is said where no session has it: of a run that began in one, which is gone.
    pub(super) fn say_what_is_missing(&mut self) -> Result<(), Stopped> {
        let entries = self.journal.entries();
        let Some(Entry::Run { opening, .. }) = entries.first() else { return Ok(()) };
        let is_opening = |entry: &Entry| matches!(entry, Entry::Said { message, .. } if message.kind == MessageKind::Opening);
        let is_said_since = entries.iter().skip(1 + opening).any(is_opening);
        let is_short = *opening < self.whole_opening()?.len();
        if is_short && !is_said_since && !self.goes_on() { self.say_all() } else { Ok(()) }
    }

    fn whole_opening(&self) -> Result<Vec<Message>, PromptError> {
        let project = match self.journal.entries().first() {
            Some(Entry::Run { project, .. }) => project.clone(),
            _ => ProjectWords::default(),
        };
        Ok(opening(self.context, (self.place.workspace, &project))?.messages().to_vec())
    }

    fn say_all(&mut self) -> Result<(), Stopped> {
        let all = self.whole_opening()?;
        let [_, said @ ..] = all.as_slice() else { return Ok(()) };
        if said.len() > 1 {
            let text = transcript("", &told(said))?;
            self.say(MessageKind::Opening, text.trim().to_owned())?;
        }
        Ok(())
    }

    /// The text of the next call: in a session what was not said there, else everything.
    pub(super) fn prompt(&self, in_session: bool) -> Result<String, PromptError> {
        let messages = self.state.conversation.messages();
        if in_session {
            let is_said = |message: &&Message| !matches!(message.role, Speaker::Assistant | Speaker::Tool);
            let unsaid: Vec<&str> =
                messages.iter().rev().take_while(is_said).map(|message| message.content.as_str()).collect();
            return Ok(unsaid.into_iter().rev().collect::<Vec<_>>().join("\n\n"));
        }
        let Some((rules, said)) = messages.split_first() else { return Ok(String::new()) };
        transcript(&rules.content, &told(said))
    }

    /// The session of an attempt that failed is no one to go on with: the next begins with everything that is on record. Else it has
    /// seen what the record of this visit has.
    pub(super) fn remember(&self, record: Option<Hash>) {
        let session = self.session.clone().zip(record);
        let done = session.map_or_else(
            || self.sessions.forget(&self.key()),
            |(session, record)| {
                self.sessions.keep(&self.key(), KnownSession { seen: Some(record), ..session })
            },
        );
        done.ok();
    }
}

/// What was said in a conversation, as an agent is told it that remembers nothing of it.
fn told(messages: &[Message]) -> Vec<SaidView<'_>> {
    let said = messages.iter().filter(|message| {
        message.role != Speaker::Tool && message.role != Speaker::System && !message.content.trim().is_empty()
    });
    said.map(|message| SaidView { own: message.role == Speaker::Assistant, text: &message.content }).collect()
}
