//! What a run that is played again takes from its recording in the place of the world: the clock, the tools, and the state of
//! the workspace. Of a live run it does nothing.
//!
//! Apart so that the loop is one, live or not; the replies of the model come from `provider::recorded`.

use std::time::Duration;

use super::{React, Stopped};
use crate::journal::{Concern, Entry, SharedRecording, ToolFacts};
use crate::provider::message::{Message, MessageKind, ToolCall};

/// A provider that gives no reply is polled once before the time is over.
const AT_ONCE: Duration = Duration::from_millis(1);

impl React<'_> {
    /// How long the run was worked on.
    pub(super) fn elapsed(&self) -> Duration {
        match self.journal.recording() {
            Some(recording) => self.state.spent.time + recording.until_next(),
            None => self.started.elapsed(),
        }
    }

    /// How long the model may think.
    pub(super) fn time_for_turn(&self) -> Option<Duration> {
        match self.journal.recording() {
            Some(recording) => recording.is_abandoned().then_some(AT_ONCE),
            None => self.state.budget.time_left(self.started.elapsed()),
        }
    }

    /// The recording that stands in for the tools.
    pub(super) fn recorded_tools(&self) -> Option<SharedRecording> {
        self.journal.recording().filter(|recording| !recording.runs_tools()).cloned()
    }

    /// Takes over what the recorded tools answered, and what was captured after them.
    pub(super) fn take_results(
        &mut self,
        recording: &SharedRecording,
        calls: &[ToolCall],
    ) -> Result<(), Stopped> {
        let is_result = |entry: &Entry| match entry {
            Entry::Finished { message, .. } => {
                calls.iter().any(|call| Some(&call.id) == message.tool_call_id.as_ref())
            }
            _ => false,
        };
        self.take_while(recording, is_result)?;
        let open = self.state.turn.iter().flat_map(|turn| &turn.calls);
        let unanswered =
            open.map(|call| &call.id).find(|id| calls.iter().any(|call| call.id == **id)).cloned();
        if let Some(id) = unanswered {
            // The recorded process ended here, or did something else.
            let (message, facts) = (Message::result(&id, ""), ToolFacts::default());
            self.write(Entry::Finished { message, at: 0, duration_ms: 0, facts })?;
        }
        self.take_while(recording, is_capture)
    }

    /// Takes over what was captured of the workspace.
    pub(super) fn take_captures(&mut self, recording: &SharedRecording) -> Result<(), Stopped> {
        self.take_while(recording, is_capture)
    }

    /// Takes over what was found when the tools were closed; gives what stood for git to run.
    pub(super) fn take_closing(&mut self, recording: &SharedRecording) -> Result<Vec<String>, Stopped> {
        let from = self.journal.entries().len();
        self.take_while(recording, |entry| match entry {
            Entry::Warned { about, .. } => *about == Concern::Git,
            Entry::Said { message, .. } => message.kind == MessageKind::Closing,
            _ => false,
        })?;
        let standing = self.journal.entries()[from..].iter().filter_map(|entry| match entry {
            Entry::Warned { message, .. } => message.strip_prefix("git: ").map(str::to_owned),
            _ => None,
        });
        Ok(standing.collect())
    }

    fn take_while(
        &mut self,
        recording: &SharedRecording,
        is_one: impl Fn(&Entry) -> bool,
    ) -> Result<(), Stopped> {
        while let Some(entry) = recording.take_if(&is_one) {
            self.journal.push_recorded(entry);
            self.take_over()?;
        }
        Ok(())
    }
}

fn is_capture(entry: &Entry) -> bool {
    let about = |about: &Concern| matches!(about, Concern::NoSnapshot | Concern::PartialSnapshot);
    match entry {
        Entry::Snapshot { .. } => true,
        Entry::Warned { about: concern, .. } => about(concern),
        _ => false,
    }
}
