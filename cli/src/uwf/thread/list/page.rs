//! Which threads are shown: by their status, for a person also by their directory, and as few of them as fit.

use std::path::Path;

use uwf_store::{Store, parallel};

use super::Wanted;
use crate::shell::Ui;
use crate::uwf::args::StatusWord;
use uwf_engine::thread::{ThreadEntry, ThreadError};
use uwf_engine::view::{ThreadRow, Workflows};

/// How many threads are looked at together: enough to be read at once, and few more than the page has room for.
pub(super) const SMALLEST_BATCH: usize = 16;
pub(super) const LARGEST_BATCH: usize = 1024;

/// A thread that may be shown.
pub(super) struct Candidate {
    pub(super) entry: ThreadEntry,
    /// What is stored of its state.
    pub(super) stored: StatusWord,
    /// As far as it has been read.
    pub(super) row: Option<Result<ThreadRow, ThreadError>>,
}

impl Candidate {
    /// Whether only its nodes tell if it is idle or asks a person.
    fn is_open(&self) -> bool {
        self.stored == StatusWord::Idle && !self.entry.is_new
    }

    /// Its state, as far as it is known.
    fn word(&self) -> StatusWord {
        let read = self.row.as_ref().and_then(|row| StatusWord::of(row.as_ref().ok()?.status));
        read.filter(|_| self.is_open()).unwrap_or(self.stored)
    }
}

/// Threads that are not shown, and why.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// They are of other directories.
    elsewhere: u64,
    /// Others called them.
    called: u64,
    /// There were enough.
    more: u64,
}

impl Others {
    /// Says how to see them.
    pub(super) fn tell(&self, ui: &mut Ui<'_>, shown: usize) {
        if self.more > 0 {
            let all = self.more + shown as u64;
            ui.note(&format!("the youngest {shown} of {all}; --take N shows more"));
        }
        let mut hidden = Vec::new();
        if self.elsewhere > 0 {
            hidden.push(format!("{} of other directories", self.elsewhere));
        }
        if self.called > 0 {
            hidden.push(format!("{} that others called", self.called));
        }
        if !hidden.is_empty() {
            ui.note(&format!("not shown: {}; --all shows them", hidden.join(", ")));
        }
    }
}

/// What is shown, as far as it has been chosen.
pub(super) struct ListPage<'a> {
    wanted: &'a Wanted,
    skip: usize,
    left_out: usize,
    rows: Vec<Candidate>,
    /// Of the directories above the one that is meant: they count where there is none of that.
    above: Vec<(usize, Candidate)>,
    others: Others,
}

impl<'a> ListPage<'a> {
    pub(super) fn new(wanted: &'a Wanted, skip: usize) -> ListPage<'a> {
        ListPage { wanted, skip, left_out: 0, rows: Vec::new(), above: Vec::new(), others: Others::default() }
    }

    /// How many threads it has room for, and for how many that are passed over.
    pub(super) fn missing(&self) -> usize {
        // Which ones are of the directory, all of them must be read to tell.
        if self.wanted.here.is_some() {
            return usize::MAX;
        }
        (self.wanted.take.saturating_sub(self.rows.len())).saturating_add(self.skip - self.left_out)
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= self.wanted.take
    }

    /// Chooses from `batch`; what must be read for that is read by `read`.
    pub(super) fn take_from(
        &mut self,
        batch: &mut Vec<Candidate>,
        read: impl Fn(&mut [Candidate], &(dyn Fn(&Candidate) -> bool + Sync)),
    ) {
        let is_wanted = |word: StatusWord| self.wanted.words.contains(&word);
        let [idle, suspended] = [StatusWord::Idle, StatusWord::Suspended].map(is_wanted);
        if self.wanted.here.is_some() {
            read(batch, &|candidate| is_wanted(candidate.stored) || candidate.is_open());
        } else if idle != suspended {
            read(batch, &Candidate::is_open);
        }
        for candidate in batch.drain(..) {
            // What is not read, though only that would tell, is wanted in either case or in none.
            if self.wanted.words.contains(&candidate.word()) {
                self.place(candidate);
            }
        }
    }

    /// Puts a thread of a wanted status where it belongs.
    fn place(&mut self, candidate: Candidate) {
        let Some(here) = &self.wanted.here else { return self.add(candidate) };
        // One that cannot be read is told of.
        let Some(Ok(row)) = &candidate.row else { return self.add(candidate) };
        let dir = Path::new(&row.directory);
        if row.called {
            self.others.called += 1;
        } else if dir.starts_with(here) {
            self.add(candidate);
        } else if here.starts_with(dir) {
            self.above.push((dir.components().count(), candidate));
        } else {
            self.others.elsewhere += 1;
        }
    }

    fn add(&mut self, candidate: Candidate) {
        if self.left_out < self.skip {
            self.left_out += 1;
        } else if self.is_full() {
            self.others.more += 1;
        } else {
            self.rows.push(candidate);
        }
    }

    /// What is shown, and what is not.
    pub(super) fn done(mut self) -> (Vec<Candidate>, Others) {
        let above = std::mem::take(&mut self.above);
        let nearest = above.iter().map(|(depth, _)| *depth).max();
        let is_empty = self.rows.is_empty() && self.left_out == 0;
        for (depth, candidate) in above {
            match is_empty && Some(depth) == nearest {
                true => self.add(candidate),
                false => self.others.elsewhere += 1,
            }
        }
        (self.rows, self.others)
    }
}

/// Reads those of `batch` that are not read yet.
pub(super) fn read(
    store: &Store,
    known: &Workflows,
    batch: &mut [Candidate],
    which: &(dyn Fn(&Candidate) -> bool + Sync),
) {
    let rows = parallel::map(batch, |candidate| {
        let Candidate { entry, stored, .. } = candidate;
        let row = || ThreadRow::of(store, known, entry, *stored == StatusWord::Running);
        (candidate.row.is_none() && which(candidate)).then(row)
    });
    for (candidate, row) in batch.iter_mut().zip(rows) {
        candidate.row = candidate.row.take().or(row);
    }
}
