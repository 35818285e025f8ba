//! Git's hooks and configuration: what a command adds to them that would run a program later, outside of any
//! confinement, is taken back.
//!
//! The git directories of the workspace (its own, nested ones, those that a worktree or a submodule refers to) are
//! found before the first command and again at the end; after each command the known ones are compared with what they
//! held at the start. Everything but hooks and program-running variables stands: a new remote, a tracked branch. It
//! never writes outside of the workspace and the git directories that were there at the start.

mod config;
mod dir;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::{WalkBuilder, WalkState};

use crate::seen::lock;
use dir::{Content, Dir};

/// How deep git follows includes.
const MAX_INCLUDES: usize = 10;
/// Stands among the hooks for a directory of hooks that is a symlink, whose files are not looked at.
const LINK: &str = ".";

/// Watches the git directories of one workspace.
pub(crate) struct GitGuard {
    /// Absolute, free of symlinks.
    root: PathBuf,
    /// Commands may do as they like.
    allowed: bool,
    /// From the first command on.
    start: Mutex<Option<Start>>,
}

/// The state before the first command.
struct Start {
    /// Where git looks first: `.git` in a working tree, a directory or a file that names one.
    points: BTreeSet<PathBuf>,
    /// The git directories these led to.
    dirs: BTreeSet<PathBuf>,
    /// Files in the workspace that the configuration includes.
    included: BTreeSet<PathBuf>,
    /// What every configuration file held; one that is not here was not there.
    configs: BTreeMap<PathBuf, Content>,
    /// The hooks, by directory.
    hooks: BTreeMap<PathBuf, Hooks>,
}

/// Names of hooks and what they are; git's own samples are left out.
type Hooks = BTreeMap<OsString, Content>;

impl GitGuard {
    /// `root` is absolute and free of symlinks. Nothing is looked at yet.
    pub(crate) fn new(root: &Path, allowed: bool) -> Self {
        Self { root: root.to_owned(), allowed, start: Mutex::default() }
    }

    /// To be called before each command: the first time it notes what there is.
    pub(crate) fn begin(&self) {
        if !self.allowed {
            lock(&self.start).get_or_insert_with(|| Start::new(&self.root));
        }
    }

    /// After a command: takes back what it did to the git directories that are known, and says what that was.
    pub(crate) fn check(&self) -> Vec<String> {
        lock(&self.start).as_ref().map(|start| start.check(&self.root)).unwrap_or_default()
    }

    /// The same at the end of the run, with the git directories that are new.
    pub(crate) fn end(&self) -> Vec<String> {
        let Some(mut start) = lock(&self.start).take() else { return Vec::new() };
        start.points.extend(points(&self.root));
        start.check(&self.root)
    }
}

/// A run that was cut off ends like any other.
impl Drop for GitGuard {
    fn drop(&mut self) {
        self.end();
    }
}

impl Start {
    fn new(root: &Path) -> Self {
        let points = points(root);
        let places: Vec<Place> = points.iter().filter_map(|point| Place::of(point)).collect();
        let dirs = places.iter().flat_map(|place| [place.own.clone(), place.common.clone()]).collect();
        let (included, configs, hooks) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        let mut start = Self { points, dirs, included, configs, hooks };
        for place in &places {
            start.hooks.insert(place.hooks(), hooks_in(&place.common));
            place.configs().into_iter().for_each(|file| start.note(root, file, 0));
        }
        start
    }

    /// Notes a configuration file and those in the workspace that it includes.
    fn note(&mut self, root: &Path, file: PathBuf, depth: usize) {
        let content = read(&file);
        if let Content::File(text, _) = &content {
            let included: Vec<String> =
                config::parse(text).unwrap_or_default().iter().filter_map(config::Entry::included).collect();
            for path in included {
                let path = file.parent().unwrap_or(root).join(path);
                let Ok(path) = path.canonicalize() else { continue };
                if path.starts_with(root) && depth < MAX_INCLUDES && self.included.insert(path.clone()) {
                    self.note(root, path, depth + 1);
                }
            }
        }
        self.configs.insert(file, content);
    }

    fn check(&self, root: &Path) -> Vec<String> {
        let mut undone = Vec::new();
        let places: BTreeSet<Place> = self.points.iter().filter_map(|point| Place::of(point)).collect();
        let mut files: BTreeSet<PathBuf> = self.included.clone();
        for place in places {
            if ![&place.own, &place.common]
                .into_iter()
                .all(|dir| dir.starts_with(root) || self.dirs.contains(dir))
            {
                undone.push(format!(
                    "not undone: a `.git` leads to {} now, outside of the workspace",
                    place.common.display()
                ));
                continue;
            }
            undone.extend(self.check_hooks(root, &place));
            files.extend(place.configs());
        }
        for file in files {
            undone.extend(self.check_config(root, &file));
        }
        undone
    }

    fn check_config(&self, root: &Path, file: &Path) -> Vec<String> {
        let was = self.configs.get(file).unwrap_or(&Content::Missing);
        let is = read(file);
        let before = if let Content::File(text, _) = was { text.as_slice() } else { &[] };
        let (content, keys) = match (was, &is) {
            (Content::Other, _) | (_, Content::Other | Content::Missing) => return Vec::new(),
            (Content::Missing, Content::File(text, _)) if self.is_moved_config(text) => return Vec::new(),
            (Content::Missing | Content::File(..), Content::File(text, mode)) => {
                match config::undo(before, text) {
                    None => return Vec::new(),
                    Some(undone) => (Content::File(undone.text, *mode), undone.keys),
                }
            }
            (was, is) if was == is => return Vec::new(),
            (was, _) => (was.clone(), vec!["a symbolic link".to_owned()]),
        };
        let done = put(file, &content);
        keys.iter().map(|key| told(&format!("{key} in {}", shown(root, file)), done.as_ref().err())).collect()
    }

    fn check_hooks(&self, root: &Path, place: &Place) -> Vec<String> {
        let (dir, none, missing) = (place.hooks(), Hooks::new(), Content::Missing);
        let was = self.hooks.get(&dir).unwrap_or(&none);
        let is = hooks_in(&place.common);
        let mut undone = Vec::new();
        if is == *was {
            return undone;
        }
        if is.contains_key(OsStr::new(LINK)) {
            let done = put(&dir, was.get(OsStr::new(LINK)).unwrap_or(&missing));
            undone.push(told(&format!("the symbolic link {}", shown(root, &dir)), done.err().as_ref()));
        }
        if !was.is_empty()
            && let Some(common) = Dir::open(&place.common)
        {
            // Where it cannot be made, nothing can be put into it: that is what is told.
            let _ = common.make(OsStr::new("hooks"));
        }
        let names: BTreeSet<&OsString> = was.keys().chain(is.keys()).filter(|name| *name != LINK).collect();
        for name in names {
            let (was, is) = (was.get(name).unwrap_or(&missing), is.get(name));
            let moved = |hook| *was == missing && self.is_moved_hook(name, hook);
            if is.is_none_or(|is| is != was && !moved(is)) {
                let done = put(&dir.join(name), was);
                let hook = format!("the hook {} in {}", name.display(), shown(root, &dir));
                undone.push(told(&hook, done.err().as_ref()));
            }
        }
        undone
    }

    /// A repository that was moved brings along what it had.
    fn is_moved_config(&self, text: &[u8]) -> bool {
        self.configs
            .values()
            .any(|was| matches!(was, Content::File(was, _) if config::run_the_same(was, text)))
    }

    fn is_moved_hook(&self, name: &OsStr, hook: &Content) -> bool {
        self.hooks.values().any(|hooks| hooks.get(name) == Some(hook))
    }
}

/// The directories behind one `.git`: its own, and the one it shares with other worktrees (else the same).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    own: PathBuf,
    common: PathBuf,
}

impl Place {
    fn of(point: &Path) -> Option<Self> {
        let own = match std::fs::metadata(point).ok()? {
            metadata if metadata.is_dir() => point.canonicalize().ok()?,
            metadata if metadata.is_file() => refers(point, "gitdir: ")?,
            _ => return None,
        };
        let common = refers(&own.join("commondir"), "").unwrap_or_else(|| own.clone());
        Some(Self { own, common })
    }

    fn configs(&self) -> [PathBuf; 2] {
        [self.common.join("config"), self.own.join("config.worktree")]
    }

    fn hooks(&self) -> PathBuf {
        self.common.join("hooks")
    }
}

/// The directory that the only line of a file names.
fn refers(file: &Path, prefix: &str) -> Option<PathBuf> {
    let Content::File(text, _) = read(&file.canonicalize().ok()?) else { return None };
    let text = String::from_utf8(text).ok()?;
    let path = file.parent()?.join(text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']));
    path.canonicalize().ok().filter(|path| path.is_dir())
}

/// Every `.git` of the workspace, and the one at its root whether it is there or not. Ignored directories count too.
fn points(root: &Path) -> BTreeSet<PathBuf> {
    let found = Mutex::new(BTreeSet::from([root.join(".git")]));
    let inside = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with(".git"));
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| entry.depth() == 0 || !inside(entry.path()))
        .build_parallel();
    walk.run(|| {
        Box::new(|entry| {
            if let Ok(entry) = entry
                && entry.depth() > 0
                && entry.file_name() == ".git"
            {
                lock(&found).insert(entry.into_path());
            }
            WalkState::Continue
        })
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The hooks of a git directory.
fn hooks_in(common: &Path) -> Hooks {
    let path = common.join("hooks");
    if let link @ Content::Link(_) = read(&path) {
        return Hooks::from([(OsString::from(LINK), link)]);
    }
    let Some(dir) = Dir::open(&path) else { return Hooks::new() };
    let names = dir.names().into_iter().filter(|name| !name.as_encoded_bytes().ends_with(b".sample"));
    let hooks = names.map(|name| (name.clone(), dir.read(&name)));
    hooks.filter(|(_, content)| *content != Content::Other).collect()
}

fn read(file: &Path) -> Content {
    let dir = file.parent().and_then(Dir::open);
    dir.zip(file.file_name()).map_or(Content::Missing, |(dir, name)| dir.read(name))
}

fn put(file: &Path, content: &Content) -> std::io::Result<()> {
    let dir = file.parent().and_then(Dir::open);
    let (dir, name) = dir.zip(file.file_name()).ok_or(std::io::ErrorKind::NotFound)?;
    dir.put(name, content)
}

fn told(what: &str, failed: Option<&std::io::Error>) -> String {
    match failed {
        None => format!("undone: {what}"),
        Some(error) => format!("not undone: {what}: {error}"),
    }
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(test)]
#[path = "git_guard_tests.rs"]
mod tests;
