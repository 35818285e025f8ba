//! How far a run has come: all that the loop decides by, made from the journal's entries alone.
//!
//! Apart so that there is one way from what happened to what is done next: a run that continues applies the entries
//! it finds, one that goes on applies each as it writes it. Pure; it decides nothing and writes nothing.

use std::time::Duration;

use uwf_engine::catalogue::Prices;

use crate::budget::{Budget, Spent};
use crate::conversation::Conversation;
use crate::doom::{Alarm, Doom};
use crate::journal::Entry;
use crate::prices::{self, Usd};
use crate::provider::message::{Kind, Message, TokenUsage};
use crate::window::Window;

/// How far a run has come.
#[derive(Debug)]
pub(crate) struct Course {
    /// What the next request will say.
    pub conversation: Conversation,
    /// What may still be spent.
    pub budget: Budget,
    /// What was spent.
    pub spent: Spent,
    /// How full the model's window is.
    pub window: Window,
    /// Whether it goes in circles.
    pub doom: Doom,
    /// How often the model was reminded to answer since the last text.
    pub nudges: usize,
    /// How often an answer was sent back.
    pub corrections: usize,
    /// What the model costs.
    pub prices: Option<Prices>,
    /// Whether the endpoint has told what a turn cost.
    told_cost: bool,
    /// Whether nobody knows what some turn cost.
    unpriced: bool,
    worked: Worked,
    /// How long the conversation was, in tokens, when the model was asked to sum it up and did not.
    unsummed: Option<u64>,
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
    fn go_on(&mut self, entry: &Entry) -> Duration {
        if matches!(entry, Entry::Run { .. } | Entry::Continued { .. }) {
            self.before += self.last.saturating_sub(self.from);
            self.from = entry.at();
        }
        self.last = entry.at();
        Duration::from_millis(self.before + self.last.saturating_sub(self.from))
    }
}

impl Course {
    /// A run of which nothing has happened.
    pub(crate) fn new(budget: Budget, window: Window, prices: Option<Prices>) -> Course {
        let (conversation, spent, doom) = (Conversation::default(), Spent::default(), Doom::default());
        Course {
            conversation,
            budget,
            spent,
            window,
            doom,
            nudges: 0,
            corrections: 0,
            prices,
            told_cost: false,
            unpriced: false,
            worked: Worked::default(),
            unsummed: None,
        }
    }

    /// Completions, tokens, and what they cost where that is known.
    pub(crate) fn sums(&self) -> (u64, u64, Option<Usd>) {
        let is_known = (self.told_cost || self.prices.is_some()) && !self.unpriced;
        (self.spent.turns, self.spent.tokens, is_known.then_some(self.spent.usd))
    }

    /// What a turn costs, where that is known. Another model's tokens have no price here.
    pub(crate) fn cost(&self, kind: Kind, usage: Option<TokenUsage>) -> Option<Usd> {
        prices::cost(usage?, self.prices.as_ref().filter(|_| kind != Kind::Extract))
    }

    /// Takes over what happened.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        self.spent.time = self.worked.go_on(entry);
        match entry {
            Entry::Said { message, .. } => self.said(message),
            Entry::Answered { message, usage, .. } => {
                let cost = self.cost(message.kind, *usage);
                self.spent.turn(*usage, cost);
                if message.kind == Kind::Extract {
                    return;
                }
                self.told_cost |= usage.is_some_and(|usage| usage.cost_usd.is_some());
                self.unpriced |= cost.is_none();
                if cost.is_none() {
                    self.budget.cost_unknown();
                }
                self.window.heard(message, *usage);
                self.doom.answered();
                self.conversation.hear(message.clone());
            }
            Entry::Finished { message, .. } => self.finished(message),
            Entry::LeftOut { marks, .. } => {
                self.window.left_out(self.conversation.leave_out(marks));
                self.unsummed = None;
            }
            Entry::SummedUp { message, kept, .. } => {
                self.window.left_out(self.conversation.sum_up(message.clone(), *kept));
                self.unsummed = message.says_nothing().then(|| self.window.estimate());
            }
            Entry::Run { .. }
            | Entry::Continued { .. }
            | Entry::Learnt { .. }
            | Entry::Started { .. }
            | Entry::Ended { .. }
            | Entry::Replied { .. } => {}
        }
    }

    /// Whether there is hope for a summary: a model that wrote none is not asked at every turn.
    pub(crate) fn may_sum_up(&self) -> bool {
        self.unsummed.is_none_or(|then| self.window.has_grown(then))
    }

    /// A run that is stuck has only its grace turn left.
    pub(crate) fn end_circle(&mut self) {
        if let Some(Alarm::Stuck { tool, times }) = self.doom.alarm() {
            self.budget.circle(tool, *times);
        }
    }

    fn said(&mut self, message: &Message) {
        match message.kind {
            Kind::Extract => return,
            Kind::Nudge => self.nudges += 1,
            // A text was said: the reminders begin anew.
            Kind::Correction => (self.corrections, self.nudges) = (self.corrections + 1, 0),
            Kind::Repeated => self.doom.answered(),
            Kind::Warning => self.budget.told(self.spent, false),
            Kind::Grace => {
                self.end_circle();
                self.budget.told(self.spent, true);
            }
            _ => {}
        }
        self.window.said(message);
        self.conversation.push(message.clone());
    }

    fn finished(&mut self, message: &Message) {
        let mut calls = self.conversation.messages().iter().rev().flat_map(|message| &message.tool_calls);
        if let Some(call) = calls.find(|call| Some(&call.id) == message.tool_call_id.as_ref()) {
            self.doom.note(&call.name, &call.arguments, &message.content);
        }
        self.window.said(message);
        self.conversation.push(message.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::budget::{Ended, Limits, Verdict};
    use crate::provider::message::{Speaker, ToolCall};

    fn course() -> Course {
        let limits = Limits { turns: 10, tokens: None, time: None, usd: None };
        let prices =
            Prices { input: 1.0, output: 1.0, cached_input: None, cache_write: None, tiers: Vec::new() };
        Course::new(Budget::new(limits), Window::new(1000, 0), Some(prices))
    }

    fn answered(message: Message) -> Entry {
        let usage = Some(TokenUsage { input_tokens: 100, output_tokens: 10, ..TokenUsage::default() });
        Entry::Answered { message, at: 0, duration_ms: 0, usage, finish_reason: None, raw: Value::Null }
    }

    /// A turn that calls, and its result.
    fn round(id: &str) -> [Entry; 2] {
        let call = ToolCall { id: id.into(), name: "grep".into(), arguments: "{}".into() };
        let turn = Message { tool_calls: vec![call], ..Message::text(Speaker::Assistant, Kind::Turn, "") };
        let message = Message::result(id, "nothing");
        [answered(turn), Entry::Finished { message, at: 0, duration_ms: 0, facts: Default::default() }]
    }

    fn said(kind: Kind) -> Entry {
        Entry::Said { message: Message::text(Speaker::User, kind, "x"), at: 0 }
    }

    #[test]
    fn what_happened_decides_what_is_next() {
        let mut course = course();
        ["a", "b", "c"].iter().flat_map(|id| round(id)).for_each(|entry| course.apply(&entry));
        assert_eq!(course.doom.alarm(), Some(&Alarm::Repeated { tool: "grep".into(), times: 3 }));
        course.apply(&said(Kind::Repeated));
        assert_eq!(course.doom.alarm(), None, "it was told");
        assert_eq!((course.spent.turns, course.spent.tokens), (3, 330));
        assert_eq!(course.spent.usd.to_string(), "$0.0003");
        course.apply(&said(Kind::Nudge));
        course.apply(&said(Kind::Nudge));
        assert_eq!(course.nudges, 2);
        course.apply(&said(Kind::Correction));
        assert_eq!((course.nudges, course.corrections), (0, 1));
    }

    #[test]
    fn a_warning_that_was_given_is_not_given_again() {
        let mut course = course();
        (0..8).flat_map(|n| round(&n.to_string())).for_each(|entry| course.apply(&entry));
        course.apply(&said(Kind::Warning));
        assert_eq!(course.budget.next(course.spent), Verdict::Go);
        course.apply(&said(Kind::Grace));
        let spent = Spent { turns: 10, ..course.spent };
        assert!(matches!(course.budget.next(spent), Verdict::Stop(_)));
    }

    #[test]
    fn a_model_that_wrote_no_summary_is_asked_again_when_more_was_said() {
        let mut course = course();
        let summed_up = |text: &str| {
            let message = Message::text(Speaker::User, Kind::Recap, text);
            Entry::SummedUp { message, kept: 2, at: 0 }
        };
        round("a").iter().for_each(|entry| course.apply(entry));
        course.apply(&said(Kind::Summary));
        course.apply(&summed_up(""));
        assert_eq!((course.conversation.messages().len(), course.may_sum_up()), (2, false));
        let long = Message::text(Speaker::User, Kind::Warning, "x".repeat(500));
        course.apply(&Entry::Said { message: long, at: 0 });
        assert!(course.may_sum_up());
        course.apply(&summed_up(""));
        course.apply(&Entry::LeftOut { marks: Vec::new(), at: 0 });
        assert!(course.may_sum_up(), "and when there is room for it");
    }

    #[test]
    fn a_circle_is_still_one_after_its_grace_turn_was_interrupted() {
        let mut course = course();
        ["a", "b", "c", "d", "e"].iter().flat_map(|id| round(id)).for_each(|entry| course.apply(&entry));
        course.apply(&said(Kind::Grace));
        course.apply(&answered(Message::text(Speaker::Assistant, Kind::Turn, "I do not know.")));
        assert!(matches!(course.budget.next(course.spent), Verdict::Stop(Ended::Circle { .. })));
    }

    #[test]
    fn an_extraction_is_paid_for_and_not_said() {
        let mut course = course();
        course.apply(&said(Kind::Opening));
        course.apply(&said(Kind::Extract));
        course.apply(&answered(Message::text(Speaker::Assistant, Kind::Extract, "{}")));
        assert_eq!((course.conversation.messages().len(), course.spent.turns), (1, 1));
    }
}
