//! The remotes that a home knows, by name.
