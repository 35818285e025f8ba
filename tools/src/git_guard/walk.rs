//! Finding what git would take for a repository below a directory, however it lies: deep, many, or closed.
//!
//! One directory is open at a time, on one thread: it cannot fail for want of threads, descriptors or room in a path. A
//! directory that its owner may not look into keeps git from nothing once it is opened again, so it is opened, looked
//! into, and closed again.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::deadline::CheckDeadline;
use super::dir::{self, Dir};
use crate::workspace::kind;

/// Where a git directory has many directories without any below them. Somebody may have put a repository among these.
const MANY: &[&[u8]] = &[b"objects", b"refs", b"logs", b"lfs"];

/// What a walk found.
#[derive(Default)]
pub(super) struct FoundRepositories {
    /// Every `.git`, and every directory that git takes for a repository without that name.
    pub(super) candidates: BTreeSet<PathBuf>,
    /// Directories on the way to a candidate that were closed, and how; they are open now. The innermost comes first.
    pub(super) opened: Vec<(PathBuf, Mode)>,
    /// Where the walk ended before its time, and why.
    pub(super) missed: Option<String>,
}

impl FoundRepositories {
    /// Looks below `root`, absolute and free of symlinks, too.
    pub(super) fn add(&mut self, root: &Path, deadline: &CheckDeadline) {
        let Some(top) = Dir::open(root) else { return };
        let Ok(here) = rustix::io::fcntl_dupfd_cloexec(top.fd(), 0) else { return };
        let mut walk = DirectoryWalk { here, path: root.to_owned(), ancestors: Vec::new(), found: self };
        let Listing { names, is_repository } = walk.look();
        let id = id_of(&walk.here).unwrap_or_default();
        walk.ancestors.push(Ancestor {
            names,
            id,
            closed: None,
            candidates: 0,
            is_repository,
            is_many: false,
        });
        walk.run(deadline);
    }

    /// Closes again the directories that were closed before the walk.
    pub(super) fn close(&mut self, deadline: &CheckDeadline) {
        for (path, mode) in self.opened.drain(..) {
            if deadline.is_over() {
                return;
            }
            if let Some(dir) = Dir::open(&path) {
                // Its owner has it opened meanwhile, or lost it: no business of ours.
                let _ = rustix::fs::fchmod(dir.fd(), mode);
            }
        }
    }
}

/// Device and inode.
type Id = (u64, u64);

/// A directory on the way from the root to where the walk is, that one included.
struct Ancestor {
    /// What is still to be visited in it.
    names: Vec<OsString>,
    id: Id,
    /// Its mode, where it was closed.
    closed: Option<Mode>,
    /// How many candidates were known before it.
    candidates: usize,
    is_repository: bool,
    /// Whether it is one of [`MANY`], or below.
    is_many: bool,
}

/// What a directory holds.
struct Listing {
    /// The directories to visit.
    names: Vec<OsString>,
    is_repository: bool,
}

struct DirectoryWalk<'a> {
    here: OwnedFd,
    path: PathBuf,
    ancestors: Vec<Ancestor>,
    found: &'a mut FoundRepositories,
}

impl DirectoryWalk<'_> {
    fn run(mut self, deadline: &CheckDeadline) {
        while let Some(ancestor) = self.ancestors.last_mut() {
            if deadline.is_over() {
                ancestor.names.clear();
                let missed = || format!("what is below {}: {}", self.path.display(), deadline.why());
                self.found.missed.get_or_insert_with(missed);
            }
            if let Some(name) = ancestor.names.pop() {
                self.enter(&name);
            } else if !self.leave() {
                let missed = || format!("what is below {}: it was moved meanwhile", self.path.display());
                self.found.missed.get_or_insert_with(missed);
                return;
            }
        }
    }

    /// Looks into a directory, and goes there when there is more in it.
    fn enter(&mut self, name: &OsStr) {
        let above = self.ancestors.last();
        let is_many = above
            .is_some_and(|above| above.is_many || above.is_repository && MANY.contains(&name.as_bytes()));
        if is_many && self.is_childless(name) {
            return;
        }
        let Some((inner, mut closed)) = open_child(&self.here, name) else { return };
        let outer = std::mem::replace(&mut self.here, inner);
        self.path.push(name);
        let candidates = self.found.candidates.len();
        let Listing { names, is_repository } = self.look();
        if names.is_empty() {
            self.close_again(closed, candidates);
            self.here = outer;
            self.path.pop();
            return;
        }
        if closed.is_none() {
            closed = dir::open_up(&self.here).unwrap_or_default();
        }
        let id = id_of(&self.here).unwrap_or_default();
        self.ancestors.push(Ancestor { names, id, closed, candidates, is_repository, is_many });
    }

    /// Whether there is no directory in this one, as its links tell, and no file that would make it a repository or lead to
    /// one.
    fn is_childless(&self, name: &OsStr) -> bool {
        let stat = |path: &Path| rustix::fs::statat(&self.here, path, AtFlags::SYMLINK_NOFOLLOW);
        let name = Path::new(name);
        // Each directory would be one more link to it, where the file system counts them; some have 1 for all.
        stat(name).is_ok_and(|stat| stat.st_nlink == 2)
            && [".git", "commondir"].iter().all(|file| matches!(stat(&name.join(file)), Err(Errno::NOENT)))
    }

    /// Goes back to the directory above.
    fn leave(&mut self) -> bool {
        let Some(ancestor) = self.ancestors.pop() else { return false };
        let Some(id) = self.ancestors.last().map(|above| above.id) else { return true };
        let outer = self.above(id);
        self.close_again(ancestor.closed, ancestor.candidates);
        self.path.pop();
        let Some(outer) = outer.or_else(|| again(&self.path, id)) else { return false };
        self.here = outer;
        true
    }

    fn above(&self, id: Id) -> Option<OwnedFd> {
        let outer = rustix::fs::openat(&self.here, "..", dir::LOOK, Mode::empty()).ok()?;
        (id_of(&outer)? == id).then_some(outer)
    }

    /// What has candidates below stays open until these were looked at.
    fn close_again(&mut self, closed: Option<Mode>, candidates: usize) {
        let Some(mode) = closed else { return };
        if self.found.candidates.len() > candidates {
            self.found.opened.push((self.path.clone(), mode));
        } else {
            // It is ours: only its owner can have taken it away meanwhile.
            let _ = rustix::fs::fchmod(&self.here, mode);
        }
    }

    /// Notes the candidates that are here; gives the directories to visit.
    fn look(&mut self) -> Listing {
        let entries = rustix::fs::Dir::read_from(&self.here).into_iter().flatten().flatten();
        let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
        for entry in entries {
            let name = entry.file_name().to_bytes();
            match name {
                b"." | b".." => continue,
                b".git" => drop(self.found.candidates.insert(self.path.join(".git"))),
                b"HEAD" | b"objects" | b"refs" | b"commondir" => drop(seen.insert(name.to_owned())),
                _ => {}
            }
            if self.is_dir(entry.file_type(), name) {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        let has = |name: &[u8]| seen.contains(name);
        let is_repository = has(b"HEAD") && (has(b"objects") && has(b"refs") || has(b"commondir"));
        if is_repository {
            self.found.candidates.insert(self.path.clone());
        }
        Listing { names, is_repository }
    }

    /// Not every file system says what its entries are.
    fn is_dir(&self, kind_of_entry: FileType, name: &[u8]) -> bool {
        let stat = || rustix::fs::statat(&self.here, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW);
        match kind_of_entry {
            FileType::Unknown => stat().is_ok_and(|stat| kind(&stat) == FileType::Directory),
            known => known == FileType::Directory,
        }
    }
}

/// A directory within another; one that its owner has closed is opened, and its mode given.
fn open_child(here: &OwnedFd, name: &OsStr) -> Option<(OwnedFd, Option<Mode>)> {
    let open = |flags| rustix::fs::openat(here, name, flags, Mode::empty());
    match open(dir::LOOK) {
        Err(Errno::ACCESS) => {
            let closed = dir::open_up(&open(dir::NAME).ok()?).ok()?;
            Some((open(dir::LOOK).ok()?, closed))
        }
        opened => Some((opened.ok()?, None)),
    }
}

fn again(path: &Path, id: Id) -> Option<OwnedFd> {
    let dir = Dir::open(path)?;
    let fd = rustix::io::fcntl_dupfd_cloexec(dir.fd(), 0).ok()?;
    (id_of(&fd)? == id).then_some(fd)
}

fn id_of(dir: &OwnedFd) -> Option<Id> {
    rustix::fs::fstat(dir).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
