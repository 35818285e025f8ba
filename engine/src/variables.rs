//! Where the engine's own things are among the variables of a store.
//!
//! Apart because a store is told of threads before anything that reads or writes a thread.

/// Where thread heads live among the variables.
pub const HEADS: &str = "@uwf/thread/";

/// Where a thread that another one called has the node at which that one stood, among the variables; a tag has its name.
pub const PARENTS: &str = "@uwf/parent/";

/// Where the start of the last thread that a thread called lives among the variables; a tag has its name.
pub const CHILDREN: &str = "@uwf/child/";

/// Where the failed visits of threads live among the variables.
pub const FAILED: &str = "@uwf/thread-failed/";

/// Where the logs of what was undone in the workspaces of threads live among the variables.
pub const UNDOS: &str = "@uwf/undo/";

/// Where the options that were chosen for threads live among the variables.
pub const OPTIONS: &str = "@uwf/options/";

/// Where threads that somebody paused, or that have used up their rounds, have the reason, among the variables.
pub const PAUSES: &str = "@uwf/pause/";
