//! What can be typed: every option and every help text of `uwf-eval`, and nothing of what they mean.

mod report;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(super) use self::report::{Diff, DiffKind, Report, ReportKind};
use crate::shell::{Completions, Global, Man, SandboxLevel, dollars};

const AFTER_HELP: &str = "\
Examples:
  uwf-eval init double && uwf-eval run double --offline --count 5
  uwf-eval run tasks/* --workflow solve-issue --model gpt-5-mini --count 5 --parallel 4
  uwf-eval show double-1
  uwf-eval report double-1
  uwf-eval diff double-1 double-2

Files: what was found out is in the store, $OCAS_HOME (default ~/.ocas), as the threads are;
  cases work below $UWF_EVAL_DIR (default $XDG_DATA_HOME/uwf/eval, which is ~/.local/share/uwf/eval),
  in a directory for each store.
Exit: 0 done; 1 you can mend it, or it is less than was asked for; 2 usage; 3 no result: too many
  cases have no score, or some are not finished; 70 a bug of ours; 129/130/143 ended by a signal.";

/// Evaluate workflows: run them over and over on the same tasks, judge what they do, and compare.
#[derive(Debug, Parser)]
#[command(name = "uwf-eval", version, after_long_help = AFTER_HELP, args_override_self = true)]
pub(super) struct EvalCli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
    /// How to print.
    #[command(flatten)]
    pub(super) global: Global,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Init(Init),
    Run(Run),
    Judge(Judge),
    /// List the evaluations
    #[command(after_long_help = "Examples:\n  uwf-eval list\n  uwf-eval list --format json")]
    List,
    Show(Show),
    Report(Report),
    Diff(Diff),
    Export(Export),
    Import(Import),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
}

/// Show an evaluation, or one of its cases with what its judges found
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  uwf-eval show fix-off-by-one-1\n  uwf-eval show fix-off-by-one-1/fix-off-by-one/3\n  uwf-eval show fix-off-by-one-1/fix-off-by-one/3 --format json"
)]
pub(super) struct Show {
    /// EVALUATION, EVALUATION/TASK/REPEAT, or the hash of a case's record
    #[arg(value_name = "CASE")]
    pub(super) case: String,
}

/// Write an evaluation to one file, to be taken to another store
#[derive(Debug, Args)]
#[command(
    long_about = "Write an evaluation to one file, to be taken to another store: what was found out, its threads, and the \
                  workspaces as they were left. The tasks are not in it. It must be finished.",
    after_long_help = "Examples:\n  uwf-eval export double-1 -o double-1.jsonl\n  uwf-eval export double-1 | ssh host uwf-eval import -"
)]
pub(super) struct Export {
    /// The evaluation
    #[arg(value_name = "EVALUATION")]
    pub(super) evaluation: String,
    /// Write to this file [default: stdout, which is also `-`]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// Take in an evaluation that was exported
#[derive(Debug, Args)]
#[command(
    long_about = "Take in an evaluation that was exported. Every node is checked against its hash and its type before \
                  anything is stored. No agent, endpoint or script is taken over, and nothing that weakens a sandbox: its \
                  cases can be shown, reported, compared and judged again (`uwf-eval judge NAME --task DIR`), and are not run here.",
    after_long_help = "Examples:\n  uwf-eval import double-1.jsonl\n  uwf-eval import double-1.jsonl --as theirs\n  uwf-eval diff double-1 theirs"
)]
pub(super) struct Import {
    /// The file; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// What it is called here [default: as it was called there]
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
}

/// Make a task that runs at once, without a model: a small program with a mistake, its judges, and a script
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  uwf-eval init double\n  uwf-eval run double --offline")]
pub(super) struct Init {
    /// The directory; its name is the task's, and nothing may be there
    #[arg(value_name = "DIR")]
    pub(super) dir: PathBuf,
}

const RUN_AFTER_HELP: &str = "\
Each case is a thread in a copy of the task's fixture. One that is finished is not run again:
interrupted, the same command goes on where it stopped if it has --name, as does --resume NAME;
without --name it is another evaluation. What is not finished is no result for --min: exit 3.

A thread that another evaluation ran for exactly this (workflow, fixture, prompt, limits, agent,
model, script, sandbox, seed, number of the case, what is configured of these) is taken, and judged
anew; --fresh runs another.

A case that was interrupted goes on within its step where that cannot change what comes of it: it
waited for the model, or had only read and written files of its workspace. Where a tool call was cut
off, or a command may have left something, it begins anew, with a new thread in a fresh workspace;
the old thread is removed, and what it cost is told with the case and counts for --max-cost.

Failures of the infrastructure (the endpoint, the sandbox, a process that cannot be started) are
tried again, and are errors of a case then, not low scores; going on tries these once more. A
workflow that does not come to its end has failed, and has what its judges say of it, and 0 where
there is nothing that they could judge. A judge that could not say leaves no score.

Examples:
  uwf-eval run double --offline --count 20 --seed 7
  uwf-eval run tasks/* --workflow solve-issue --model gpt-5-mini --count 5 --parallel 4 --max-cost 2
  uwf-eval run fix.tgz --name nightly --min 0.8
  uwf-eval run --resume nightly";

/// Run the cases of tasks, judge them, and tell the score
#[derive(Debug, Args)]
#[command(after_long_help = RUN_AFTER_HELP)]
pub(super) struct Run {
    /// Tasks: directories with a task.yaml, or archives of such (.tar, .tar.gz, .tgz)
    #[arg(value_name = "TASK", required_unless_present = "resume")]
    pub(super) tasks: Vec<PathBuf>,
    /// Run this workflow, a name, a file or a hash, in the place of those that the tasks name
    #[arg(long, value_name = "W")]
    pub(super) workflow: Option<String>,
    /// How often each task is run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) count: u32,
    /// How many cases run side by side
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    #[arg(help = "How many cases run side by side [default: one for each processor]")]
    pub(super) parallel: Option<u16>,
    /// What the evaluation is called [default: the first task's name and a number]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Go on with an evaluation as it was begun
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tasks", "name", "workflow", "agent", "model", "base_url", "mock", "offline", "seed", "count", "sandbox", "judge_mock"])]
    pub(super) resume: Option<String>,
    /// What the seeds of the cases are made of, from which scripted behaviours are drawn
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=MOST_SEED))]
    pub(super) seed: u64,
    /// Run threads anew that other evaluations have run already
    #[arg(long)]
    pub(super) fresh: bool,
    /// Leave the workspaces where they are; else those that the store has as a whole are removed
    #[arg(long)]
    pub(super) keep: bool,
    /// How often a case is tried again whose infrastructure failed
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(..=20))]
    pub(super) retries: u32,
    /// Begin no further case once all have cost this many USD
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(super) max_cost: Option<f64>,
    /// Exit with 1 if the mean score is below this
    #[arg(long, value_name = "X", value_parser = part)]
    pub(super) min: Option<f64>,
    /// Exit with 3 if more than this part of the cases has no score, in percent [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(super) max_unscored: Option<f64>,
    #[command(flatten)]
    pub(super) who: Who,
}

/// The largest seed: what is exact wherever numbers are written.
const MOST_SEED: u64 = 1 << 53;

/// Who plays.
#[derive(Debug, Args)]
#[command(next_help_heading = "The agent")]
pub(super) struct Who {
    /// An alias of config.yaml, or a command line [default: as configured]
    #[arg(long, value_name = "A")]
    pub(super) agent: Option<String>,
    /// The model
    #[arg(long, value_name = "M")]
    pub(super) model: Option<String>,
    /// Its endpoint
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// A script in the place of a model, for all tasks
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "base_url", "offline"])]
    pub(super) mock: Option<PathBuf>,
    /// The script of each task (its mock.yaml) in the place of a model
    #[arg(long, conflicts_with_all = ["model", "base_url"])]
    pub(super) offline: bool,
    /// How much of the sandbox must be there, for commands and for judges
    #[arg(long, value_enum, value_name = "strict|best-effort|off", hide_possible_values = true)]
    pub(super) sandbox: Option<SandboxLevel>,
    /// A script in the place of models that judge
    #[arg(long, value_name = "FILE")]
    pub(super) judge_mock: Option<PathBuf>,
}

/// Judge an evaluation's cases again; no thread is run
#[derive(Debug, Args)]
#[command(
    after_long_help = "The judges are those that the tasks have now. Judged are cases without a score, and those that other judges\njudged; --all judges the others, too. What was found before stays in the store. Interrupted, the same\ncommand judges the rest. A case that cannot be judged again, since its thread is gone or what it left was\nnot kept as a whole, stays as it was: exit 3.\n\nExamples:\n  uwf-eval judge double-1\n  uwf-eval judge double-1 --all -j 4\n  uwf-eval judge double-1 --judge-mock verdicts.yaml"
)]
pub(super) struct Judge {
    /// The evaluation
    #[arg(value_name = "RUN")]
    pub(super) name: String,
    /// Where a task is, in the place of where it was when it was run; one for each task
    #[arg(long = "task", value_name = "DIR")]
    pub(super) tasks: Vec<PathBuf>,
    /// A script in the place of models that judge
    #[arg(long, value_name = "FILE")]
    pub(super) judge_mock: Option<PathBuf>,
    /// Judge all cases, also those that have a score by the judges that the tasks have now
    #[arg(long)]
    pub(super) all: bool,
    /// How many cases are judged side by side [default: one for each processor]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) parallel: Option<u16>,
    /// Exit with 1 if the mean score is below this
    #[arg(long, value_name = "X", value_parser = part)]
    pub(super) min: Option<f64>,
    /// Exit with 3 if more than this part of the cases has no score, in percent [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(super) max_unscored: Option<f64>,
}

/// A score.
fn part(text: &str) -> Result<f64, &'static str> {
    bounded(text, 1.0).ok_or("expected a number from 0 to 1")
}

/// A part of a hundred.
fn percent(text: &str) -> Result<f64, &'static str> {
    bounded(text.trim_end_matches('%'), 100.0).ok_or("expected a number from 0 to 100")
}

fn bounded(text: &str, most: f64) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=most).contains(number))
}
