//! What a forked process sends to the one that forked it: messages of one size through a pipe, until its last writer is
//! gone.
//!
//! Apart because both sides must agree on it, and the writing side may make plain system calls alone.
#![expect(
    unsafe_code,
    reason = "the safe wrapper of write takes a descriptor that is owned, which a forked process has not"
)]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use libc::c_int;

/// One message of a forked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForkMessage {
    /// The pid of a new process in the PID namespace of the one that forked it.
    Outside(i32),
    /// The pid of a new process in its own PID namespace.
    Inside(i32),
    /// The namespaces are made, and their users have no numbers yet.
    Unshared,
    /// The descriptor under which the process has its list of shared memory open.
    Segments(i32),
    /// A step failed: its number, and that of the system's error.
    Failed(i32, i32),
}

impl ForkMessage {
    /// Writes it: less than a pipe takes at once, so never in pieces.
    pub(super) fn send(self, pipe: c_int) -> io::Result<()> {
        let numbers: [i32; 3] = match self {
            ForkMessage::Outside(pid) => [1, pid, 0],
            ForkMessage::Inside(pid) => [2, pid, 0],
            ForkMessage::Unshared => [3, 0, 0],
            ForkMessage::Failed(step, error) => [4, step, error],
            ForkMessage::Segments(number) => [5, number, 0],
        };
        // SAFETY: the buffer has the size that is given.
        let written = unsafe { libc::write(pipe, numbers.as_ptr().cast(), size_of_val(&numbers)) };
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn read(bytes: [u8; 12]) -> Option<ForkMessage> {
        let number = |at: usize| i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        match number(0) {
            1 => Some(ForkMessage::Outside(number(4))),
            2 => Some(ForkMessage::Inside(number(4))),
            3 => Some(ForkMessage::Unshared),
            4 => Some(ForkMessage::Failed(number(4), number(8))),
            5 => Some(ForkMessage::Segments(number(4))),
            _ => None,
        }
    }
}

/// The messages, as they come.
pub(super) fn messages(pipe: OwnedFd) -> impl Iterator<Item = ForkMessage> {
    let mut pipe = File::from(pipe);
    std::iter::from_fn(move || {
        let mut bytes = [0; 12];
        pipe.read_exact(&mut bytes).ok()?;
        ForkMessage::read(bytes)
    })
}
