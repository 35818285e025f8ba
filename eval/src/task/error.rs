//! Why there is no task.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::tree::TreeError;

/// Why there is no task.
#[derive(Debug, Error)]
pub enum TaskError {
    /// Nothing is there.
    #[error("there is no task {}", path.display())]
    Missing {
        /// What was asked for.
        path: PathBuf,
        /// The disk's reason.
        source: io::Error,
    },
    /// What is there has no readable `task.yaml`.
    #[error("{} is no task: {file} cannot be read", path.display())]
    NoTask {
        /// What was asked for.
        path: PathBuf,
        /// The file.
        file: &'static str,
        /// The disk's reason.
        source: io::Error,
    },
    /// `task.yaml` says something that cannot be.
    #[error("{} has {}{}", path.display(), count(problems), lines(problems))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// At least one, in the order of the text.
        problems: Vec<Problem>,
    },
    /// The fixture, or another file of the task, cannot be used.
    #[error("the files of task {} cannot be used", path.display())]
    Tree {
        /// The task.
        path: PathBuf,
        /// Why.
        source: TreeError,
    },
    /// The file is no archive of a task.
    #[error("{} cannot be unpacked: {why}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// What is wrong in a line of `task.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

fn count(problems: &[Problem]) -> String {
    match problems.len() {
        1 => "a problem".to_owned(),
        many => format!("{many} problems"),
    }
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("\n  line {}: {}", problem.line, problem.message)).collect()
}

impl TaskError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            TaskError::Missing { .. } => Some(
                "name a directory with a task.yaml, or an archive of one; `uwf-eval init DIR` makes one"
                    .into(),
            ),
            TaskError::NoTask { .. } => Some("`uwf-eval init DIR` makes a task that runs at once".to_owned()),
            TaskError::Archive { .. } => Some(
                "make it with: tar czf TASK.tgz -C TASK . (directories and plain files alone)".to_owned(),
            ),
            TaskError::Invalid { .. } | TaskError::Tree { .. } => None,
        }
    }
}
