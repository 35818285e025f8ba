//! What an expression calls: functions of the language, or what it has bound itself. Anything else would fail only when the
//! condition is tried, in the middle of a thread.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp};
use uwf_store::suggest;

use super::{ExpressionError, position, walk};

/// The functions of the language, less those that ask for a clock or for chance.
const FUNCTIONS: &[&str] = &[
    "string",
    "length",
    "substring",
    "substringBefore",
    "substringAfter",
    "uppercase",
    "lowercase",
    "trim",
    "pad",
    "contains",
    "split",
    "join",
    "match",
    "replace",
    "eval",
    "base64encode",
    "base64decode",
    "encodeUrlComponent",
    "encodeUrl",
    "decodeUrlComponent",
    "decodeUrl",
    "number",
    "abs",
    "floor",
    "ceil",
    "round",
    "power",
    "sqrt",
    "formatNumber",
    "formatBase",
    "formatInteger",
    "parseInteger",
    "sum",
    "max",
    "min",
    "average",
    "boolean",
    "not",
    "exists",
    "count",
    "append",
    "sort",
    "reverse",
    "distinct",
    "zip",
    "keys",
    "lookup",
    "spread",
    "merge",
    "sift",
    "each",
    "error",
    "assert",
    "type",
    "map",
    "filter",
    "reduce",
    "single",
    "fromMillis",
    "toMillis",
];

/// The error for an expression that calls what is not there.
pub(super) fn unknown(text: &str, tree: &AstNode) -> Option<ExpressionError> {
    let nodes = walk::all(tree);
    let bound = bound(&nodes);
    nodes.iter().find_map(|node| match node {
        AstNode::Function { name, .. }
            if !bound.contains(name.as_str()) && !FUNCTIONS.contains(&name.as_str()) =>
        {
            let meant = suggest::one(name, FUNCTIONS.iter().copied().chain(bound.iter().copied()));
            let meant = meant
                .or_else(|| FUNCTIONS.iter().find(|known| known.starts_with(name)).map(ToString::to_string));
            let meant = meant.map(|meant| format!("; did you mean `${meant}`?")).unwrap_or_default();
            Some(ExpressionError::at(
                position::only(text, &format!("${name}")),
                format!("there is no function ${name}{meant}"),
            ))
        }
        _ => None,
    })
}

/// The names that the expression gives to something, wherever in it: whether they are seen where they are used is for the
/// evaluation to find.
fn bound<'t>(nodes: &[&'t AstNode]) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    for node in nodes {
        match node {
            AstNode::Binary {
                op: BinaryOp::ColonEqual | BinaryOp::FocusBind | BinaryOp::IndexBind,
                lhs,
                rhs,
            } => {
                names.extend([lhs, rhs].into_iter().filter_map(|side| match &**side {
                    AstNode::Variable(name) => Some(name.as_str()),
                    _ => None,
                }));
            }
            AstNode::Lambda { params, .. } => names.extend(params.iter().map(String::as_str)),
            AstNode::Path { steps } => {
                names.extend(
                    steps
                        .iter()
                        .flat_map(|step| [&step.focus, &step.index_var])
                        .flatten()
                        .map(String::as_str),
                );
            }
            _ => {}
        }
    }
    names
}
