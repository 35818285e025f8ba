//! What differs between two snapshots. A directory that has the same tree in both is not read.

use std::cmp::Ordering;
use std::collections::hash_map::Entry as Place;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use uwf_store::{Hash, Store};

use crate::change::TreeChange;
use crate::error::SnapshotError;
use crate::tree::{self, SnapshotEntry, Tree};

/// What was done to get from the tree `a` to the tree `b`, sorted by path, byte by byte.
///
/// A file that went and one that came are one that was renamed where they have the same content, which is not empty; of
/// several the one with the same name, else the first.
///
/// # Errors
/// A directory is missing in the store, or is none.
pub fn diff(store: &Store, a: &Hash, b: &Hash) -> Result<Vec<TreeChange>, SnapshotError> {
    let mut changes = Vec::new();
    if a != b {
        compare(store, Path::new(""), (Some(a), Some(b)), &mut changes)?;
    }
    let mut changes = with_renames(changes);
    changes.sort_by(|one, other| by_path(&one.path, &other.path));
    Ok(changes)
}

/// What is done to get the tree where nothing is, sorted by path.
pub(crate) fn everything(store: &Store, tree: &Hash) -> Result<Vec<TreeChange>, SnapshotError> {
    let mut changes = Vec::new();
    compare(store, Path::new(""), (None, Some(tree)), &mut changes)?;
    changes.sort_by(|one, other| by_path(&one.path, &other.path));
    Ok(changes)
}

/// The order of paths, byte by byte.
pub(crate) fn by_path(one: &Path, other: &Path) -> Ordering {
    one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes())
}

/// Deep directories: what is open is a tree on either side for each level.
fn compare(
    store: &Store,
    path: &Path,
    (a, b): (Option<&Hash>, Option<&Hash>),
    changes: &mut Vec<TreeChange>,
) -> Result<(), SnapshotError> {
    let read = |tree: Option<&Hash>| tree.map_or_else(|| Ok(Tree::new()), |tree| tree::read(store, tree));
    for (name, before, after) in pairs(read(a)?, read(b)?) {
        if before == after {
            continue;
        }
        let path = path.join(name);
        let below = (before.as_ref().and_then(below), after.as_ref().and_then(below));
        if below.0 != below.1 {
            compare(store, &path, below, changes)?;
        }
        if !is_same_directory(before.as_ref(), after.as_ref()) {
            changes.push(TreeChange { path, renamed_from: None, before, after });
        }
    }
    Ok(())
}

/// What is under each name in one or the other.
fn pairs(a: Tree, mut b: Tree) -> Vec<(OsString, Option<SnapshotEntry>, Option<SnapshotEntry>)> {
    let mut pairs: Vec<_> = a
        .into_iter()
        .map(|(name, before)| {
            let after = b.remove(&name);
            (name, Some(before), after)
        })
        .collect();
    pairs.extend(b.into_iter().map(|(name, after)| (name, None, Some(after))));
    pairs
}

fn below(entry: &SnapshotEntry) -> Option<&Hash> {
    match entry {
        SnapshotEntry::Directory { tree, .. } => Some(tree),
        _ => None,
    }
}

/// Whether it is a directory that has the same permissions still, whatever is in it.
fn is_same_directory(before: Option<&SnapshotEntry>, after: Option<&SnapshotEntry>) -> bool {
    match (before, after) {
        (
            Some(SnapshotEntry::Directory { mode: before, .. }),
            Some(SnapshotEntry::Directory { mode: after, .. }),
        ) => before == after,
        _ => false,
    }
}

/// Joins what went with what came and has the same content.
fn with_renames(changes: Vec<TreeChange>) -> Vec<TreeChange> {
    let mut moved = HashMap::new();
    pair(&changes, &mut moved, |change| change.path.file_name());
    pair(&changes, &mut moved, |_| None);
    join(changes, &moved)
}

/// Finds for each file that came one that went with the same content and key, and is not taken yet.
fn pair<'c>(
    changes: &'c [TreeChange],
    moved: &mut HashMap<usize, usize>,
    key: impl Fn(&'c TreeChange) -> Option<&'c OsStr>,
) {
    let taken: HashSet<usize> = moved.values().copied().collect();
    let mut gone: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (at, change) in
        changes.iter().enumerate().filter(|(at, change)| change.after.is_none() && !taken.contains(at))
    {
        if let Some(content) = content(change.before.as_ref()) {
            gone.entry((content, key(change))).or_default().push_back(at);
        }
    }
    for (at, change) in changes.iter().enumerate().filter(|(_, change)| change.before.is_none()) {
        if let Some(content) = content(change.after.as_ref())
            && let Place::Vacant(place) = moved.entry(at)
            && let Some(from) = gone.get_mut(&(content, key(change))).and_then(VecDeque::pop_front)
        {
            place.insert(from);
        }
    }
}

/// Gives each change that has a source what was there, and takes the sources out.
fn join(changes: Vec<TreeChange>, moved: &HashMap<usize, usize>) -> Vec<TreeChange> {
    let source = |from: &usize| (*from, (changes[*from].path.clone(), changes[*from].before.clone()));
    let sources: HashMap<usize, (PathBuf, Option<SnapshotEntry>)> = moved.values().map(source).collect();
    let rest = changes.into_iter().enumerate().filter(|(at, _)| !sources.contains_key(at));
    let joined = rest.map(|(at, change)| match moved.get(&at).map(|from| sources[from].clone()) {
        Some((from, before)) => TreeChange { renamed_from: Some(from), before, ..change },
        None => change,
    });
    joined.collect()
}

/// The content of a file that has one.
fn content(entry: Option<&SnapshotEntry>) -> Option<Hash> {
    match entry? {
        SnapshotEntry::File { content, size, .. } if *size > 0 => Some(*content),
        _ => None,
    }
}

/// The changes of the paths that are wanted; a move of which one end alone is wanted is what happened there.
pub fn only(changes: &[TreeChange], is_wanted: impl Fn(&Path) -> bool) -> Vec<TreeChange> {
    let is_whole = |change: &&TreeChange| {
        [Some(&change.path), change.renamed_from.as_ref()].into_iter().flatten().all(|path| is_wanted(path))
    };
    let mut found: Vec<TreeChange> = Vec::new();
    for change in changes {
        match is_whole(&change) {
            true => found.push(change.clone()),
            false => found.extend(
                without_renames(from_ref(change)).into_iter().filter(|change| is_wanted(&change.path)),
            ),
        }
    }
    found.sort_by(|one, other| by_path(&one.path, &other.path));
    found
}

/// Every path by itself: what was moved went, and came.
pub(crate) fn without_renames(changes: &[TreeChange]) -> Vec<TreeChange> {
    let mut all = Vec::with_capacity(changes.len());
    for change in changes {
        let TreeChange { path, renamed_from, before, after } = change.clone();
        match renamed_from {
            Some(from) => {
                all.push(TreeChange { path: from, renamed_from: None, before, after: None });
                all.push(TreeChange { path, renamed_from: None, before: None, after });
            }
            None => all.push(TreeChange { path, renamed_from: None, before, after }),
        }
    }
    all
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
