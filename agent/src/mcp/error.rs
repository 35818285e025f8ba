//! What can go wrong with a server, in words for the model and for people.

use std::time::Duration;

use thiserror::Error;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum McpError {
    /// It did not start, or did not tell its tools.
    #[error("the MCP server {server} does not start: {why}")]
    NotStarted {
        /// The server.
        server: String,
        /// Whether it is at an address, and not a program of this machine.
        remote: bool,
        /// Why.
        why: String,
    },
    /// A tool was named that it has not.
    #[error("the MCP server {server} has no tool {name}; there are {}", .known.join(", "))]
    NoSuchTool {
        /// The server.
        server: String,
        /// The name that was given.
        name: String,
        /// The names there are, the likeliest first.
        known: Vec<String>,
    },
    /// There is no thread to talk to servers.
    #[error("MCP servers cannot be talked to: {0}")]
    NoRuntime(String),
    /// What the model gave is nothing that could be sent.
    #[error("{tool} was not run: {wrong}")]
    Arguments {
        /// The tool.
        tool: String,
        /// What is wrong.
        wrong: String,
    },
    /// It has ended, or has broken off, while it was to answer.
    #[error(
        "the server {server} ended before it answered: {why}. Whether the call took effect is not known. {}",
        if *.again { "It will be started again for the next call" } else { GONE }
    )]
    Ended {
        /// The server.
        server: String,
        /// Why, as far as that is known.
        why: String,
        /// Whether it is started once more.
        again: bool,
    },
    /// It had ended before, too often.
    #[error("the server {server} does not run any more: {why}. {GONE}")]
    Gone {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// It did not answer in time.
    #[error(
        "the server {server} did not answer within {} s, and was told to stop. Whether the call took effect is not known",
        .limit.as_secs()
    )]
    TimedOut {
        /// The server.
        server: String,
        /// The time it had.
        limit: Duration,
    },
    /// The run is to end.
    #[error("the call was ended before it was answered")]
    Cancelled,
    /// The server refuses the call.
    #[error("the server {server} refuses the call: {why}")]
    Refused {
        /// The server.
        server: String,
        /// Its words.
        why: String,
    },
}

/// What a model is to do without it.
const GONE: &str =
    "Its tools cannot be used any more in this run: go on without them, or say that they are needed";

impl McpError {
    /// What people can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            McpError::NotStarted { remote, .. } => Some(if *remote { NOT_REACHED } else { NOT_STARTED }),
            McpError::NoSuchTool { .. } => Some("change --tools; `server__*` is all of a server"),
            _ => None,
        }
    }
}

/// What people can do about an address where no server answers.
const NOT_REACHED: &str =
    "its `url` is in agents/builtin.yaml (mcpServers): it is the whole address, with its path, often /mcp";
/// What people can do about a server that does not start.
const NOT_STARTED: &str = "it is described in agents/builtin.yaml (mcpServers); it runs in the sandbox of commands: without the \
                           network (--allow-network), and without what `sandbox: { readable: [...] }` does not open";
