//! What can be typed, and every help text. No meaning is given to anything here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A stateless workflow engine for agents.
#[derive(Debug, Parser)]
#[command(
    name = "uwf",
    version,
    about = "A stateless workflow engine for agents",
    long_about = "A stateless workflow engine for agents.\n\nA workflow is data, a thread is a chain of immutable steps, \
                  and every step is one agent process that starts, does one thing and exits.",
    after_long_help = "Examples:
  uwf workflow validate solve-issue.yaml        find every mistake in a workflow
  uwf workflow add solve-issue.yaml             register it by its name
  uwf thread start solve-issue -p \"Fix #7\"      begin a thread; prints its id
  uwf thread exec 01K… --until-end              run its steps until it ends or waits
  uwf thread read 01K…                          what happened, in words

Files:
  $UWF_HOME (~/.uwf)     config.yaml, .env, locks of running steps
  $OCAS_HOME (~/.ocas)   the content-addressed store",
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) noun: Noun,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// How the result is printed [default: text on a terminal, json otherwise]
    #[arg(long, global = true, value_enum, value_name = "text|json|yaml", hide_possible_values = true)]
    pub format: Option<Format>,
    /// Say less on stderr: errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colours: auto is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, value_name = "auto|always|never", default_value_t = Color::Auto)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub color: Color,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// For both
    Yaml,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Noun {
    /// Workflows: check, register, look at them
    #[command(subcommand)]
    Workflow(Workflow),
    /// Threads: start, run, read them
    #[command(subcommand)]
    Thread(Thread),
    /// Steps: look at single steps of a thread
    #[command(subcommand)]
    Step(Step),
    /// The content-addressed store underneath
    #[command(subcommand)]
    Cas(Cas),
    /// The configuration in $UWF_HOME/config.yaml
    #[command(subcommand)]
    Config(Config),
}

#[derive(Debug, Subcommand)]
pub(super) enum Workflow {
    /// Check a workflow file and register it by its name
    #[command(
        alias = "put",
        after_long_help = "Examples:\n  uwf workflow add solve-issue.yaml\n  uwf workflow add .workflows/review/index.yaml"
    )]
    Add {
        /// The workflow's YAML file
        file: PathBuf,
    },
    /// Check a workflow file and say everything that is wrong with it; nothing is stored
    #[command(after_long_help = "Examples:\n  uwf workflow validate solve-issue.yaml")]
    Validate {
        /// The workflow's YAML file
        file: PathBuf,
    },
    /// Print a workflow as it is stored
    #[command(
        after_long_help = "Examples:\n  uwf workflow show solve-issue\n  uwf workflow show 9GDHFMG6KAC8V"
    )]
    Show {
        /// A hash, a file, or a name: local ones first, then the registry
        workflow: String,
    },
    /// List the workflows that `thread start` finds from here
    #[command(after_long_help = "Examples:\n  uwf workflow list --format json")]
    List,
}

#[derive(Debug, Subcommand)]
pub(super) enum Thread {
    /// Begin a thread; nothing runs yet
    #[command(
        after_long_help = "Examples:\n  uwf thread start solve-issue -p \"Fix the login redirect\"\n  uwf thread start ./flow.yaml -p \"- tidy up\" --cwd ../project"
    )]
    Start {
        /// A hash, a file, or a name: local ones first, then the registry
        workflow: String,
        /// The task
        #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
        prompt: String,
        /// The directory the thread works in [default: the current one]
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Run the next step of a thread
    #[command(
        alias = "step",
        long_about = "Run the next step of a thread: ask the graph who plays, start that agent, check its step, move the head.\n\n\
                      Exit status: 0 advanced or ended, 10 suspended, 3 a failed step (the head stays), 1 anything else.",
        after_long_help = "Examples:\n  uwf thread exec 01K…\n  uwf thread exec 01K… -c 3\n  uwf thread exec 01K… --until-end --agent \"my-agent --fast\""
    )]
    Exec {
        /// The thread's id
        thread: String,
        /// Run this many steps; stops when the thread ends, waits or a step fails
        #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
        /// Run until the thread ends, waits, or a step fails
        #[arg(long, conflicts_with = "count")]
        until_end: bool,
        /// With --until-end: stop after this many steps
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..), requires = "until_end")]
        max_steps: u32,
        #[command(flatten)]
        how: How,
    },
    /// Take up a suspended thread, or an ended one again
    #[command(
        long_about = "Take up a suspended thread with the role that suspended it, or an ended one by the `resume` edge of `$START`.\n\n\
                      Exit status: as for `exec`.",
        after_long_help = "Examples:\n  uwf thread resume 01K… -p \"Use the main branch.\""
    )]
    Resume {
        /// The thread's id
        thread: String,
        /// What the role is told, below the message the thread was left with
        #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
        prompt: Option<String>,
        #[command(flatten)]
        how: How,
    },
    /// Say where a thread stands
    #[command(after_long_help = "Examples:\n  uwf thread show 01K…")]
    Show {
        /// The thread's id
        thread: String,
    },
    /// List threads, the youngest first
    #[command(
        after_long_help = "Examples:\n  uwf thread list --all\n  uwf thread list --status suspended,end --after 7d\n  uwf thread list --all --skip 20 --take 10"
    )]
    List(ThreadList),
    /// Tell what happened in a thread, as markdown
    #[command(
        after_long_help = "Examples:\n  uwf thread read 01K…\n  uwf thread read 01K… --quota 4000\n  uwf thread read 01K… --before 9GDHFMG6KAC8V --start"
    )]
    Read {
        /// The thread's id
        thread: String,
        /// At most about this many characters: the last steps that fit
        #[arg(long, value_name = "CHARS")]
        quota: Option<usize>,
        /// Only the steps before this one
        #[arg(long, value_name = "STEP")]
        before: Option<String>,
        /// With --before: begin with the task all the same
        #[arg(long, requires = "before")]
        start: bool,
    },
}

/// How steps are run.
#[derive(Debug, Args)]
pub(super) struct How {
    /// Who plays: an alias from config.yaml or a command line [default: as configured, else uwf-builtin]
    #[arg(long, value_name = "CMD|ALIAS", allow_hyphen_values = true)]
    pub(super) agent: Option<String>,
    /// Work in this directory instead of the thread's own
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// End an agent that takes longer (90s, 20m, 1h) [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(super) timeout: Option<std::time::Duration>,
}

/// Which threads are listed.
#[derive(Debug, Args)]
pub(super) struct ThreadList {
    /// Every thread, whatever its status
    #[arg(long, conflicts_with = "status")]
    pub(super) all: bool,
    /// Only these: idle, running, suspended, end, cancelled, active (idle and running)
    #[arg(long, value_name = "A,B", value_delimiter = ',', hide_possible_values = true)]
    pub(super) status: Vec<StatusWord>,
    /// Only those started after then: 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago
    #[arg(long, value_name = "TIME")]
    pub(super) after: Option<String>,
    /// Only those started before then
    #[arg(long, value_name = "TIME")]
    pub(super) before: Option<String>,
    /// Leave out this many
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) skip: usize,
    /// Show this many at most
    #[arg(long, value_name = "N")]
    pub(super) take: Option<usize>,
}

/// A status as it can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StatusWord {
    /// Ready for its next step
    Idle,
    /// A step is running
    Running,
    /// Waits for a person
    Suspended,
    /// Came to its end
    #[value(alias = "completed")]
    End,
    /// Given up
    Cancelled,
    /// Idle or running
    Active,
}

#[derive(Debug, Subcommand)]
pub(super) enum Step {
    /// List the steps of a thread, the oldest first
    #[command(after_long_help = "Examples:\n  uwf step list 01K… --format json")]
    List {
        /// The thread's id
        thread: String,
    },
    /// Print the agent's record of a step, with its turns
    #[command(after_long_help = "Examples:\n  uwf step show 9GDHFMG6KAC8V --format yaml")]
    Show {
        /// The step's hash
        step: String,
    },
    /// Tell what happened in a step, as markdown
    #[command(
        after_long_help = "Examples:\n  uwf step read 9GDHFMG6KAC8V\n  uwf step read 9GDHFMG6KAC8V --prompt"
    )]
    Read {
        /// The step's hash
        step: String,
        /// The opening messages as they were sent to the model, instead
        #[arg(long)]
        prompt: bool,
        /// At most about this many characters: the last turns that fit
        #[arg(long, value_name = "CHARS")]
        quota: Option<usize>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Cas {
    /// Print a node: its type, payload and timestamp
    #[command(after_long_help = "Examples:\n  uwf cas get 9GDHFMG6KAC8V")]
    Get {
        /// The node's hash
        hash: String,
    },
    /// Store a value, print its hash
    #[command(
        after_long_help = "Examples:\n  echo '\"a text\"' | uwf cas put --type string -\n  uwf cas put --type schema my-schema.json\n  uwf cas put --jsonl nodes.jsonl"
    )]
    Put(Values),
    /// Say whether a node exists: true or false, exit status 0 or 1
    #[command(after_long_help = "Examples:\n  uwf cas has 9GDHFMG6KAC8V && echo there")]
    Has {
        /// The node's hash
        hash: String,
    },
    /// Print the hash a value would have; nothing is stored or checked
    #[command(after_long_help = "Examples:\n  echo '{}' | uwf cas hash --type object -")]
    Hash(Values),
    /// List the nodes that a node refers to
    #[command(after_long_help = "Examples:\n  uwf cas refs 9GDHFMG6KAC8V")]
    Refs {
        /// The node's hash
        hash: String,
    },
    /// List every node that can be reached from a node, itself first
    #[command(after_long_help = "Examples:\n  uwf cas walk 9GDHFMG6KAC8V | wc -l")]
    Walk {
        /// The node's hash
        hash: String,
    },
    /// Check every node of the store; exit status 1 when something is wrong
    #[command(after_long_help = "Examples:\n  uwf cas verify --format text")]
    Verify,
}

/// Values from a file.
#[derive(Debug, Args)]
pub(super) struct Values {
    /// The type: a hash, a variable (@ocas/string), or its last word (string, schema, StepNode)
    #[arg(
        long = "type",
        value_name = "HASH|NAME",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    pub(super) type_: Option<String>,
    /// The file holds one {"type", "payload"} a line; one hash a line is printed
    #[arg(long)]
    pub(super) jsonl: bool,
    /// A file with one JSON value; `-` is stdin
    pub(super) file: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(super) enum Config {
    /// Print the whole configuration; keys are masked
    #[command(after_long_help = "Examples:\n  uwf config list")]
    List {
        /// Print API keys in clear
        #[arg(long)]
        show_secrets: bool,
    },
    /// Print one value
    #[command(
        after_long_help = "Examples:\n  uwf config get defaultModel\n  uwf config get providers.openai.baseUrl"
    )]
    Get {
        /// Names joined by dots
        key: String,
        /// Print API keys in clear
        #[arg(long)]
        show_secrets: bool,
    },
    /// Set one value; the file is checked before it is written
    #[command(
        after_long_help = "Examples:\n  uwf config set agents.mine.command ./my-agent\n  uwf config set agents.mine.args '[--fast]'\n  uwf config set providers.openai.apiKeyEnv OPENAI_API_KEY"
    )]
    Set {
        /// Names joined by dots
        key: String,
        /// The value, as YAML
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}
