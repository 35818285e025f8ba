//! SIGINT, SIGTERM and SIGHUP as values that the loop can wait for: an interruption is an orderly stop, not a crash.

use std::fmt;
use std::future::pending;
use std::io;

use tokio::signal::unix::{self, SignalKind};
use uwf_engine::cli::ignores_hangups;

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// What service managers and `kill` send.
    Terminate,
    /// The terminal is gone, and nobody said `nohup`.
    HangUp,
}

impl Signal {
    /// The exit code by which a shell tells it: 128 and the signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
            Signal::HangUp => 129,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
            Signal::HangUp => "SIGHUP",
        })
    }
}

/// The signals from here on.
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    /// None where it is ignored.
    hang_up: Option<unix::Signal>,
}

impl Signals {
    /// Takes the signals over from the default action, which is to die at once.
    ///
    /// # Errors
    /// The system's, when the handlers cannot be installed.
    pub(crate) fn install() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
            hang_up: (!ignores_hangups()).then(|| unix::signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// The next signal, whenever it comes.
    pub(crate) async fn next(&mut self) -> Signal {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = hang_up => Signal::HangUp,
        }
    }
}
