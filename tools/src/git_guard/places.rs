//! Where git finds a repository: what its programs would take for a git directory, in a workspace and behind it.
//!
//! Read as git's own `setup.c` does, byte by byte: a name that this reader took otherwise would be one that nobody
//! watches. It only looks; what is in the directories is [`super::GitGuard`]'s matter.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::{WalkBuilder, WalkState};

use super::dir::Content;
use super::read;
use crate::seen::lock;

/// The directories behind one `.git`: its own, and the one it shares with other worktrees (else the same).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) own: PathBuf,
    pub(super) common: PathBuf,
}

impl Place {
    fn of(point: &Path) -> Option<Self> {
        let own = match fs::metadata(point).ok()? {
            metadata if metadata.is_dir() => point.canonicalize().ok()?,
            metadata if metadata.is_file() => refers(point, b"gitdir: ")?,
            _ => return None,
        };
        let common = refers(&own.join("commondir"), b"").unwrap_or_else(|| own.clone());
        Some(Self { own, common })
    }

    pub(super) fn configs(&self) -> [PathBuf; 2] {
        [self.common.join("config"), self.own.join("config.worktree")]
    }

    pub(super) fn hooks(&self) -> PathBuf {
        self.common.join("hooks")
    }

    pub(super) fn exists(&self) -> bool {
        self.own.is_dir() && self.common.is_dir()
    }

    pub(super) fn dirs(&self) -> [&PathBuf; 2] {
        [&self.own, &self.common]
    }

    /// Of other worktrees, and of submodules whether they are checked out or not: `git submodule update` takes what is
    /// there.
    fn inner(&self) -> Vec<Self> {
        let worktrees = fs::read_dir(self.common.join("worktrees")).into_iter().flatten().flatten();
        let worktrees = worktrees.filter_map(|entry| Self::of(&entry.path()));
        let is_objects = |name: &OsStr| name == "objects" || name == "refs";
        let modules = WalkBuilder::new(self.common.join("modules"))
            .standard_filters(false)
            .filter_entry(move |entry| !is_objects(entry.file_name()))
            .build();
        let modules = modules.flatten().filter(|entry| entry.file_name() == "HEAD");
        worktrees.chain(modules.filter_map(|head| Self::of(head.path().parent()?))).collect()
    }
}

/// The git directories that `points` lead to, and those within them.
pub(super) fn behind(points: &BTreeSet<PathBuf>) -> BTreeSet<Place> {
    let direct: BTreeSet<Place> = points.iter().filter_map(|point| Place::of(point)).collect();
    let inner: Vec<Place> = direct.iter().flat_map(Place::inner).collect();
    direct.into_iter().chain(inner).collect()
}

/// The directory that a file names: up to a zero, less the line ends at the end, from the directory in which the file
/// is called so (a symlink may lie elsewhere than what it leads to).
fn refers(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let Content::File(text, _) = read(&file.canonicalize().ok()?) else { return None };
    let name = text.strip_prefix(prefix)?;
    let end = name.iter().rposition(|byte| !b"\n\r".contains(byte)).map_or(0, |at| at + 1);
    let name = name[..end].split(|byte| *byte == 0).next()?;
    let path = file.parent()?.join(OsStr::from_bytes(name));
    path.canonicalize().ok().filter(|path| path.is_dir())
}

/// Every `.git` of the workspace, and the one at its root whether it is there or not; and every directory that git would
/// take for a repository without that name. Ignored directories count too.
pub(super) fn points(root: &Path) -> BTreeSet<PathBuf> {
    let found = Mutex::new(BTreeSet::from([root.join(".git")]));
    let inside = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with(".git"));
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| entry.depth() == 0 || !inside(entry.path()))
        .build_parallel();
    walk.run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            if entry.depth() > 0 && entry.file_name() == ".git" {
                lock(&found).insert(entry.into_path());
            } else if entry.file_name() == "HEAD"
                && let Some(bare) = entry.path().parent().filter(|dir| is_bare(dir))
            {
                lock(&found).insert(bare.to_owned());
            }
            WalkState::Continue
        })
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether git, in this directory or below, takes it for a repository; it has a `HEAD`.
fn is_bare(dir: &Path) -> bool {
    (dir.join("objects").is_dir() && dir.join("refs").is_dir()) || dir.join("commondir").is_file()
}
