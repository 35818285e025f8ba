//! The ReAct runtime that plays one role of a workflow.

mod ask;
mod budget;
pub mod cli;
mod confinement;
mod conversation;
mod correct;
mod frontmatter;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod journal;
mod mock_server;
mod narrowing;
mod outputs;
mod provider;
mod react;
mod reading;
mod record;
mod resume;
mod role_run;
mod secrets;
mod settings;
mod signals;
