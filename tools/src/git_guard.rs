//! Git's hooks, configuration and unfinished work: what a command adds to them that would run a program later, outside
//! of any confinement, is taken back.
//!
//! The git directories of the workspace (see [`places`]) are found before the first change and again at the end; after
//! each command the known ones are compared with what they held at the start. Everything but hooks, program-running
//! variables, steps and strategies stands: a new remote, a tracked branch, a rebase that is not over. It never writes
//! outside of the workspace and the git directories that were there at the start, and never looks longer than it may:
//! what it did not get to is told like what it could not undo.

pub(crate) mod config;
mod copies;
mod dir;
mod hooks;
mod patience;
pub(crate) mod places;
mod report;
mod stamp;
mod start;
mod state;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::seen::lock;
use crate::tool::Cancel;
use dir::{Content, Dir};
use patience::Patience;
pub(crate) use report::Report;
use start::Start;

/// For all git directories, in the beginning and at the end: enough for some millions of directories.
const ALL: Duration = Duration::from_secs(60);
/// For those that are known, after a command.
const KNOWN: Duration = Duration::from_secs(20);

/// Watches the git directories of one workspace.
pub(crate) struct GitGuard {
    /// Absolute, free of symlinks.
    root: PathBuf,
    /// Commands may do as they like.
    allowed: bool,
    /// Configuration files, and the copies of them that commands change.
    copies: Vec<(PathBuf, PathBuf)>,
    /// From the first change on.
    start: Mutex<Option<Start>>,
}

impl GitGuard {
    /// `root` is absolute and free of symlinks. Nothing is looked at yet.
    pub(crate) fn new(root: &Path, allowed: bool, copies: &[(PathBuf, PathBuf)]) -> Self {
        Self { root: root.to_owned(), allowed, copies: copies.to_vec(), start: Mutex::default() }
    }

    /// To be called before each call that may change something: the first time it notes what there is. False when it
    /// was not to be ended: then nothing may be changed.
    pub(crate) fn begin(&self, cancel: &Cancel) -> bool {
        let mut start = lock(&self.start);
        if let Some(start) = start.as_mut() {
            start.renew();
            return true;
        }
        if self.allowed {
            return true;
        }
        let begun = Start::new(&self.root, &self.copies, &Patience::new(ALL, cancel));
        if cancel.is_cancelled() {
            return false;
        }
        *start = Some(begun);
        true
    }

    /// After a command: takes back what it did to the git directories that are known, and says what that was.
    pub(crate) fn check(&self) -> Vec<String> {
        let cancel = Cancel::default();
        let mut start = lock(&self.start);
        let Some(start) = start.as_mut() else { return Vec::new() };
        let report = start.check(&Patience::new(KNOWN, &cancel));
        let stands = !report.standing().is_empty();
        let mut lines = report.lines();
        if stands {
            lines.push("mend by a command what was not undone: the run fails with it".to_owned());
        }
        lines
    }

    /// The same at the end of the run, with the git directories that are new. Only what stands then stands.
    pub(crate) fn end(&self, cancel: &Cancel) -> Report {
        let start = lock(&self.start).take();
        start.map(|mut start| start.check_all(&Patience::new(ALL, cancel))).unwrap_or_default()
    }
}

/// A run that was cut off ends like any other.
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
