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
        AstNode::Function { name, args, .. } if name == "toMillis" && lacks_date(args) => {
            let message = "$toMillis with a picture that has no year takes the rest from today's date: a condition \
                           knows no clock";
            Some(ExpressionError::at(position::only(text, "$toMillis"), message))
        }
        _ => None,
    })
}

/// A picture that says no year (`[Y`, or `[X` of the ISO week) is filled in from the present day.
fn lacks_date(args: &[AstNode]) -> bool {
    matches!(args.get(1), Some(AstNode::String(picture)) if !picture.contains("[Y") && !picture.contains("[X"))
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
