//! The disk space that a run takes: what the file systems of its workspace and of its private directory have less of than
//! when it began.
//!
//! Quotas need rights that an agent has not, and a sum over files would miss those without a name: so free space is
//! compared. What other programs write meanwhile cannot be told apart.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::Mode;

use super::overuse::Overuse;
use crate::open_flags::DIRECTORY;

/// How many bytes must stay free for others, and for the agent's own journal and store.
const LEFT: u64 = 64 << 20;
/// How many bytes a command may always use up: so one that makes room can run where there is none. The space of others
/// changes too.
const ALWAYS: u64 = 16 << 20;

/// What a run may use up; clones have the same beginning.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskBudget {
    /// How many bytes the run may use up.
    limit: u64,
    volumes: Vec<Volume>,
}

/// The free space of one file system.
#[derive(Clone, Debug)]
struct Volume {
    handle: Arc<OwnedFd>,
    /// Bytes that were free when the run began.
    first: u64,
    /// Bytes that were free when the command began.
    before: u64,
}

impl DiskBudget {
    /// The space of the file systems that `paths` are on; a directory that cannot be opened is not watched.
    pub(crate) fn new(limit: u64, paths: [&Path; 2]) -> DiskBudget {
        let open = |path: &Path| {
            let handle = rustix::fs::open(path, DIRECTORY, Mode::empty()).ok()?;
            let (device, first) = (rustix::fs::fstat(&handle).ok()?.st_dev, Space::of(&handle)?.free);
            Some((device, Volume { handle: Arc::new(handle), first, before: first }))
        };
        let mut volumes: Vec<_> = paths.into_iter().filter_map(open).collect();
        volumes.dedup_by_key(|(device, _)| *device);
        DiskBudget { limit, volumes: volumes.into_iter().map(|(_, volume)| volume).collect() }
    }

    /// The space as a command finds it that begins now.
    pub(crate) fn of_command(&self) -> DiskBudget {
        let now = |volume: &Volume| {
            let before = Space::of(&volume.handle).map_or(volume.before, |space| space.free);
            Volume { before, ..volume.clone() }
        };
        DiskBudget { limit: self.limit, volumes: self.volumes.iter().map(now).collect() }
    }

    /// What the command used too much of, if anything.
    pub(crate) fn overuse(&self) -> Option<Overuse> {
        let now: Vec<_> =
            self.volumes.iter().filter_map(|volume| Some((volume, Space::of(&volume.handle)?))).collect();
        let grows = now.iter().any(|(volume, space)| volume.grew(space.free));
        let used: u64 = now.iter().map(|(volume, space)| volume.first.saturating_sub(space.free)).sum();
        if now.iter().any(|(volume, space)| space.left < LEFT && volume.grew(space.free)) {
            return Some(Overuse::DiskLeft(LEFT));
        }
        (grows && used > self.limit).then_some(Overuse::Disk(self.limit))
    }
}

impl Volume {
    /// Whether this command took much, having found `before`.
    fn grew(&self, free: u64) -> bool {
        self.before.saturating_sub(free) > ALWAYS.min(self.before / 2)
    }
}

/// What a file system has, in bytes.
struct Space {
    /// What no file takes. What is set aside for an administrator may change at any time; it is in here, so that the
    /// change is not taken for what a command wrote or removed.
    free: u64,
    /// What an ordinary user can still write.
    left: u64,
}

impl Space {
    fn of(handle: &OwnedFd) -> Option<Space> {
        let stat = rustix::fs::fstatvfs(handle).ok()?;
        Some(Space { free: stat.f_bfree * stat.f_frsize, left: stat.f_bavail * stat.f_frsize })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file system that is used up to `first`, then `before`, as seen now.
    fn disk(limit: u64, (first, before): (i64, i64)) -> DiskBudget {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = DiskBudget::new(limit, [dir.path(), dir.path()]);
        let volume = &mut disk.volumes[0];
        let more = |free: u64, by: i64| free.saturating_add_signed(by);
        (volume.first, volume.before) = (more(volume.first, first), more(volume.before, before));
        disk
    }

    const GB: i64 = 1 << 30;

    #[test]
    fn what_a_run_used_counts_and_only_a_command_that_uses_more_is_ended() {
        assert_eq!(disk(1 << 30, (0, 0)).overuse(), None);
        assert_eq!(disk(1 << 30, (3 * GB, 2 * GB)).overuse(), Some(Overuse::Disk(1 << 30)));
        assert_eq!(disk(8 << 30, (3 * GB, 2 * GB)).overuse(), None);
        assert_eq!(disk(1 << 30, (3 * GB, 0)).overuse(), None, "what is over the limit can be removed");
    }

    #[test]
    fn one_file_system_is_counted_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        let disk = DiskBudget::new(1, [dir.path(), &dir.path().join("d")]);
        assert_eq!(disk.volumes.len(), 1);
        assert_eq!(DiskBudget::new(1, [dir.path(), Path::new("/not/there")]).volumes.len(), 1);
    }
}
