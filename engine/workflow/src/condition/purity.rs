//! What an expression may not ask for: a clock and chance. Two evaluations of one condition must agree.

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Evaluator, EvaluatorError};
use jsonata_core::value::JValue;

use super::{ExpressionError, position, walk};

/// Functions whose results differ from one call to the next, and what each asks for.
const IMPURE: [(&str, &str); 4] =
    [("now", "the clock"), ("millis", "the clock"), ("random", "chance"), ("shuffle", "chance")];

/// The error for an expression that asks for a clock or for chance.
pub(super) fn impure(text: &str, tree: &AstNode) -> Option<ExpressionError> {
    walk::all(tree).into_iter().find_map(|node| match node {
        AstNode::Function { name, .. } | AstNode::Variable(name) if asks(name).is_some() => {
            Some(ExpressionError::at(position::only(text, &format!("${name}")), refusal(name)))
        }
        AstNode::Function { name, args, .. }
            if name == "toMillis" && (lacks_date(args) || is_handed_on(text)) =>
        {
            Some(ExpressionError::at(position::only(text, "$toMillis"), TO_MILLIS))
        }
        AstNode::Variable(name) if name == "toMillis" => {
            Some(ExpressionError::at(position::only(text, "$toMillis"), TO_MILLIS))
        }
        AstNode::Function { name, .. } if name == "eval" && text.contains("toMillis") => {
            Some(ExpressionError::at(position::only(text, "$eval"), TO_MILLIS))
        }
        _ => None,
    })
}

const TO_MILLIS: &str = "$toMillis needs a picture that is written out and has a year: it takes what is not there from \
                         today's date, and a condition knows no clock";

/// A picture that says no year (`[Y`, or `[X` of the ISO week) is filled in from the present day; one that is not written out
/// may be such a one.
fn lacks_date(args: &[AstNode]) -> bool {
    match args.get(1) {
        None => false,
        Some(AstNode::String(picture)) => {
            picture.contains("[[") || !(picture.contains("[Y") || picture.contains("[X"))
        }
        Some(_) => true,
    }
}

/// Whether a function may get an argument that is not among those in its parentheses.
fn is_handed_on(text: &str) -> bool {
    text.contains("~>")
}

fn asks(name: &str) -> Option<&'static str> {
    IMPURE.iter().find(|(impure, _)| *impure == name).map(|(_, of)| *of)
}

fn refusal(name: &str) -> String {
    let of = asks(name).unwrap_or_default();
    format!("${name} asks for {of}: a condition depends on `start` and `steps` alone")
}

/// An evaluator that refuses them as well where an expression makes another one (`$eval`).
pub(super) fn evaluator() -> Evaluator {
    let mut evaluator = Evaluator::new();
    for (name, _) in IMPURE {
        let refused = move |_: &[JValue]| Err(EvaluatorError::EvaluationError(refusal(name)));
        evaluator.register_fn_override(name, refused).expect("none of them is compiled");
    }
    evaluator
}
