//! The state of a run: all that the loop decides by, made from the journal's entries alone.
//!
//! Apart so that there is one way from what happened to what is done next. A run that goes on applies each entry once
//! it is written; one that is resumed, and a question to a finished step, apply the entries that they find. Pure: it
//! reads no clock, decides nothing and writes nothing.

use std::time::Duration;

use uwf_engine::catalogue::Prices;
use uwf_store::Hash;
use uwf_tools::ReadState;

use crate::budget::{Budget, Spent, Use};
use crate::context_window::ContextWindow;
use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::journal::{Concern, Entry, OutOfOrder, ToolFacts};
use crate::loop_guard::{Repetition, RepetitionDetector};
use crate::prices;
use crate::project::Told;
use crate::provider::message::{Message, MessageKind, Speaker, TokenUsage, ToolCall, ToolChoice};
use crate::usd::Usd;

/// What a run has come to; by default one of which nothing has happened, under no settings in particular.
#[derive(Debug, Default)]
pub struct RunState {
    /// What the next request will say.
    pub(crate) conversation: Conversation,
    /// What may still be spent.
    pub(crate) budget: Budget,
    /// What was spent.
    pub spent: Spent,
    /// How full the model's window is.
    pub(crate) window: ContextWindow,
    /// Whether it goes in circles.
    pub(crate) loop_guard: RepetitionDetector,
    /// How often the model was reminded to answer since the last text.
    pub(crate) nudges: usize,
    /// How often an answer was sent back.
    pub(crate) corrections: usize,
    /// The next turn is granted already, and the model was told what it must know.
    pub(crate) admitted: Option<ToolChoice>,
    /// The model's last turn, while nothing or not all of it was done.
    pub(crate) turn: Option<AssistantTurn>,
    /// Calls that have started and not finished.
    pub(crate) started: Vec<String>,
    /// What the model knows of files, oldest first.
    pub(crate) read_states: Vec<ReadState>,
    /// What the conversation has of the project's own words.
    pub(crate) told: Told,
    /// How the run ended and when, if that was decided; no failure is an answer.
    pub(crate) ended: Option<(Option<Failure>, u64)>,
    /// Whether people were told that the endpoint seems to cut what it is sent.
    pub(crate) warned_of_cut: bool,
    /// The workspace as it was captured last.
    pub(crate) captured: Option<Hash>,
    /// Whether the workspace cannot be captured.
    pub(crate) uncaptured: bool,
    /// Whether people were told that snapshots do not have all of the workspace.
    pub(crate) warned_of_snapshot: bool,
    /// What the model costs.
    prices: Option<Prices>,
    /// Whether the endpoint has told what a turn cost.
    cost_is_reported: bool,
    /// Whether nobody knows what some turn cost.
    unpriced: bool,
    worked: Worked,
    /// What was said while calls were open.
    waiting: Vec<Message>,
    /// How long the conversation was, in tokens, when the model was asked to sum it up and did not.
    unsummarised: Option<u64>,
}

/// A turn of the model that is not acted on to the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AssistantTurn {
    /// The calls that are still to be answered.
    pub calls: Vec<ToolCall>,
    /// What it said.
    pub text: String,
    /// Whether it thought aloud.
    pub thought: bool,
}

impl AssistantTurn {
    /// What there is to do about a turn of the model.
    pub(crate) fn of(message: &Message) -> AssistantTurn {
        AssistantTurn {
            calls: message.tool_calls.clone(),
            text: message.content.clone(),
            thought: message.reasoning.is_some(),
        }
    }
}

/// Time worked, as the entries tell it: the pauses between the processes of a run do not count. In ms.
#[derive(Clone, Copy, Debug, Default)]
struct Worked {
    /// Before the present process's part.
    before: u64,
    /// Where that part began, and its last entry.
    from: u64,
    last: u64,
}

impl Worked {
    fn advance(&mut self, entry: &Entry) -> Duration {
        if matches!(entry, Entry::Run { .. } | Entry::Continued { .. }) {
            self.before += self.last.saturating_sub(self.from);
            self.from = entry.at();
        }
        self.last = entry.at();
        Duration::from_millis(self.before + self.last.saturating_sub(self.from))
    }
}

impl RunState {
    /// A run of which nothing has happened.
    pub(crate) fn new(budget: Budget, window: ContextWindow, prices: Option<Prices>) -> RunState {
        RunState { budget, window, prices, ..RunState::default() }
    }

    /// The same after all these entries.
    ///
    /// # Errors
    /// The first entry that cannot follow those before it, and its index.
    pub(crate) fn after(mut self, entries: &[Entry]) -> Result<RunState, (usize, OutOfOrder)> {
        for (index, entry) in entries.iter().enumerate() {
            self.apply(entry).map_err(|error| (index, error))?;
        }
        Ok(self)
    }

    /// Completions, tokens, and what they cost where that is known.
    pub fn sums(&self) -> (u64, u64, Option<Usd>) {
        let is_known = (self.cost_is_reported || self.prices.is_some()) && !self.unpriced;
        (self.spent.turns, self.spent.tokens, is_known.then_some(self.spent.usd))
    }

    /// What a turn costs, where that is known. Another model's tokens have no price here.
    pub fn cost(&self, kind: MessageKind, usage: Option<TokenUsage>) -> Option<Usd> {
        prices::cost(usage?, self.prices.as_ref().filter(|_| kind != MessageKind::Extract))
    }

    /// Whether there is hope for a summary: a model that wrote none is not asked at every turn.
    pub(crate) fn may_summarise(&self) -> bool {
        self.unsummarised.is_none_or(|then| self.window.has_grown(then))
    }

    /// The latest call of that id, as long as it stands in the conversation.
    pub fn call(&self, id: &str) -> Option<&ToolCall> {
        let mut calls = self.conversation.messages().iter().rev().flat_map(|message| &message.tool_calls);
        calls.find(|call| call.id == id)
    }

    /// Whether an entry can come next.
    ///
    /// # Errors
    /// What it does not fit to.
    pub fn check(&self, entry: &Entry) -> Result<(), OutOfOrder> {
        match entry {
            // What a signal cuts off may leave calls that go on in another process.
            Entry::Said { message, .. } if message.kind == MessageKind::Closing => Ok(()),
            Entry::Said { message, .. } => {
                self.check_settled()?;
                // An extraction has a system message of its own.
                let is_first = self.conversation.messages().is_empty();
                if message.kind != MessageKind::Extract && (message.role == Speaker::System) != is_first {
                    return Err(OutOfOrder("the system message is not the first"));
                }
                Ok(())
            }
            Entry::Answered { .. } => self.check_settled(),
            Entry::Started { call_id, .. } => match self.open_call(call_id) {
                true if !self.started.contains(call_id) => Ok(()),
                _ => Err(OutOfOrder("a call starts that is not open")),
            },
            Entry::Finished { message, .. } => {
                let is_asked = message.tool_call_id.as_ref().is_some_and(|id| self.open_call(id));
                if is_asked { Ok(()) } else { Err(OutOfOrder("a result without a call")) }
            }
            _ => Ok(()),
        }
    }

    /// Whether a call was asked for and is not answered.
    fn open_call(&self, id: &str) -> bool {
        self.turn.iter().flat_map(|turn| &turn.calls).any(|call| call.id == id)
    }

    /// Everything that was asked for is answered.
    fn check_settled(&self) -> Result<(), OutOfOrder> {
        let is_open = self.turn.as_ref().is_some_and(|turn| !turn.calls.is_empty());
        if is_open { Err(OutOfOrder("a call is left unanswered")) } else { Ok(()) }
    }

    /// Goes into the conversation: at once, or behind the results of the calls that are open.
    fn push(&mut self, message: &Message) {
        if message.role != Speaker::Tool && self.check_settled().is_err() {
            return self.waiting.push(message.clone());
        }
        self.window.append(message);
        self.conversation.push(message.clone());
    }

    /// Takes over what happened.
    ///
    /// # Errors
    /// See [`RunState::check`]; nothing is changed then.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), OutOfOrder> {
        self.check(entry)?;
        self.spent.time = self.worked.advance(entry);
        match entry {
            Entry::Said { message, near, .. } => self.appended(message, near.as_ref()),
            Entry::Answered { message, usage, .. } => self.answered(message, *usage),
            Entry::Abandoned { .. } => self.admitted = None,
            Entry::Started { call_id, .. } => self.started.push(call_id.clone()),
            Entry::Finished { message, facts, .. } => self.finished(message, facts),
            Entry::Window { size, refused: true, .. } => self.window.refused(*size),
            Entry::Window { size, refused: false, .. } => self.window.reported(*size),
            Entry::Elided { marks, .. } => {
                self.window.elided(self.conversation.elide(marks));
                self.told.retain(|call| !marks.iter().any(|mark| mark.call_id == call));
                self.unsummarised = None;
            }
            Entry::Summarised { message, kept, .. } => {
                self.window.elided(self.conversation.summarise(message.clone(), *kept));
                let messages = self.conversation.messages();
                self.told
                    .retain(|call| messages.iter().any(|said| said.tool_call_id.as_deref() == Some(call)));
                self.unsummarised = message.says_nothing().then(|| self.window.estimate());
            }
            Entry::Continued { .. } => {
                self.window.forget_endpoint();
                self.warned_of_cut = false;
                (self.uncaptured, self.warned_of_snapshot) = (false, false);
            }
            Entry::Ended { failure, at } => self.ended = Some((failure.clone(), *at)),
            Entry::Warned { about, .. } => self.warned(*about),
            Entry::Snapshot { snapshot, .. } => self.captured = Some(snapshot.tree),
            Entry::Run { project, .. } => self.told.opened(project),
            Entry::Asked { .. }
            | Entry::Sent { .. }
            | Entry::AttemptFailed { .. }
            | Entry::Signalled { .. }
            | Entry::RequestChanged { .. }
            | Entry::Learnt { .. }
            | Entry::Replied { .. } => {}
        }
        Ok(())
    }

    fn warned(&mut self, about: Concern) {
        match about {
            Concern::CutPrompt => self.warned_of_cut = true,
            Concern::NoSnapshot => self.uncaptured = true,
            Concern::PartialSnapshot => self.warned_of_snapshot = true,
            Concern::Unpriced => self.unpriced = true,
            Concern::SmallWindow | Concern::Git => {}
        }
    }

    fn appended(&mut self, message: &Message, near: Option<&Use>) {
        match message.kind {
            MessageKind::Extract => return,
            MessageKind::Nudge => (self.nudges, self.turn) = (self.nudges + 1, None),
            // A text was said: the reminders begin anew.
            MessageKind::Correction => {
                (self.corrections, self.nudges, self.turn) = (self.corrections + 1, 0, None)
            }
            MessageKind::Repeated => self.loop_guard.clear(),
            MessageKind::Warning => {
                match near {
                    Some(near) => self.budget.warned_of(near),
                    None => self.budget.notified(self.spent, false),
                }
                self.admitted = Some(ToolChoice::Auto);
            }
            MessageKind::Grace => {
                self.budget.notified(self.spent, true);
                self.admitted = Some(ToolChoice::None);
            }
            _ => {}
        }
        self.push(message);
    }

    fn answered(&mut self, message: &Message, usage: Option<TokenUsage>) {
        let cost = self.cost(message.kind, usage);
        self.spent.turn(usage, cost);
        if message.kind == MessageKind::Extract {
            return;
        }
        self.cost_is_reported |= usage.is_some_and(|usage| usage.cost_usd.is_some());
        self.unpriced |= cost.is_none();
        if cost.is_none() {
            self.budget.cost_unknown();
        }
        self.window.receive(message, usage);
        self.loop_guard.clear();
        self.conversation.receive(message.clone());
        // A summary is no turn to act on.
        if message.kind == MessageKind::Turn {
            self.admitted = None;
            self.turn = Some(AssistantTurn::of(message));
        }
    }

    fn finished(&mut self, message: &Message, facts: &ToolFacts) {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        if let Some(call) = self.call(id).cloned() {
            self.loop_guard.push(&call.name, &call.arguments, &message.content);
        }
        // A run that is stuck has only its grace turn left.
        if let Some(Repetition::Stuck { tool, times }) = self.loop_guard.repetition() {
            self.budget.circle(tool, *times);
        }
        self.started.retain(|started| started != id);
        self.read_states.extend(facts.read_state.clone());
        self.told.with(id, &facts.told);
        self.turn = self.turn.take().and_then(|mut turn| {
            turn.calls.retain(|call| call.id != id);
            (!turn.calls.is_empty()).then_some(turn)
        });
        self.push(message);
        if self.check_settled().is_ok() {
            std::mem::take(&mut self.waiting).iter().for_each(|message| self.push(message));
        }
    }
}

#[cfg(test)]
#[path = "run_state_tests.rs"]
mod tests;
