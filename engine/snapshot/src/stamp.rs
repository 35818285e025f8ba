//! What the file system says of a file without reading it: as long as it says the same, the content is the same.
//!
//! The time of change is set by every write and by nobody at will, so a file that was changed last well before it was
//! read cannot have been changed since without another time. One that was changed just before may have: the clock of a
//! file system has a grain.

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags};
use rustix::io::Errno;
use std::os::fd::AsFd;

/// The coarsest grain of the clock of a file system, in milliseconds.
const GRAIN: u64 = 2_000;

/// A moment of the file system: seconds since the epoch and nanoseconds.
pub(crate) type Moment = (i64, u32);

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: Moment,
    pub(crate) changed: Moment,
}

/// What is under a name, by the file system.
pub(crate) struct FileStatus {
    pub(crate) kind: FileType,
    /// All bits of it.
    pub(crate) mode: u32,
    pub(crate) stamp: FileStamp,
}

/// Looks at what is under a name of an open directory; at the file itself, where there is no name. Never through a
/// symlink.
pub(crate) fn look(at: impl AsFd, name: &[u8]) -> Result<FileStatus, Errno> {
    let flags = match name {
        b"" => AtFlags::EMPTY_PATH,
        _ => AtFlags::SYMLINK_NOFOLLOW,
    };
    let wanted = StatxFlags::TYPE
        | StatxFlags::MODE
        | StatxFlags::INO
        | StatxFlags::SIZE
        | StatxFlags::MTIME
        | StatxFlags::CTIME;
    let stat: Statx = rustix::io::retry_on_intr(|| rustix::fs::statx(&at, name, flags, wanted))?;
    let mode = u32::from(stat.stx_mode);
    let stamp = FileStamp {
        device: (u64::from(stat.stx_dev_major) << 32) | u64::from(stat.stx_dev_minor),
        inode: stat.stx_ino,
        size: stat.stx_size,
        modified: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
        changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
    };
    Ok(FileStatus { kind: FileType::from_raw_mode(mode), mode, stamp })
}

/// What was changed last before this moment is what it was when it was read, at `now` milliseconds since the epoch or
/// later.
pub(crate) fn settled_before(now: u64) -> Moment {
    let then = now.saturating_sub(GRAIN);
    ((then / 1000) as i64, (then % 1000) as u32 * 1_000_000)
}
