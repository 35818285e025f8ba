//! The parts of an expression's tree.

use jsonata_core::ast::{AstNode, PathStep, Stage};

/// What stands directly below a node.
pub(super) fn children(node: &AstNode) -> Vec<&AstNode> {
    match node {
        AstNode::Path { steps } => steps.iter().flat_map(of_step).collect(),
        AstNode::Binary { lhs, rhs, .. } => vec![&**lhs, &**rhs],
        AstNode::Unary { operand, .. } => vec![&**operand],
        AstNode::Function { args, .. } => args.iter().collect(),
        AstNode::Call { procedure, args } => std::iter::once(&**procedure).chain(args).collect(),
        AstNode::Lambda { body, .. } => vec![&**body],
        AstNode::Array(items) | AstNode::Block(items) | AstNode::ArrayGroup(items) => items.iter().collect(),
        AstNode::Object(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
        AstNode::ObjectTransform { input, pattern } => {
            std::iter::once(&**input).chain(pattern.iter().flat_map(|(key, value)| [key, value])).collect()
        }
        AstNode::Conditional { condition, then_branch, else_branch } => {
            [&**condition, &**then_branch].into_iter().chain(else_branch.as_deref()).collect()
        }
        AstNode::FunctionApplication(inner) => vec![&**inner],
        AstNode::Sort { input, terms } => {
            std::iter::once(&**input).chain(terms.iter().map(|(term, _)| term)).collect()
        }
        AstNode::Transform { location, update, delete } => {
            [&**location, &**update].into_iter().chain(delete.as_deref()).collect()
        }
        AstNode::String(_)
        | AstNode::Name(_)
        | AstNode::Number(_)
        | AstNode::Boolean(_)
        | AstNode::Null
        | AstNode::Undefined
        | AstNode::Placeholder
        | AstNode::Regex { .. }
        | AstNode::Variable(_)
        | AstNode::ParentVariable(_)
        | AstNode::Wildcard
        | AstNode::Descendant
        | AstNode::Parent(_) => Vec::new(),
    }
}

fn of_step(step: &PathStep) -> impl Iterator<Item = &AstNode> {
    std::iter::once(&step.node).chain(filters(step))
}

/// The filters of a step of a path.
pub(super) fn filters(step: &PathStep) -> impl Iterator<Item = &AstNode> {
    step.stages.iter().filter_map(|stage| match stage {
        Stage::Filter(filter) => Some(&**filter),
        Stage::KeepArray | Stage::Index(_) => None,
    })
}

/// The node and all below it.
pub(super) fn all(tree: &AstNode) -> Vec<&AstNode> {
    let (mut found, mut open) = (Vec::new(), vec![tree]);
    while let Some(node) = open.pop() {
        open.extend(children(node));
        found.push(node);
    }
    found
}
