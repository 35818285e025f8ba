//! The handlers of SIGINT, SIGTERM and SIGHUP: what the library waits for is installed here.

use std::io;
use std::task::{Context, Poll};

use crate::shell::ignores_hangups;
use tokio::signal::unix::{self, SignalKind};

use uwf_agent::signals::{Signal, Signals};

/// Takes the signals over from the default action, which is to die at once.
///
/// # Errors
/// The system's, when the handlers cannot be installed.
pub(super) fn catch() -> io::Result<Signals> {
    let mut interrupt = unix::signal(SignalKind::interrupt())?;
    let mut terminate = unix::signal(SignalKind::terminate())?;
    // None where it is ignored.
    let mut hang_up = (!ignores_hangups()).then(|| unix::signal(SignalKind::hangup())).transpose()?;
    Ok(Signals::new(move |context: &mut Context<'_>| {
        if interrupt.poll_recv(context).is_ready() {
            return Poll::Ready(Signal::Interrupt);
        }
        if terminate.poll_recv(context).is_ready() {
            return Poll::Ready(Signal::Terminate);
        }
        match &mut hang_up {
            Some(hang_up) => hang_up.poll_recv(context).map(|_| Signal::HangUp),
            None => Poll::Pending,
        }
    }))
}
