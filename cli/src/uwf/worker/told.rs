//! What a worker tells: a line for people, an object for programs.

use serde_json::{Value, json};
use uwf_engine::exec::StepReport;
use uwf_engine::record;
use uwf_engine::thread::ThreadId;
use uwf_fleet::queue::Claimant;
use uwf_fleet::worker::Happening;

use crate::shell::render;

/// Something that happened.
pub(super) struct Told {
    /// In one word.
    event: &'static str,
    thread: Option<ThreadId>,
    /// For people.
    text: String,
    /// What a program is told beside the event and the thread.
    facts: Value,
}

impl Told {
    pub(super) fn started(claimant: &Claimant, remote: &str) -> Told {
        let text = format!("worker {} runs threads of {remote}", claimant.name);
        Told {
            event: "started",
            thread: None,
            text,
            facts: json!({"worker": claimant.name, "remote": remote}),
        }
    }

    pub(super) fn ended(claimant: &Claimant, steps: u64) -> Told {
        let count = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
        let text = format!("worker {} has ended after {count}", claimant.name);
        Told { event: "ended", thread: None, text, facts: json!({"worker": claimant.name, "steps": steps}) }
    }

    /// A warning of whoever makes a step.
    pub(super) fn said(thread: &ThreadId, line: &str) -> Told {
        Told { event: "said", thread: Some(*thread), text: line.to_owned(), facts: json!({"text": line}) }
    }

    pub(super) fn of(happening: &Happening<'_>) -> Told {
        let of = |thread: &ThreadId, event, text: String, facts| Told {
            event,
            thread: Some(*thread),
            text,
            facts,
        };
        match happening {
            Happening::Claimed(thread, fence) => {
                of(thread, "claimed", format!("claimed, fence {fence}"), json!({"fence": fence}))
            }
            Happening::Stepped(thread, report, state) => Told::stepped(thread, report, state),
            Happening::Failed(thread, why) => {
                of(thread, "failed", format!("failed: {why}"), json!({"reason": why}))
            }
            Happening::Lost(thread) => {
                let text = "the lease was lost: another worker may have the thread, nothing was pushed";
                of(thread, "lost", text.to_owned(), json!({}))
            }
            Happening::HandedBack(thread) => of(thread, "handedBack", "handed back".to_owned(), json!({})),
            Happening::Unreachable(error) => {
                let text = format!("the remote cannot be reached, which is tried again: {error}");
                Told { event: "unreachable", thread: None, text, facts: json!({"reason": error.to_string()}) }
            }
        }
    }

    fn stepped(thread: &ThreadId, report: &StepReport, state: &str) -> Told {
        let mut facts = json!({"state": state, "status": report.status.as_str(), "head": report.head});
        let mut text = String::new();
        if let Some(compacted) = &report.compacted {
            text = format!("summed up  {}  ", compacted.compacted_by);
            facts["compacted"] = json!(compacted);
        }
        if let Some(played) = &report.played {
            let (role, status) = (&played.step.role, record::status(&played.output).unwrap_or("?"));
            let took = played.step.duration_ms();
            text += &format!("{role} → {status}  {}  {}  ", render::duration(took), played.hash);
            facts["step"] = json!({"hash": played.hash, "role": role, "status": status, "durationMs": took});
        }
        match (&report.current_role, state) {
            (Some(role), "leased") => text += &format!("next: {role}"),
            _ => text += state,
        }
        Told { event: "step", thread: Some(*thread), text, facts }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        match &self.thread {
            Some(thread) => format!("{thread}  {}", self.text),
            None => self.text.clone(),
        }
    }

    /// For programs.
    pub(super) fn value(&self) -> Value {
        let mut value = self.facts.clone();
        value["event"] = json!(self.event);
        if let Some(thread) = &self.thread {
            value["thread"] = json!(thread);
        }
        uwf_store::json::sorted(value)
    }
}
