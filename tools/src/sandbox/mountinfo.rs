//! What is mounted where: `/proc/self/mountinfo`, read; and the other paths by which a mounted file can be reached.
//!
//! Pure. A home that is mounted a second time (by a container, by `mount --bind`) is not closed by closing one path.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use libc::c_ulong;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    /// Major and minor number of the file system.
    device: String,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    /// The directory that it is mounted at.
    at: PathBuf,
    flags: c_ulong,
    /// The kind of file system.
    kind: String,
}

/// The mounts of a process, in the order in which they were made.
pub(super) fn parse(text: &str) -> Vec<Mounted> {
    text.lines().filter_map(line).collect()
}

/// `36 35 98:0 /root /at rw,noatime shared:1 - ext4 /dev/sda rw`
fn line(line: &str) -> Option<Mounted> {
    let mut fields = line.split(' ').skip(2);
    let (device, root, at, options) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let kind = fields.skip_while(|field| *field != "-").nth(1)?.to_owned();
    Some(Mounted {
        device: device.to_owned(),
        root: unescaped(root),
        at: unescaped(at),
        flags: flags(options),
        kind,
    })
}

/// Spaces and the like are written as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, more)) = rest.split_first() {
        let octal =
            more.get(..3).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match octal.filter(|_| *first == b'\\') {
            Some(byte) => (bytes.push(byte), rest = &more[3..]).1,
            None => (bytes.push(*first), rest = more).1,
        }
    }
    OsString::from_vec(bytes).into()
}

fn flags(options: &str) -> c_ulong {
    let flag = |option: &str| match option {
        "nosuid" => libc::MS_NOSUID,
        "nodev" => libc::MS_NODEV,
        "noexec" => libc::MS_NOEXEC,
        "noatime" => libc::MS_NOATIME,
        "nodiratime" => libc::MS_NODIRATIME,
        "relatime" => libc::MS_RELATIME,
        _ => 0,
    };
    let all = options.split(',').map(flag).fold(0, |all, one| all | one);
    // What is not said is the strictest, and may not be changed.
    if all & (libc::MS_NOATIME | libc::MS_RELATIME) == 0 { all | libc::MS_STRICTATIME } else { all }
}

/// Each mount with its flags, as the kernel takes them.
pub(super) fn flagged(mounts: &[Mounted]) -> Vec<(CString, c_ulong)> {
    let path =
        |mounted: &Mounted| Some((CString::new(mounted.at.as_os_str().as_bytes()).ok()?, mounted.flags));
    mounts.iter().filter_map(path).collect()
}

/// The directory of the control group that `own`, which is /proc/self/cgroup, names; of version 2.
pub(super) fn cgroup(mounts: &[Mounted], own: &str) -> Option<PathBuf> {
    let path = Path::new(own.lines().find_map(|line| line.strip_prefix("0::"))?);
    let mounted =
        mounts.iter().rev().find(|mounted| mounted.kind == "cgroup2" && path.starts_with(&mounted.root))?;
    Some(join(&mounted.at, path.strip_prefix(&mounted.root).ok()?))
}

/// The other paths of what is at `path`, which is free of symlinks: by every mount of the same file system that holds it, or
/// that is a part of it.
pub(super) fn aliases(mounts: &[Mounted], path: &Path) -> Vec<PathBuf> {
    let Some(own) = mounts
        .iter()
        .rev()
        .filter(|mounted| path.starts_with(&mounted.at))
        .max_by_key(|mounted| mounted.at.as_os_str().len())
    else {
        return Vec::new();
    };
    let Ok(below) = path.strip_prefix(&own.at) else { return Vec::new() };
    let inside = join(&own.root, below);
    let alias = |other: &Mounted| {
        if other.device != own.device {
            None
        } else if let Ok(below) = inside.strip_prefix(&other.root) {
            Some(join(&other.at, below))
        } else {
            other.root.starts_with(&inside).then(|| other.at.clone())
        }
    };
    let mut found: Vec<PathBuf> =
        mounts.iter().filter_map(alias).filter(|alias| !alias.starts_with(path)).collect();
    found.sort();
    found.dedup();
    found
}

/// Without the slash that joining nothing adds.
fn join(path: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { path.to_owned() } else { path.join(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
21 20 8:2 / /home rw,nosuid,nodev,noatime shared:2 - ext4 /dev/sda2 rw\n\
22 20 8:2 /u /workspaces/home rw - ext4 /dev/sda2 rw\n\
23 20 8:2 /u/.ssh /mnt/a\\040key ro - ext4 /dev/sda2 rw\n\
24 20 0:5 / /proc rw - proc proc rw\n";

    #[test]
    fn a_second_mount_is_another_path_of_the_same_files() {
        let mounts = parse(MOUNTS);
        let aliases = |path: &str| aliases(&mounts, Path::new(path));
        assert_eq!(aliases("/home/u/.ssh"), [Path::new("/mnt/a key"), Path::new("/workspaces/home/.ssh")]);
        assert_eq!(aliases("/home/u"), [Path::new("/mnt/a key"), Path::new("/workspaces/home")]);
        assert_eq!(
            aliases("/home/u/.ssh/id"),
            [Path::new("/mnt/a key/id"), Path::new("/workspaces/home/.ssh/id")]
        );
        assert!(aliases("/etc/shadow").is_empty() && aliases("/home/v").is_empty());
    }

    #[test]
    fn the_own_control_group_is_found() {
        let mounts = parse("30 1 0:9 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let found = |own: &str| cgroup(&mounts, own);
        assert_eq!(found("4:memory:/x\n0::/a/b.scope\n"), Some(PathBuf::from("/sys/fs/cgroup/b.scope")));
        assert_eq!(found("0::/a\n"), Some(PathBuf::from("/sys/fs/cgroup")));
        assert_eq!((found("0::/c\n"), found("4:memory:/a\n")), (None, None));
    }

    #[test]
    fn flags_are_kept_when_a_mount_becomes_read_only() {
        let flags = flagged(&parse(MOUNTS))[1].1;
        assert_eq!(flags, libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOATIME);
        assert_eq!(flagged(&parse(MOUNTS))[2].1, libc::MS_STRICTATIME);
    }
}
