//! Conditions of a graph: JSONata over what has happened in a thread.
//!
//! Apart because it is the only place that knows the language. [`check`] reads an expression and says what is wrong with
//! it, [`Names`] what it refers to, and [`answer`] tries conditions in order. What is evaluated is a text that may come
//! from anybody, over values that a model has written: neither its time nor its memory has a bound here, so that engines
//! have [`answer`] called by a process with limits. An expression knows no clock and no chance; where it asks for them it
//! is refused.
//!
//! Only with the feature `conditions`; without it every expression is refused ([`SUPPORTED`]).

#[cfg(feature = "conditions")]
mod evaluate;
#[cfg(feature = "conditions")]
mod functions;
mod names;
#[cfg(feature = "conditions")]
mod parse;
#[cfg(feature = "conditions")]
mod position;
#[cfg(feature = "conditions")]
mod purity;
mod question;
#[cfg(test)]
#[cfg(feature = "conditions")]
mod tests;
#[cfg(feature = "conditions")]
mod walk;

pub use names::{Names, Steps, known};
pub use question::{Answer, Question, context};

/// Whether this build knows conditions.
pub const SUPPORTED: bool = cfg!(feature = "conditions");

/// The longest expression, in bytes.
pub const LONGEST: usize = 16 << 10;

/// Why a build without conditions refuses them.
pub const UNSUPPORTED: &str = "this uwf was built without conditions (the feature `conditions`)";

/// What is wrong with an expression, or has gone wrong in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .at.map(|at| format!("at character {}: ", at + 1)).unwrap_or_default())]
pub struct ExpressionError {
    /// In the words of the language, with its code.
    pub message: String,
    /// Where, in characters from 0, if that is known.
    pub at: Option<usize>,
}

impl ExpressionError {
    #[cfg(feature = "conditions")]
    fn at(at: impl Into<Option<usize>>, message: impl Into<String>) -> ExpressionError {
        ExpressionError { message: message.into(), at: at.into() }
    }

    #[cfg(not(feature = "conditions"))]
    fn unsupported() -> ExpressionError {
        ExpressionError { message: UNSUPPORTED.to_owned(), at: None }
    }
}

/// Reads an expression, and says what it refers to.
///
/// # Errors
/// It does not parse, is too long, calls what is not there, asks for a clock or for chance, or this build knows no conditions.
#[cfg(feature = "conditions")]
pub fn check(expression: &str) -> Result<Names, ExpressionError> {
    let tree = parse::parse(expression)?;
    match functions::unknown(expression, &tree) {
        Some(error) => Err(error),
        None => Ok(names::of(&tree)),
    }
}

/// Reads an expression, and says what it refers to.
///
/// # Errors
/// Always: this build knows no conditions.
#[cfg(not(feature = "conditions"))]
pub fn check(_: &str) -> Result<Names, ExpressionError> {
    Err(ExpressionError::unsupported())
}

/// Tries the expressions in order, in this process and without any limit; `trying` is told of each before.
#[cfg(feature = "conditions")]
pub fn answer(question: &Question, trying: &mut dyn FnMut(usize)) -> Answer {
    evaluate::answer(question, trying)
}

/// Fails: this build knows no conditions.
#[cfg(not(feature = "conditions"))]
pub fn answer(_: &Question, _: &mut dyn FnMut(usize)) -> Answer {
    Answer::Failed { index: 0, error: ExpressionError::unsupported().into() }
}
