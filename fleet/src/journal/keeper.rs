//! The worker's end of the socket by which the agents of a step ask to keep their journals.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use uwf_engine::home::make_private;
use uwf_engine::journals::sink::{KeepAnswer, KeepRequest, listen};

use crate::queue::Lease;

/// A question is no longer than this.
const LONGEST: usize = 256;

/// Listens to the agents of a step. They hear that it is over by its end.
#[derive(Debug)]
pub struct Keeper {
    path: PathBuf,
    listener: UnixListener,
    is_closed: OwnedFd,
    close: OwnedFd,
}

/// An agent that is connected, and what it has said of a question.
struct Client {
    stream: UnixStream,
    heard: Vec<u8>,
}

impl Keeper {
    /// Listens below `home`, in a directory that only this user can reach.
    ///
    /// # Errors
    /// The system's.
    pub fn open(home: &Path, lease: &Lease) -> io::Result<Keeper> {
        let dir = home.join("keepers");
        make_private(&dir)?;
        // What a worker has left that was killed.
        let own = format!("{}.", lease.thread);
        for entry in fs::read_dir(&dir)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&own) {
                fs::remove_file(entry.path()).ok();
            }
        }
        let path = dir.join(format!("{own}{}", lease.fence));
        let listener = listen(&path)?;
        listener.set_nonblocking(true)?;
        let (is_closed, close) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Keeper { path, listener, is_closed, close })
    }

    /// Where it listens: what the variable `JOURNAL_SINK` of an agent has.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The step is over: [`Keeper::serve`] ends.
    pub fn close(&self) {
        // A pipe that is full says the same.
        rustix::io::write(&self.close, b"x").ok();
    }

    /// Has each question answered by `keep`, one after the other, until it is closed.
    ///
    /// # Errors
    /// The system's.
    pub fn serve(&self, keep: &mut dyn FnMut(&KeepRequest) -> KeepAnswer) -> io::Result<()> {
        let mut clients: Vec<Client> = Vec::new();
        loop {
            let ready = self.ready(&clients)?;
            let [is_closed, is_called, ready @ ..] = ready.as_slice() else { return Ok(()) };
            if *is_closed {
                return Ok(());
            }
            let mut at = ready.iter();
            clients.retain_mut(|client| {
                let is_ready = at.next().copied().unwrap_or(false);
                !is_ready || client.hear(keep).is_ok()
            });
            if *is_called && let Ok((stream, _)) = self.listener.accept() {
                clients.push(Client { stream, heard: Vec::new() });
            }
        }
    }

    /// Waits until something happens, and tells where: the end, a new agent, each of those that are connected.
    fn ready(&self, clients: &[Client]) -> io::Result<Vec<bool>> {
        let streams = clients.iter().map(|client| client.stream.as_fd());
        let all = [self.is_closed.as_fd(), self.listener.as_fd()].into_iter().chain(streams);
        let mut all: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        loop {
            match poll(&mut all, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(all.iter().map(|fd| !fd.revents().is_empty()).collect()),
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

impl Client {
    /// Takes what has come, and answers a question that is complete. Who says anything else is not heard any more.
    fn hear(&mut self, keep: &mut dyn FnMut(&KeepRequest) -> KeepAnswer) -> io::Result<()> {
        let mut bytes = [0; LONGEST];
        let count = self.stream.read(&mut bytes)?;
        self.heard.extend_from_slice(&bytes[..count]);
        if count == 0 || self.heard.len() > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
        let Some(line) = self.heard.strip_suffix(b"\n") else { return Ok(()) };
        let request = std::str::from_utf8(line).ok().and_then(|line| line.parse().ok());
        let request = request.ok_or(ErrorKind::InvalidData)?;
        self.heard.clear();
        self.stream.write_all(format!("{}\n", keep(&request)).as_bytes())
    }
}
