//! The engine of uwf: everything that is not a model.
//!
//! A workflow is data, a thread is a chain of immutable nodes, and a step is one process that starts, does one thing
//! and exits. This crate decides who plays next, runs that process and checks what it did; the data is in
//! [`uwf_store`], how it is written and where it leads in [`uwf_workflow`]. It does not know what a model is: engine and
//! agent meet at argv and one line of stdout.
//!
//! # Layout, from the bottom up
//!
//! | module | what it knows |
//! |---|---|
//! | [`variables`], [`thread_id`], [`usage`] | names in the store, names of threads, what a run used |
//! | [`builtin`] | the schemas of our own nodes, and the store with them in it |
//! | [`workflow`] | workflows in files, in the store and by name |
//! | [`thread`] | head, status, chain, and what a role may see ([`thread::role_context`]) |
//! | [`undo_log`] | what was undone in the workspace of a thread, and what of that was done again |
//! | [`record`] | what an agent keeps of a run, and what a step puts out: the shapes, and their only home |
//! | [`spawn`] | one agent process; [`spawn::protocol`] is its command line and its reply as values |
//! | [`config`], [`home`], [`lock`] | `config.yaml`, `$UWF_HOME` and `.env`, one run of a thread at a time |
//! | [`catalogue`] | models: windows, prices, what they can be asked for; a table with a date |
//! | [`conditions`] | who evaluates the conditions of graphs, and what that can come to |
//! | [`log`] | what happened, a line an event in `$UWF_HOME/logs` |
//! | [`legacy`] | state files of the oldest design, taken over once |
//! | [`export`] | a thread as one file, to be taken to another store |
//! | [`gc_roots`] | what collecting the store must leave to the runs that are going on |
//! | [`journals`] | the journals of runs: whose each is, and which nobody can come back to |
//! | [`lost`] | threads whose names are gone though nobody removed them |
//! | [`exec`] | the step: lock → head → route → agent → check → advance; read this first |
//! | [`drive`](mod@drive) | steps of a thread until it ends, waits or fails; by processes, or by code of the caller's |
//! | [`ask`] | a question to the agent of a finished step; changes nothing |
//! | [`view`] | what a thread, a step and a workflow look like to a program |
//!
//! # Invariants
//!
//! 1. A head moves only in [`thread::advance`], by compare-and-set, and only after the step it moves to was checked.
//! 2. A step costs the same however long its thread is: routing reads the head and its output, and the
//!    chain only where conditions decide.
//! 3. Failed steps never move a head; they are kept beside the thread until a visit succeeds or the thread ends.
//! 4. Nothing here reads the environment, the clock, the terminal or the home directory: they come in as values.
//! 5. Bad input changes nothing: checks come before writes, and writes are whole or not at all.
//! 6. No output depends on the order in which a map was filled.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

pub mod ask;
pub mod builtin;
pub mod catalogue;
pub mod conditions;
pub mod config;
mod dotenv;
pub mod drive;
pub mod exec;
pub mod export;
#[cfg(any(test, feature = "fixture"))]
#[doc(hidden)]
pub mod fixture;
pub mod gc_roots;
pub mod home;
pub mod journals;
pub mod legacy;
pub mod lock;
pub mod log;
pub mod lost;
pub mod record;
pub mod spawn;
pub mod thread;
pub mod thread_id;
pub mod undo_log;
pub mod usage;
pub mod variables;
pub mod view;
pub mod workflow;

pub use builtin::open_store;
pub use exec::{Engine, ExecError, ExecOptions, Observer, StepReport, step_once};
pub use home::{Env, Homes};
pub use spawn::protocol::{AdapterOutput, AgentCommand, AgentRequest, EdgePromptSource};
pub use thread::{
    CalledFrom, Chain, EarlierStep, Head, HeadKind, RoleContext, StartNode, Status, StepLinks, StepNode,
    ThreadError, ThreadId, Usage, role_context,
};
pub use workflow::{Role, Workflow};
