//! What the engine did, for people who ask later: one JSON line an event in `$UWF_HOME/logs/YYYY-MM-DD.jsonl` (UTC).
//!
//! The record of a thread is its nodes; this only tells when what was tried, and nothing reads it back but `uwf log`,
//! and whoever asks why a run of another process made no step.
//! So a line that cannot be written is left out and never fails a step, and nothing that may be secret is in one: no
//! prompts, no arguments of agents, and of what they say only the reason that a failed step gives, or the last `error:` of one
//! that made none: its first line, cut at 300 characters. Each line is one write to a file opened for appending: those of several processes do not mix.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;
use uwf_store::Hash;
use uwf_store::json::sorted;

use crate::home::make_private;
use crate::spawn::LAST_WORDS;
use crate::thread::ThreadId;

/// The longest text in a line, in characters.
const TEXT_MAX: usize = 300;

/// Something that happened to a thread.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum LogEvent<'a> {
    /// It was begun.
    ThreadStarted {
        /// Its Workflow node.
        workflow: &'a Hash,
        /// That workflow's name.
        name: &'a str,
    },
    /// It came to its end.
    ThreadEnded,
    /// It was given up.
    ThreadCancelled,
    /// An agent is about to start.
    StepStarted {
        /// The role it plays.
        role: &'a str,
        /// The program's name, see [`name`].
        agent: &'a str,
        /// The working directory of the agent.
        cwd: &'a Path,
    },
    /// The agent's process has ended by itself.
    AgentExited {
        /// The role it played.
        role: &'a str,
        /// The program's name.
        agent: &'a str,
        /// `exit status 0`, `signal 9`.
        exit: String,
        /// Since its start, in ms.
        duration_ms: u64,
    },
    /// The step is valid.
    StepFinished {
        /// The role that was played.
        role: &'a str,
        /// The StepNode.
        step: &'a Hash,
        /// Its output's `$status`.
        status: &'a str,
        /// As the agent measured it, in ms.
        duration_ms: u64,
    },
    /// The agent says that it failed; the head stays.
    StepFailed {
        /// The role that was played.
        role: &'a str,
        /// The failed StepNode.
        step: &'a Hash,
        /// Why, see [`line()`].
        error: String,
    },
    /// There is no step; the head stays.
    Error {
        /// The role that was to play.
        role: &'a str,
        /// Why, see [`line()`] and [`own_error`].
        error: String,
        /// What to do about it, where that was said.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// The head moved.
    HeadMoved {
        /// Where it was.
        from: &'a Hash,
        /// Where it is.
        to: &'a Hash,
        /// The thread's status now.
        status: &'a str,
    },
}

/// A program without its directory: what an agent is called in a line. Its arguments may hold keys.
pub fn name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program)
}

/// The first line of an error without what it quotes: an agent's last words may hold anything.
pub fn line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_suffix(LAST_WORDS).unwrap_or(first);
    cut(first)
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

/// The last error that an agent told among its last words, with its causes, and the hint below it.
pub fn own_error(last_words: &str) -> Option<Unmade> {
    let lines: Vec<&str> = last_words.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    let at = lines.iter().rposition(|line| line.starts_with("error: "))?;
    let mut said = Unmade { error: lines[at].trim_start_matches("error: ").to_owned(), hint: None };
    for more in lines[at + 1..].iter().map_while(|line| line.strip_prefix("  ")) {
        match (more.strip_prefix("hint: "), &said.hint) {
            (Some(hint), _) => said.hint = Some(cut(hint)),
            (None, None) => {
                said.error += &format!(": {}", more.trim_start().trim_start_matches("caused by: "))
            }
            (None, Some(_)) => break,
        }
    }
    Some(Unmade { error: cut(&said.error), ..said })
}

/// Why a step was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmade {
    /// What was in the way.
    pub error: String,
    /// What to do about it, where that was said.
    pub hint: Option<String>,
}

#[derive(Serialize)]
struct LogLine<'a> {
    time: String,
    pid: u32,
    thread: &'a ThreadId,
    #[serde(flatten)]
    event: LogEvent<'a>,
}

/// The log at one moment.
#[derive(Debug)]
pub struct Log {
    dir: PathBuf,
    now_ms: u64,
}

impl Log {
    /// The log below `home` (`$UWF_HOME`) at that time, in ms since the epoch. Nothing is opened yet.
    pub fn new(home: &Path, now_ms: u64) -> Log {
        Log { dir: directory(home), now_ms }
    }

    /// Adds a line; what cannot be written is left out.
    pub fn write(&self, thread: &ThreadId, event: LogEvent<'_>) {
        self.append(thread, event).ok();
    }

    fn append(&self, thread: &ThreadId, event: LogEvent<'_>) -> io::Result<()> {
        let time = humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(self.now_ms));
        let time = time.to_string();
        let file = self.dir.join(format!("{}.jsonl", &time[..10]));
        let line = LogLine { time, pid: std::process::id(), thread, event };
        let line = serde_json::to_string(&line)? + "\n";
        make_private(&self.dir)?;
        let mut file = File::options().create(true).read(true).append(true).mode(0o600).open(file)?;
        // A line that a crash tore must not take this one along.
        let line = if is_torn(&file)? { format!("\n{line}") } else { line };
        file.write_all(line.as_bytes())
    }
}

/// Whether the last line has no end.
fn is_torn(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    Ok(file.read_at(&mut byte, last)? == 1 && byte != *b"\n")
}

fn directory(home: &Path) -> PathBuf {
    home.join("logs")
}

/// One day's file.
#[derive(Debug, PartialEq, Eq)]
pub struct Day {
    /// `2026-11-21`.
    pub date: String,
    /// The file.
    pub file: PathBuf,
}

/// The days there are, the oldest first. Files of other names are no days.
///
/// # Errors
/// When the directory exists and cannot be read.
pub fn days(home: &Path) -> io::Result<Vec<Day>> {
    let entries = match fs::read_dir(directory(home)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut days = Vec::new();
    for entry in entries {
        let file = entry?.path();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(date) = name.strip_suffix(".jsonl").filter(|date| start_of(date).is_some()) {
            days.push(Day { date: date.to_owned(), file });
        }
    }
    days.sort_by(|one, other| one.date.cmp(&other.date));
    Ok(days)
}

/// Why the last step of a thread that was tried since a time, in ms since the epoch, was not made; none where it was, or where
/// nothing tells.
///
/// # Errors
/// When the log cannot be read.
pub fn unmade_since(home: &Path, thread: &ThreadId, since: u64) -> io::Result<Option<Unmade>> {
    let since_text = humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(since)).to_string();
    let is_outcome = |entry: &Value| {
        let is_later = entry["time"].as_str().is_some_and(|time| *time >= *since_text);
        let is_one = matches!(entry["event"].as_str(), Some("error" | "step-failed" | "step-finished"));
        entry["thread"] == thread.as_str() && is_later && is_one
    };
    for day in days(home)?.iter().rev().take_while(|day| !day.is_before(since)) {
        if let Some(last) = day.entries()?.0.into_iter().rfind(is_outcome) {
            let error = last["error"].as_str().filter(|_| last["event"] == "error");
            let hint = last["hint"].as_str().map(str::to_owned);
            return Ok(error.map(|error| Unmade { error: error.to_owned(), hint }));
        }
    }
    Ok(None)
}

/// When a day begins, in ms since the epoch; `None` if that is no day.
pub fn start_of(date: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339(&format!("{date}T00:00:00Z")).ok()?;
    u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

impl Day {
    /// Its lines, and how many more there are that are no JSON (the disk was full, somebody edited it).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn entries(&self) -> io::Result<(Vec<Value>, usize)> {
        let bytes = fs::read(&self.file)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let (entries, torn): (Vec<_>, Vec<_>) = lines.map(serde_json::from_str).partition(Result::is_ok);
        Ok((entries.into_iter().flatten().map(sorted).collect(), torn.len()))
    }

    /// Whether all of it was before that time, in ms since the epoch.
    pub fn is_before(&self, ms: u64) -> bool {
        const DAY_MS: u64 = 24 * 60 * 60 * 1000;
        start_of(&self.date).is_some_and(|start| start + DAY_MS <= ms)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOON: u64 = 1_800_014_400_000;

    #[test]
    fn lines_are_added_to_the_day_they_belong_to() {
        let home = tempfile::tempdir().unwrap();
        let thread = ThreadId::new(NOON);
        Log::new(home.path(), NOON).write(&thread, LogEvent::ThreadEnded);
        Log::new(home.path(), NOON)
            .write(&thread, LogEvent::Error { role: "r", error: line("a\nb"), hint: None });
        Log::new(home.path(), NOON + 86_400_000).write(&thread, LogEvent::ThreadCancelled);
        let unmade = |since| unmade_since(home.path(), &thread, since).unwrap().map(|unmade| unmade.error);
        assert_eq!((unmade(NOON).as_deref(), unmade(NOON + 1)), (Some("a"), None));
        let days = days(home.path()).unwrap();
        assert_eq!(
            days.iter().map(|day| day.date.as_str()).collect::<Vec<_>>(),
            ["2027-01-15", "2027-01-16"]
        );
        let entries = days[0].entries().unwrap().0;
        assert_eq!((entries.len(), &entries[0]["event"]), (2, &"thread-ended".into()));
        assert_eq!(entries[0]["time"], "2027-01-15T12:00:00.000Z");
        assert_eq!((&entries[1]["error"], &entries[1]["thread"]), (&"a".into(), &thread.to_string().into()));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&days[0].file), mode(&home.path().join("logs"))), (0o600, 0o700));
    }

    #[test]
    fn a_log_that_cannot_be_written_or_read_is_no_trouble() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("logs"), "in the way").unwrap();
        Log::new(home.path(), NOON).write(&ThreadId::new(NOON), LogEvent::ThreadEnded);
        fs::remove_file(home.path().join("logs")).unwrap();
        assert_eq!(days(home.path()).unwrap(), []);
        fs::create_dir(home.path().join("logs")).unwrap();
        fs::write(home.path().join("logs/notes.txt"), "x").unwrap();
        fs::write(home.path().join("logs/2027-13-01.jsonl"), "x").unwrap();
        fs::write(home.path().join("logs/2027-01-15.jsonl"), "{\"event\":\"x\"}\n{\"eve").unwrap();
        let days = days(home.path()).unwrap();
        assert_eq!((days.len(), days[0].entries().unwrap().0.len(), days[0].entries().unwrap().1), (1, 1, 1));
        Log::new(home.path(), NOON).write(&ThreadId::new(NOON), LogEvent::ThreadEnded);
        assert_eq!(
            (days[0].entries().unwrap().0.len(), days[0].entries().unwrap().1),
            (2, 1),
            "it begins a line"
        );
        assert!(!days[0].is_before(NOON) && days[0].is_before(NOON + 43_200_000));
    }

    #[test]
    fn what_an_agent_said_is_not_in_a_line() {
        assert_eq!(line("it ended with signal 9; its last words:\n    sk-1"), "it ended with signal 9");
        assert_eq!(line(&format!("{}\nsk-1", "é".repeat(301))), "é".repeat(300));
        assert_eq!(name("/opt/agents/mine"), "mine");
    }

    #[test]
    fn of_what_an_agent_said_its_own_last_error_is_told() {
        let words =
            "error: first\nturn 1\nerror: no model\n  caused by: no file\n  hint: set one\n  ✓ more\nbye";
        let said = own_error(&crate::spawn::last_words(words.lines())).unwrap();
        assert_eq!((&*said.error, said.hint.as_deref()), ("no model: no file", Some("set one")));
        assert_eq!(own_error("; its last words:\n    sk-1"), None);
        assert_eq!(own_error(&format!("error: {}", "é".repeat(301))).unwrap().error, "é".repeat(300));
    }
}
