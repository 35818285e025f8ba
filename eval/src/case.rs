//! One case as a plain value: what numbers and reports are made of.
//!
//! Apart from the nodes so that whoever counts needs no store.

use serde::{Deserialize, Serialize};

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The workflow came to its end, and every judge with a weight has given a score.
    Scored,
    /// A judge with a weight could not say, whether or not the workflow came to its end: there is no score.
    Unscored,
    /// The workflow did not come to its end: no valid answer, a limit, a question to a person. What its judges say counts, and
    /// that is 0 where there is nothing that they could judge.
    Failed,
    /// The infrastructure failed, again and again, or a person ended the thread: nothing is known of the workflow, and there is
    /// no score. Whoever goes on tries it once more.
    Error,
}

impl Outcome {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Scored => "scored",
            Outcome::Unscored => "unscored",
            Outcome::Failed => "failed",
            Outcome::Error => "error",
        }
    }
}

/// What a case used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// Turns of the model.
    pub turns: u64,
}

/// What was begun for a case and given up, since an interruption or a failure of the infrastructure had disturbed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenUp {
    /// How many threads.
    pub threads: u32,
    /// What these cost in USD, and attempts of the thread that counts, and what an error cut off; none where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl GivenUp {
    /// Whether nothing was.
    pub fn is_nothing(&self) -> bool {
        *self == GivenUp::default()
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: GivenUp) -> GivenUp {
        GivenUp { threads: self.threads + other.threads, ..self.and_costs(other.cost_usd) }
    }

    /// One thread more, which cost so much.
    #[must_use]
    pub(crate) fn and_a_thread(self, cost: Option<f64>) -> GivenUp {
        GivenUp { threads: self.threads + 1, ..self.and_costs(cost) }
    }

    /// As it is once the case begins anew, for which so much was paid by then: in the place of a thread of its own, or of none.
    #[must_use]
    pub(crate) fn replaced(self, has_thread: bool, paid: Option<f64>) -> GivenUp {
        let threads = self.threads + u32::from(has_thread);
        GivenUp { threads, cost_usd: paid }
    }

    /// So much less: it is gone on with.
    #[must_use]
    pub(crate) fn less(self, cost: Option<f64>) -> GivenUp {
        const BILLION: f64 = 1e9;
        // Without the noise of taking tenths away.
        let left = |all: f64| ((all - cost.unwrap_or(0.0)) * BILLION).round() / BILLION;
        GivenUp { cost_usd: self.cost_usd.map(left).filter(|left| *left > 0.0), ..self }
    }

    /// So much more.
    #[must_use]
    pub(crate) fn and_costs(self, cost: Option<f64>) -> GivenUp {
        let known = self.cost_usd.into_iter().chain(cost);
        GivenUp { cost_usd: known.reduce(|one, other| one + other), ..self }
    }
}

/// What one judge said of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeScore {
    /// The judge.
    pub name: String,
    /// Its part of the score; 0 is informational.
    pub weight: f64,
    /// From 0 to 1; none where it could not say, or has nothing to score.
    pub score: Option<f64>,
    /// Why it could not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The node of what it found, where it found something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    /// The single votes of a judge that votes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<f64>,
    /// What it cost in USD, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// One thread that was run for a task, and what was said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// The task.
    pub task: String,
    /// Which of the task's cases it is, from 1.
    pub repeat: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// From 0 to 1; none for [`Outcome::Unscored`] and [`Outcome::Error`].
    pub score: Option<f64>,
    /// Why it is not [`Outcome::Scored`], in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The judges, in the order of the task.
    pub judges: Vec<JudgeScore>,
    /// What the thread cost in USD; none where nobody knows.
    pub cost_usd: Option<f64>,
    /// How long its steps took, waiting for the model included.
    pub seconds: f64,
    /// How many steps its chain has.
    pub steps: u64,
    /// What its steps used.
    pub tokens: Tokens,
    /// The thread; none where it could not even begin.
    pub thread: Option<String>,
    /// The seed of its scripted behaviours.
    pub seed: u64,
    /// Whether the thread is one that another evaluation ran.
    #[serde(default)]
    pub cached: bool,
    /// What was begun for it before, and given up.
    #[serde(default, skip_serializing_if = "GivenUp::is_nothing")]
    pub given_up: GivenUp,
    /// The node that is its record.
    pub run: String,
}

impl Case {
    /// What was paid for it now: for its thread, unless another evaluation ran that, for what was given up, and for its judges.
    pub fn paid(&self) -> Option<f64> {
        let thread = self.cost_usd.filter(|_| !self.cached);
        let costs = self.judges.iter().filter_map(|judge| judge.cost_usd);
        let costs = costs.chain(thread).chain(self.given_up.cost_usd);
        costs.reduce(|sum, cost| sum + cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_paid_is_the_thread_that_was_run_now_and_the_judges() {
        let judge = |cost_usd| JudgeScore {
            name: "j".into(),
            weight: 1.0,
            score: None,
            error: None,
            data_hash: None,
            votes: Vec::new(),
            cost_usd,
        };
        let case = |cost_usd, cached, judges| Case {
            task: "t".into(),
            repeat: 1,
            outcome: Outcome::Scored,
            score: Some(1.0),
            reason: None,
            judges,
            cost_usd,
            seconds: 0.0,
            steps: 1,
            tokens: Tokens::default(),
            thread: None,
            seed: 0,
            cached,
            given_up: GivenUp::default(),
            run: String::new(),
        };
        assert_eq!(case(Some(0.5), false, vec![judge(Some(0.25)), judge(None)]).paid(), Some(0.75));
        assert_eq!(case(Some(0.5), true, vec![judge(Some(0.25))]).paid(), Some(0.25));
        assert_eq!(case(None, false, vec![judge(None)]).paid(), None);
        let given_up = GivenUp::default().and_a_thread(Some(0.125)).and_costs(None);
        assert_eq!(given_up, GivenUp { threads: 1, cost_usd: Some(0.125) });
        assert_eq!(Case { given_up, ..case(Some(0.5), false, vec![]) }.paid(), Some(0.625));
        assert_eq!(given_up.and_costs(Some(0.7)).less(Some(0.7)), given_up);
        assert_eq!(given_up.less(Some(0.125)), GivenUp { threads: 1, cost_usd: None });
        assert_eq!(given_up.replaced(false, Some(0.5)), GivenUp { threads: 1, cost_usd: Some(0.5) });
    }
}
