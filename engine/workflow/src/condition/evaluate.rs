//! Conditions tried in order: the first whose value is true by the language's own cast.

use jsonata_core::functions::boolean;
use jsonata_core::value::JValue;
use uwf_store::excerpt;

use super::{Answer, ExpressionError, Question, parse, position, purity};

/// How many characters of what went wrong are told.
const MESSAGE: usize = 500;

pub(super) fn answer(question: &Question, trying: &mut dyn FnMut(usize)) -> Answer {
    // By way of its text, which is the one reading of JSON that the two libraries share.
    let context = match JValue::from_json_str(&question.context.to_string()) {
        Ok(context) => context,
        Err(error) => {
            let error = ExpressionError::at(None, format!("what has happened cannot be read: {error}"));
            return Answer::Failed { index: 0, error: error.into() };
        }
    };
    for (index, expression) in question.expressions.iter().enumerate() {
        trying(index);
        match is_true(expression, &context) {
            Ok(true) => return Answer::First { index },
            Ok(false) => {}
            Err(error) => return Answer::Failed { index, error: error.into() },
        }
    }
    Answer::None
}

fn is_true(expression: &str, context: &JValue) -> Result<bool, ExpressionError> {
    let value = value(expression, context)?;
    let cast = boolean::boolean(&value).map_err(|error| ExpressionError::at(None, error.to_string()))?;
    Ok(cast.as_bool().unwrap_or_default())
}

/// What an expression comes to.
pub(super) fn value(expression: &str, context: &JValue) -> Result<JValue, ExpressionError> {
    let tree = parse::parse(expression)?;
    purity::evaluator().evaluate(&tree, context).map_err(|error| {
        let message = error.message();
        // `$error` says whatever an output has, however long that is.
        ExpressionError::at(position::of_failure(expression, message), excerpt(message, MESSAGE))
    })
}
