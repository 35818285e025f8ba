//! Snapshots: the state of a workspace as a Merkle tree in the store.
//!
//! Reads down like this: `name` and `tree` say how a directory is a node of [`SnapshotEntry`]s; `stamp` and [`CaptureCache`] what
//! need not be read again; [`capture`] puts a workspace into a store; [`diff`] tells each [`TreeChange`] from one snapshot to
//! another, [`patch`] shows them as git does; [`restore`] makes a workspace like one that is still like the other, and
//! [`preview`] tells what that would do.
//!
//! Never decides when a snapshot is made or what refers to it: a tree that nobody refers to is collected like any other
//! node. Never looks at git's own data but for what it is told to ignore, and never follows a symlink.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

mod cache;
mod capture;
mod change;
mod diff;
mod error;
mod name;
mod options;
mod patch;
mod restore;
mod stamp;
mod tree;
mod withheld;

pub use cache::{CaptureCache, remove_gone_caches};
pub use capture::{CaptureNotice, CaptureWork, Snapshot, Why, capture, check};
pub use change::{ChangeKind, TreeChange};
pub use diff::{diff, only};
pub use error::{Limit, SnapshotError};
pub use name::{escaped, unescaped};
pub use options::Options;
pub use patch::{FileStat, name_only, patch, stat, write_stat};
pub use restore::{Conflict, ConflictReason, RestorePreview, Restored, checkout, preview, restore};
pub use tree::{SnapshotEntry, TREE, find};
pub use withheld::Withheld;

#[cfg(test)]
mod fixture;
