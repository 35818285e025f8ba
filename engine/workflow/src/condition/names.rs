//! What an expression refers to, as far as its text tells: names of the context, roles, and fields of outputs.
//!
//! Apart from the check of a workflow, which knows the roles and their schemas. It errs on the side of silence: what a
//! variable or a function gives is not followed.

use std::collections::BTreeSet;

/// Which steps a part of an expression is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Steps {
    /// Any of them.
    Any,
    /// The last one.
    Last,
    /// Those of this role.
    Of(String),
}

/// What an expression refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Names that nothing has, and what they were looked up in.
    pub unknown: BTreeSet<(&'static str, String)>,
    /// What the role of a step is compared with.
    pub roles: BTreeSet<String>,
    /// Fields of outputs.
    pub fields: BTreeSet<(Steps, String)>,
    /// Variables in the place of fields of outputs, without their `$`: `output.$status` for ``output.`$status` ``.
    pub unquoted: BTreeSet<String>,
}

/// What the context of an expression has, and what its `start` and each of its `steps` have.
pub fn known(place: &str) -> &'static [&'static str] {
    match place {
        CONTEXT => &["start", "steps"],
        START => &["workflow", "prompt"],
        _ => &["role", "output", "detail", "agent"],
    }
}

const CONTEXT: &str = "the context of a condition";
const START: &str = "`start`";
#[cfg(feature = "conditions")]
const STEP: &str = "a step";

#[cfg(feature = "conditions")]
pub(super) use follow::of;

#[cfg(feature = "conditions")]
mod follow {
    use jsonata_core::ast::{AstNode, BinaryOp, PathStep, UnaryOp};

    use super::super::walk;
    use super::{CONTEXT, Names, START, STEP, Steps, known};

    /// What a part of an expression stands for.
    #[derive(Clone)]
    enum Meaning {
        Context,
        Start,
        Step(Steps),
        Role,
        Output(Steps),
        /// Nobody knows.
        Open,
    }

    pub(in super::super) fn of(tree: &AstNode) -> Names {
        let mut names = Names::default();
        names.follow(tree, &Meaning::Context);
        names
    }

    impl Names {
        /// What `node` stands for, evaluated with `within` as its input.
        fn follow(&mut self, node: &AstNode, within: &Meaning) -> Meaning {
            match node {
                AstNode::Name(name) => self.member(name, within),
                AstNode::Variable(name) if name.is_empty() => within.clone(),
                AstNode::ParentVariable(name) if name.is_empty() => Meaning::Context,
                AstNode::Path { steps } => self.path(steps, within),
                AstNode::FunctionApplication(inner) => self.follow(inner, within),
                AstNode::Block(parts) => {
                    parts.iter().map(|part| self.follow(part, within)).last().unwrap_or(Meaning::Open)
                }
                AstNode::Sort { input, terms } => {
                    let sorted = self.follow(input, within);
                    terms.iter().for_each(|(term, _)| drop(self.follow(term, &sorted)));
                    sorted
                }
                AstNode::ObjectTransform { input, pattern } => {
                    let grouped = self.follow(input, within);
                    for part in pattern.iter().flat_map(|(key, value)| [key, value]) {
                        self.follow(part, &grouped);
                    }
                    Meaning::Open
                }
                AstNode::Binary { op, lhs, rhs } => {
                    self.compared(*op, lhs, rhs, within);
                    Meaning::Open
                }
                // Its parts have inputs of their own.
                AstNode::Transform { .. } => Meaning::Open,
                other => {
                    walk::children(other).into_iter().for_each(|part| drop(self.follow(part, within)));
                    Meaning::Open
                }
            }
        }

        fn path(&mut self, steps: &[PathStep], within: &Meaning) -> Meaning {
            let mut meaning = within.clone();
            for step in steps {
                if let (AstNode::Variable(name), Meaning::Output(_)) = (&step.node, &meaning)
                    && !name.is_empty()
                {
                    self.unquoted.insert(name.clone());
                }
                meaning = self.follow(&step.node, &meaning);
                for filter in walk::filters(step) {
                    self.follow(filter, &meaning);
                    meaning = narrowed(meaning, filter);
                }
                // A variable bound on the way changes what the next part is looked up in.
                if step.focus.is_some() || step.index_var.is_some() {
                    meaning = Meaning::Open;
                }
            }
            meaning
        }

        fn member(&mut self, name: &str, within: &Meaning) -> Meaning {
            let (place, meaning) = match (within, name) {
                (Meaning::Context, "start") => return Meaning::Start,
                (Meaning::Context, "steps") => return Meaning::Step(Steps::Any),
                (Meaning::Step(_), "role") => return Meaning::Role,
                (Meaning::Step(steps), "output") => return Meaning::Output(steps.clone()),
                (Meaning::Output(steps), field) => {
                    self.fields.insert((steps.clone(), field.to_owned()));
                    return Meaning::Open;
                }
                (Meaning::Role | Meaning::Open, _) => return Meaning::Open,
                (Meaning::Context, _) => (CONTEXT, Meaning::Open),
                (Meaning::Start, _) => (START, Meaning::Open),
                (Meaning::Step(_), _) => (STEP, Meaning::Open),
            };
            if !known(place).contains(&name) {
                self.unknown.insert((place, name.to_owned()));
            }
            meaning
        }

        /// A role compared with texts must be one of them.
        fn compared(&mut self, op: BinaryOp, lhs: &AstNode, rhs: &AstNode, within: &Meaning) {
            let sides = [(self.follow(lhs, within), rhs), (self.follow(rhs, within), lhs)];
            if !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::In) {
                return;
            }
            for (meaning, other) in sides {
                if matches!(meaning, Meaning::Role) {
                    self.roles.extend(texts(other));
                }
            }
        }
    }

    /// The texts of a literal.
    fn texts(node: &AstNode) -> Vec<String> {
        match node {
            AstNode::String(text) => vec![text.clone()],
            AstNode::Array(items) => items.iter().flat_map(texts).collect(),
            AstNode::Path { steps } => match steps.as_slice() {
                [step] => texts(&step.node),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Steps that pass a filter.
    fn narrowed(meaning: Meaning, filter: &AstNode) -> Meaning {
        match (&meaning, filter) {
            (Meaning::Step(Steps::Any), filter) if is_last(filter) => Meaning::Step(Steps::Last),
            (Meaning::Step(Steps::Any), AstNode::Binary { op: BinaryOp::And, lhs, rhs }) => {
                narrowed(narrowed(meaning, lhs), rhs)
            }
            (Meaning::Step(Steps::Any), AstNode::Binary { op: BinaryOp::Equal, lhs, rhs }) => {
                let role = |name: &AstNode, text: &AstNode| match (name, text) {
                    (AstNode::Path { steps }, AstNode::String(text)) => {
                        matches!(steps.as_slice(), [step] if step.node == AstNode::Name("role".to_owned()))
                            .then(|| text.clone())
                    }
                    _ => None,
                };
                match role(lhs, rhs).or_else(|| role(rhs, lhs)) {
                    Some(role) => Meaning::Step(Steps::Of(role)),
                    None => meaning,
                }
            }
            _ => meaning,
        }
    }

    fn is_last(filter: &AstNode) -> bool {
        match filter {
            AstNode::Number(number) => *number == -1.0,
            AstNode::Unary { op: UnaryOp::Negate, operand } => **operand == AstNode::Number(1.0),
            _ => false,
        }
    }
}
