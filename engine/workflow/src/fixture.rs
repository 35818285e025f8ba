//! A directory of texts to read workflows from, and to take out of what errors say. Only compiled for tests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::{CheckedWorkflow, Diagnostic, Invalid, WorkflowText};

/// A good workflow, of which the checks break one part at a time.
pub(crate) const FIX_BUG: &str = include_str!("../testdata/workflows/fix-bug.yaml");
/// A workflow with every kind of edge.
pub(crate) const FLOW: &str = include_str!("../testdata/workflows/flow.yaml");

/// A workflow with both forms of a graph, and conditions in both.
#[cfg(feature = "conditions")]
pub(crate) const CONDITIONS: &str = include_str!("../testdata/workflows/conditions.yaml");

/// A workflow of one text.
pub(crate) fn checked(text: &str) -> CheckedWorkflow {
    let files = Files::new();
    files.write("w.yaml", text);
    files.read("w.yaml").unwrap()
}

#[derive(Default)]
pub(crate) struct Files(RefCell<BTreeMap<PathBuf, String>>);

impl Files {
    pub(crate) fn new() -> Files {
        Files::default()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.0.borrow_mut().insert(PathBuf::from(name), text.to_owned());
    }

    pub(crate) fn read(&self, name: &str) -> Result<CheckedWorkflow, Invalid> {
        let open = |path: &Path| {
            self.0.borrow().get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        let path = Path::new(name);
        let text = open(path).unwrap();
        crate::read(&WorkflowText { text: &text, called: path, path, directory: Path::new(""), open: &open })
    }

    /// All that is wrong with a file, one problem a line and its hint below; "" if nothing is.
    pub(crate) fn problems(&self, name: &str) -> String {
        self.read(name).map_or_else(|invalid| told(&invalid.problems), |_| String::new())
    }

    /// The warnings of a good file, as text.
    pub(crate) fn warnings(&self, name: &str) -> String {
        told(&self.read(name).unwrap().warnings)
    }
}

fn told(problems: &[Diagnostic]) -> String {
    let mut told = String::new();
    for problem in problems {
        told.push_str(&format!("{problem}\n"));
        told.extend(problem.hint.iter().map(|hint| format!("    {hint}\n")));
    }
    told
}
