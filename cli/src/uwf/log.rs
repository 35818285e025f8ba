//! `uwf log …`: the lines that steps leave behind, see [`uwf_engine::log`].
//!
//! Other implementations keep their lines in the same files, under other names (`ts`, `tag`, `msg`), and programs read
//! either: the JSON has both.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::args::{LogCommand, LogShow};
use super::time_argument::time_argument;
use crate::shell::{CliError, OK, Session, USAGE, render};
use uwf_engine::log::{self, Day};
use uwf_engine::thread::ThreadId;
use uwf_engine::view::{LogCleaned, LogDay};

pub(super) fn run(session: &mut Session<'_>, command: LogCommand) -> Result<u8, CliError> {
    match command {
        LogCommand::List => list(session),
        LogCommand::Show(which) => show(session, &which),
        LogCommand::Clean { before } => clean(session, &before),
    }
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let mut rows = Vec::new();
    for day in days(session)?.into_iter().rev() {
        let size = fs::metadata(&day.file).map_err(|error| unreadable(&day.file, error))?.len();
        let lines = entries(session, &day)?.len();
        let name = day.file.file_name().map(|name| name.to_string_lossy().into_owned());
        rows.push(LogDay { file: render::path(&day.file), date: day.date, lines, name, size });
    }
    session.ui.result(&rows, || {
        let cells = rows.iter().map(|day| [day.date.clone(), day.lines.to_string(), day.file.clone()]);
        render::table(["DAY (UTC)", "LINES", "FILE"], &cells.collect::<Vec<_>>())
    })?;
    if rows.is_empty() && session.terminals.out {
        session.ui.note("no lines yet: steps leave them");
    }
    Ok(OK)
}

/// The lines that are asked for.
struct LogFilter {
    thread: Option<ThreadId>,
    process: Option<u32>,
    date: Option<String>,
}

impl LogFilter {
    fn read(session: &Session<'_>, args: &LogShow, days: &[Day]) -> Result<LogFilter, CliError> {
        let mut filter = LogFilter { thread: None, process: args.process, date: None };
        match (&args.which, &args.thread, &args.date) {
            (Some(which), ..) => match log::start_of(which) {
                Some(_) => filter.date = Some(day(which, days)?),
                None => filter.thread = Some(session.thread_id(which).map_err(neither)?),
            },
            (None, None, None) if args.process.is_none() => {
                filter.date = days.last().map(|day| day.date.clone());
            }
            (None, thread, date) => {
                filter.thread = thread.as_deref().map(|thread| session.thread_id(thread)).transpose()?;
                filter.date = date.as_deref().map(some_day).transpose()?;
            }
        }
        Ok(filter)
    }

    fn has_day(&self, day: &Day) -> bool {
        self.date.as_ref().is_none_or(|date| *date == day.date)
    }

    fn has(&self, entry: &Value) -> bool {
        // Others write the number as a text.
        let pid = &entry["pid"];
        let pid = pid.as_u64().or_else(|| pid.as_str()?.parse().ok());
        let of = |process: u32| pid == Some(process.into());
        self.thread.is_none_or(|thread| entry["thread"] == thread.as_str()) && self.process.is_none_or(of)
    }
}

fn show(session: &mut Session<'_>, args: &LogShow) -> Result<u8, CliError> {
    let days = days(session)?;
    let filter = LogFilter::read(session, args, &days)?;
    let mut found = Vec::new();
    for day in days.iter().filter(|day| filter.has_day(day)) {
        found.extend(entries(session, day)?.into_iter().filter(|entry| filter.has(entry)));
    }
    let value: Value = found.iter().cloned().map(under_both_names).collect();
    session.ui.result(&value, || found.iter().map(line).collect::<String>())?;
    let asked = [&args.which, &args.thread, &args.date].into_iter().flatten().cloned();
    let asked: Vec<String> = asked.chain(args.process.map(|pid| format!("process {pid}"))).collect();
    if found.is_empty() && !asked.is_empty() {
        session.ui.note(&format!("nothing is logged of {}", asked.join(" and ")));
    }
    Ok(OK)
}

/// An entry with what it says under the names of either kind of log.
fn under_both_names(entry: Value) -> Value {
    let rest = rest(&entry).join("  ");
    let Value::Object(mut fields) = entry else { return entry };
    for (ours, theirs) in [("time", "ts"), ("event", "tag")] {
        for (there, missing) in [(ours, theirs), (theirs, ours)] {
            if let (Some(told), false) = (fields.get(there).cloned(), fields.contains_key(missing)) {
                fields.insert(missing.to_owned(), told);
            }
        }
    }
    fields.entry("msg").or_insert(Value::from(rest));
    Value::Object(fields)
}

fn some_day(text: &str) -> Result<String, CliError> {
    match log::start_of(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(CliError::Said {
            error: format!("`{text}` is not a day").into(),
            hint: Some("expected 2026-11-21".to_owned()),
            exit: USAGE,
        }),
    }
}

/// The error for what is no day and names no thread.
fn neither(error: CliError) -> CliError {
    match error.hint() {
        Some(hint) => {
            let hint = format!("{hint}; or name a day, such as 2026-11-21");
            error.with_hint(hint)
        }
        None => error,
    }
}

/// The day as typed, if it has a file.
fn day(text: &str, days: &[Day]) -> Result<String, CliError> {
    let known: Vec<&str> = days.iter().map(|day| day.date.as_str()).collect();
    match (known.contains(&text), known.as_slice()) {
        (true, _) => Ok(text.to_owned()),
        (false, []) => Err(CliError::user(format!("no lines of {text}: there are none of any day"))),
        (false, [only]) => {
            Err(CliError::user(format!("no lines of {text}")).with_hint(format!("there are some of {only}")))
        }
        (false, [first, .., last]) => Err(CliError::user(format!("no lines of {text}"))
            .with_hint(format!("there are some from {first} to {last}"))),
    }
}

/// `2026-11-21 08:00:00.000  thread  event  role  the rest`.
fn line(entry: &Value) -> String {
    let word =
        |name: &str, or: &str| entry[name].as_str().or(entry[or].as_str()).unwrap_or_default().to_owned();
    let time = word("time", "ts").replace('T', " ").trim_end_matches('Z').to_owned();
    let mut cells = vec![time, word("thread", "thread"), word("event", "tag")];
    cells.extend(rest(entry));
    cells.join("  ") + "\n"
}

/// What is told of an event: the role, and the rest by its names.
fn rest(entry: &Value) -> Vec<String> {
    const APART: [&str; 7] = ["time", "ts", "pid", "thread", "event", "tag", "role"];
    let named = entry.as_object().into_iter().flatten();
    let named = named.filter(|(name, value)| !APART.contains(&name.as_str()) && !value.is_null());
    let named = named.map(|(name, value)| match (name.as_str(), value) {
        ("msg", Value::String(text)) => text.clone(),
        (_, Value::String(text)) => format!("{name}={text}"),
        (_, other) => format!("{name}={other}"),
    });
    entry["role"].as_str().map(str::to_owned).into_iter().chain(named).collect()
}

fn clean(session: &mut Session<'_>, before: &str) -> Result<u8, CliError> {
    let before = time_argument(before, (session.clock)())?;
    let mut removed = Vec::new();
    for day in days(session)?.into_iter().filter(|day| day.is_before(before)) {
        fs::remove_file(&day.file)
            .map_err(|error| CliError::said(format!("cannot remove {}", day.file.display()), error))?;
        removed.push(day.date);
    }
    let cleaned = LogCleaned::from(removed);
    session.ui.result(&cleaned, || match cleaned.deleted {
        0 => "nothing to remove\n".to_owned(),
        _ => format!("removed {}\n", cleaned.removed.join(", ")),
    })
}

fn days(session: &Session<'_>) -> Result<Vec<Day>, CliError> {
    let home = session.homes()?.uwf;
    log::days(&home).map_err(|error| unreadable(&home.join("logs"), error))
}

fn entries(session: &mut Session<'_>, day: &Day) -> Result<Vec<Value>, CliError> {
    let (entries, torn) = day.entries().map_err(|error| unreadable(&day.file, error))?;
    if torn > 0 {
        let noun = if torn == 1 { "line" } else { "lines" };
        session.ui.warn(&format!("{torn} {noun} of {} cannot be read", render::path(&day.file)));
    }
    Ok(entries)
}

fn unreadable(path: &Path, error: io::Error) -> CliError {
    CliError::said(format!("cannot read {}", path.display()), error)
}
