//! What is needed only while a program runs: tasks as they are when it begins, copies of workspaces. What a program that was killed
//! has left here is removed by the next one that is alone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use uwf_engine::home::make_private;

use super::workspace::remove;
use crate::EvalError;

/// The directory below the root; no evaluation is called so.
const NAME: &str = ".scratch";
/// Held by every program that has something here.
const LOCK: &str = "lock";

/// A directory for what is needed only while a program runs.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    /// Shared with whoever else runs.
    _lock: File,
}

impl Scratch {
    /// The one below `root`; what nobody needs any more is gone.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn open(root: &Path) -> Result<Scratch, EvalError> {
        let dir = root.join(NAME);
        let failed = |source| EvalError::Disk { path: dir.clone(), source };
        make_private(&dir).map_err(failed)?;
        let lock = File::create(dir.join(LOCK)).map_err(failed)?;
        if lock.try_lock().is_ok() {
            let left =
                fs::read_dir(&dir).map_err(failed)?.flatten().filter(|entry| entry.file_name() != LOCK);
            left.for_each(|entry| match entry.file_type() {
                Ok(kind) if kind.is_dir() => drop(remove(&entry.path())),
                _ => drop(fs::remove_file(entry.path())),
            });
        }
        lock.lock_shared().map_err(failed)?;
        Ok(Scratch { dir, _lock: lock })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_behind_goes_when_nobody_else_is_there() {
        let root = tempfile::tempdir().unwrap();
        let first = Scratch::open(root.path()).unwrap();
        fs::create_dir_all(first.dir().join("copy-1/deep")).unwrap();
        fs::write(first.dir().join("script"), "").unwrap();
        let second = Scratch::open(root.path()).unwrap();
        assert!(second.dir().join("copy-1/deep").is_dir(), "the first is still there");
        drop((first, second));
        let third = Scratch::open(root.path()).unwrap();
        let left: Vec<_> =
            fs::read_dir(third.dir()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["lock"]);
    }
}
