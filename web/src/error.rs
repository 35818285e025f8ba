//! Why there is no page.

use thiserror::Error;
use uwf_engine::workflow::WorkflowError;
use uwf_engine::{ThreadError, ThreadId};
use uwf_eval::EvalError;
use uwf_store::StoreError;

/// Why there is no page, or why what was asked for was not done.
#[derive(Debug, Error)]
pub enum WebError {
    /// Nothing has that address.
    #[error("there is no {what}")]
    Missing {
        /// What was looked for.
        what: String,
    },
    /// The request is none that this server sent a page for.
    #[error("{why}")]
    Refused {
        /// Why, in words.
        why: &'static str,
    },
    /// What was asked for could not be done.
    #[error("{why}")]
    Undone {
        /// Why, in words.
        why: String,
        /// Where it was to be done.
        thread: ThreadId,
    },
    /// The thread, or a node of it, cannot be read.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The evaluation cannot be read.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
    /// The workflow cannot be read.
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
}

impl WebError {
    pub(crate) fn missing(what: impl Into<String>) -> WebError {
        WebError::Missing { what: what.into() }
    }

    /// The status of the response.
    pub(crate) fn status(&self) -> u16 {
        match self {
            WebError::Missing { .. }
            | WebError::Thread(ThreadError::Unknown { .. })
            | WebError::Evaluation(EvalError::Unknown { .. }) => 404,
            WebError::Refused { .. } => 403,
            WebError::Undone { .. } => 409,
            WebError::Thread(_) | WebError::Store(_) | WebError::Evaluation(_) | WebError::Workflow(_) => 500,
        }
    }

    /// What it says, with its causes.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.to_string()];
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            lines.push(error.to_string());
            cause = error.source();
        }
        lines.dedup();
        lines
    }
}
