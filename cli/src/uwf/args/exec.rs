//! What can be typed after the commands that begin a thread and run its steps, and what they have in common.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::shell::{GREATEST_SEED, SandboxLevel, dollars, temperature};

/// What begins.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Start {
    /// A hash, a file, or a name: local ones first, then the registry
    pub(in crate::uwf) workflow: String,
    /// The task; `-` reads it from stdin [default: what is typed in $EDITOR, on a terminal]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::uwf) prompt: Option<String>,
    /// Read the task from this file; `-` is stdin
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "prompt")]
    pub(in crate::uwf) file: Option<PathBuf>,
    /// The directory the thread works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(in crate::uwf) cwd: Option<PathBuf>,
}

/// Which steps are run, and where they are seen.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Exec {
    /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
    pub(in crate::uwf) thread: String,
    /// Run this many steps; stops when the thread ends, waits or a step fails
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::uwf) count: u32,
    /// Run until the thread ends, waits, or a step fails; on a terminal a question is asked there and then
    #[arg(long, conflicts_with = "count")]
    pub(in crate::uwf) until_end: bool,
    /// With --until-end: stop after this many steps
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u32).range(1..), requires = "until_end", conflicts_with = "count")]
    pub(in crate::uwf) max_steps: u32,
    #[command(flatten)]
    pub(in crate::uwf) rounds: Rounds,
    /// Return at once and let the steps run on their own
    #[arg(long)]
    pub(in crate::uwf) background: bool,
    /// This is the process that runs on its own; stdin is the thread's lock
    #[arg(long, hide = true, conflicts_with = "background")]
    pub(in crate::uwf) detached: bool,
    #[command(flatten)]
    pub(in crate::uwf) how: How,
}

/// How many steps there are at most where nobody says.
pub(in crate::uwf) const MAX_STEPS: u32 = 100;

/// What is for a run on this machine.
const LOCAL: [&str; 20] = [
    "until_end",
    "max_rounds",
    "background",
    "cwd",
    "agent",
    "timeout",
    "sandbox",
    "model",
    "base_url",
    "mock",
    "mock_seed",
    "max_turns",
    "allow_network",
    "fetch_host",
    "reasoning_effort",
    "temperature",
    "tools",
    "mcp",
    "no_snapshots",
    "reset_options",
];

/// What is answered, and how it goes on.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Resume {
    /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
    pub(in crate::uwf) thread: String,
    /// What the role is told, below the message the thread was left with; `-` reads it from stdin
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::uwf) prompt: Option<String>,
    /// The thread is at this remote, not here: the next worker takes it up; with --max-cost all its steps together may cost
    /// that, those before included
    #[arg(long, value_name = "REMOTE", conflicts_with_all = LOCAL)]
    pub(in crate::uwf) remote: Option<String>,
    /// Read what the role is told from this file; `-` is stdin
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "prompt")]
    pub(in crate::uwf) file: Option<PathBuf>,
    /// Go on until the thread ends, waits, or a step fails; on a terminal a question is asked there and then
    #[arg(long)]
    pub(in crate::uwf) until_end: bool,
    /// With --until-end: stop after this many steps
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u32).range(1..), requires = "until_end")]
    pub(in crate::uwf) max_steps: u32,
    #[command(flatten)]
    pub(in crate::uwf) rounds: Rounds,
    /// Return at once and let the steps run on their own
    #[arg(long)]
    pub(in crate::uwf) background: bool,
    /// This is the process that runs on its own; stdin is the thread's lock
    #[arg(long, hide = true, conflicts_with = "background")]
    pub(in crate::uwf) detached: bool,
    #[command(flatten)]
    pub(in crate::uwf) how: How,
}

/// What the last role is told.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Poke {
    /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
    pub(in crate::uwf) thread: String,
    /// What the role is told; `-` reads it from stdin [default: what is typed in $EDITOR, on a terminal]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::uwf) prompt: Option<String>,
    /// Read what the role is told from this file; `-` is stdin
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "prompt")]
    pub(in crate::uwf) file: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::uwf) how: How,
}

/// How often a role may play.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(in crate::uwf) struct Rounds {
    /// Pause the thread when a role that has played this many times would play again; kept with the thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::uwf) max_rounds: Option<u32>,
}

/// How steps are run.
#[derive(Debug, Default, Args)]
pub(in crate::uwf) struct How {
    /// Work in this directory instead of the thread's own
    #[arg(long, value_name = "DIR")]
    pub(in crate::uwf) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::uwf) flags: AgentFlags,
}

/// Who plays, and what that agent is told.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The agent")]
pub(in crate::uwf) struct AgentFlags {
    /// Who plays: an alias from config.yaml or a command line [default: as configured, else uwf-builtin; for poke and
    /// ask whoever made the step]
    #[arg(long, value_name = "CMD|ALIAS", allow_hyphen_values = true)]
    pub(in crate::uwf) agent: Option<String>,
    /// End an agent that takes longer (90s, 20m, 1h) [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = crate::shell::some_time)]
    pub(in crate::uwf) timeout: Option<Duration>,
    /// How much of the sandbox must be there for the agent's commands: strict runs none without all of it, best-effort takes
    /// what the kernel can enforce, off is none [default: as configured, else strict; off for agents that are not known to
    /// live in one, see `uwf agents`]
    #[arg(long, value_enum, value_name = "LEVEL", hide_possible_values = true)]
    pub(in crate::uwf) sandbox: Option<SandboxLevel>,
    /// The model, or an alias of config.yaml; agents other than uwf-builtin are told by UWF_MODEL
    #[arg(long, value_name = "MODEL")]
    pub(in crate::uwf) model: Option<String>,
    /// The model's endpoint, such as http://127.0.0.1:11434/v1, without a password; agents other than uwf-builtin are
    /// told by UWF_BASE_URL
    #[arg(long, value_name = "URL")]
    pub(in crate::uwf) base_url: Option<String>,
    /// uwf-builtin: use a scripted model instead: no network, no key
    #[arg(long, value_name = "FILE")]
    pub(in crate::uwf) mock: Option<PathBuf>,
    /// uwf-builtin: draw the behaviours of the mock script from this seed [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=GREATEST_SEED))]
    pub(in crate::uwf) mock_seed: Option<u64>,
    /// uwf-builtin: what one visit of a role may cost at most, in USD
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(in crate::uwf) max_cost: Option<f64>,
    /// uwf-builtin: completions of one visit of a role at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::uwf) max_turns: Option<u64>,
    /// uwf-builtin: let commands use the network
    #[arg(long)]
    pub(in crate::uwf) allow_network: bool,
    /// uwf-builtin: offer fetch_url for this host: docs.rs, *.example.com, localhost:8080 (repeatable)
    #[arg(long, value_name = "HOST")]
    pub(in crate::uwf) fetch_host: Vec<String>,
    /// uwf-builtin: how much the model is to reason, such as low or high
    #[arg(long, value_name = "EFFORT")]
    pub(in crate::uwf) reasoning_effort: Option<String>,
    /// uwf-builtin: the sampling temperature
    #[arg(long, value_name = "0..2", value_parser = temperature)]
    pub(in crate::uwf) temperature: Option<f64>,
    /// uwf-builtin: offer these tools alone; those of MCP servers are called files__search, all of one files__*
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(in crate::uwf) tools: Option<Vec<String>>,
    /// uwf-builtin: offer the tools of these servers of `mcpServers` in agents/builtin.yaml, too, whatever the role
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(in crate::uwf) mcp: Vec<String>,
    /// uwf-builtin: do not capture the workspace before and after each step
    #[arg(long)]
    pub(in crate::uwf) no_snapshots: bool,
    /// Forget what is kept of these with the thread, as all of them but --timeout are; what is typed here takes its place
    #[arg(long)]
    pub(in crate::uwf) reset_options: bool,
}
