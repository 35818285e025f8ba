//! The memory of a run's namespaces that need not be in any process: what is written to its /dev/shm, and System V segments.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::Mode;
use rustix::process::{ForeignRawFd, Pid, PidfdFlags, PidfdGetfdFlags};

use crate::open_flags::DIRECTORY;

/// Handles to ask how much there is; clones are of the same memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMemory {
    /// The directory /dev/shm of the run's mounts.
    files: Option<Arc<OwnedFd>>,
    /// /proc/sysvipc/shm, opened inside: it shows the segments of the namespace of the process that opened it.
    segments: Option<Arc<File>>,
}

impl SharedMemory {
    /// `files` is a path of /dev/shm; where that is the machine's, it is not the run's alone. What cannot be had counts nothing: what is mapped of it is still seen in processes.
    pub(super) fn open(files: &std::path::Path, segments: Option<File>) -> SharedMemory {
        let device = |stat: rustix::fs::Stat| stat.st_dev;
        let machine = rustix::fs::stat("/dev/shm").ok().map(device);
        let files = rustix::fs::open(files, DIRECTORY, Mode::empty()).ok();
        let files = files.filter(|files| rustix::fs::fstat(files).ok().map(device) != machine);
        SharedMemory { files: files.map(Arc::new), segments: segments.map(Arc::new) }
    }

    /// How much there is.
    pub(crate) fn bytes(&self) -> u64 {
        let files = self.files.as_ref().and_then(|files| rustix::fs::fstatvfs(&**files).ok());
        let files = files.map_or(0, |stat| stat.f_blocks.saturating_sub(stat.f_bfree) * stat.f_frsize);
        let segments = self.segments.as_ref().and_then(|segments| whole(segments).ok()).unwrap_or_default();
        files + resident(&segments)
    }
}

/// Descriptor `number` of another process: one that it opened inside of its namespaces, where the caller is not.
pub(super) fn taken(process: Pid, number: i32) -> io::Result<File> {
    let handle = rustix::process::pidfd_open(process, PidfdFlags::empty())?;
    let taken =
        rustix::process::pidfd_getfd(handle.as_fd(), number as ForeignRawFd, PidfdGetfdFlags::empty())?;
    Ok(taken.into())
}

/// From its beginning, wherever others have read it to.
fn whole(file: &File) -> io::Result<String> {
    let (mut text, mut piece) = (Vec::new(), [0; 8192]);
    loop {
        match file.read_at(&mut piece, text.len() as u64)? {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            length => text.extend(&piece[..length]),
        }
    }
}

/// `key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap`, a line for each segment below one of
/// these names.
fn resident(segments: &str) -> u64 {
    let of = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(14).map_while(|field| field.parse::<u64>().ok());
        fields.next().unwrap_or(0) + fields.next().unwrap_or(0)
    };
    segments.lines().skip(1).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_segments_are_counted_wherever_they_are() {
        let names = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n";
        let one = "0 0 600 999999 7 7 0 0 0 0 0 1 1 1 4096 8192\n";
        assert_eq!(resident(&format!("{names}{one}{one}")), 2 * (4096 + 8192));
        assert_eq!((resident(names), resident("")), (0, 0));
    }
}
