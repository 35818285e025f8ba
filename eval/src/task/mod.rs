//! A task: what is asked for, the files that it is asked of, and who judges what was made of them.
//!
//! ```text
//! fix-off-by-one/
//!   task.yaml
//!   fixture/     copied to a fresh directory for each case; absent: an empty one
//!   judges/      scripts, in any language
//!   schemas/     JSON Schemas of what the judges say
//! ```
//!
//! From the bottom up: `tree` walks, hashes and copies directories; `archive` unpacks a task that is one file; `place` finds the
//! files that a task names, inside it alone; `reader` looks into a document, and `read` and `judges` make checked values of `task.yaml`, or all that is wrong with
//! it. Nothing here runs anything.

mod archive;
mod error;
mod judges;
mod place;
mod read;
mod reader;
mod tree;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

pub use self::error::TaskError;
pub use self::judges::{BUILTINS, Builtin, ClaimsModel, JudgeKind, JudgeSpec};
pub use self::tree::{TreeError, copy, copy_left};

/// The file that says what a task is.
pub const FILE: &str = "task.yaml";
/// The directory that is copied for each case.
pub const FIXTURE: &str = "fixture";
/// The script that plays in the place of a model, where a task does not name another one.
pub const MOCK: &str = "mock.yaml";

/// A task, checked.
#[derive(Debug)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// The workflow that is run for it, where it names one: a name, or a file of the task.
    pub workflow: Option<String>,
    /// What is asked for.
    pub prompt: String,
    /// What a case may use.
    pub limits: Limits,
    /// Who judges.
    pub judges: Vec<JudgeSpec>,
    /// A script that can play in the place of a model; absolute.
    pub mock: Option<PathBuf>,
    /// Where it lies, unpacked or copied: what becomes of the place where it was found does not change it.
    pub dir: PathBuf,
    /// Where it was found: a directory, or one file.
    pub path: PathBuf,
    /// Everything in it, as a hash.
    pub hash: String,
    /// What a thread sees of it, as a hash: the fixture and the limits.
    pub seen: String,
    /// Whether it was one file.
    is_archive: bool,
    /// What it was unpacked or copied to; gone with the task.
    _held: TempDir,
}

/// What a case may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// How many steps.
    pub max_steps: u32,
    /// How long, waiting for the model included.
    pub timeout: Duration,
    /// How much money, in USD.
    pub cost_usd: Option<f64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_steps: 50, timeout: Duration::from_secs(30 * 60), cost_usd: None }
    }
}

impl Task {
    /// Reads and checks the task in a directory, or in one file (`.tar`, `.tar.gz`, `.tgz`), which is copied or unpacked below
    /// `scratch`.
    ///
    /// # Errors
    /// Everything that is wrong with it; see [`TaskError`].
    pub fn load(path: &Path, scratch: &Path) -> Result<Task, TaskError> {
        let absolute =
            path.canonicalize().map_err(|source| TaskError::Missing { path: path.to_owned(), source })?;
        let tree = |source| TaskError::Tree { path: absolute.clone(), source };
        let is_archive = !absolute.is_dir();
        let (held, dir, workflow) = match is_archive {
            true => {
                let held = archive::unpack(&absolute, scratch)?;
                let dir = archive::root(held.path());
                (held, dir, None)
            }
            false => {
                // What is wrong is told of the files as they were found, and so is what is wrong with a workflow.
                let found = read_in(&absolute, &absolute)?;
                let (held, dir) = copied(&absolute, scratch).map_err(tree)?;
                (held, dir, found.workflow)
            }
        };
        let read = read_in(&dir, &absolute)?;
        let fixture = dir.join(FIXTURE);
        let hash = tree::hash(&dir).map_err(tree)?;
        let seen = if fixture.is_dir() { tree::hash(&fixture).map_err(tree)? } else { "empty".to_owned() };
        let Limits { max_steps, timeout, cost_usd } = read.limits;
        let seen = format!("{seen} {max_steps} {} {}", timeout.as_secs_f64(), cost_usd.unwrap_or(-1.0));
        Ok(Task {
            name: read.name,
            description: read.description,
            workflow: workflow.or(read.workflow),
            prompt: read.prompt,
            limits: read.limits,
            judges: read.judges,
            mock: read.mock,
            dir,
            path: absolute,
            hash,
            seen,
            is_archive,
            _held: held,
        })
    }

    /// The files that a case begins with; none where it begins with an empty directory.
    pub fn fixture(&self) -> Option<PathBuf> {
        Some(self.dir.join(FIXTURE)).filter(|fixture| fixture.is_dir())
    }

    /// Whether it is one file, which is unpacked while it is needed.
    pub fn is_archive(&self) -> bool {
        self.is_archive
    }
}

/// The task in a directory, checked; problems are told of `found`.
fn read_in(dir: &Path, found: &Path) -> Result<read::Read, TaskError> {
    let source = |source| TaskError::NoTask { path: found.to_owned(), file: FILE, source };
    let text = place::read_text(&dir.join(FILE)).map_err(source)?;
    let read =
        read::task(&text, dir).map_err(|problems| TaskError::Invalid { path: found.join(FILE), problems })?;
    let fixture = dir.join(FIXTURE);
    if place::is_there(&fixture) {
        tree::check(&fixture).map_err(|source| TaskError::Tree { path: found.to_owned(), source })?;
    }
    Ok(read)
}

/// A copy of a task, and what holds it.
fn copied(dir: &Path, scratch: &Path) -> Result<(TempDir, PathBuf), TreeError> {
    let failed = |source| TreeError::Io { path: scratch.to_owned(), source };
    uwf_engine::home::make_private(scratch).map_err(failed)?;
    let held = TempDir::with_prefix_in("task-", scratch).map_err(failed)?;
    let copy = held.path().join("task");
    tree::copy(dir, &copy)?;
    Ok((held, copy))
}

#[cfg(test)]
mod tests;
