//! The forked sessions that questions went to, one file a step: `$UWF_HOME/cache/forks/<step>.json`.
//!
//! A cache in the full sense: whoever deletes it loses the thread of earlier questions and nothing else. A fork counts
//! for the agent it was made by and the session it was made of, and for four weeks: agents forget theirs, too. A file
//! that says anything else is no fork.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uwf_store::{Hash, atomic_file};

use crate::home::make_private;
use crate::spawn::protocol::AgentCommand;

/// How long a fork counts. `uwf-builtin` forgets one that nobody asked for thirty days.
const REMEMBERED: Duration = Duration::from_secs(28 * 24 * 3600);

/// A fork that can be asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fork {
    /// The session it is a fork of.
    session: String,
    /// Who made it.
    agent: AgentCommand,
    /// What its agent calls it.
    pub(super) id: String,
}

/// Where the fork of `step` is remembered; `home` is `$UWF_HOME`.
pub(super) fn path(home: &Path, step: &Hash) -> PathBuf {
    home.join("cache/forks").join(format!("{step}.json"))
}

impl Fork {
    pub(super) fn new(session: &str, agent: &AgentCommand, id: String) -> Fork {
        Fork { session: session.to_owned(), agent: agent.clone(), id }
    }

    pub(super) fn is_of(&self, session: &str, agent: &AgentCommand) -> bool {
        self.session == session && self.agent == *agent
    }

    pub(super) fn read(file: &Path) -> Option<Fork> {
        let age = fs::metadata(file).and_then(|file| file.modified()).ok()?.elapsed().unwrap_or_default();
        if age > REMEMBERED {
            return None;
        }
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        make_private(file.parent().unwrap_or(Path::new(".")))?;
        atomic_file::replace(file, &serde_json::to_vec(self)?)
    }
}
