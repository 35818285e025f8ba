//! `uwf watch`: threads as they run, live on a terminal and line by line elsewhere.
//!
//! It reads and changes nothing. What happens is told by the kernel (see [`HomeChanges`]); each second a terminal is shown how
//! time passes, and runs are looked for that ended without a word.

mod follower;
mod picture;
mod row;
mod standing;
mod terminal;
mod watched;

use std::time::Duration;

use serde::Serialize;

pub(super) use self::follower::{Follower, News, step_line};
use self::row::Row;
pub(super) use self::standing::{Standing, with_unmade};
use self::terminal::{Keys, Screen, send, size};
use self::watched::{Told, Watched, WatchedThread};
use super::args::Watch;
use crate::shell::{CliError, Format, OK, Paint, Session};
use uwf_agent::live::{HomeChanges, LiveRun};
use uwf_engine::{Homes, ThreadId, thread};
use uwf_store::{Hash, Store};

/// How long nobody looks by himself.
const TICK: Duration = Duration::from_secs(1);

/// How close to each other two looks are.
const PACE: Duration = Duration::from_millis(60);

pub(super) fn watch(session: &mut Session<'_>, args: &Watch) -> Result<u8, CliError> {
    let one = args.thread.as_deref().map(|thread| session.thread_id(thread)).transpose()?;
    let (homes, store) = (session.homes()?, session.store()?);
    one.as_ref().map(|thread| thread::entry(&store, thread)).transpose()?;
    (session.catch_signals)(&session.stop);
    let view = match (session.ui.explicit_format, session.ui.format) {
        (true, Format::Json) => View::Json,
        (true, _) => View::Lines,
        (false, _) if session.terminals.out && session.env.text("TERM") != Some("dumb") => {
            View::Terminal(Screen::default(), Keys::of(session.terminals.input))
        }
        (false, _) => View::Lines,
    };
    let watched = Watched::new(&homes.uwf, one);
    Watching { session, homes: &homes, store: &store, watched, view }.run()
}

/// How what happens is shown.
enum View {
    Terminal(Screen, Option<Keys>),
    Lines,
    Json,
}

/// Why the watching ends.
enum End {
    /// Somebody wants it to.
    Detached(u8),
    /// Nothing runs any more of the one thread that is watched.
    Over(ThreadId),
}

/// One command at work.
struct Watching<'s, 'p, 'a> {
    session: &'s mut Session<'p>,
    homes: &'a Homes,
    store: &'a Store,
    watched: Watched,
    view: View,
}

/// Where a thread stands and what of it runs, as a line of JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WatchedView<'a> {
    thread: &'a ThreadId,
    head: &'a Hash,
    status: &'static str,
    running: Option<&'a LiveRun>,
    /// How it stands in words, where nothing runs of it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Watching<'_, '_, '_> {
    fn run(mut self) -> Result<u8, CliError> {
        let mut changes = HomeChanges::of(self.homes);
        let mut changed = None;
        let end = loop {
            let told = self.watched.look(self.store, changed.as_ref())?;
            self.tell(told)?;
            if let Some(thread) = self.watched.is_over(self.store) {
                break End::Over(thread);
            }
            let before = self.session.stop.signal();
            let files: Vec<_> = match &self.view {
                View::Terminal(_, Some(keys)) => vec![keys.file()],
                _ => Vec::new(),
            };
            let waited = if before.is_some() { Ok(changes.now()) } else { changes.wait(TICK, &files) };
            let waited = waited.map_err(|error| CliError::said("cannot wait", error))?;
            if let Some(signal) = self.session.stop.signal() {
                break End::Detached(128 + u8::try_from(signal).unwrap_or(127));
            }
            if !waited.readable.is_empty() && self.quits() {
                break End::Detached(OK);
            }
            changed = Some(waited);
            std::thread::sleep(PACE);
        };
        self.ends(end)
    }

    /// Whether a key says so.
    fn quits(&mut self) -> bool {
        let View::Terminal(_, keys) = &mut self.view else { return false };
        let quits = keys.as_ref().and_then(Keys::quits);
        if quits.is_none() {
            *keys = None;
        }
        quits == Some(true)
    }

    /// Shows what is new, and on a terminal how time passes.
    fn tell(&mut self, told: Vec<Told>) -> Result<(), CliError> {
        let is_one = self.watched.is_one();
        let line = |told: &Told, width| match is_one {
            true => told.fitting(width).to_owned(),
            false => format!("{}  {}", told.thread, told.text),
        };
        match &mut self.view {
            View::Json => {
                for thread in self.watched.changed() {
                    let view = serde_json::to_string(&view_of(thread)).expect("it has names for fields");
                    self.session.ui.print(&format!("{view}\n"))?;
                }
            }
            View::Lines => {
                for told in &told {
                    self.session.ui.print(&format!("{}\n", line(told, usize::MAX)))?;
                }
            }
            View::Terminal(screen, keys) => {
                if let Some(keys) = keys {
                    keys.hold();
                }
                let (size, stays) = (size(), told.iter().filter(|told| told.stays));
                let above: Vec<String> = stays.map(|told| safe(&line(told, size.0))).collect();
                let rows = self.watched.rows(self.store.now(), size, keys.is_some());
                let text = screen.paint(size, &above, &rows, self.session.ui.color);
                send(self.session.ui.out, &text).map_err(CliError::from_stdout)?;
            }
        }
        Ok(())
    }

    fn ends(mut self, end: End) -> Result<u8, CliError> {
        if let View::Terminal(screen, keys) = &mut self.view {
            let text = screen.paint(size(), &[], &[Row::default()], false) + "\r\x1b[J";
            send(self.session.ui.out, &text).map_err(CliError::from_stdout)?;
            *keys = None;
        }
        let thread = match end {
            End::Detached(exit) => {
                if self.watched.runs() {
                    let again = self.watched.only().map(|thread| format!(" {thread}")).unwrap_or_default();
                    self.session.ui.note(&format!("not watched any more, and goes on: uwf watch{again}"));
                }
                return Ok(exit);
            }
            End::Over(thread) => thread,
        };
        let standing = Standing::of(self.session, (self.homes, self.store), &thread)?;
        match self.view {
            View::Json => {
                let last = WatchedView {
                    thread: &thread,
                    head: &standing.view.head,
                    status: standing.view.status,
                    running: None,
                    reason: Some(standing.line()),
                };
                let last = serde_json::to_string(&last).expect("it has names for fields");
                self.session.ui.print(&format!("{last}\n"))?;
            }
            View::Terminal(..) => {
                let line = safe(&standing.line());
                let paint = Paint::of_status(&line);
                let shown = Row::default().then(paint, line).shown(usize::MAX, self.session.ui.color);
                send(self.session.ui.out, &format!("{shown}\n")).map_err(CliError::from_stdout)?;
            }
            View::Lines => self.session.ui.print(&format!("{}\n", standing.line()))?,
        }
        if let Some(hint) = standing.hint() {
            self.session.ui.note(&hint);
        }
        Ok(OK)
    }
}

fn view_of(thread: &WatchedThread) -> WatchedView<'_> {
    let watch = &thread.follower.watch;
    WatchedView {
        thread: watch.thread(),
        head: watch.head(),
        status: if watch.run().is_some() { "running" } else { watch.status().as_str() },
        running: watch.run(),
        reason: None,
    }
}

/// As a terminal may be given it.
fn safe(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).collect()
}
