//! `run_command`: a shell command, its output, and what becomes of its processes.

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use uwf_store::excerpt;

use crate::answer::{Facts, ToolOutput};
use crate::git_guard;
use crate::limits::{bytes, count};
use crate::shell::{Captured, Cause, CommandRun, FinishedCommand, NAMED, ShellError};
use crate::tool::{ToolContext, WorkspaceTool};
use crate::workspace::PathError;

const TITLE_CHARS: usize = 60;
const MORE_TIME: &str = "; for more time set timeout_s (at most 600), or let it run in the background";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCommandArgs {
    /// Shell command
    command: String,
    /// Directory to run in (default: the workspace)
    cwd: Option<String>,
    /// Time limit in seconds (default 120)
    #[schemars(range(min = 1, max = 600))]
    timeout_s: Option<u64>,
    /// A few words on what it is for
    description: Option<String>,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Shell(#[from] ShellError),
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &RunCommandArgs| format!("{}: not run", title(args));
    WorkspaceTool::new("run_command", include_str!("run_command.md"), false, refused, execute)
}

/// What the command is for, in the model's words, which have a verb of their own; else the command after ours.
fn title(args: &RunCommandArgs) -> String {
    let purpose = args.description.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let (verb, words) = purpose.map_or(("run ", args.command.trim()), |words| ("", words));
    let line = words.lines().next().unwrap_or_default();
    format!("{verb}{}", excerpt(line, TITLE_CHARS))
}

fn execute(args: &RunCommandArgs, context: &ToolContext) -> Result<ToolOutput, CommandError> {
    let limits = context.limits;
    let timeout = args.timeout_s.map_or(limits.command_timeout, Duration::from_secs);
    let cwd = context.workspace.open_dir(args.cwd.as_deref().unwrap_or("."))?.0;
    // The child's own copy of the handle, so that the directory cannot be swapped on the way.
    let cwd = (PathBuf::from(format!("/proc/self/fd/{}", cwd.as_raw_fd())), cwd);
    let command = (args.command.as_str(), cwd.0.as_path());
    let CommandRun { ended, captured, background } =
        context.shell.run(command, timeout, limits, context.cancel)?;
    let mut answer = answer(args, timeout, &ended, (captured, context.git.check()));
    if answer.facts.exit_code.is_some_and(|code| code != 0) {
        let advice = context.shell.advice(&answer.text);
        answer.text.push_str(&advice);
    }
    if let Some(overuse) = background {
        answer
            .text
            .push_str(&format!("\n[what earlier commands left running was {overuse}{}]", overuse.hint()));
    }
    Ok(answer)
}

fn answer(
    args: &RunCommandArgs,
    timeout: Duration,
    ended: &FinishedCommand,
    (captured, undone): (Captured, Vec<String>),
) -> ToolOutput {
    let mut text = captured.text;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&git_guard::told("Commands", &undone));
    let end = how_it_ended(ended, timeout);
    let invalid = match captured.invalid {
        0 => String::new(),
        n => format!(", of which {} not UTF-8", bytes(n)),
    };
    text.push_str(&format!(
        "({end} after {:.1} s; output: {}{invalid}{}{})",
        ended.duration.as_secs_f64(),
        bytes(captured.total),
        others(ended),
        hint(ended.cause),
    ));
    let facts = Facts {
        exit_code: ended.status.code().filter(|_| ended.cause.is_none()),
        signal: ended.status.signal(),
        timed_out: ended.cause == Some(Cause::TimedOut),
        cancelled: ended.cause == Some(Cause::Cancelled),
        output_bytes: Some(captured.total),
        output_hash: captured.output.as_ref().map(|output| output.name.clone()),
        spool: captured.output.map(|output| output.path),
        truncated: captured.truncated,
        undone,
        ..Facts::default()
    };
    ToolOutput { text, title: format!("{} ({end})", title(args)), is_error: ended.cause.is_some(), facts }
}

/// What to do about a command that was ended.
fn hint(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::TimedOut) => MORE_TIME,
        Some(Cause::Overused(what)) => what.hint(),
        Some(Cause::Cancelled) | None => "",
    }
}

fn how_it_ended(ended: &FinishedCommand, timeout: Duration) -> String {
    match (ended.cause, ended.status.code(), ended.status.signal()) {
        (Some(Cause::TimedOut), ..) => format!("ended at the time limit of {} s", timeout.as_secs()),
        (Some(Cause::Cancelled), ..) => "cancelled".to_owned(),
        (Some(Cause::Overused(what)), ..) => what.to_string(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, signal) => format!("ended by signal {}", signal.unwrap_or_default()),
    }
}

/// The processes beside the shell: killed with it, or still running.
fn others(ended: &FinishedCommand) -> String {
    if ended.others.is_empty() {
        return String::new();
    }
    let named: Vec<String> = ended
        .others
        .iter()
        .zip(&ended.names)
        .map(|(process, name)| format!("{} {name}", process.pid))
        .collect();
    let more = if ended.others.len() > NAMED { ", …" } else { "" };
    let list = format!("{}{more}", named.join(", "));
    let number = count(ended.others.len() as u64, "process");
    match ended.cause {
        Some(_) => format!("; ended with it: {number}: {list}"),
        None => format!(
            "; still running in the background: {number}: {list}. They end with this run at the latest; what they \
             print from now on is not kept unless redirected to a file"
        ),
    }
}

#[cfg(test)]
#[path = "run_command_tests.rs"]
mod tests;
