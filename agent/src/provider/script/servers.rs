//! MCP servers that a script plays: their tools, and what these answer.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The tools of the servers, by the server's name.
pub(crate) type ScriptedServers = BTreeMap<String, Vec<ScriptedTool>>;

/// A tool and its answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScriptedTool {
    /// Its name at the server.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
    /// The schema of its arguments.
    pub(crate) schema: Map<String, Value>,
    /// Whether it says that it changes nothing.
    pub(crate) reads_only: bool,
    /// What it answers, one call after the other; the last one again and again.
    pub(crate) results: Vec<ScriptedResult>,
}

/// An answer of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptedResult {
    /// Its text.
    pub(crate) text: String,
    /// Whether the tool says that it failed.
    pub(crate) is_error: bool,
}
