//! The directory that a thread works in, where it is not of one machine: snapshot, shared, git.
