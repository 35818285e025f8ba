//! Why a run gave no answer.

use thiserror::Error;
use uwf_engine::ThreadError;
use uwf_store::StoreError;

use crate::confinement::ConfinementError;
use crate::failure::FailedAt;
use crate::role_run::RunError;
use crate::settings::SettingsError;

/// Why there is no answer. What happened up to then is in the report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The run was played to its end and failed; it is recorded as a failed attempt.
    #[error("{why}")]
    Failed {
        /// Where.
        at: FailedAt,
        /// Why, in words.
        why: String,
    },
    /// The model needs something that only a person can give.
    #[error("the model asks for a person: {question}")]
    Asks {
        /// What it asks.
        question: String,
    },
    /// The type of the answer makes no schema that a model could be given.
    #[error("the answer's type makes no usable schema: {0}")]
    Schema(String),
    /// A tool that cannot be offered: a name that is taken or not a name, arguments that are no object.
    #[error("the tool `{name}` cannot be offered: {why}")]
    Tool {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no interrupted run of this thread.
    #[error("the thread {0} has no interrupted run that could go on")]
    NothingToResume(String),
    /// The thread is being run by somebody else, or its journal cannot be read.
    #[error("{0}")]
    Journal(String),
    /// What was set does not go together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The sandbox cannot be made.
    #[error(transparent)]
    Confinement(#[from] ConfinementError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The run could not begin, or stopped before its end: a recorded one can be resumed.
    #[error("{run}{}", because(.run))]
    Run {
        /// Why.
        #[from]
        run: RunError,
    },
    /// The system refused something that a run needs: a thread, a directory.
    #[error("cannot {what}: {source}")]
    System {
        /// What.
        what: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A bug of ours, or of a model or tool that panicked.
    #[error("internal error: {0}")]
    Internal(String),
}

fn because(error: &RunError) -> String {
    std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default()
}
