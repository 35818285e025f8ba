//! Why there is no way on, and what to do about it.

use serde_json::Value;

use crate::template::TemplateError;

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
        got: Option<Box<Value>>,
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
    /// Which way it is depends on conditions, and nobody was asked about them.
    #[error("what comes after role `{role}` depends on {}, which nobody has evaluated", named(.conditions))]
    Conditional {
        /// The role that ended.
        role: String,
        /// The conditions, in the order in which they are tried.
        conditions: Vec<String>,
    },
    /// No condition is true, and there is no fallback.
    #[error("nothing comes after role `{role}`: none is true of {}; {values}", named(.conditions))]
    NoneMatches {
        /// The role that ended.
        role: String,
        /// The conditions, in the order in which they were tried.
        conditions: Vec<String>,
        /// What the role has delivered, shortened.
        values: String,
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
            RouteError::Conditional { .. } => {
                "`uwf thread show` and `uwf thread exec` evaluate conditions; a program does it with \
                 `Engine::conditions`"
                    .to_owned()
            }
            RouteError::NoneMatches { role, .. } => format!(
                "add a fallback as the last entry of `{role}` (`condition: null`, or no `when`), or let it make the step \
                 again with `uwf thread poke`"
            ),
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

/// The conditions by name.
fn named(conditions: &[String]) -> String {
    let names: Vec<String> = conditions.iter().map(|name| format!("`{name}`")).collect();
    format!("the condition{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}
