//! Copies of the workspace for judges that run: what one changes, the next does not see.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use uwf_engine::home::make_private;

use super::{Silent, Subject};
use crate::EvalError;
use crate::task::{FIXTURE, TreeError, copy_left};

/// Where copies of one case's workspace are made; gone with this.
pub(super) struct Copies<'a> {
    scratch: TempDir,
    workspace: &'a Path,
    fixture: PathBuf,
}

/// A copy, with a directory beside it.
pub(super) struct Copied {
    dir: TempDir,
}

impl Copied {
    /// The copy of the workspace.
    pub(super) fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    /// Where further files for the judge are.
    pub(super) fn beside(&self) -> PathBuf {
        self.dir.path().join("record")
    }
}

impl<'a> Copies<'a> {
    pub(super) fn new(root: &Path, subject: &Subject<'a>) -> Result<Copies<'a>, EvalError> {
        let failed = |source| EvalError::Disk { path: root.to_owned(), source };
        make_private(root).map_err(failed)?;
        let scratch = tempfile::Builder::new().prefix(".judge-").tempdir_in(root).map_err(failed)?;
        Ok(Copies { scratch, workspace: subject.workspace, fixture: subject.task.join(FIXTURE) })
    }

    /// A fresh one. That a workspace is such that it cannot be copied is an error of the judge that wants it copied.
    pub(super) fn make(&self) -> Result<Copied, Silent> {
        self.of(self.workspace)
    }

    /// The same of what the thread began with: the files of its task, or an empty directory.
    pub(super) fn begin(&self) -> Result<Copied, Silent> {
        self.of(&self.fixture)
    }

    fn of(&self, from: &Path) -> Result<Copied, Silent> {
        let failed = |source| EvalError::Disk { path: self.scratch.path().to_owned(), source };
        let dir = TempDir::new_in(self.scratch.path()).map_err(failed)?;
        let copied = Copied { dir };
        let made = match from.is_dir() {
            true => copy_left(from, &copied.workspace()),
            false => Ok(std::fs::create_dir(copied.workspace()).map_err(failed)?),
        };
        made.map_err(|error| match &error {
            TreeError::Io { source, .. } if is_full(source) => Silent::Broken(error.into()),
            TreeError::Io { path, source } => {
                Silent::Error(format!("the workspace cannot be copied: {}: {source}", path.display()))
            }
            _ => Silent::Error(format!("the workspace cannot be copied: {error}")),
        })?;
        std::fs::create_dir(copied.beside()).map_err(failed)?;
        Ok(copied)
    }
}

/// Whether the disk refuses whatever is written.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}
