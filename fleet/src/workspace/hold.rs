//! Whose a directory is just now: a lock that goes with its process, so that what a killed one has left is nobody's.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::WorkspaceError;
use super::error::disk;
use super::halt::{Halting, TICK};

/// The lock of a directory, for as long as this value lives.
#[derive(Debug)]
pub(super) struct Hold {
    file: File,
    path: PathBuf,
}

/// What is behind the name of a directory in the name of its lock.
pub(super) const LOCK: &str = ".lock";

impl Hold {
    /// Takes the directory of this name below `root`; none where somebody has it.
    pub(super) fn take(root: &Path, name: &str) -> io::Result<Option<Hold>> {
        Hold::locked(root, name, &|file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        })
    }

    /// Takes it when nobody else has it any more; none where that takes longer than a command may.
    pub(super) fn wait(root: &Path, name: &str, halting: &Halting) -> Result<Option<Hold>, WorkspaceError> {
        let begun = Instant::now();
        loop {
            if let Some(hold) = Hold::take(root, name).map_err(disk("lock", root))? {
                return Ok(Some(hold));
            }
            if begun.elapsed() >= halting.limit {
                return Ok(None);
            }
            halting.pause(TICK)?;
        }
    }

    fn locked(root: &Path, name: &str, lock: &dyn Fn(&File) -> io::Result<bool>) -> io::Result<Option<Hold>> {
        let path = root.join(format!("{name}{LOCK}"));
        loop {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            // Whoever had it may have removed it meanwhile: then another file has the name.
            let same = fs::metadata(&path).and_then(|named| {
                let held = file.metadata()?;
                Ok((named.dev(), named.ino()) == (held.dev(), held.ino()))
            });
            if same.unwrap_or(false) {
                return Ok(Some(Hold { file, path }));
            }
        }
    }

    /// Lets go of a directory that is gone.
    pub(super) fn remove(self) {
        fs::remove_file(&self.path).ok();
        drop(self.file);
    }
}
