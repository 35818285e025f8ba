//! Git's hooks, configuration and unfinished work: what a command adds to them that would run a program later, outside
//! of any confinement, is taken back.
//!
//! The git directories of the workspace (see [`repositories`]) are found before the first change and again at the end; after
//! each command the known ones are compared with what they held at the start. Everything but hooks, program-running
//! variables, steps and strategies stands: a new remote, a tracked branch, a rebase that is not over. It never writes
//! outside of the workspace and the git directories that were there at the start, and never looks longer than it may:
//! what it did not get to is told like what it could not undo.

mod baseline;
pub(crate) mod config;
mod copies;
mod deadline;
mod dir;
mod hooks;
mod report;
pub(crate) mod repositories;
mod sequencer;
mod stamp;
mod walk;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::cancel::Cancel;
use crate::lock::lock;
use baseline::Baseline;
use deadline::CheckDeadline;
use dir::{Content, Dir};
pub use report::GitReport;
pub(crate) use report::told;

/// For all git directories, in the beginning and at the end: enough for some millions of directories.
const ALL: Duration = Duration::from_secs(60);
/// For those that are known, after a command.
const KNOWN: Duration = Duration::from_secs(20);

/// Watches the git directories of one workspace. Dropped, it takes back what is left to be taken back.
pub struct GitGuard {
    /// Absolute, free of symlinks.
    root: PathBuf,
    /// Whether commands may change which programs git runs.
    allowed: bool,
    /// Configuration files, and the copies of them that commands change.
    copies: Vec<(PathBuf, PathBuf)>,
    /// What the git directories held before the first change; none until then.
    baseline: Mutex<Option<Baseline>>,
}

impl GitGuard {
    /// `root` is absolute and free of symlinks; where programs of git are `allowed`, nothing is watched. `copies` are files
    /// of git's configuration with those that are changed in their place. Nothing is looked at yet.
    pub fn new(root: &Path, allowed: bool, copies: &[(PathBuf, PathBuf)]) -> Self {
        Self { root: root.to_owned(), allowed, copies: copies.to_vec(), baseline: Mutex::default() }
    }

    /// To be called before each call that may change something: the first time it notes what there is. False when it
    /// was not to be ended: then nothing may be changed.
    pub fn begin(&self, cancel: &Cancel) -> bool {
        let mut baseline = lock(&self.baseline);
        if let Some(baseline) = baseline.as_mut() {
            baseline.renew();
            return true;
        }
        if self.allowed {
            return true;
        }
        let begun = Baseline::new(&self.root, &self.copies, &CheckDeadline::new(ALL, cancel));
        if cancel.is_cancelled() {
            return false;
        }
        *baseline = Some(begun);
        true
    }

    /// After a command: takes back what it did to the git directories that are known, and says what that was.
    pub(crate) fn check(&self) -> Vec<String> {
        let cancel = Cancel::default();
        let mut baseline = lock(&self.baseline);
        let Some(baseline) = baseline.as_mut() else { return Vec::new() };
        let report = baseline.check(&CheckDeadline::new(KNOWN, &cancel));
        let stands = !report.standing().is_empty();
        let mut lines = report.lines();
        if stands {
            lines.push("repair what was not undone, by a command: the run fails while it stands".to_owned());
        }
        lines
    }

    /// At the end of the run: takes back what commands did to the git directories that are known and to those that are new.
    /// Only what stands in this report stands.
    pub fn end(&self, cancel: &Cancel) -> GitReport {
        let baseline = lock(&self.baseline).take();
        baseline.map(|mut baseline| baseline.check_all(&CheckDeadline::new(ALL, cancel))).unwrap_or_default()
    }
}

impl fmt::Debug for GitGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitGuard").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Takes back what commands did also where [`GitGuard::end`] was not called.
impl Drop for GitGuard {
    fn drop(&mut self) {
        self.end(&Cancel::default());
    }
}

fn read(file: &Path) -> Content {
    let dir = file.parent().and_then(Dir::open);
    dir.zip(file.file_name()).map_or(Content::Missing, |(dir, name)| dir.read(name))
}

fn put(file: &Path, content: &Content) -> std::io::Result<()> {
    let dir = file.parent().and_then(Dir::open);
    let (mut dir, name) = dir.zip(file.file_name()).ok_or(std::io::ErrorKind::NotFound)?;
    dir.put(name, content)
}

#[cfg(test)]
#[path = "git_guard_tests.rs"]
mod tests;
