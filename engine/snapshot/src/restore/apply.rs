//! Doing it, in an order that can be cut off anywhere: written first, room made where a directory and something else take
//! each other's place, directories from the top, files into place, then removals, directories from the bottom.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use uwf_store::Store;

use super::check::{OPEN, Step, is_retyped};
use super::place::{OpenWorkspace, PathState};
use super::stage::{Staged, make_directory};
use super::{Conflict, ConflictReason, Restored};
use crate::error::SnapshotError;
use crate::tree::SnapshotEntry;

/// So many contents are synced one by one: to sync a whole file system waits for what others write as well.
const FEW: usize = 16;

pub(super) fn all(
    store: &Store,
    place: &OpenWorkspace,
    todo: &[Step],
    restored: Restored,
) -> Result<Restored, SnapshotError> {
    let (few, mut staged) = (todo.len() <= FEW, BTreeMap::new());
    for step in todo {
        if let Some(written) = Staged::of(store, place, step, few)? {
            staged.insert(step.path.as_path(), written);
        }
    }
    if !few && !staged.is_empty() {
        place.sync()?;
    }
    let mut work = Application { place, restored, given_up: HashSet::new() };
    work.make_room(todo)?;
    work.directories(todo)?;
    work.files(todo, staged)?;
    work.remove(todo.iter().filter(|step| step.after.is_none()))?;
    work.modes(todo)?;
    work.restored.conflicts.sort_by(|one, other| one.path.cmp(&other.path));
    work.restored.restored = (todo.len() - work.given_up.len()) as u64;
    Ok(work.restored)
}

struct Application<'w> {
    place: &'w OpenWorkspace,
    restored: Restored,
    /// Paths that somebody touched meanwhile.
    given_up: HashSet<&'w Path>,
}

impl<'w> Application<'w> {
    /// Removes what is in the place of a directory, and directories, with what is in them, where something else shall be.
    fn make_room(&mut self, todo: &'w [Step]) -> Result<(), SnapshotError> {
        let retyped: Vec<&Step> = todo.iter().filter(|step| is_retyped(step)).collect();
        let places: HashSet<&Path> = retyped.iter().map(|step| step.path.as_path()).collect();
        let is_below = |step: &&Step| step.path.ancestors().skip(1).any(|above| places.contains(above));
        self.remove(todo.iter().filter(|step| step.after.is_none()).filter(is_below))?;
        self.remove(retyped.into_iter())
    }

    /// Removes files, then directories from the bottom.
    fn remove(&mut self, steps: impl Iterator<Item = &'w Step>) -> Result<(), SnapshotError> {
        let (directories, files): (Vec<_>, Vec<_>) =
            steps.partition(|step| matches!(step.state, PathState::Directory { .. }));
        for step in files {
            if self.is_there(step)? {
                self.unlink(step, AtFlags::empty())?;
            }
        }
        for step in directories.into_iter().rev() {
            self.unlink(step, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    fn unlink(&mut self, step: &'w Step, flags: AtFlags) -> Result<(), SnapshotError> {
        let failed = |error| self.place.failed("remove", &step.path)(error);
        let (parent, name) = match self.place.parent(&step.path) {
            // What it was in is gone, or has made room for something else.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            opened => opened.map_err(failed)?,
        };
        match unlinkat(&parent, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) if step.after.is_none() => {
                if !self.restored.kept.contains(&step.path) {
                    self.restored.kept.push(step.path.clone());
                }
                Ok(())
            }
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                self.give_up(step, ConflictReason::NotEmpty);
                Ok(())
            }
            Err(Errno::NOTDIR | Errno::ISDIR | Errno::LOOP) => {
                self.give_up(step, ConflictReason::Changed);
                Ok(())
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Opens those that are there and makes the others, from the top.
    fn directories(&mut self, todo: &'w [Step]) -> Result<(), SnapshotError> {
        for step in todo {
            let Some(SnapshotEntry::Directory { mode, .. }) = step.after else { continue };
            match self.place.state(&step.path)? {
                PathState::Directory { mode: found } if found == mode | OPEN => {}
                PathState::Directory { .. } => self.place.set_mode(&step.path, mode | OPEN)?,
                PathState::Missing => {
                    self.parents(&step.path)?;
                    make_directory(self.place, &step.path, mode | OPEN)?;
                }
                _ => self.give_up(step, ConflictReason::Changed),
            }
        }
        Ok(())
    }

    /// Makes the directories that a path is in and that nobody planned, as a program would that has nothing to go by.
    fn parents(&self, path: &Path) -> Result<(), SnapshotError> {
        let above: Vec<&Path> =
            path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        for directory in above.into_iter().rev() {
            if self.place.state(directory)? == PathState::Missing {
                make_directory(self.place, directory, 0o755)?;
            }
        }
        Ok(())
    }

    fn files(
        &mut self,
        todo: &'w [Step],
        mut staged: BTreeMap<&Path, Staged<'_>>,
    ) -> Result<(), SnapshotError> {
        for step in todo {
            let written = staged.remove(step.path.as_path());
            match (&step.after, written) {
                (None | Some(SnapshotEntry::Directory { .. }), _) => {}
                _ if self.given_up.contains(step.path.as_path()) => {}
                (_, Some(written)) => self.put(step, written)?,
                (Some(SnapshotEntry::File { mode, .. }), None) if self.is_there(step)? => {
                    self.place.set_mode(&step.path, *mode)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn put(&mut self, step: &'w Step, written: Staged<'_>) -> Result<(), SnapshotError> {
        // What had to go first is gone: then there is nothing to be replaced.
        let replaces = step.state != PathState::Missing && !is_retyped(step);
        if replaces && !self.is_there(step)? {
            return Ok(());
        }
        self.parents(&step.path)?;
        match written.put(&step.path, replaces) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST | Errno::ISDIR | Errno::NOTDIR | Errno::LOOP) => {
                self.give_up(step, ConflictReason::Changed);
                Ok(())
            }
            Err(error) => Err(self.place.failed("write", &step.path)(error)),
        }
    }

    /// Closes again what shall be closed, from the bottom.
    fn modes(&self, todo: &[Step]) -> Result<(), SnapshotError> {
        for step in todo.iter().rev() {
            if let Some(SnapshotEntry::Directory { mode, .. }) = step.after
                && self.place.state(&step.path)? == (PathState::Directory { mode: mode | OPEN })
                && mode & OPEN != OPEN
            {
                self.place.set_mode(&step.path, mode)?;
            }
        }
        Ok(())
    }

    /// Whether it is still what was looked at; one that is gone already is not there, which is no conflict where it was to
    /// go.
    fn is_there(&mut self, step: &'w Step) -> Result<bool, SnapshotError> {
        let now = self.place.state(&step.path)?;
        let is_gone = matches!(now, PathState::Missing | PathState::Blocked);
        if now != step.state && !(is_gone && step.after.is_none()) && !(is_gone && is_retyped(step)) {
            self.give_up(step, ConflictReason::Changed);
        }
        Ok(now == step.state)
    }

    fn give_up(&mut self, step: &'w Step, why: ConflictReason) {
        if self.given_up.insert(&step.path) {
            self.restored.conflicts.push(Conflict { path: step.path.clone(), why });
        }
    }
}
