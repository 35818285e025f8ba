//! What can be typed after `uwf adapt`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::shell::SandboxLevel;

/// What is asked about a step that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum AskMode {
    /// Make a copy of a session that questions can be put to; prints its id
    Fork,
    /// Answer a question, in plain text
    Ask,
}

#[derive(Debug, Args)]
pub(in crate::uwf) struct Adapt {
    /// The agent: the name of its definition; `uwf agents` lists them
    pub(in crate::uwf) name: String,
    /// The thread whose role is played
    #[arg(long, value_name = "THREAD", required_unless_present = "mode", conflicts_with = "mode")]
    pub(in crate::uwf) thread: Option<String>,
    /// The role that is played
    #[arg(long, value_name = "ROLE", required_unless_present = "mode", conflicts_with = "mode")]
    pub(in crate::uwf) role: Option<String>,
    /// What it is asked for [default: $UWF_EDGE_PROMPT, else what the graph says], or the question
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::uwf) prompt: Option<String>,
    /// The model, as the agent calls it [default: as the agent is configured]
    #[arg(long, value_name = "MODEL")]
    pub(in crate::uwf) model: Option<String>,
    /// How much of a sandbox the agent must run in [default: UWF_BUILTIN_SANDBOX, else for an agent that can live in one as
    /// agents/builtin.yaml says, else strict; for others off]
    #[arg(long, value_name = "LEVEL")]
    pub(in crate::uwf) sandbox: Option<SandboxLevel>,
    /// An argument for the agent itself; may be given several times
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(in crate::uwf) passed: Vec<String>,
    /// Begin anew, whatever is left of an interrupted visit
    #[arg(long)]
    pub(in crate::uwf) fresh: bool,
    /// Write what happens to this file as JSON lines, `-` is stderr
    #[arg(long, value_name = "FILE")]
    pub(in crate::uwf) events: Option<PathBuf>,
    /// Ask about a step that is over, in the place of playing a role
    #[arg(long, value_name = "MODE", requires_if("fork", "session"), requires_if("ask", "detail"))]
    pub(in crate::uwf) mode: Option<AskMode>,
    /// The session: of the step to fork, or the fork to ask
    #[arg(long, value_name = "ID", requires = "mode")]
    pub(in crate::uwf) session: Option<String>,
    /// The record of the step that is asked about
    #[arg(long, value_name = "HASH", requires = "mode")]
    pub(in crate::uwf) detail: Option<String>,
}
