//! What runs have left: those that were cut off and can be gone on with, and what nobody needs any more.
//!
//! Apart because it is no fault of anything: it is told so that nothing stays for ever without anybody knowing.

use std::path::Path;

use serde::Serialize;
use uwf_engine::journals::{self, JournalFile, JournalHeader, JournalStanding};
use uwf_engine::{AgentRequest, Homes, Status, ThreadId, thread};
use uwf_store::Store;

use super::super::resumed;
use crate::shell::checks::line;
use crate::shell::{Session, render};

/// The journals of runs.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunsCheck {
    /// Runs that were cut off, or that are over and of which nobody has made use yet.
    unfinished: Vec<UnfinishedRun>,
    /// Journals of threads that the store does not know.
    unknown: Vec<String>,
    /// How many journals `uwf cas gc` removes.
    stale: u64,
    /// How many bytes.
    stale_bytes: u64,
    /// Why that cannot be told.
    error: Option<String>,
}

/// A run that another process can go on with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UnfinishedRun {
    thread: String,
    role: String,
    /// Whether it is over, and only its thread has not moved on.
    answered: bool,
    /// When it was written to last, in milliseconds since the epoch, and how long ago that is.
    last_at_ms: u64,
    age: String,
    bytes: u64,
    journal: String,
    /// What to type to go on with it.
    #[serde(rename = "continue")]
    go_on: String,
    /// What to type to give it up.
    discard: String,
}

/// Looks at the journals of a store that is there.
pub(super) fn look(homes: &Homes, session: &Session<'_>) -> RunsCheck {
    // To open a directory that is no store yet would make it one, and what is wrong with a store is told elsewhere.
    let store = homes.ocas.join("nodes").is_dir().then(|| uwf_engine::open_store(&homes.ocas, session.clock));
    let Some(Ok(store)) = store else { return RunsCheck::default() };
    let found = match journals::survey(&store, &homes.uwf) {
        Ok(found) => found,
        Err(error) => return RunsCheck { error: Some(error.to_string()), ..RunsCheck::default() },
    };
    let mut check = RunsCheck::default();
    for journal in &found {
        match journal.standing {
            JournalStanding::Live | JournalStanding::Stale => {}
            JournalStanding::Unknown => check.unknown.push(render::path(&journal.path)),
            JournalStanding::Unfinished | JournalStanding::Answered => {
                check.unfinished.push(unfinished(journal, &store));
            }
        }
    }
    let stale = journals::remove_stale(&found, true);
    RunsCheck { stale: stale.removed, stale_bytes: stale.bytes, ..check }
}

fn unfinished(journal: &JournalFile, store: &Store) -> UnfinishedRun {
    let thread = journal.name.thread;
    let header = journals::header(&journal.path);
    let go_on = header.as_ref().map_or_else(
        || format!("nothing: {} cannot be read", render::path(&journal.path)),
        |header| {
            let JournalHeader { role, prompt, stand_alone, workspace, .. } = header;
            let request = AgentRequest::new(thread, role.as_str(), Some(prompt.clone()), None);
            match header.adapted() {
                Some(agent) => resumed::command_of(store, &request, Path::new(workspace), Some(agent)),
                None => resumed::command(store, &request, Path::new(workspace), *stand_alone),
            }
        },
    );
    UnfinishedRun {
        thread: thread.to_string(),
        role: header.map_or_else(|| "?".to_owned(), |header| header.role),
        answered: journal.standing == JournalStanding::Answered,
        last_at_ms: journal.written,
        age: render::duration(store.now().saturating_sub(journal.written)),
        bytes: journal.bytes,
        journal: render::path(&journal.path),
        go_on,
        discard: discard(store, &thread),
    }
}

/// A thread that has ended cannot be cancelled.
fn discard(store: &Store, thread: &ThreadId) -> String {
    let entry = thread::entry(store, thread);
    let has_ended = entry.is_ok_and(|entry| matches!(entry.status(), Ok(Status::Ended { .. })));
    format!("uwf thread {} {thread}", if has_ended { "rm" } else { "cancel" })
}

impl RunsCheck {
    /// For people; nothing where there is nothing to tell.
    pub(super) fn lines(&self) -> Vec<String> {
        let run = |run: &UnfinishedRun| {
            let state = if run.answered { "is over, and its thread has not moved on" } else { "was cut off" };
            format!(
                "! run of {} in thread {} {state} {} ago ({}); continue: {}; discard: {}",
                run.role,
                run.thread,
                run.age,
                render::bytes(run.bytes),
                run.go_on,
                run.discard
            )
        };
        let mut lines: Vec<String> = self.unfinished.iter().map(run).collect();
        let unknown = |path: &String| {
            format!(
                "! {path} is of a thread that this store does not know; remove it where no other store has the thread"
            )
        };
        lines.extend(self.unknown.iter().map(unknown));
        if self.stale > 0 {
            let size = render::bytes(self.stale_bytes);
            lines.push(format!(
                "  journals that nobody can come back to: {} ({size}); `uwf cas gc` removes them",
                self.stale
            ));
        }
        lines.extend(self.error.iter().map(|error| line(false, format!("journals: {error}"))));
        lines
    }
}
