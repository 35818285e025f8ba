//! The workspace: the root as an open directory, and paths that cannot leave it.
//!
//! A path is first freed of its symlinks, component by component, then opened with `openat2(RESOLVE_BENEATH |
//! RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)` relative to the root's handle. So the kernel, not a comparison of
//! strings, keeps what is opened beneath the root: a component that another process swaps for a symlink in between
//! makes the open fail, and the whole is tried again. Symlinks within the tree work, absolute ones too.
//!
//! It never writes content; see [`crate::replace`].

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::limits::bytes;
use crate::open_flags::{LOOK, READ};
use crate::similar_paths;
use crate::writable::Writable;

/// Symlinks followed for one path, as in the kernel.
const MAX_LINKS: usize = 40;
/// Tries when another process changes the tree while a path is resolved.
const MAX_TRIES: usize = 16;

/// Why a path cannot be used. Displays as a sentence for the model; paths are shown as they were given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("the path is empty: give one relative to the workspace")]
    Empty,
    #[error("the path `{path}` holds a NUL character")]
    Nul { path: String },
    #[error(
        "`{path}` is outside the workspace. Only files below {root} can be used: give a path relative to it"
    )]
    Outside { path: String, root: PathBuf },
    #[error("`{path}` does not exist{}", did_you_mean(.similar))]
    Missing { path: String, similar: Vec<String> },
    #[error("`{path}` is a directory: list_dir shows what is in it")]
    Directory { path: String },
    #[error("`{path}` is not a directory")]
    NotADirectory { path: String },
    #[error("`{path}` is {kind}, not a regular file")]
    NotAFile { path: String, kind: &'static str },
    #[error("`{path}`: too many symbolic links")]
    Links { path: String },
    #[error("`{path}` belongs to git's own data, which file tools do not change: use git commands")]
    Git { path: String },
    #[error(
        "`{path}` may not be written by this role: the rule `writable` allows {globs} alone. Nothing was changed; say in \
         your answer what should change elsewhere"
    )]
    NotWritable { path: String, globs: String },
    #[error("`{path}` belongs to the agent's own records, which tools neither show nor change")]
    Private { path: String },
    #[error("`{path}` has {}, more than the {} that file tools change: use run_command", bytes(*.size), bytes(*.limit))]
    TooLarge { path: String, size: u64, limit: u64 },
    #[error("`{path}` was not written ({reason}); nothing was changed")]
    CutOff { path: String, reason: String },
    #[error("could not {verb} `{path}`: {source}")]
    Io { verb: &'static str, path: String, source: io::Error },
}

fn did_you_mean(paths: &[String]) -> String {
    paths.iter().map(|path| format!("\n  did you mean {path}?")).collect()
}

impl PathError {
    pub(crate) fn io(verb: &'static str, path: &str, source: impl Into<io::Error>) -> Self {
        Self::Io { verb, path: path.to_owned(), source: source.into() }
    }
}

/// The root of the workspace.
pub(crate) struct WorkspaceDir {
    root: OwnedFd,
    /// The root as the caller named it; models see this path and send it back.
    given: PathBuf,
    canonical: PathBuf,
    /// What may be written; `None` is everything.
    writable: Option<Writable>,
    /// The agent's own directories where they lie in the workspace, relative to the root: closed.
    private: Vec<PathBuf>,
}

/// A regular file, open for reading.
pub(crate) struct OpenFile {
    pub(crate) file: File,
    /// Relative to the root, free of symlinks.
    pub(crate) real: PathBuf,
    pub(crate) stat: Stat,
}

impl OpenFile {
    /// The length when the file was opened, in bytes.
    pub(crate) fn len(&self) -> u64 {
        size(&self.stat)
    }
}

impl WorkspaceDir {
    /// Opens the directory `root`; fails too when the kernel has no `openat2` (before Linux 5.6). What is below one of
    /// `private` (absolute) does not exist for it.
    pub(crate) fn open(root: &Path, private: &[PathBuf]) -> io::Result<Self> {
        let canonical = root.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, &canonical, flags, Mode::empty())?;
        let private = private.iter().filter_map(|path| path.canonicalize().ok());
        let private =
            private.filter_map(|path| path.strip_prefix(&canonical).ok().map(Path::to_owned)).collect();
        let workspace = Self { root: fd, given: root.to_owned(), canonical, writable: None, private };
        workspace.beneath(Path::new("."), flags)?;
        Ok(workspace)
    }

    /// From now on only what `writable` names can be written.
    pub(crate) fn limit(&mut self, writable: Writable) {
        self.writable = Some(writable);
    }

    /// The root's absolute path, free of symlinks; for walks, whose results are opened by [`WorkspaceDir::beneath`].
    pub(crate) fn path(&self) -> &Path {
        &self.canonical
    }

    /// Opens a regular file for reading. Anything else is refused without being opened, so that no FIFO blocks and
    /// no device acts.
    pub(crate) fn open_file(&self, path: &str) -> Result<OpenFile, PathError> {
        let (real, stat) = self.stat(path)?;
        must_be_a_file(path, &stat)?;
        let file = self.beneath(&real, READ).map_err(|error| PathError::io("open", path, error))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| PathError::io("look at", path, error))?;
        must_be_a_file(path, &stat)?;
        Ok(OpenFile { file: file.into(), real, stat })
    }

    /// Opens a directory; its handle, and its path relative to the root (empty for the root itself).
    pub(crate) fn open_dir(&self, path: &str) -> Result<(OwnedFd, PathBuf), PathError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match self.resolve(path, flags)? {
            (real, Ok(fd)) => Ok((fd, real)),
            (_, Err(Errno::NOTDIR)) => Err(PathError::NotADirectory { path: path.to_owned() }),
            (_, Err(Errno::NOENT)) => Err(self.missing(path)),
            (_, Err(error)) => Err(PathError::io("open", path, error)),
        }
    }

    /// What a path leads to, symlinks followed: its real path and its state.
    pub(crate) fn stat(&self, path: &str) -> Result<(PathBuf, Stat), PathError> {
        let (real, opened) = self.resolve(path, LOOK)?;
        let stat = opened.and_then(|fd| rustix::fs::fstat(&fd));
        match stat {
            Ok(stat) => Ok((real, stat)),
            Err(Errno::NOENT) => Err(self.missing(path)),
            Err(Errno::NOTDIR) => Err(PathError::NotADirectory { path: path.to_owned() }),
            Err(error) => Err(PathError::io("look at", path, error)),
        }
    }

    /// The real path of what may not exist.
    pub(crate) fn real(&self, path: &str) -> Result<PathBuf, PathError> {
        Ok(self.resolve(path, LOOK)?.0)
    }

    /// The real path of what may not exist yet, for writing. Git's own data is refused, and what the role may not write.
    pub(crate) fn real_for_writing(&self, path: &str) -> Result<PathBuf, PathError> {
        let real = self.resolve(path, LOOK)?.0;
        if real.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
            return Err(PathError::Git { path: path.to_owned() });
        }
        if real.file_name().is_none() || path.ends_with('/') {
            return Err(PathError::Directory { path: path.to_owned() });
        }
        if let Some(writable) = self.writable.as_ref().filter(|writable| !writable.allows(&real)) {
            return Err(PathError::NotWritable { path: path.to_owned(), globs: writable.to_string() });
        }
        Ok(real)
    }

    /// Opens `real`, a path relative to the root that is free of symlinks; one that is not fails with `ELOOP`, and
    /// one that leaves with `EXDEV`.
    pub(crate) fn beneath(&self, real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        if self.is_private(real) {
            return Err(Errno::ACCESS);
        }
        let real = if real.as_os_str().is_empty() { Path::new(".") } else { real };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let mut tries = 0;
        loop {
            match rustix::fs::openat2(&self.root, real, flags, Mode::empty(), resolve) {
                // The kernel cannot exclude that a rename elsewhere led out of the tree: try again.
                Err(Errno::AGAIN) if tries < MAX_TRIES => tries += 1,
                Err(Errno::INTR) => {}
                result => return result,
            }
        }
    }

    /// The real path of `path`, and what opening it gave. A component that became a symlink after it was looked at
    /// starts the resolution over.
    fn resolve(&self, path: &str, flags: OFlags) -> Result<(PathBuf, Result<OwnedFd, Errno>), PathError> {
        let relative = self.relative(path)?;
        for _ in 0..MAX_TRIES {
            let real = self.without_links(path, &relative)?;
            match self.beneath(&real, flags) {
                Err(Errno::LOOP) => {}
                Err(Errno::XDEV) => return Err(self.outside(path)),
                Ok(fd) if is_symlink(&fd) => {}
                opened => return Ok((real, opened)),
            }
        }
        Err(PathError::Links { path: path.to_owned() })
    }

    fn is_private(&self, real: &Path) -> bool {
        self.private.iter().any(|private| real.starts_with(private))
    }

    /// Models often send absolute paths: those below the root, by either of its names, are made relative.
    fn relative(&self, path: &str) -> Result<PathBuf, PathError> {
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        if path.contains('\0') {
            return Err(PathError::Nul { path: path.replace('\0', "\\0") });
        }
        self.below_root(Path::new(path)).ok_or_else(|| self.outside(path))
    }

    fn below_root(&self, path: &Path) -> Option<PathBuf> {
        if path.is_relative() {
            return Some(path.to_owned());
        }
        let below = path.strip_prefix(&self.given).or_else(|_| path.strip_prefix(&self.canonical));
        below.ok().map(Path::to_owned)
    }

    /// Replaces every symlink in `relative` by its target. Stops at what does not exist: the rest is appended as it
    /// is. The result is only a path: that it stays inside is checked when it is opened.
    fn without_links(&self, path: &str, relative: &Path) -> Result<PathBuf, PathError> {
        let mut rest: VecDeque<OsString> = parts(relative).collect();
        let mut real = PathBuf::new();
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            if part == ".." {
                // `real` holds no symlink, so its parent is the one the kernel would go to.
                if !real.pop() {
                    return Err(self.outside(path));
                }
                continue;
            }
            real.push(part);
            if self.is_private(&real) {
                return Err(PathError::Private { path: path.to_owned() });
            }
            let Some(target) = self.link_target(path, &real)? else { continue };
            links += 1;
            if links > MAX_LINKS {
                return Err(PathError::Links { path: path.to_owned() });
            }
            real.pop();
            if target.is_absolute() {
                real.clear();
            }
            let target = self.below_root(&target).ok_or_else(|| self.outside(path))?;
            for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(part);
            }
        }
        Ok(real)
    }

    /// The target of the symlink `real`; `None` when it is none, or nothing, or its parent was just swapped.
    fn link_target(&self, path: &str, real: &Path) -> Result<Option<PathBuf>, PathError> {
        match self.beneath(real, LOOK) {
            Ok(fd) if is_symlink(&fd) => {
                let target = rustix::fs::readlinkat(&fd, "", Vec::new())
                    .map_err(|error| PathError::io("follow", path, error))?;
                Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(Errno::XDEV) => Err(self.outside(path)),
            Err(error) => Err(PathError::io("resolve", path, error)),
        }
    }

    /// The error that nothing is at `path`, with the paths that resemble it.
    pub(crate) fn missing(&self, path: &str) -> PathError {
        let wanted = self.relative(path).unwrap_or_default();
        PathError::Missing { path: path.to_owned(), similar: similar_paths::below(self.path(), &wanted) }
    }

    fn outside(&self, path: &str) -> PathError {
        PathError::Outside { path: path.to_owned(), root: self.given.clone() }
    }
}

/// The components of a relative path that mean something: `..` and names.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    let meant = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    meant.map(|part| part.as_os_str().to_owned())
}

fn is_symlink(fd: &OwnedFd) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|stat| kind(&stat) == FileType::Symlink)
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The length of a file, in bytes.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Refuses what is no regular file.
pub(crate) fn must_be_a_file(path: &str, stat: &Stat) -> Result<(), PathError> {
    match kind(stat) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(PathError::Directory { path: path.to_owned() }),
        other => Err(PathError::NotAFile { path: path.to_owned(), kind: kind_name(other) }),
    }
}

pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "of an unknown kind",
    }
}

/// A name or path on one line: as it is, or quoted with escapes when it holds control characters or is not UTF-8.
pub(crate) fn shown(path: &OsStr) -> String {
    match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => format!("{path:?}"),
    }
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
