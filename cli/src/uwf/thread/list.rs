//! `uwf thread list`: chosen by what the variables tell, so that only the rows that are shown cost reads.
//!
//! A person is shown the threads of the directory he is in, as they stand and why; a program all of them, as they are stored.

mod facts;
mod page;
mod table;

use std::error::Error;
use std::path::PathBuf;

use uwf_store::Store;

use self::facts::Fuller;
use self::page::{Candidate, LARGEST_BATCH, ListPage, SMALLEST_BATCH, read};
use crate::shell::{CliError, Format, OK, Session};
use crate::uwf::args::{StatusWord, ThreadList};
use crate::uwf::time_argument::time_argument;
use uwf_engine::ThreadId;
use uwf_engine::lock;
use uwf_engine::lost;
use uwf_engine::thread::{self, Status, ThreadEntry, ThreadError};
use uwf_engine::view::{ThreadRow, Workflows};

/// How many threads a person is shown who does not say how many.
const SHOWN: usize = 30;

/// What is listed.
struct Wanted {
    /// Of these statuses.
    words: Vec<StatusWord>,
    /// For a person, who did not ask for the rest: of this directory, and called by nobody.
    here: Option<PathBuf>,
    /// So many at most.
    take: usize,
    after: Option<u64>,
    before: Option<u64>,
}

impl Wanted {
    fn of(session: &Session<'_>, which: &ThreadList, now: u64) -> Result<Wanted, CliError> {
        let for_a_person = session.terminals.out && session.ui.format == Format::Text;
        let at = |text: &Option<String>| text.as_deref().map(|text| time_argument(text, now)).transpose();
        Ok(Wanted {
            words: words(which, for_a_person),
            here: (for_a_person && !which.all).then(|| session.directory(None)).transpose()?,
            take: which.take.unwrap_or(if for_a_person { SHOWN } else { usize::MAX }),
            after: at(&which.after)?,
            before: at(&which.before)?,
        })
    }
}

pub(super) fn list(session: &mut Session<'_>, which: &ThreadList) -> Result<u8, CliError> {
    let (homes, store) = (session.homes()?, session.store()?);
    let wanted = Wanted::of(session, which, store.now())?;
    let running = lock::all_running(&homes.uwf).unwrap_or_default();
    let paused = thread::all_paused(&store)?;
    let known = Workflows::default();
    let mut page = ListPage::new(&wanted, which.skip);
    let (mut batch, mut ids) = (Vec::new(), Vec::new());
    let for_a_person = session.terminals.out && session.ui.format == Format::Text;
    for entry in thread::entries(&store) {
        // Of the others only the ids count: which of their characters tell them apart.
        let is_over = page.is_full() || ids.last().is_some_and(|last: &ThreadId| is_past(&wanted, last));
        if is_over && !for_a_person {
            break;
        }
        let entry = entry?;
        let ms = entry.thread.time_ms();
        ids.push(entry.thread);
        if is_past(&wanted, &entry.thread) || wanted.before.is_some_and(|before| ms >= before) {
            continue;
        }
        let running = running.contains(&entry.thread);
        let stands = (running, paused.contains_key(&entry.thread));
        match entry.status().map(|status| word(status, stands)) {
            Ok(stored) => batch.push(Candidate { entry, stored, row: None }),
            Err(error) => session.ui.warn(&error.to_string()),
        }
        if batch.len() >= page.missing().clamp(SMALLEST_BATCH, LARGEST_BATCH) {
            page.take_from(&mut batch, |batch, which| read(&store, &known, batch, which));
        }
    }
    page.take_from(&mut batch, |batch, which| read(&store, &known, batch, which));
    let (chosen, others) = page.done();
    let pause = |row: ThreadRow| match paused.get(&row.thread) {
        Some(pause) => row.paused(&pause.reason),
        None => row,
    };
    let rows: Vec<ThreadRow> = rows(session, (&store, &known), chosen).into_iter().map(pause).collect();
    let facts = facts::of(session, &store, &rows)?;
    let full: Vec<Fuller<'_>> = rows.iter().zip(&facts).map(Fuller::from).collect();
    let table =
        table::Told { now: store.now(), ids: &ids, brief: for_a_person, here: wanted.here.as_deref() };
    match facts.iter().any(Option::is_some) {
        true => session.ui.result(&full, || table.text(&full))?,
        // Nobody wants more than the rows, of which there may be many.
        false => session.ui.result(&rows, || table.text(&full))?,
    };
    told(session, &store, (ids.is_empty(), rows.is_empty()))?;
    if for_a_person {
        others.tell(&mut session.ui, rows.len());
    }
    Ok(OK)
}

/// Whether no thread from this one on is young enough.
fn is_past(wanted: &Wanted, thread: &ThreadId) -> bool {
    wanted.after.is_some_and(|after| thread.time_ms() <= after)
}

/// What there is to say of a list without rows.
fn told(session: &mut Session<'_>, store: &Store, (no_thread, no_row): (bool, bool)) -> Result<(), CliError> {
    let lost = if no_thread { lost::glance(store)? } else { None };
    if let Some(lost) = lost {
        session.ui.warn(&lost.to_string());
        session.ui.hint(&lost.hint());
    } else if no_thread && session.terminals.out {
        session.ui.note("no threads yet; `uwf thread start WORKFLOW -p TEXT` begins one");
    } else if no_row && session.terminals.out {
        session.ui.note("no such threads; `uwf thread list --all` shows those of every status and directory");
    }
    Ok(())
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

/// How a thread stands of which nothing runs; its nodes are read where only they tell.
pub(super) fn standing(
    (store, known): (&Store, &Workflows),
    entry: &ThreadEntry,
    is_paused: bool,
) -> Result<StatusWord, ThreadError> {
    let stored = word(entry.status()?, (false, is_paused));
    if stored != StatusWord::Idle || entry.is_new {
        return Ok(stored);
    }
    let row = ThreadRow::of(store, known, entry, false)?;
    Ok(StatusWord::of(row.status).unwrap_or(stored))
}

/// The states to show; a person is shown by default all but what was given up.
fn words(which: &ThreadList, for_a_person: bool) -> Vec<StatusWord> {
    use StatusWord::{Active, Cancelled, End, Idle, Paused, Running, Suspended};
    match &which.status {
        typed if typed.is_empty() && which.all => vec![Idle, Running, Suspended, Paused, End, Cancelled],
        typed if typed.is_empty() && for_a_person => vec![Idle, Running, Suspended, Paused, End],
        typed if typed.is_empty() => vec![Idle, Running],
        typed if typed.contains(&Active) => [typed.as_slice(), &[Idle, Running]].concat(),
        typed => typed.clone(),
    }
}
