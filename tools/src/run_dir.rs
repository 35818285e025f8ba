//! The private directory of a run: made, held while its run lives, and removed with everything that commands left in it,
//! by a later run if this one is killed.
//!
//! Whoever holds the lock in it lives. What is removed is named relative to open directories and never through a link:
//! whatever a process that hid from its end still swaps there, nothing outside is touched.

use std::collections::VecDeque;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use tempfile::Builder;

use crate::open_flags::DIRECTORY;

const PREFIX: &str = "uwf-";
const LOCK: &str = ".uwf-run-lock";
/// Directories of killed runs that one start removes.
const SWEPT: usize = 100;
/// Levels of directories that are open at once while one is removed.
const LEVELS: usize = 16;

/// A private directory; dropping it removes it.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Makes one in `base`, and removes those of runs that were killed.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn make(base: &Path) -> io::Result<RunDir> {
        sweep(base);
        let dir =
            Builder::new().prefix(PREFIX).permissions(fs::Permissions::from_mode(0o700)).tempdir_in(base)?;
        // It has its name only once it is held: a sweep looks for the name.
        let (unfinished, name) = (dir.path().join("locking"), dir.path().join(LOCK));
        let lock = File::create_new(&unfinished)?;
        lock.lock()?;
        fs::rename(unfinished, name)?;
        Ok(RunDir { path: dir.keep(), _lock: lock })
    }

    /// Whether what lies in it can have attributes of users', as layers over caches need: a tmpfs has none before Linux
    /// 6.6, and then no directory in a layer can be removed or moved.
    pub fn has_attributes(&self) -> bool {
        rustix::fs::setxattr(&self.path, c"user.uwf", b"y", rustix::fs::XattrFlags::empty()).is_ok()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // What cannot be removed now is swept by a later run.
        let _ = remove(&self.path);
    }
}

/// Removes the directories of runs that do not live any more.
fn sweep(base: &Path) {
    let user = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
    });
    let left = ours.map(|entry| entry.path()).filter_map(|path| Some((abandoned(&path)?, path)));
    // What cannot be removed is tried again by a later run, and keeps none from removing others.
    let removed = left.filter(|(_lock, path)| remove(path).is_ok());
    removed.take(SWEPT).for_each(drop);
}

/// The lock of a directory whose run does not live any more.
fn abandoned(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let lock = File::from(rustix::fs::open(path.join(LOCK), flags, Mode::empty()).ok()?);
    let is_ours = lock.metadata().is_ok_and(|metadata| metadata.is_file());
    (is_ours && lock.try_lock().is_ok()).then_some(lock)
}

/// Removes a directory and all in it, its lock last: what is cut off is swept later.
fn remove(path: &Path) -> io::Result<()> {
    let top = open(rustix::fs::CWD, path.as_os_str())?;
    let mut deep = DeepDirs { top: &top, names: VecDeque::new(), moved: 0 };
    clear(&top, LEVELS, &mut deep, Some(LOCK))?;
    while let Some(name) = deep.names.pop_front() {
        clear(&open(&top, OsStr::from_bytes(name.to_bytes()))?, LEVELS, &mut deep, None)?;
        rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
    }
    let _ = rustix::fs::unlinkat(&top, LOCK, AtFlags::empty());
    Ok(rustix::fs::rmdir(path)?)
}

/// Directories that lie too deep: they are moved to the top and cleared in turn.
struct DeepDirs<'a> {
    top: &'a OwnedFd,
    names: VecDeque<CString>,
    moved: u64,
}

/// Removes all in `dir` but what is `kept`, and what lies more than so many levels below it.
fn clear(dir: &OwnedFd, levels: usize, deep: &mut DeepDirs<'_>, kept: Option<&str>) -> io::Result<()> {
    let is_kept = |name: &CString| kept.is_some_and(|kept| name.to_bytes() == kept.as_bytes());
    for (name, kind) in entries(dir)?.into_iter().filter(|(name, _)| !is_kept(name)) {
        if kind != FileType::Directory {
            match rustix::fs::unlinkat(dir, &name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Most are empty.
        if rustix::fs::unlinkat(dir, &name, AtFlags::REMOVEDIR).is_ok() {
            continue;
        }
        let below = open(dir, OsStr::from_bytes(name.to_bytes()));
        match levels {
            // To be moved, it must be writable, which it is now.
            0 => deep.move_up(dir, &name)?,
            _ => {
                clear(&below?, levels - 1, deep, None)?;
                rustix::fs::unlinkat(dir, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }
    Ok(())
}

impl DeepDirs<'_> {
    /// Moves a directory to the top, under a name that is free there.
    fn move_up(&mut self, dir: &OwnedFd, name: &CString) -> io::Result<()> {
        loop {
            self.moved += 1;
            let up = CString::new(format!("removed-{}", self.moved))?;
            match rustix::fs::renameat(dir, name, self.top, &up) {
                Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                renamed => {
                    self.names.push_back(up);
                    return Ok(renamed?);
                }
            }
        }
    }
}

/// Opens a directory that is no link, and gives its owner back the rights that a command took.
fn open(at: impl std::os::fd::AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(&at, name, flags | OFlags::PATH, Mode::empty())?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        rustix::fs::chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), mode | Mode::RWXU)?;
    }
    Ok(rustix::fs::openat(&handle, ".", DIRECTORY, Mode::empty())?)
}

fn entries(dir: &OwnedFd) -> io::Result<Vec<(CString, FileType)>> {
    let entries = rustix::fs::Dir::read_from(dir)?.flatten();
    let entries = entries.map(|entry| (entry.file_name().to_owned(), entry.file_type()));
    Ok(entries.filter(|(name, _)| name.as_c_str() != c"." && name.as_c_str() != c"..").collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn everything_goes_whatever_its_mode_and_depth_and_no_link_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let outside = base.path().join("outside");
        fs::create_dir_all(outside.join("d")).unwrap();
        fs::write(outside.join("f"), "kept").unwrap();
        mode(&outside.join("d"), 0o500);
        let run = RunDir::make(base.path()).unwrap();
        let path = run.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        // An earlier removal was cut off.
        fs::create_dir_all(path.join("removed-1/x")).unwrap();
        symlink(&outside, path.join("link")).unwrap();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        fs::write(path.join("a/b/f"), "x").unwrap();
        symlink("../../outside", path.join("a/b/c/link")).unwrap();
        // Commands can make what is called so.
        fs::create_dir_all(path.join("tmp").join(LOCK)).unwrap();
        fs::write(path.join("a").join(LOCK), "").unwrap();
        for (name, bits) in [("a/b/c", 0o000), ("a/b", 0o500), ("a", 0o100)] {
            mode(&path.join(name), bits);
        }
        drop(run);
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "kept");
        assert_eq!(fs::metadata(outside.join("d")).unwrap().mode() & 0o777, 0o500);
    }

    #[test]
    fn ten_thousand_directories_in_each_other_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let run = RunDir::make(base.path()).unwrap();
        let mut dir = open(rustix::fs::CWD, run.path().as_os_str()).unwrap();
        for _ in 0..10_000 {
            rustix::fs::mkdirat(&dir, "d", Mode::RWXU).unwrap();
            dir = open(&dir, OsStr::new("d")).unwrap();
        }
        let path = run.path().to_owned();
        drop(run);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_run_left_is_swept_and_what_lives_or_is_another_s_is_not() {
        let base = tempfile::tempdir().unwrap();
        let alive = RunDir::make(base.path()).unwrap();
        let killed = base.path().join("uwf-killed");
        fs::create_dir_all(killed.join("tmp")).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        mode(&killed.join("tmp"), 0o000);
        let foreign = base.path().join("uwf-notes");
        fs::create_dir(&foreign).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, foreign.join(LOCK), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let next = RunDir::make(base.path()).unwrap();
        assert!(!killed.exists() && foreign.exists() && alive.path().exists() && next.path().exists());
    }
}
