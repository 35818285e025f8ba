//! The runtime in which servers are talked to: one thread, beside those that wait for an answer.
//!
//! Apart because tools block and the protocol does not: while nobody asks, a server may still say something.

use std::future::Future;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use uwf_tools::Cancel;

use super::McpError;

/// How often whoever waits looks whether it is to go on.
const LOOK: Duration = Duration::from_millis(20);

/// The thread.
#[derive(Debug)]
pub(super) struct Host {
    handle: Handle,
    /// When this is dropped, the thread ends.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why nobody waits any more for what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The time was over.
    TimedOut,
    /// The run is to end.
    Cancelled,
    /// The work is gone: it panicked.
    Lost,
}

impl Host {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has none.
    pub(super) fn start() -> Result<Host, McpError> {
        let failed = |error: std::io::Error| McpError::NoRuntime(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            runtime.block_on(async { drop(stopped.await) });
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("mcp".to_owned()).spawn(run).map_err(failed)?;
        Ok(Host { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Has this done by the thread, and waits for it. What nobody waits for any more is dropped where it is.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
        (limit, cancel): (Duration, &Cancel),
    ) -> Result<T, Unanswered> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = self.handle.spawn(async move { drop(sender.send(work.await)) });
        let end = Instant::now() + limit;
        let why = loop {
            match receiver.recv_timeout(LOOK) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Disconnected) => break Unanswered::Lost,
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => break Unanswered::Cancelled,
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => break Unanswered::TimedOut,
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        task.abort();
        Err(why)
    }

    /// Has this done by the thread; nobody waits for it.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(work));
    }

    /// For what must be made within the runtime.
    pub(super) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.handle.enter()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_or_nobody_waits_for_it() {
        let host = Host::start().unwrap();
        let (long, never) = (Duration::from_secs(60), Cancel::default());
        assert_eq!(host.wait(async { 7 }, (long, &never)), Ok(7));
        let endless = || std::future::pending::<()>();
        assert_eq!(host.wait(endless(), (Duration::ZERO, &never)), Err(Unanswered::TimedOut));
        let panicked = host.wait(async { panic!("out of ideas") }, (long, &never));
        assert_eq!(panicked, Err::<(), _>(Unanswered::Lost));
        never.cancel();
        assert_eq!(host.wait(endless(), (long, &never)), Err(Unanswered::Cancelled));
    }
}
