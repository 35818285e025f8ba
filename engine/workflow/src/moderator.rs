//! Where a thread goes next: `graph[last role][status of its output]` → a target and a prompt.
//!
//! Apart because it is the whole of the engine's judgement, and pure: no store, no thread, no clock. It never starts
//! anything and it holds no state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_store::suggest;

use crate::template::{self, TemplateError};

/// Where every thread begins: the graph's entry for a thread without steps.
pub const START: &str = "$START";
/// The target that ends a thread.
pub const END: &str = "$END";
/// The target that suspends a thread, and the `$status` with which a role suspends itself.
pub const SUSPEND: &str = "$SUSPEND";

/// The longest text for an agent, in bytes: the kernel takes no argument longer than 128 KiB.
pub const PROMPT_MAX: usize = 120 << 10;

/// Role → status of its output → the edge to follow.
pub type Graph = BTreeMap<String, BTreeMap<String, Edge>>;

/// One edge of a graph, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// A role, [`END`] or [`SUSPEND`].
    pub role: String,
    /// Template of what the next role is told, or of what a suspended or ended thread says.
    pub prompt: String,
    /// Template of the directory the next role works in, relative to the thread's; `None`: the thread's own.
    #[serde(default)]
    pub location: Option<String>,
}

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

/// Why there is no way on. Lists hold what the graph does know, nearest name first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The graph has no entry for the last role.
    #[error("the graph has no edges for role `{role}`")]
    UnknownRole {
        /// The role that was looked for.
        role: String,
        /// The roles that have edges.
        known: Vec<String>,
    },
    /// The output does not say how the role ended.
    #[error("the output of role `{role}` has no `$status` text{}", .got.as_ref().map(|got| format!(", got {got}")).unwrap_or_default())]
    NoStatus {
        /// The role whose output it is.
        role: String,
        /// What stands in its place.
        got: Option<Value>,
        /// The statuses that have an edge.
        known: Vec<String>,
    },
    /// The role has no edge for that status.
    #[error("role `{role}` has no edge for status `{status}`")]
    UnknownStatus {
        /// The role that ended.
        role: String,
        /// How it ended.
        status: String,
        /// The statuses that have an edge.
        known: Vec<String>,
    },
    /// A template of the edge cannot be rendered.
    #[error("the {field} of edge `{role}` → `{status}` does not render: {error}")]
    Template {
        /// The role that ended.
        role: String,
        /// How it ended.
        status: String,
        /// `prompt` or `location`.
        field: &'static str,
        /// What is wrong with the template.
        error: TemplateError,
    },
    /// The prompt rendered to nothing.
    #[error("the prompt of edge `{role}` → `{status}` renders to nothing: `{template}`")]
    EmptyPrompt {
        /// The role that ended.
        role: String,
        /// How it ended.
        status: String,
        /// The template.
        template: String,
    },
    /// The prompt cannot be handed to an agent, which gets it on its command line.
    #[error("the prompt of edge `{role}` → `{status}` {why}")]
    Unspeakable {
        /// The role that ended.
        role: String,
        /// How it ended.
        status: String,
        /// Its length and the limit, or what it holds.
        why: String,
    },
}

impl RouteError {
    /// What to do, for the line below the error.
    pub fn hint(&self) -> String {
        match self {
            RouteError::UnknownRole { known, .. } => format!("roles with edges: {}", known.join(", ")),
            RouteError::NoStatus { known, .. } | RouteError::UnknownStatus { known, .. } => {
                format!("statuses with an edge: {}", known.join(", "))
            }
            RouteError::Template { .. } => "mend the template in the workflow and add it again".to_owned(),
            RouteError::EmptyPrompt { .. } => {
                "an edge needs a prompt, also to $END: add words around the names in the template".to_owned()
            }
            RouteError::Unspeakable { role, .. } => format!(
                "have role `{role}` write long text to a file and name the file in its output: \
                 `uwf thread poke` lets it make the step again"
            ),
        }
    }
}

/// Follows the graph one edge. A fresh thread comes from [`START`] with status `new`, a resumed one with `resume`.
///
/// # Errors
/// When the graph has no edge for what happened, or when the edge's templates do not give a prompt.
pub fn route(graph: &Graph, last_role: &str, last_output: &Value) -> Result<Route, RouteError> {
    let edges = graph.get(last_role).ok_or_else(|| RouteError::UnknownRole {
        role: last_role.to_owned(),
        known: suggest::sorted(last_role, graph.keys()),
    })?;
    let status = status_of(edges, last_role, last_output)?;
    let edge = edges.get(status).ok_or_else(|| RouteError::UnknownStatus {
        role: last_role.to_owned(),
        status: status.to_owned(),
        known: suggest::sorted(status, edges.keys()),
    })?;
    follow(edge, last_role, status, last_output)
}

fn status_of<'o>(
    edges: &BTreeMap<String, Edge>,
    role: &str,
    output: &'o Value,
) -> Result<&'o str, RouteError> {
    let got = output.get("$status");
    got.and_then(Value::as_str).ok_or_else(|| RouteError::NoStatus {
        role: role.to_owned(),
        got: got.cloned(),
        known: edges.keys().cloned().collect(),
    })
}

fn follow(edge: &Edge, role: &str, status: &str, output: &Value) -> Result<Route, RouteError> {
    let render = |field, template: &str| {
        template::render(template, output).map_err(|error| RouteError::Template {
            role: role.to_owned(),
            status: status.to_owned(),
            field,
            error,
        })
    };
    let prompt = render("prompt", &edge.prompt)?;
    if prompt.trim().is_empty() {
        return Err(RouteError::EmptyPrompt {
            role: role.to_owned(),
            status: status.to_owned(),
            template: edge.prompt.clone(),
        });
    }
    let target = target(&edge.role);
    if let (Target::Role(_), Some(why)) = (&target, unspeakable(&prompt)) {
        return Err(RouteError::Unspeakable { role: role.to_owned(), status: status.to_owned(), why });
    }
    let location = edge.location.as_deref().map(|template| render("location", template)).transpose()?;
    Ok(Route { target, prompt, location })
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
