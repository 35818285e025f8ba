//! The tools as one thing: which there are, and the way of a call to one of them.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use uwf_store::suggest;

use crate::answer::{Facts, ToolOutput};
use crate::call_deadline::CallDeadline;
use crate::cancel::Cancel;
use crate::git_guard::{self, GitGuard};
use crate::limits::ToolLimits;
use crate::outputs::Outputs;
use crate::pattern::BadGlob;
use crate::read_state::{ReadState, ReadStates};
use crate::replace::WriteTarget;
use crate::sandbox::Sandbox;
use crate::shell::{Captured, NotStarted, ServerCommand, ServerProcess, Shell, environment};
use crate::similar_paths::ALIKE;
use crate::tool::{ToolContext, ToolSpec, WorkspaceTool};
use crate::workspace::WorkspaceDir;
use crate::writable::Writable;
use crate::{edit_file, glob, grep, list_dir, read_file, run_command, tool_output, write_file};

/// What a [`Toolbox`] is opened with.
#[derive(Clone, Debug)]
pub struct ToolboxConfig {
    /// The workspace: an existing directory.
    pub root: PathBuf,
    /// Names of the tools to offer; `None` is all of them.
    pub allow: Option<Vec<String>>,
    /// Globs of the paths that `write_file` and `edit_file` change, as those of `glob`; one that ends in `/` is all below.
    /// `None` is no limit. Commands are bound by the sandbox, not by this.
    pub writable: Option<Vec<String>>,
    /// Where full outputs of commands are kept: a directory outside the workspace, made when needed.
    pub spool_dir: PathBuf,
    /// The names of full outputs, and those of earlier runs.
    pub outputs: Arc<dyn Outputs>,
    /// The environment of commands, of which they see what programs commonly need.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of [`ToolboxConfig::env`] that commands see besides, whatever they hold: names, or what names begin
    /// with, a `*` at the end.
    pub pass_env: Vec<String>,
    /// Values that are never passed on to a command, such as the provider's key.
    pub hidden_env: Vec<String>,
    /// Commands may change git's hooks and the configuration that makes git run programs.
    pub allow_git_programs: bool,
    /// The caps.
    pub limits: ToolLimits,
    /// What commands run in; its private directories are closed to all tools.
    pub sandbox: Arc<Sandbox>,
}

/// Why a toolbox cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ToolboxError {
    /// The workspace is missing, no directory, or the kernel has no `openat2`.
    #[error("could not open the workspace '{}': {source}", .root.display())]
    Root {
        /// The workspace as it was given.
        root: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A glob in [`ToolboxConfig::writable`] is none.
    #[error("the writable '{glob}' is not a valid glob: {message}")]
    Glob {
        /// The glob as it was given.
        glob: String,
        /// What is wrong with it.
        message: String,
    },
    /// A name in [`ToolboxConfig::allow`] is no tool.
    #[error("there is no tool '{name}'; there are {known}")]
    UnknownTool {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: String,
    },
}

/// What the end of a run came to.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    /// The processes that were ended, the first by pid and command line, the rest by their number.
    pub ended: Vec<String>,
    /// What commands and servers changed of git's hooks and configuration: as [`crate::Facts::undone`] tells it.
    pub undone: Vec<String>,
    /// The lines of `undone` that tell what could not be undone or was not looked at: git may run programs because of it.
    /// Nothing more is done about it.
    pub standing: Vec<String>,
}

/// The tools over one workspace, and what a run has done with them. Calls may come from several threads.
pub struct Toolbox {
    tools: Vec<WorkspaceTool>,
    specs: Vec<ToolSpec>,
    workspace: WorkspaceDir,
    read_states: ReadStates,
    shell: Shell,
    // After the shell: when both are dropped, what it started has ended.
    git: GitGuard,
    limits: ToolLimits,
}

impl Toolbox {
    /// Opens the workspace. Nothing is written and nothing is started.
    ///
    /// # Errors
    /// The root is not a directory that can be opened, a glob of [`ToolboxConfig::writable`] is malformed, or
    /// [`ToolboxConfig::allow`] names a tool that does not exist.
    pub fn open(config: ToolboxConfig) -> Result<Self, ToolboxError> {
        let tools = allowed(config.allow.as_deref())?;
        let mut workspace = WorkspaceDir::open(&config.root, &config.sandbox.policy().private)
            .map_err(|source| ToolboxError::Root { root: config.root.clone(), source })?;
        if let Some(globs) = &config.writable {
            let bad_glob =
                |(glob, error): (_, BadGlob)| ToolboxError::Glob { glob, message: error.to_string() };
            workspace.limit(Writable::new(globs).map_err(bad_glob)?);
        }
        let git = GitGuard::new(workspace.path(), config.allow_git_programs, config.sandbox.git_copies());
        let specs = tools.iter().map(|tool| tool.spec.clone()).collect();
        let ToolboxConfig { spool_dir, outputs, env, pass_env, hidden_env, limits, sandbox, .. } = config;
        let env = environment::scrubbed(&env, &pass_env, &hidden_env);
        let shell = Shell::new(env, hidden_env.into(), (spool_dir, outputs), &limits, sandbox);
        Ok(Self { tools, specs, workspace, read_states: ReadStates::default(), shell, git, limits })
    }

    /// The tools there are, always in the same order.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Carries out one call: `arguments` is JSON text as the model sent it. Never fails: a call that cannot be carried
    /// out is answered with what was wrong, and nothing has happened.
    pub fn call(&self, name: &str, arguments: &str, cancel: &Cancel) -> ToolOutput {
        let Some(tool) = self.tools.iter().find(|tool| tool.spec.name == name) else {
            return self.unknown(name);
        };
        let Self { workspace, limits, read_states, shell, git, .. } = self;
        if !tool.spec.read_only && !git.begin(cancel) {
            return ToolOutput::cancelled(name);
        }
        let deadline = &CallDeadline::begin(cancel, limits.call_time);
        tool.call(arguments, &ToolContext { workspace, limits, read_states, shell, git, cancel, deadline })
    }

    /// Starts a program in the workspace that the run talks to, confined as commands are. It does not outlive the toolbox.
    /// From here on git is watched, as before a command.
    ///
    /// # Errors
    /// See [`NotStarted`].
    pub fn start_server(&self, server: &ServerCommand, cancel: &Cancel) -> Result<ServerProcess, NotStarted> {
        if !self.git.begin(cancel) {
            return Err(NotStarted::cancelled());
        }
        let cwd = self.workspace.path();
        self.shell.start_server(server, cwd, cancel).map_err(|error| NotStarted::of(server, error))
    }

    /// The workspace.
    pub(crate) fn workspace(&self) -> &WorkspaceDir {
        &self.workspace
    }

    /// The workspace's directory, without links.
    pub fn root(&self) -> &Path {
        self.workspace.path()
    }

    /// A variable as commands see it.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.shell.variable(name)
    }

    /// What a server says of a call, as [`Toolbox::shown`]; with what it meanwhile did to git, which is taken back.
    pub fn answered(&self, text: &str) -> ToolOutput {
        let mut output = self.shown(text);
        output.facts.undone = self.git.check();
        if !output.facts.undone.is_empty() {
            let note = git_guard::told("Servers", &output.facts.undone);
            output.text = format!("{}\n{}", output.text.trim_end(), note.trim_end());
        }
        output
    }

    /// What somebody else than a tool of this box says, as the output of a command is shown: the beginning and the end, and all
    /// of it kept where that is not all.
    pub fn shown(&self, text: &str) -> ToolOutput {
        let Captured { text, truncated, total, output, .. } = self.shell.captured(text, &self.limits);
        let (output_hash, spool) = output.map(|output| (output.name, output.path)).unzip();
        let facts = Facts { output_bytes: Some(total), output_hash, spool, truncated, ..Facts::default() };
        ToolOutput { text, facts, ..ToolOutput::default() }
    }

    /// Removes what a call that was killed with its process left in the workspace. It changes nothing else, and nothing where
    /// the call was not one to change a file; what cannot be removed stays.
    pub fn tidy_after(&self, name: &str, arguments: &str) {
        let changes = self.specs.iter().any(|tool| tool.name == name && !tool.read_only);
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        if let (true, Some(path)) = (changes, arguments["path"].as_str())
            && let Ok(real) = self.workspace.real_for_writing(path)
        {
            let _ = WriteTarget { workspace: &self.workspace, path, real: &real }.tidy();
        }
    }

    /// Takes over what an earlier part of this run knew of a file: [`crate::Facts::read_state`] of its calls, oldest first.
    pub fn remember(&self, state: &ReadState) {
        self.read_states.remember(state);
    }

    /// Ends what commands left running and looks at git once more; tells what that came to. Dropping does it too.
    pub fn close(&self) -> Closed {
        self.close_unless(&Cancel::default())
    }

    /// [`Toolbox::close`], with at most two seconds for git once it is cancelled.
    pub fn close_unless(&self, cancel: &Cancel) -> Closed {
        let ended = self.shell.end();
        let git = self.git.end(cancel);
        Closed { ended, standing: git.standing(), undone: git.lines() }
    }

    fn unknown(&self, name: &str) -> ToolOutput {
        let names = || self.specs.iter().map(|spec| spec.name);
        let near = suggest::alike(name, names(), ALIKE);
        let (near, others): (Vec<&str>, Vec<&str>) =
            names().partition(|known| near.as_deref() == Some(*known));
        let text = format!(
            "there is no tool `{name}`; nothing was done. Tools: {}",
            [near, others].concat().join(", ")
        );
        ToolOutput::error(format!("{name}: no such tool"), text)
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox").field("root", &self.workspace.path()).finish_non_exhaustive()
    }
}

fn all() -> Vec<WorkspaceTool> {
    vec![
        read_file::tool(),
        write_file::tool(),
        edit_file::tool(),
        list_dir::tool(),
        grep::tool(),
        glob::tool(),
        run_command::tool(),
        tool_output::tool(),
    ]
}

/// All tools there are, as a model is told of them, always in the same order.
pub fn specs() -> Vec<ToolSpec> {
    all().into_iter().map(|tool| tool.spec).collect()
}

/// Whether each of the names is a tool.
///
/// # Errors
/// [`ToolboxError::UnknownTool`], for the first that is none.
pub fn check_names(names: &[String]) -> Result<(), ToolboxError> {
    allowed(Some(names)).map(drop)
}

fn allowed(names: Option<&[String]>) -> Result<Vec<WorkspaceTool>, ToolboxError> {
    let mut tools = all();
    let Some(names) = names else { return Ok(tools) };
    let known: Vec<&str> = tools.iter().map(|tool| tool.spec.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(ToolboxError::UnknownTool { name: name.clone(), known: known.join(", ") });
    }
    tools.retain(|tool| names.iter().any(|name| name == tool.spec.name));
    Ok(tools)
}

#[cfg(test)]
#[path = "toolbox_tests.rs"]
mod tests;
