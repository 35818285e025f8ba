//! Who holds a lock: the marker file, and whether the process that it names is still the one that wrote it.
//!
//! Apart because a number is no process: pids are used again, also after a reboot. A marker counts only while a process
//! of that number runs *and* began when the marker says; one of another engine, which does not say it, while the process
//! had begun when the marker was written. Nothing here looks at the lock itself.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_store::atomic_file;

/// What a marker file holds; the first four fields are the format's, the others are ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Marker {
    pub(super) thread: String,
    pub(super) workflow: String,
    pub(super) pid: u32,
    /// When the lock was taken, in milliseconds since the epoch.
    pub(super) started_at: u64,
    /// When the process began, in clock ticks since the machine did; absent in markers of other engines.
    #[serde(default)]
    pub(super) process_start: Option<u64>,
    /// Whether it was started in the background.
    #[serde(default)]
    pub(super) background: bool,
}

impl Marker {
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        atomic_file::replace(path, &serde_json::to_vec(self)?)
    }
}

/// When the run began that a marker tells of, whoever wrote it.
pub(super) fn started_at(marker: &Path) -> Option<u64> {
    let marker: Value = serde_json::from_slice(&fs::read(marker).ok()?).ok()?;
    marker.get("startedAt")?.as_u64()
}

/// A living process that runs steps of a thread. It stays the same process however long this value is kept.
#[derive(Debug)]
pub struct LockHolder {
    marker: Marker,
    process: OwnedFd,
}

/// How much later than its marker a process may seem to have begun: both times are rounded, and the clock may have been
/// set in between.
const INACCURACY: Duration = Duration::from_secs(10);

impl LockHolder {
    /// The process that the marker at `path` names; none when it is not that process any more.
    pub(super) fn of(path: &Path) -> Option<LockHolder> {
        let marker: Marker = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let pid = Pid::from_raw(i32::try_from(marker.pid).ok()?)?;
        // The handle first: whatever has the number after this, what we compare is not younger than what we hold.
        let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let start = process_start(marker.pid)?;
        let same = match marker.process_start {
            Some(told) => told == start,
            None => began(start)? <= Duration::from_millis(marker.started_at).checked_add(INACCURACY)?,
        };
        let holder = LockHolder { marker, process };
        // One that nobody has buried yet has a number, too.
        (same && !holder.wait(Duration::ZERO).ok()?).then_some(holder)
    }

    /// The living process that a marker names, where the marker counts without a lock, since its writer takes none. In a
    /// home that several machines share the number may be that of any process here.
    pub(super) fn foreign(path: &Path) -> Option<LockHolder> {
        let holder = LockHolder::of(path).filter(|holder| holder.marker.process_start.is_none())?;
        let owner = |path: &Path| fs::metadata(path).ok().map(|found| found.uid());
        let writer = owner(&Path::new("/proc").join(holder.marker.pid.to_string()))?;
        (owner(path) == Some(writer)).then_some(holder)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.marker.pid
    }

    /// When it took the lock, in milliseconds since the epoch; other engines' markers tell when the step began.
    pub fn started_at(&self) -> u64 {
        self.marker.started_at
    }

    /// Whether it was started in the background; other engines do not tell.
    pub fn background(&self) -> Option<bool> {
        self.marker.process_start.map(|_| self.marker.background)
    }

    /// Asks it to stop; one that is gone already needs no asking.
    pub(super) fn terminate(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.process, Signal::TERM) {
            Err(Errno::SRCH) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Waits until it has ended; false when the time is over first.
    pub(super) fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let deadline = std::time::Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::from_borrowed_fd(self.process.as_fd(), PollFlags::IN)], Some(&left)) {
                Err(Errno::INTR) => {}
                ready => return Ok(ready? > 0),
            }
        }
    }
}

/// When a process began, in clock ticks since the machine did.
pub(super) fn process_start(pid: u32) -> Option<u64> {
    stat(pid, 22)
}

/// The time since the epoch of that many clock ticks since the machine began.
fn began(ticks: u64) -> Option<Duration> {
    let now = |clock| Duration::try_from(clock_gettime(clock)).ok();
    let machine = now(ClockId::Realtime)?.checked_sub(now(ClockId::Boottime)?)?;
    machine.checked_add(Duration::from_millis(ticks.checked_mul(1000)? / clock_ticks_per_second()))
}

/// The session a process belongs to.
pub fn session(pid: u32) -> Option<u64> {
    stat(pid, 6)
}

/// A field of `/proc/<pid>/stat`, counted from 1 as the manual does.
fn stat(pid: u32, field: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name, which may hold anything, also blanks and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(field - 3)?.parse().ok()
}
