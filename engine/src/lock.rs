//! One step at a time: the lock on `$UWF_HOME/running/<thread>.lock` and the marker beside it.
//!
//! The lock is the truth (the kernel drops it when its holder dies, however it dies); the marker
//! `running/<thread>.json` only tells people who holds it. The lock is held from before an agent is spawned until its
//! step is checked and the head has moved.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use thiserror::Error;

use crate::store::Hash;
use crate::thread::ThreadId;

/// How long a taken lock is tried again while nobody says that it is his: a look at the lock holds it for an instant,
/// and a new holder needs one to write his marker.
const UNCLAIMED: Duration = Duration::from_millis(200);

/// The right to run steps of one thread; dropping it gives it back.
#[derive(Debug)]
pub struct ThreadLock {
    lock: PathBuf,
    marker: PathBuf,
    _file: File,
}

/// Why a thread cannot be locked.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody else runs a step of it.
    #[error("thread {thread} is already running{}", pid.map(|pid| format!(", in process {pid}")).unwrap_or_default())]
    Busy {
        /// The thread.
        thread: ThreadId,
        /// The holder, when he has said so.
        pid: Option<u32>,
    },
    /// The lock's directory or file cannot be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What the marker holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    thread: String,
    workflow: String,
    pid: u32,
    started_at: u64,
}

impl ThreadLock {
    /// Takes the lock at once or fails naming its holder. `home` is `$UWF_HOME`, `now_ms` the time for the marker.
    pub fn acquire(
        home: &Path,
        thread: &ThreadId,
        workflow: &Hash,
        now_ms: u64,
    ) -> Result<ThreadLock, LockError> {
        let dir = home.join("running");
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| LockError::Io { path, source }
        };
        fs::create_dir_all(&dir).map_err(io(&dir))?;
        let (lock, marker) = (dir.join(format!("{thread}.lock")), dir.join(format!("{thread}.json")));
        let file = take(&lock, &marker, thread)?;
        let held = ThreadLock { lock, marker, _file: file };
        let content = Marker {
            thread: thread.to_string(),
            workflow: workflow.to_string(),
            pid: std::process::id(),
            started_at: now_ms,
        };
        write_marker(&dir, &held.marker, &content).map_err(io(&held.marker))?;
        Ok(held)
    }
}

impl Drop for ThreadLock {
    /// The files go while the lock is still held, so nobody can mistake them for his own.
    fn drop(&mut self) {
        for file in [&self.marker, &self.lock] {
            // A leftover does no harm: the next holder replaces both.
            fs::remove_file(file).ok();
        }
    }
}

/// Whether somebody runs a step of `thread` just now.
pub fn is_running(home: &Path, thread: &ThreadId) -> bool {
    let Ok(file) = File::open(home.join("running").join(format!("{thread}.lock"))) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn take(lock: &Path, marker: &Path, thread: &ThreadId) -> Result<File, LockError> {
    let io = |source| LockError::Io { path: lock.to_owned(), source };
    let give_up = Instant::now() + UNCLAIMED;
    loop {
        let file = File::options().create(true).append(true).open(lock).map_err(io)?;
        match file.try_lock() {
            // The holder before us removed the file between our opening and our locking it: ours has no name any more.
            Ok(()) if !is_at(&file, lock) => continue,
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(io(source)),
            Err(TryLockError::WouldBlock) => {}
        }
        let pid = holder(marker);
        if pid.is_some() || Instant::now() >= give_up {
            return Err(LockError::Busy { thread: *thread, pid });
        }
        sleep(Duration::from_millis(5));
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (ours, there) = (file.metadata().map(identity), fs::metadata(path).map(identity));
    matches!((ours, there), (Ok(ours), Ok(there)) if ours == there)
}

/// The living process that the marker names.
fn holder(marker: &Path) -> Option<u32> {
    let marker: Marker = serde_json::from_slice(&fs::read(marker).ok()?).ok()?;
    Path::new("/proc").join(marker.pid.to_string()).exists().then_some(marker.pid)
}

/// By rename, so that a reader never sees half of it.
fn write_marker(dir: &Path, path: &Path, content: &Marker) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(dir)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire(home: &Path, thread: &ThreadId) -> Result<ThreadLock, LockError> {
        ThreadLock::acquire(home, thread, &"0123456789ABC".parse().unwrap(), 5)
    }

    #[test]
    fn a_second_holder_is_told_who_the_first_is() {
        let home = tempfile::tempdir().unwrap();
        let thread = ThreadId::new(1);
        assert!(!is_running(home.path(), &thread));
        let held = acquire(home.path(), &thread).unwrap();
        assert!(is_running(home.path(), &thread));
        let refused = acquire(home.path(), &thread).unwrap_err();
        let expected = format!("thread {thread} is already running, in process {}", std::process::id());
        assert_eq!(refused.to_string(), expected);
        assert!(acquire(home.path(), &ThreadId::new(2)).is_ok());
        drop(held);
        assert!(!is_running(home.path(), &thread));
        assert!(acquire(home.path(), &thread).is_ok());
    }

    #[test]
    fn the_marker_names_the_run_and_goes_with_it() {
        let home = tempfile::tempdir().unwrap();
        let thread = ThreadId::new(1);
        let held = acquire(home.path(), &thread).unwrap();
        let marker = home.path().join(format!("running/{thread}.json"));
        let content: serde_json::Value = serde_json::from_slice(&fs::read(&marker).unwrap()).unwrap();
        let expected = serde_json::json!({
            "thread": thread, "workflow": "0123456789ABC", "pid": std::process::id(), "startedAt": 5,
        });
        assert_eq!(content, expected);
        drop(held);
        assert_eq!(fs::read_dir(home.path().join("running")).unwrap().count(), 0);
    }

    #[test]
    fn leftovers_of_a_killed_process_do_not_stand_in_the_way() {
        let home = tempfile::tempdir().unwrap();
        let thread = ThreadId::new(1);
        let running = home.path().join("running");
        fs::create_dir_all(&running).unwrap();
        fs::write(running.join(format!("{thread}.lock")), "").unwrap();
        let marker = r#"{"thread":"x","workflow":"y","pid":4194305,"startedAt":1}"#;
        fs::write(running.join(format!("{thread}.json")), marker).unwrap();
        assert!(!is_running(home.path(), &thread));
        assert!(acquire(home.path(), &thread).is_ok());
    }

    #[test]
    fn many_at_once_never_hold_it_together() {
        let home = tempfile::tempdir().unwrap();
        let thread = ThreadId::new(1);
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let Ok(_held) = acquire(home.path(), &thread) else { continue };
                        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
    }
}
