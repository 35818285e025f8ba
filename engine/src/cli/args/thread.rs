//! What can be typed after `uwf thread`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Thread {
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
    /// Write a thread, with everything it consists of, to a file for another store
    #[command(
        long_about = "Write a thread, with everything it consists of, to a file for another store: its steps and their \
                      records, its failed attempts, its workflow and the types of all of these, as JSON lines.",
        after_long_help = "Examples:\n  uwf thread export 01K… -o thread.jsonl\n  uwf thread export 01K… | ssh host uwf thread import -"
    )]
    Export {
        /// The thread's id
        thread: String,
        /// Write to this file [default: stdout, which is also `-`]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take in a thread that was exported
    #[command(
        long_about = "Take in a thread that was exported. Every node is checked against its hash and its type before \
                      anything is stored. A thread that is here already at the same head stays as it is; at another \
                      head it is an error.",
        after_long_help = "Examples:\n  uwf thread import thread.jsonl\n  uwf thread import - < thread.jsonl"
    )]
    Import {
        /// The file; `-` is stdin
        file: PathBuf,
    },
}

/// How steps are run.
#[derive(Debug, Args)]
pub(in crate::cli) struct How {
    /// Who plays: an alias from config.yaml or a command line [default: as configured, else uwf-builtin]
    #[arg(long, value_name = "CMD|ALIAS", allow_hyphen_values = true)]
    pub(in crate::cli) agent: Option<String>,
    /// Work in this directory instead of the thread's own
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) cwd: Option<PathBuf>,
    /// End an agent that takes longer (90s, 20m, 1h) [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(in crate::cli) timeout: Option<std::time::Duration>,
}

/// Which threads are listed.
#[derive(Debug, Args)]
pub(in crate::cli) struct ThreadList {
    /// Every thread, whatever its status
    #[arg(long, conflicts_with = "status")]
    pub(in crate::cli) all: bool,
    /// Only these: idle, running, suspended, end, cancelled, active (idle and running)
    #[arg(long, value_name = "A,B", value_delimiter = ',', hide_possible_values = true)]
    pub(in crate::cli) status: Vec<StatusWord>,
    /// Only those started after then: 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) after: Option<String>,
    /// Only those started before then
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) before: Option<String>,
    /// Leave out this many
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(in crate::cli) skip: usize,
    /// Show this many at most
    #[arg(long, value_name = "N")]
    pub(in crate::cli) take: Option<usize>,
}

/// A status as it can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum StatusWord {
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
