//! The directory that a thread works in, where it is not of one machine: snapshot, shared, git.

mod error;
mod repository;
mod value;

pub use self::error::WorkspaceError;
pub use self::repository::{Commit, Repository};
pub use self::value::{Base, Below, Branch, Files, Shared, Workspace};
