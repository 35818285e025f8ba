//! Where a thread goes next: `graph[last role][status of its output]` → a target and a prompt.
//!
//! Apart because it is the whole of the engine's judgement, and pure: no store, no thread, no clock. It never starts
//! anything and it holds no state. Where conditions decide, it says which ([`Ways::conditions`]) and is told which of them
//! is the first that is true ([`Ways::follow`]): evaluating them is for others.

mod error;
mod graph;

use std::collections::BTreeMap;

use serde_json::Value;
use uwf_store::{excerpt, json, suggest};

pub use self::error::RouteError;
pub use self::graph::{Edge, Edges, Graph, Targets, Transition, Way};
use crate::template;

/// Where every thread begins: the graph's entry for a thread without steps.
pub const START: &str = "$START";
/// The target that ends a thread.
pub const END: &str = "$END";
/// The target that suspends a thread, and the `$status` with which a role suspends itself.
pub const SUSPEND: &str = "$SUSPEND";

/// The longest text for an agent, in bytes: the kernel takes no argument longer than 128 KiB.
pub const PROMPT_MAX: usize = 120 << 10;

/// How much of an output an error shows, in characters.
const SHOWN: usize = 400;
/// How much of an output the next role is told where an edge says nothing, in characters: its steps have the whole of it.
const DELIVERED: usize = 4000;

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This role runs next.
    Role(String),
    /// The thread ends.
    End,
    /// The thread waits for its user; the prompt is the message to them.
    Suspend,
}

/// An edge, rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Where the thread goes.
    pub target: Target,
    /// Never blank.
    pub prompt: String,
    /// The rendered directory; may be empty, which is for the caller to refuse.
    pub location: Option<String>,
}

/// Follows the graph one edge, where no condition has a say. A fresh thread comes from [`START`] with status `new`, a
/// resumed one with `resume`.
///
/// # Errors
/// When the graph has no edge for what happened, when the edge's templates do not give a prompt, or when it depends on a
/// condition.
pub fn route(graph: &Graph, last_role: &str, last_output: &Value) -> Result<Route, RouteError> {
    let ways = ways(graph, last_role, last_output)?;
    match ways.conditions().as_slice() {
        [] => ways.follow(None, &delivered(last_role, last_output)),
        conditions => Err(RouteError::Conditional {
            role: last_role.to_owned(),
            conditions: conditions.iter().map(|name| (*name).to_owned()).collect(),
        }),
    }
}

/// The edges that fit what happened, to be tried in order.
#[derive(Debug, Clone)]
pub struct Ways<'g> {
    role: &'g str,
    output: &'g Value,
    tried: Vec<Way<'g>>,
}

/// The edges that fit what happened. [`Ways::conditions`] says what must be known to choose one.
///
/// # Errors
/// When the graph has none for what happened.
pub fn ways<'g>(graph: &'g Graph, role: &'g str, output: &'g Value) -> Result<Ways<'g>, RouteError> {
    let edges = graph.get(role).ok_or_else(|| RouteError::UnknownRole {
        role: role.to_owned(),
        known: suggest::sorted(role, graph.keys()),
    })?;
    let tried = match edges {
        Edges::Listed(_) => edges.ways(),
        Edges::ByStatus(statuses) => {
            let status = status_of(statuses, role, output)?;
            let tried = edges.ways_for(status);
            if tried.is_empty() {
                return Err(RouteError::UnknownStatus {
                    role: role.to_owned(),
                    status: status.to_owned(),
                    known: suggest::sorted(status, statuses.keys()),
                });
            }
            tried
        }
    };
    Ok(Ways { role, output, tried })
}

fn status_of<'o>(
    edges: &BTreeMap<String, Targets>,
    role: &str,
    output: &'o Value,
) -> Result<&'o str, RouteError> {
    let got = output.get("$status");
    got.and_then(Value::as_str).ok_or_else(|| RouteError::NoStatus {
        role: role.to_owned(),
        got: got.cloned().map(Box::new),
        known: edges.keys().cloned().collect(),
    })
}

impl<'g> Ways<'g> {
    /// The conditions that decide, in the order in which they are tried: those before the first edge without one.
    pub fn conditions(&self) -> Vec<&'g str> {
        self.tried.iter().map_while(|way| way.condition).collect()
    }

    /// The edge whose condition is the first that is true, by its place in [`Ways::conditions`]; none is true: the
    /// fallback. `otherwise` is said where the edge has no prompt.
    ///
    /// # Errors
    /// When no condition is true and there is no fallback, or when the edge's templates do not give a prompt.
    pub fn follow(&self, first_true: Option<usize>, otherwise: &str) -> Result<Route, RouteError> {
        let at = first_true.unwrap_or_else(|| self.conditions().len());
        let way = self.tried.get(at).ok_or_else(|| RouteError::NoneMatches {
            role: self.role.to_owned(),
            conditions: self.conditions().into_iter().map(str::to_owned).collect(),
            values: self.values(),
        })?;
        let status = way.status.map_or_else(|| format!("transition {}", at + 1), str::to_owned);
        self.rendered(way, &status, otherwise)
    }

    fn values(&self) -> String {
        match self.role {
            START => "no step was made yet".to_owned(),
            role => format!("the output of `{role}` is {}", excerpt(&json::line(self.output), SHOWN)),
        }
    }

    fn rendered(&self, way: &Way<'_>, status: &str, otherwise: &str) -> Result<Route, RouteError> {
        let role = self.role;
        let render = |field, template: &str| {
            template::render(template, self.output).map_err(|error| RouteError::Template {
                role: role.to_owned(),
                status: status.to_owned(),
                field,
                error,
            })
        };
        let prompt = match way.prompt {
            Some(template) => render("prompt", template)?,
            None => otherwise.to_owned(),
        };
        if prompt.trim().is_empty() {
            return Err(RouteError::EmptyPrompt {
                role: role.to_owned(),
                status: status.to_owned(),
                template: way.prompt.unwrap_or_default().to_owned(),
            });
        }
        let target = target(way.role);
        if let (Target::Role(_), Some(why)) = (&target, unspeakable(&prompt)) {
            return Err(RouteError::Unspeakable { role: role.to_owned(), status: status.to_owned(), why });
        }
        let location = way.location.map(|template| render("location", template)).transpose()?;
        Ok(Route { target, prompt, location })
    }
}

/// What is said to whoever comes after a role where the edge has no prompt of its own.
pub fn delivered(role: &str, output: &Value) -> String {
    format!("Role `{role}` has delivered: {}", excerpt(&json::line(output), DELIVERED))
}

/// What is said to the first role where the edge has no prompt of its own: the task, if it fits on a command line.
pub fn begun(task: &str) -> String {
    match unspeakable(task) {
        None if !task.trim().is_empty() => task.to_owned(),
        _ => "Begin with the task of the thread.".to_owned(),
    }
}

/// Why a text cannot be an argument of a program, if it cannot.
fn unspeakable(prompt: &str) -> Option<String> {
    match prompt.len() {
        bytes if bytes > PROMPT_MAX => {
            Some(format!("renders to {bytes} bytes: at most {PROMPT_MAX} fit on a command line"))
        }
        _ => prompt.contains('\0').then(|| "renders to a text with a NUL character".to_owned()),
    }
}

fn target(role: &str) -> Target {
    match role {
        END => Target::End,
        SUSPEND => Target::Suspend,
        role => Target::Role(role.to_owned()),
    }
}

#[cfg(test)]
mod tests;
