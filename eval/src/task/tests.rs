//! Tasks that are right, and what is said of those that are not.
