//! The library that programs use: an agent as a value, its runs as futures.
//!
//! Apart from the command lines' way in (`settings`, `role_run`), of which it is one more user: the same loop, corrections,
//! budgets, journal and sandbox. What is here decides nothing of these.

mod agent;
mod environment;
mod error;
mod model;
mod play;
mod report;
mod role;
mod run;
mod schema;
#[cfg(test)]
mod tests;
mod tool;
mod workspace;

pub use self::agent::Agent;
pub use self::error::AgentError;
pub use self::model::{BoxError, Model, Provider, Reply};
pub use self::report::{AnswerAttempt, Report, Run};
pub use self::tool::Tool;
pub use self::workspace::Workspace;
pub use crate::failure::FailedAt;
