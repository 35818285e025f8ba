//! The loop guard: the same call with the same result, again and again.
//!
//! Pure, and apart so that the rule can be read in one place. It is fed with what tools gave, in order, and so is
//! rebuilt by feeding it the same again. It stops nothing itself.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many of the last calls are looked at.
const WITHIN: usize = 10;

/// So many alike: the model is told.
const TOLD: usize = 3;

/// So many alike: the run ends with its grace turn.
pub(crate) const ENDED: usize = 5;

/// What is to be done about the last calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// The model must be told that it repeats itself.
    Repeated {
        /// The tool.
        tool: String,
        /// How often the same came.
        times: usize,
    },
    /// There is no hope that it finds out by itself.
    Stuck {
        /// The tool.
        tool: String,
        /// How often the same came.
        times: usize,
    },
}

/// The last calls of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepetitionDetector {
    /// Hashes of (tool, arguments, result): the text itself is in the journal.
    last: VecDeque<u64>,
    repetition: Option<Repetition>,
}

impl RepetitionDetector {
    /// One more call has been answered.
    pub(crate) fn push(&mut self, tool: &str, arguments: &str, result: &str) {
        let mut hasher = DefaultHasher::new();
        (tool, arguments, result).hash(&mut hasher);
        let this = hasher.finish();
        if self.last.len() == WITHIN {
            self.last.pop_front();
        }
        self.last.push_back(this);
        let times = self.last.iter().filter(|one| **one == this).count();
        let tool = tool.to_owned();
        if times >= ENDED {
            self.repetition = Some(Repetition::Stuck { tool, times });
        } else if times == TOLD && self.repetition.is_none() {
            self.repetition = Some(Repetition::Repeated { tool, times });
        }
    }

    /// What is to be done and was not yet.
    pub(crate) fn repetition(&self) -> Option<&Repetition> {
        self.repetition.as_ref()
    }

    /// It was done.
    pub(crate) fn clear(&mut self) {
        self.repetition = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(calls: &[(&str, &str, &str)]) -> Option<Repetition> {
        let mut detector = RepetitionDetector::default();
        calls.iter().for_each(|(tool, arguments, result)| detector.push(tool, arguments, result));
        detector.repetition
    }

    const SAME: (&str, &str, &str) = ("grep", "{}", "no matches");

    #[test]
    fn three_alike_are_told_and_five_end() {
        assert_eq!(after(&[SAME; 2]), None);
        assert_eq!(after(&[SAME; 3]), Some(Repetition::Repeated { tool: "grep".into(), times: 3 }));
        assert_eq!(after(&[SAME; 5]), Some(Repetition::Stuck { tool: "grep".into(), times: 5 }));
    }

    #[test]
    fn it_is_told_once_on_the_way_to_the_end() {
        let mut detector = RepetitionDetector::default();
        let mut found = Vec::new();
        for _ in 0..5 {
            detector.push("grep", "{}", "no matches");
            found.push(detector.repetition().cloned());
            detector.clear();
        }
        let kinds: Vec<&str> = found
            .iter()
            .map(|repetition| match repetition {
                None => "-",
                Some(Repetition::Repeated { .. }) => "told",
                Some(Repetition::Stuck { .. }) => "ended",
            })
            .collect();
        assert_eq!(kinds, ["-", "-", "told", "-", "ended"]);
    }

    #[test]
    fn another_result_or_argument_is_another_call() {
        let (a, b) = (("grep", "{}", "1"), ("grep", "{}", "2"));
        assert_eq!(after(&[a, b, a, b]), None, "a thing that changes is being waited for");
        let c = ("grep", "{\"a\":1}", "1");
        assert_eq!(after(&[a, c, a, c]), None);
        assert!(after(&[a, b, a, b, a]).is_some(), "what lies between does not hide it");
    }

    #[test]
    fn what_is_long_past_does_not_count() {
        let results: Vec<String> = (0..9).map(|n| n.to_string()).collect();
        let others = || results.iter().take(8).map(|result| ("ls", "{}", result.as_str()));
        let calls: Vec<_> = [SAME, SAME].into_iter().chain(others()).chain([SAME]).collect();
        assert_eq!(after(&calls), None);
    }
}
