//! The rows as people see them.

use std::collections::HashMap;
use std::path::Path;

use super::facts::Fuller;
use crate::names::distinct_ends;
use crate::shell::{Column, Table, render};
use uwf_engine::ThreadId;
use uwf_engine::view::ThreadRow;

/// How many characters of an id a person is shown, where these are enough to name it.
const END: usize = 8;

/// How rows are told.
pub(super) struct Told<'a> {
    pub(super) now: u64,
    /// The threads of the store, as far as it is known.
    pub(super) ids: &'a [ThreadId],
    /// Whether ids are as short as names may be: for a person, who can ask for more.
    pub(super) brief: bool,
    /// The directory that the person is in, where its threads are shown.
    pub(super) here: Option<&'a Path>,
}

impl Told<'_> {
    pub(super) fn text(&self, rows: &[Fuller<'_>]) -> Table {
        let ends = self.ends(rows);
        let cells: Vec<[String; 8]> =
            rows.iter().zip(&ends).map(|(row, end)| self.cells(row, *end)).collect();
        let table = render::table(
            [
                Column::new("THREAD"),
                Column::new("AGE").rank(2),
                Column::new("STATUS").status().cut(16).rank(1),
                Column::new("WORKFLOW").cut(10).rank(4),
                Column::new("TASK").cut(16).rank(3),
                Column::new("DIRECTORY").cut(12).rank(7),
                Column::new("STEPS").rank(6),
                Column::new("COST").rank(5),
            ],
            &cells,
        );
        if self.brief { table.with_bold_ends(ends) } else { table }
    }

    /// How many of the last characters tell each row's thread from all others.
    fn ends(&self, rows: &[Fuller<'_>]) -> Vec<usize> {
        if !self.brief {
            return vec![0; rows.len()];
        }
        let ids: Vec<&str> = self.ids.iter().map(ThreadId::as_str).collect();
        let ends: HashMap<&str, usize> = ids.iter().copied().zip(distinct_ends(&ids)).collect();
        rows.iter().map(|row| ends.get(row.row.thread.as_str()).copied().unwrap_or(END)).collect()
    }

    fn cells(&self, Fuller { row, facts }: &Fuller<'_>, end: usize) -> [String; 8] {
        let id = row.thread.as_str();
        let shown = if self.brief { &id[id.len() - end.max(END).min(id.len())..] } else { id };
        let reason = facts.and_then(|facts| facts.reason.clone());
        let caller = facts.and_then(|facts| facts.caller).map(|caller| {
            let caller = caller.to_string();
            format!(" (for {})", &caller[caller.len() - END..])
        });
        let [steps, cost] = facts.map_or_else(Default::default, |facts| {
            let more = if facts.facts.more_steps { "+" } else { "" };
            let cost = render::cost(facts.facts.cost, facts.facts.unpriced);
            [format!("{}{more}", facts.facts.steps), cost]
        });
        [
            shown.to_owned(),
            render::age(self.now.saturating_sub(row.started_at)),
            reason.unwrap_or_else(|| status(row)),
            format!("{}{}", row.workflow_name, caller.unwrap_or_default()),
            row.task.clone(),
            self.directory(&row.directory),
            steps,
            cost,
        ]
    }

    /// As it is seen from here.
    fn directory(&self, directory: &str) -> String {
        match self.here.and_then(|here| Path::new(directory).strip_prefix(here).ok()) {
            Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
            Some(below) => render::path(below),
            None => directory.to_owned(),
        }
    }
}

/// The status of a thread that nothing else is to be said of.
fn status(row: &ThreadRow) -> String {
    match (row.status, &row.current_role) {
        ("idle", Some(role)) => format!("idle, next: {role}"),
        (status, _) => status.to_owned(),
    }
}
