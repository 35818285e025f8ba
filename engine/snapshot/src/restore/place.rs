//! The workspace by its handle: a path in it is reached through directories alone, never through a symlink.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, chmod, openat, openat2, readlinkat};
use rustix::io::Errno;

use crate::error::{SnapshotError, io_error};
use crate::stamp::{FileStamp, look};
use crate::tree::PERMISSIONS;

/// How often a path is resolved while somebody renames on it.
const TRIES: usize = 16;

/// See the module.
pub(super) struct OpenWorkspace {
    root: OwnedFd,
    path: PathBuf,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathState {
    Missing,
    /// Not even a directory that it could be in: something else is in its place.
    Blocked,
    File {
        mode: u32,
        stamp: FileStamp,
    },
    Symlink(OsString),
    Directory {
        mode: u32,
    },
    /// A socket, a FIFO, a device.
    Special,
}

impl OpenWorkspace {
    pub(super) fn open(path: &Path) -> Result<OpenWorkspace, SnapshotError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty()).map_err(io_error("open the directory", path))?;
        Ok(OpenWorkspace { root, path: path.to_owned() })
    }

    pub(super) fn is_empty(&self) -> Result<bool, SnapshotError> {
        self.names(Path::new("")).map(|names| names.is_empty())
    }

    /// The names in a directory.
    pub(super) fn names(&self, path: &Path) -> Result<Vec<OsString>, SnapshotError> {
        let names = self.directory(path, OFlags::RDONLY).and_then(|directory| {
            let entries = rustix::fs::Dir::new(directory)?;
            entries.map(|entry| Ok(OsString::from_vec(entry?.file_name().to_bytes().to_vec()))).collect()
        });
        let names: Vec<OsString> = names.map_err(|error: Errno| self.failed("list", path)(error))?;
        Ok(names.into_iter().filter(|name| name != "." && name != "..").collect())
    }

    /// A directory of the workspace, for what `flags` say; with [`OFlags::PATH`] it need not be readable.
    pub(super) fn directory(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let mut last = Errno::AGAIN;
        for _ in 0..TRIES {
            match openat2(&self.root, path, flags, Mode::empty(), resolve) {
                Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
                done => return done,
            }
        }
        Err(last)
    }

    /// The directory that a path is in, and its name there.
    pub(super) fn parent<'p>(&self, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.directory(parent, OFlags::PATH)?, name))
    }

    pub(super) fn state(&self, path: &Path) -> Result<PathState, SnapshotError> {
        self.look(path).map_err(io_error("look at", &self.whole(path)))
    }

    fn look(&self, path: &Path) -> Result<PathState, Errno> {
        let (parent, name) = match self.parent(path) {
            Err(Errno::NOENT) => return Ok(PathState::Missing),
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(PathState::Blocked),
            opened => opened?,
        };
        let found = match look(&parent, name.as_encoded_bytes()) {
            Err(Errno::NOENT) => return Ok(PathState::Missing),
            found => found?,
        };
        let mode = found.mode & PERMISSIONS;
        Ok(match found.kind {
            FileType::RegularFile => PathState::File { mode, stamp: found.stamp },
            FileType::Directory => PathState::Directory { mode },
            FileType::Symlink => {
                PathState::Symlink(OsString::from_vec(readlinkat(&parent, name, Vec::new())?.into_bytes()))
            }
            _ => PathState::Special,
        })
    }

    /// Sets the permissions of a file or a directory, be they such that it cannot be opened.
    pub(super) fn set_mode(&self, path: &Path, mode: u32) -> Result<(), SnapshotError> {
        let set = || -> Result<(), Errno> {
            let (parent, name) = self.parent(path)?;
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&parent, name, flags, Mode::empty())?;
            // A symlink has no permissions of its own; that of its target are not ours to set.
            if look(&file, b"")?.kind == FileType::Symlink {
                return Err(Errno::LOOP);
            }
            chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), Mode::from_raw_mode(mode))
        };
        set().map_err(io_error("set the permissions of", &self.whole(path)))
    }

    /// Everything that was written is on the disk then.
    pub(super) fn sync(&self) -> Result<(), SnapshotError> {
        rustix::fs::syncfs(self.root.as_fd()).map_err(io_error("sync", &self.path))
    }

    pub(super) fn whole(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    pub(super) fn failed<E: Into<io::Error>>(
        &self,
        doing: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> SnapshotError + use<E> {
        io_error(doing, &self.whole(path))
    }
}
