//! Agents that give typed answers: a model, tools confined to a directory, limits, and a record of all that happened.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use uwf_agent::{Agent, Limits, Script};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Invoice {
//!     number: String,
//!     total_cents: u64,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! // Or: Endpoint::new("https://api.example.com/v1", "a-model").key("…")
//! let model = Script::parse("demo", r#"turns: [{content: "---\n$status: done\nnumber: A-7\ntotal_cents: 1250\n---"}]"#)?;
//! let agent = Agent::new(model).limits(Limits { turns: 5, ..Limits::default() });
//! let run = agent.run::<Invoice>("Extract: Invoice A-7, total 12.50").await;
//! println!("{} turns, {:?}", run.report.turns, run.report.cost);
//! assert_eq!(run.answer?.total_cents, 1250);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Tour
//!
//! - [`Agent`]: [`new`](Agent::new) from an [`Endpoint`], a [`Script`] or, by [`Provider::own`], a [`Model`] of the program's;
//!   [`run`](Agent::run) gives a [`Run`]: the answer or an [`AgentError`], and on success and failure alike a [`Report`] with
//!   usage, cost, turns, each [`AnswerAttempt`] at an answer and the run log.
//! - Tools: none by default. [`Workspace`] has the built-in ones in a directory, commands in a sandbox; [`Tool`] is for own ones.
//! - [`Agent::record`] keeps runs as threads that `uwf` shows and [`Agent::resume`] goes on with; [`Agent::play`] plays roles
//!   of a workflow that [`uwf_engine::drive`](mod@uwf_engine::drive) drives.
//! - Runs have a thread each: their futures are `Send`, need no executor in particular, and end the run when dropped.
//!
//! Beside a default clock ([`Agent::clock`]) and `/tmp` for what lives as long as a run, nothing is taken from the surroundings:
//! no environment, no files of configuration. Keys are values.
//!
//! # Answers
//!
//! The model answers with frontmatter, fields in YAML before its text, which every model can write. A struct's fields are
//! these fields, beside `$status: done`; any other type is one field, `answer`; an enum that is tagged by `$status` is the
//! whole of it. The schema of the type is checked first: references are written out, a type within itself three levels
//! deep, and formats and tuples are left out. Then the type itself is read by serde: what it refuses goes back to the model as
//! well, at most two corrections in all. Where these do not help, [`Agent::extractor`] has a model asked in JSON mode, with a
//! response format, for the fields that the text holds.
//!
//! # Map
//!
//! `api` is this page; it and the command line play a role through `role_run`: `conversation` opens it, `react` is the loop
//! over `provider` and `dispatch` (the tools, `fetch` among them), `classify`, `frontmatter`, `correct` and `extract` make an answer of a text,
//! `project` has what the workspace says of itself, `record` writes the nodes, and `stand_alone` moves the head where no engine does. What happens is an entry of `journal`;
//! `run_state` is what entries come to, live and in `resume`; `budget`, `loop_guard` and `context_window` decide from it.
//! `settings`, `permissions`, `prices` and `confinement` say under what, `events`, `trace` and `otel` tell others of it,
//! `external` plays roles by agents of other kinds, `ask` answers questions about a step from its record, `live` reads runs of other processes as they go. `workers`, `call_runtime`, `signals`, `secrets` and `blobs` serve the rest.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

mod additions;
mod api;
mod blobs;
mod budget;
mod call_runtime;
mod classify;
mod conversation;
mod correct;
mod dispatch;
mod extract;
mod fetch;
mod frontmatter;
mod loop_guard;
mod mcp;
mod own_tool;
mod permissions;
mod prices;
mod project;
mod record;
mod secrets;
mod snapshots;
mod usd;

// Public for the programs of this workspace, which find them in `runtime`: the front page is what other programs use.
#[doc(hidden)]
pub mod ask;
#[doc(hidden)]
pub mod confinement;
#[doc(hidden)]
pub mod context_window;
#[doc(hidden)]
pub mod events;
#[doc(hidden)]
pub mod external;
#[doc(hidden)]
pub mod failure;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod isolated;
#[doc(hidden)]
pub mod journal;
#[doc(hidden)]
pub mod live;
#[doc(hidden)]
pub mod mock_server;
#[cfg(feature = "otel")]
#[doc(hidden)]
pub mod otel;
#[doc(hidden)]
pub mod provider;
#[doc(hidden)]
pub mod react;
#[doc(hidden)]
pub mod replay;
#[doc(hidden)]
pub mod resume;
#[doc(hidden)]
pub mod role_run;
#[doc(hidden)]
pub mod run_state;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod signals;
#[doc(hidden)]
pub mod stand_alone;
#[doc(hidden)]
pub mod trace;
#[doc(hidden)]
pub mod workers;

pub use api::*;
pub use budget::Limits;
pub use journal::Entry;
pub use project::{ProjectFile, ProjectWords, Skill, ToldFile};
pub use provider::Script;
pub use provider::message::{
    Message, MessageKind, Request, Sampling, Speaker, TokenUsage, ToolCall, ToolChoice,
};
#[doc(hidden)]
pub use record::AGENT;
pub use settings::Endpoint;
pub use usd::Usd;
pub use uwf_tools::sandbox::Level;

/// How the programs of this workspace play roles; it changes with them, and other programs need none of it but the shape of
/// [`events`](mod@runtime::events).
///
/// From what was typed, environment and files come [`Settings`](runtime::settings::Settings), from these a
/// [`Confinement`](runtime::confinement::Confinement). With store, directories, clock and signals they are a
/// [`RunContext`](runtime::role_run::RunContext), in which [`role_run`](runtime::role_run::role_run) plays a role or goes on
/// with what [`resume`](mod@runtime::resume) has found, and [`ask`](runtime::ask::ask) answers a question to a step. Who
/// watches is given each [`Notice`](runtime::react::Notice).
pub mod runtime {
    #[cfg(feature = "otel")]
    #[doc(inline)]
    pub use crate::otel;
    #[doc(inline)]
    pub use crate::{
        ask, confinement, context_window, events, external, failure, journal, live, mock_server, provider,
        react, replay, resume, role_run, run_state, settings, signals, stand_alone, trace, workers,
    };
}
