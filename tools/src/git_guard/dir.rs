//! One directory, open: its files read, replaced and removed by name, none of them through a symlink.
//!
//! Apart from [`crate::replace`] because git's own data is what that refuses to touch, and because this one must succeed
//! where somebody does what he can to prevent it: closed directories, taken names, a full disk. It never decides what
//! belongs in a file.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::stamp::Stamp;
use crate::workspace::kind;

/// Files above this are not git's configuration, and no hook anybody wrote.
const MAX_BYTES: u64 = 16 << 20;

/// A directory, to be listed.
pub(super) const LOOK: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A directory, whether it may be listed or not.
pub(super) const NAME: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What is there under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Missing,
    /// A regular file and its mode.
    File(Vec<u8>, u32),
    /// A symlink and its target.
    Link(OsString),
    /// A regular file that is too large to be kept, or may not be read. It may be run all the same.
    Opaque(Stamp),
    Dir,
    /// A device, a FIFO.
    Other,
}

pub(crate) struct Dir {
    fd: OwnedFd,
    /// Directories that were closed, from the outermost, and their modes.
    closed: Vec<(OwnedFd, Mode)>,
}

/// Closes again what was closed.
impl Drop for Dir {
    fn drop(&mut self) {
        for (dir, mode) in self.closed.iter().rev() {
            // It is ours, so this fails only where somebody changed that meanwhile.
            let _ = set_mode(dir, *mode);
        }
    }
}

impl Dir {
    /// Opens an absolute path that holds no symlink; `None` when it is none, or no directory. Those on the way that
    /// their owner has closed, which keeps git from nothing once he opens them again, are open until this is dropped.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, path, LOOK, Mode::empty(), resolve) {
            Err(Errno::ACCESS | Errno::NAMETOOLONG) => Self::step_by_step(path).ok(),
            opened => Some(Self { fd: opened.ok()?, closed: Vec::new() }),
        }
    }

    fn step_by_step(path: &Path) -> Result<Self, Errno> {
        let mut this = Self { fd: rustix::fs::openat(CWD, "/", NAME, Mode::empty())?, closed: Vec::new() };
        for part in path.components() {
            let Component::Normal(name) = part else { continue };
            let fd = this.through_closed(|dir| rustix::fs::openat(dir, name, NAME, Mode::empty()))?;
            this.fd = fd;
        }
        let fd = this.through_closed(|dir| rustix::fs::openat(dir, ".", LOOK, Mode::empty()))?;
        this.fd = fd;
        Ok(this)
    }

    /// Tries once more with the directory open, where that is what is in the way.
    fn through_closed<T>(&mut self, act: impl Fn(&OwnedFd) -> Result<T, Errno>) -> Result<T, Errno> {
        match act(&self.fd) {
            Err(Errno::ACCESS) => {
                let mode = open_up(&self.fd)?.ok_or(Errno::ACCESS)?;
                self.closed.push((rustix::io::fcntl_dupfd_cloexec(&self.fd, 0)?, mode));
                act(&self.fd)
            }
            done => done,
        }
    }

    /// Opens it to its owner until this is dropped, where it can be.
    fn open_up(&mut self) -> io::Result<()> {
        if let Some(mode) = open_up(&self.fd).unwrap_or_default() {
            self.closed.push((self.fd.try_clone()?, mode));
        }
        Ok(())
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self) -> Vec<OsString> {
        let entries = rustix::fs::Dir::read_from(&self.fd).into_iter().flatten().flatten();
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
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match kind(&stat) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&self.fd, name, Vec::new())?;
                return Ok(Content::Link(OsString::from_vec(target.into_bytes())));
            }
            FileType::RegularFile => {}
            FileType::Directory => return Ok(Content::Dir),
            _ => return Ok(Content::Other),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => return Ok(Content::Opaque(Stamp::of(&stat))),
            opened => File::from(opened?),
        };
        let stat = rustix::fs::fstat(&file)?;
        let mut content = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
        Ok(match kind(&stat) {
            FileType::RegularFile if content.len() as u64 > MAX_BYTES => Content::Opaque(Stamp::of(&stat)),
            FileType::RegularFile => Content::File(content, stat.st_mode & 0o7777),
            _ => Content::Other,
        })
    }

    /// What is there, where there is no room for what is in a file.
    pub(super) fn unread(&self, name: &OsStr) -> Content {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == FileType::RegularFile => Content::Opaque(Stamp::of(&stat)),
            _ => self.read(name),
        }
    }

    /// Puts `content` under this name, whatever is there. Where that fails, nothing is under the name any more, or all
    /// was tried to that end: what is there may not be run.
    pub(crate) fn put(&mut self, name: &OsStr, content: &Content) -> io::Result<()> {
        self.open_up()?;
        let done = match content {
            Content::Missing => return self.remove(name),
            Content::Opaque(_) | Content::Dir | Content::Other => {
                Err(io::Error::other("what was there before could not be kept"))
            }
            Content::Link(target) => self.exchange(name, |temporary| {
                Ok(rustix::fs::symlinkat(target.as_bytes(), &self.fd, temporary)?)
            }),
            Content::File(bytes, mode) => {
                let mode = Mode::from_raw_mode(*mode);
                let exchanged = self.exchange(name, |temporary| self.write_new(temporary, bytes, mode));
                // A full disk has room for what is there already.
                exchanged.or_else(|error| self.overwrite(name, bytes, mode).map_err(|_| error))
            }
        };
        done.map_err(|error| match self.set_aside(name) {
            Ok(aside) => io::Error::other(format!("{error}; what was there is {} now", aside.display())),
            Err(_) => error,
        })
    }

    /// Makes a new file, or symlink, under a name that nobody can know, and moves it here.
    fn exchange(&self, name: &OsStr, make: impl Fn(&OsStr) -> io::Result<()>) -> io::Result<()> {
        let temporary = fresh("", ".tmp");
        let done = make(&temporary).and_then(|()| {
            match rustix::fs::renameat(&self.fd, &temporary, &self.fd, name) {
                Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                    self.set_aside(name)?;
                    rustix::fs::renameat(&self.fd, &temporary, &self.fd, name)?;
                }
                renamed => renamed?,
            }
            Ok(rustix::fs::fsync(&self.fd)?)
        });
        if done.is_err() {
            // Gone already when only the last sync failed.
            let _ = rustix::fs::unlinkat(&self.fd, &temporary, AtFlags::empty());
        }
        done
    }

    pub(crate) fn write_new(&self, name: &OsStr, bytes: &[u8], mode: Mode) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600))?);
        file.write_all(bytes)?;
        rustix::fs::fchmod(&file, mode)?;
        file.sync_all()
    }

    /// Writes into the file that is there, which stays the same file. One with several names is left: the others are not
    /// git's.
    pub(crate) fn overwrite(&self, name: &OsStr, bytes: &[u8], mode: Mode) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?);
        let stat = rustix::fs::fstat(&file)?;
        if kind(&stat) != FileType::RegularFile || stat.st_nlink != 1 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        rustix::fs::fchmod(&file, mode)?;
        file.sync_all()
    }

    /// Gives what is there a name under which git runs nothing, which needs no room; gives that name.
    fn set_aside(&self, name: &OsStr) -> io::Result<OsString> {
        let aside = fresh(&name.to_string_lossy(), ".sample");
        rustix::fs::renameat(&self.fd, name, &self.fd, &aside)?;
        Ok(aside)
    }

    /// A directory of this name, made where there is none.
    pub(crate) fn make(&mut self, name: &OsStr) -> io::Result<()> {
        self.open_up()?;
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(_) => self.set_aside(name).map(drop),
        }
    }
}

/// Lets the owner do everything in a directory, and gives the mode it had; none when he may already, or when it is not
/// ours: then no command of ours changed anything there either.
pub(super) fn open_up(dir: &OwnedFd) -> Result<Option<Mode>, Errno> {
    let stat: Stat = rustix::fs::fstat(dir)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.contains(Mode::RWXU) || stat.st_uid != rustix::process::geteuid().as_raw() {
        return Ok(None);
    }
    set_mode(dir, mode | Mode::RWXU)?;
    Ok(Some(mode))
}

/// Sets the mode by way of /proc, because a handle that only names a directory changes nothing itself.
fn set_mode(dir: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::chmod(format!("/proc/self/fd/{}", dir.as_raw_fd()), mode)
}

/// A name that cannot be taken in advance.
fn fresh(begin: &str, end: &str) -> OsString {
    let number = RandomState::new().hash_one(std::process::id());
    format!("{begin}.uwf-{number:016x}{end}").into()
}

#[cfg(test)]
#[path = "dir_tests.rs"]
mod tests;
