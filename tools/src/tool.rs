//! The shape all tools share: what a tool is and what it is given.
//!
//! Apart from [`crate::toolbox`] so that a tool's file needs nothing but this one and [`crate::answer`].

use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::ToolOutput;
use crate::arguments;
use crate::call_deadline::CallDeadline;
use crate::cancel::Cancel;
use crate::git_guard::GitGuard;
use crate::limits::ToolLimits;
use crate::lock::lock;
use crate::read_state::ReadStates;
use crate::replace::{CurrentFile, WriteTarget};
use crate::shell::Shell;
use crate::workspace::{PathError, WorkspaceDir};

/// A tool as the model is told of it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: &'static str,
    /// Purpose, limits, errors; English, a few hundred characters.
    pub description: &'static str,
    /// JSON Schema of the arguments: `type: object`, `properties`, `required`, `additionalProperties: false`.
    pub parameters: Value,
    /// Whether it changes nothing, so that calls may run side by side; no business of the model.
    #[serde(skip)]
    pub read_only: bool,
}

/// What a tool may use.
pub(crate) struct ToolContext<'a> {
    pub(crate) workspace: &'a WorkspaceDir,
    pub(crate) limits: &'a ToolLimits,
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

    /// Hands `change` the file at `path`, which no other call changes meanwhile, and what is in it now, if it is there.
    pub(crate) fn change_file<T, Error: From<PathError>>(
        &self,
        path: &str,
        change: impl FnOnce(&WriteTarget, Option<CurrentFile>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let real = self.workspace.real_for_writing(path)?;
        let file_lock = self.read_states.lock_of(&real);
        let _guard = lock(&file_lock);
        let target = WriteTarget { workspace: self.workspace, path, real: &real };
        let present = target.load(self.limits.whole_file_bytes)?;
        change(&target, present)
    }
}

type RunTool = Box<dyn Fn(Value, &ToolContext) -> Result<ToolOutput, serde_json::Error> + Send + Sync>;

/// A tool: what the model is told, and the function behind it.
pub(crate) struct WorkspaceTool {
    pub(crate) spec: ToolSpec,
    run: RunTool,
}

impl WorkspaceTool {
    /// The parameters' schema comes from `Args`, so that it and the code cannot disagree. `refused` is the title of a call
    /// that fails, whose error is the answer.
    pub(crate) fn new<Args: JsonSchema + DeserializeOwned + 'static, Error: fmt::Display + 'static>(
        name: &'static str,
        description: &'static str,
        read_only: bool,
        refused: fn(&Args) -> String,
        run: fn(&Args, &ToolContext) -> Result<ToolOutput, Error>,
    ) -> Self {
        let spec = ToolSpec {
            name,
            description: description.trim(),
            parameters: arguments::schema::<Args>(),
            read_only,
        };
        let run: RunTool = Box::new(move |value, context| {
            let args = serde_json::from_value(value)?;
            let answer = run(&args, context);
            Ok(answer.unwrap_or_else(|error| ToolOutput::error(refused(&args), error.to_string())))
        });
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
        let _ = write!(text, "Expected: {}", arguments::signature(&self.spec.parameters));
        ToolOutput::error(format!("{name}: wrong arguments"), text)
    }
}
