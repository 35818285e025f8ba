//! What the loop tells of itself while it runs, for people and for event streams.
//!
//! Apart because several listen (the progress on stderr, `--events`, traces) and none is known here. What is told is
//! free of secrets.

use std::time::Duration;

use crate::budget::Use;
use crate::prices::Usd;
use crate::provider::Progress;
use crate::provider::message::{Kind, TokenUsage, ToolCall};

/// What happens, told as it happens.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// No edge prompt was given and the moderator has none for this role: the thread's task serves.
    NoEdgePrompt,
    /// The run begins.
    RunStarted {
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
    },
    /// An interrupted run goes on.
    Continued {
        /// How many turns of the model are done.
        turns: u64,
    },
    /// The model is asked.
    TurnStarted {
        /// Which turn, from 1.
        number: u64,
    },
    /// Something arrives from the provider.
    Progress(Progress<'a>),
    /// A turn of the model is complete.
    Turn {
        /// Which, from 1.
        number: u64,
        /// How long it took.
        took: Duration,
        /// The tools it asks for.
        calls: &'a [ToolCall],
        /// Its tokens, where told.
        usage: Option<TokenUsage>,
        /// What it cost, where prices are known.
        cost: Option<Usd>,
        /// Why the endpoint stopped, in its own word.
        finish_reason: Option<&'a str>,
    },
    /// A tool begins.
    ToolStarted {
        /// The call.
        call: &'a ToolCall,
        /// Its arguments, to be shown.
        arguments: &'a str,
    },
    /// A tool has run.
    Tool {
        /// The call.
        call: &'a ToolCall,
        /// One line: what was done, on what.
        title: &'a str,
        /// Whether it could not be done, or a command ended otherwise than with exit code 0.
        failed: bool,
        /// The command's exit code.
        exit_code: Option<i32>,
        /// How long it took.
        took: Duration,
    },
    /// A limit is near; the model is told.
    Near(Use),
    /// Old results are left out of the requests from here on.
    LeftOut {
        /// How many.
        results: usize,
    },
    /// The model was told something by our side.
    Said(Kind),
    /// Something is amiss that people should know; the run goes on.
    Warned(&'a str),
    /// Time passes.
    Tick,
    /// The run is over.
    RunFinished {
        /// The step, where one was recorded.
        step: Option<&'a str>,
        /// How it ended: the answer's `$status`, or `error`.
        status: &'a str,
        /// Where it failed: as the failed step's `phase`, or `cancelled`.
        phase: Option<&'a str>,
        /// Why it failed.
        error: Option<&'a str>,
        /// Completions.
        turns: u64,
        /// Input and output tokens together.
        tokens: u64,
        /// What it cost, where prices are known.
        cost: Option<Usd>,
    },
}
