//! One file, replaced whole or not at all.
//!
//! The new content goes to a file without a name in the same directory, is synced, and takes the old one's place by a rename;
//! all of it over the directory's handle, so that no other directory can be meant in between. Three cases are written in
//! place instead, and say so: a file with several hard links (a rename would part them), one with an access list (its
//! mode alone would let in others), and one whose owner cannot be kept. What the content is, and whether it may change,
//! is the tools' matter.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use rustix::process::Pid;

use crate::answer::{Facts, FileEdit};
use crate::open_flags::{DIRECTORY, LOOK, READ};
use crate::read_state::ReadState;
use crate::workspace::{PathError, WorkspaceDir, must_be_a_file, size};

/// The name of a temporary file is this, the process, and a number, so that those of one process differ.
const TEMPORARY: &str = ".uwf-";
const TEMPORARY_END: &str = ".tmp";
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// The file that a target has now, with its content.
pub(crate) struct CurrentFile {
    pub(crate) content: Vec<u8>,
    stat: Stat,
    /// How many hard links it has.
    links: u64,
    /// Whether it has an access list (ACL), of which the mode shows no more than the outline.
    listed: bool,
}

/// A target to write to: `path` as the model gave it, `real` relative to the root and free of symlinks.
pub(crate) struct WriteTarget<'a> {
    pub(crate) workspace: &'a WorkspaceDir,
    pub(crate) path: &'a str,
    pub(crate) real: &'a Path,
}

/// How the content got there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteMethod {
    Replaced,
    /// In place, because of this many hard links.
    Linked(u64),
    /// In place, because of an access list.
    Listed,
    /// In place, because the owner is another user.
    Foreign,
}

impl WriteMethod {
    /// What the answer says of it, if anything.
    pub(crate) fn note(self) -> Option<String> {
        match self {
            Self::Replaced => None,
            Self::Linked(links) => {
                Some(format!("written in place: the file has {links} hard links, all changed"))
            }
            Self::Listed => Some("written in place: the file has an access list".to_owned()),
            Self::Foreign => Some("written in place: the file belongs to another user".to_owned()),
        }
    }
}

impl WriteTarget<'_> {
    /// The regular file at this target; `None` when there is nothing. Anything else, and a file above `limit` bytes,
    /// is refused.
    pub(crate) fn load(&self, limit: u64) -> Result<Option<CurrentFile>, PathError> {
        let fd = match self.workspace.beneath(self.real, LOOK) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR) => return Err(PathError::NotADirectory { path: parent_of(self.path) }),
            opened => opened.map_err(|error| self.failed("open", error))?,
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| self.failed("look at", error))?;
        must_be_a_file(self.path, &stat)?;
        let size = size(&stat);
        if size > limit {
            return Err(PathError::TooLarge { path: self.path.to_owned(), size, limit });
        }
        let fd = self.workspace.beneath(self.real, READ).map_err(|error| self.failed("open", error))?;
        let file = File::from(fd);
        let links = file.metadata().map_err(|error| self.failed("look at", error))?.nlink();
        let listed = rustix::fs::fgetxattr(&file, "system.posix_acl_access", &mut [0_u8; 0]).is_ok();
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(limit).read_to_end(&mut content).map_err(|error| self.failed("read", error))?;
        Ok(Some(CurrentFile { content, stat, links, listed }))
    }

    /// Puts `content` in the place of `present`, or of nothing; missing directories above it are made.
    pub(crate) fn store(
        &self,
        present: Option<&CurrentFile>,
        content: &[u8],
    ) -> Result<WriteMethod, PathError> {
        let dir = self.directory().map_err(|error| self.failed("make the directory of", error))?;
        if let Some(present) = present.filter(|present| present.links > 1 || present.listed) {
            self.overwrite(&present.stat, content).map_err(|error| self.failed("write", error))?;
            return Ok(if present.listed { WriteMethod::Listed } else { WriteMethod::Linked(present.links) });
        }
        let stat = present.map(|present| &present.stat);
        match self.exchange(&dir, stat, content) {
            Ok(()) => Ok(WriteMethod::Replaced),
            Err(ReplaceError::Owner) => {
                let stat = stat.ok_or_else(|| self.failed("write", Errno::PERM))?;
                self.overwrite(stat, content).map_err(|error| self.failed("write", error))?;
                Ok(WriteMethod::Foreign)
            }
            Err(ReplaceError::Io(error)) => Err(PathError::io("write", self.path, error)),
        }
    }

    /// Removes the files that a process left beside the target when it was killed between naming one and moving it there.
    pub(crate) fn tidy(&self) -> io::Result<()> {
        let dir = self.workspace.beneath(self.real.parent().unwrap_or(Path::new("")), DIRECTORY)?;
        for entry in rustix::fs::Dir::read_from(&dir)?.flatten() {
            if entry.file_name().to_str().ok().and_then(writer_of).is_some_and(has_ended) {
                rustix::fs::unlinkat(&dir, entry.file_name(), AtFlags::empty())?;
            }
        }
        Ok(())
    }

    /// What the record is told once `after` took the place of `before`.
    pub(crate) fn facts(&self, before: Option<&CurrentFile>, after: String, read_state: ReadState) -> Facts {
        let change = FileEdit {
            path: self.real.to_string_lossy().into_owned(),
            before: before.map(|before| before.content.clone()),
            after: after.into_bytes(),
        };
        Facts { changes: vec![change], read_state: Some(read_state), ..Facts::default() }
    }

    /// The directory of the target, open; made when it is missing.
    fn directory(&self) -> Result<OwnedFd, Errno> {
        let parent = self.real.parent().unwrap_or(Path::new(""));
        match self.workspace.beneath(parent, DIRECTORY) {
            Err(Errno::NOENT) => {}
            opened => return opened,
        }
        let mut made = std::path::PathBuf::new();
        let mut dir = self.workspace.beneath(&made, DIRECTORY)?;
        for part in parent.components() {
            match rustix::fs::mkdirat(&dir, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            made.push(part);
            dir = self.workspace.beneath(&made, DIRECTORY)?;
        }
        Ok(dir)
    }

    fn exchange(&self, dir: &OwnedFd, stat: Option<&Stat>, content: &[u8]) -> Result<(), ReplaceError> {
        let name = self.real.file_name().ok_or(Errno::ISDIR)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = format!("{TEMPORARY}{}-{number}{TEMPORARY_END}", std::process::id());
        stage(dir, &temporary, stat, content)?;
        let flags = if stat.is_some() { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        let renamed = match rustix::fs::renameat_with(dir, &temporary, dir, name, flags) {
            // Not every file system knows NOREPLACE.
            Err(Errno::INVAL) => rustix::fs::renameat(dir, &temporary, dir, name),
            renamed => renamed,
        };
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
        }
        renamed?;
        Ok(rustix::fs::fsync(dir)?)
    }

    /// Writes into the file itself; it must still be the one that was read.
    fn overwrite(&self, stat: &Stat, content: &[u8]) -> Result<(), io::Error> {
        // Without waiting: what took its place may be a FIFO that nobody reads.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = self.workspace.beneath(self.real, flags)?;
        let now = rustix::fs::fstat(&fd)?;
        if (now.st_dev, now.st_ino) != (stat.st_dev, stat.st_ino) {
            return Err(io::Error::other("another file took its place meanwhile"));
        }
        let mut file = File::from(fd);
        file.write_all(content)?;
        file.set_len(content.len() as u64)?;
        if mode_of(&now) != Mode::from_raw_mode(now.st_mode & 0o7777) {
            // The kernel has done it, but not for root.
            rustix::fs::fchmod(&file, mode_of(&now))?;
        }
        file.sync_all()
    }

    fn failed(&self, verb: &'static str, error: impl Into<io::Error>) -> PathError {
        PathError::io(verb, self.path, error)
    }
}

enum ReplaceError {
    /// The new file cannot be given the old one's owner.
    Owner,
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for ReplaceError {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

/// Puts the content into a file of that name, and on the disk. Where the file system has files without a name it is one
/// until it is whole: whoever ends this process meanwhile leaves nothing behind.
fn stage(dir: &OwnedFd, temporary: &str, stat: Option<&Stat>, content: &[u8]) -> Result<(), ReplaceError> {
    // A new file gets the mode that the umask leaves; one that replaces another is closed until it has the other's mode.
    let mode = Mode::from_raw_mode(if stat.is_some() { 0o600 } else { 0o666 });
    let unnamed = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::openat(dir, ".", unnamed, mode) {
        let file = File::from(file);
        fill(&file, stat, content)?;
        let held = format!("/proc/self/fd/{}", file.as_raw_fd());
        if rustix::fs::linkat(rustix::fs::CWD, held, dir, temporary, AtFlags::SYMLINK_FOLLOW).is_ok() {
            return Ok(());
        }
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let filled = fill(&File::from(rustix::fs::openat(dir, temporary, flags, mode)?), stat, content);
    if filled.is_err() {
        let _ = rustix::fs::unlinkat(dir, temporary, AtFlags::empty());
    }
    filled
}

fn fill(mut file: &File, stat: Option<&Stat>, content: &[u8]) -> Result<(), ReplaceError> {
    file.write_all(content)?;
    if let Some(stat) = stat {
        keep_owner(file, stat)?;
        rustix::fs::fchmod(file, mode_of(stat))?;
    }
    Ok(file.sync_all()?)
}

/// The mode of a file less the rights of another user that running it gives: they were given to other content.
fn mode_of(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & 0o1777)
}

fn keep_owner(file: impl AsFd, stat: &Stat) -> Result<(), ReplaceError> {
    let own = rustix::fs::fstat(&file)?;
    if (own.st_uid, own.st_gid) == (stat.st_uid, stat.st_gid) {
        return Ok(());
    }
    rustix::fs::fchown(file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))
        .map_err(|_| ReplaceError::Owner)
}

/// The process that a temporary file is of; none for a name that is of no such file.
fn writer_of(name: &str) -> Option<Pid> {
    let (process, number) = name.strip_prefix(TEMPORARY)?.strip_suffix(TEMPORARY_END)?.split_once('-')?;
    number.parse::<u64>().ok()?;
    Pid::from_raw(process.parse().ok()?)
}

fn has_ended(process: Pid) -> bool {
    rustix::process::test_kill_process(process) == Err(Errno::SRCH)
}

fn parent_of(path: &str) -> String {
    Path::new(path).parent().unwrap_or(Path::new("")).display().to_string()
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
