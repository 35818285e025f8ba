//! Threads that are to make no further step for now: a person said so, or a role has played as often as it may.
//!
//! The variable `@uwf/pause/<thread>` names a text, the reason; its tag says who wants it. So whoever runs the thread, here or on
//! another machine, sees it before the next step, and a step that runs is let finish. A thread that has ended, or asks a
//! person, is that and not paused.

use std::collections::{BTreeMap, HashMap};

use uwf_store::{Expect, Store, VarChange, Variable};

use super::{ThreadError, ThreadId};
use crate::builtin;
use crate::variables::PAUSES;

/// The tag that says who wants a pause.
const BY: &str = "by";

/// A pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Why, for people.
    pub reason: String,
    /// Who wants it.
    pub by: PausedBy,
}

impl Pause {
    /// What lets the thread go on.
    pub fn go_on(&self, thread: &ThreadId) -> String {
        match self.by {
            PausedBy::Person => format!("uwf thread resume {thread}"),
            PausedBy::Rounds => format!("uwf thread resume {thread} --max-rounds N"),
        }
    }
}

/// Who wants a thread to make no further step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausedBy {
    /// A person: until it is resumed.
    Person,
    /// The limit of rounds: until there are more of them.
    Rounds,
}

impl PausedBy {
    fn as_str(self) -> &'static str {
        match self {
            PausedBy::Person => "person",
            PausedBy::Rounds => "rounds",
        }
    }

    fn of(variable: &Variable) -> PausedBy {
        match variable.tags.get(BY).map(String::as_str) {
            Some("rounds") => PausedBy::Rounds,
            _ => PausedBy::Person,
        }
    }
}

pub(crate) fn variable(thread: &ThreadId) -> String {
    format!("{PAUSES}{thread}")
}

/// The pause of a thread, if it is to make no further step.
///
/// # Errors
/// The variable or its text cannot be read.
pub fn paused(store: &Store, thread: &ThreadId) -> Result<Option<Pause>, ThreadError> {
    store.vars().get(&variable(thread))?.map(|found| pause_of(store, &found)).transpose()
}

/// All threads that are to make no further step. One whose reason cannot be read has none.
///
/// # Errors
/// The variables cannot be listed.
pub fn all_paused(store: &Store) -> Result<HashMap<ThreadId, Pause>, ThreadError> {
    let of = |found: Variable| {
        let thread = found.name.strip_prefix(PAUSES)?.parse().ok()?;
        let unread = |_| Pause { reason: String::new(), by: PausedBy::of(&found) };
        Some((thread, pause_of(store, &found).unwrap_or_else(unread)))
    };
    Ok(store.vars().list(PAUSES)?.into_iter().filter_map(of).collect())
}

fn pause_of(store: &Store, found: &Variable) -> Result<Pause, ThreadError> {
    let reason = store.get(&found.value)?.payload.as_str().unwrap_or_default().to_owned();
    Ok(Pause { reason, by: PausedBy::of(found) })
}

/// Has a thread make no further step.
///
/// # Errors
/// The reason or the variable cannot be written.
pub fn pause(store: &Store, thread: &ThreadId, pause: &Pause) -> Result<(), ThreadError> {
    let change = VarChange::Set {
        name: variable(thread),
        schema: builtin::TEXT,
        value: store.put_text(&pause.reason)?,
        tags: BTreeMap::from([(BY.to_owned(), pause.by.as_str().to_owned())]),
        expect: Expect::Any,
    };
    Ok(store.vars().apply(&[change])?)
}

/// Lets a thread go on.
///
/// # Errors
/// The variable cannot be removed.
pub fn unpause(store: &Store, thread: &ThreadId) -> Result<(), ThreadError> {
    let name = variable(thread);
    match store.vars().get(&name)? {
        Some(_) => Ok(store.vars().apply(&[VarChange::Remove { name }])?),
        None => Ok(()),
    }
}
