//! The directory of a step: an open handle, and paths that cannot leave it.
//!
//! The kernel keeps what is opened beneath the handle (`openat2` with `RESOLVE_BENEATH`), whatever another process swaps
//! meanwhile: no comparison of strings could. Links within the directory are followed, others are refused. Nothing but a
//! regular file is opened for reading, so that no FIFO blocks and no device acts.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use super::ArtifactFault;

/// Tries when the kernel cannot exclude that a rename elsewhere led out.
const MAX_TRIES: usize = 16;

/// Where the system says what the handles of this process are.
const HANDLES: &str = "/proc/self/fd";

/// What a path leads to, without opening what is in it.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
/// A file, to read it; what took its place meanwhile may be a FIFO.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// A directory, to list it.
const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Where the files of a step are.
pub(super) struct StepDirectory {
    handle: OwnedFd,
    /// As it is told.
    pub(super) path: PathBuf,
    /// Where uwf keeps its own files, without links.
    private: Vec<PathBuf>,
    /// [`HANDLES`], or what stands for it.
    handles: &'static str,
}

/// A regular file, open.
pub(super) struct FoundFile {
    /// Below the directory, without `.` and doubled slashes.
    pub(super) path: String,
    pub(super) file: File,
    /// In bytes, when it was opened.
    pub(super) size: u64,
}

/// A name in a directory.
pub(super) struct ListedEntry {
    pub(super) name: OsString,
    pub(super) kind: FileType,
}

impl StepDirectory {
    /// Opens it; what is below one of `private` is never given, also where the directory itself is there.
    pub(super) fn open(path: &Path, private: &[&Path]) -> Result<StepDirectory, ArtifactFault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty())
            .map_err(|error| ArtifactFault::Directory { dir: path.to_owned(), source: error.into() })?;
        let mut real = Vec::new();
        for path in private {
            match path.canonicalize() {
                Ok(path) => real.push(path),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(ArtifactFault::Doubtful { place: (*path).to_owned(), source }),
            }
        }
        Ok(StepDirectory { handle, path: path.to_owned(), private: real, handles: HANDLES })
    }

    /// The regular file that somebody calls `named`.
    pub(super) fn file(&self, named: &str) -> Result<FoundFile, ArtifactFault> {
        let path = self.relative(named)?;
        let seen = self.beneath(&path, LOOK).map_err(|error| self.fault(error))?;
        must_be_a_file(&seen)?;
        let file = self.beneath(&path, READ).map_err(|error| self.fault(error))?;
        let size = must_be_a_file(&file)?;
        if self.is_private(&file)? {
            return Err(ArtifactFault::Private);
        }
        Ok(FoundFile { path, file: file.into(), size })
    }

    /// What is there; none where nothing is, or it cannot be told.
    pub(super) fn kind(&self, path: &str) -> Result<FileType, Errno> {
        let stat = fstat(self.beneath(path, LOOK)?)?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    /// Whether a directory is one of those where uwf keeps its own files.
    pub(super) fn is_withheld(&self, path: &str) -> Result<bool, ArtifactFault> {
        // One that cannot be opened cannot be listed either, which is told then.
        self.beneath(path, LOOK).map_or(Ok(false), |opened| self.is_private(&opened))
    }

    /// The names in a directory, in no order; none where there is no such directory, or it is too deep to be opened.
    pub(super) fn entries(&self, path: &str) -> Result<Vec<ListedEntry>, ArtifactFault> {
        let handle = match self.beneath(if path.is_empty() { "." } else { path }, LIST) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => return Ok(Vec::new()),
            handle => handle.map_err(|error| self.unlisted(path, error))?,
        };
        let failed = |error| self.unlisted(path, error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name != "." && name != ".." {
                entries.push(ListedEntry { name, kind: entry.file_type() });
            }
        }
        Ok(entries)
    }

    /// The path as it is kept: relative, without `.`, without `..`.
    fn relative(&self, named: &str) -> Result<String, ArtifactFault> {
        if named.trim().is_empty() {
            return Err(ArtifactFault::Blank);
        }
        if named.contains('\0') {
            return Err(ArtifactFault::Nul);
        }
        let mut parts = Vec::new();
        for part in Path::new(named).components() {
            match part {
                Component::Normal(part) => parts.push(part.to_string_lossy()),
                Component::CurDir => {}
                Component::ParentDir => return Err(ArtifactFault::Above { dir: self.path.clone() }),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(ArtifactFault::Absolute { dir: self.path.clone() });
                }
            }
        }
        if parts.is_empty() || named.ends_with('/') {
            return Err(ArtifactFault::NoFile { kind: "a directory" });
        }
        Ok(parts.join("/"))
    }

    fn beneath(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        loop {
            match openat2(&self.handle, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) if tries < MAX_TRIES => tries += 1,
                Err(Errno::INTR) => {}
                opened => return opened,
            }
        }
    }

    fn fault(&self, error: Errno) -> ArtifactFault {
        let dir = || self.path.clone();
        match error {
            Errno::NOENT | Errno::NOTDIR => ArtifactFault::Missing { dir: dir() },
            Errno::XDEV => ArtifactFault::Outside { dir: dir() },
            Errno::LOOP => ArtifactFault::Links,
            // Reading needs no privilege: what refuses so is a filter of system calls.
            Errno::NOSYS | Errno::PERM => ArtifactFault::Unsupported { source: error.into() },
            error => ArtifactFault::Unreadable { source: error.into() },
        }
    }

    /// Why the directory `path` cannot be listed.
    fn unlisted(&self, path: &str, error: Errno) -> ArtifactFault {
        match self.fault(error) {
            ArtifactFault::Unsupported { source } => ArtifactFault::Unsupported { source },
            _ => ArtifactFault::Directory { dir: self.path.join(path), source: error.into() },
        }
    }

    /// Whether something that is open belongs to uwf, by whatever way it was reached.
    fn is_private(&self, opened: &OwnedFd) -> Result<bool, ArtifactFault> {
        if self.private.is_empty() {
            return Ok(false);
        }
        let link = Path::new(self.handles).join(opened.as_raw_fd().to_string());
        let doubtful = |source| ArtifactFault::Doubtful { place: self.handles.into(), source };
        let real = fs::read_link(link).map_err(doubtful)?;
        Ok(self.private.iter().any(|private| real.starts_with(private)))
    }
}

/// The length of a regular file; anything else is refused.
fn must_be_a_file(opened: &OwnedFd) -> Result<u64, ArtifactFault> {
    let stat = fstat(opened).map_err(|error| ArtifactFault::Unreadable { source: error.into() })?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(u64::try_from(stat.st_size).unwrap_or_default()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(ArtifactFault::NoFile { kind })
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
