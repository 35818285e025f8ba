//! How many cases have a score, and whether what is left is a result.

use serde::Serialize;

use super::SAME;

/// How cases ended, counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Judged.
    pub scored: usize,
    /// The workflow failed: that is a score too, 0 where no judge gave one.
    pub failed: usize,
    /// A judge could not say.
    pub unscored: usize,
    /// What the workflow runs on failed: the case says nothing of it.
    pub error: usize,
}

/// Too many cases have no score: there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lost {
    /// Cases without a score.
    pub cases: usize,
    /// Of so many.
    pub of: usize,
    /// The share that would still be a result.
    pub limit: f64,
}

impl Outcomes {
    /// All cases.
    pub fn cases(&self) -> usize {
        self.scored + self.failed + self.lost()
    }

    /// Cases without a score.
    pub fn lost(&self) -> usize {
        self.unscored + self.error
    }

    /// What is lost, if more than `limit` of the cases are, or all of them.
    pub fn lost_beyond(&self, limit: f64) -> Option<Lost> {
        let (cases, of) = (self.lost(), self.cases());
        let is_beyond = cases == of || cases as f64 > limit * of as f64 + SAME;
        is_beyond.then_some(Lost { cases, of, limit })
    }

    /// These and those.
    pub fn and(self, other: Outcomes) -> Outcomes {
        Outcomes {
            scored: self.scored + other.scored,
            failed: self.failed + other.failed,
            unscored: self.unscored + other.unscored,
            error: self.error + other.error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_without_a_score_are_no_result() {
        let some = Outcomes { scored: 8, failed: 1, unscored: 1, error: 0 };
        assert_eq!(some.lost_beyond(0.1), None, "exactly as many as may be");
        assert_eq!(some.and(Outcomes { error: 1, ..Outcomes::default() }).lost_beyond(0.1).unwrap().cases, 2);
        let many = Outcomes { scored: 71, unscored: 29, ..Outcomes::default() };
        assert_eq!(many.lost_beyond(0.29), None, "0.29 * 100 is less than 29");
        assert!(Outcomes::default().lost_beyond(1.0).is_some(), "nothing is no result");
        assert!(Outcomes { error: 3, ..Outcomes::default() }.lost_beyond(1.0).is_some());
    }
}
