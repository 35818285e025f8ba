//! What costs reads of its own of each row: why a thread stands as it does, what it took. Read where somebody sees it.

use serde::Serialize;
use uwf_agent::live::LiveReader;
use uwf_store::{Store, parallel};

use crate::shell::{CliError, Format, Session};
use uwf_engine::view::{RunsBeside, ThreadRow, ThreadRowFacts};

/// How many steps of a thread are looked at for what it took.
const STEPS: usize = 1000;

/// A row with all that is known of it.
#[derive(Serialize)]
pub(super) struct Fuller<'a> {
    #[serde(flatten)]
    pub(super) row: &'a ThreadRow,
    #[serde(flatten)]
    pub(super) facts: Option<&'a ThreadRowFacts>,
}

impl<'a> From<(&'a ThreadRow, &'a Option<ThreadRowFacts>)> for Fuller<'a> {
    fn from((row, facts): (&'a ThreadRow, &'a Option<ThreadRowFacts>)) -> Fuller<'a> {
        Fuller { row, facts: facts.as_ref() }
    }
}

/// What is known of each row beside it; nothing where nobody wants it. What cannot be read is told of and hides no row.
pub(super) fn of(
    session: &mut Session<'_>,
    store: &Store,
    rows: &[ThreadRow],
) -> Result<Vec<Option<ThreadRowFacts>>, CliError> {
    let beyond = |row: &ThreadRow| session.ui.format == Format::Text || session.ui.picks_beyond(row);
    if !rows.first().is_some_and(beyond) {
        return Ok(vec![None; rows.len()]);
    }
    let beside = RunsBeside::of(store)?;
    let read = parallel::map(rows, |row| ThreadRowFacts::of(store, &beside, row, STEPS));
    let mut reader = LiveReader::new(&session.homes()?.uwf);
    let mut facts = Vec::with_capacity(rows.len());
    for (row, read) in rows.iter().zip(read) {
        match read {
            Ok(mut of) => {
                of.reason = live(&mut reader, store, row).or(of.reason);
                facts.push(Some(of));
            }
            Err(error) => {
                session.ui.warn(&format!("thread {} cannot be read: {error}", row.thread));
                facts.push(None);
            }
        }
    }
    Ok(facts)
}

/// What its journal tells: how far the run is, or where it was cut off.
fn live(reader: &mut LiveReader, store: &Store, row: &ThreadRow) -> Option<String> {
    match row.status {
        "running" => {
            let run = reader.run(store, &row.thread)?;
            let turn = run.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
            Some(format!("running: {}{turn}", run.role?))
        }
        "idle" | "suspended" => {
            reader.interrupted(&row.thread, &row.head, store.now()).map(|run| run.reason())
        }
        _ => None,
    }
}
