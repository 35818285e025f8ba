//! What the git directories held before the first change, and how they become so again.
//!
//! Apart from [`super::GitGuard`], which says when.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::copies::{ConfigCopies, Rules};
use super::deadline::CheckDeadline;
use super::dir::{Content, Dir};
use super::hooks::{self, Hooks, hooks_in};
use super::report::GitReport;
use super::repositories::{self, FileKind, Repository};
use super::stamp::{self, PathStamp};
use super::walk::FoundRepositories;
use super::{config, put, read, sequencer};

/// How deep git follows includes.
const MAX_INCLUDES: usize = 10;

/// What the git directories held before the first change, and what is known since.
pub(super) struct Baseline {
    /// The workspace, absolute, free of symlinks.
    root: PathBuf,
    /// The paths where git would look for a repository; see [`FoundRepositories::candidates`].
    candidates: BTreeSet<PathBuf>,
    /// The git directories these led to, watched even when nothing leads there any more: git may be led there again.
    repositories: BTreeSet<Repository>,
    /// Files in the workspace that the configuration includes, whether they are there or not.
    included: BTreeSet<PathBuf>,
    /// What every file held; one that is not here was not there.
    files: BTreeMap<PathBuf, Content>,
    /// The steps that run programs, of all that git was about to take.
    steps: BTreeSet<Vec<u8>>,
    /// The hooks, by directory.
    hooks: BTreeMap<PathBuf, Hooks>,
    /// When this was.
    since: SystemTime,
    /// Whether there was time for everything: else what was not changed since then counts as having been there.
    whole: bool,
    /// What commands change instead of the real files.
    copies: ConfigCopies,
    /// Files that could not be put back yet, with what they held.
    pending: BTreeMap<PathBuf, Content>,
    /// The stamps of a repository's files when they were last found unchanged. A repository whose stamps cannot tell that
    /// is not here.
    same: BTreeMap<Repository, Vec<PathStamp>>,
}

impl Baseline {
    pub(super) fn new(root: &Path, copies: &[(PathBuf, PathBuf)], deadline: &CheckDeadline) -> Self {
        let since = stamp::now();
        let mut found = repositories::candidates(root, deadline);
        let repositories = repositories::behind(&mut found, Some(root), deadline);
        let mut baseline = Self {
            root: root.to_owned(),
            candidates: std::mem::take(&mut found.candidates),
            repositories: BTreeSet::new(),
            included: BTreeSet::new(),
            files: BTreeMap::new(),
            steps: BTreeSet::new(),
            hooks: BTreeMap::new(),
            since,
            whole: found.missed.is_none(),
            copies: ConfigCopies::default(),
            pending: BTreeMap::new(),
            same: BTreeMap::new(),
        };
        for repository in repositories {
            baseline.whole &= !deadline.is_over() && baseline.note(repository, deadline);
        }
        let files = baseline.included.iter().map(|file| (file.clone(), read(file)));
        baseline.files.extend(files.collect::<Vec<_>>());
        baseline.whole &= !deadline.is_over();
        baseline.copies = ConfigCopies::new(copies);
        found.close(deadline);
        baseline
    }

    /// Notes what a repository holds; false when there was no time for it.
    fn note(&mut self, repository: Repository, deadline: &CheckDeadline) -> bool {
        let Some(hooks) = hooks_in(&repository.hooks(), deadline) else { return false };
        self.hooks.insert(repository.hooks(), hooks);
        for (file, kind) in repository.files() {
            let content = read(&file);
            match (kind, &content) {
                (FileKind::Config, _) => {
                    collect_included((&self.root, deadline), (&file, 0), &mut self.included)
                }
                (FileKind::Steps, Content::File(text, _)) => {
                    self.steps.extend(sequencer::programs(text).map(<[u8]>::to_vec));
                }
                _ => {}
            }
            self.files.insert(file, content);
        }
        self.repositories.insert(repository);
        true
    }

    /// Takes back what was done to the git directories that are known; files whose stamps are the same are not read.
    pub(super) fn check(&mut self, deadline: &CheckDeadline) -> GitReport {
        let found = FoundRepositories { candidates: self.candidates.clone(), ..FoundRepositories::default() };
        self.look((found, None), deadline)
    }

    /// Takes back what was done to the git directories that are known and to those that are new; all files are read.
    pub(super) fn check_all(&mut self, deadline: &CheckDeadline) -> GitReport {
        self.same.clear();
        let mut found = repositories::candidates(&self.root, deadline);
        found.candidates.extend(self.candidates.iter().cloned());
        let root = self.root.clone();
        self.look((found, Some(&root)), deadline)
    }

    /// Refreshes the copies: what people changed since is what commands begin with.
    pub(super) fn renew(&mut self) {
        self.copies.renew();
    }

    /// What is meant by a file that `is` so: a link to a copy is replaced by the file it was copied from.
    fn meant(&self, file: &Path, is: Content) -> Content {
        let Content::Link(target) = &is else { return is };
        match self.copies.meant_by(Path::new(target)) {
            Some(content) if put(file, content).is_ok() => content.clone(),
            _ => is,
        }
    }

    /// Takes back what was done to the repositories of `found` and to those that are known; a walk of `walked` found all
    /// that is below it.
    fn look(
        &mut self,
        (mut found, walked): (FoundRepositories, Option<&Path>),
        deadline: &CheckDeadline,
    ) -> GitReport {
        let mut report = GitReport::default();
        let mut copies = std::mem::take(&mut self.copies);
        copies.apply_changes(self, &mut report);
        self.copies = copies;
        self.retry_pending(&mut report);
        let behind = repositories::behind(&mut found, walked, deadline);
        let new = behind.difference(&self.repositories).cloned();
        // First those that are known: a flood of new ones does not hide them.
        let repositories: Vec<Repository> = self.repositories.iter().cloned().chain(new).collect();
        let (mut files, mut left) = (self.included.clone(), 0);
        for repository in repositories {
            if deadline.is_over() {
                left += 1;
            } else {
                self.look_at(&repository, (&mut files, &mut report), deadline);
            }
        }
        for file in files {
            if deadline.is_over() {
                report.missed(&format!("files that are included: {}", deadline.why()));
                break;
            }
            self.check_file((&file, FileKind::Config), &mut report);
        }
        if let Some(missed) = found.missed.take() {
            report.missed(&missed);
        }
        if left > 0 {
            report.missed(&format!("{left} git directories: {}", deadline.why()));
        }
        found.close(deadline);
        report
    }

    /// Takes back what was done to one repository, and adds the files that its configuration includes to `files`.
    fn look_at(
        &mut self,
        repository: &Repository,
        (files, report): (&mut BTreeSet<PathBuf>, &mut GitReport),
        deadline: &CheckDeadline,
    ) {
        let now = stamp::now();
        let stamps = self.stamps(repository);
        if stamps.is_some() && self.same.get(repository) == stamps.as_ref() {
            return;
        }
        self.same.remove(repository);
        if !repository.exists() {
            return;
        }
        let is_ours = |dir: &PathBuf| dir.starts_with(&self.root) || self.has_dir(dir);
        if !repository.dirs().into_iter().all(is_ours) {
            let leads = format!("a `.git` leads to {} now", repository.common.display());
            return report.stands(&leads, "outside of the workspace");
        }
        let (before, mut included) = (report.len(), BTreeSet::new());
        self.check_hooks(repository, report, deadline);
        for (file, kind) in repository.files() {
            self.check_file((&file, kind), report);
            if kind == FileKind::Config {
                collect_included((&self.root, deadline), (&file, 0), &mut included);
            }
        }
        // Which files are included is told by more than what is in the repository's own files.
        if let Some(stamps) = stamps.filter(|_| report.len() == before && included.is_empty())
            && stamps.iter().all(|stamp| stamp.is_before(now))
        {
            self.same.insert(repository.clone(), stamps);
        }
        files.extend(included);
    }

    /// Whether it is, or lies in, a git directory that was there: of a submodule, in that of its worktree.
    fn has_dir(&self, dir: &Path) -> bool {
        self.repositories.iter().flat_map(Repository::dirs).any(|known| dir.starts_with(known))
    }

    /// The stamps of all files that are watched in a repository; `None` when one cannot be had.
    fn stamps(&self, repository: &Repository) -> Option<Vec<PathStamp>> {
        let dir = repository.hooks();
        let hooks = self.hooks.get(&dir)?.keys().flat_map(|hook| hook.ancestors().map(|path| dir.join(path)));
        let files = repository.files().into_iter().map(|(file, _)| file);
        files.chain([dir.clone()]).chain(hooks).map(|file| PathStamp::of(&file)).collect()
    }

    /// Puts back what could not be put back before and is still missing.
    fn retry_pending(&mut self, report: &mut GitReport) {
        for (file, content) in std::mem::take(&mut self.pending) {
            if read(&file) == Content::Missing {
                let what = format!("that {} was taken away", self.shown(&file));
                self.put(&file, &content, &[what], report);
            }
        }
    }

    fn put(&mut self, file: &Path, content: &Content, what: &[String], report: &mut GitReport) {
        let done = put(file, content);
        if done.is_err() && matches!(content, Content::File(..) | Content::Link(_)) {
            self.pending.insert(file.to_owned(), content.clone());
        }
        what.iter().for_each(|what| report.record(what, done.as_ref().err()));
    }

    fn check_file(&mut self, (file, kind): (&Path, FileKind), report: &mut GitReport) {
        let was = self.files.get(file).unwrap_or(&Content::Missing);
        let is = self.meant(file, read(file));
        if *was == is || (!self.files.contains_key(file) && self.is_old(file)) {
            return;
        }
        let undone = match (was, &is) {
            (Content::Other | Content::Opaque(_), _) | (_, Content::Missing) => None,
            (_, Content::Dir) if kind == FileKind::Directory || *was == Content::Missing => None,
            (was, Content::File(text, mode)) => self.without_programs((was, kind), text, *mode),
            (was, Content::Link(_)) => Some((was.clone(), vec!["a symbolic link".to_owned()])),
            (was, _) => Some((was.clone(), vec!["what cannot be looked at".to_owned()])),
        };
        let Some((content, keys)) = undone else { return };
        // What was in a directory is not put back, but a link in its place goes.
        let content = if content == Content::Dir { Content::Missing } else { content };
        let what: Vec<String> = keys.iter().map(|key| format!("{key} in {}", self.shown(file))).collect();
        self.put(file, &content, &what, report);
    }

    /// What a file must become, and what of it is undone; `None` when it is as it should be.
    fn without_programs(
        &self,
        (was, kind): (&Content, FileKind),
        text: &[u8],
        mode: u32,
    ) -> Option<(Content, Vec<String>)> {
        let file = |text| Content::File(text, mode);
        match kind {
            FileKind::Directory => None,
            FileKind::Steps => {
                sequencer::without_programs(text, &self.steps).map(|(text, steps)| (file(text), steps))
            }
            FileKind::Strategy if sequencer::is_own_strategy(text) => None,
            FileKind::Strategy => Some((was.clone(), vec!["the strategy".to_owned()])),
            FileKind::Config if *was == Content::Missing && self.is_moved_config(text) => None,
            FileKind::Config => {
                let before = if let Content::File(before, _) = was { before.as_slice() } else { &[] };
                config::undo(before, text).map(|undone| (file(undone.text), undone.keys))
            }
        }
    }

    fn check_hooks(&mut self, repository: &Repository, report: &mut GitReport, deadline: &CheckDeadline) {
        let dir = repository.hooks();
        let Some(mut is) = hooks_in(&dir, deadline) else {
            return report.missed(&format!("the hooks in {}: {}", self.shown(&dir), deadline.why()));
        };
        let was = self.hooks.get(&dir).cloned().unwrap_or_default();
        if is == was {
            return;
        }
        if is.remove(Path::new(hooks::LINK)).is_some() {
            let content = was.get(Path::new(hooks::LINK)).unwrap_or(&Content::Missing);
            self.put(&dir, content, &[format!("the symbolic link {}", self.shown(&dir))], report);
        }
        if !was.is_empty()
            && let Some(mut common) = Dir::open(&repository.common)
        {
            // Where it cannot be made, nothing can be put into it: that is what is told.
            let _ = common.make("hooks".as_ref());
        }
        let names: BTreeSet<&PathBuf> =
            was.keys().chain(is.keys()).filter(|name| **name != *hooks::LINK).collect();
        for name in names {
            let (was, is) = (was.get(name), is.get(name));
            let is_fine =
                is == was || (was.is_none() && is.is_some_and(|is| self.was_elsewhere(name, is, &dir)));
            if !is_fine {
                let what = format!("the hook {} in {}", name.display(), self.shown(&dir));
                self.put(&dir.join(name), was.unwrap_or(&Content::Missing), &[what], report);
            }
        }
    }

    /// A repository that was moved brings along what it had.
    fn is_moved_config(&self, text: &[u8]) -> bool {
        self.files.values().any(|was| matches!(was, Content::File(was, _) if config::run_the_same(was, text)))
    }

    fn was_elsewhere(&self, name: &Path, hook: &Content, dir: &Path) -> bool {
        self.hooks.values().any(|hooks| hooks.get(name) == Some(hook))
            || (!self.hooks.contains_key(dir) && self.is_old(&dir.join(name)))
    }

    /// Whether what was not looked at in the beginning, for want of time, is what it was then.
    fn is_old(&self, file: &Path) -> bool {
        !self.whole && PathStamp::of(file).is_some_and(|stamp| stamp.is_before(self.since))
    }
}

impl Rules for Baseline {
    fn allowed(&self, file: &Path, kind: FileKind, text: &[u8]) -> Option<(Content, Vec<String>)> {
        let was = self.files.get(file).unwrap_or(&Content::Missing);
        let as_it_is = || (Content::File(text.to_owned(), 0o644), Vec::new());
        let (content, keys) = self.without_programs((was, kind), text, 0o644).unwrap_or_else(as_it_is);
        let undone = keys.iter().map(|key| format!("{key} in {}", self.shown(file)));
        matches!(content, Content::File(..)).then(|| (content, undone.collect()))
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// The files in the workspace that a configuration includes, and those that these do. One that is not there, or has
/// become another by a symlink on the way, counts too: git reads it as soon as it is there.
fn collect_included(
    (root, deadline): (&Path, &CheckDeadline),
    (file, depth): (&Path, usize),
    found: &mut BTreeSet<PathBuf>,
) {
    let Content::File(text, _) = read(file) else { return };
    for entry in config::parse(&text).unwrap_or_default() {
        if deadline.is_over() {
            return;
        }
        let Some(path) = entry.included().map(|path| file.parent().unwrap_or(root).join(path)) else {
            continue;
        };
        let missing = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let real = path.canonicalize().ok().or_else(missing).filter(|path| path.starts_with(root));
        if let Some(real) = real.filter(|real| found.insert(real.clone()) && depth < MAX_INCLUDES) {
            collect_included((root, deadline), (&real, depth + 1), found);
        }
    }
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
