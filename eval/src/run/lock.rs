//! One program at a time for an evaluation, wherever its cases work: two would run each case twice, or write over each other.
//!
//! The lock lies with the store, which has the evaluation, and not in `$UWF_HOME`: two of these may go by one store. It tells since
//! when it is held, too: what was put since then is named once a case is recorded, and must not be collected before.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

use uwf_engine::Homes;
use uwf_engine::home::make_private;

use crate::EvalError;

/// The directory of locks in that of the store.
const DIRECTORY: &str = "evaluations";
/// How long it is waited for a lock: who only looks whether it is held has it for a moment.
const PATIENCE: Duration = Duration::from_millis(200);

/// Takes the lock of an evaluation; who drops it gives it back, and so does who dies.
///
/// # Errors
/// [`EvalError::Busy`] when another program has it; or the disk refuses.
pub(super) fn lock(homes: &Homes, name: &str) -> Result<File, EvalError> {
    let dir = homes.ocas.join(DIRECTORY);
    let failed = |path: PathBuf| move |source| EvalError::Disk { path, source };
    make_private(&dir).map_err(failed(dir.clone()))?;
    let path = dir.join(format!("{name}.lock"));
    // Whoever is too late leaves the time alone that it was taken.
    let file = File::options().create(true).append(true).open(&path).map_err(failed(path.clone()))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => sleep(Duration::from_millis(5)),
            Err(TryLockError::WouldBlock) => return Err(EvalError::Busy { name: name.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(path)(source)),
        }
    }
    // Written, it says when.
    file.set_len(0).and_then(|()| (&file).write_all(b"\n")).map_err(failed(path))?;
    Ok(file)
}

/// Since when the evaluation has been run or judged that has been for the longest time, in milliseconds since the epoch: of all that
/// are now, of the store in `homes`.
///
/// # Errors
/// The directory of the locks is there and cannot be read.
pub fn oldest_run(homes: &Homes) -> io::Result<Option<u64>> {
    let entries = match fs::read_dir(homes.ocas.join(DIRECTORY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?.collect::<io::Result<Vec<_>>>()?,
    };
    let held_since = |entry: &fs::DirEntry| {
        let file = File::open(entry.path()).ok()?;
        let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let taken = file.metadata().and_then(|metadata| metadata.modified()).unwrap_or(UNIX_EPOCH);
        is_held.then(|| taken.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64))
    };
    Ok(entries.iter().filter_map(held_since).min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evaluation_is_one_program_s_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let homes = |uwf: &str, ocas: &str| Homes { uwf: dir.path().join(uwf), ocas: dir.path().join(ocas) };
        let first = lock(&homes("uwf", "ocas"), "lock").unwrap();
        assert!(matches!(lock(&homes("uwf", "ocas"), "lock"), Err(EvalError::Busy { .. })));
        assert!(matches!(lock(&homes("another", "ocas"), "lock"), Err(EvalError::Busy { .. })));
        lock(&homes("uwf", "ocas"), "other").unwrap();
        lock(&homes("uwf", "another"), "lock").unwrap();
        let oldest = || oldest_run(&homes("uwf", "ocas")).unwrap();
        let since = oldest().unwrap();
        assert!(since > 0 && oldest_run(&homes("uwf", "none")).unwrap().is_none());
        let later = lock(&homes("uwf", "ocas"), "later").unwrap();
        let taken = later.metadata().unwrap().modified().unwrap();
        later.set_modified(taken + Duration::from_secs(9)).unwrap();
        assert_eq!(oldest(), Some(since));
        drop(first);
        assert!(oldest().unwrap() > since);
        drop(later);
        assert_eq!(oldest(), None);
        lock(&homes("uwf", "ocas"), "lock").unwrap();
    }
}
