//! Views: what threads, steps, workflows, the store and the configuration look like to a program.
//!
//! The home of these shapes: `uwf … --format json` prints them, and so can whatever else shows threads. What it prints
//! besides is told elsewhere: the findings of the doctors, the guides and the manual pages by the command lines, the lines
//! of the log as [`crate::log`] keeps them, nodes and variables as the store does. Fields may be added, none is removed or
//! renamed. A view is read from a store by a plain function; how it looks to people (tables,
//! sentences, colours) is no business of it.

mod agent;
mod artifact;
mod changed;
mod config;
mod document;
mod log;
mod model;
mod outcome;
mod replay;
mod row;
mod run;
mod runs;
mod spent;
mod step;
mod store;
mod thread;
mod undo;
mod workflow;

pub use self::agent::AgentRow;
pub use self::artifact::{ArtifactRow, ArtifactWritten};
pub use self::changed::{
    ForkedFrom, ThreadCancelled, ThreadExported, ThreadForked, ThreadImported, ThreadPaused, ThreadRemoved,
    ThreadStarted, ThreadStopped, ThreadsPruned, VariableRemoved, WorkflowAdded, WorkflowRemoved,
    WorkflowRolledBack, WorkflowValid,
};
pub use self::config::{
    AgentSetup, ConfigEdited, ConfigPath, ConfigSet, ConfigUnset, ConfigValue, ModelSetup, SetupView,
};
pub use self::document::{
    ChangeFacts, ChangedBy, ComparedSnapshots, FileDiff, PlayedBy, ServeView, StepAnswer, StepDiff,
    StepDocument, StepPrompt, ThreadDiff, ThreadDocument, ThreadWritten, WorkflowGraph,
};
pub use self::log::{LogCleaned, LogDay};
pub use self::model::ModelRow;
pub use self::outcome::{ThreadOutcome, ThreadResult};
pub use self::replay::{ReplayChange, ReplayedStep};
pub use self::row::ThreadRowFacts;
pub use self::run::{RunStep, RunView};
pub use self::runs::{RunsBeside, ThreadFacts};
pub use self::spent::{Spent, SpentBy, SpentRow, SpentSum};
pub use self::step::{AttemptView, ListedNode, StartView, StepView, StepsPage, ThreadSteps, Unread};
pub use self::store::{
    FindingView, SchemaRow, StoreCollected, StoreStatsView, StoreVerified, TypeStatsView, VariableValue,
};
pub use self::thread::{
    ChildView, FailedStep, PAUSED, ParentView, ThreadRow, ThreadView, Workflows, current_role,
};
pub use self::undo::{CheckedOut, LeftPath, UndoView};
pub use self::workflow::{HistoryView, WorkflowRow, WorkflowView};
