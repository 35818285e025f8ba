//! Where git finds a repository: what its programs would take for a git directory, in a workspace and behind it.
//!
//! Read as git's own `setup.c` does, byte by byte: a name that this reader took otherwise would be one that nobody
//! watches. It only looks; what is in the directories is [`super::GitGuard`]'s matter.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::deadline::CheckDeadline;
use super::dir::{Content, Dir};
use super::read;
use super::walk::FoundRepositories;

/// The git directories of one repository: its own, and the one it shares with other worktrees (else the same as its own).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Repository {
    pub(super) own: PathBuf,
    pub(super) common: PathBuf,
}

/// How a file makes git run programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    /// A configuration: by what is set in it.
    Config,
    /// A list of steps: by its lines, each a step that git will take.
    Steps,
    /// A merge strategy: by naming a program.
    Strategy,
    /// A directory: not by itself, but what is in it is not looked at when it is a symlink.
    Directory,
}

impl Repository {
    fn of(candidate: &Path) -> Option<Self> {
        let own = match fs::metadata(candidate).ok()? {
            metadata if metadata.is_dir() => candidate.canonicalize().ok()?,
            metadata if metadata.is_file() => refers(candidate, b"gitdir: ")?,
            _ => return None,
        };
        let common = refers(&own.join("commondir"), b"").unwrap_or_else(|| own.clone());
        Some(Self { own, common })
    }

    /// The files that make git run programs, whether they are there or not; hooks apart. `info/attributes` and
    /// `objects/info/alternates` are none: they choose among drivers that a configuration defines, and lend objects.
    pub(super) fn files(&self) -> Vec<(PathBuf, FileKind)> {
        const OWN: &[(&str, FileKind)] = &[
            ("config.worktree", FileKind::Config),
            ("rebase-merge", FileKind::Directory),
            ("rebase-merge/git-rebase-todo", FileKind::Steps),
            ("rebase-merge/git-rebase-todo.backup", FileKind::Steps),
            ("rebase-merge/done", FileKind::Steps),
            ("rebase-merge/strategy", FileKind::Strategy),
            ("rebase-apply", FileKind::Directory),
            ("rebase-apply/strategy", FileKind::Strategy),
            ("sequencer", FileKind::Directory),
            ("sequencer/todo", FileKind::Steps),
            ("sequencer/opts", FileKind::Config),
        ];
        let own = OWN.iter().map(|(name, kind)| (self.own.join(name), *kind));
        [(self.common.join("config"), FileKind::Config)].into_iter().chain(own).collect()
    }

    pub(super) fn hooks(&self) -> PathBuf {
        self.common.join("hooks")
    }

    pub(super) fn exists(&self) -> bool {
        self.dirs().iter().all(|dir| Dir::open(dir).is_some())
    }

    pub(super) fn dirs(&self) -> [&PathBuf; 2] {
        [&self.own, &self.common]
    }
}

/// The git directories that the candidates of `found` lead to, those that these share, and those within them: of other
/// worktrees, and of submodules whether they are checked out or not, since `git submodule update` takes what is there.
/// What lies below `walked` is among the candidates already.
pub(super) fn behind(
    found: &mut FoundRepositories,
    walked: Option<&Path>,
    deadline: &CheckDeadline,
) -> BTreeSet<Repository> {
    let mut inner = FoundRepositories::default();
    let mut direct = BTreeSet::new();
    for candidate in &found.candidates {
        if deadline.is_over() {
            let missed = || format!("where {} and others lead: {}", candidate.display(), deadline.why());
            inner.missed.get_or_insert_with(missed);
            break;
        }
        direct.extend(Repository::of(candidate));
    }
    let commons: BTreeSet<&PathBuf> = direct.iter().map(|repository| &repository.common).collect();
    for common in &commons {
        if !walked.is_some_and(|walked| common.starts_with(walked)) {
            inner.add(common, deadline);
        }
    }
    let shared = commons.into_iter().chain(&inner.candidates);
    let repositories: Vec<Repository> = shared.filter_map(|candidate| Repository::of(candidate)).collect();
    found.opened.extend(inner.opened);
    found.missed = found.missed.take().or(inner.missed);
    direct.into_iter().chain(repositories).collect()
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
pub(super) fn candidates(root: &Path, deadline: &CheckDeadline) -> FoundRepositories {
    let mut found =
        FoundRepositories { candidates: BTreeSet::from([root.join(".git")]), ..FoundRepositories::default() };
    found.add(root, deadline);
    found
}

/// What makes git run programs in the repository of a workspace and is there from the beginning: for the sandbox, which
/// keeps commands from changing it at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitPrograms {
    /// The directory of the hooks.
    pub(crate) hooks: Option<PathBuf>,
    /// The configuration files.
    pub(crate) configs: Vec<PathBuf>,
}

/// The programs of the repository that git finds first in `root`; paths are free of symlinks. Other repositories, below it,
/// are only watched.
pub(crate) fn programs_at(root: &Path) -> GitPrograms {
    let Some(repository) = Repository::of(&root.join(".git")) else { return GitPrograms::default() };
    let is_file =
        |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.nlink() == 1);
    let is_dir = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let configs = [repository.common.join("config"), repository.own.join("config.worktree")];
    GitPrograms {
        hooks: Some(repository.hooks()).filter(is_dir),
        configs: configs.into_iter().filter(is_file).collect(),
    }
}

#[cfg(test)]
#[path = "repositories_tests.rs"]
mod tests;
