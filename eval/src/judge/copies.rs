//! Copies of the workspace for judges that run: what one changes, the next does not see.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use uwf_engine::home::make_private;

use super::Subject;
use crate::EvalError;
use crate::task::copy;

/// Where copies of one case's workspace are made; gone with this.
pub(super) struct Copies<'a> {
    scratch: TempDir,
    workspace: &'a Path,
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
        Ok(Copies { scratch, workspace: subject.workspace })
    }

    /// A fresh one.
    pub(super) fn make(&self) -> Result<Copied, EvalError> {
        let failed = |source| EvalError::Disk { path: self.scratch.path().to_owned(), source };
        let dir = TempDir::new_in(self.scratch.path()).map_err(failed)?;
        let copied = Copied { dir };
        copy(self.workspace, &copied.workspace())?;
        std::fs::create_dir(copied.beside()).map_err(failed)?;
        Ok(copied)
    }
}
