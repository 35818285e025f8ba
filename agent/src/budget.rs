//! How much a run may spend: turns, tokens, wall time, money. A pure state machine, asked before every turn.
//!
//! Apart so that the loop holds no counters. It reads no clock: elapsed time comes in. Each limit warns at 80 % and
//! at 95 %; once a limit is reached there is one grace turn (no tools, the answer now), and then the run stops. A run
//! that goes in circles ends the same way.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::provider::message::TokenUsage;
use crate::usd::Usd;

/// What a run may spend; `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Completions, the grace turn not counted.
    pub turns: u64,
    /// Input and output tokens together, as the endpoint counts them.
    pub tokens: Option<u64>,
    /// Wall time from the start of the run.
    pub time: Option<Duration>,
    /// What the endpoint charges, where it or the model's prices tell.
    pub usd: Option<Usd>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { turns: 60, tokens: None, time: Some(Duration::from_secs(3600)), usd: None }
    }
}

/// What was spent up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Completions.
    pub turns: u64,
    /// Input and output tokens together.
    pub tokens: u64,
    /// Wall time.
    pub time: Duration,
    /// Money, as far as it is known.
    pub usd: Usd,
}

impl Spent {
    /// One more completion.
    pub(crate) fn turn(&mut self, usage: Option<TokenUsage>, cost: Option<Usd>) {
        let usage = usage.unwrap_or_default();
        self.turns += 1;
        self.tokens += usage.input_tokens + usage.output_tokens;
        self.usd += cost.unwrap_or_default();
    }
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Completions.
    Turns,
    /// Input and output tokens.
    Tokens,
    /// Wall time.
    Seconds,
    /// Money; amounts are billionths of a dollar.
    Usd,
}

impl Unit {
    /// The word for it: `turns`, `tokens`, `seconds` or `usd`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Unit::Turns => "turns",
            Unit::Tokens => "tokens",
            Unit::Seconds => "seconds",
            Unit::Usd => "usd",
        }
    }
}

/// One of the limits, with what was spent of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// What is counted.
    pub unit: Unit,
    /// Spent.
    pub used: u64,
    /// Allowed.
    pub total: u64,
}

impl Use {
    /// An amount of this unit in words, without the unit's name where it is money.
    pub(crate) fn amount(&self, amount: u64) -> String {
        match self.unit {
            Unit::Usd => Usd::of_billionths(amount).to_string(),
            _ => amount.to_string(),
        }
    }

    /// The whole of it in words: `60 turns`, `$0.5000`.
    pub(crate) fn whole(&self) -> String {
        match self.unit {
            Unit::Usd => self.amount(self.total),
            unit => format!("{} {}", self.total, unit.as_str()),
        }
    }

    /// How much of it is spent, in percent.
    pub(crate) fn percent(&self) -> u64 {
        self.used.saturating_mul(100).checked_div(self.total).unwrap_or(100)
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.amount(self.used), self.whole())
    }
}

/// What ended a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A limit is reached.
    Limit(Use),
    /// A limit in money is set, and nobody tells what a turn cost.
    CostUnknown {
        /// The limit.
        limit: Usd,
    },
    /// The model called the same tool again and again with the same arguments and the same result.
    Circle {
        /// The tool.
        tool: String,
        /// How often.
        times: usize,
    },
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Limit(use_) => write!(f, "the budget is used up: {use_}"),
            Ended::CostUnknown { limit } => write!(
                f,
                "a limit of {limit} is set, and nobody knows what a turn cost: the endpoint does not tell, \
                 and there is no price, or no count of tokens"
            ),
            Ended::Circle { tool, times } => write!(
                f,
                "the run went in circles: {tool} came {times} times with the same arguments and the same result"
            ),
        }
    }
}

/// What may happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A turn like any other.
    Go,
    /// A turn, but the model is told first that this limit is near.
    Warn(Use),
    /// The last turn: no tools, the answer now.
    Grace(Ended),
    /// Nothing more: this ended the run.
    Stop(Ended),
}

/// The state of a run's budget.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limits: Limits,
    /// Per limit, the highest mark (in percent) that was warned of.
    warned: [u64; 4],
    graced: bool,
    /// When the grace turn is over at the latest, since the beginning of the run, once it was granted.
    grace_ends: Option<Duration>,
    /// What ended the run, where that is no limit that was reached.
    ended: Option<Ended>,
}

/// The grace turn may take what is left of the time, but at least this part of the whole,
const GRACE_PART: u32 = 5;
/// unless that is longer than this.
const GRACE: Duration = Duration::from_secs(120);

/// The marks, in percent, at which the model is told.
const MARKS: [u64; 2] = [80, 95];

impl Budget {
    /// A budget of which nothing is spent.
    pub(crate) fn new(limits: Limits) -> Budget {
        Budget { limits, ..Budget::default() }
    }

    /// Decides on the next turn. A warning, or the grace turn, is due until [`Budget::notified`] says that it was given.
    pub(crate) fn next(&self, spent: Spent) -> Verdict {
        let uses = self.uses(spent);
        let reached = uses.into_iter().flatten().find(|u| u.used >= u.total).map(Ended::Limit);
        if let Some(ended) = self.ended.clone().or(reached) {
            return if self.graced { Verdict::Stop(ended) } else { Verdict::Grace(ended) };
        }
        match self.passed(spent) {
            Some((use_, ..)) => Verdict::Warn(use_),
            None => Verdict::Go,
        }
    }

    /// The run goes in circles: the next turn is the grace turn.
    pub(crate) fn circle(&mut self, tool: &str, times: usize) {
        self.ended = Some(Ended::Circle { tool: tool.to_owned(), times });
    }

    /// A turn was paid for, and nobody knows how much: a limit in money cannot be kept.
    pub(crate) fn cost_unknown(&mut self) {
        if let (Some(limit), None) = (self.limits.usd, &self.ended) {
            self.ended = Some(Ended::CostUnknown { limit });
        }
    }

    /// The model was told of the limit that is near, or of its last turn.
    pub(crate) fn notified(&mut self, spent: Spent, last_turn: bool) {
        if let (true, None, Some(total)) = (last_turn, self.grace_ends, self.limits.time) {
            self.grace_ends = Some(total.max(spent.time + GRACE.min(total / GRACE_PART)));
        }
        self.graced |= last_turn;
        if let Some((_, limit, mark)) = self.passed(spent) {
            self.warned[limit] = mark;
        }
    }

    /// The model was told of this limit, whatever the others have come to meanwhile. What counts is how much of the present
    /// limit that was: it may have been another one then.
    pub(crate) fn warned_of(&mut self, near: &Use) {
        let limit = near.unit as usize;
        let Some(present) = self.uses(Spent::default())[limit] else { return };
        let percent = Use { total: present.total, ..*near }.percent();
        let mark = MARKS.into_iter().rfind(|mark| percent >= *mark).unwrap_or_default();
        self.warned[limit] = self.warned[limit].max(mark);
    }

    /// The first limit that has passed a mark of which the model was not told: which, and the mark.
    fn passed(&self, spent: Spent) -> Option<(Use, usize, u64)> {
        let uses = self.uses(spent).into_iter().enumerate();
        uses.filter_map(|(limit, use_)| Some((limit, use_?))).find_map(|(limit, use_)| {
            let mark = MARKS.into_iter().rfind(|mark| use_.percent() >= *mark)?;
            (mark > self.warned[limit]).then_some((use_, limit, mark))
        })
    }

    /// How long a turn may take that begins when `elapsed` has passed; `None` is for ever. The grace turn, with all that is
    /// asked in it, has some time even when there is none left.
    pub(crate) fn time_left(&self, elapsed: Duration) -> Option<Duration> {
        let ends = self.grace_ends.or(self.limits.time)?;
        Some(ends.saturating_sub(elapsed))
    }

    fn uses(&self, spent: Spent) -> [Option<Use>; 4] {
        let Limits { turns, tokens, time, usd } = self.limits;
        let of = |unit, used, total: Option<u64>| total.map(|total| Use { unit, used, total });
        // In the order of the units.
        [
            of(Unit::Turns, spent.turns, Some(turns)),
            of(Unit::Tokens, spent.tokens, tokens),
            of(Unit::Seconds, spent.time.as_secs(), time.map(|time| time.as_secs())),
            of(Unit::Usd, spent.usd.billionths(), usd.map(Usd::billionths)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(turns: u64, time: Option<Duration>) -> Limits {
        Limits { turns, tokens: None, time, usd: None }
    }

    /// Asks, and tells the model what it must be told.
    fn admit(budget: &mut Budget, spent: Spent) -> Verdict {
        let verdict = budget.next(spent);
        if matches!(verdict, Verdict::Warn(_) | Verdict::Grace(_)) {
            budget.notified(spent, matches!(verdict, Verdict::Grace(_)));
        }
        verdict
    }

    fn turns(n: u64) -> Spent {
        Spent { turns: n, ..Spent::default() }
    }

    #[test]
    fn warns_twice_graces_once_then_stops() {
        let mut budget = Budget::new(limits(20, None));
        let verdicts: Vec<Verdict> = (0..=21).map(|n| admit(&mut budget, turns(n))).collect();
        let at = |used| Use { unit: Unit::Turns, used, total: 20 };
        for (n, verdict) in verdicts.iter().enumerate() {
            let expected = match n {
                16 | 19 => Verdict::Warn(at(n as u64)),
                20 => Verdict::Grace(Ended::Limit(at(20))),
                21 => Verdict::Stop(Ended::Limit(at(21))),
                _ => Verdict::Go,
            };
            assert_eq!(*verdict, expected, "before turn {n}");
        }
    }

    #[test]
    fn the_limit_that_ended_is_named() {
        let mut budget = Budget::new(Limits { tokens: Some(1000), ..limits(60, None) });
        let spent = Spent { turns: 3, tokens: 1200, ..Spent::default() };
        let ended = Ended::Limit(Use { unit: Unit::Tokens, used: 1200, total: 1000 });
        assert_eq!(admit(&mut budget, spent), Verdict::Grace(ended));
        let Verdict::Stop(ended) = admit(&mut budget, spent) else { panic!("one grace turn only") };
        assert_eq!(ended.to_string(), "the budget is used up: 1200 of 1000 tokens");
    }

    #[test]
    fn time_counts_in_seconds() {
        let limit = Some(Duration::from_secs(10));
        let mut budget = Budget::new(limits(60, limit));
        let at = |ms| Spent { time: Duration::from_millis(ms), ..Spent::default() };
        assert_eq!(admit(&mut budget, at(7_999)), Verdict::Go);
        assert!(matches!(admit(&mut budget, at(8_000)), Verdict::Warn(_)));
        assert_eq!(admit(&mut budget, at(8_500)), Verdict::Go);
        assert!(matches!(admit(&mut budget, at(10_000)), Verdict::Grace(_)));
    }

    #[test]
    fn no_turn_outlives_the_time_and_the_grace_turn_by_no_more_than_its_part() {
        let mut budget = Budget::new(limits(60, Some(Duration::from_secs(10))));
        assert_eq!(budget.time_left(Duration::from_secs(4)), Some(Duration::from_secs(6)));
        assert_eq!(budget.time_left(Duration::from_secs(40)), Some(Duration::ZERO));
        admit(&mut budget, Spent { time: Duration::from_secs(10), ..Spent::default() });
        assert_eq!(budget.time_left(Duration::from_secs(10)), Some(Duration::from_secs(2)));
        for (total, elapsed, grace) in [(1, 1, 200), (40, 41, 8_000), (40, 10, 30_000), (3600, 4000, 120_000)]
        {
            let mut budget = Budget::new(limits(60, Some(Duration::from_secs(total))));
            let elapsed = Duration::from_secs(elapsed);
            budget.notified(Spent { time: elapsed, ..Spent::default() }, true);
            let left = budget.time_left(elapsed);
            assert_eq!(left, Some(Duration::from_millis(grace)), "{elapsed:?} of {total}");
            // It is granted once, whatever is asked in it.
            let later = elapsed + Duration::from_millis(100);
            budget.notified(Spent { time: later, ..Spent::default() }, true);
            assert_eq!(budget.time_left(later), Some(Duration::from_millis(grace - 100)));
        }
        let unlimited = Budget::new(limits(60, None));
        assert_eq!(unlimited.time_left(Duration::from_secs(4)), None);
    }

    #[test]
    fn a_budget_of_no_turns_still_gives_the_grace_turn() {
        let mut budget = Budget::new(limits(0, None));
        assert!(matches!(admit(&mut budget, turns(0)), Verdict::Grace(_)));
        assert!(matches!(admit(&mut budget, turns(1)), Verdict::Stop(_)));
    }

    #[test]
    fn money_is_a_limit_where_prices_are_known() {
        let mut budget = Budget::new(Limits { usd: Some(Usd::dollars(1.0)), ..limits(60, None) });
        let mut spent = Spent::default();
        let usage = Some(TokenUsage { input_tokens: 40_000, output_tokens: 1_000, ..TokenUsage::default() });
        spent.turn(usage, None);
        assert_eq!(spent.usd, Usd::default());
        let cost = Some(Usd::dollars(0.41));
        spent.turn(usage, cost);
        assert_eq!(admit(&mut budget, spent), Verdict::Go);
        spent.turn(usage, cost);
        let Verdict::Warn(near) = admit(&mut budget, spent) else { panic!("82 % are spent") };
        assert_eq!((near.to_string(), near.unit.as_str()), ("$0.8200 of $1.00".to_owned(), "usd"));
        spent.turn(usage, cost);
        assert!(matches!(admit(&mut budget, spent), Verdict::Grace(_)));
    }

    #[test]
    fn a_limit_in_money_that_cannot_be_kept_ends_a_run() {
        let mut free = Budget::new(limits(60, None));
        free.cost_unknown();
        assert_eq!(admit(&mut free, turns(1)), Verdict::Go);
        let mut budget = Budget::new(Limits { usd: Some(Usd::dollars(1.0)), ..limits(60, None) });
        budget.cost_unknown();
        assert!(matches!(admit(&mut budget, turns(1)), Verdict::Grace(Ended::CostUnknown { .. })));
        let Verdict::Stop(ended) = admit(&mut budget, turns(2)) else { panic!("one grace turn only") };
        assert!(ended.to_string().starts_with("a limit of $1.00 is set, and nobody knows"), "{ended}");
    }

    #[test]
    fn a_circle_ends_a_run_like_a_limit_and_is_named() {
        let mut budget = Budget::new(limits(1, None));
        budget.circle("grep", 5);
        assert!(matches!(admit(&mut budget, turns(0)), Verdict::Grace(Ended::Circle { .. })));
        let Verdict::Stop(ended) = admit(&mut budget, turns(1)) else { panic!("one grace turn only") };
        assert!(ended.to_string().contains("in circles: grep came 5 times"), "{ended}");
    }

    #[test]
    fn what_was_told_before_is_not_told_again() {
        let mut budget = Budget::new(limits(20, None));
        budget.notified(turns(16), false);
        assert_eq!(admit(&mut budget, turns(17)), Verdict::Go);
        budget.notified(turns(20), true);
        assert!(matches!(admit(&mut budget, turns(20)), Verdict::Stop(_)));
    }
}
