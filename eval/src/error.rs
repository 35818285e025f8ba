//! What can be wrong with evaluations and their records.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use uwf_engine::ThreadError;
use uwf_engine::export::ExportError;
use uwf_snapshot::SnapshotError;
use uwf_store::{Hash, StoreError};

use crate::run::PlanError;
use crate::task::TreeError;

/// What can be wrong with evaluations and their records.
#[derive(Debug, Error)]
pub enum EvalError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread cannot be read or begun.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// A workspace cannot be captured, or not be made as it was.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A directory cannot be copied.
    #[error("a workspace cannot be made")]
    Tree(#[from] TreeError),
    /// The disk refuses.
    #[error("cannot use {}", path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A directory's name is no text, as nodes hold it.
    #[error("the directory's name is not UTF-8: {}", path.display())]
    NotText {
        /// The directory.
        path: PathBuf,
    },
    /// Another program runs the evaluation.
    #[error("evaluation {name} is being run just now")]
    Busy {
        /// Its name.
        name: String,
    },
    /// An evaluation was begun otherwise.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It cannot be taken to another store, or a file holds none that can be taken in; nothing was changed then.
    #[error(transparent)]
    Export(Box<ExportError>),
    /// There is an evaluation of this name.
    #[error("there is an evaluation {name} already")]
    Taken {
        /// Its name.
        name: String,
    },
    /// Nothing can be called so.
    #[error("an evaluation cannot be called `{name}`")]
    BadName {
        /// What was asked for.
        name: String,
    },
    /// What was run elsewhere is not gone on with here.
    #[error("evaluation {name} was imported: its cases are not run here")]
    Imported {
        /// Its name.
        name: String,
    },
    /// Only what is finished can be judged again, or exported.
    #[error("evaluation {name} is not finished")]
    Unfinished {
        /// Its name.
        name: String,
    },
    /// A task asks for something else by now than what threads were run for.
    #[error("task {task} has another {differs} than the threads that would be judged by it")]
    OtherTask {
        /// The task.
        task: String,
        /// `fixture` or `prompt`.
        differs: &'static str,
    },
    /// This program is to stop.
    #[error("stopped by a signal")]
    Stopped,
    /// There is no evaluation of this name.
    #[error("there is no evaluation {name}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A node is not what it must be.
    #[error("node {hash} is no record of an evaluation")]
    Malformed {
        /// The node.
        hash: Hash,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A node is of another type.
    #[error("node {hash} is no record of an evaluation: its type is {type_}")]
    OtherType {
        /// The node.
        hash: Hash,
        /// Its type.
        type_: Hash,
    },
}

impl From<ExportError> for EvalError {
    fn from(error: ExportError) -> EvalError {
        EvalError::Export(Box::new(error))
    }
}

impl EvalError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            EvalError::Store(error) => uwf_engine::thread::store_hint(error),
            EvalError::Thread(error) => error.hint(),
            EvalError::Export(error) => error.hint(),
            EvalError::Taken { .. } => Some("take it in by another name with --as NAME".to_owned()),
            EvalError::BadName { .. } => Some("letters, digits, `.`, `_` and `-` alone".to_owned()),
            EvalError::Busy { .. } => Some("wait for it, or end it: it goes on where it stopped".to_owned()),
            EvalError::Imported { .. } => {
                Some("run its tasks here, by another name: uwf-eval run TASK --name NAME".to_owned())
            }
            EvalError::Unfinished { name } => Some(format!("go on with: uwf-eval run --resume {name}")),
            EvalError::OtherTask { .. } => {
                Some("judge them by the task as it was, or run it as it is: uwf-eval run TASK".to_owned())
            }
            EvalError::Plan(_) => Some("choose another --name, or type what it was begun with".to_owned()),
            EvalError::Unknown { known, .. } if known.is_empty() => {
                Some("begin one with: uwf-eval run TASK".to_owned())
            }
            EvalError::Unknown { name, known } => {
                let known = uwf_store::suggest::sorted(name, known);
                let told: Vec<&str> = known.iter().take(10).map(AsRef::as_ref).collect();
                Some(format!("there is: {}", told.join(", ")))
            }
            _ => None,
        }
    }
}
