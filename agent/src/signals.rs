//! SIGINT, SIGTERM and SIGHUP as values that the loop can wait for: an interruption is an orderly stop, not a crash.
//!
//! The handlers are the program's: it gives a run what the run waits for.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

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

type Next = dyn FnMut(&mut Context<'_>) -> Poll<Signal>;

/// The signals from some moment on.
pub struct Signals(Box<Next>);

impl Signals {
    /// What `poll` gives, one after the other.
    pub fn new(poll: impl FnMut(&mut Context<'_>) -> Poll<Signal> + 'static) -> Signals {
        Signals(Box::new(poll))
    }

    /// The next signal, whenever it comes.
    pub async fn next(&mut self) -> Signal {
        poll_fn(|context| (self.0)(context)).await
    }
}
