//! Where cases work: `<root>/<evaluation>/<task>/<repeat>`, each a copy of its task's fixture.
//!
//! The root is not below `$UWF_HOME`, which no command of a model's sees.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uwf_engine::home::make_private;
use uwf_snapshot::{CaptureCache, Options, capture, checkout};
use uwf_store::{Hash, Store};

use super::Runner;
use crate::EvalError;
use crate::task::{Task, copy};

/// The directory of an evaluation.
pub fn directory(root: &Path, evaluation: &str) -> PathBuf {
    root.join(evaluation)
}

/// The workspace of a case.
pub(super) fn of_case(root: &Path, evaluation: &str, (task, repeat): (&str, u32)) -> PathBuf {
    directory(root, evaluation).join(task).join(repeat.to_string())
}

/// The state that the cases of a task begin with.
pub(super) fn capture_fixture(runner: &Runner<'_>, task: &Task) -> Result<Hash, EvalError> {
    if let Some(fixture) = task.fixture() {
        return captured(runner.store, &fixture);
    }
    let empty =
        tempfile::tempdir().map_err(|source| EvalError::Disk { path: PathBuf::from("/tmp"), source })?;
    captured(runner.store, empty.path())
}

/// What is in a directory, in the store.
pub(super) fn captured(store: &Store, dir: &Path) -> Result<Hash, EvalError> {
    Ok(capture(dir, &Options::default(), &mut CaptureCache::in_memory(), store)?.tree)
}

/// Makes the workspace of a case as its task has it, in the place of whatever is there. It is whole or not there.
pub(super) fn make(task: &Task, workspace: &Path) -> Result<(), EvalError> {
    made(workspace, &mut |unfinished| match task.fixture() {
        Some(fixture) => copy(&fixture, unfinished).map_err(EvalError::from),
        None => disk(fs::create_dir(unfinished), unfinished),
    })
}

/// Makes it as it once was.
pub(super) fn make_like(store: &Store, tree: &Hash, workspace: &Path) -> Result<(), EvalError> {
    made(workspace, &mut |unfinished| {
        disk(fs::create_dir(unfinished), unfinished)?;
        checkout(store, tree, unfinished)?;
        Ok(())
    })
}

fn made(workspace: &Path, make: &mut dyn FnMut(&Path) -> Result<(), EvalError>) -> Result<(), EvalError> {
    let parent = workspace.parent().unwrap_or(workspace);
    disk(make_private(parent), parent)?;
    let unfinished = workspace.with_extension("new");
    for path in [&unfinished, &workspace.to_owned()] {
        remove(path)?;
    }
    make(&unfinished)?;
    disk(fs::rename(&unfinished, workspace), workspace)
}

/// Removes a directory with all that is in it, if it is there.
pub(crate) fn remove(dir: &Path) -> Result<(), EvalError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => disk(done, dir),
    }
}

fn disk<T>(done: io::Result<T>, path: &Path) -> Result<T, EvalError> {
    done.map_err(|source| EvalError::Disk { path: path.to_owned(), source })
}
