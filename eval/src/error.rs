//! What can be wrong with evaluations and their records.

use thiserror::Error;
use uwf_engine::ThreadError;
use uwf_store::{Hash, StoreError};

/// What can be wrong with evaluations and their records.
#[derive(Debug, Error)]
pub enum EvalError {
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread cannot be read or begun.
    #[error(transparent)]
    Thread(#[from] ThreadError),
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

impl EvalError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            EvalError::Store(error) => uwf_engine::thread::store_hint(error),
            EvalError::Thread(error) => error.hint(),
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
