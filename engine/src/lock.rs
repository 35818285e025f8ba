//! One run at a time: the lock on `$UWF_HOME/running/<thread>.lock` and the marker beside it.
//!
//! The lock is the truth: the kernel drops it when its holder dies, however it dies. The marker
//! `running/<thread>.json` only tells who holds it, and it is believed only while the lock is held and the process it
//! names is the one that wrote it; so one that was left behind misleads nobody. A lock is held from before an agent is
//! spawned until the last step of the run is checked and the head has moved.
//!
//! Other engines write a marker and take no lock. Theirs is believed by itself, as long as the process that it names
//! lives and can be the one that wrote it.

mod holder;
mod stop;

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

use thiserror::Error;
use uwf_store::Hash;

pub use self::holder::{LockHolder, session};
use self::holder::{Marker, process_start};
pub use self::stop::{StopError, stop, stop_and_lock};
use crate::home::{disk_hint, make_private};
use crate::thread::ThreadId;

/// How long a taken lock is tried again while nobody says that it is his: a look at the lock holds it for an instant,
/// and a new holder needs one to write his marker, longer on a machine that is busy.
const UNCLAIMED: Duration = Duration::from_secs(5);

/// How long a taken lock is tried again while its marker names no living process: what a kill left, or a process of
/// another container.
const DISCLAIMED: Duration = Duration::from_secs(1);

/// The right to run steps of one thread; dropping it gives it back.
#[derive(Debug)]
pub struct ThreadLock {
    thread: ThreadId,
    paths: Paths,
    file: File,
    /// Another process holds it by now: the files are his.
    released: bool,
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
        /// The system's reason.
        source: io::Error,
    },
}

impl LockError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            LockError::Busy { thread, .. } => {
                Some(format!("wait for it, or end it with `uwf thread stop {thread}`"))
            }
            LockError::Io { source, path } => disk_hint(source, path),
        }
    }
}

/// The two files of a thread.
#[derive(Debug)]
struct Paths {
    lock: PathBuf,
    marker: PathBuf,
}

impl Paths {
    fn of(home: &Path, thread: &ThreadId) -> Paths {
        let dir = directory(home);
        Paths { lock: dir.join(format!("{thread}.lock")), marker: dir.join(format!("{thread}.json")) }
    }
}

fn directory(home: &Path) -> PathBuf {
    home.join("running")
}

impl ThreadLock {
    /// Takes the lock at once or fails naming its holder. `home` is `$UWF_HOME`, `now_ms` the time for the marker.
    ///
    /// # Errors
    /// [`LockError::Busy`] when another process holds it, [`LockError::Io`] when its files cannot be used.
    pub fn acquire(
        home: &Path,
        thread: &ThreadId,
        workflow: &Hash,
        now_ms: u64,
    ) -> Result<ThreadLock, LockError> {
        let lock = ThreadLock::unannounced(home, thread)?;
        lock.announce(std::process::id(), (workflow, now_ms), false)?;
        Ok(lock)
    }

    /// Takes the lock without a marker, for a change that takes an instant: others wait for it.
    ///
    /// # Errors
    /// [`LockError::Busy`] when another process holds it, [`LockError::Io`] when its files cannot be used.
    pub fn unannounced(home: &Path, thread: &ThreadId) -> Result<ThreadLock, LockError> {
        let dir = directory(home);
        make_private(&dir).map_err(io_error(&dir))?;
        let paths = Paths::of(home, thread);
        let file = take(&paths, thread)?;
        Ok(ThreadLock { thread: *thread, paths, file, released: false })
    }

    /// The lock that the process which started this one holds open as `file`, from now on held here; see
    /// [`ThreadLock::shared`].
    ///
    /// # Errors
    /// [`LockError::Busy`] when `file` is not what holds the lock, [`LockError::Io`] when the marker cannot be written.
    pub fn inherit(
        home: &Path,
        thread: &ThreadId,
        file: File,
        (workflow, now_ms): (&Hash, u64),
    ) -> Result<ThreadLock, LockError> {
        let paths = Paths::of(home, thread);
        // A lock belongs to the open file, not to the process: this asks whether `file` is the one that has it.
        if !is_at(&file, &paths.lock) || file.try_lock().is_err() {
            return Err(LockError::Busy { thread: *thread, pid: None });
        }
        let lock = ThreadLock { thread: *thread, paths, file, released: false };
        lock.announce(std::process::id(), (workflow, now_ms), true)?;
        Ok(lock)
    }

    /// The open file that is the lock, for a process that is to go on with it.
    ///
    /// # Errors
    /// [`LockError::Io`] when the file cannot be duplicated.
    pub fn shared(&self) -> Result<File, LockError> {
        self.file.try_clone().map_err(io_error(&self.paths.lock))
    }

    /// Names the process that is about to inherit the lock, so that it can be reported and stopped from its first
    /// instant.
    ///
    /// # Errors
    /// [`LockError::Io`] when the marker cannot be written.
    pub fn assign(&self, pid: u32, workflow: &Hash, now_ms: u64) -> Result<(), LockError> {
        self.announce(pid, (workflow, now_ms), true)
    }

    /// Leaves the lock to the process that it is assigned to.
    pub fn release_to_assigned(mut self) {
        self.released = true;
    }

    /// The thread it is for.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    fn announce(
        &self,
        pid: u32,
        (workflow, now_ms): (&Hash, u64),
        background: bool,
    ) -> Result<(), LockError> {
        let marker = Marker {
            thread: self.thread.to_string(),
            workflow: workflow.to_string(),
            pid,
            started_at: now_ms,
            process_start: process_start(pid),
            background,
        };
        marker.write(&self.paths.marker).map_err(io_error(&self.paths.marker))
    }
}

impl Drop for ThreadLock {
    /// The files go while the lock is still held, so nobody can mistake them for his own.
    fn drop(&mut self) {
        if self.released {
            return;
        }
        // An engine that knows no lock may have begun beside us: its marker stays.
        let ours = (!is_foreign(&self.paths.marker)).then_some(&self.paths.marker);
        for file in ours.into_iter().chain([&self.paths.lock]) {
            // A leftover does no harm: the next holder replaces both.
            fs::remove_file(file).ok();
        }
    }
}

/// Whether steps of a thread run just now.
#[derive(Debug)]
pub enum Running {
    /// Nobody holds its lock or has a marker that counts without one.
    No,
    /// This process does.
    By(LockHolder),
    /// Somebody does, and has not said who he is; or he is in another pid namespace.
    Unnamed,
}

impl Running {
    /// Whether anybody does.
    pub fn is_running(&self) -> bool {
        !matches!(self, Running::No)
    }

    /// Whether it is a background run; none when nothing is known to run, or another engine runs it.
    pub fn background(&self) -> Option<bool> {
        match self {
            Running::By(holder) => holder.background(),
            Running::No | Running::Unnamed => None,
        }
    }
}

/// Who runs steps of `thread` just now.
pub fn running(home: &Path, thread: &ThreadId) -> Running {
    let paths = Paths::of(home, thread);
    let held = File::open(&paths.lock)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
    match held {
        false => LockHolder::foreign(&paths.marker).map_or(Running::No, Running::By),
        true => LockHolder::of(&paths.marker).map_or(Running::Unnamed, Running::By),
    }
}

/// The threads whose steps run just now: one look at the directory, and one at each lock and marker in it.
///
/// # Errors
/// When the directory of the locks is there and cannot be read.
pub fn all_running(home: &Path) -> io::Result<BTreeSet<ThreadId>> {
    let entries = match fs::read_dir(directory(home)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries?.collect::<io::Result<Vec<_>>>()?,
    };
    let named = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_str()?;
        name.strip_suffix(".lock").or_else(|| name.strip_suffix(".json"))?.parse().ok()
    };
    // Most have both files.
    let named: BTreeSet<ThreadId> = entries.iter().filter_map(named).collect();
    Ok(named.into_iter().filter(|thread| running(home, thread).is_running()).collect())
}

/// When the oldest run began that holds a lock now, in milliseconds since the epoch: what its marker says, else when the
/// lock was made.
///
/// # Errors
/// The directory of the locks is there and cannot be read.
pub fn oldest_run(home: &Path) -> io::Result<Option<u64>> {
    let begun = |thread: &ThreadId| {
        let paths = Paths::of(home, thread);
        holder::started_at(&paths.marker).unwrap_or_else(|| {
            let made =
                fs::metadata(&paths.lock).and_then(|metadata| metadata.modified()).unwrap_or(UNIX_EPOCH);
            made.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
        })
    };
    Ok(all_running(home)?.iter().map(begun).min())
}

fn take(paths: &Paths, thread: &ThreadId) -> Result<File, LockError> {
    let io = io_error(&paths.lock);
    let begun = Instant::now();
    loop {
        let file = File::options().create(true).append(true).open(&paths.lock).map_err(&io)?;
        match file.try_lock() {
            // The holder before us removed the file between our opening and our locking it: ours has no name any more.
            Ok(()) if !is_at(&file, &paths.lock) => continue,
            Ok(()) => return unless_foreign(paths, thread).map(|()| file),
            Err(TryLockError::Error(source)) => return Err(io(source)),
            Err(TryLockError::WouldBlock) => {}
        }
        let patience = if paths.marker.exists() { DISCLAIMED } else { UNCLAIMED };
        let pid = LockHolder::of(&paths.marker).map(|holder| holder.pid());
        if pid.is_some() || begun.elapsed() >= patience {
            return Err(LockError::Busy { thread: *thread, pid });
        }
        sleep(Duration::from_millis(5));
    }
}

/// An error, and no lock, while an engine that takes none runs the thread.
fn unless_foreign(paths: &Paths, thread: &ThreadId) -> Result<(), LockError> {
    match LockHolder::foreign(&paths.marker) {
        None => Ok(()),
        Some(holder) => {
            fs::remove_file(&paths.lock).ok();
            Err(LockError::Busy { thread: *thread, pid: Some(holder.pid()) })
        }
    }
}

fn is_foreign(marker: &Path) -> bool {
    LockHolder::foreign(marker).is_some()
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (ours, there) = (file.metadata().map(identity), fs::metadata(path).map(identity));
    matches!((ours, there), (Ok(ours), Ok(there)) if ours == there)
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> LockError {
    let path = path.to_owned();
    move |source| LockError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests;
