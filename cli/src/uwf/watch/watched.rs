//! The threads that are watched: one, or whichever run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_agent::live::{Changed, LiveReader};
use uwf_engine::thread::ThreadError;
use uwf_engine::{ThreadId, lock, thread};
use uwf_store::Store;

use super::follower::{Follower, News};
use super::picture::Picture;
use super::row::Row;
use crate::shell::{CliError, Paint};

/// How long nothing must run of a thread that its run counts as over: one process may follow another.
const QUIET: Duration = Duration::from_millis(300);

/// A thread that is watched.
pub(super) struct WatchedThread {
    pub(super) follower: Follower,
    picture: Picture,
    /// Whether something was new at the last look.
    is_changed: bool,
    /// Whether it is not watched any more from the next look on.
    is_over: bool,
}

/// A line of what is new.
pub(super) struct Told {
    pub(super) thread: ThreadId,
    pub(super) text: String,
    /// Whether it is worth to stay where the picture shows the rest.
    pub(super) stays: bool,
}

/// Those that are.
pub(super) struct Watched {
    home: PathBuf,
    /// The only one.
    one: Option<ThreadId>,
    reader: LiveReader,
    threads: BTreeMap<ThreadId, WatchedThread>,
}

impl Watched {
    pub(super) fn new(home: &Path, one: Option<ThreadId>) -> Watched {
        Watched { home: home.to_owned(), one, reader: LiveReader::new(home), threads: BTreeMap::new() }
    }

    pub(super) fn is_one(&self) -> bool {
        self.one.is_some()
    }

    pub(super) fn only(&self) -> Option<&ThreadId> {
        self.one.as_ref()
    }

    /// Those of which something was new at the last look.
    pub(super) fn changed(&self) -> impl Iterator<Item = &WatchedThread> {
        self.threads.values().filter(|thread| thread.is_changed)
    }

    /// Whether anything runs.
    pub(super) fn runs(&self) -> bool {
        self.threads.values().any(|thread| thread.follower.run().is_some())
    }

    /// Looks at what may have changed, at everything where that is not known, and gives the lines of what is new.
    pub(super) fn look(&mut self, store: &Store, changed: Option<&Changed>) -> Result<Vec<Told>, CliError> {
        let mut told = Vec::new();
        self.threads.retain(|_, thread| !thread.is_over);
        let running = match self.one {
            Some(one) => lock::running(&self.home, &one).is_running().then_some(one).into_iter().collect(),
            None => lock::all_running(&self.home).unwrap_or_default(),
        };
        self.find(store, &running, &mut told)?;
        let Watched { one, reader, threads, .. } = self;
        for (thread, watched) in threads.iter_mut() {
            watched.is_changed = changed.is_none();
            // A process that is killed, or a called thread that another one plays, is told of by no change of its own.
            let concerns =
                changed.is_none_or(|changed| changed.concerns(thread) || !changed.threads.is_empty());
            if !concerns && running.contains(thread) == watched.follower.run().is_some() {
                continue;
            }
            let (news, is_changed) = match watched.follower.news(store, reader) {
                // Of all threads one that is gone or cannot be read just now does not hide the others.
                Err(error) if one.is_none() => {
                    let is_gone = matches!(error, ThreadError::Unknown { .. });
                    watched.is_over = is_gone || !running.contains(thread);
                    continue;
                }
                news => news?,
            };
            watched.is_changed |= is_changed;
            told.extend(news.into_iter().map(|news| watched.told(*thread, news)));
            if one.is_none() && watched.follower.run().is_none() {
                let status = watched.follower.watch.status().as_str();
                told.push(Told::of(thread, format!("runs no more: {status}")));
                watched.is_over = true;
            }
        }
        Ok(told)
    }

    /// Takes up the threads that are to be watched and are not yet.
    fn find(
        &mut self,
        store: &Store,
        running: &BTreeSet<ThreadId>,
        told: &mut Vec<Told>,
    ) -> Result<(), CliError> {
        for thread in self.one.iter().chain(running).copied().collect::<BTreeSet<_>>() {
            // A called thread is seen where its caller is.
            let is_called = || thread::caller(store, &thread).is_ok_and(|caller| caller.is_some());
            if self.threads.contains_key(&thread) || (self.one.is_none() && is_called()) {
                continue;
            }
            let found = Follower::of(store, &mut self.reader, &thread, false).and_then(|follower| {
                let picture = Picture::of(store, &thread, follower.watch.head())?;
                Ok((follower, picture))
            });
            let (follower, picture) = match found {
                // It may be one of another store, or damaged.
                Err(_) if self.one.is_none() => continue,
                found => found?,
            };
            if self.one.is_none() {
                told.push(Told::of(&thread, format!("runs: {}", picture.name)));
            }
            self.threads
                .insert(thread, WatchedThread { follower, picture, is_changed: true, is_over: false });
        }
        Ok(())
    }

    /// The one thread, if nothing of it runs any more.
    pub(super) fn is_over(&mut self, store: &Store) -> Option<ThreadId> {
        let one = self.one.as_ref().and_then(|one| self.threads.get(one))?;
        if one.follower.run().is_some() {
            return None;
        }
        std::thread::sleep(QUIET);
        let thread = self.one.filter(|thread| !lock::running(&self.home, thread).is_running())?;
        // What came of it meanwhile is to be told first.
        let watch = &self.threads.get(&thread)?.follower.watch;
        (thread::stands_at(store, &thread).ok().flatten() == Some(*watch.head())).then_some(thread)
    }

    /// What a terminal of this size shows; with keys somebody can press one.
    pub(super) fn rows(&self, now: u64, (width, height): (usize, usize), has_keys: bool) -> Vec<Row> {
        let (mut rows, mut left_out) = (Vec::new(), 0);
        for thread in self.threads.values().filter(|thread| !thread.is_over) {
            let own = thread.picture.rows(thread.follower.run(), now, width, self.is_one());
            // Two lines are for what is below.
            match rows.len() + own.len() + 2 <= height || rows.is_empty() {
                true => rows.extend(own),
                false => left_out += 1,
            }
        }
        let end = if has_keys { "q" } else { "Ctrl-C" };
        let below = match (rows.len(), left_out) {
            (0, _) => format!("nothing runs · {end} ends"),
            (_, 0) => format!("{end} detaches, what runs goes on"),
            (_, more) => format!("and {more} more · {end} detaches"),
        };
        rows.push(Row::default().then(Paint::Past, below));
        rows
    }
}

impl WatchedThread {
    /// A line of what is new.
    fn told(&mut self, thread: ThreadId, news: News) -> Told {
        match news {
            News::Line(line) => Told { thread, text: line.text, stays: false },
            News::Step(step, text) => {
                self.picture.played(&step);
                Told { thread, text, stays: true }
            }
        }
    }
}

impl Told {
    /// The line without what is at its end, where it is longer than the terminal is wide.
    pub(super) fn fitting(&self, width: usize) -> &str {
        let text = self.text.as_str();
        let short = (self.stays && text.chars().count() > width).then(|| text.rsplit_once("  "));
        short.flatten().map_or(text, |(short, _)| short)
    }

    fn of(thread: &ThreadId, text: String) -> Told {
        Told { thread: *thread, text, stays: true }
    }
}
