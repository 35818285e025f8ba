//! Judges that are programs: scripts of the task, and the command of `tests`. Each runs as a model's commands do, in the sandbox,
//! on a copy of the workspace, in a process group that ends with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use uwf_agent::external::{Confined, NOT_CONFINED};
use uwf_engine::Env;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::spawn::{ProcessSpec, Sinks, SpawnError, StopSignal, run_within};
use uwf_store::{excerpt, schema, sounds_secret};

use super::copies::Copied;
use super::{Bench, Said, Silent};
use crate::EvalError;
use crate::task::JudgeSpec;

/// What a judge may say.
const MOST: usize = 1024 * 1024;
/// How much is heard at least of what a command that tests says last.
const TAIL: usize = 64 * 1024;
/// How many characters of that are recorded.
const RECORDED: usize = 4000;
/// How much of what it said is told where it is wrong.
const SHOWN: usize = 200;
/// What a process is told that has to end.
const TERMINATE: usize = 15;
/// What runs a command that tests.
const SHELL: &str = "/bin/sh";
/// The word by which `uwf` runs a program in the sandbox.
const CONFINED: &str = "run-confined";
/// The variable with the file that has the record of the thread.
const RECORD: &str = "UWF_EVAL_THREAD";

/// What a program that judges came to.
struct Ran {
    status: Option<i32>,
    stdout: Vec<u8>,
    last_words: String,
}

impl Ran {
    /// Whether the shell says that there is no such program, or that it is none.
    fn is_of_no_program(&self) -> bool {
        matches!(self.status, Some(126 | 127))
    }
}

/// A script: `<entry> <cwd> <thread>` prints `{"score": …, "data": …}`.
pub(super) fn judge(
    bench: &Bench<'_>,
    judge: &JudgeSpec,
    (entry, timeout): (&Path, Duration),
) -> Result<Said, Silent> {
    let copied = bench.copies.make()?;
    let workspace = copied.workspace();
    let args = [workspace.display().to_string(), bench.subject.thread.to_string()];
    let ran = run(bench, (&copied, timeout, Heard::All), &entry.display().to_string(), &args)?;
    match ran.status {
        Some(0) => {}
        Some(status) => {
            return Err(Silent::Error(format!("exit status {status}{}", behind(&ran.last_words))));
        }
        None => return Err(Silent::Error(format!("a signal ended it{}", behind(&ran.last_words)))),
    }
    let (score, data) = said(&ran.stdout, judge).map_err(Silent::Error)?;
    let type_ = match &judge.schema {
        Some(schema) => bench.keep_schema(schema)?,
        None => bench.records.data,
    };
    Ok(Said::of(score, bench.keep(&type_, &data)?))
}

/// The command of `tests`: 1 where it succeeds, else 0. That it is not there to be run is the workflow's doing where it is there in
/// what the thread began with, and the judge's own error where it is not.
pub(super) fn tests(bench: &Bench<'_>, command: &str, timeout: Duration) -> Result<Said, Silent> {
    let copied = bench.copies.make()?;
    let args = ["-c".to_owned(), command.to_owned()];
    // What tests print says nothing of whether they pass.
    let ran = run(bench, (&copied, timeout, Heard::Tail), SHELL, &args)?;
    if ran.is_of_no_program() && !could_be_run(bench, &args, timeout)? {
        let why = format!("the command cannot be run, nor where the case began{}", behind(&ran.last_words));
        return Err(Silent::Error(why));
    }
    let passed = ran.status == Some(0);
    let tail = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let from = text.char_indices().rev().nth(RECORDED - 1).map_or(0, |(at, _)| at);
        text[from..].to_owned()
    };
    let found = json!({
        "command": command, "exitStatus": ran.status, "stdout": tail(&ran.stdout), "stderr": ran.last_words,
    });
    let score = if passed { 1.0 } else { 0.0 };
    Ok(Said::of(score, bench.keep(&bench.records.data, &found)?))
}

/// Whether these words for the shell are of a program that was there when the thread began, whatever it says then.
fn could_be_run(bench: &Bench<'_>, args: &[String], timeout: Duration) -> Result<bool, Silent> {
    let copied = bench.copies.begin()?;
    match run(bench, (&copied, timeout, Heard::Tail), SHELL, args) {
        Ok(ran) => Ok(!ran.is_of_no_program()),
        // It ran, if without an end.
        Err(Silent::Error(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

/// What a script printed: its score, none where it gives none, and what it found.
fn said(stdout: &[u8], judge: &JudgeSpec) -> Result<(Option<f64>, Value), String> {
    let text = String::from_utf8_lossy(stdout);
    let shown = || excerpt(text.trim(), SHOWN).into_owned();
    if text.trim().is_empty() {
        return Err("it printed nothing: expected {\"score\": …, \"data\": …}".to_owned());
    }
    let value: Value = serde_json::from_str(text.trim())
        .map_err(|error| format!("what it printed is no JSON ({error}): {}", shown()))?;
    let fields = value.as_object().ok_or_else(|| format!("what it printed is no object: {}", shown()))?;
    let score = match fields.get("score") {
        Some(Value::Null) if judge.weight == 0.0 => None,
        None => return Err(format!("what it printed has no `score`: {}", shown())),
        Some(score) => {
            let number = score.as_f64().filter(|number| (0.0..=1.0).contains(number));
            Some(number.ok_or_else(|| format!("its score must be from 0 to 1, not {score}"))?)
        }
    };
    let data = fields.get("data").cloned().unwrap_or(Value::Null);
    let violations = match &judge.schema {
        Some(schema) => schema::validate(schema, &data).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    match violations.is_empty() {
        true => Ok((score, data)),
        false => Err(format!("its data does not obey its schema: {}", schema::sentence(&violations))),
    }
}

/// What is heard of what a program prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// All of it; too much ends the program.
    All,
    /// The end of it, however much it is.
    Tail,
}

impl Heard {
    /// Takes what was printed to what was before; whether that may be.
    fn take(self, heard: &mut Vec<u8>, bytes: &[u8]) -> bool {
        if self == Heard::All && heard.len() + bytes.len() > MOST {
            return false;
        }
        heard.extend_from_slice(bytes);
        // Twice as much before it is cut, so that cutting costs nothing on the average.
        if self == Heard::Tail && heard.len() > 2 * TAIL {
            heard.drain(..heard.len() - TAIL);
        }
        true
    }
}

/// Runs a program on a copy of the workspace.
fn run(
    bench: &Bench<'_>,
    (copied, timeout, heard): (&Copied, Duration, Heard),
    program: &str,
    args: &[String],
) -> Result<Ran, Silent> {
    let (judging, cwd) = (bench.judging, copied.workspace());
    let record = copied.beside().join("thread.json");
    let told = uwf_store::json::line(&bench.seen.to_json(bench.subject));
    fs::write(&record, told).map_err(|source| EvalError::Disk { path: record.clone(), source })?;
    let env = environment(judging.env, &record);
    let command = confined(bench, (program, args), &copied.beside());
    let stop = StopSignal::default();
    let spec = ProcessSpec {
        file: &command.program,
        command: &command,
        args: Vec::new(),
        cwd: &cwd,
        env: &env,
        deadline: Some(timeout),
        inherit_stderr: false,
        stop: &stop,
    };
    let (mut stdout, mut too_much) = (Vec::new(), false);
    let end_if_stopped = || {
        if judging.stop.signal().is_some() {
            stop.cell().store(TERMINATE, Ordering::SeqCst);
        }
    };
    // One that says something all the time is never idle.
    let mut hear = |bytes: &[u8]| {
        end_if_stopped();
        if !heard.take(&mut stdout, bytes) {
            too_much = true;
            stop.cell().store(TERMINATE, Ordering::SeqCst);
        }
    };
    let (mut stderr, mut idle) = (|_: &[u8]| end_if_stopped(), end_if_stopped);
    let ran = run_within(&spec, None, &mut Sinks { stdout: &mut hear, stderr: &mut stderr, idle: &mut idle });
    match ran {
        _ if too_much && judging.stop.signal().is_some() => Err(Silent::Broken(EvalError::Stopped)),
        _ if too_much => Err(Silent::Error("it printed more than 1 MiB".to_owned())),
        Err(SpawnError::Stopped { .. }) => Err(Silent::Broken(EvalError::Stopped)),
        Err(SpawnError::Deadline { .. }) => {
            Err(Silent::Error(format!("it took longer than {} s", timeout.as_secs_f64())))
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            Err(Silent::Error(format!("{error}{}", cause.unwrap_or_default())))
        }
        Ok(finished) if judging.is_confined() && finished.status.code() == Some(NOT_CONFINED.into()) => {
            Err(Silent::Error(format!("it cannot be confined{}", behind(&finished.stderr_tail))))
        }
        Ok(finished) => Ok(Ran { status: finished.status.code(), stdout, last_words: finished.stderr_tail }),
    }
}

/// The command, in the sandbox that was asked for.
fn confined(bench: &Bench<'_>, (program, args): (&str, &[String]), beside: &Path) -> AgentCommand {
    let words = std::iter::once(program.to_owned()).chain(args.iter().cloned());
    let judging = bench.judging;
    if !judging.is_confined() {
        return AgentCommand::new(program, args.to_vec());
    }
    let readable: Vec<PathBuf> = vec![bench.subject.task.to_owned(), beside.to_owned()];
    let level = serde_json::from_value(json!(judging.sandbox)).unwrap_or_default();
    let asked = json!(Confined::reading(level, readable));
    let words = [CONFINED.to_owned(), asked.to_string()].into_iter().chain(words);
    AgentCommand::new(judging.program, words.collect())
}

/// What a judge sees of the environment: nothing that sounds secret, and where the record of the thread is.
fn environment(env: &Env, record: &Path) -> Env {
    let is_secret = |name: &std::ffi::OsStr| sounds_secret(&name.to_string_lossy());
    let mut seen: Env = env.iter().filter(|(name, _)| !is_secret(name)).collect();
    seen.set(RECORD, record);
    seen
}

fn behind(last_words: &str) -> String {
    match last_words.trim() {
        "" => String::new(),
        words => format!("; its last words: {}", excerpt(words, SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_may_print_whatever_they_like_and_judges_may_not() {
        let (mut all, mut tail) = (Vec::new(), Vec::new());
        let piece = vec![b'.'; 16 << 10];
        let taken: Vec<bool> = (0..200).map(|_| Heard::All.take(&mut all, &piece)).collect();
        assert_eq!((taken[63], taken[64], all.len()), (true, false, MOST));
        assert!((0..200).all(|_| Heard::Tail.take(&mut tail, &piece)) && Heard::Tail.take(&mut tail, b"ok"));
        assert!(tail.ends_with(b".ok") && (TAIL..=2 * TAIL).contains(&tail.len()));
    }
}
