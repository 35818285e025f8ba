//! A thread as one page in a file.

use uwf_engine::ThreadId;

use crate::error::WebError;
use crate::page;
use crate::read::{self, StepRow, ThreadQuery, TurnsPage};
use crate::site::Site;

/// A thread as one page: all of its steps with their turns and changes, nothing from elsewhere, no script.
///
/// # Errors
/// The thread, or a step of it, cannot be read.
pub fn page_of(site: &Site, thread: &ThreadId) -> Result<String, WebError> {
    let found = read::thread(site, thread, &ThreadQuery { all: true, ..ThreadQuery::default() })?;
    let step = |row: &StepRow| {
        read::step_at(site, thread, (&row.hash, row.number, found.sum.clone()), TurnsPage::All)
    };
    let pages = found.steps.iter().chain(&found.failed).map(step).collect::<Result<Vec<_>, _>>()?;
    Ok(page::document(&found, &pages, site.store.now()).into_string())
}
