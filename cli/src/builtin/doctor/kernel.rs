//! What of this machine decides how much of the sandbox the kernel lets us have: read here and nowhere else.

use std::fs;
use std::path::Path;

/// Settings of which a zero forbids a namespace that the sandbox is made of.
const LIMITS: [&str; 5] = ["user", "pid", "mnt", "net", "ipc"];
/// The bit of CAP_SYS_ADMIN.
const SYS_ADMIN: u64 = 1 << 21;

/// What runs the container around us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Docker,
    Podman,
    /// Kubernetes, LXC and others.
    Other,
}

/// The facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelFacts {
    /// The version of Linux, as far as it is known.
    pub(super) linux: Option<(u32, u32)>,
    /// Whether this process may do what the administrator may.
    pub(super) privileged: bool,
    /// Whether AppArmor keeps user namespaces to programs that have a profile for it.
    pub(super) apparmor_restricts: bool,
    /// Settings that forbid namespaces, as `sysctl` takes them, with a value that allows them.
    pub(super) forbidding: Vec<String>,
    /// The container that we are in.
    pub(super) container: Option<Container>,
    /// Whether system calls of this process are filtered.
    pub(super) filtered: bool,
    /// The name by which AppArmor or SELinux know this process; empty where there is neither.
    pub(super) label: String,
    /// Whether parts of /proc are covered.
    pub(super) proc_covered: bool,
}

impl KernelFacts {
    /// Looks; what cannot be read is taken for no obstacle.
    pub(super) fn read() -> KernelFacts {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let status = read("/proc/self/status");
        let release = read("/proc/sys/kernel/osrelease");
        KernelFacts {
            linux: version(&release),
            privileged: capabilities(&status) & SYS_ADMIN != 0,
            apparmor_restricts: is(&read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"), "1"),
            forbidding: forbidding(read),
            container: container(|path| Path::new(path).exists(), &read("/proc/self/cgroup")),
            filtered: field(&status, "Seccomp:") == Some("2"),
            label: read("/proc/self/attr/current").trim_matches(['\0', '\n', ' ']).to_owned(),
            proc_covered: is_proc_covered(&read("/proc/self/mountinfo")),
        }
    }
}

fn is(text: &str, value: &str) -> bool {
    text.trim() == value
}

/// Of `6.8.0-31-generic`, 6 and 8.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn capabilities(status: &str) -> u64 {
    field(status, "CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or_default()
}

fn forbidding(read: impl Fn(&str) -> String) -> Vec<String> {
    // Debian's own setting, of kernels that were built with it.
    let clone = is(&read("/proc/sys/kernel/unprivileged_userns_clone"), "0");
    let clone = clone.then(|| "kernel.unprivileged_userns_clone=1".to_owned());
    let limits = LIMITS
        .into_iter()
        .filter(|kind| is(&read(&format!("/proc/sys/user/max_{kind}_namespaces")), "0"))
        .map(|kind| format!("user.max_{kind}_namespaces=15000"));
    clone.into_iter().chain(limits).collect()
}

fn container(exists: impl Fn(&str) -> bool, cgroup: &str) -> Option<Container> {
    let among = |names: &[&str]| names.iter().any(|name| cgroup.contains(name));
    if exists("/run/.containerenv") || among(&["libpod"]) {
        Some(Container::Podman)
    } else if among(&["kubepods"]) || exists("/run/secrets/kubernetes.io") {
        Some(Container::Other)
    } else if exists("/.dockerenv") || among(&["docker"]) {
        Some(Container::Docker)
    } else if among(&["lxc", "containerd"]) || exists("/run/systemd/container") {
        Some(Container::Other)
    } else {
        None
    }
}

/// The registry of binary formats is mounted there on every machine and covers nothing.
fn is_proc_covered(mounts: &str) -> bool {
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    points.filter(|point| point.starts_with("/proc/")).any(|point| point != "/proc/sys/fs/binfmt_misc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_the_kernel_are_understood() {
        for (release, expected) in [
            ("6.8.0-31-generic\n", Some((6, 8))),
            ("5.15.167.4-microsoft-standard-WSL2\n", Some((5, 15))),
            ("6.12-rc1", Some((6, 12))),
            ("", None),
        ] {
            assert_eq!(version(release), expected, "{release}");
        }
        let status =
            "Name:\tx\nCapEff:\t00000000a80425fb\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        assert_eq!((capabilities(status) & SYS_ADMIN, field(status, "Seccomp:")), (0, Some("2")));
        assert_ne!(capabilities("CapEff:\t000001ffffffffff\n") & SYS_ADMIN, 0);
        let host =
            "22 27 0:21 / /proc rw - proc proc rw\n23 22 0:5 / /proc/sys/fs/binfmt_misc rw - autofs x rw\n";
        let docker = "9 8 0:2 / /proc rw - proc proc rw\n10 9 0:3 /null /proc/kcore rw - tmpfs tmpfs rw\n";
        assert_eq!([host, docker].map(is_proc_covered), [false, true]);
    }

    #[test]
    fn settings_that_forbid_namespaces_are_found() {
        let none = forbidding(|_| String::new());
        let allowed = forbidding(|_| "31231\n".to_owned());
        assert!(none.is_empty() && allowed.is_empty());
        let zero = forbidding(|path| {
            let is_zero = ["max_pid", "max_user", "userns_clone"].iter().any(|name| path.contains(name));
            if is_zero { "0\n".to_owned() } else { "7\n".to_owned() }
        });
        let expected = [
            "kernel.unprivileged_userns_clone=1",
            "user.max_user_namespaces=15000",
            "user.max_pid_namespaces=15000",
        ];
        assert_eq!(zero, expected);
    }

    #[test]
    fn containers_are_told_apart() {
        for (files, cgroup, expected) in [
            (&[][..], "0::/user.slice/user-1000.slice\n", None),
            (&["/.dockerenv"], "0::/\n", Some(Container::Docker)),
            (&[], "5:cpu:/docker/0123\n", Some(Container::Docker)),
            (&["/run/.containerenv"], "0::/\n", Some(Container::Podman)),
            (&[], "0::/machine.slice/libpod-0123.scope\n", Some(Container::Podman)),
            (&["/.dockerenv"], "5:cpu:/kubepods/burstable/pod1\n", Some(Container::Other)),
            (&["/run/secrets/kubernetes.io"], "0::/\n", Some(Container::Other)),
            (&["/run/systemd/container"], "0::/\n", Some(Container::Other)),
        ] {
            assert_eq!(container(|path| files.contains(&path), cgroup), expected, "{files:?} {cgroup}");
        }
    }
}
