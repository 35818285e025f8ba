//! Amounts of money, without rounding drift.
//!
//! Apart because what endpoints tell, prices, budget, events and record all speak of money. Pure.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount in US dollars, held as billionths: a turn of the cheapest model is still some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(u64);

/// Billionths in a dollar.
const BILLION: f64 = 1e9;

impl Usd {
    /// That many dollars; less than nothing is nothing.
    pub fn dollars(dollars: f64) -> Usd {
        Usd((dollars * BILLION).round() as u64)
    }

    /// That many billionths of a dollar.
    pub(crate) fn of_billionths(billionths: u64) -> Usd {
        Usd(billionths)
    }

    /// In dollars.
    pub fn in_dollars(self) -> f64 {
        self.0 as f64 / BILLION
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
        let dollars = self.in_dollars();
        if dollars >= 1.0 { write!(f, "${dollars:.2}") } else { write!(f, "${dollars:.4}") }
    }
}

impl Serialize for Usd {
    /// As a number of dollars.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.in_dollars())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Usd, D::Error> {
        f64::deserialize(deserializer).map(Usd::dollars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_drift() {
        let tenth = Usd::dollars(0.1);
        let sum: Usd = [tenth; 3].into_iter().sum();
        assert_eq!(serde_json::to_string(&sum).unwrap(), "0.3");
        assert_eq!((sum.to_string(), Usd::dollars(12.5).to_string()), ("$0.3000".into(), "$12.50".into()));
    }
}
