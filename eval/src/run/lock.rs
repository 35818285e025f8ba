//! One program at a time for an evaluation, wherever its cases work: two would run each case twice, or write over each other.
//!
//! The lock lies with the store, which has the evaluation, and not in `$UWF_HOME`: two of these may go by one store.

use std::fs::{File, TryLockError};
use std::path::PathBuf;

use uwf_engine::Homes;
use uwf_engine::home::make_private;

use crate::EvalError;

/// The directory of locks in that of the store.
const DIRECTORY: &str = "evaluations";

/// Takes the lock of an evaluation; who drops it gives it back, and so does who dies.
///
/// # Errors
/// [`EvalError::Busy`] when another program has it; or the disk refuses.
pub(super) fn lock(homes: &Homes, name: &str) -> Result<File, EvalError> {
    let dir = homes.ocas.join(DIRECTORY);
    let failed = |path: PathBuf| move |source| EvalError::Disk { path, source };
    make_private(&dir).map_err(failed(dir.clone()))?;
    let path = dir.join(format!("{name}.lock"));
    let file = File::create(&path).map_err(failed(path.clone()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EvalError::Busy { name: name.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(path)(source)),
    }
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
        drop(first);
        lock(&homes("uwf", "ocas"), "lock").unwrap();
    }
}
