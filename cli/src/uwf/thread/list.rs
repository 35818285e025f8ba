//! `uwf thread list`: chosen by what the variables tell, so that only the rows that are shown cost reads.

use std::error::Error;

use uwf_store::{Store, parallel};

use crate::shell::{CliError, Column, Format, OK, Session, render};
use crate::uwf::args::{StatusWord, ThreadList};
use crate::uwf::time_argument::time_argument;
use uwf_engine::lock;
use uwf_engine::lost;
use uwf_engine::thread::{self, Status, ThreadEntry, ThreadError};
use uwf_engine::view::{ThreadRow, Workflows};

fn cells(row: &ThreadRow) -> [String; 5] {
    let role = row.suspended_role.as_ref().or(row.current_role.as_ref()).cloned().unwrap_or_default();
    let started = render::time(row.started_at);
    [row.thread.to_string(), row.status.to_owned(), row.workflow_name.clone(), role, started]
}

pub(super) fn list(session: &mut Session<'_>, which: &ThreadList) -> Result<u8, CliError> {
    let (homes, store) = (session.homes()?, session.store()?);
    let wanted = wanted(which, session.terminals.out && session.ui.format == Format::Text);
    let after = which.after.as_deref().map(|text| time_argument(text, store.now())).transpose()?;
    let before = which.before.as_deref().map(|text| time_argument(text, store.now())).transpose()?;
    let running = lock::all_running(&homes.uwf).unwrap_or_default();
    let paused = thread::all_paused(&store)?;
    let known = Workflows::default();
    let mut page = ListPage::new(&wanted, which);
    let mut batch = Vec::new();
    let mut is_empty = true;
    for entry in thread::entries(&store) {
        if page.is_full() {
            break;
        }
        let entry = entry?;
        is_empty = false;
        let ms = entry.thread.time_ms();
        if after.is_some_and(|after| ms <= after) {
            break;
        }
        let running = running.contains(&entry.thread);
        let stands = (running, paused.contains_key(&entry.thread));
        match entry.status().map(|status| word(status, stands)) {
            _ if before.is_some_and(|before| ms >= before) => {}
            Ok(stored) => batch.push(Candidate { entry, stored, row: None }),
            Err(error) => session.ui.warn(&error.to_string()),
        }
        if batch.len() >= page.missing().clamp(SMALLEST_BATCH, LARGEST_BATCH) {
            page.take_from(&mut batch, |batch, which| read(&store, &known, batch, which));
        }
    }
    page.take_from(&mut batch, |batch, which| read(&store, &known, batch, which));
    let pause = |row: ThreadRow| match paused.get(&row.thread) {
        Some(pause) => row.paused(&pause.reason),
        None => row,
    };
    let rows: Vec<ThreadRow> = rows(session, (&store, &known), page.rows).into_iter().map(pause).collect();
    session.ui.result(&rows, || {
        let cells: Vec<_> = rows.iter().map(cells).collect();
        render::table(
            [
                Column::new("THREAD"),
                Column::new("STATUS").status(),
                Column::new("WORKFLOW"),
                Column::new("ROLE"),
                Column::new("STARTED (UTC)"),
            ],
            &cells,
        )
    })?;
    let lost = if is_empty { lost::glance(&store)? } else { None };
    if let Some(lost) = lost {
        session.ui.warn(&lost.to_string());
        session.ui.hint(&lost.hint());
    } else if rows.is_empty() && session.terminals.out {
        session.ui.note("no threads; `uwf thread list --all` shows finished ones too");
    }
    Ok(OK)
}

/// How many threads are looked at together: enough to be read at once, and few more than the page has room for.
const SMALLEST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 1024;

/// A thread that may be shown.
struct Candidate {
    entry: ThreadEntry,
    /// What is stored of its state.
    stored: StatusWord,
    /// As far as it has been read.
    row: Option<Result<ThreadRow, ThreadError>>,
}

impl Candidate {
    /// Whether only its nodes tell if it is idle or asks a person.
    fn is_open(&self) -> bool {
        self.stored == StatusWord::Idle && !self.entry.is_new
    }

    /// Its state, as far as it is known.
    fn word(&self) -> StatusWord {
        let read = self.row.as_ref().and_then(|row| StatusWord::of(row.as_ref().ok()?.status));
        read.unwrap_or(self.stored)
    }
}

/// What is shown, as far as it has been chosen.
struct ListPage<'a> {
    wanted: &'a [StatusWord],
    left_out: usize,
    skip: usize,
    take: usize,
    rows: Vec<Candidate>,
}

impl<'a> ListPage<'a> {
    fn new(wanted: &'a [StatusWord], which: &ThreadList) -> ListPage<'a> {
        let take = which.take.unwrap_or(usize::MAX);
        ListPage { wanted, left_out: 0, skip: which.skip, take, rows: Vec::new() }
    }

    /// How many threads it has room for, and for how many that are passed over.
    fn missing(&self) -> usize {
        (self.take - self.rows.len()).saturating_add(self.skip - self.left_out)
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.take
    }

    /// Chooses from `batch`; what must be read for that is read by `read`.
    fn take_from(
        &mut self,
        batch: &mut Vec<Candidate>,
        read: impl Fn(&mut [Candidate], &(dyn Fn(&Candidate) -> bool + Sync)),
    ) {
        let [idle, suspended] =
            [StatusWord::Idle, StatusWord::Suspended].map(|word| self.wanted.contains(&word));
        if idle != suspended {
            read(batch, &Candidate::is_open);
        }
        for candidate in batch.drain(..) {
            // What is not read, though only that would tell, is wanted in either case or in none.
            match candidate.word() {
                word if !self.wanted.contains(&word) => {}
                _ if self.left_out < self.skip => self.left_out += 1,
                _ if self.is_full() => break,
                _ => self.rows.push(candidate),
            }
        }
    }
}

/// Reads those of `batch` that are not read yet.
fn read(
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

/// The rows of what is to be shown. A damaged thread is told of and does not hide the others.
fn rows(
    session: &mut Session<'_>,
    (store, known): (&Store, &Workflows),
    mut page: Vec<Candidate>,
) -> Vec<ThreadRow> {
    read(store, known, &mut page, &|_| true);
    let mut rows = Vec::with_capacity(page.len());
    for Candidate { entry, row, .. } in page {
        match row {
            Some(Ok(row)) => rows.push(row),
            Some(Err(error)) => {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                session.ui.warn(&format!("thread {} cannot be read: {cause}", entry.thread));
            }
            None => {}
        }
    }
    rows
}

fn word(status: &Status, (running, paused): (bool, bool)) -> StatusWord {
    match status {
        _ if running => StatusWord::Running,
        Status::Idle if paused => StatusWord::Paused,
        Status::Idle => StatusWord::Idle,
        Status::Suspended { .. } => StatusWord::Suspended,
        Status::Ended { .. } => StatusWord::End,
        Status::Cancelled { .. } => StatusWord::Cancelled,
    }
}

/// The states to show; a person is shown by default what waits for him, too.
fn wanted(which: &ThreadList, for_a_person: bool) -> Vec<StatusWord> {
    use StatusWord::{Active, Cancelled, End, Idle, Paused, Running, Suspended};
    match &which.status {
        typed if typed.is_empty() && which.all => vec![Idle, Running, Suspended, Paused, End, Cancelled],
        typed if typed.is_empty() && for_a_person => vec![Idle, Running, Suspended, Paused],
        typed if typed.is_empty() => vec![Idle, Running],
        typed if typed.contains(&Active) => [typed.as_slice(), &[Idle, Running]].concat(),
        typed => typed.clone(),
    }
}
