//! Which paths a policy opens, in the tree that is there: everything is readable but the places of secrets, and little
//! is writable.
//!
//! Landlock only adds: a rule opens a whole tree, and nothing can be taken out of it. So what is open is listed as the
//! siblings of what must stay closed, from the root down. A file that appears later beside a secret is therefore closed
//! too. It only looks (directories, links); nothing is changed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::policy::Policy;
use super::worktree;

/// Where people keep keys and tokens, below their home.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".config/hub",
    ".config/glab-cli",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/pypoetry/auth.toml",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
    ".thunderbird",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".local/share/keyrings",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".Xauthority",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
];

/// Secrets of the machine, those that container runtimes hand in, and what sessions of people keep.
const SYSTEM_SECRETS: &[&str] = &[
    "/run/secrets",
    "/var/run/secrets",
    "/run/user",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/spool/cron",
];

/// Devices that are streams of nothing or of chance. All others stay closed: to root, disks and memory are devices too,
/// and terminals show what people type.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The paths that are open. Each stands for the tree below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) devices: Vec<PathBuf>,
    /// Whether the workspace is not writable as a whole.
    pub(crate) narrowed: bool,
    /// What must stay closed.
    pub(crate) hidden: Vec<PathBuf>,
    /// What should be closed and is not, since it lies within the workspace.
    pub(crate) exposed: Option<PathBuf>,
}

impl Reach {
    /// What commands may reach.
    pub(crate) fn of_commands(policy: &Policy) -> Reach {
        let hidden = hidden(policy);
        let exposed = exposed(policy, &hidden);
        let mut reach = Reach { hidden, exposed, narrowed: policy.within.is_some(), ..Reach::default() };
        reach.devices = DEVICES.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        let devices = PathBuf::from("/dev");
        let mut closed: Vec<&Path> = reach.hidden.iter().chain([&devices]).map(PathBuf::as_path).collect();
        closed.sort();
        beside(Path::new("/"), &closed, &mut reach.readable);
        reach.readable.extend(existing(policy.readable.iter().chain([&policy.workspace])));
        reach.writable = existing([&policy.temporary]);
        reach.writable.extend(of_workspace(policy));
        for path in existing(&policy.writable) {
            open(&path, &reach.hidden, &mut reach.writable);
        }
        reach
    }

    /// What the agent itself may reach: what its commands may without being narrowed, and its own directories.
    pub(crate) fn of_agent(&self, policy: &Policy) -> Reach {
        let mut reach = self.clone();
        if policy.within.is_some() {
            reach.writable.extend(of_workspace(&Policy { within: None, ..policy.clone() }));
        }
        reach.writable.extend(existing(&policy.private));
        reach
    }

    /// Whether commands may write at `path`, which is absolute.
    pub(crate) fn may_write(&self, path: &Path) -> bool {
        self.writable.iter().chain(&self.devices).any(|open| path.starts_with(open))
    }

    /// Whether `path`, which is absolute, is one of the places that stay closed.
    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden)) && !self.may_write(path)
    }
}

/// What commands may write of the workspace. It is open as a whole, unless narrowed: what lies within it is `exposed`.
fn of_workspace(policy: &Policy) -> Vec<PathBuf> {
    let workspace = real(&policy.workspace);
    let Some(within) = &policy.within else {
        return std::iter::once(workspace.clone()).chain(worktree::git_directories(&workspace)).collect();
    };
    let trees: Vec<PathBuf> = within.iter().map(|path| workspace.join(path)).collect();
    // A link or `..` may lead out.
    existing(&trees).into_iter().filter(|path| path.starts_with(&workspace)).collect()
}

/// Those of `paths` that exist, free of symlinks.
fn existing<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect()
}

/// What must stay closed, whether it exists or not; of symlinks, their targets too.
fn hidden(policy: &Policy) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = policy.private.iter().map(|path| real(path)).collect();
    hidden.extend(secrets_of_machine());
    if let Some(home) = &policy.home {
        hidden.extend(secrets_of(&real(home)));
    }
    if rustix::process::geteuid().is_root() {
        // Nothing else keeps root from other people's.
        let others = entries(Path::new("/home")).into_iter().chain([PathBuf::from("/root")]);
        hidden.extend(others.flat_map(|home| secrets_of(&home)).filter(|path| path.exists()));
    }
    // Most are not there, and to be told so costs less than to look at each part of their paths.
    let targets = existing(hidden.iter().filter(|path| path.exists()));
    hidden.extend(targets);
    hidden.sort();
    hidden.dedup();
    hidden
}

/// Those that would be readable otherwise: where none is, no directory is split up for it.
fn secrets_of_machine() -> Vec<PathBuf> {
    let keys = entries(Path::new("/etc/ssh")).into_iter();
    let keys = keys.filter(|path| begins_with(path, "ssh_host_") && path.extension().is_none());
    let all = SYSTEM_SECRETS.iter().map(PathBuf::from).chain(keys);
    all.filter(|path| rustix::fs::access(path, Access::READ_OK).is_ok()).collect()
}

/// Where the secrets of one home are, or would be.
fn secrets_of(home: &Path) -> Vec<PathBuf> {
    let credentials =
        entries(&home.join(".cargo")).into_iter().filter(|path| begins_with(path, "credentials"));
    SECRETS.iter().map(|secret| home.join(secret)).chain(credentials).collect()
}

/// What lies within the workspace and must not: of the secrets, those that exist.
fn exposed(policy: &Policy, hidden: &[PathBuf]) -> Option<PathBuf> {
    let workspace = real(&policy.workspace);
    let home = policy.home.iter().map(|path| real(path));
    let secrets = hidden.iter().filter(|path| path.starts_with(&workspace) && path.exists()).cloned();
    home.filter(|path| path.starts_with(&workspace)).chain(secrets).next()
}

/// The tree at `path`, without what is hidden in it (if that exists: what appears later stays open).
fn open(path: &Path, hidden: &[PathBuf], out: &mut Vec<PathBuf>) {
    let within: Vec<&Path> = hidden
        .iter()
        .map(PathBuf::as_path)
        .filter(|hidden| hidden.starts_with(path) && hidden.exists())
        .collect();
    match within.is_empty() {
        true => out.push(path.to_owned()),
        false => beside(path, &within, out),
    }
}

/// All below `dir` but what is `closed` (sorted), as few paths as possible. Symlinks are left out: their targets have
/// paths too.
fn beside(dir: &Path, closed: &[&Path], out: &mut Vec<PathBuf>) {
    for path in entries(dir) {
        // What lies below a path comes right behind it.
        let rest = &closed[closed.partition_point(|closed| *closed < path.as_path())..];
        match rest.first() {
            Some(closed) if *closed == path => {}
            Some(closed) if closed.starts_with(&path) => beside(&path, rest, out),
            _ => out.push(path),
        }
    }
}

/// The entries of a directory that are no symlinks, sorted; none where it cannot be listed.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let real = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let mut paths: Vec<PathBuf> = real.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The path free of symlinks, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

fn begins_with(path: &Path, beginning: &str) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(beginning))
}

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
