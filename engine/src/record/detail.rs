//! How a step came about: the conversation, what it cost, what it changed.

use crate::builtin;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_store::{Batch, Hash, Store, StoreError};

use super::{RecordedSettings, Turn, lenient};

/// The record of a run, one node. Ours have all of it; of another agent's there is what that keeps.
/// Read it with [`Detail::of`]: plain deserialising refuses the whole for one field that is something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Detail {
    /// The session, as the agent calls it.
    pub session_id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// How long it was worked on, in milliseconds, without the pauses after interruptions.
    pub duration: Option<u64>,
    /// How many turns the model had.
    pub turn_count: Option<u64>,
    /// How many calls of tools failed.
    pub failed_calls: Option<u64>,
    /// What the model said and the tools answered, in order.
    pub turns: Option<Vec<Listed>>,
    /// All that was said, in order.
    pub messages: Option<Vec<Listed>>,
    /// What commands ran under; its shape is the agent's.
    pub sandbox: Value,
    /// What was set; see [`Detail::settings`].
    pub settings: Value,
    /// What the turns cost in USD, where prices are known.
    pub cost: Option<f64>,
    /// The trace that the run is a part of, by its id.
    pub trace: Option<String>,
    /// What the editing tools changed, by path; none where no record is kept of that.
    pub changes: Option<Vec<Change>>,
    /// What the workspace was like, where that was to be captured.
    #[serde(deserialize_with = "lenient::record", skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<RunSnapshots>,
    /// What happened, entry by entry: a [`super::RunLog`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Hash>,
}

/// What the workspace was like before a run and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSnapshots {
    /// Before the first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<RecordedSnapshot>,
    /// After the last call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<RecordedSnapshot>,
    /// Why there is none of them, or what of the workspace is not in them; in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A workspace as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSnapshot {
    /// A node of type `uwf-tree`.
    pub tree: Hash,
    /// Files, symlinks and directories.
    pub files: u64,
    /// In all files together.
    pub bytes: u64,
    /// What is not in it; a directory counts as one.
    pub left_out: u64,
}

/// An entry of a list of turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Listed {
    /// A reference to a node.
    Turn(Hash),
    /// Something else, as another agent may keep it.
    Other(Value),
}

impl From<Hash> for Listed {
    fn from(turn: Hash) -> Listed {
        Listed::Turn(turn)
    }
}

impl Listed {
    /// The reference, if it is one.
    pub fn turn(&self) -> Option<Hash> {
        match self {
            Listed::Turn(hash) => Some(*hash),
            Listed::Other(_) => None,
        }
    }
}

/// One changed file. The tools that change it and the journal know its bytes and its text: here these are nodes, which
/// tools have no notion of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Relative to the workspace.
    pub path: String,
    /// Its content as text, to be read by [`uwf_store::Store::blob`]; none where there was no such file.
    pub before: Option<Hash>,
    /// The same; none where there is no such file any more.
    pub after: Option<Hash>,
}

impl Detail {
    /// A record of a session of that model in which nothing happened.
    pub fn empty(session: &str, model: &str) -> Detail {
        Detail {
            session_id: Some(session.to_owned()),
            model: Some(model.to_owned()),
            duration: Some(0),
            turn_count: Some(0),
            failed_calls: Some(0),
            turns: Some(Vec::new()),
            messages: Some(Vec::new()),
            settings: json!({}),
            changes: Some(Vec::new()),
            ..Detail::default()
        }
    }

    /// What a payload says as a record, whoever wrote it.
    pub fn of(payload: Value) -> Detail {
        lenient::object(payload)
    }

    /// The record at `hash`.
    ///
    /// # Errors
    /// The node cannot be read.
    pub fn read(store: &Store, hash: &Hash) -> Result<Detail, StoreError> {
        Ok(Detail::of(store.get(hash)?.payload))
    }

    /// Adds it to what is to be stored.
    ///
    /// # Errors
    /// The node cannot be written, or lacks a field that a record must have.
    pub fn put(&self, batch: &mut Batch<'_>) -> Result<Hash, StoreError> {
        batch.put(&builtin::UWF_DETAIL, &json!(self))
    }

    /// What was set, as far as it is told.
    pub fn settings(&self) -> RecordedSettings {
        RecordedSettings::of(self.settings.clone())
    }

    /// All that was said, by whichever list there is; empty for a record of another shape.
    ///
    /// # Errors
    /// A turn that is listed cannot be read.
    pub fn conversation(&self, store: &Store) -> Result<Vec<Turn>, StoreError> {
        let listed = self.messages.as_ref().or(self.turns.as_ref());
        let turns = listed.into_iter().flatten().filter_map(Listed::turn);
        turns.map(|hash| Turn::read(store, &hash)).collect()
    }
}
