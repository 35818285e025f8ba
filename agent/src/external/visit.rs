//! A visit of a role, played by an agent of another kind: what it is told, what it does, its answer, the record.
//!
//! The same journal, state, judge and record as of a run of `uwf-builtin`, so that it is watched, resumed and read like one. Only who
//! speaks to the model is another: each call of the agent is a process, and its turns are what it tells of them.

mod call;
mod open;
mod session;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use uwf_engine::journals::sink::JournalSink;
use uwf_engine::spawn::SpawnError;
use uwf_engine::{AdapterOutput, AgentRequest, EdgePromptSource, RoleContext, thread};
use uwf_snapshot::{Options, Withheld};
use uwf_store::{Clock, Store};
use uwf_tools::sandbox::Enforced;

use self::call::{Outcome, Recorder};
use self::open::{begun, cut_off, resumed};
use self::session::usable;
use super::argv::CallValues;
use super::listener::Listener;
use super::process::{self, CallError, ExternalAgent};
use super::reply::Turns;
use super::sessions::{KnownSession, Sessions};
use crate::correct;
use crate::failure::{FailedAt, Failure};
use crate::frontmatter::{self, ExtractError, Extracted};
use crate::journal::{CapturePoint, Concern, Entry, Journal, WantedRun};
use crate::provider::message::{Message, MessageKind, Speaker};
use crate::react::{Notice, Progress, Stopped};
use crate::record::{self, FinishedRun};
use crate::resume::ResumedRun;
use crate::role_run::{Decided, RunError};
use crate::run_state::RunState;
use crate::secrets::Secrets;
use crate::settings::SharedSettings;
use crate::signals::Signal;
use crate::snapshots::{WorkspaceCapture, failed, partial, recorded};

/// Why nobody knows what a call has cost.
const CUT_OFF: &str = "a call of the agent was cut off";

/// Where a visit takes place.
pub struct VisitContext<'a> {
    /// The store that holds the thread.
    pub store: &'a Store,
    /// `$UWF_HOME`: journals and sessions are below it.
    pub home: &'a Path,
    /// The store's directory: of a workspace that it lies in, it is no part.
    pub ocas: &'a Path,
    /// The directory that the agent works in.
    pub workspace: &'a Path,
    /// Who plays.
    pub agent: &'a ExternalAgent<'a>,
    /// What of the settings of the builtin agent holds here, too.
    pub shared: &'a SharedSettings,
    /// What it runs under.
    pub sandbox: &'a Enforced,
    /// Why it does not run at all: it cannot be confined as asked.
    pub refusal: Option<&'a str>,
    /// ms since the epoch.
    pub clock: Clock,
    /// As of a [`RunContext`](crate::role_run::RunContext).
    pub claim: Option<&'a WantedRun<'a>>,
    /// Called once the run is in its journal: what that makes worthless can go.
    pub begun: &'a dyn Fn(),
    /// Who keeps the journal for other machines, if anybody does.
    pub sink: Option<&'a Arc<JournalSink>>,
}

/// Plays the role and records it, or goes on with what an `earlier` process began.
///
/// # Errors
/// See [`RunError`]. A visit that merely fails (no valid answer, an agent that fails) is a reply with `is_error`.
pub fn play(
    request: &AgentRequest,
    place: &VisitContext<'_>,
    earlier: Option<ResumedRun>,
    on_notice: &mut dyn FnMut(Notice<'_>),
) -> Result<AdapterOutput, RunError> {
    let context = thread::role_context(place.store, request)?;
    if context.edge_prompt_source == EdgePromptSource::Task {
        on_notice(Notice::Progress(Progress::NoEdgePrompt));
    }
    let turns_before = earlier.as_ref().map(|earlier| earlier.state.spent.turns);
    let was_cut_off = earlier
        .as_ref()
        .is_some_and(|earlier| cut_off(earlier.journal.entries(), place.agent.definition.reply.sums_cost()));
    let mut visit = Visit::open(&context, place, earlier, on_notice)?;
    (place.begun)();
    visit.opened(turns_before);
    let told = if was_cut_off { visit.unpriced(CUT_OFF) } else { Ok(()) };
    let outcome = told.and_then(|()| visit.decide());
    let reply = outcome
        .map_err(|source| RunError::stopped(&context, &visit.journal, source))
        .and_then(|outcome| visit.keep(&outcome));
    reply.inspect_err(|error| visit.stopped(error))
}

/// A visit under way.
pub(super) struct Visit<'a> {
    pub(super) context: &'a RoleContext,
    pub(super) place: &'a VisitContext<'a>,
    pub(super) journal: Journal,
    pub(super) state: RunState,
    on_notice: &'a mut dyn FnMut(Notice<'_>),
    pub(super) secrets: Secrets,
    pub(super) sessions: Sessions,
    /// The agent's session, as soon as it is known.
    pub(super) session: Option<KnownSession>,
    /// The model, as the agent calls it.
    pub(super) model: Option<String>,
}

impl<'a> Visit<'a> {
    fn open(
        context: &'a RoleContext,
        place: &'a VisitContext<'_>,
        earlier: Option<ResumedRun>,
        on_notice: &'a mut dyn FnMut(Notice<'_>),
    ) -> Result<Visit<'a>, RunError> {
        let definition = place.agent.definition;
        let sessions = Sessions::of(place.home, &definition.name, place.clock);
        let run = earlier.as_ref().map(|earlier| earlier.journal.session());
        let session = match definition.has_sessions() {
            true => usable(&sessions, (place.store, context), run)?,
            false => None,
        };
        let (journal, state) = match earlier {
            Some(earlier) => resumed(earlier, place)?,
            None => begun(context, place, session.is_some())?,
        };
        let journal = journal.kept_by(place.sink);
        let secrets = place.agent.secrets();
        let model = place.agent.model.map(str::to_owned);
        Ok(Visit { context, place, journal, state, on_notice, secrets, sessions, session, model })
    }

    fn opened(&mut self, resumed: Option<u64>) {
        let (session, thread) = (self.journal.session(), self.context.thread.as_str());
        let model = self.model.as_deref().unwrap_or(&self.place.agent.definition.name);
        let role = self.context.role_name.as_str();
        (self.on_notice)(Notice::Opened { session, thread, role, model, trace: None, resumed });
    }

    fn stopped(&mut self, error: &RunError) {
        let phase = error.interrupted_by().map(|_| "cancelled");
        let error = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        (self.on_notice)(Notice::Stopped { state: &self.state, phase, error: &error });
    }

    /// Time passes.
    pub(super) fn tick(&mut self) {
        (self.on_notice)(Notice::Progress(Progress::Tick));
    }

    /// Into the journal, then what follows from it into the state; then whoever listens is told.
    pub(super) fn write(&mut self, entry: Entry) -> Result<(), Stopped> {
        self.append(entry)?;
        self.take_over()
    }

    fn append(&mut self, entry: Entry) -> Result<(), Stopped> {
        self.state.check(&entry)?;
        let written = self.journal.append(entry).map(drop);
        written.map_err(|source| self.journal_failed(source))
    }

    fn take_over(&mut self) -> Result<(), Stopped> {
        let entry = self.journal.entries().last().expect("one was just written");
        self.state.apply(entry)?;
        (self.on_notice)(Notice::Entry(entry, &self.state));
        Ok(())
    }

    /// Everything written so far is durable.
    pub(super) fn sync(&mut self) -> Result<(), Stopped> {
        let synced = self.journal.sync();
        synced.map_err(|source| self.journal_failed(source))
    }

    fn journal_failed(&self, source: io::Error) -> Stopped {
        Stopped::Journal { path: self.journal.path().display().to_string(), source }
    }

    /// From the opening to the answer, or to the reason why there is none.
    fn decide(&mut self) -> Result<Decided, Stopped> {
        if let Some((Some(failure), at)) = self.state.ended.clone() {
            return Ok((Err(failure), at));
        }
        let ended = self.state.ended.clone();
        let capture = self.capturing();
        if ended.is_none() {
            self.capture(capture.as_ref(), CapturePoint::of(self.journal.entries()))?;
        }
        let outcome = match self.place.refusal.filter(|_| ended.is_none()) {
            Some(refusal) => Err(Failure { phase: FailedAt::Sandbox, error: refusal.to_owned() }),
            None => self.answer()?,
        };
        if ended.is_none() {
            self.capture(capture.as_ref(), CapturePoint::End)?;
        }
        let at = match ended {
            Some((None, at)) if outcome.is_ok() => at,
            _ => (self.place.clock)(),
        };
        self.write(Entry::Ended { failure: outcome.as_ref().err().cloned(), at })?;
        self.sync()?;
        Ok((outcome, at))
    }

    /// Calls the agent until a text is an answer; a text that is none is sent back with its errors.
    fn answer(&mut self) -> Result<Result<Extracted, Failure>, Stopped> {
        if let Some(answer) = self.left() {
            return Ok(Ok(answer));
        }
        self.say_what_is_missing()?;
        if self.was_at_work() {
            self.say(MessageKind::Nudge, uwf_prompts::RESUMED.to_owned())?;
        }
        loop {
            let text = match self.call()? {
                Outcome::Text(text) => text,
                Outcome::Failed(failure) => return Ok(Err(failure)),
                Outcome::UnknownSession => {
                    self.begin_anew()?;
                    continue;
                }
            };
            let corrections = self.state.corrections;
            let schema = (&self.context.schema, self.context.role.frontmatter);
            let error = match frontmatter::extract(&text, schema.0, schema.1) {
                Ok(answer) => return Ok(Ok(answer)),
                Err(error) => error,
            };
            if corrections == correct::MAX || matches!(error, ExtractError::Schema(_)) {
                let refused = Stopped::Refused { corrections, error, text };
                return Ok(Err(Failure { phase: FailedAt::Answer, error: refused.to_string() }));
            }
            let message = correct::turn(&error, schema.0, corrections + 1)?;
            self.write(Entry::Said { message, near: None, at: (self.place.clock)() })?;
        }
    }

    /// The answer that an interruption left: its text was told, and nothing more came; or it was taken for the answer already.
    fn left(&self) -> Option<Extracted> {
        let (schema, mapping) = (&self.context.schema, self.context.role.frontmatter);
        let answer = |text: &str| frontmatter::extract(text, schema, mapping).ok();
        if self.state.ended.is_some() {
            let texts = self.journal.entries().iter().rev().filter_map(|entry| match entry {
                Entry::Answered { message, .. } => Some(message.content.as_str()),
                _ => None,
            });
            return texts.filter(|text| !text.is_empty()).find_map(answer);
        }
        answer(&self.state.turn.as_ref().filter(|turn| turn.calls.is_empty())?.text)
    }

    pub(super) fn say(&mut self, kind: MessageKind, text: String) -> Result<(), Stopped> {
        let message = Message::text(Speaker::User, kind, text);
        self.write(Entry::Said { message, near: None, at: (self.place.clock)() })
    }

    /// One call of the agent.
    fn call(&mut self) -> Result<Outcome, Stopped> {
        let place = self.place;
        let prompt = self.prompt(self.goes_on())?;
        let before = self.session.as_ref().filter(|_| self.goes_on()).map(KnownSession::used);
        let kind = self.session_of_call()?;
        let id = self.session.as_ref().map(|session| session.id.clone()).unwrap_or_default();
        let session_file = self.sessions.file_of(&id).display().to_string();
        let (task, edge_prompt) = (self.context.start.prompt.clone(), self.context.edge_prompt.clone());
        let values =
            CallValues { prompt, task, edge_prompt, session: id, session_file, ..CallValues::default() };
        self.write(Entry::Asked { at: (place.clock)() })?;
        self.sync()?;
        let turns = Turns::new(self.calls_so_far(), before.unwrap_or_default());
        let mut listener = Listener::new(&place.agent.definition.reply, self.secrets.clone(), turns);
        let mut recorder = Recorder::new(self);
        let cache = place.home.join("cache");
        let ended = process::call(place.agent, (kind, values), (place.workspace, &cache), &mut |heard| {
            recorder.hear(&heard, &mut listener);
        });
        let heard = recorder.end(listener);
        let of_git = heard.as_ref().map(|heard| heard.git.clone()).unwrap_or_default();
        let outcome = match ended {
            Ok(finished) => self.judge(heard?, &finished, kind),
            Err(error) => {
                let told = self.unpriced(CUT_OFF);
                self.not_ended(error, heard.map(drop).and(told))
            }
        };
        let told = self.tell_of_git(&of_git);
        // Why there is no outcome counts for more.
        outcome.and_then(|outcome| told.map(|()| outcome))
    }

    /// The cost of the visit, which the agent would tell, is not known any more, whoever goes on with it: kept in the journal.
    pub(super) fn unpriced(&mut self, why: &str) -> Result<(), Stopped> {
        if !self.place.agent.definition.reply.tells_cost() {
            return Ok(());
        }
        let message = format!("{why}: what this visit costs is not known");
        self.write(Entry::Warned { about: Concern::Unpriced, message, at: (self.place.clock)() })
    }

    /// How many calls of tools there were.
    fn calls_so_far(&self) -> usize {
        let calls = self.journal.entries().iter().map(|entry| match entry {
            Entry::Answered { message, .. } => message.tool_calls.len(),
            _ => 0,
        });
        calls.sum()
    }

    /// A call that did not come to its own end.
    fn not_ended(&mut self, error: CallError, heard: Result<(), Stopped>) -> Result<Outcome, Stopped> {
        if let CallError::Process(SpawnError::Stopped { signal }) = error {
            let signal = match signal {
                2 => Signal::Interrupt,
                1 => Signal::HangUp,
                _ => Signal::Terminate,
            };
            self.write(Entry::Signalled { signal: signal.to_string(), at: (self.place.clock)() }).ok();
            self.sync().ok();
            return Err(Stopped::Interrupted(signal));
        }
        heard?;
        let phase = match &error {
            CallError::Process(SpawnError::Deadline { .. }) => FailedAt::Timeout,
            CallError::Process(SpawnError::Wait { .. }) => FailedAt::Agent,
            _ => FailedAt::Spawn,
        };
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        let error = format!("{error}{}", cause.unwrap_or_default());
        Ok(Outcome::Failed(Failure { phase, error }))
    }

    /// What is captured of the workspace, which is nothing of ours.
    fn capturing(&self) -> Option<WorkspaceCapture> {
        let options = Options { withheld: Withheld::new(self.secrets.values()), ..Options::default() };
        let VisitContext { home, ocas, workspace, store, .. } = self.place;
        let capture = WorkspaceCapture::new((home, workspace), options, (*store).clone());
        Some(capture.without([*home, *ocas].into_iter()))
    }

    /// The workspace as it is, into the store and the journal. That it cannot be captured ends nothing.
    fn capture(&mut self, workspace: Option<&WorkspaceCapture>, point: CapturePoint) -> Result<(), Stopped> {
        let is_wanted =
            !self.state.uncaptured && (point != CapturePoint::End || self.state.captured.is_some());
        let Some(workspace) = workspace.filter(|_| is_wanted) else { return Ok(()) };
        let at = (self.place.clock)();
        let snapshot = match workspace.capture(true) {
            Ok(snapshot) => snapshot,
            Err(why) => {
                let message = failed(&why);
                return self.write(Entry::Warned { about: Concern::NoSnapshot, message, at });
            }
        };
        if let Some(message) = partial(&snapshot).filter(|_| !self.state.warned_of_snapshot) {
            self.write(Entry::Warned { about: Concern::PartialSnapshot, message, at })?;
        }
        let snapshot = recorded(&snapshot);
        self.write(Entry::Snapshot { snapshot, point, call_id: None, at })
    }

    /// Records the visit, and in its journal that it is recorded.
    fn keep(&mut self, (outcome, completed_at): &Decided) -> Result<AdapterOutput, RunError> {
        let (context, store) = (self.context, self.place.store);
        let workspace = self.place.workspace.display().to_string();
        let finished = FinishedRun {
            agent: &self.place.agent.definition.name,
            session: self.session.as_ref().map_or("", |session| session.id.as_str()),
            // Where it is not told, its agent's name says more than nothing.
            model: Some(self.model.as_deref().unwrap_or(&self.place.agent.definition.name)),
            is_replayable: false,
            assembled: self.state.conversation.assembled(),
            cost: self.state.sums().2,
            trace: None,
            entries: self.journal.entries(),
            journal: self.journal.path(),
            workspace: &workspace,
            outcome,
            completed_at: *completed_at,
        };
        let reply = record::write(store, context, &finished);
        let reply = reply.map_err(|source| RunError::unrecorded(context, &self.journal, source))?;
        let stopped = |visit: &Visit<'_>, source| RunError::stopped(context, &visit.journal, source);
        let replied = Entry::Replied { reply: json!(reply), at: (self.place.clock)() };
        self.append(replied).and_then(|()| self.sync()).map_err(|source| stopped(self, source))?;
        record::settle(store, context, &reply)
            .map_err(|source| RunError::unrecorded(context, &self.journal, source))?;
        self.remember(Some(reply.detail_hash).filter(|_| outcome.is_ok()));
        self.take_over().map_err(|source| stopped(self, source))?;
        Ok(reply)
    }
}

/// When an entry that has a duration began, and how long it took, in ms.
pub(super) fn took(since: Instant) -> u64 {
    crate::react::millis(since.elapsed())
}
