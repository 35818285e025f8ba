//! Views: what a thread, a step and a workflow look like to a program.
//!
//! The only home of these shapes: `uwf … --format json` prints them, and so can whatever else shows threads. Fields may be
//! added, none is removed or renamed. A view is read from a store by a plain function; how it looks to people (tables,
//! sentences, colours) is no business of it.

mod step;
mod thread;
mod workflow;

pub use self::step::{AttemptView, ListedNode, StartView, StepView, ThreadSteps, Unread};
pub use self::thread::{FailedStep, ThreadRow, ThreadView, Workflows, current_role};
pub use self::workflow::{HistoryView, WorkflowRow, WorkflowView};
