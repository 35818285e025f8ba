//! What the git directories held before the first change, and how they become so again.
//!
//! Apart from [`super::GitGuard`], which says when.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::copies::Copies;
use super::dir::{Content, Dir};
use super::hooks::{self, Hooks, hooks_in};
use super::patience::Patience;
use super::places::{self, Kind, Place};
use super::report::Report;
use super::stamp::Sight;
use super::walk::Found;
use super::{config, put, read, state};

/// How deep git follows includes.
const MAX_INCLUDES: usize = 10;

/// The state before the first change, and what is known since.
pub(super) struct Start {
    /// The workspace, absolute, free of symlinks.
    root: PathBuf,
    /// Where git looks first: `.git` in a working tree, a directory or a file that names one.
    points: BTreeSet<PathBuf>,
    /// The git directories these led to, watched even when nothing leads there any more: git may be led there again.
    places: BTreeSet<Place>,
    /// Files in the workspace that the configuration includes, whether they are there or not.
    included: BTreeSet<PathBuf>,
    /// What every file held; one that is not here was not there.
    files: BTreeMap<PathBuf, Content>,
    /// The steps that run programs, of all that git was about to take.
    steps: BTreeSet<Vec<u8>>,
    /// The hooks, by directory.
    hooks: BTreeMap<PathBuf, Hooks>,
    /// When this was, and whether there was time for everything: else what was not changed since was so before.
    since: SystemTime,
    whole: bool,
    /// What commands change instead of the real files.
    copies: Copies,
    /// What could not be put back yet.
    owed: BTreeMap<PathBuf, Content>,
    /// How the files of a place looked when they were as before; those that cannot be told alike are not here.
    same: BTreeMap<Place, Vec<Sight>>,
}

impl Start {
    pub(super) fn new(root: &Path, copies: &[(PathBuf, PathBuf)], patience: &Patience) -> Self {
        let since = SystemTime::now();
        let mut found = places::points(root, patience);
        let places = places::behind(&mut found, Some(root), patience);
        let mut start = Self {
            root: root.to_owned(),
            points: std::mem::take(&mut found.points),
            places: BTreeSet::new(),
            included: BTreeSet::new(),
            files: BTreeMap::new(),
            steps: BTreeSet::new(),
            hooks: BTreeMap::new(),
            since,
            whole: found.missed.is_none(),
            copies: Copies::default(),
            owed: BTreeMap::new(),
            same: BTreeMap::new(),
        };
        for place in places {
            start.whole &= !patience.is_over() && start.note(place, patience);
        }
        let files = start.included.iter().map(|file| (file.clone(), read(file)));
        start.files.extend(files.collect::<Vec<_>>());
        start.whole &= !patience.is_over();
        start.copies = Copies::new(copies);
        found.close(patience);
        start
    }

    /// False when there was no time for it.
    fn note(&mut self, place: Place, patience: &Patience) -> bool {
        let Some(hooks) = hooks_in(&place.hooks(), patience) else { return false };
        self.hooks.insert(place.hooks(), hooks);
        for (file, kind) in place.files() {
            let content = read(&file);
            match (kind, &content) {
                (Kind::Config, _) => collect_included((&self.root, patience), (&file, 0), &mut self.included),
                (Kind::Steps, Content::File(text, _)) => {
                    self.steps.extend(state::programs(text).map(<[u8]>::to_vec));
                }
                _ => {}
            }
            self.files.insert(file, content);
        }
        self.places.insert(place);
        true
    }

    /// Takes back what was done to the git directories that are known: that may be told by a glance.
    pub(super) fn check(&mut self, patience: &Patience) -> Report {
        let found = Found { points: self.points.clone(), ..Found::default() };
        self.look((found, None), patience)
    }

    /// The same, with the git directories that are new, and all of it read.
    pub(super) fn check_all(&mut self, patience: &Patience) -> Report {
        self.same.clear();
        let mut found = places::points(&self.root, patience);
        found.points.extend(self.points.iter().cloned());
        let root = self.root.clone();
        self.look((found, Some(&root)), patience)
    }

    /// What people changed since is what commands begin with.
    pub(super) fn renew(&mut self) {
        self.copies.renew();
    }

    /// A link to a copy becomes the file that is meant; all else is as it is.
    fn meant(&self, file: &Path, is: Content) -> Content {
        let Content::Link(target) = &is else { return is };
        match self.copies.meant_by(Path::new(target)) {
            Some(content) if put(file, content).is_ok() => content.clone(),
            _ => is,
        }
    }

    fn look(&mut self, (mut found, walked): (Found, Option<&Path>), patience: &Patience) -> Report {
        let mut report = Report::default();
        let mut copies = std::mem::take(&mut self.copies);
        copies.take_over(self, &mut report);
        self.copies = copies;
        self.pay(&mut report);
        let behind = places::behind(&mut found, walked, patience);
        let new = behind.difference(&self.places).cloned();
        // First those that are known: a flood of new ones does not hide them.
        let places: Vec<Place> = self.places.iter().cloned().chain(new).collect();
        let (mut files, mut left) = (self.included.clone(), 0);
        for place in places {
            if patience.is_over() {
                left += 1;
            } else {
                self.look_at(&place, (&mut files, &mut report), patience);
            }
        }
        for file in files {
            if patience.is_over() {
                report.missed(&format!("files that are included: {}", patience.why()));
                break;
            }
            self.check_file((&file, Kind::Config), &mut report);
        }
        if let Some(missed) = found.missed.take() {
            report.missed(&missed);
        }
        if left > 0 {
            report.missed(&format!("{left} git directories: {}", patience.why()));
        }
        found.close(patience);
        report
    }

    fn look_at(
        &mut self,
        place: &Place,
        (files, report): (&mut BTreeSet<PathBuf>, &mut Report),
        patience: &Patience,
    ) {
        let now = SystemTime::now();
        let sights = self.sights(place);
        if sights.is_some() && self.same.get(place) == sights.as_ref() {
            return;
        }
        self.same.remove(place);
        if !place.exists() {
            return;
        }
        let is_ours = |dir: &PathBuf| dir.starts_with(&self.root) || self.has_dir(dir);
        if !place.dirs().into_iter().all(is_ours) {
            let leads = format!("a `.git` leads to {} now", place.common.display());
            return report.stands(&leads, "outside of the workspace");
        }
        let (before, mut included) = (report.len(), BTreeSet::new());
        self.check_hooks(place, report, patience);
        for (file, kind) in place.files() {
            self.check_file((&file, kind), report);
            if kind == Kind::Config {
                collect_included((&self.root, patience), (&file, 0), &mut included);
            }
        }
        // Which files are included is told by more than what is in the files of the place.
        if let Some(sights) = sights.filter(|_| report.len() == before && included.is_empty())
            && sights.iter().all(|sight| sight.is_before(now))
        {
            self.same.insert(place.clone(), sights);
        }
        files.extend(included);
    }

    /// Whether it is, or lies in, a git directory that was there: of a submodule, in that of its worktree.
    fn has_dir(&self, dir: &Path) -> bool {
        self.places.iter().flat_map(Place::dirs).any(|known| dir.starts_with(known))
    }

    /// How everything looks that is watched in a place; `None` when that cannot be told.
    fn sights(&self, place: &Place) -> Option<Vec<Sight>> {
        let dir = place.hooks();
        let hooks = self.hooks.get(&dir)?.keys().flat_map(|hook| hook.ancestors().map(|path| dir.join(path)));
        let files = place.files().into_iter().map(|(file, _)| file);
        files.chain([dir.clone()]).chain(hooks).map(|file| Sight::of(&file)).collect()
    }

    /// What could not be put back before may be now.
    fn pay(&mut self, report: &mut Report) {
        for (file, content) in std::mem::take(&mut self.owed) {
            if read(&file) == Content::Missing {
                let what = format!("that {} was taken away", self.shown(&file));
                self.put(&file, &content, &[what], report);
            }
        }
    }

    fn put(&mut self, file: &Path, content: &Content, what: &[String], report: &mut Report) {
        let done = put(file, content);
        if done.is_err() && matches!(content, Content::File(..) | Content::Link(_)) {
            self.owed.insert(file.to_owned(), content.clone());
        }
        what.iter().for_each(|what| report.tell(what, done.as_ref().err()));
    }

    /// What a file of this text may become, and what is taken out of it, in words.
    pub(super) fn allowed(&self, file: &Path, kind: Kind, text: &[u8]) -> Option<(Content, Vec<String>)> {
        let was = self.files.get(file).unwrap_or(&Content::Missing);
        let as_it_is = || (Content::File(text.to_owned(), 0o644), Vec::new());
        let (content, keys) = self.without_programs((was, kind), text, 0o644).unwrap_or_else(as_it_is);
        let told = keys.iter().map(|key| format!("{key} in {}", self.shown(file)));
        matches!(content, Content::File(..)).then(|| (content, told.collect()))
    }

    fn check_file(&mut self, (file, kind): (&Path, Kind), report: &mut Report) {
        let was = self.files.get(file).unwrap_or(&Content::Missing);
        let is = self.meant(file, read(file));
        if *was == is || (!self.files.contains_key(file) && self.is_old(file)) {
            return;
        }
        let undone = match (was, &is) {
            (Content::Other | Content::Opaque(_), _) | (_, Content::Missing) => None,
            (_, Content::Dir) if kind == Kind::Directory || *was == Content::Missing => None,
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
        (was, kind): (&Content, Kind),
        text: &[u8],
        mode: u32,
    ) -> Option<(Content, Vec<String>)> {
        let file = |text| Content::File(text, mode);
        match kind {
            Kind::Directory => None,
            Kind::Steps => {
                state::without_programs(text, &self.steps).map(|(text, steps)| (file(text), steps))
            }
            Kind::Strategy if state::is_own_strategy(text) => None,
            Kind::Strategy => Some((was.clone(), vec!["the strategy".to_owned()])),
            Kind::Config if *was == Content::Missing && self.is_moved_config(text) => None,
            Kind::Config => {
                let before = if let Content::File(before, _) = was { before.as_slice() } else { &[] };
                config::undo(before, text).map(|undone| (file(undone.text), undone.keys))
            }
        }
    }

    fn check_hooks(&mut self, place: &Place, report: &mut Report, patience: &Patience) {
        let dir = place.hooks();
        let Some(mut is) = hooks_in(&dir, patience) else {
            return report.missed(&format!("the hooks in {}: {}", self.shown(&dir), patience.why()));
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
            && let Some(mut common) = Dir::open(&place.common)
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
        !self.whole && Sight::of(file).is_some_and(|sight| sight.is_before(self.since))
    }

    pub(super) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// The files in the workspace that a configuration includes, and those that these do. One that is not there, or has
/// become another by a symlink on the way, counts too: git reads it as soon as it is there.
fn collect_included(
    (root, patience): (&Path, &Patience),
    (file, depth): (&Path, usize),
    found: &mut BTreeSet<PathBuf>,
) {
    let Content::File(text, _) = read(file) else { return };
    for entry in config::parse(&text).unwrap_or_default() {
        if patience.is_over() {
            return;
        }
        let Some(path) = entry.included().map(|path| file.parent().unwrap_or(root).join(path)) else {
            continue;
        };
        let missing = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let real = path.canonicalize().ok().or_else(missing).filter(|path| path.starts_with(root));
        if let Some(real) = real.filter(|real| found.insert(real.clone()) && depth < MAX_INCLUDES) {
            collect_included((root, patience), (&real, depth + 1), found);
        }
    }
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
