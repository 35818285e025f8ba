//! The sessions of an agent that can be gone on with, one file an agent: `$UWF_HOME/cache/<agent>-sessions.json`.
//!
//! A cache in the full sense: whoever deletes it loses what the agent remembers of earlier visits and nothing else, since the next
//! one is told everything again. `<thread>:<role>` is the session of a role, `<step>:ask` that of questions to a step. What nobody
//! has gone on with for four weeks is forgotten: agents forget theirs, too.
//!
//! A session of a role is kept with what it has seen: the record of the visit that it ended with. It is gone on with where that is
//! the role's last visit, and by the run that it was in the middle of; any other visit is none that it knows of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_engine::ThreadId;
use uwf_engine::home::make_private;
use uwf_store::{Clock, Hash, atomic_file};

use super::reply::UsedBefore;
use crate::provider::message::TokenUsage;

/// How long a session is remembered, in ms.
const REMEMBERED: u64 = 28 * 24 * 3_600 * 1_000;

/// A session that can be gone on with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KnownSession {
    /// What the agent calls it; empty of a fork that is not made yet.
    pub id: String,
    /// What whoever asks calls a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
    /// The session that it is to be a fork of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
    /// The run that went on with it last, as its journal is called.
    pub run: String,
    /// The record of the visit that it ended with; none in the middle of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Hash>,
    /// When, in ms since the epoch.
    pub at: u64,
    /// What it has used, where its agent tells sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenUsage>,
    /// The same in USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl KnownSession {
    /// What was used before.
    pub(super) fn used(&self) -> UsedBefore {
        UsedBefore { tokens: self.tokens.unwrap_or_default(), cost: self.cost.unwrap_or_default() }
    }

    /// The same where this was used by now.
    pub(super) fn having_used(self, used: UsedBefore) -> KnownSession {
        let tokens = Some(used.tokens).filter(|tokens| *tokens != TokenUsage::default());
        KnownSession { tokens, cost: Some(used.cost).filter(|cost| *cost > 0.0), ..self }
    }
}

/// The sessions of one agent.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    file: PathBuf,
    clock: Clock,
}

type Known = BTreeMap<String, KnownSession>;

impl Sessions {
    /// Those of the agent of that name; `home` is `$UWF_HOME`.
    pub(super) fn of(home: &Path, agent: &str, clock: Clock) -> Sessions {
        Sessions { file: home.join("cache").join(format!("{agent}-sessions.json")), clock }
    }

    /// The key of a role's session.
    pub(super) fn role(thread: &str, role: &str) -> String {
        format!("{thread}:{role}")
    }

    /// The key of the session of questions to a step.
    pub(super) fn ask(step: &str) -> String {
        format!("{step}:ask")
    }

    /// The session of that key; a file that says anything else has none.
    pub(super) fn get(&self, key: &str) -> Option<KnownSession> {
        self.read().remove(key)
    }

    /// Remembers it, from now on.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn keep(&self, key: &str, session: KnownSession) -> io::Result<()> {
        let at = (self.clock)();
        self.change(|known| drop(known.insert(key.to_owned(), KnownSession { at, ..session })))
    }

    /// Forgets it.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn forget(&self, key: &str) -> io::Result<()> {
        self.change(|known| drop(known.remove(key)))
    }

    /// Where an agent keeps the session of that id that is given a file for it: in a directory that has nothing else.
    pub(super) fn file_of(&self, id: &str) -> PathBuf {
        self.directory_of(id).join("session")
    }

    /// An id for a session that we give one.
    pub(super) fn new_id(&self) -> String {
        ThreadId::new((self.clock)()).to_string()
    }

    /// Makes the directory for the file of that session.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn make_directory_of(&self, id: &str) -> io::Result<()> {
        make_private(&self.directory_of(id))
    }

    fn directory_of(&self, id: &str) -> PathBuf {
        self.file.with_extension("").join(id)
    }

    /// The files of a session that nobody goes on with.
    pub(super) fn remove_files(&self, id: &str) {
        // An id of an agent's own may be anything, and has no directory of ours.
        if id.parse::<ThreadId>().is_ok() {
            fs::remove_dir_all(self.directory_of(id)).ok();
        }
    }

    fn read(&self) -> Known {
        let bytes = fs::read(&self.file).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Several roles play at once: one after the other changes the file.
    fn change(&self, change: impl FnOnce(&mut Known)) -> io::Result<()> {
        make_private(self.file.parent().unwrap_or(Path::new(".")))?;
        let lock = File::options().append(true).create(true).open(self.file.with_extension("lock"))?;
        lock.lock()?;
        let mut known = self.read();
        let now = (self.clock)();
        let ids = |known: &Known| -> BTreeSet<String> {
            known.values().map(|session| session.id.clone()).collect()
        };
        let before = ids(&known);
        known.retain(|_, session| now.saturating_sub(session.at) < REMEMBERED);
        change(&mut known);
        before.difference(&ids(&known)).for_each(|id| self.remove_files(id));
        atomic_file::replace(&self.file, &serde_json::to_vec_pretty(&known)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_remembered_by_their_keys_and_not_for_ever() {
        let home = tempfile::tempdir().unwrap();
        let sessions = Sessions::of(home.path(), "agent", || 1_000);
        assert_eq!(sessions.get("T:r"), None);
        let session = KnownSession { id: "s".into(), cost: Some(0.5), ..KnownSession::default() };
        sessions.keep(&Sessions::role("T", "r"), session.clone()).unwrap();
        sessions.keep(&Sessions::ask("s"), KnownSession { id: "f".into(), ..session.clone() }).unwrap();
        assert_eq!(sessions.get("T:r"), Some(KnownSession { at: 1_000, ..session.clone() }));
        assert_eq!(sessions.get("s:ask").unwrap().id, "f");
        let id = ThreadId::new(1_000).to_string();
        let file = sessions.file_of(&id);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        sessions.keep("T:f", KnownSession { id, ..session.clone() }).unwrap();
        sessions.keep("T:g", session.clone()).unwrap();
        assert!(file.parent().unwrap().exists());
        sessions.forget("T:f").unwrap();
        assert!(!file.parent().unwrap().exists(), "its files go with it");
        sessions.forget("T:r").unwrap();
        assert!(sessions.get("T:r").is_none() && sessions.get("s:ask").is_some());
        let later = Sessions::of(home.path(), "agent", || 2_000 + REMEMBERED);
        later.keep("T:q", KnownSession::default()).unwrap();
        assert!(later.get("s:ask").is_none() && later.get("T:q").is_some());
        fs::write(home.path().join("cache/agent-sessions.json"), "no JSON").unwrap();
        assert_eq!(later.get("T:q"), None);
    }
}
