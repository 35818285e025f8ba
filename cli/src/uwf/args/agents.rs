//! What can be typed after `uwf agents`.

use clap::Args;

/// Which agents to list.
#[derive(Debug, Args)]
#[command(after_long_help = "As JSON, a list of objects:
  name, description   what it is called, and what it is
  source              builtin, shipped, or the file of its definition or configuration
  found, path         whether its program is there, and where
  version             what the program says of itself, or null
  tried               real and a version, recorded output, documentation, or null
  sessions, forks     whether it goes on with its session later, and forks it for questions
  confined            whether it runs in a sandbox unless --sandbox off says otherwise
  hint                how it is installed and signed in, or null
  error               what is wrong with its definition, or null

Examples:
  uwf agents
  uwf agents codex
  uwf agents command --definition > ~/.uwf/agents/mine.yaml
  uwf agents --json name,version | jq -r '.[] | select(.version) | .name'
  uwf run solve-issue -p \"Fix #7\" --agent claude-code
  uwf config set agentOverrides.solve-issue.reviewer codex")]
pub(in crate::uwf) struct Agents {
    /// Only this one
    pub(in crate::uwf) name: Option<String>,
    /// Print its definition: to read, or to begin one of your own with in $UWF_HOME/agents/NAME.yaml
    #[arg(long, requires = "name")]
    pub(in crate::uwf) definition: bool,
    /// Do not start programs to ask for their versions
    #[arg(long)]
    pub(in crate::uwf) no_version: bool,
}
