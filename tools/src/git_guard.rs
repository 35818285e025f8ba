//! Git's hooks and configuration: what a command adds to them that would run a program later, outside of any
//! confinement, is taken back.
//!
//! The git directories of the workspace (see [`places`]) are found before the first change and again at the end; after
//! each command the known ones are compared with what they held at the start. Everything but hooks and program-running variables stands: a new remote, a tracked branch. It
//! never writes outside of the workspace and the git directories that were there at the start.

pub(crate) mod config;
mod dir;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::seen::lock;
use dir::{Content, Dir};
use places::Place;

/// Of many things that were undone, as many are told.
const TOLD: usize = 20;
/// Bytes of all hooks of a directory that are kept; any more are taken for something that may not be read.
const HOOKS: usize = 32 << 20;
/// Stands among the hooks for a directory of hooks that is a symlink, whose files are not looked at.
const LINK: &str = ".";

/// How deep git follows includes.
const MAX_INCLUDES: usize = 10;

/// Watches the git directories of one workspace.
pub(crate) struct GitGuard {
    /// Absolute, free of symlinks.
    root: PathBuf,
    /// Commands may do as they like.
    allowed: bool,
    /// From the first change on.
    start: Mutex<Option<Start>>,
}

/// The state before the first change.
struct Start {
    /// Where git looks first: `.git` in a working tree, a directory or a file that names one.
    points: BTreeSet<PathBuf>,
    /// The git directories these led to, watched even when nothing leads there any more: git may be led there again.
    places: BTreeSet<Place>,
    /// Files in the workspace that the configuration includes, whether they are there or not.
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

    /// To be called before each call that may change something: the first time it notes what there is.
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
        start.points.extend(places::points(&self.root));
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
        let points = places::points(root);
        let places = places::behind(&points);
        let (included, configs, hooks) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        let mut start = Self { points, places: places.clone(), included, configs, hooks };
        for place in places {
            start.hooks.insert(place.hooks(), hooks_in(&place.common));
            for file in place.configs() {
                collect_included(root, (&file, 0), &mut start.included);
                start.configs.insert(file.clone(), read(&file));
            }
        }
        let files = start.included.iter().map(|file| (file.clone(), read(file)));
        start.configs.extend(files.collect::<Vec<_>>());
        start
    }

    fn check(&self, root: &Path) -> Vec<String> {
        let mut undone = Vec::new();
        let known_dirs: BTreeSet<&PathBuf> = self.places.iter().flat_map(Place::dirs).collect();
        let known = self.places.iter().filter(|place| place.exists()).cloned();
        let places: BTreeSet<Place> = known.chain(places::behind(&self.points)).collect();
        let mut files: BTreeSet<PathBuf> = self.included.clone();
        for place in places {
            if !place.dirs().iter().all(|dir| dir.starts_with(root) || known_dirs.contains(dir)) {
                undone.push(format!(
                    "not undone: a `.git` leads to {} now, outside of the workspace",
                    place.common.display()
                ));
                continue;
            }
            undone.extend(self.check_hooks(root, &place));
            place.configs().iter().for_each(|file| collect_included(root, (file, 0), &mut files));
            files.extend(place.configs());
        }
        for file in files {
            undone.extend(self.check_config(root, &file));
        }
        if undone.len() > TOLD {
            let more = undone.split_off(TOLD).len();
            undone.push(format!("and {more} more"));
        }
        undone
    }

    fn check_config(&self, root: &Path, file: &Path) -> Vec<String> {
        let was = self.configs.get(file).unwrap_or(&Content::Missing);
        let is = read(file);
        let before = if let Content::File(text, _) = was { text.as_slice() } else { &[] };
        let (content, keys) = match (was, &is) {
            (Content::Other | Content::Opaque, _) | (_, Content::Missing) => return Vec::new(),
            (was, Content::Other | Content::Opaque) => {
                (was.clone(), vec!["what cannot be looked at".to_owned()])
            }
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

/// The files in the workspace that a configuration includes, and those that these do. One that is not there, or has
/// become another by a symlink on the way, counts too: git reads it as soon as it is there.
fn collect_included(root: &Path, (file, depth): (&Path, usize), found: &mut BTreeSet<PathBuf>) {
    let Content::File(text, _) = read(file) else { return };
    for entry in config::parse(&text).unwrap_or_default() {
        let Some(path) = entry.included().map(|path| file.parent().unwrap_or(root).join(path)) else {
            continue;
        };
        let missing = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let real = path.canonicalize().ok().or_else(missing).filter(|path| path.starts_with(root));
        if let Some(real) = real.filter(|real| found.insert(real.clone()) && depth < MAX_INCLUDES) {
            collect_included(root, (&real, depth + 1), found);
        }
    }
}

/// The hooks of a git directory.
fn hooks_in(common: &Path) -> Hooks {
    let path = common.join("hooks");
    if let link @ Content::Link(_) = read(&path) {
        return Hooks::from([(OsString::from(LINK), link)]);
    }
    let Some(dir) = Dir::open(&path) else { return Hooks::new() };
    let names = dir.names().into_iter().filter(|name| !name.as_encoded_bytes().ends_with(b".sample"));
    let mut room = HOOKS;
    let hooks = names.map(|name| {
        let content = if room == 0 { Content::Opaque } else { dir.read(&name) };
        if let Content::File(bytes, _) = &content {
            room = room.saturating_sub(bytes.len());
        }
        (name, content)
    });
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
