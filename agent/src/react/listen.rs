//! Waiting: for the provider or for tools, while time runs out, signals come and people want to see that it goes on.
//!
//! Apart because every wait of the loop is this one. What arrives is freed from secrets before anybody hears it.

use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::{Event, Stopped};
use crate::provider::message::{Completion, Request};
use crate::provider::{Progress, Provider};
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
    pub(super) watch: &'a mut dyn FnMut(Event<'_>),
    pub(super) signals: &'a mut Signals,
    pub(super) secrets: &'a Secrets,
    pub(super) time_left: Option<Duration>,
}

/// Nothing is no piece.
fn tell_some(piece: &str, tell: &dyn Fn(&str)) {
    if !piece.is_empty() {
        tell(piece);
    }
}

impl Listener<'_> {
    /// The completion; none when its time is up.
    pub(crate) async fn complete(
        self,
        provider: &mut dyn Provider,
        request: Request<'_>,
    ) -> Result<Option<Completion>, Stopped> {
        // Both the provider and the clock tell of the same wait, one after the other.
        let watch = RefCell::new(self.watch);
        let tell = |event: Event<'_>| (watch.borrow_mut())(event);
        let tell_text = |piece: &str| tell_some(piece, &|piece| tell(Event::Progress(Progress::Text(piece))));
        let tell_reasoning =
            |piece: &str| tell_some(piece, &|piece| tell(Event::Progress(Progress::Reasoning(piece))));
        let (mut text, mut reasoning) = (self.secrets.blot(), self.secrets.blot());
        let mut hear = |heard: Progress<'_>| match heard {
            Progress::Text(piece) => tell_text(&text.pass(piece)),
            Progress::Reasoning(piece) => tell_reasoning(&reasoning.pass(piece)),
            retry @ Progress::Retry { .. } => {
                // The reply begins anew.
                text.end();
                reasoning.end();
                tell(Event::Progress(retry));
            }
            learnt @ Progress::Learnt { .. } => tell(Event::Progress(learnt)),
        };
        let completing = provider.complete(request, &mut hear);
        let waited = wait(completing, self.signals, self.time_left, || tell(Event::Tick)).await;
        tell_reasoning(&reasoning.end());
        tell_text(&text.end());
        match waited {
            Waited::Done(completion) => Ok(Some(completion?)),
            Waited::Signal(signal) => Err(Stopped::Interrupted(signal)),
            Waited::TimeUp => Ok(None),
        }
    }
}
