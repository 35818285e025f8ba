//! The ReAct runtime that plays one role of a workflow.

mod ask;
mod budget;
pub mod cli;
mod confinement;
mod conversation;
mod correct;
mod course;
mod doom;
mod events;
mod extract;
mod frontmatter;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod journal;
mod mock_server;
mod narrowing;
#[cfg(feature = "otel")]
mod otel;
mod outputs;
mod prices;
mod provider;
mod react;
mod reading;
mod record;
mod resume;
mod role_run;
mod secrets;
mod settings;
mod signals;
mod trace;
mod window;
mod workers;
