//! Who evaluates the conditions of graphs, and what that can come to.
//!
//! Apart because an expression is a text that may come from anybody, over values that a model has written: neither its
//! time nor its memory can be bounded from within. So it is evaluated by another process ([`process`]), or by whatever a
//! program that embeds the engine gives instead. What is asked and answered is
//! [`uwf_workflow::condition`]'s; what the answer means for a thread is the thread's.

pub mod process;
#[cfg(test)]
#[cfg(feature = "conditions")]
mod tests;

use std::io;
use std::time::Duration;

use thiserror::Error;
pub use uwf_workflow::condition::{Answer, Question};

/// Evaluates conditions.
pub trait Conditions {
    /// Tries the expressions in order, until one is true.
    ///
    /// # Errors
    /// [`Unanswered`] when there is no answer: that one of the expressions fails is an answer.
    fn answer(&self, question: &Question) -> Result<Answer, Unanswered>;
}

/// Who evaluates conditions, if anybody does.
pub type Judge<'a> = Option<&'a dyn Conditions>;

/// Conditions were not evaluated.
#[derive(Debug, Error)]
#[error("{why}")]
pub struct Unanswered {
    /// Which expression was being tried, from 0, where that is known.
    pub tried: Option<usize>,
    /// Why.
    pub why: Why,
}

/// Why conditions were not evaluated.
#[derive(Debug, Error)]
pub enum Why {
    /// The process could not be started.
    #[error("the process that evaluates conditions cannot be started: {0}")]
    Start(io::Error),
    /// It could not be waited for.
    #[error("the process that evaluates conditions cannot be waited for: {0}")]
    Wait(io::Error),
    /// It was killed for the memory it took.
    #[error("it needs more memory than the {} MiB that a condition may take", process::MEMORY >> 20)]
    Memory,
    /// It was killed for the time it took.
    #[error("it takes longer than the {} that a condition may take", humantime::format_duration(*.0))]
    Time(Duration),
    /// It came to its end in another way.
    #[error("the process that evaluates conditions ended with {0} and no answer")]
    Ended(String),
}

impl Unanswered {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self.why {
            Why::Memory | Why::Time(_) => Some(
                "make the expression simpler in the workflow; outputs that are very large can be the reason as well"
                    .to_owned(),
            ),
            Why::Start(_) | Why::Wait(_) | Why::Ended(_) => None,
        }
    }
}
