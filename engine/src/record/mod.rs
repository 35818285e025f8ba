//! The record of a step, as types: what an agent keeps of a run beside the step itself, and what a step puts out.
//!
//! The only home of these shapes and of the names of their fields: an agent writes them through a [`Batch`], and
//! everybody who tells, compares or goes on with a run reads them here.
//!
//! Reading never fails for want of a shape. A detail node may be of any type, since agents that others wrote keep records
//! of their own: what is absent, or is something else than it is in ours, is read as nothing, and what is not known is
//! passed over. Whoever needs a part says what it means that it is not there. What a record of ours holds is pinned by
//! the types `uwf-detail` and `uwf-turn` ([`crate::builtin`]).
//!
//! ```
//! use uwf_engine::record::{Detail, RecordedCall, Turn};
//! use uwf_store::Store;
//!
//! let dir = tempfile::tempdir()?;
//! let store = uwf_engine::open_store(dir.path(), || 1_800_000_000_000)?;
//! let mut batch = store.batch();
//! let call = RecordedCall { id: Some("a".into()), name: Some("grep".into()), args: Some("{}".into()) };
//! let turn = Turn {
//!     role: Some("assistant".into()),
//!     content: Some("I look.".into()),
//!     kind: Some("turn".into()),
//!     at: Some(1_800_000_000_000),
//!     tool_calls: Some(vec![call]),
//!     ..Turn::default()
//! };
//! let turn = turn.put(&mut batch)?;
//! let detail = Detail { messages: Some(vec![turn.into()]), turns: Some(vec![turn.into()]), ..Detail::empty("s", "m") };
//! let detail = detail.put(&mut batch)?;
//! batch.commit()?;
//!
//! let conversation = Detail::read(&store, &detail)?.conversation(&store)?;
//! assert_eq!(conversation[0].calls()[0].name.as_deref(), Some("grep"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Batch`]: uwf_store::Batch

mod content;
mod detail;
mod lenient;
mod log;
mod output;
mod settings;
mod turn;
mod undo;

pub use self::content::{Artifact, StepContent};
pub use self::detail::{Change, Detail, Listed, RecordedSnapshot, RunSnapshots};
pub use self::log::RunLog;
pub use self::output::{ErrorOutput, error, phase, reason, status};
pub use self::settings::{
    Interrupted, RecordedBudget, RecordedEndpoint, RecordedProvider, RecordedSettings, Retry, adapted,
};
pub use self::turn::{LEFT_OUT, Marks, RecordedCall, SUMMED_UP, SummedUp, TokenUsage, Turn};
pub use self::undo::{UndoKind, UndoRecord};

#[cfg(test)]
mod tests;
