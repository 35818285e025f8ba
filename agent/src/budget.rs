//! How much a run may spend: turns, tokens, wall time. A pure state machine, asked before every turn.
//!
//! Apart so that the loop holds no counters. It reads no clock: elapsed time comes in. Each limit warns at 80 % and
//! at 95 %; once a limit is reached there is one grace turn (no tools, the answer now), and then the run stops.

use std::fmt;
use std::time::Duration;

use crate::provider::message::TokenUsage;

/// What a run may spend; `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Completions, the grace turn not counted.
    pub turns: u64,
    /// Input and output tokens together, as the endpoint counts them.
    pub tokens: Option<u64>,
    /// Wall time from the start of the run.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { turns: 60, tokens: None, time: Some(Duration::from_secs(3600)) }
    }
}

/// What was spent up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Completions.
    pub turns: u64,
    /// Input and output tokens together.
    pub tokens: u64,
    /// Wall time.
    pub time: Duration,
}

impl Spent {
    /// One completion more.
    pub(crate) fn count(&mut self, usage: Option<TokenUsage>) {
        self.turns += 1;
        self.tokens += usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
    }
}

/// One of the limits, with what was spent of it, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// `turns`, `tokens` or `seconds`.
    pub unit: &'static str,
    /// Spent.
    pub used: u64,
    /// Allowed.
    pub total: u64,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}", self.used, self.total, self.unit)
    }
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A turn like any other.
    Go,
    /// A turn, but the model is told first that this limit is near.
    Warn(Use),
    /// The last turn: no tools, the answer now.
    Grace(Use),
    /// Nothing more: this limit ended the run.
    Stop(Use),
}

/// The state of a run's budget.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// Per limit, the highest mark (in percent) that was warned of.
    warned: [u64; 3],
    graced: bool,
}

/// How long the grace turn may take.
const GRACE: Duration = Duration::from_secs(120);

/// The marks, in percent, at which the model is told.
const MARKS: [u64; 2] = [80, 95];

impl Budget {
    /// A budget of which nothing is spent.
    pub(crate) fn new(limits: Limits) -> Budget {
        Budget { limits, warned: [0; 3], graced: false }
    }

    /// The same budget in another process: it is asked again what it was asked, so that nothing is told twice.
    pub(crate) fn replayed(limits: Limits, asked: &[Spent]) -> Budget {
        let mut budget = Budget::new(limits);
        for spent in asked {
            budget.next(*spent);
        }
        budget
    }

    /// Decides on the next turn. Asked once per turn: warnings and the grace turn are given out once.
    pub(crate) fn next(&mut self, spent: Spent) -> Verdict {
        let uses = self.uses(spent);
        if let Some(ended) = uses.into_iter().flatten().find(|u| u.used >= u.total) {
            let verdict = if self.graced { Verdict::Stop(ended) } else { Verdict::Grace(ended) };
            self.graced = true;
            return verdict;
        }
        for (use_, warned) in uses.into_iter().zip(&mut self.warned) {
            let Some(use_) = use_ else { continue };
            let reached = MARKS.into_iter().rfind(|mark| use_.used * 100 >= use_.total * mark);
            if let Some(mark) = reached.filter(|mark| *mark > *warned) {
                *warned = mark;
                return Verdict::Warn(use_);
            }
        }
        Verdict::Go
    }

    /// How long a turn may take that begins when `elapsed` has passed; `None` is for ever. The grace turn has a time of
    /// its own.
    pub(crate) fn time_left(&self, elapsed: Duration) -> Option<Duration> {
        match (self.limits.time, self.graced) {
            (Some(_), true) => Some(GRACE),
            (total, _) => total.map(|total| total.saturating_sub(elapsed)),
        }
    }

    fn uses(&self, spent: Spent) -> [Option<Use>; 3] {
        [
            Some(Use { unit: "turns", used: spent.turns, total: self.limits.turns }),
            self.limits.tokens.map(|total| Use { unit: "tokens", used: spent.tokens, total }),
            self.limits.time.map(|total| Use {
                unit: "seconds",
                used: spent.time.as_secs(),
                total: total.as_secs(),
            }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(n: u64) -> Spent {
        Spent { turns: n, ..Spent::default() }
    }

    #[test]
    fn warns_twice_graces_once_then_stops() {
        let mut budget = Budget::new(Limits { turns: 20, tokens: None, time: None });
        let verdicts: Vec<Verdict> = (0..=21).map(|n| budget.next(turns(n))).collect();
        let at = |n| Use { unit: "turns", used: n, total: 20 };
        for (n, verdict) in verdicts.iter().enumerate() {
            let expected = match n {
                16 | 19 => Verdict::Warn(at(n as u64)),
                20 => Verdict::Grace(at(20)),
                21 => Verdict::Stop(at(21)),
                _ => Verdict::Go,
            };
            assert_eq!(*verdict, expected, "before turn {n}");
        }
    }

    #[test]
    fn the_limit_that_ended_is_named() {
        let mut budget = Budget::new(Limits { turns: 60, tokens: Some(1000), time: None });
        let spent = Spent { turns: 3, tokens: 1200, ..Spent::default() };
        assert_eq!(budget.next(spent), Verdict::Grace(Use { unit: "tokens", used: 1200, total: 1000 }));
        let Verdict::Stop(ended) = budget.next(spent) else { panic!("one grace turn only") };
        assert_eq!(ended.to_string(), "1200 of 1000 tokens");
    }

    #[test]
    fn time_counts_in_seconds() {
        let limit = Some(Duration::from_secs(10));
        let mut budget = Budget::new(Limits { turns: 60, tokens: None, time: limit });
        let at = |ms| Spent { time: Duration::from_millis(ms), ..Spent::default() };
        assert_eq!(budget.next(at(7_999)), Verdict::Go);
        assert!(matches!(budget.next(at(8_000)), Verdict::Warn(_)));
        assert_eq!(budget.next(at(8_500)), Verdict::Go);
        assert!(matches!(budget.next(at(10_000)), Verdict::Grace(_)));
    }

    #[test]
    fn no_turn_outlives_the_time_and_the_grace_turn_has_its_own() {
        let mut budget = Budget::new(Limits { turns: 60, tokens: None, time: Some(Duration::from_secs(10)) });
        assert_eq!(budget.time_left(Duration::from_secs(4)), Some(Duration::from_secs(6)));
        assert_eq!(budget.time_left(Duration::from_secs(40)), Some(Duration::ZERO));
        budget.next(Spent { time: Duration::from_secs(10), ..Spent::default() });
        assert_eq!(budget.time_left(Duration::from_secs(10)), Some(GRACE));
        let unlimited = Budget::new(Limits { turns: 60, tokens: None, time: None });
        assert_eq!(unlimited.time_left(Duration::from_secs(4)), None);
    }

    #[test]
    fn a_budget_of_no_turns_still_gives_the_grace_turn() {
        let mut budget = Budget::new(Limits { turns: 0, tokens: None, time: None });
        assert!(matches!(budget.next(turns(0)), Verdict::Grace(_)));
        assert!(matches!(budget.next(turns(1)), Verdict::Stop(_)));
    }
}
