//! Why a role run gives no reply, for people.

use std::io;

use thiserror::Error;
use uwf_engine::{RoleContext, ThreadError};
use uwf_prompts::PromptError;
use uwf_tools::ToolboxError;

use crate::journal::{FindError, Journal, OutOfOrder};
use crate::mcp::McpError;
use crate::provider::ProviderError;
use crate::react::Stopped;
use crate::record::RecordError;
use crate::settings::SettingsError;
use crate::signals::Signal;

/// Why there is no reply. Whatever happened up to then is in the journal.
#[derive(Debug, Error)]
pub enum RunError {
    /// The thread, the role, or what they refer to.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The settings do not fit the workflow.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The provider cannot be set up.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Tools(#[from] ToolboxError),
    /// An MCP server does not start.
    #[error(transparent)]
    Servers(McpError),
    /// Another process has begun this visit.
    #[error(transparent)]
    Taken(#[from] FindError),
    /// The journal cannot be created, or not be continued.
    #[error("cannot write a journal in {dir}")]
    Journal {
        /// The directory.
        dir: String,
        /// The disk's reason.
        source: io::Error,
    },
    /// An interrupted run cannot go on, since its commands cannot be confined as asked now.
    #[error("the interrupted run cannot go on: {0}")]
    Unconfined(String),
    /// The signal handlers cannot be installed.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// The loop ended without anything that could be recorded.
    #[error("the run of {role} stopped; its journal is {journal}")]
    Stopped {
        /// The role.
        role: String,
        /// The file.
        journal: String,
        /// Why.
        source: Box<Stopped>,
    },
    /// A template did not render: a bug of ours.
    #[error("internal error")]
    Prompt(#[from] PromptError),
    /// What the journal holds makes no run: a bug of ours, since it was looked at when it was found.
    #[error("internal error")]
    Order(#[from] OutOfOrder),
    /// The record cannot be written.
    #[error("the run of {role} is over but not recorded; its journal is {journal}")]
    Unrecorded {
        /// The role.
        role: String,
        /// The file.
        journal: String,
        /// Why.
        source: Box<RecordError>,
    },
}

impl RunError {
    /// Whether the run can be continued as it is.
    pub fn keeps_the_run(&self) -> bool {
        match self {
            RunError::Stopped { source, .. } => {
                matches!(
                    source.as_ref(),
                    Stopped::Interrupted(_) | Stopped::Journal { .. } | Stopped::Keep(_)
                )
            }
            RunError::Unrecorded { .. } => true,
            _ => false,
        }
    }

    /// The signal that ended it, if one did.
    pub fn interrupted_by(&self) -> Option<Signal> {
        match self {
            RunError::Stopped { source, .. } => match source.as_ref() {
                Stopped::Interrupted(signal) => Some(*signal),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a signal ended it.
    pub(super) fn is_interruption(&self) -> bool {
        self.interrupted_by().is_some()
    }

    pub(crate) fn stopped(context: &RoleContext, journal: &Journal, source: Stopped) -> RunError {
        let journal = journal.path().display().to_string();
        RunError::Stopped { role: context.role_name.clone(), journal, source: Box::new(source) }
    }

    pub(crate) fn unrecorded(context: &RoleContext, journal: &Journal, source: RecordError) -> RunError {
        let journal = journal.path().display().to_string();
        RunError::Unrecorded { role: context.role_name.clone(), journal, source: Box::new(source) }
    }
}
