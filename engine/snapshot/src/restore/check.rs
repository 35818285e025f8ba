//! What is to be done: each path held against what it was and what it shall be. Nothing is changed here.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};
use uwf_store::{Hash, Store};

use super::place::{OpenWorkspace, PathState};
use super::{Conflict, ConflictReason};
use crate::change::TreeChange;
use crate::diff::without_renames;
use crate::error::SnapshotError;
use crate::tree::SnapshotEntry;

/// What a directory needs to be worked in.
pub(super) const OPEN: u32 = 0o700;

/// A path that is to be changed.
pub(super) struct Step {
    pub(super) path: PathBuf,
    pub(super) before: Option<SnapshotEntry>,
    pub(super) after: Option<SnapshotEntry>,
    /// What is there now.
    pub(super) state: PathState,
}

pub(super) struct Checked {
    /// Sorted by path.
    pub(super) todo: Vec<Step>,
    /// What is as it shall be.
    pub(super) already: Vec<PathBuf>,
    pub(super) conflicts: Vec<Conflict>,
}

/// Every path by itself, in order.
pub(super) fn steps(changes: &[TreeChange]) -> Result<Vec<TreeChange>, SnapshotError> {
    let mut steps = without_renames(changes);
    if let Some(bad) = steps.iter().find(|step| !is_within(&step.path)) {
        return Err(SnapshotError::BadPath { path: bad.path.clone() });
    }
    steps.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(steps)
}

fn is_within(path: &Path) -> bool {
    let mut parts = path.components();
    !path.as_os_str().is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

pub(super) fn all(
    store: &Store,
    place: &OpenWorkspace,
    steps: Vec<TreeChange>,
) -> Result<Checked, SnapshotError> {
    let planned: HashMap<PathBuf, TreeChange> =
        steps.iter().map(|step| (step.path.clone(), step.clone())).collect();
    let mut checked = Checked { todo: Vec::new(), already: Vec::new(), conflicts: Vec::new() };
    for step in steps {
        let state = match place.state(&step.path)? {
            PathState::Blocked if becomes_reachable(&planned, &step.path) => PathState::Missing,
            state => state,
        };
        let step = Step { path: step.path, before: step.before, after: step.after, state };
        match check(store, place, &step, &planned)? {
            StepCheck::Already => checked.already.push(step.path),
            StepCheck::Todo => checked.todo.push(step),
            StepCheck::Conflict(why) => checked.conflicts.push(Conflict { path: step.path, why }),
        }
    }
    Ok(checked)
}

enum StepCheck {
    Already,
    Todo,
    Conflict(ConflictReason),
}

/// Whether what is in the way of a path is to go, or to become a directory.
fn becomes_reachable(planned: &HashMap<PathBuf, TreeChange>, path: &Path) -> bool {
    let ends_in_the_way = |above: &Path| {
        let change = planned.get(above)?;
        let is_directory =
            |entry: &Option<SnapshotEntry>| entry.as_ref().is_some_and(SnapshotEntry::is_directory);
        Some(is_directory(&change.before) != is_directory(&change.after))
    };
    path.ancestors().skip(1).any(|above| ends_in_the_way(above) == Some(true))
}

fn check(
    store: &Store,
    place: &OpenWorkspace,
    step: &Step,
    planned: &HashMap<PathBuf, TreeChange>,
) -> Result<StepCheck, SnapshotError> {
    use SnapshotEntry::Directory;
    let Step { path, before, after, state } = step;
    Ok(match (before, after, state) {
        (None, Some(Directory { mode, .. }), PathState::Directory { mode: found }) => {
            // One that was begun and not finished; one that somebody else has made is as good as any.
            if *found != *mode && *found == *mode | OPEN { StepCheck::Todo } else { StepCheck::Already }
        }
        (Some(Directory { .. }), None, PathState::Directory { .. }) => StepCheck::Todo,
        (Some(Directory { .. }), Some(Directory { mode, .. }), PathState::Directory { mode: found })
            if *found == *mode | OPEN && found != mode =>
        {
            StepCheck::Todo
        }
        _ => match differs(store, place, path, (state, after.as_ref()))? {
            None => StepCheck::Already,
            Some(_) => match differs(store, place, path, (state, before.as_ref()))? {
                None if makes_room(place, step, planned)? => StepCheck::Todo,
                None => StepCheck::Conflict(ConflictReason::NotEmpty),
                // Between a directory and something else there is a moment with nothing.
                Some(ConflictReason::Missing) if is_retyped(step) => StepCheck::Todo,
                Some(why) => StepCheck::Conflict(why),
            },
        },
    })
}

/// Whether a directory becomes something else, or something else a directory.
pub(super) fn is_retyped(step: &Step) -> bool {
    match (&step.before, &step.after) {
        (Some(before), Some(after)) => before.is_directory() != after.is_directory(),
        _ => false,
    }
}

/// Whether all that is in a directory goes, where something else shall be in its place.
fn makes_room(
    place: &OpenWorkspace,
    step: &Step,
    planned: &HashMap<PathBuf, TreeChange>,
) -> Result<bool, SnapshotError> {
    if !is_retyped(step) || !matches!(step.state, PathState::Directory { .. }) {
        return Ok(true);
    }
    let mut open = vec![step.path.clone()];
    while let Some(directory) = open.pop() {
        for name in place.names(&directory)? {
            let path = directory.join(name);
            if planned.get(&path).is_none_or(|change| change.after.is_some()) {
                return Ok(false);
            }
            if matches!(place.state(&path)?, PathState::Directory { .. }) {
                open.push(path);
            }
        }
    }
    Ok(true)
}

/// In what something differs from what it should be; none where it does not.
fn differs(
    store: &Store,
    place: &OpenWorkspace,
    path: &Path,
    (state, wanted): (&PathState, Option<&SnapshotEntry>),
) -> Result<Option<ConflictReason>, SnapshotError> {
    let Some(wanted) = wanted else {
        return Ok(match state {
            PathState::Missing => None,
            PathState::Blocked => Some(ConflictReason::Parent),
            _ => Some(ConflictReason::Exists),
        });
    };
    Ok(match (state, wanted) {
        (PathState::Missing, _) => Some(ConflictReason::Missing),
        (PathState::Blocked, _) => Some(ConflictReason::Parent),
        (PathState::Symlink(found), SnapshotEntry::Symlink { target }) => {
            (found != target).then_some(ConflictReason::Content)
        }
        (PathState::Directory { mode: found }, SnapshotEntry::Directory { mode, .. }) => {
            (found != mode).then_some(ConflictReason::Mode)
        }
        (PathState::File { mode: found, stamp }, SnapshotEntry::File { content, size, mode }) => {
            if stamp.size != *size || !has_content(store, place, path, content)? {
                Some(ConflictReason::Content)
            } else {
                (found != mode).then_some(ConflictReason::Mode)
            }
        }
        _ => Some(ConflictReason::Type),
    })
}

/// Whether a file has this content; one that has just gone has not.
fn has_content(
    store: &Store,
    place: &OpenWorkspace,
    path: &Path,
    content: &Hash,
) -> Result<bool, SnapshotError> {
    let open = || {
        let (parent, name) = place.parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(&parent, name, flags, Mode::empty())
    };
    let mut file = File::from(open().map_err(place.failed("read", path))?);
    let (mut expected, mut found) = (store.blob(content)?, Vec::new());
    loop {
        let piece = expected.read_next()?;
        if piece.is_empty() {
            let more = file.read(&mut [0]).map_err(place.failed("read", path))?;
            return Ok(more == 0);
        }
        found.clear();
        (&mut file).take(piece.len() as u64).read_to_end(&mut found).map_err(place.failed("read", path))?;
        if found != piece {
            return Ok(false);
        }
    }
}
