//! A directory to put workflow files into, and to take out of what errors say.

use std::fs;
use std::path::{Path, PathBuf};

use uwf_store::Store;

use crate::workflow::{WorkflowError, load};

pub(in crate::workflow) struct Files(tempfile::TempDir);

impl Files {
    pub(in crate::workflow) fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    pub(in crate::workflow) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(in crate::workflow) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(in crate::workflow) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// All that is wrong with a file, one problem a line and its hint below; "" if nothing is.
    pub(in crate::workflow) fn problems(&self, name: &str) -> String {
        let problems = match load(&self.path(name)) {
            Ok(_) => Vec::new(),
            Err(WorkflowError::Invalid(invalid)) => invalid.problems,
            Err(other) => panic!("{other}"),
        };
        let mut told = String::new();
        for problem in problems {
            told.push_str(&format!("{problem}\n"));
            told.extend(problem.hint.iter().map(|hint| format!("    {hint}\n")));
        }
        told.replace(&format!("{}/", self.root().display()), "")
    }
}

pub(in crate::workflow) fn fix_bug() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("workflow/testdata/workflows/fix-bug.yaml")
}

pub(in crate::workflow) fn store(files: &Files) -> Store {
    crate::open_store(&files.path("ocas"), || 1_700_000_000_000).unwrap()
}
