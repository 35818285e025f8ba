//! What can be typed after `uwf thread`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::artifacts::Artifacts;
use super::at_remote::{AtRemote, Begin};
use super::exec::{Exec, How, Poke, Resume};
use super::step::DiffShape;
use super::watch::Watch;

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum ThreadCommand {
    /// Begin a thread; nothing runs yet
    #[command(
        long_about = "Begin a thread; nothing runs yet. `uwf run` begins one and runs it to its end.\n\n\
                      Where neither -p nor -f says what is to be done, $VISUAL or $EDITOR is opened on a terminal. With -q the thread's \
                      id alone is printed, also where stdout is no terminal.",
        after_long_help = "Examples:\n  uwf thread start solve-issue -p \"Fix the login redirect\"\n  uwf thread start ./flow.yaml -p \"- tidy up\" --cwd ../project\n  T=$(uwf thread start -q solve-issue -f task.md)"
    )]
    Start(Begin),
    /// Watch a thread as it goes: `uwf watch`
    #[command(hide = true, after_long_help = "Examples:\n  uwf thread watch 01K… --remote team")]
    Watch(Watch),
    /// Run the next step of a thread
    #[command(
        alias = "step",
        long_about = with_exit_status(
            "Run the next step of a thread: ask the graph who plays, start that agent, check its step, move the head.\n\n\
             With --background the command returns at once. What the run says goes to \
             $UWF_HOME/logs/threads/<thread>.log; `uwf thread show` tells how it stands, `uwf thread stop` ends it.\n\n\
             Where stderr is no terminal, only warnings and errors are written to it, the agent's among them, so that \
             `2>&1 | jq` works; -v brings the rest.\n\n\
             What is chosen of the agent (--model, --mock, --sandbox and its like) is kept with the thread: later commands need not \
             be told again. A thread that is paused is not run: `uwf thread resume` goes on with it.",
            "advanced, ended or started in the background"
        ),
        after_long_help = "Examples:\n  uwf thread exec 01K…\n  uwf thread exec 01K… -c 3\n  uwf thread exec 01K… --until-end --agent \"my-agent --fast\"\n  uwf thread exec 01K… --until-end --background\n  uwf thread exec 01K… --until-end --mock script.yaml --max-rounds 3"
    )]
    Exec(Exec),
    /// Take up a suspended or paused thread, or an ended one again
    #[command(
        long_about = with_exit_status(
            "Take up a suspended thread with the role that suspended it, a paused one with its next step, or an ended one by \
             the `resume` edge of `$START`.\n\n\
             Where the thread asks something and there is no answer, it is asked for on a terminal, and refused elsewhere.",
            "advanced, ended or started in the background"
        ),
        after_long_help = "Examples:\n  uwf thread resume 01K… -p \"Use the main branch.\"\n  uwf thread resume 01K… -p \"Use the main branch.\" --until-end\n  uwf thread resume 01K… --max-rounds 6 --until-end --background\n  uwf thread resume 01K… --remote team --max-cost 5"
    )]
    Resume(Resume),
    /// Have the last role play once more, in place of its last step
    #[command(
        long_about = with_exit_status(
            "Have the role that played last play once more: told TEXT, in the directory it worked in, by the agent that made \
             the step. The new step takes the place of the last one, which stays in the store.",
            "advanced or ended"
        ),
        after_long_help = "Examples:\n  uwf thread poke 01K… -p \"You forgot the tests.\"\n  uwf thread poke 01K… -p \"- shorter\" --agent my-agent"
    )]
    Poke(Poke),
    /// Sum up what happened in a thread, but for its last steps
    #[command(
        long_about = "Sum up what happened in a thread, but for its last steps: roles that play from then on are shown the summary \
                      in the place of the steps before, and the steps after it as they are. Nothing is lost: `step list`, \
                      `thread read` and all that look back show every step, and say where a summary stands.\n\n\
                      The summary is made by the role `$COMPACT`, which is played as other roles are, by the agent that is \
                      configured for it; uwf-builtin gives it no tools. The last steps are then stored again behind the same \
                      step, the first of them with the summary, and so have other hashes.\n\n\
                      A thread that waits for a person or has ended stays so. `compact: { after: 20, keep: 5 }` in a workflow \
                      has this done by `thread exec` when more than 20 steps have come since the last summary.\n\n\
                      Exit status: 0 summed up, 3 the role failed (the head stays), 129/130/143 ended by a signal (the head \
                      stays), 1 anything else.",
        after_long_help = "Examples:\n  uwf thread compact 01K…\n  uwf thread compact 01K… --keep 10 --agent \"my-agent --fast\""
    )]
    Compact {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        /// How many of the last steps stay as they are
        #[arg(long, value_name = "N", default_value_t = uwf_engine::thread::KEEP, value_parser = clap::value_parser!(u32).range(1..))]
        keep: u32,
        #[command(flatten)]
        how: How,
    },
    /// Say where a thread stands
    #[command(after_long_help = "Examples:\n  uwf thread show 01K…")]
    Show {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        #[command(flatten)]
        at: AtRemote,
    },
    /// List threads, the youngest first
    #[command(
        long_about = "List threads, the youngest first. On a terminal: those of the current directory and of the directories in it \
                      (where there is none, of the nearest directory above) that are idle, running or wait for you, and no more \
                      than 30. Otherwise those of all directories that are idle or running.\n\n\
                      The status is told with its reason: `failed: …`, `interrupted after 3 turns`, `asks: …`. Of an id, the end is \
                      shown that tells it from all others, and does as its name. Programs get `status` as it is stored; `reason`, \
                      `steps`, `turns`, `cost`, `models` and others where --json names them.",
        after_long_help = "Examples:\n  uwf thread list\n  uwf thread list --all\n  uwf thread list --status suspended,end --after 7d\n  uwf thread list --all --skip 20 --take 10\n  uwf thread list --all --json thread,status,reason,cost"
    )]
    List(ThreadList),
    /// Tell what happened in a thread, as markdown
    #[command(
        after_long_help = "Examples:\n  uwf thread read 01K…\n  uwf thread read 01K… --quota 4000\n  uwf thread read 01K… --before 9GDHFMG6KAC8V --start\n  uwf thread read 01K… --html thread.html"
    )]
    Read {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        /// At most about this many characters: the last steps that fit, or the beginning of the last one; 0 is no limit
        #[arg(long, value_name = "CHARS", default_value_t = 32_000)]
        quota: usize,
        /// Only the steps before this one
        #[arg(long, value_name = "STEP")]
        before: Option<String>,
        /// With --before: begin with the task all the same
        #[arg(long)]
        start: bool,
        /// Write all of it as one page, with the graph, turns and changes, that needs no server and no network; `-` is stdout
        #[arg(long, value_name = "FILE", conflicts_with_all = ["quota", "before", "start"])]
        html: Option<PathBuf>,
        /// The thread is at this remote, not here; nothing of it is kept here
        #[arg(long, value_name = "REMOTE", conflicts_with_all = ["before", "start", "html"])]
        remote: Option<String>,
    },
    /// Show what the steps of a thread changed in the workspace
    #[command(
        long_about = "Show what the steps of a thread changed in the workspace, file by file: the workspace as it was captured before \
                      the first step beside what it was after the last one. A file is told with the last step that changed it.",
        after_long_help = "Examples:\n  uwf thread diff 01K…\n  uwf thread diff 01K… --stat\n  uwf thread diff 01K… --patch | git apply -R"
    )]
    Diff {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        #[command(flatten)]
        shape: DiffShape,
    },
    /// List the files and nodes that are kept of a thread's steps, or write one of them
    #[command(
        long_about = "List what is kept of the steps of a thread, the oldest first: files and nodes that their roles' `artifacts` in the \
                      workflow name. Each is as it was when its step was made, whatever became of the file since.",
        after_long_help = "Examples:\n  uwf thread artifacts 01K…\n  uwf thread artifacts 01K… --format json\n  uwf thread artifacts 01K… report.md | less\n  uwf thread artifacts get 01K… report.md -o report.md"
    )]
    Artifacts(Artifacts),
    /// Write the workspace as it was after a step into another directory
    #[command(
        long_about = "Write the workspace as it was after a step, or before it, into a directory that is new or empty. The \
                      thread and its own workspace stay as they are.\n\n\
                      What snapshots leave out is not in it: `.git`, what git ignores, files that held a key, files that were too large. \
                      Each file is written anew from the store and is no link to the one in the workspace, so that \
                      writing to either never changes the other.",
        after_long_help = "Examples:\n  uwf thread checkout 01K…:2 ../as-of-step-2\n  uwf thread checkout 01K…:1 /tmp/before --before\n  uwf thread checkout 9GDHFMG6KAC8V ../review"
    )]
    Checkout {
        /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread
        #[arg(value_name = "STEP")]
        step: String,
        /// The directory: a new one, or an empty one
        dir: PathBuf,
        /// The workspace as it was before the step
        #[arg(long)]
        before: bool,
    },
    /// Let the running step finish and make no other
    #[command(
        long_about = "Have a thread make no further step: a step that runs is let finish, whoever runs it. The thread's status is \
                      `paused` then; `uwf thread resume` goes on. What ends a step at once is `uwf thread stop`.",
        after_long_help = "Examples:\n  uwf thread pause 01K…\n  uwf thread pause 01K… && uwf thread resume 01K… --until-end"
    )]
    Pause {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        #[command(flatten)]
        at: AtRemote,
    },
    /// End a running step; the thread stays active
    #[command(
        long_about = "End the run of a thread, in the background or on another terminal: a TERM signal, then wait until it is gone. \
                      The head stays where it is and the thread stays active. Where nothing runs, there is a warning.",
        after_long_help = "Examples:\n  uwf thread stop 01K…"
    )]
    Stop {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
    },
    /// Give a thread up for good
    #[command(
        alias = "kill",
        long_about = "Give a thread up for good: end its run if there is one, set its status to `cancelled`, forget its failed \
                      attempts. Its steps stay on record.",
        after_long_help = "Examples:\n  uwf thread cancel 01K…"
    )]
    Cancel {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        #[command(flatten)]
        at: AtRemote,
    },
    /// Forget a thread
    #[command(
        long_about = "Forget a thread: its head, its failed attempts and its background log. Its nodes stay in the store until \
                      `uwf cas gc`. A thread that is running is not removed unless --force says to stop it first.",
        after_long_help = "Examples:\n  uwf thread rm 01K…\n  uwf thread rm 01K… --force"
    )]
    Rm {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        /// Stop it first if it is running
        #[arg(short, long)]
        force: bool,
    },
    /// Forget threads that are over and old
    #[command(
        long_about = "Forget threads that are over and old, as `uwf thread rm` does: those in which nothing was done since a time, of \
                      every directory; steps, failed ones and runs that were cut off count. None that runs is among them, and none that was called for a thread that stays; what was \
                      called for one that goes, goes with it.\n\n\
                      Which these are is said first. On a terminal you are asked; elsewhere --yes is needed.",
        after_long_help = "Examples:\n  uwf thread prune --older 30d --dry-run\n  uwf thread prune --older 30d --yes\n  uwf thread prune --older 2026-01-01 --status end,cancelled,suspended"
    )]
    Prune(Prune),
    /// Begin a new thread from a step, or from where another thread stands
    #[command(
        hide = true,
        after_long_help = "Examples:\n  uwf thread fork 9GDHFMG6KAC8V\n  uwf thread fork 01K…"
    )]
    Fork {
        /// A step's hash, or a thread's id
        #[arg(value_name = "STEP|THREAD")]
        from: String,
    },
    /// List the steps of a thread, the oldest first
    #[command(hide = true)]
    Steps {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
    },
    /// Print the agent's record of a step, with its turns
    #[command(hide = true)]
    StepDetails {
        /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread
        step: String,
    },
    /// Write a thread, with everything it consists of, to a file for another store
    #[command(
        long_about = "Write a thread, with everything it consists of, to a file for another store: its steps and their \
                      records, its failed attempts, its workflow and the types of all of these, as JSON lines.",
        after_long_help = "Examples:\n  uwf thread export 01K… -o thread.jsonl\n  uwf thread export 01K… | ssh host uwf thread import -"
    )]
    Export {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        /// Write to this file [default: stdout, which is also `-`]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take in a thread that was exported
    #[command(
        long_about = "Take in a thread that was exported. Every node is checked against its hash and its type before \
                      anything is stored. A thread that is here already at the same head stays as it is; where \
                      the file has steps that come after those that are here, it moves on; at another head it is an error.",
        after_long_help = "Examples:\n  uwf thread import thread.jsonl\n  uwf thread import - < thread.jsonl"
    )]
    Import {
        /// The file; `-` is stdin
        file: PathBuf,
    },
}

/// The text of a command that runs steps, and what its exit status says; 0 is what is `done`.
pub(super) fn with_exit_status(about: &str, done: &str) -> String {
    format!(
        "{about}\n\nExit status: 0 {done}, 10 suspended or paused, 3 a failed step (the head stays), 129/130/143 ended by a signal \
         (the head stays), 1 anything else. With UWF_EXIT=0 in the environment or in $UWF_HOME/.env, 0 in the place of 10 \
         and 3."
    )
}

/// Which threads are forgotten.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Prune {
    /// Those in which nothing was done since this time: 30d for thirty days ago, 2026-11-21, 2026-11-21T08:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(in crate::uwf) older: String,
    /// Those of these statuses: end, cancelled, suspended, paused, idle
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        default_value = "end,cancelled",
        hide_possible_values = true
    )]
    pub(in crate::uwf) status: Vec<StatusWord>,
    /// Say which they are, and change nothing
    #[arg(long)]
    pub(in crate::uwf) dry_run: bool,
    /// Do not ask
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(in crate::uwf) yes: bool,
}

/// Which threads are listed.
#[derive(Debug, Args)]
pub(in crate::uwf) struct ThreadList {
    /// List threads of every status, of all directories, and those that others called; where --status is given, it decides
    #[arg(long)]
    pub(in crate::uwf) all: bool,
    /// Only threads of these statuses: idle, running, suspended, paused, end, cancelled, active (idle and running)
    #[arg(long, value_name = "A,B", value_delimiter = ',', hide_possible_values = true)]
    pub(in crate::uwf) status: Vec<StatusWord>,
    /// Only threads started after this time: 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago
    #[arg(long, value_name = "TIME")]
    pub(in crate::uwf) after: Option<String>,
    /// Only threads started before this time: 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago
    #[arg(long, value_name = "TIME")]
    pub(in crate::uwf) before: Option<String>,
    /// Leave out the first N of them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(in crate::uwf) skip: usize,
    /// List N at most [default: 30 on a terminal, all of them otherwise]
    #[arg(long, value_name = "N")]
    pub(in crate::uwf) take: Option<usize>,
    #[command(flatten)]
    pub(in crate::uwf) at: AtRemote,
}

/// A status as it can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum StatusWord {
    /// Ready for its next step
    Idle,
    /// A step is running
    Running,
    /// Waits for a person
    Suspended,
    /// Makes no further step until it is resumed
    Paused,
    /// Came to its end
    #[value(alias = "completed")]
    End,
    /// Given up
    Cancelled,
    /// Idle or running
    Active,
}

impl StatusWord {
    /// The state that a view names so.
    pub(in crate::uwf) fn of(word: &str) -> Option<StatusWord> {
        Some(match word {
            "idle" => StatusWord::Idle,
            "running" => StatusWord::Running,
            "suspended" => StatusWord::Suspended,
            "paused" => StatusWord::Paused,
            "end" => StatusWord::End,
            "cancelled" => StatusWord::Cancelled,
            _ => return None,
        })
    }
}
