//! New contents, written beside what they replace: in the directory they belong in, or the nearest above that is there.
//!
//! Each has a name that follows from its path, so that what a run left that was cut off is replaced by the next one.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, symlinkat, unlinkat};
use rustix::io::Errno;
use uwf_store::{Hash, Store};
use xxhash_rust::xxh64::xxh64;

use super::check::Step;
use super::place::OpenWorkspace;
use crate::error::SnapshotError;
use crate::tree::SnapshotEntry;

/// What is written and has no place yet; dropped, it removes itself.
pub(super) struct Staged<'p> {
    place: &'p OpenWorkspace,
    /// The directory it is in.
    directory: PathBuf,
    name: String,
    is_placed: bool,
}

impl<'p> Staged<'p> {
    /// What a step shall make; none where it makes nothing new.
    pub(super) fn of(
        store: &Store,
        place: &'p OpenWorkspace,
        step: &Step,
        synced: bool,
    ) -> Result<Option<Staged<'p>>, SnapshotError> {
        let same = |content: &Hash| matches!(&step.before, Some(SnapshotEntry::File { content: before, .. }) if before == content);
        match &step.after {
            Some(SnapshotEntry::File { content, mode, .. }) if !same(content) => {
                let (staged, directory) = Staged::begin(place, &step.path)?;
                let file = staged.write(store, &directory, (content, *mode))?;
                if synced {
                    file.sync_data().map_err(place.failed("sync", &step.path))?;
                }
                Ok(Some(staged))
            }
            Some(SnapshotEntry::Symlink { target }) => {
                let (staged, directory) = Staged::begin(place, &step.path)?;
                symlinkat(target, &directory, &staged.name).map_err(place.failed("write", &step.path))?;
                Ok(Some(staged))
            }
            _ => Ok(None),
        }
    }

    fn begin(place: &'p OpenWorkspace, path: &Path) -> Result<(Staged<'p>, OwnedFd), SnapshotError> {
        let name = temporary(path);
        for above in path.ancestors().skip(1) {
            match place.directory(above, OFlags::PATH) {
                Ok(directory) => {
                    clear(&directory, &name).map_err(place.failed("write", path))?;
                    let staged = Staged { place, directory: above.to_owned(), name, is_placed: false };
                    return Ok((staged, directory));
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(place.failed("write", path)(error)),
            }
        }
        Err(place.failed("write", path)(Errno::NOENT))
    }

    fn write(
        &self,
        store: &Store,
        directory: &OwnedFd,
        (content, mode): (&Hash, u32),
    ) -> Result<File, SnapshotError> {
        let path = self.directory.join(&self.name);
        let failed = || self.place.failed("write", &path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(directory, &self.name, flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(file.map_err(|error| failed()(error.into()))?);
        let mut content = store.blob(content)?;
        loop {
            let piece = content.read_next()?;
            if piece.is_empty() {
                break;
            }
            file.write_all(piece).map_err(failed())?;
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(|error| failed()(error.into()))?;
        Ok(file)
    }

    /// Gives it its place: of what is there in one moment, or only where nothing is.
    pub(super) fn put(mut self, path: &Path, replaces: bool) -> Result<(), Errno> {
        let from = self.place.directory(&self.directory, OFlags::PATH)?;
        let (parent, name) = self.place.parent(path)?;
        match replaces {
            true => rustix::fs::renameat(&from, &self.name, &parent, name)?,
            false => {
                let flags = rustix::fs::RenameFlags::NOREPLACE;
                rustix::fs::renameat_with(&from, &self.name, &parent, name, flags)?;
            }
        }
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if !self.is_placed
            && let Ok(directory) = self.place.directory(&self.directory, OFlags::PATH)
        {
            // What cannot be removed is removed by the next run.
            let _ = unlinkat(&directory, &self.name, AtFlags::empty());
        }
    }
}

/// A new directory at a path, which has these permissions from the moment it is there.
pub(super) fn make_directory(place: &OpenWorkspace, path: &Path, mode: u32) -> Result<(), SnapshotError> {
    let make = || -> Result<(), Errno> {
        let (parent, name) = place.parent(path)?;
        let temporary = temporary(path);
        clear(&parent, &temporary)?;
        rustix::fs::mkdirat(&parent, &temporary, Mode::RWXU)?;
        let handle = openat(
            &parent,
            &temporary,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        rustix::fs::fchmod(&handle, Mode::from_raw_mode(mode))?;
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&parent, &temporary, &parent, name, flags) {
            Err(error) => {
                clear(&parent, &temporary)?;
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    };
    make().map_err(place.failed("create the directory", path))
}

/// Removes what a run of these paths left that was cut off, wherever that began to write: the directories that were there
/// then need not be those of now.
pub(super) fn clear_leftovers<'p>(place: &OpenWorkspace, paths: impl Iterator<Item = &'p Path>) {
    let (mut leftovers, mut directories) = (HashSet::new(), HashSet::new());
    for path in paths {
        leftovers.insert(temporary(path));
        for above in path.ancestors().skip(1) {
            if !directories.insert(above) {
                break;
            }
        }
    }
    for path in directories {
        // What cannot be listed or removed harms nobody.
        let Ok(names) = place.names(path) else { continue };
        let mut found = names.into_iter().filter_map(|name| name.into_string().ok());
        if let Some(first) = found.find(|name| leftovers.contains(name))
            && let Ok(directory) = place.directory(path, OFlags::PATH)
        {
            let found = std::iter::once(first).chain(found.filter(|name| leftovers.contains(name)));
            for name in found {
                let _ = clear(&directory, &name);
            }
        }
    }
}

/// Removes what a run left that was cut off.
fn clear(directory: &OwnedFd, name: &str) -> Result<(), Errno> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => unlinkat(directory, name, AtFlags::REMOVEDIR),
        Err(error) => Err(error),
    }
}

fn temporary(path: &Path) -> String {
    format!(".uwf-restore-{:016x}", xxh64(path.as_os_str().as_bytes(), 0))
}
