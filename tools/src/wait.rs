//! Waiting with an end: for descriptors that become readable, and for what has no descriptor.
//!
//! Apart because every part that ends processes waits for them, and none may wait for ever.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// Which of these can be read or are at their end (a pidfd: the process has ended), as soon as one is, after `limit` at
/// the latest. What is not there never is.
pub(crate) fn for_any<const N: usize>(
    sources: [Option<BorrowedFd<'_>>; N],
    limit: Duration,
) -> io::Result<[bool; N]> {
    let present = sources.iter().flatten();
    let mut fds: Vec<PollFd> = present.map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    match rustix::event::poll(&mut fds, Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    Ok(sources.map(|source| source.is_some() && ready.next() == Some(true)))
}

/// Asks again and again, with a pause between, until it is so or `limit` is over. Gives whether it is so.
pub(crate) fn until(limit: Duration, pause: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_is_ready_is_told_in_its_place() {
        let (full, writer) = io::pipe().unwrap();
        (&writer).write_all(b"x").unwrap();
        let (empty, _writer) = io::pipe().unwrap();
        let (closed, _) = io::pipe().unwrap();
        let sources = [None, Some(empty.as_fd()), Some(full.as_fd()), Some(closed.as_fd())];
        assert_eq!(for_any(sources, Duration::from_secs(60)).unwrap(), [false, false, true, true]);
        assert_eq!(for_any([Some(empty.as_fd())], Duration::ZERO).unwrap(), [false]);
        assert_eq!(for_any([None], Duration::ZERO).unwrap(), [false]);
    }

    #[test]
    fn it_is_asked_until_it_is_so_and_once_at_least() {
        let mut asked = 0;
        let mut after = |times: u32| {
            asked += 1;
            asked >= times
        };
        assert!(until(Duration::from_secs(60), Duration::ZERO, || after(3)));
        assert!(!until(Duration::ZERO, Duration::ZERO, || after(u32::MAX)));
        assert_eq!(asked, 4);
    }
}
