//! What a call of a tool comes to: the text for the model, and the facts for the record.

use std::path::PathBuf;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::read_state::{Digest, ReadState};

/// The answer to one call.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// For the model; capped, with a mark where something was left out.
    pub text: String,
    /// One short line for people: `read README.md (120 lines)`.
    pub title: String,
    /// The tool did not do what was asked. A command that exits with a code other than 0 is no error of the tool.
    pub is_error: bool,
    /// For the record.
    pub facts: Facts,
}

impl ToolOutput {
    pub(crate) fn done(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: text.into(), title: title.into(), ..Self::default() }
    }

    pub(crate) fn error(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(title, text) }
    }

    /// The run was to end before the tool began.
    pub(crate) fn cancelled(name: &str) -> Self {
        let mut output = Self::error(format!("{name}: cancelled"), format!("{name} was not run: cancelled"));
        output.facts.cancelled = true;
        output
    }
}

/// What happened, for the record rather than for the model.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The exit code of a command that ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended a command.
    pub signal: Option<i32>,
    /// The call, or the command it ran, reached its time limit and was ended.
    pub timed_out: bool,
    /// The call was cancelled.
    pub cancelled: bool,
    /// All that a command printed, in bytes.
    pub output_bytes: Option<u64>,
    /// The file with the full output (up to a limit), when it was longer than what the text shows.
    pub spool: Option<PathBuf>,
    /// The name that [`crate::Outputs`] gave to that; the text shows it too.
    pub output_hash: Option<String>,
    /// The files that the tool changed. Commands are not looked into.
    pub changes: Vec<FileEdit>,
    /// The text shows less than there was.
    pub truncated: bool,
    /// Hooks and configuration of git that a command changed and that were put back, or could not be; sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// What a tool of the program's own tells of its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Value>,
    /// What the model now knows of a file. A run that continues hands these to [`crate::Toolbox::remember`].
    #[serde(rename = "seen")]
    pub read_state: Option<ReadState>,
}

/// One file, before and after. Serialized without the bytes: path, content hashes, lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// Relative to the workspace, symlinks resolved.
    pub path: String,
    /// The content before; `None` when there was no file.
    pub before: Option<Vec<u8>>,
    /// The content after.
    pub after: Vec<u8>,
}

impl FileEdit {
    /// XXH64 of the content before, as 16 hex digits.
    pub fn hash_before(&self) -> Option<String> {
        self.before.as_deref().map(|bytes| Digest::of(bytes).to_string())
    }

    /// XXH64 of the content after, as 16 hex digits.
    pub fn hash_after(&self) -> String {
        Digest::of(&self.after).to_string()
    }
}

impl Serialize for FileEdit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Change", 5)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("hash_before", &self.hash_before())?;
        fields.serialize_field("hash_after", &self.hash_after())?;
        fields.serialize_field("bytes_before", &self.before.as_ref().map(Vec::len))?;
        fields.serialize_field("bytes_after", &self.after.len())?;
        fields.end()
    }
}
