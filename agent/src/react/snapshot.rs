//! The workspace as it is at a moment of the run: captured where that blocks nobody, and journalled.
//!
//! Apart because it is no part of the conversation, and because nothing that goes wrong with it ends a run.

use super::wait::{Waited, wait};
use super::{Notice, Progress, React, Stopped};
use crate::journal::{CapturePoint, Concern, Entry};
use crate::snapshots::{failed, partial, recorded};

impl React<'_> {
    /// Captures the workspace, where that is done in this run and did not fail before. After a call that changed nothing
    /// there is nothing to journal.
    ///
    /// # Errors
    /// [`Stopped::Interrupted`] or [`Stopped::Journal`].
    pub(crate) async fn capture(&mut self, point: CapturePoint) -> Result<(), Stopped> {
        if let Some(recording) = self.journal.recording().cloned() {
            return self.take_captures(&recording);
        }
        // What was refused before its beginning has no end either.
        let is_wanted =
            !self.state.uncaptured && (point != CapturePoint::End || self.state.captured.is_some());
        let Some(workspace) = self.workspace.clone().filter(|_| is_wanted) else { return Ok(()) };
        let capturing = self.workers.run(move || workspace.capture(point != CapturePoint::Call));
        let on_notice = &mut *self.on_notice;
        let tick = || on_notice(Notice::Progress(Progress::Tick));
        let waited = wait(Box::pin(capturing), &mut self.signals, None, tick).await;
        let captured = match waited {
            Waited::Done(captured) => {
                captured.unwrap_or_else(|panic| Err(format!("internal error: {panic}")))
            }
            Waited::Signal(signal) => return Err(self.interrupted(signal).await),
            Waited::TimeUp => unreachable!("it has no limit"),
        };
        let snapshot = match captured {
            Ok(snapshot) => snapshot,
            Err(why) => return self.warn(Concern::NoSnapshot, &failed(&why)),
        };
        if let Some(partial) = partial(&snapshot).filter(|_| !self.state.warned_of_snapshot) {
            self.warn(Concern::PartialSnapshot, &partial)?;
        }
        let is_same = self.state.captured == Some(snapshot.tree);
        if point == CapturePoint::Call && is_same {
            return Ok(());
        }
        let is_after_call = !is_same && matches!(point, CapturePoint::Call | CapturePoint::Resume);
        let call_id = if is_after_call { self.call_in_doubt() } else { None };
        let snapshot = recorded(&snapshot);
        self.write(Entry::Snapshot { snapshot, point, call_id, at: (self.clock)() })
    }

    /// The last call since the workspace was captured, where nobody knows what it changed: a command, or one that was cut
    /// off. After those before it the workspace was captured, and was the same.
    fn call_in_doubt(&self) -> Option<String> {
        let is_snapshot = |entry: &&Entry| matches!(entry, Entry::Snapshot { .. });
        let mut since = self.journal.entries().iter().rev().take_while(|entry| !is_snapshot(entry));
        let (call, facts) = since.find_map(|entry| match entry {
            Entry::Finished { message, facts, .. } => {
                Some((self.state.call(message.tool_call_id.as_deref()?)?, facts))
            }
            _ => None,
        })?;
        let is_cut_off = facts.cancelled && !self.toolbox.reads_only(&call.name);
        (is_cut_off || self.toolbox.changes_unseen(&call.name)).then(|| call.id.clone())
    }

    fn warn(&mut self, about: Concern, message: &str) -> Result<(), Stopped> {
        let message = self.secrets.clean(message).into_owned();
        self.write(Entry::Warned { about, message, at: (self.clock)() })
    }
}
