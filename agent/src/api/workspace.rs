//! The directory that the built-in tools work in, and what commands may reach from there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use uwf_engine::Env;
use uwf_tools::sandbox::Level;

use crate::confinement::SandboxSettings;

/// Where programs are, unless it is said otherwise.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A directory for the built-in tools: `read_file`, `write_file`, `edit_file`, `list_dir`, `grep`, `glob`, `run_command` and
/// `tool_output`.
///
/// File tools cannot leave it, whatever path they are given: it is held as a directory handle. Commands run in a sandbox
/// of the kernel's: strict and without network unless it is said otherwise, and a run that may run commands fails
/// ([`FailedAt::Sandbox`](crate::FailedAt::Sandbox)) where that cannot be had. The calling process itself stays as it is.
///
/// ```
/// use uwf_agent::Workspace;
///
/// let readers = Workspace::new("/srv/project").tools(["read_file", "grep", "glob"]);
/// let builder = Workspace::new("/srv/project").env(std::env::vars_os()).writable("/srv/cache");
/// ```
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(super) root: PathBuf,
    pub(super) tools: Vec<String>,
    pub(super) env: Env,
    pub(super) sandbox: SandboxSettings,
    pub(super) snapshots: bool,
}

impl Workspace {
    /// An existing directory, with all built-in tools.
    pub fn new(root: impl Into<PathBuf>) -> Workspace {
        let mut env = Env::default();
        env.set("PATH", PATH);
        let tools = uwf_tools::specs().into_iter().map(|spec| spec.name.to_owned()).collect();
        Workspace { root: root.into(), tools, env, sandbox: SandboxSettings::default(), snapshots: true }
    }

    /// These tools alone. A name that is none fails the run before it begins.
    pub fn tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Workspace {
        self.tools = names.into_iter().map(Into::into).collect();
        self
    }

    /// The environment that commands start from, instead of a `PATH` alone. They see of it what programs commonly need; keys
    /// and other secrets are held back as by the program. `HOME` says whose home is closed to them, `TMPDIR` where private
    /// directories are made (`/tmp`).
    pub fn env(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Workspace {
        variables.into_iter().for_each(|(name, value)| self.env.set(name, value));
        self
    }

    /// How much of the sandbox must be there: [`Level::Strict`] by default.
    pub fn sandbox(mut self, level: Level) -> Workspace {
        self.sandbox.level = level;
        self
    }

    /// Commands may use the network.
    pub fn network(mut self) -> Workspace {
        self.sandbox.network = true;
        self
    }

    /// One more absolute path that commands may write.
    pub fn writable(mut self, path: impl Into<PathBuf>) -> Workspace {
        self.sandbox.writable.push(path.into());
        self
    }

    /// One more absolute path that commands may read although it lies in a home.
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Workspace {
        self.sandbox.readable.push(path.into());
        self
    }

    /// Runs that are kept capture the directory before and after, and after commands that changed it, so that `uwf step diff`
    /// tells what commands did. Without that they do not.
    pub fn without_snapshots(mut self) -> Workspace {
        self.snapshots = false;
        self
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
}
