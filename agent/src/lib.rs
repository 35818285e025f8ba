//! The ReAct runtime that plays one role of a workflow.
//!
//! It prints nothing, reads no environment and installs no handler of signals: programs do, and pass values in. What they
//! start with is [`settings::Settings`], [`confinement::Confinement`] and a [`role_run::Site`]; [`role_run::role_run`] plays
//! the role, [`ask::ask`] answers a question about a step that is over. Start reading there: every other module is one of
//! their stations.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

mod additions;
mod api;
pub mod ask;
mod budget;
pub mod confinement;
mod conversation;
mod correct;
mod dispatch;
pub mod events;
mod extract;
pub mod failure;
mod frontmatter;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod journal;
mod loop_guard;
pub mod mock_server;
mod narrowing;
#[cfg(feature = "otel")]
pub mod otel;
mod outputs;
mod prices;
pub mod provider;
pub mod react;
mod reading;
pub mod record;
pub mod resume;
pub mod role_run;
pub mod run_state;
mod secrets;
pub mod settings;
pub mod signals;
pub mod trace;
mod usd;
pub mod window;
pub mod workers;

pub use api::*;
pub use budget::Limits;
pub use journal::Entry;
pub use provider::Script;
pub use provider::message::{Message, Request, Sampling, TokenUsage};
pub use settings::Endpoint;
pub use usd::Usd;
pub use uwf_tools::sandbox::Level;
