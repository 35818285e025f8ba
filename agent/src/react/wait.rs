//! Waiting: for the provider or for tools, while time runs out, signals come and people want to see that it goes on.
//!
//! Apart because every wait of the loop is this one. What arrives is freed from secrets before anybody hears it.

use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use uwf_store::Clock;

use super::{Notice, Progress, Stopped, journal_failed};
use crate::journal::{Entry, Journal};
use crate::provider::message::{Completion, Request};
use crate::provider::{ChatProvider, CompletionEvent};
use crate::run_state::RunState;
use crate::secrets::Secrets;
use crate::signals::{Signal, Signals};

/// How often people are told that time passes.
const TICK: Duration = Duration::from_secs(1);

/// How a wait ended.
pub(super) enum Waited<T> {
    /// It came.
    Done(T),
    /// Somebody wants the run to stop.
    Signal(Signal),
    /// The time is over.
    TimeUp,
}

/// Waits until `future` is done, but no longer than `time_left` (`None` is for ever) and not beyond a signal.
pub(super) async fn wait<T>(
    mut future: impl Future<Output = T> + Unpin,
    signals: &mut Signals,
    time_left: Option<Duration>,
    mut tick: impl FnMut(),
) -> Waited<T> {
    let over = passed(time_left);
    tokio::pin!(over);
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // What has come counts, even if the time is over by now or a signal came with it.
            biased;
            done = &mut future => return Waited::Done(done),
            signal = signals.next() => return Waited::Signal(signal),
            () = &mut over => return Waited::TimeUp,
            _ = ticks.tick() => tick(),
        }
    }
}

/// Is over when the time is; never where there is no limit.
async fn passed(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Who listens to a completion.
pub(crate) struct Listener<'a> {
    pub(super) log: TurnLog<'a>,
    pub(super) signals: &'a mut Signals,
    pub(super) secrets: &'a Secrets,
    pub(super) time_left: Option<Duration>,
    pub(super) clock: Clock,
}

/// Where that which arrives goes: to those who listen, and what is worth keeping into the journal first. The state stays
/// what the request was made of, until the completion is over.
pub(super) struct TurnLog<'a> {
    pub(super) on_notice: &'a mut dyn FnMut(Notice<'_>),
    pub(super) journal: &'a mut Journal,
    pub(super) state: &'a RunState,
}

impl TurnLog<'_> {
    fn progress(&mut self, progress: Progress<'_>) {
        (self.on_notice)(Notice::Progress(progress));
    }

    /// Nothing is no piece.
    fn text(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.progress(Progress::Text(piece));
        }
    }

    fn reasoning(&mut self, piece: &str) {
        if !piece.is_empty() {
            self.progress(Progress::Reasoning(piece));
        }
    }

    /// Something of the request itself.
    fn write(&mut self, entry: Entry) -> Result<(), Stopped> {
        match self.journal.append(entry) {
            Ok(entry) => (self.on_notice)(Notice::Entry(entry, self.state)),
            Err(source) => return Err(journal_failed(self.journal, source)),
        }
        Ok(())
    }
}

/// What the journal keeps of an event.
fn entry(event: &CompletionEvent<'_>, secrets: &Secrets, at: u64) -> Option<Entry> {
    match *event {
        CompletionEvent::Sent(request) => Some(Entry::Sent { request: request.cleaned(secrets), at }),
        CompletionEvent::Failed(failed) => Some(Entry::AttemptFailed { failed: failed.clone(), at }),
        CompletionEvent::Learnt { change, reason } => {
            Some(Entry::RequestChanged { change: change.to_owned(), reason: reason.to_owned(), at })
        }
        CompletionEvent::Text(_) | CompletionEvent::Reasoning(_) | CompletionEvent::Retry { .. } => None,
    }
}

impl Listener<'_> {
    /// The completion; none when its time is up.
    pub(crate) async fn complete(
        self,
        provider: &mut dyn ChatProvider,
        request: Request<'_>,
    ) -> Result<Option<Completion>, Stopped> {
        // Both the provider and the clock tell of the same wait, one after the other.
        let log = RefCell::new(self.log);
        let mut written = Ok(());
        let (mut text, mut reasoning) = (self.secrets.redactor(), self.secrets.redactor());
        let mut receive = |arrived: CompletionEvent<'_>| match arrived {
            CompletionEvent::Text(piece) => log.borrow_mut().text(&text.pass(piece)),
            CompletionEvent::Reasoning(piece) => log.borrow_mut().reasoning(&reasoning.pass(piece)),
            CompletionEvent::Retry { attempt, wait, reason } => {
                // The reply begins anew.
                text.end();
                reasoning.end();
                log.borrow_mut().progress(Progress::Retry { attempt, wait, reason });
            }
            CompletionEvent::Sent(_) | CompletionEvent::Failed(_) | CompletionEvent::Learnt { .. } => {
                if let (Some(entry), Ok(())) = (entry(&arrived, self.secrets, (self.clock)()), &written) {
                    written = log.borrow_mut().write(entry);
                }
            }
        };
        let completing = provider.complete(request, &mut receive);
        let tick = || log.borrow_mut().progress(Progress::Tick);
        let waited = wait(completing, self.signals, self.time_left, tick).await;
        log.borrow_mut().reasoning(&reasoning.end());
        log.borrow_mut().text(&text.end());
        written?;
        match waited {
            Waited::Done(completion) => Ok(Some(completion?)),
            Waited::Signal(signal) => Err(Stopped::Interrupted(signal)),
            Waited::TimeUp => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_has_come_counts_even_if_the_time_is_over() {
        let mut signals = Signals::new(|_| Poll::Pending);
        for _ in 0..64 {
            let waited = wait(std::future::ready(1), &mut signals, Some(Duration::ZERO), || ()).await;
            assert!(matches!(waited, Waited::Done(1)));
        }
    }
}
