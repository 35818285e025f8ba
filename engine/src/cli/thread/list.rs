//! `uwf thread list`: chosen by what the variables tell, so that only the rows that are shown cost reads.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::current_role;
use crate::cli::args::{Format, StatusWord, ThreadList};
use crate::cli::failure::{Failure, OK};
use crate::cli::moment::moment;
use crate::cli::{Session, render};
use crate::lock;
use crate::lost;
use crate::parallel;
use crate::store::{Hash, Store};
use crate::thread::{self, Entry, Head, Status, ThreadError, ThreadId};
use crate::workflow::{self, Workflow};

/// One row.
struct Row {
    thread: ThreadId,
    head: Head,
    workflow: Hash,
    workflow_name: String,
    word: &'static str,
    current_role: Option<String>,
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "thread": self.thread, "workflow": self.workflow, "workflowName": self.workflow_name,
            "head": self.head.hash, "status": self.word, "currentRole": self.current_role,
            "startedAt": self.thread.time_ms(),
        })
    }

    fn cells(&self) -> [String; 5] {
        let role = match &self.head.status {
            Status::Suspended { role, .. } => role.clone(),
            _ => self.current_role.clone().unwrap_or_default(),
        };
        let started = render::time(self.thread.time_ms());
        [self.thread.to_string(), self.word.to_owned(), self.workflow_name.clone(), role, started]
    }
}

pub(super) fn list(session: &mut Session<'_>, which: &ThreadList) -> Result<u8, Failure> {
    let (homes, store) = (session.homes()?, session.store()?);
    let wanted = wanted(which, session.terminals.out && session.ui.format == Format::Text);
    let after = which.after.as_deref().map(|text| moment(text, store.now())).transpose()?;
    let before = which.before.as_deref().map(|text| moment(text, store.now())).transpose()?;
    let running = lock::all_running(&homes.uwf).unwrap_or_default();
    let mut page = Vec::new();
    let mut is_empty = true;
    let (mut left_out, take) = (0, which.take.unwrap_or(usize::MAX));
    for entry in thread::entries(&store) {
        if page.len() == take {
            break;
        }
        let entry = entry?;
        is_empty = false;
        let ms = entry.thread.time_ms();
        if after.is_some_and(|after| ms <= after) {
            break;
        }
        match entry.status().map(|status| word(status, running.contains(&entry.thread))) {
            _ if before.is_some_and(|before| ms >= before) => {}
            Ok(word) if !wanted.contains(&word) => {}
            Ok(_) if left_out < which.skip => left_out += 1,
            Ok(word) => page.push((entry, word.as_str())),
            Err(error) => session.ui.warn(&error.to_string()),
        }
    }
    let rows = rows(session, &store, &page);
    let value = rows.iter().map(Row::json).collect();
    session.ui.result(&value, || {
        let cells: Vec<_> = rows.iter().map(Row::cells).collect();
        render::table(["THREAD", "STATUS", "WORKFLOW", "ROLE", "STARTED (UTC)"], &cells)
    })?;
    let lost = if is_empty { lost::glance(&store)? } else { None };
    if let Some(lost) = lost {
        session.ui.warn(&lost.to_string());
        session.ui.note(&lost.hint());
    } else if rows.is_empty() && session.terminals.out {
        session.ui.note("no threads; `uwf thread list --all` shows finished ones too");
    }
    Ok(OK)
}

/// Reads what is to be shown. A damaged thread is told of and does not hide the others.
fn rows(session: &mut Session<'_>, store: &Store, page: &[(Entry, &'static str)]) -> Vec<Row> {
    let known = Workflows::default();
    let rows = parallel::map(page, |(entry, word)| row(store, &known, entry, word));
    let mut read = Vec::with_capacity(rows.len());
    for (row, (entry, _)) in rows.into_iter().zip(page) {
        match row {
            Ok(row) => read.push(row),
            Err(error) => {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                session.ui.warn(&format!("thread {} cannot be read: {cause}", entry.thread));
            }
        }
    }
    read
}

fn word(status: &Status, running: bool) -> StatusWord {
    match status {
        _ if running => StatusWord::Running,
        Status::Idle => StatusWord::Idle,
        Status::Suspended { .. } => StatusWord::Suspended,
        Status::Ended { .. } => StatusWord::End,
        Status::Cancelled { .. } => StatusWord::Cancelled,
    }
}

/// The states to show; a person is shown by default what waits for him, too.
fn wanted(which: &ThreadList, for_a_person: bool) -> Vec<StatusWord> {
    use StatusWord::{Active, Cancelled, End, Idle, Running, Suspended};
    match &which.status {
        _ if which.all => vec![Idle, Running, Suspended, End, Cancelled],
        typed if typed.is_empty() && for_a_person => vec![Idle, Running, Suspended],
        typed if typed.is_empty() => vec![Idle, Running],
        typed if typed.contains(&Active) => [typed.as_slice(), &[Idle, Running]].concat(),
        typed => typed.clone(),
    }
}

/// The workflows met so far: threads of one workflow are many, and each workflow is read once.
#[derive(Default)]
struct Workflows(Mutex<HashMap<Hash, Arc<Workflow>>>);

impl Workflows {
    fn get(&self, store: &Store, hash: &Hash) -> Result<Arc<Workflow>, ThreadError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workflow) = known.get(hash) {
            return Ok(Arc::clone(workflow));
        }
        let workflow = Arc::new(workflow::get(store, hash)?);
        known.insert(*hash, Arc::clone(&workflow));
        Ok(workflow)
    }
}

fn row(store: &Store, known: &Workflows, entry: &Entry, word: &'static str) -> Result<Row, ThreadError> {
    let thread = entry.thread;
    let head = entry.read(store)?;
    let hash = head.start(store)?.workflow;
    let workflow = known.get(store, &hash)?;
    let current_role = current_role(store, &workflow, &head);
    Ok(Row { thread, workflow: hash, workflow_name: workflow.name.clone(), word, current_role, head })
}
