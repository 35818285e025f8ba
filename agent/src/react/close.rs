//! The end of the tools: what still runs ends, and what commands did to git is taken back and told.
//!
//! Apart because it waits, and whoever waits must hear signals: looking at git in a large workspace takes a while.

use std::sync::Arc;

use uwf_tools::{Cancel, Closed};

use super::{React, Stopped};
use crate::journal::{Concern, Entry};
use crate::provider::message::{Message, MessageKind, Speaker};
use crate::signals::Signal;

impl React<'_> {
    /// The tools are over. Gives what git may run because of them all the same; whoever runs the agent is told of that
    /// at once. A signal leaves them little time, a second one none.
    ///
    /// # Errors
    /// [`Stopped::Interrupted`], [`Stopped::Journal`], or [`Stopped::Tool`].
    pub(crate) async fn close(&mut self) -> Result<Vec<String>, Stopped> {
        if let Some(recording) = self.recorded_tools() {
            return self.take_closing(&recording);
        }
        let (toolbox, cancel) = (Arc::clone(&self.toolbox), Cancel::default());
        let token = cancel.clone();
        let mut closing = Box::pin(self.workers.run(move || toolbox.close_unless(&token)));
        let (closed, signal) = tokio::select! {
            closed = &mut closing => (closed, None),
            signal = self.signals.next() => {
                cancel.cancel();
                tokio::select! {
                    closed = closing => (closed, Some(signal)),
                    again = self.signals.next() => return Err(Stopped::Interrupted(again)),
                }
            }
        };
        let closed = closed.map_err(|panic| Stopped::Tool(panic.to_string()))?;
        self.tell_undone(&closed)?;
        match signal {
            Some(signal) => {
                self.signalled(signal);
                Err(Stopped::Interrupted(signal))
            }
            None => Ok(closed.standing.iter().map(|what| self.secrets.clean(what).into_owned()).collect()),
        }
    }

    /// Somebody wants the run to stop. What still runs ends before we do, in a hurry; a second signal does not wait for it.
    pub(crate) async fn interrupted(&mut self, signal: Signal) -> Stopped {
        self.signalled(signal);
        self.leave(signal).await
    }

    /// Journals the signal. Where that cannot be done any more, it is the reason to stop all the same.
    pub(super) fn signalled(&mut self, signal: Signal) {
        self.write(Entry::Signalled { signal: signal.to_string(), at: (self.clock)() }).ok();
    }

    /// Ends what still runs.
    pub(super) async fn leave(&mut self, signal: Signal) -> Stopped {
        let (toolbox, hurry) = (Arc::clone(&self.toolbox), Cancel::default());
        hurry.cancel();
        let closing = self.workers.run(move || toolbox.close_unless(&hurry));
        tokio::select! {
            closed = closing => {
                // Where it cannot be told any more, the signal is the reason all the same.
                self.tell_undone(&closed.unwrap_or_default()).and_then(|()| self.sync()).ok();
                Stopped::Interrupted(signal)
            }
            again = self.signals.next() => Stopped::Interrupted(again),
        }
    }

    fn tell_undone(&mut self, closed: &Closed) -> Result<(), Stopped> {
        for what in &closed.standing {
            let message = format!("git: {}", self.secrets.clean(what));
            self.write(Entry::Warned { about: Concern::Git, message, at: (self.clock)() })?;
        }
        if closed.undone.is_empty() {
            return Ok(());
        }
        let text = format!("at the end of the run, git: {}", closed.undone.join("; "));
        let text = self.secrets.clean(&text).into_owned();
        self.append_message(Message::text(Speaker::User, MessageKind::Closing, text))
    }
}
