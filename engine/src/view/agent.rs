//! An agent that can play roles.

use serde::Serialize;

/// An agent as a row of `agents`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRow {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub description: String,
    /// `builtin`, `shipped`, or the file that defines it.
    pub source: String,
    /// Whether its program is there.
    pub found: bool,
    /// Where.
    pub path: Option<String>,
    /// What the program says of itself.
    pub version: Option<String>,
    /// How its definition was tried: `real` and a version, `recorded output`, `documentation`.
    pub tried: Option<String>,
    /// Whether it goes on with its session at a later visit.
    pub sessions: bool,
    /// Whether it can fork a session, so that questions are asked in a fork.
    pub forks: bool,
    /// Whether it runs in a sandbox unless somebody says otherwise.
    pub confined: bool,
    /// How it is installed and signed in.
    pub hint: Option<String>,
    /// What is wrong with its definition.
    pub error: Option<String>,
}
