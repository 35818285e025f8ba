//! The directory that a thread works in, where it is not of one machine.
//!
//! Three kinds: *snapshot* (the files are nodes at the remote, and each machine makes a directory of them), *shared* (a directory
//! of a file system that the machines share) and *git* (a branch of a repository for each thread, with a commit for each step).
//! The first and the last are made anew for whoever claims the thread, as they were at its head; what a step leaves is kept
//! before the head moves, and named in the row in the same transaction. What a worker leaves that was killed is nobody's.

mod error;
mod git;
mod halt;
mod hold;
mod place;
mod private;
mod repository;
mod value;

pub use self::error::WorkspaceError;
pub use self::halt::{Halt, HaltWish};
pub use self::place::{Directory, Kept, MadeStep, Workspaces, snapshot_of};
pub use self::repository::{Commit, Repository};
pub use self::value::{Base, Below, Branch, Files, Shared, Workspace};
