//! Agents of other kinds as data: any command-line agent that a definition describes plays roles as `uwf-builtin` does.
//!
//! | module | what it is |
//! |---|---|
//! | `definition` | what is known of an agent: how it is called, how its reply is read, what it needs |
//! | `argv` | the command line of a call; pure |
//! | `reply` | what its events tell, and turns made of that; pure |
//! | `confined` | what it may reach where the kernel keeps it in |
//! | `process` | one call: a process, heard line by line |
//! | `listener` | what is heard of a call, read as its definition says |
//! | `sessions` | the sessions that can be gone on with |
//! | `visit` | a visit of a role, from the opening to the record |
//! | `ask` | questions to a step that is over |
//! | `found` | whether it is there, and which version |
//!
//! Modules import downwards. What a role is told, the judge of its answer, the journal and the record are those of every run.

mod argv;
pub mod ask;
mod confined;
mod definition;
mod found;
mod listener;
mod process;
mod reply;
mod sessions;
mod visit;

pub use self::confined::{Confined, ConfinedBy, NOT_CONFINED, OF_GIT, make_own_directories};
pub use self::definition::{Definition, DefinitionError};
pub use self::found::{Probe, version};
pub use self::process::ExternalAgent;
pub use self::visit::{VisitContext, play};
