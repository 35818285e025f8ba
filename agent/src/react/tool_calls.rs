//! Running what the model asked for: in order, side by side where nothing can be changed, each on disk before and
//! after.
//!
//! Apart from the turns of the model; what a tool does is `uwf-tools`' business.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use uwf_prompts::INTERRUPTED;
use uwf_tools::{Cancel, ToolOutput};

use super::wait::{Waited, wait};
use super::{Notice, Progress, React, Stopped, millis};
use crate::journal::{CapturePoint, Entry, SharedRecording};
use crate::project::{self, ProjectFile};
use crate::provider::message::{Message, ToolCall};
use crate::record;
use crate::signals::Signal;
use crate::workers::Panicked;

/// How many calls run side by side at most.
const MAX_SIDE_BY_SIDE: usize = 8;

/// What the tools of a group gave, in the order of the calls.
type CallOutputs = Vec<CallOutput>;

/// What a tool gave, how long that took, and what the directories say that it came to.
type CallOutput = (ToolOutput, Duration, Vec<ProjectFile>);

impl React<'_> {
    /// Runs the calls of a turn.
    pub(super) async fn run_calls(&mut self, calls: &[ToolCall]) -> Result<(), Stopped> {
        if let Some(recording) = self.journal.recording().cloned() {
            return self.replay_calls(&recording, calls).await;
        }
        let toolbox = Arc::clone(&self.toolbox);
        for group in groups(calls, &|name| toolbox.reads_only(name)) {
            self.run_together(group).await?;
        }
        Ok(())
    }

    /// Runs calls side by side. That they start is on disk before any does; they are answered in their order.
    async fn run_together(&mut self, calls: &[ToolCall]) -> Result<(), Stopped> {
        self.start(calls)?;
        self.sync()?;
        let (outputs, signal) = self.call(calls).await?;
        if let Some(signal) = signal {
            self.signalled(signal);
        }
        for (call, output) in calls.iter().zip(outputs) {
            self.answer(call, output, signal.is_some())?;
        }
        // Elsewhere there is nothing of what a file tool wrote but this.
        let is_captured = |name: &str| {
            self.toolbox.changes_unseen(name)
                || self.journal.is_kept_elsewhere() && !self.toolbox.reads_only(name)
        };
        if let ([call], None) = (calls, &signal)
            && is_captured(&call.name)
        {
            self.capture(CapturePoint::Call).await?;
        }
        self.sync_here()?;
        match signal {
            Some(signal) => Err(self.leave(signal).await),
            None => Ok(()),
        }
    }

    /// Journals that the calls start.
    fn start(&mut self, calls: &[ToolCall]) -> Result<(), Stopped> {
        for call in calls {
            let shown = match self.secrets.clean(&call.arguments) {
                Cow::Owned(clean) => Some(clean),
                Cow::Borrowed(_) => None,
            };
            self.write(Entry::Started { call_id: call.id.clone(), shown, at: (self.clock)() })?;
        }
        Ok(())
    }

    /// The calls are answered as they were, or run once more where that is asked for. A tool that is not here, being a
    /// program's own, answers what it answered.
    async fn replay_calls(
        &mut self,
        recording: &SharedRecording,
        mut calls: &[ToolCall],
    ) -> Result<(), Stopped> {
        while !calls.is_empty() {
            let (group, rest) = calls.split_at(recording.started(calls).max(1));
            let is_here = group.iter().all(|call| self.toolbox.has(&call.name));
            if recording.runs_tools() && is_here {
                self.run_together(group).await?;
            } else {
                self.start(group)?;
                self.take_results(recording, group)?;
            }
            calls = rest;
        }
        Ok(())
    }

    /// A tool has run, or was cut off by a signal: into the journal and the conversation.
    fn answer(
        &mut self,
        call: &ToolCall,
        (output, took, met): CallOutput,
        signalled: bool,
    ) -> Result<(), Stopped> {
        let mut facts = record::facts(&output, &self.secrets);
        let mut text = self.secrets.clean(&output.text).into_owned();
        if signalled && output.facts.cancelled {
            text = format!("{}\n{INTERRUPTED}", text.trim_end());
        }
        if let Some((words, told)) = self.state.told.say(met)? {
            text = format!("{}\n\n{}", text.trim_end(), self.secrets.clean(&words));
            facts.told = told;
        }
        let message = Message::result(&call.id, text);
        let (at, duration_ms) = ((self.clock)(), millis(took));
        self.write(Entry::Finished { message, at, duration_ms, facts })
    }

    /// The tools themselves, on threads of their own so that a signal, or the end of the time, can end them. A second
    /// signal does not wait for what they have to say.
    async fn call(&mut self, calls: &[ToolCall]) -> Result<(CallOutputs, Option<Signal>), Stopped> {
        let cancel = Cancel::default();
        let project = Arc::new((self.project.clone(), self.state.told.clone()));
        let mut running = Box::pin(try_join_all(calls.iter().map(|call| {
            let (toolbox, call, token) = (Arc::clone(&self.toolbox), call.clone(), cancel.clone());
            let project = Arc::clone(&project);
            self.workers.run(move || {
                let begun = Instant::now();
                let output = toolbox.call(&call.name, &call.arguments, &token);
                let took = begun.elapsed();
                let (settings, told) = &*project;
                let met = project::met(toolbox.toolbox(), settings, &call, told);
                (output, took, met)
            })
        })));
        let panicked = |panic: Panicked| Stopped::Tool(panic.to_string());
        let time_left = self.state.budget.time_left(self.started.elapsed());
        let on_notice = &mut *self.on_notice;
        let tick = || on_notice(Notice::Progress(Progress::Tick));
        let waited = wait(&mut running, &mut self.signals, time_left, tick).await;
        let signal = match waited {
            Waited::Done(outputs) => return Ok((outputs.map_err(panicked)?, None)),
            Waited::Signal(signal) => Some(signal),
            Waited::TimeUp => None,
        };
        cancel.cancel();
        tokio::select! {
            outputs = running => Ok((outputs.map_err(panicked)?, signal)),
            again = self.signals.next() => Err(Stopped::Interrupted(again)),
        }
    }
}

/// The calls of a turn, in order, as groups that may run side by side: reading tools that follow each other together,
/// anything else alone.
fn groups<'a>(calls: &'a [ToolCall], reads_only: &dyn Fn(&str) -> bool) -> Vec<&'a [ToolCall]> {
    let reads = |call: &ToolCall| reads_only(&call.name);
    let alike = calls.chunk_by(|one, next| reads(one) && reads(next));
    alike.flat_map(|group| group.chunks(MAX_SIDE_BY_SIDE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_calls_that_follow_each_other_run_side_by_side() {
        let names = "grep glob write_file write_file nonsense read_file run_command grep";
        let call = |name: &str| ToolCall { id: String::new(), name: name.into(), arguments: "{}".into() };
        let calls: Vec<ToolCall> = names.split(' ').map(call).collect();
        let specs = uwf_tools::specs();
        let reads = |name: &str| specs.iter().any(|tool| tool.read_only && tool.name == name);
        let sizes = |calls: &[ToolCall]| -> Vec<usize> {
            groups(calls, &reads).iter().map(|group| group.len()).collect()
        };
        assert_eq!(sizes(&calls), [2, 1, 1, 1, 1, 1, 1]);
        assert_eq!(sizes(&vec![call("grep"); 19]), [8, 8, 3]);
        assert!(sizes(&[]).is_empty());
    }
}
