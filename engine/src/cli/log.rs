//! `uwf log …`: the lines that steps leave behind, see [`crate::log`].

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::args::Log;
use super::failure::{Failure, OK};
use super::moment::moment;
use super::{Session, render};
use crate::log::{self, Day};
use crate::thread::ThreadId;

pub(super) fn run(session: &mut Session<'_>, command: Log) -> Result<u8, Failure> {
    match command {
        Log::List => list(session),
        Log::Show { which } => show(session, which.as_deref()),
        Log::Clean { before } => clean(session, &before),
    }
}

fn list(session: &mut Session<'_>) -> Result<u8, Failure> {
    let days = days(session)?;
    let mut rows = Vec::new();
    for day in &days {
        rows.push((day, entries(session, day)?.len()));
    }
    let value =
        rows.iter().map(|(day, lines)| json!({"date": day.date, "lines": lines, "file": day.file})).collect();
    session.ui.result(&value, || {
        let cells: Vec<_> =
            rows.iter().map(|(day, lines)| [day.date.clone(), lines.to_string(), shown(&day.file)]).collect();
        render::table(["DAY (UTC)", "LINES", "FILE"], &cells)
    })?;
    if rows.is_empty() && session.terminals.out {
        session.ui.note("no lines yet: steps leave them");
    }
    Ok(OK)
}

fn show(session: &mut Session<'_>, which: Option<&str>) -> Result<u8, Failure> {
    let days = days(session)?;
    let thread = which.and_then(|text| text.parse::<ThreadId>().ok());
    let date = match (which, &thread) {
        (Some(text), None) => Some(day(text, &days)?),
        (None, None) => days.last().map(|day| day.date.clone()),
        (_, Some(_)) => None,
    };
    let mut found = Vec::new();
    for day in days.iter().filter(|day| date.as_ref().is_none_or(|date| *date == day.date)) {
        let of_thread = |entry: &Value| thread.is_none_or(|thread| entry["thread"] == thread.as_str());
        found.extend(entries(session, day)?.into_iter().filter(of_thread));
    }
    let lines = || found.iter().map(line).collect();
    session.ui.result(&Value::from(found.clone()), lines)?;
    if let (true, Some(which)) = (found.is_empty(), which) {
        session.ui.note(&format!("nothing is logged of {which}"));
    }
    Ok(OK)
}

/// The day as typed, if it has a file.
fn day(text: &str, days: &[Day]) -> Result<String, Failure> {
    if log::start_of(text).is_none() {
        let error = Failure::user(format!("`{text}` is neither a day nor a thread id"));
        return Err(error.with_hint("expected 2026-11-21, or the 26 characters of a thread's id"));
    }
    let known: Vec<&str> = days.iter().map(|day| day.date.as_str()).collect();
    match (known.contains(&text), known.as_slice()) {
        (true, _) => Ok(text.to_owned()),
        (false, []) => Err(Failure::user(format!("no lines of {text}: there are none of any day"))),
        (false, [only]) => {
            Err(Failure::user(format!("no lines of {text}")).with_hint(format!("there are some of {only}")))
        }
        (false, [first, .., last]) => Err(Failure::user(format!("no lines of {text}"))
            .with_hint(format!("there are some from {first} to {last}"))),
    }
}

/// `2026-11-21 08:00:00.000  thread  event  role  the rest`.
fn line(entry: &Value) -> String {
    const APART: [&str; 5] = ["time", "pid", "thread", "event", "role"];
    let word = |name: &str| entry[name].as_str().unwrap_or_default();
    let time = word("time").replace('T', " ");
    let mut cells =
        vec![time.trim_end_matches('Z').to_owned(), word("thread").to_owned(), word("event").to_owned()];
    cells.extend(entry["role"].as_str().map(str::to_owned));
    let rest = entry.as_object().into_iter().flatten().filter(|(name, _)| !APART.contains(&name.as_str()));
    cells.extend(rest.map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    }));
    cells.join("  ") + "\n"
}

fn clean(session: &mut Session<'_>, before: &str) -> Result<u8, Failure> {
    let before = moment(before, (session.clock)())?;
    let mut removed = Vec::new();
    for day in days(session)?.into_iter().filter(|day| day.is_before(before)) {
        fs::remove_file(&day.file)
            .map_err(|error| Failure::said(format!("cannot remove {}", day.file.display()), error))?;
        removed.push(day.date);
    }
    session.ui.result(&json!({"removed": removed}), || match removed.len() {
        0 => "nothing to remove\n".to_owned(),
        _ => format!("removed {}\n", removed.join(", ")),
    })?;
    Ok(OK)
}

fn days(session: &Session<'_>) -> Result<Vec<Day>, Failure> {
    let home = session.homes()?.uwf;
    log::days(&home).map_err(|error| unreadable(&home.join("logs"), error))
}

fn entries(session: &mut Session<'_>, day: &Day) -> Result<Vec<Value>, Failure> {
    let (entries, torn) = day.entries().map_err(|error| unreadable(&day.file, error))?;
    if torn > 0 {
        let noun = if torn == 1 { "line" } else { "lines" };
        session.ui.warn(&format!("{torn} {noun} of {} cannot be read", shown(&day.file)));
    }
    Ok(entries)
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    Failure::said(format!("cannot read {}", path.display()), error)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
