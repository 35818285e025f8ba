//! The forks of sessions, below `cache/asks`: a directory each, with a journal for each question that was put to it.
//!
//! Apart because nobody comes to the end of a fork: it is kept for so long, and then forgotten.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::LeftoversRemoved;

/// The file that says whose fork a directory is; who asks it holds its lock.
pub const FORK_FILE: &str = "fork.json";

/// A fork that nobody asked for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);

/// Where the forks are.
pub fn forks(home: &Path) -> PathBuf {
    home.join("cache/asks")
}

/// Removes the forks that nobody changed for thirty days, which is when the last question was put, and what a killed
/// process left among them; with `dry_run` they stay. Not what somebody is asking just now. `now` is in milliseconds
/// since the epoch. What cannot be removed stays and is not counted.
pub fn remove_forgotten_forks(home: &Path, now: u64, dry_run: bool) -> LeftoversRemoved {
    let then = UNIX_EPOCH + Duration::from_millis(now).saturating_sub(FORGOTTEN);
    let mut sum = LeftoversRemoved::default();
    for dir in fs::read_dir(forks(home)).into_iter().flatten().flatten() {
        let path = dir.path();
        if is_forgotten(&path, then) {
            let bytes = super::bytes_below(&path);
            if dry_run || fs::remove_dir_all(&path).is_ok() {
                sum = LeftoversRemoved { removed: sum.removed + 1, bytes: sum.bytes + bytes };
            }
        }
    }
    sum
}

fn is_forgotten(fork: &Path, then: SystemTime) -> bool {
    // A young one is not even looked at: whoever is about to ask it would find it locked.
    if !fs::metadata(fork).and_then(|fork| fork.modified()).is_ok_and(|modified| modified < then) {
        return false;
    }
    let lock = File::open(fork.join(FORK_FILE));
    !lock.as_ref().is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}
