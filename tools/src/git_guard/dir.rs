//! One directory, open: its files read, replaced and removed by name, none of them through a symlink.
//!
//! Apart from [`crate::replace`] because git's own data is what that refuses to touch. It never decides what belongs
//! in a file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::workspace::kind;

/// Files above this are not git's configuration, and no hook anybody wrote.
const MAX_BYTES: u64 = 16 << 20;

/// What is there under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Missing,
    /// A regular file and its mode.
    File(Vec<u8>, u32),
    /// A symlink and its target.
    Link(OsString),
    /// A regular file that is too large to be kept, or may not be read. It may be run all the same.
    Opaque,
    /// A directory, a device.
    Other,
}

pub(crate) struct Dir(OwnedFd);

impl Dir {
    /// Opens an absolute path that holds no symlink; `None` when it is none, or no directory. One that its owner may
    /// not list, which keeps git from nothing, becomes one that he may.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let open = |flags| {
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
        };
        match open(OFlags::RDONLY) {
            Err(Errno::ACCESS) => {
                let this = open(OFlags::PATH).ok()?;
                let mode = Mode::from_raw_mode(rustix::fs::fstat(&this).ok()?.st_mode) | Mode::RWXU;
                rustix::fs::chmod(format!("/proc/self/fd/{}", this.as_raw_fd()), mode).ok()?;
                open(OFlags::RDONLY).ok().map(Self)
            }
            opened => opened.ok().map(Self),
        }
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self) -> Vec<OsString> {
        let entries = rustix::fs::Dir::read_from(&self.0).into_iter().flatten().flatten();
        let names = entries.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        let mut names: Vec<_> = names.filter(|name| name != "." && name != "..").collect();
        names.sort();
        names
    }

    /// What is there; what cannot be looked at is something else.
    pub(crate) fn read(&self, name: &OsStr) -> Content {
        self.try_read(name).unwrap_or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Content::Missing,
            _ => Content::Other,
        })
    }

    fn try_read(&self, name: &OsStr) -> io::Result<Content> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match kind(&stat) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&self.0, name, Vec::new())?;
                return Ok(Content::Link(OsString::from_vec(target.into_bytes())));
            }
            FileType::RegularFile => {}
            _ => return Ok(Content::Other),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => return Ok(Content::Opaque),
            opened => File::from(opened?),
        };
        let stat = rustix::fs::fstat(&file)?;
        let mut content = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
        Ok(match kind(&stat) {
            FileType::RegularFile if content.len() as u64 > MAX_BYTES => Content::Opaque,
            FileType::RegularFile => Content::File(content, stat.st_mode & 0o7777),
            _ => Content::Other,
        })
    }

    /// Puts `content` under this name, whatever is there, whole or not at all.
    pub(crate) fn put(&self, name: &OsStr, content: &Content) -> io::Result<()> {
        let temporary = format!(".uwf-{}.tmp", std::process::id());
        let _ = rustix::fs::unlinkat(&self.0, &temporary, AtFlags::empty());
        match content {
            Content::Missing => return self.remove(name),
            Content::Opaque | Content::Other => return Ok(()),
            Content::Link(target) => rustix::fs::symlinkat(target.as_bytes(), &self.0, &temporary)?,
            Content::File(bytes, mode) => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let fd = rustix::fs::openat(&self.0, &temporary, flags, Mode::from_raw_mode(0o600))?;
                let mut file = File::from(fd);
                file.write_all(bytes)?;
                rustix::fs::fchmod(&file, Mode::from_raw_mode(*mode))?;
                file.sync_all()?;
            }
        }
        rustix::fs::renameat(&self.0, &temporary, &self.0, name)?;
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// A directory of this name, made where there is none.
    pub(crate) fn make(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn remove(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
