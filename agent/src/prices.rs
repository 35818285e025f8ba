//! What tokens cost: prices by model, in USD per million tokens, and sums of money without rounding drift.
//!
//! Apart because budget, events and record all speak of money. Pure; where the prices come from is the settings'
//! business, and a model without a price has no cost rather than a cost of nothing.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize, Serializer};

use crate::provider::message::TokenUsage;

/// An amount in US dollars, held as billionths: a turn of the cheapest model is still some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(u64);

/// Billionths in a dollar.
const BILLION: f64 = 1e9;

impl Usd {
    /// That many dollars; less than nothing is nothing.
    pub(crate) fn dollars(dollars: f64) -> Usd {
        Usd((dollars * BILLION).round() as u64)
    }

    /// That many billionths of a dollar.
    pub(crate) fn of_billionths(billionths: u64) -> Usd {
        Usd(billionths)
    }

    /// In billionths of a dollar.
    pub(crate) fn billionths(self) -> u64 {
        self.0
    }
}

impl Add for Usd {
    type Output = Usd;

    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Usd) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::default(), Usd::add)
    }
}

impl fmt::Display for Usd {
    /// `$1.50`, and below a dollar `$0.0042`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.0 as f64 / BILLION;
        if dollars >= 1.0 { write!(f, "${dollars:.2}") } else { write!(f, "${dollars:.4}") }
    }
}

impl Serialize for Usd {
    /// As a number of dollars.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / BILLION)
    }
}

/// What a model costs, in USD per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prices {
    /// Prompt tokens.
    pub input: f64,
    /// Completion tokens, reasoning included.
    pub output: f64,
    /// Prompt tokens that came from the endpoint's cache; as `input` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
}

impl Prices {
    /// What a turn costs.
    pub(crate) fn of(&self, usage: TokenUsage) -> Usd {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let millionths = (usage.input_tokens - cached) as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        Usd::dollars(millionths / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_cheaper_and_sums_do_not_drift() {
        let prices = Prices { input: 0.25, output: 2.0, cached_input: Some(0.025) };
        let usage = TokenUsage {
            input_tokens: 1_000_000,
            output_tokens: 500_000,
            cached_tokens: 400_000,
            reasoning_tokens: 0,
        };
        assert_eq!(prices.of(usage), Usd::dollars(0.15 + 0.01 + 1.0));
        assert_eq!(Prices { cached_input: None, ..prices }.of(usage), Usd::dollars(1.25));
        let tenth = Usd::dollars(0.1);
        let sum: Usd = [tenth; 3].into_iter().sum();
        assert_eq!(serde_json::to_string(&sum).unwrap(), "0.3");
        assert_eq!((sum.to_string(), Usd::dollars(12.5).to_string()), ("$0.3000".into(), "$12.50".into()));
    }
}
