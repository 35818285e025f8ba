//! The namespaces for all commands of a run: a network of loopback and nothing else, shared, so that a server that one
//! command left running is reached by the next; and mounts that are read-only but for what commands may write.
//!
//! A short-lived process makes them; they live on by the handles that are kept here. All users that the agent knows keep
//! their numbers inside, so that files belong to whom they belonged to; an ordinary user knows only himself.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::thread::LinkNameSpaceType;

use super::child;

/// The namespaces of a run.
pub(crate) struct Namespaces {
    /// To be entered in this order.
    pub(crate) handles: Vec<(OwnedFd, LinkNameSpaceType)>,
    /// Whether the mounts are among them.
    pub(crate) mounts: bool,
}

impl Namespaces {
    /// Makes them; with `network`, that of the machine stays. Where the mounts cannot be changed, those of the machine
    /// stay too. The caller must not be confined by Landlock yet: it writes into /proc, and the maker mounts.
    pub(crate) fn make(network: bool, writable: &[PathBuf]) -> io::Result<Namespaces> {
        let trees = trees(writable)?;
        let (handles, mounts) = match make(network, Some(trees)) {
            Ok(handles) => (handles, true),
            Err(_) => (make(network, None)?, false),
        };
        Ok(Namespaces { handles, mounts })
    }
}

/// With `writable`, these trees alone can be changed.
fn make(network: bool, writable: Option<Vec<CString>>) -> io::Result<Vec<(OwnedFd, LinkNameSpaceType)>> {
    let mounts = writable.is_some();
    let mut command = Command::new("/bin/sh");
    // It waits for its input to close, which happens when it is dropped.
    command.args(["-c", "read -r line"]).env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut maker = child::new_namespaces(&mut command, network, writable).spawn()?;
    let namespaces = map_users(&maker).and_then(|()| handles(&maker, (network, mounts)));
    // Nothing of it is needed any more.
    maker.kill().and_then(|()| maker.wait())?;
    namespaces
}

/// The paths as the kernel takes them, without those that lie below others.
fn trees(paths: &[PathBuf]) -> io::Result<Vec<CString>> {
    let is_below = |path: &Path| paths.iter().any(|other| path != other && path.starts_with(other));
    let mut outermost: Vec<_> = paths.iter().filter(|path| !is_below(path)).collect();
    outermost.sort();
    outermost.dedup();
    Ok(outermost
        .into_iter()
        .map(|path| CString::new(path.as_os_str().as_bytes()))
        .collect::<Result<_, _>>()?)
}

/// The machine's own network and mounts are no namespaces that could be entered from within.
fn handles(maker: &Child, (network, mounts): (bool, bool)) -> io::Result<Vec<(OwnedFd, LinkNameSpaceType)>> {
    let kinds = [
        ("user", LinkNameSpaceType::User, true),
        ("net", LinkNameSpaceType::Network, !network),
        ("ipc", LinkNameSpaceType::InterProcessCommunication, true),
        ("mnt", LinkNameSpaceType::Mount, mounts),
    ];
    let open = |(name, kind, _)| {
        File::open(format!("/proc/{}/ns/{name}", maker.id())).map(|file| (OwnedFd::from(file), kind))
    };
    kinds.into_iter().filter(|(.., own)| *own).map(open).collect()
}

/// Everybody under the same number, where the agent may say so (root may); else the agent's own user and group alone.
fn map_users(maker: &Child) -> io::Result<()> {
    let write = |name: &str, text: &str| {
        File::options().write(true).open(format!("/proc/{}/{name}", maker.id()))?.write_all(text.as_bytes())
    };
    let everybody =
        |name: &str| write(name, &same_numbers(&fs::read_to_string(format!("/proc/self/{name}"))?));
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    everybody("uid_map").or_else(|_| write("uid_map", &format!("{user} {user} 1")))?;
    everybody("gid_map").or_else(|_| {
        // A group that was taken from a user to keep him out could be given up otherwise.
        write("setgroups", "deny")?;
        write("gid_map", &format!("{group} {group} 1"))
    })
}

/// The map of the agent's own namespace, as one that changes no number: `inside outside count` a line.
fn same_numbers(map: &str) -> String {
    let line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (inside, _outside, count) = (fields.next()?, fields.next()?, fields.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    };
    map.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_mounts_the_others_are_made() {
        let Namespaces { handles, mounts } = Namespaces::make(false, &[PathBuf::from("/not/there")]).unwrap();
        assert_eq!((handles.len(), mounts), (3, false));
        assert!(Namespaces::make(false, &[std::env::temp_dir()]).unwrap().mounts);
    }

    #[test]
    fn numbers_stay_what_they_are_inside() {
        assert_eq!(same_numbers("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(same_numbers("0 100000 65536\n65536 7 1\n"), "0 0 65536\n65536 65536 1\n");
    }
}
