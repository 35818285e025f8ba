//! Going in circles: the same call with the same result, again and again.
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
pub(crate) enum Alarm {
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
pub(crate) struct Doom {
    /// Hashes of (tool, arguments, result): the text itself is in the journal.
    last: VecDeque<u64>,
    alarm: Option<Alarm>,
}

impl Doom {
    /// One more call has been answered.
    pub(crate) fn note(&mut self, tool: &str, arguments: &str, result: &str) {
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
            self.alarm = Some(Alarm::Stuck { tool, times });
        } else if times == TOLD && self.alarm.is_none() {
            self.alarm = Some(Alarm::Repeated { tool, times });
        }
    }

    /// What is to be done and was not yet.
    pub(crate) fn alarm(&self) -> Option<&Alarm> {
        self.alarm.as_ref()
    }

    /// It was done.
    pub(crate) fn answered(&mut self) {
        self.alarm = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(calls: &[(&str, &str, &str)]) -> Option<Alarm> {
        let mut doom = Doom::default();
        calls.iter().for_each(|(tool, arguments, result)| doom.note(tool, arguments, result));
        doom.alarm
    }

    const SAME: (&str, &str, &str) = ("grep", "{}", "no matches");

    #[test]
    fn three_alike_are_told_and_five_end() {
        assert_eq!(after(&[SAME; 2]), None);
        assert_eq!(after(&[SAME; 3]), Some(Alarm::Repeated { tool: "grep".into(), times: 3 }));
        assert_eq!(after(&[SAME; 5]), Some(Alarm::Stuck { tool: "grep".into(), times: 5 }));
    }

    #[test]
    fn it_is_told_once_on_the_way_to_the_end() {
        let mut doom = Doom::default();
        let mut alarms = Vec::new();
        for _ in 0..5 {
            doom.note("grep", "{}", "no matches");
            alarms.push(doom.alarm().cloned());
            doom.answered();
        }
        let kinds: Vec<&str> = alarms
            .iter()
            .map(|alarm| match alarm {
                None => "-",
                Some(Alarm::Repeated { .. }) => "told",
                Some(Alarm::Stuck { .. }) => "ended",
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
