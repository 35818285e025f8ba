//! Whether a file may have changed, told without reading it.
//!
//! The time of the last change of the inode cannot be set by anybody: it tells, where it is older than the clock's own
//! steps. A file written twice within one step looks the same; so what is that new is read again.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Stat};
use rustix::io::Errno;

/// More than any kernel's clock ticks.
const STEP: Duration = Duration::from_millis(50);

/// The time, for comparison with what is stamped.
#[expect(
    clippy::disallowed_methods,
    reason = "file systems stamp with this clock, and nobody else's compares with it"
)]
pub(super) fn now() -> SystemTime {
    SystemTime::now()
}

/// A file as `stat` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Device and inode.
    file: (u64, u64),
    mode: u32,
    /// In bytes.
    size: i64,
    /// mtime, in seconds and nanoseconds.
    modified: (i64, i64),
    /// ctime, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos = |nanos| i64::try_from(nanos).unwrap_or(0);
        Self {
            file: (stat.st_dev, stat.st_ino),
            mode: stat.st_mode,
            size: stat.st_size,
            modified: (stat.st_mtime, nanos(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanos(stat.st_ctime_nsec)),
        }
    }

    /// Whether it was last changed before this time, whatever the clock's step.
    pub(crate) fn is_before(&self, time: SystemTime) -> bool {
        let time = time.checked_sub(STEP).unwrap_or(UNIX_EPOCH);
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.changed < (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos().into())
    }
}

/// A path as `stat` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathStamp {
    Nothing,
    Something(Stamp),
}

impl PathStamp {
    /// `None` when it cannot be told.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(Self::Something(Stamp::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Some(Self::Nothing),
            Err(_) => None,
        }
    }

    pub(super) fn is_before(&self, time: SystemTime) -> bool {
        match self {
            Self::Nothing => true,
            Self::Something(stamp) => stamp.is_before(time),
        }
    }
}
