//! What can be typed after `uwf step`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::How;

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub(in crate::uwf) enum StepCommand {
    /// List the steps of a thread, the oldest first
    #[command(
        long_about = "List the steps of a thread, the oldest first; with --take the last of them, with --before those before a step. \
                      A page costs as many reads as it has steps, wherever in the thread it is, if its end is named by a \
                      hash, or by T:-n with a small n.\n\n\
                      Steps are numbered from the first one on, or, where a page does not begin with it, back from the last \
                      one (T:-1). A page that says neither, since it ends at a hash, has no numbers. The page that begins \
                      with the first step has the thread's start as well; failed attempts are listed without --before only.",
        after_long_help = "Examples:\n  uwf step list 01K… --format json\n  uwf step list 01K… --take 20\n  uwf step list 01K… --before 9GDHFMG6KAC8V --take 20"
    )]
    List {
        /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
        thread: String,
        /// Only the steps before this one: its hash, T:n for the n-th step of the thread T, or T:-n for the n-th from its end
        #[arg(long, value_name = "STEP")]
        before: Option<String>,
        /// At most this many of them, the last ones
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        take: Option<u32>,
    },
    /// Print the agent's record of a step, with its turns
    #[command(after_long_help = "Examples:\n  uwf step show 9GDHFMG6KAC8V --format yaml")]
    Show {
        /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread
        #[arg(value_name = "STEP")]
        step: String,
    },
    /// Tell what happened in a step, as markdown
    #[command(
        long_about = "Tell what happened in a step, as markdown: how it came out, which calls of tools there were and which of them \
                      failed, what was asked; then what was said, turn by turn.",
        after_long_help = "Examples:\n  uwf step read 9GDHFMG6KAC8V\n  uwf step read 9GDHFMG6KAC8V --prompt"
    )]
    Read {
        /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread
        #[arg(value_name = "STEP")]
        step: String,
        /// The opening messages as they were sent to the model, instead; or that the agent kept none
        #[arg(long)]
        prompt: bool,
        /// At most about this many characters: the last turns that fit, or the beginning of the last one; 0 is no limit
        #[arg(long, value_name = "CHARS", conflicts_with = "prompt")]
        quota: Option<usize>,
    },
    /// Begin a new thread whose head is this step
    #[command(
        long_about = "Begin a new thread whose head is this step, or a thread's start. The thread it is from stays as it is; both \
                      share the steps up to here.\n\n\
                      With --worktree the files are forked as well: the new thread works in DIR, which is given the workspace as it was \
                      after the step, without what snapshots leave out, such as `.git` and what git ignores. Its steps are then its \
                      own, made in DIR as far as it knows: `uwf undo` changes files there.",
        after_long_help = "Examples:\n  uwf step fork 9GDHFMG6KAC8V\n  uwf step fork 01K…:2 --worktree ../another-way"
    )]
    Fork {
        /// The step: a hash or a part of one; T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread; or the hash of a thread's start
        #[arg(value_name = "STEP")]
        step: String,
        /// Fork the files, too: write the workspace as after the step into this directory, a new or an empty one, and work there
        #[arg(long, value_name = "DIR")]
        worktree: Option<PathBuf>,
    },
    /// Ask the agent of a step a question about it; nothing of the thread changes
    #[command(
        long_about = "Ask the agent of a step a question about it; nothing of the thread changes.\n\n\
                      The question goes to a fork of the step's session, so that the session itself stays as it was. The next question to \
                      the same step goes to the same fork and can refer to the one before. The fork is remembered in $UWF_HOME/cache/forks. An agent that makes no fork is asked without a session, from the step's record.",
        after_long_help = "Examples:\n  uwf step ask 9GDHFMG6KAC8V -p \"Why did you leave the old parser in?\"\n  uwf step ask 9GDHFMG6KAC8V -p \"And the tests?\"\n  uwf step ask 9GDHFMG6KAC8V --fresh -p \"From the beginning: why?\""
    )]
    Ask(Ask),
    /// Show what a step changed in the workspace
    #[command(
        long_about = "Show what a step changed in the workspace, file by file: the workspace as it was captured before the step \
                      beside what it was after it, what editing tools did first, then what each command did. Of a step without \
                      such snapshots it shows what its editing tools did, and says so.",
        after_long_help = "Examples:\n  uwf step diff 9GDHFMG6KAC8V\n  uwf step diff 9GDHFMG6KAC8V --stat\n  uwf step diff 9GDHFMG6KAC8V --patch | git apply -R"
    )]
    Diff {
        /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread
        #[arg(value_name = "STEP")]
        step: String,
        #[command(flatten)]
        shape: DiffShape,
    },
}

/// How changes are shown; without any of these, as a patch in which binary files are only named.
#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub(in crate::uwf) struct DiffShape {
    /// How many lines of each file came and went
    #[arg(long)]
    pub(in crate::uwf) stat: bool,
    /// The paths of the files alone
    #[arg(long)]
    pub(in crate::uwf) name_only: bool,
    /// A patch that `git apply` takes, with binary files and nothing else
    #[arg(long)]
    pub(in crate::uwf) patch: bool,
}

/// A question, and who is to answer it.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Ask {
    /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread
    pub(in crate::uwf) step: String,
    /// The question; `-` reads it from stdin [default: what is typed in $EDITOR, on a terminal]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::uwf) prompt: Option<String>,
    /// Read the question from this file; `-` is stdin
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "prompt")]
    pub(in crate::uwf) file: Option<PathBuf>,
    /// Ask without a session, from the step's record alone; the question is not remembered
    #[arg(long)]
    pub(in crate::uwf) no_fork: bool,
    /// Forget the questions before: fork the step's session anew
    #[arg(long, conflicts_with = "no_fork")]
    pub(in crate::uwf) fresh: bool,
    #[command(flatten)]
    pub(in crate::uwf) how: How,
}
