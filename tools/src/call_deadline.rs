//! Whether a call may go on: it is asked to end by its caller, or out of time.
//!
//! Every tool that walks, reads or searches asks between two pieces of its work. What was answered first stays, so that
//! a call whose work was done in time is not called late for what came after.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::answer::Facts;
use crate::cancel::Cancel;

/// Why a call ended before its work did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    Cancelled,
    OutOfTime,
}

/// Until when one call may go on.
#[derive(Debug)]
pub(crate) struct CallDeadline<'a> {
    cancel: &'a Cancel,
    begun: Instant,
    /// How long the call may take.
    time: Duration,
    /// Set by the first look that found that the call may not go on.
    interruption: OnceLock<Interruption>,
}

impl<'a> CallDeadline<'a> {
    pub(crate) fn begin(cancel: &'a Cancel, time: Duration) -> Self {
        Self { cancel, begun: Instant::now(), time, interruption: OnceLock::new() }
    }

    /// Whether the call may go on; asked when there is more to do.
    pub(crate) fn may_go_on(&self) -> bool {
        let interruption = match self.interruption.get() {
            Some(_) => return false,
            None if self.cancel.is_cancelled() => Interruption::Cancelled,
            None if self.begun.elapsed() >= self.time => Interruption::OutOfTime,
            None => return true,
        };
        let _ = self.interruption.set(interruption);
        false
    }

    /// Whether work was left undone, and why.
    pub(crate) fn interruption(&self) -> Option<Interruption> {
        self.interruption.get().copied()
    }

    /// `cancelled`, or `stopped after 60 s`.
    pub(crate) fn reason(&self) -> Option<String> {
        Some(match self.interruption()? {
            Interruption::Cancelled => "cancelled".to_owned(),
            Interruption::OutOfTime => format!("stopped after {} s", self.time.as_secs_f64()),
        })
    }

    /// The facts of a call as far as they are known here.
    pub(crate) fn facts(&self) -> Facts {
        let interruption = self.interruption();
        Facts {
            cancelled: interruption == Some(Interruption::Cancelled),
            timed_out: interruption == Some(Interruption::OutOfTime),
            truncated: interruption.is_some(),
            ..Facts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ToolLimits;
    use crate::scratch::{Scratch, limits};

    #[test]
    fn the_first_reason_stays_and_is_none_when_nobody_had_to_ask() {
        let cancel = Cancel::default();
        let deadline = CallDeadline::begin(&cancel, Duration::ZERO);
        assert_eq!((deadline.interruption(), deadline.reason()), (None, None));
        assert!(!deadline.may_go_on());
        cancel.cancel();
        assert!(!deadline.may_go_on());
        assert_eq!(deadline.reason().as_deref(), Some("stopped after 0 s"));
        assert!(deadline.facts().timed_out && !deadline.facts().cancelled);
        let deadline = CallDeadline::begin(&cancel, Duration::MAX);
        assert!(!deadline.may_go_on() && deadline.facts().cancelled);
    }

    /// A call of each tool that has something to do before it is done.
    fn calls() -> [(&'static str, serde_json::Value); 7] {
        [
            ("read_file", json!({"path": "f"})),
            ("tool_output", json!({"hash": "EARLIER"})),
            ("list_dir", json!({})),
            ("glob", json!({"pattern": "*"})),
            ("grep", json!({"pattern": "x"})),
            ("write_file", json!({"path": "new", "content": "x"})),
            ("edit_file", json!({"path": "f", "old_string": "x", "new_string": "y"})),
        ]
    }

    #[test]
    fn every_tool_ends_when_it_is_out_of_time_and_says_so() {
        let scratch = Scratch::with(ToolLimits { call_time: Duration::ZERO, ..limits() });
        scratch.put("f", "x\n");
        for (tool, arguments) in calls() {
            let output = scratch.call(tool, arguments);
            assert!(output.text.contains("stopped after 0 s"), "{tool}: {}", output.text);
            let writes = tool.ends_with("_file") && tool != "read_file";
            assert!(writes || output.facts.timed_out && output.facts.truncated, "{tool}");
        }
        assert_eq!(scratch.get("f"), b"x\n");
        assert!(!scratch.root().join("new").exists());
    }

    #[test]
    fn every_tool_ends_when_it_is_cancelled() {
        let scratch = Scratch::new();
        scratch.put("f", "x\n");
        let cancel = Cancel::default();
        cancel.cancel();
        for (tool, arguments) in calls() {
            let output = scratch.toolbox.call(tool, &arguments.to_string(), &cancel);
            assert!(output.is_error && output.text.contains("cancelled"), "{tool}: {}", output.text);
        }
        assert_eq!(scratch.get("f"), b"x\n");
        assert!(!scratch.root().join("new").exists());
    }
}
