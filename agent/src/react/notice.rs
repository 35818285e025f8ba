//! What a listener of a run is told, be it a person's terminal, an event stream or a collector of spans.
//!
//! Apart because several listen and none is known here. What happens in a run is told as the journal's entry of it, once
//! that is written: no listener knows what is not on disk. Only what is no part of the record has words of its own. All
//! of it is free of secrets.

use std::time::Duration;

use crate::journal::Entry;
use crate::run_state::RunState;

/// One thing that a listener is told.
#[derive(Clone, Debug)]
pub enum Notice<'a> {
    /// This process has the run: its opening, or what is left of it, is in the journal.
    Opened {
        /// The session, as the journal is called.
        session: &'a str,
        /// The thread.
        thread: &'a str,
        /// The role.
        role: &'a str,
        /// The model's name.
        model: &'a str,
        /// The trace it is a part of, where there is one.
        trace: Option<&'a str>,
        /// How many turns of the model are done, when another process began it.
        resumed: Option<u64>,
    },
    /// Something has happened and is in the journal; and what the run has come to by that.
    Entry(&'a Entry, &'a RunState),
    /// Something passes that is no part of the record.
    Progress(Progress<'a>),
    /// This process leaves the run before its end: another one can go on with it.
    Stopped {
        /// What it has come to.
        state: &'a RunState,
        /// `cancelled` when somebody wanted it so.
        phase: Option<&'static str>,
        /// Why.
        error: &'a str,
    },
}

/// What passes and is not kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress<'a> {
    /// No edge prompt was given and the moderator has none for this role: the thread's task serves.
    NoEdgePrompt,
    /// A piece of the model's text; after a retry it begins anew.
    Text(&'a str),
    /// A piece of its reasoning.
    Reasoning(&'a str),
    /// An attempt failed and is tried again after `wait`.
    Retry {
        /// The attempt that failed, from 1.
        attempt: u32,
        /// How long until the next one.
        wait: Duration,
        /// Why, in words.
        reason: &'a str,
    },
    /// Time passes.
    Tick,
}

/// How a run ended, or was left.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd<'a> {
    /// The step, where one was recorded.
    pub step: Option<&'a str>,
    /// The answer's `$status`, or `error`.
    pub status: &'a str,
    /// Where it failed: as the failed step's `phase`, or `cancelled`.
    pub phase: Option<&'a str>,
    /// Why it failed.
    pub error: Option<&'a str>,
    /// What it has come to.
    pub state: &'a RunState,
}

impl<'a> RunEnd<'a> {
    /// The end, if the notice is of one. The answer to a question ends no run.
    pub(crate) fn of(notice: &Notice<'a>) -> Option<RunEnd<'a>> {
        match *notice {
            Notice::Entry(Entry::Replied { reply, .. }, state) => {
                let (step, output) = (Some(reply["stepHash"].as_str()?), &reply["frontmatter"]);
                let phase = output["phase"].as_str().filter(|_| reply["isError"] == true);
                let (status, error) = (output["$status"].as_str(), reply["errorMessage"].as_str());
                Some(RunEnd { step, status: status.unwrap_or_default(), phase, error, state })
            }
            Notice::Stopped { state, phase, error } => {
                Some(RunEnd { step: None, status: "error", phase, error: Some(error), state })
            }
            _ => None,
        }
    }
}
