//! The ways in which files and directories are opened: each closed on exec, and none that waits.

use rustix::fs::OFlags;

/// The thing of that name, a symbolic link too, without opening what is in it.
pub(crate) const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A file, to read it. What took its place meanwhile may be a FIFO that nobody writes, or a terminal.
pub(crate) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// A directory, to list it and to name what is in it.
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
