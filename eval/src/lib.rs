//! Evaluations: a workflow is run over and over on the same tasks, and judged.
//!
//! A task is a directory: what is asked for, the files that it is asked of, and who judges what was made of them. A case is
//! one thread that was run for one task; an evaluation is all cases of some tasks. Everything that is found out is a node of
//! the store, and what is told of an evaluation is made of these nodes alone.
//!
//! # Layout, from the bottom up
//!
//! | module | what it knows |
//! |---|---|
//! | [`record`] | the nodes: a case that was judged, what judges found, an evaluation; the only home of these shapes |
//! | [`case`](mod@case) | one case as a plain value, which numbers and reports are made of |
//! | [`load`](mod@load) | an evaluation by its name, with its cases |
//! | [`task`] | a task: what is asked for, of which files, and who judges; checked |
//! | [`judge`] | what each judge says of a case, and all together |
//! | [`run`](mod@run) | cases side by side, from their threads to their records |
//! | [`export`] | an evaluation as one file, to be taken to another store |
//! | [`numbers`] | what scores come to: means with intervals, differences, votes; pure functions over slices |
//! | [`report`] | what an evaluation comes to, and what two differ by: values, and those as text |
//!
//! # Invariants
//!
//! 1. A case has its thread on record before anything of it runs, and is never run again once it is finished.
//! 2. A judge that fails is no low score, and a failure of the infrastructure is none of the workflow.
//! 3. Nothing here reads the environment, the clock, randomness or the terminal: they come in as values.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

pub mod case;
mod error;
pub mod export;
pub mod judge;
pub mod load;
mod measure;
pub mod numbers;
pub mod record;
pub mod report;
pub mod run;
pub mod task;

pub use case::{Case, GivenUp, JudgeScore, Outcome, Tokens};
pub use error::EvalError;
pub use load::{Loaded, load};
pub use record::{Evaluation, Records};
