//! The command lines of uwf.
//!
//! | module | what it knows |
//! |---|---|
//! | [`uwf`] | the command line of `uwf`, one file a noun |
//! | [`builtin`] | the command line of `uwf-builtin` |
//! | [`eval`] | the command line of `uwf-eval` |
//! | `completion` | what TAB offers |
//! | `names` | what the name of a thread, a step or a node on a command line means |
//! | `remote` | which remote is meant, and a connection to it |
//! | [`shell`] | what they share: the process as values, sessions, errors, man pages |
//!
//! Nothing but this crate reads the environment, the arguments, the clock or a terminal, installs a handler of signals, or
//! writes to a stream; what is below it gets values.

#![allow(
    clippy::disallowed_methods,
    reason = "programs read the environment and the clock, for all that is below them"
)]

pub mod builtin;
mod completion;
pub mod eval;
mod names;
mod remote;
pub mod shell;
pub mod uwf;
