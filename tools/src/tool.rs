//! The shape all tools share: what a tool is, what it is given, what it answers.
//!
//! Apart from [`crate::toolbox`] so that a tool's file needs nothing but this one. It never touches a file or a
//! process.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::arguments;
use crate::call_deadline::CallDeadline;
use crate::git_guard::GitGuard;
use crate::limits::Limits;
use crate::read_state::{Digest, ReadState, ReadStates};
use crate::run_command::Shell;
use crate::workspace::{PathError, Workspace};

/// A tool as the model is told of it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: &'static str,
    /// Purpose, limits, errors; English, a few hundred characters.
    pub description: &'static str,
    /// JSON Schema of the arguments: `type: object`, `properties`, `required`, `additionalProperties: false`.
    pub parameters: Value,
    /// Whether it changes nothing, so that calls may run side by side.
    pub read_only: bool,
}

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
    pub changes: Vec<Change>,
    /// The text shows less than there was.
    pub truncated: bool,
    /// Hooks and configuration of git that a command changed and that were put back, or could not be; sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// What the model now knows of a file. A run that continues hands these to [`crate::Toolbox::remember`].
    #[serde(rename = "seen")]
    pub read_state: Option<ReadState>,
}

/// One file, before and after. Serialized without the bytes: path, content hashes, lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the workspace, symlinks resolved.
    pub path: String,
    /// The content before; `None` when there was no file.
    pub before: Option<Vec<u8>>,
    /// The content after.
    pub after: Vec<u8>,
}

impl Change {
    /// XXH64 of the content before, as 16 hex digits.
    pub fn hash_before(&self) -> Option<String> {
        self.before.as_deref().map(|bytes| Digest::of(bytes).to_string())
    }

    /// XXH64 of the content after, as 16 hex digits.
    pub fn hash_after(&self) -> String {
        Digest::of(&self.after).to_string()
    }
}

impl Serialize for Change {
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

/// Asks calls to end early. Clones share one flag; it never goes back.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks every call that was given this flag to end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancel::cancel`] was called on any clone.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a tool may use.
pub(crate) struct ToolContext<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) limits: &'a Limits,
    pub(crate) read_states: &'a ReadStates,
    pub(crate) shell: &'a Shell,
    pub(crate) git: &'a GitGuard,
    pub(crate) cancel: &'a Cancel,
    pub(crate) deadline: &'a CallDeadline<'a>,
}

impl ToolContext<'_> {
    /// Whether there is still time to change anything; asked last, since a write is whole or not at all.
    pub(crate) fn before_writing(&self, path: &str) -> Result<(), PathError> {
        self.deadline.may_go_on();
        let reason = self.deadline.reason();
        reason.map_or(Ok(()), |reason| Err(PathError::CutOff { path: path.to_owned(), reason }))
    }
}

type RunTool = Box<dyn Fn(Value, &ToolContext) -> Result<ToolOutput, serde_json::Error> + Send + Sync>;

/// A tool: what the model is told, and the function behind it.
pub(crate) struct Tool {
    pub(crate) spec: ToolSpec,
    run: RunTool,
}

impl Tool {
    /// The parameters' schema comes from `Args`, so that it and the code cannot disagree.
    pub(crate) fn new<Args: JsonSchema + DeserializeOwned + 'static>(
        name: &'static str,
        description: &'static str,
        read_only: bool,
        run: fn(Args, &ToolContext) -> ToolOutput,
    ) -> Self {
        let spec = ToolSpec {
            name,
            description: description.trim(),
            parameters: arguments::schema::<Args>(),
            read_only,
        };
        let run: RunTool = Box::new(move |value, context| Ok(run(serde_json::from_value(value)?, context)));
        Self { spec, run }
    }

    /// Arguments that do not fit are answered, and the tool does not run.
    pub(crate) fn call(&self, arguments: &str, context: &ToolContext) -> ToolOutput {
        let name = self.spec.name;
        let problem = match arguments::parse(arguments, &self.spec.parameters) {
            Ok(value) => match (self.run)(value, context) {
                Ok(output) => return output,
                Err(error) => error.to_string(),
            },
            Err(problem) => problem.to_string(),
        };
        let mut text = format!("{name} was not run: {problem}\n");
        let _ = write!(text, "Expected: {}", arguments::shape(&self.spec.parameters));
        ToolOutput::error(format!("{name}: wrong arguments"), text)
    }
}
