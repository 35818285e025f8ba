//! Threads as rows, the youngest first: those that a filter lets through, a page at a time.

use std::collections::BTreeSet;

use serde::Deserialize;
use uwf_engine::lock;
use uwf_engine::record;
use uwf_engine::thread::{self, Status, ThreadEntry, ThreadError, ThreadId};
use uwf_engine::view::{PAUSED, ThreadRow, Workflows};
use uwf_store::parallel;

use crate::site::Site;
use crate::text::first_line;

/// How many rows a page has.
const ROWS: usize = 100;
/// How many threads are read side by side.
const BATCH: usize = 256;

/// Which threads are listed, as the address says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ListFilter {
    /// `active`, `running`, `idle`, `suspended`, `paused`, `end`, `cancelled`; empty for all.
    pub(crate) status: String,
    pub(crate) workflow: String,
    /// Threads of this directory and those below it.
    pub(crate) dir: String,
    /// Words that stand in the task, the workflow's name, the directory or the id.
    pub(crate) q: String,
    /// Only threads that are older than this one.
    pub(crate) before: String,
}

impl ListFilter {
    /// Whether it leaves anything out.
    pub(crate) fn is_set(&self) -> bool {
        [&self.status, &self.workflow, &self.dir, &self.q].iter().any(|text| !text.is_empty())
    }

    fn wants_status(&self, status: &str) -> bool {
        match self.status.as_str() {
            "" | "all" => true,
            "active" => matches!(status, "idle" | "running"),
            wanted => wanted == status,
        }
    }

    fn wants(&self, row: &ListRow) -> bool {
        let below = |dir: &str| {
            let wanted = dir.trim_end_matches('/');
            row.dir.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let all = format!("{}\n{}\n{}\n{}", row.task, row.workflow, row.dir, row.thread).to_lowercase();
        self.wants_status(row.status)
            && (self.workflow.is_empty() || self.workflow == row.workflow)
            && (self.dir.is_empty() || below(&self.dir))
            && self.q.split_whitespace().all(|word| all.contains(&word.to_lowercase()))
    }
}

/// A thread among others.
#[derive(Clone, Debug)]
pub(crate) struct ListRow {
    pub(crate) thread: ThreadId,
    pub(crate) workflow: String,
    pub(crate) status: &'static str,
    /// Why it stands there: what it asks, or what failed.
    pub(crate) reason: Option<String>,
    /// Who plays, is next or asks.
    pub(crate) role: Option<String>,
    /// The whole of it.
    pub(crate) task: String,
    pub(crate) dir: String,
    pub(crate) updated: u64,
    /// Whether its last step failed.
    pub(crate) failed: bool,
}

/// A page of the list.
#[derive(Debug, Default)]
pub(crate) struct ListPage {
    pub(crate) rows: Vec<ListRow>,
    /// The thread behind which the next page begins, if there is one.
    pub(crate) more: Option<ThreadId>,
    /// The names of workflows among all that was looked at.
    pub(crate) workflows: BTreeSet<String>,
    /// Threads that cannot be read, and why.
    pub(crate) unread: Vec<(ThreadId, String)>,
}

/// The threads that the filter lets through.
pub(crate) fn list(site: &Site, filter: &ListFilter) -> Result<ListPage, ThreadError> {
    let running = lock::all_running(&site.homes.uwf).unwrap_or_default();
    let known = Workflows::default();
    let paused = thread::all_paused(&site.store)?;
    let before: Option<ThreadId> = filter.before.parse().ok();
    let older = |entry: &ThreadEntry| {
        let age = |thread: &ThreadId| (thread.time_ms(), *thread);
        before.is_none_or(|before| age(&entry.thread) < age(&before))
    };
    let mut entries = thread::entries(&site.store).filter(|entry| entry.as_ref().map_or(true, older));
    let mut page = ListPage::default();
    let mut size = ROWS.min(BATCH);
    loop {
        let batch: Vec<ThreadEntry> = entries.by_ref().take(size).collect::<Result<_, _>>()?;
        if batch.is_empty() {
            return Ok(page);
        }
        size = BATCH;
        let read = parallel::map(&batch, |entry| row(site, &known, entry, running.contains(&entry.thread)));
        for (entry, row) in batch.iter().zip(read) {
            match row {
                Err(error) => page.unread.push((entry.thread, error.to_string())),
                Ok(mut row) => {
                    if let Some(pause) = paused.get(&row.thread).filter(|_| row.status == "idle") {
                        (row.status, row.reason) = (PAUSED, Some(pause.reason.clone()));
                    }
                    page.workflows.insert(row.workflow.clone());
                    if !filter.wants(&row) {
                        continue;
                    }
                    if page.rows.len() == ROWS {
                        page.more = page.rows.last().map(|row| row.thread);
                        return Ok(page);
                    }
                    page.rows.push(row);
                }
            }
        }
    }
}

fn row(site: &Site, known: &Workflows, entry: &ThreadEntry, runs: bool) -> Result<ListRow, ThreadError> {
    let store = &site.store;
    let row = ThreadRow::of(store, known, entry, runs)?;
    let head = entry.read(store)?;
    let start = head.start(store)?;
    let failed = if runs { None } else { failure(site, entry) };
    let asks = match &head.status {
        Status::Suspended { message, .. } if !runs => Some(first_line(message, 160)),
        _ => None,
    };
    Ok(ListRow {
        thread: row.thread,
        workflow: row.workflow_name,
        status: row.status,
        failed: failed.is_some(),
        reason: asks.or(failed),
        role: row.suspended_role.or(row.current_role),
        task: start.prompt,
        dir: start.cwd,
        updated: entry.updated,
    })
}

/// What failed last of a thread that stands where it failed.
fn failure(site: &Site, entry: &ThreadEntry) -> Option<String> {
    if !matches!(entry.status(), Ok(Status::Idle)) {
        return None;
    }
    let failures = thread::all_failures(&site.store, Some(&entry.thread)).ok()?;
    let step = failures.into_iter().filter_map(|failed| failed.steps.ok()?.last().copied()).next_back()?;
    let output = site.store.get(&thread::step_node(&site.store, &step).ok()?.output).ok()?.payload;
    Some(first_line(record::error(&output).unwrap_or("its last step failed"), 160))
}
