//! An interval, and which values there can be.

use serde::Serialize;

use super::SAME;

/// From where to where, both included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Which values there can be: an interval has no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Possible {
    /// A score: 0 to 1.
    Score,
    /// The difference of two scores: -1 to 1.
    Difference,
    /// Anything, as a difference of costs.
    Anything,
}

impl Interval {
    /// As far to both sides of `centre`.
    pub(super) fn around(centre: f64, half: f64) -> Interval {
        Interval { low: centre - half, high: centre + half }
    }

    /// Whether a value is in it.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether all of it is more than nothing, by more than rounding.
    pub(crate) fn is_above(&self) -> bool {
        self.low > SAME
    }

    /// Whether all of it is less than nothing, by more than rounding.
    pub(crate) fn is_below(&self) -> bool {
        self.high < -SAME
    }

    /// How wide it is.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// What is in this one or in the other, or between them.
    pub(super) fn with(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Without what is not possible.
    pub(super) fn within(self, possible: Possible) -> Interval {
        let (low, high) = possible.ends();
        Interval { low: self.low.clamp(low, high), high: self.high.clamp(low, high) }
    }
}

impl Possible {
    /// The least and the greatest value.
    pub(super) fn ends(self) -> (f64, f64) {
        match self {
            Possible::Score => (0.0, 1.0),
            Possible::Difference => (-1.0, 1.0),
            Possible::Anything => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// The interval around a mean of `count` values that were all alike; none where there can be any value.
    ///
    /// That another value never came in `count` draws is less likely than 5 % if its share is above `1 - 0.05^(1/count)`
    /// (the "rule of three"); so the mean moves by at most that share of the way to either end.
    pub(super) fn around_alike(self, mean: f64, count: usize) -> Option<Interval> {
        let (low, high) = self.ends();
        if !low.is_finite() || count == 0 {
            return None;
        }
        let share = 1.0 - (1.0 - super::CONFIDENCE).powf(1.0 / count as f64);
        Some(Interval { low: mean - share * (mean - low), high: mean + share * (high - mean) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_always_alike_is_not_certain() {
        // Three of three: the one-sided bound of Clopper and Pearson, 0.05^(1/3).
        let three = Possible::Score.around_alike(1.0, 3).unwrap();
        assert!((three.low - 0.368_403_149_864_038_6).abs() < 1e-12 && three.high == 1.0);
        let none = Possible::Difference.around_alike(0.0, 100).unwrap();
        assert!((none.low + none.high).abs() < 1e-12 && none.high < 0.03);
        assert_eq!(Possible::Anything.around_alike(1.0, 3), None);
        assert_eq!(Possible::Score.around_alike(1.0, 0), None);
    }

    #[test]
    fn an_interval_has_what_is_possible() {
        let wide = Interval::around(0.9, 0.3).within(Possible::Score);
        assert_eq!((wide.high, wide.contains(0.95), wide.contains(0.5)), (1.0, true, false));
        assert_eq!(wide.with(Interval { low: 0.1, high: 0.2 }).low, 0.1);
    }
}
