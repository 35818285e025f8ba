//! One file into the store: not read where its stamp is known, and read again where it changes meanwhile.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags, openat};
use rustix::io::Errno;
use uwf_store::StoreError;

use super::Why;
use super::listing::ListedName;
use super::walk::{CaptureWalk, Looked};
use crate::cache::Known;
use crate::error::{Limit, SnapshotError};
use crate::stamp::{FileStatus, look};
use crate::tree::{PERMISSIONS, SnapshotEntry};

impl CaptureWalk<'_> {
    pub(super) fn file(
        &mut self,
        directory: &OwnedFd,
        name: &ListedName,
        found: &FileStatus,
        known: Option<&Known>,
    ) -> Result<Looked, SnapshotError> {
        let size = found.stamp.size;
        if size > self.options.max_file_bytes {
            return Ok(self.too_large(size));
        }
        self.check(Limit::Bytes, self.snapshot.bytes.saturating_add(size), self.options.max_bytes)?;
        match known {
            Some(known) if known.stamp == Some(found.stamp) => Ok(same(known, found)),
            _ => self.read(directory, name),
        }
    }

    fn read(&mut self, directory: &OwnedFd, name: &ListedName) -> Result<Looked, SnapshotError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = openat(directory, &*name.bytes, flags, Mode::empty());
        let (opened, before) = match opened.and_then(|file| look(&file, b"").map(|found| (file, found))) {
            Ok(opened) => opened,
            Err(error) => return self.unreadable(error),
        };
        if before.kind != FileType::RegularFile {
            return Ok(Looked::Changed(None));
        }
        let mut opened = File::from(opened);
        let most = self.options.max_file_bytes;
        let withheld = self.options.withheld.is_in(&mut (&mut opened).take(most));
        match withheld.and_then(|withheld| opened.rewind().map(|()| withheld)) {
            Ok(false) => {}
            Ok(true) => return Ok(self.without(Why::Secret)),
            Err(source) => return self.unreadable(errno(&source)),
        }
        let blob = match self.batch.put_blob(&mut (&mut opened).take(most.saturating_add(1))) {
            Ok(blob) => blob,
            Err(StoreError::Unread { source }) => return self.unreadable(errno(&source)),
            Err(error) => return Err(error.into()),
        };
        self.snapshot.work.files_read += 1;
        if blob.size > most {
            return Ok(self.too_large(blob.size));
        }
        let after = match look(&opened, b"") {
            Ok(after) => after,
            Err(error) => return self.unreadable(error),
        };
        let is_steady = before.stamp == after.stamp && blob.size == after.stamp.size;
        let is_settled = is_steady && after.stamp.changed < self.settled_before;
        let entry =
            SnapshotEntry::File { content: blob.hash, size: blob.size, mode: after.mode & PERMISSIONS };
        let stamp = is_settled.then_some(after.stamp);
        let known = Known { name: name.bytes.clone(), entry, stamp, below: None };
        Ok(if is_steady { Looked::Found(known, false) } else { Looked::Changed(Some(known)) })
    }

    fn too_large(&mut self, size: u64) -> Looked {
        self.without(Why::TooLarge { size, allowed: self.options.max_file_bytes })
    }
}

/// What is known of a file that is the same, with the mode it has now.
fn same(known: &Known, found: &FileStatus) -> Looked {
    let (mut known, mut is_same) = (known.clone(), true);
    if let SnapshotEntry::File { mode, .. } = &mut known.entry {
        is_same = std::mem::replace(mode, found.mode & PERMISSIONS) == *mode;
    }
    Looked::Found(known, is_same)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
