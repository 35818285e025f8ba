//! The walk: each directory by its handle, its names in order, in step with what was found last, its tree after all below
//! it.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use uwf_store::{Batch, Hash, Store};

use super::ignored::Ignored;
use super::listing::{ListedName, names};
use super::{CaptureNotice, CaptureWork, Snapshot, Why};
use crate::cache::{Directory, Known};
use crate::error::{Limit, SnapshotError, io_error};
use crate::options::Options;
use crate::stamp::{FileStatus, Moment, look, settled_before};
use crate::tree::{self, MAX_LEVELS, PERMISSIONS, SnapshotEntry};

/// How often something is looked at that changes meanwhile.
const TRIES: usize = 3;

/// One snapshot being made.
pub(super) struct CaptureWalk<'s> {
    pub(super) options: &'s Options,
    pub(super) batch: Batch<'s>,
    pub(super) snapshot: Snapshot,
    /// A file that was changed before is known by its stamp.
    pub(super) settled_before: Moment,
    root: &'s Path,
    ignored: Ignored,
    /// What is looked at, relative to the root.
    path: Vec<u8>,
    levels: usize,
}

/// What came of looking at a name.
pub(super) enum Looked {
    /// What it is, and whether that is as the cache has it, stamp and all.
    Found(Known, bool),
    /// It is left out.
    Nothing,
    /// It became something else meanwhile.
    Changed(Option<Known>),
}

impl<'s> CaptureWalk<'s> {
    pub(super) fn new(
        root: &'s Path,
        options: &'s Options,
        store: &'s Store,
    ) -> Result<CaptureWalk<'s>, SnapshotError> {
        let snapshot = Snapshot {
            tree: tree::TREE,
            entries: 0,
            bytes: 0,
            left_out: 0,
            special: 0,
            notices: Vec::new(),
            work: CaptureWork::default(),
        };
        Ok(CaptureWalk {
            options,
            batch: store.batch(),
            snapshot,
            settled_before: settled_before(store.now()),
            root,
            ignored: Ignored::new(options)?,
            path: Vec::new(),
            levels: 0,
        })
    }

    /// Stores everything.
    pub(super) fn finish(self, tree: Hash) -> Result<Snapshot, SnapshotError> {
        self.batch.commit()?;
        Ok(Snapshot { tree, ..self.snapshot })
    }

    /// The workspace, and whether it is as the cache has it; `known` is what it was.
    pub(super) fn root(
        &mut self,
        handle: &OwnedFd,
        known: Option<&Directory>,
    ) -> Result<(Directory, bool), SnapshotError> {
        let names = names(handle).map_err(io_error("list", self.root))?;
        self.directory(handle, &names, known)
    }

    /// A directory with all that is below it, and whether it is as the cache has it; `known` is what it was.
    fn directory(
        &mut self,
        handle: &OwnedFd,
        names: &[ListedName],
        known: Option<&Directory>,
    ) -> Result<(Directory, bool), SnapshotError> {
        if self.levels > MAX_LEVELS {
            return Err(SnapshotError::TooDeep { path: self.whole_path(), allowed: MAX_LEVELS });
        }
        let outside = self.ignored.enter(handle, names, self.path.len());
        let (length, mut entries) = (self.path.len(), Vec::with_capacity(names.len()));
        let (mut before, mut same) = (known.map_or(&[][..], |known| &known.entries), 0);
        for name in names {
            if length > 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(&name.bytes);
            let known = advance(&mut before, &name.bytes);
            if let Some((entry, is_same)) = self.entry(handle, name, known)? {
                entries.push(entry);
                same += usize::from(is_same);
            }
            self.path.truncate(length);
        }
        self.ignored.leave(&outside);
        let is_same = known.is_some_and(|known| known.entries.len() == same && same == entries.len());
        let tree = match known {
            Some(known) if is_same || known.is_tree_of(&entries) => known.tree,
            _ => self.put(&entries)?,
        };
        Ok((Directory { tree, entries }, is_same))
    }

    fn put(&mut self, entries: &[Known]) -> Result<Hash, SnapshotError> {
        self.snapshot.work.trees_put += 1;
        let entries = entries.iter().map(|known| (OsStr::from_bytes(&known.name), &known.entry));
        Ok(tree::put(&mut self.batch, entries)?)
    }

    fn entry(
        &mut self,
        directory: &OwnedFd,
        name: &ListedName,
        known: Option<&Known>,
    ) -> Result<Option<(Known, bool)>, SnapshotError> {
        let mut last = None;
        for attempt in 0..TRIES {
            match self.look_at(directory, name, (known, attempt == 0))? {
                Looked::Found(known, is_same) => return self.count(known, is_same).map(Some),
                Looked::Nothing => return Ok(None),
                Looked::Changed(unsteady) => last = unsteady,
            }
        }
        self.notice(Why::Changing);
        last.map(|known| self.count(known, false)).transpose()
    }

    /// What is under a name. What is listed as a directory is opened as one when it is looked at for the first time.
    fn look_at(
        &mut self,
        directory: &OwnedFd,
        name: &ListedName,
        (known, is_first): (Option<&Known>, bool),
    ) -> Result<Looked, SnapshotError> {
        let is_listed = name.kind != FileType::Unknown;
        if is_listed && self.leaves_out(name, name.kind) {
            return Ok(Looked::Nothing);
        }
        if self.options.withheld.is_within(&name.bytes) {
            return Ok(self.without(Why::Secret));
        }
        if is_first && name.kind == FileType::Directory {
            return self.below(directory, name, known);
        }
        let found = match look(directory, &name.bytes) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(self.without(Why::Vanished)),
            Err(error) => return self.unreadable(error),
        };
        if found.kind != name.kind && self.leaves_out(name, found.kind) {
            return Ok(Looked::Nothing);
        }
        match found.kind {
            FileType::RegularFile => self.file(directory, name, &found, known),
            FileType::Directory => self.below(directory, name, known),
            FileType::Symlink => self.symlink(directory, name, known),
            _ => {
                self.snapshot.special += 1;
                Ok(Looked::Nothing)
            }
        }
    }

    fn symlink(
        &mut self,
        directory: &OwnedFd,
        name: &ListedName,
        known: Option<&Known>,
    ) -> Result<Looked, SnapshotError> {
        let target = match readlinkat(directory, &*name.bytes, Vec::new()) {
            Ok(target) => OsString::from_vec(target.into_bytes()),
            Err(error) => return self.unreadable(error),
        };
        if self.options.withheld.is_within(target.as_bytes()) {
            return Ok(self.without(Why::Secret));
        }
        let entry = SnapshotEntry::Symlink { target };
        let is_same = known.is_some_and(|known| known.entry == entry);
        Ok(Looked::Found(Known { name: name.bytes.clone(), entry, stamp: None, below: None }, is_same))
    }

    fn leaves_out(&mut self, name: &ListedName, kind: FileType) -> bool {
        let is_directory = kind == FileType::Directory;
        let is_git = is_directory && *name.bytes == *b".git";
        let is_ignored = !is_git && self.ignored.matches(&self.path, is_directory);
        self.snapshot.left_out += u64::from(is_ignored);
        is_git || is_ignored
    }

    fn below(
        &mut self,
        directory: &OwnedFd,
        name: &ListedName,
        known: Option<&Known>,
    ) -> Result<Looked, SnapshotError> {
        let (found, names, handle) = match opened(directory, name) {
            Ok(opened) => opened,
            Err(error) => return self.unreadable(error),
        };
        self.levels += 1;
        let before = known.and_then(|known| known.below.as_ref());
        let (below, is_same) = self.directory(&handle, &names, before)?;
        self.levels -= 1;
        let entry = SnapshotEntry::Directory { tree: below.tree, mode: found.mode & PERMISSIONS };
        let is_same = is_same && known.is_some_and(|known| known.entry == entry);
        let found = Known { name: name.bytes.clone(), entry, stamp: None, below: Some(below) };
        Ok(Looked::Found(found, is_same))
    }

    /// What an error about one name means for the snapshot.
    pub(super) fn unreadable(&mut self, error: Errno) -> Result<Looked, SnapshotError> {
        match error {
            Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::INVAL | Errno::NXIO => {
                Ok(Looked::Changed(None))
            }
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => Err(io_error("read", &self.whole_path())(error)),
            error => Ok(self.without(Why::Unreadable(std::io::Error::from(error).to_string()))),
        }
    }

    pub(super) fn without(&mut self, why: Why) -> Looked {
        self.notice(why);
        Looked::Nothing
    }

    fn notice(&mut self, why: Why) {
        let path = PathBuf::from(OsStr::from_bytes(&self.path));
        self.snapshot.notices.push(CaptureNotice { path, why });
    }

    fn count(&mut self, known: Known, is_same: bool) -> Result<(Known, bool), SnapshotError> {
        let size = if let SnapshotEntry::File { size, .. } = known.entry { size } else { 0 };
        self.snapshot.entries += 1;
        self.snapshot.bytes += size;
        self.check(Limit::Entries, self.snapshot.entries, self.options.max_entries)?;
        self.check(Limit::Bytes, self.snapshot.bytes, self.options.max_bytes)?;
        Ok((known, is_same))
    }

    /// Refuses what is more than allowed.
    pub(super) fn check(&self, limit: Limit, found: u64, allowed: u64) -> Result<(), SnapshotError> {
        if found <= allowed {
            return Ok(());
        }
        Err(SnapshotError::TooLarge { limit, allowed, path: self.whole_path() })
    }

    fn whole_path(&self) -> PathBuf {
        self.root.join(OsStr::from_bytes(&self.path))
    }
}

/// A directory below another: what it is, the names in it, and a handle on it.
fn opened(directory: &OwnedFd, name: &ListedName) -> Result<(FileStatus, Vec<ListedName>, OwnedFd), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(directory, &*name.bytes, flags, Mode::empty())?;
    Ok((look(&handle, b"")?, names(&handle)?, handle))
}

/// Goes on to what is known under this name, in step with names that are sorted as well.
fn advance<'k>(rest: &mut &'k [Known], name: &[u8]) -> Option<&'k Known> {
    while let Some((first, others)) = rest.split_first() {
        let order = (*first.name).cmp(name);
        if order != Ordering::Greater {
            *rest = others;
        }
        if order != Ordering::Less {
            return order.is_eq().then_some(first);
        }
    }
    None
}
