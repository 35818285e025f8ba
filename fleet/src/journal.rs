//! The lines of a step that is going on, at the remote, so that another machine goes on inside of the step.
//!
//! A worker gives each step a socket ([`Keeper`]), by which the agent asks to keep its journal before anything in it has an
//! effect. The worker reads the new lines from the journal's file, puts the nodes that they name, and then the lines
//! ([`Stream`]), in one statement with the fence. Whoever claims the thread next writes them into files of its own
//! ([`restore`]), and the agent goes on as after any interruption.

mod keeper;
mod lines;
mod restore;
mod rows;
mod stream;
#[cfg(test)]
mod tests;

pub use self::keeper::Keeper;
pub use self::restore::{Restored, restore};
pub use self::rows::{Piece, append, forget_attempt};
pub use self::stream::Stream;

use uwf_engine::journals::JournalName;

use crate::FleetError;

fn malformed(name: &JournalName, why: impl Into<String>) -> FleetError {
    FleetError::Malformed { what: format!("journal {name}"), why: why.into() }
}
