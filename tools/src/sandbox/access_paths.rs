//! Which paths a policy opens, in the tree that is there: of a home what is known to hold no secret, of the machine
//! everything but the places of secrets; little is writable.
//!
//! Two mechanisms are set up from it: [`super::view`] mounts what is open and covers what is not, and [`super::landlock`]
//! allows what is open. Landlock only adds: a rule opens a whole tree, and nothing can be taken out of it. So what is
//! open is listed as the siblings of what must stay closed, from the root down. A file that appears later beside a secret
//! is therefore closed too. It only looks (directories, links); nothing is changed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::known_paths;
use super::mountinfo::{self, Mounted};
use super::policy::Policy;
use super::worktree;
use crate::git_guard::repositories::{self as repositories, GitPrograms};
use crate::words::Words;

/// How deep below a secret's directory links are looked for whose targets are secrets too, and how many entries are looked
/// at.
const LINK_DEPTH: usize = 3;
const LINK_ENTRIES: usize = 2_000;

/// The paths that are open. Each stands for the tree below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessPaths {
    /// Trees to read and to execute programs from.
    pub(crate) readable: Vec<PathBuf>,
    /// Trees to write and to read.
    pub(crate) writable: Vec<PathBuf>,
    /// Device files to read and write; of [`known_paths::DEVICES`] those that exist.
    pub(crate) devices: Vec<PathBuf>,
    /// Whether the workspace is not writable as a whole.
    pub(crate) narrowed: bool,
    /// What must stay closed, whether it exists or not.
    pub(crate) hidden: Vec<PathBuf>,
    /// Homes, of which only what is `shown` or a cache is open.
    pub(crate) homes: Vec<PathBuf>,
    /// Other directories that are closed as a whole, such as /run.
    pub(crate) closed: Vec<PathBuf>,
    /// Directories in which everybody writes, such as /tmp.
    pub(crate) shared: Vec<PathBuf>,
    /// What is read all the same in a place that is closed as a whole: the path under which commands see it, and its real
    /// path, free of symlinks.
    pub(crate) shown: Vec<(PathBuf, PathBuf)>,
    /// Caches in a place that is closed as a whole, on which commands write a layer of their own: the path under which
    /// commands see one, and its real path.
    pub(crate) caches: Vec<(PathBuf, PathBuf)>,
    /// A path that should be closed and is not, since it lies within the workspace.
    pub(crate) exposed: Option<PathBuf>,
    /// What of the workspace's repository makes git run programs, where commands may not change that.
    pub(crate) git: GitPrograms,
}

impl AccessPaths {
    /// The paths that are open to commands, on a machine with these mounts.
    pub(crate) fn of_commands(policy: &Policy, mounts: &[Mounted]) -> AccessPaths {
        let hidden = hidden(policy, mounts);
        let exposed = exposed(policy, &hidden);
        let homes = homes(policy);
        let mut access = AccessPaths {
            hidden,
            homes,
            exposed,
            narrowed: policy.within.is_some(),
            ..AccessPaths::default()
        };
        (access.closed, access.shared) =
            (existing(&paths(known_paths::CLOSED)), existing(&paths(known_paths::SHARED)));
        access.devices = paths(known_paths::DEVICES).into_iter().filter(|path| path.exists()).collect();
        access.show(policy);
        let closed = access.all_closed();
        beside(Path::new("/"), &closed, &mut access.readable);
        let shown = access.shown.iter().chain(&access.caches).map(|(_, real)| real.clone());
        let asked = existing(policy.readable.iter().chain([&policy.workspace]));
        let open_all = shown.chain(asked).collect::<Vec<_>>();
        access.readable.extend(open_all);
        access.writable = existing([&policy.temporary()]);
        access.writable.extend(of_workspace(policy));
        for path in existing(&policy.writable) {
            open(&path, &access.hidden, &mut access.writable);
        }
        if !policy.git_programs {
            let GitPrograms { hooks, configs } = repositories::programs_at(&real(&policy.workspace));
            let configs = configs.into_iter().filter(|path| access.may_write(path)).collect();
            access.git = GitPrograms { hooks: hooks.filter(|path| access.may_write(path)), configs };
            if !access.git.configs.is_empty() {
                access.writable.extend(existing([&policy.copies()]));
            }
        }
        access
    }

    /// Finds what is open below closed places: programs and caches of homes, and what the policy names.
    fn show(&mut self, policy: &Policy) {
        // Most are not there, and to be told so costs less than to look at each part of their paths.
        let real = |at: PathBuf| at.exists().then(|| at.canonicalize().ok().map(|real| (at, real))).flatten();
        let of_homes = |names: Words| {
            self.homes.iter().flat_map(move |home| names.iter().map(move |name| home.join(name)))
        };
        let is_open =
            |(at, real): &(PathBuf, PathBuf)| ![at, real].iter().any(|path| is_below(path, &self.hidden));
        let programs = of_homes(known_paths::PROGRAMS)
            .chain(paths(known_paths::SHOWN))
            .chain(toolchains(policy, &self.homes));
        let shown: Vec<_> = programs.filter_map(real).filter(is_open).collect();
        let caches: Vec<_> = of_homes(known_paths::CACHES).filter_map(real).filter(is_open).collect();
        let asked = policy.readable.iter().cloned().filter_map(real);
        // Of a narrowed workspace what is not writable is seen all the same, wherever it lies.
        let narrowed = policy.within.iter().flat_map(|_| {
            let workspace = self::real(&policy.workspace);
            worktree::git_directories(&workspace).into_iter().chain([workspace])
        });
        self.shown = shown.into_iter().chain(asked).chain(narrowed.filter_map(real)).collect();
        self.caches = caches;
    }

    /// Everything that is closed, sorted.
    fn all_closed(&self) -> Vec<PathBuf> {
        let devices = PathBuf::from("/dev");
        let all =
            self.hidden.iter().chain(&self.homes).chain(&self.closed).chain(&self.shared).chain([&devices]);
        let all: BTreeSet<PathBuf> = all.cloned().collect();
        all.into_iter().collect()
    }

    /// The paths that are open to the agent itself: what is open to its commands without being narrowed, everything else
    /// that is no secret's place (scripts and workflows are anywhere), and its own directories.
    pub(crate) fn of_agent(&self, policy: &Policy) -> AccessPaths {
        let mut access = self.clone();
        let mut closed = self.hidden.clone();
        closed.push(PathBuf::from("/dev"));
        closed.sort();
        beside(Path::new("/"), &closed, &mut access.readable);
        access.readable = outermost(access.readable);
        if policy.within.is_some() {
            access.writable.extend(of_workspace(&Policy { within: None, ..policy.clone() }));
        }
        access.writable.extend(existing(policy.private.iter().chain([&policy.run_dir])));
        access
    }

    /// Whether commands may write at `path`, which is absolute.
    pub(crate) fn may_write(&self, path: &Path) -> bool {
        self.writable.iter().chain(&self.devices).any(|open| path.starts_with(open))
    }

    /// Whether `path`, which is absolute, is a secret's place, not merely one that is not shown.
    pub(crate) fn is_secret(&self, path: &Path) -> bool {
        is_below(path, &self.hidden)
    }

    /// Whether `path`, which is absolute, is in one of the places that stay closed.
    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        let closed = [&self.hidden, &self.homes, &self.closed, &self.shared]
            .into_iter()
            .any(|places| is_below(path, places));
        let shown = self.shown.iter().chain(&self.caches).any(|(at, _)| path.starts_with(at));
        closed && !shown && !self.may_write(path)
    }
}

fn is_below(path: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

fn paths(names: Words) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// The homes that have something to show: that of the user, and root's, where toolchains often are.
fn homes(policy: &Policy) -> Vec<PathBuf> {
    let own = policy.home.iter().cloned();
    let mut homes = existing(&own.chain([PathBuf::from("/root")]).collect::<Vec<_>>());
    // A home that is the whole machine is none.
    homes.retain(|home| home.parent().is_some());
    homes.sort();
    homes.dedup();
    homes
}

/// The directories of programs that lie below a home, and what belongs to them beside one called `bin`; nothing else of what
/// is around it, which may be a tool's whole state.
fn toolchains(policy: &Policy, homes: &[PathBuf]) -> Vec<PathBuf> {
    const BESIDE: Words = Words("lib lib64 libexec share include pyvenv.cfg");
    let is_safe = |dir: &PathBuf| {
        homes.iter().any(|home| dir.starts_with(home) && dir != home)
            && !homes.iter().any(|home| home.starts_with(dir) || is_bare(dir, home))
    };
    let beside = |dir: &PathBuf| {
        let around = dir.parent().filter(|_| dir.ends_with("bin")).map(Path::to_owned);
        around.into_iter().flat_map(|around| BESIDE.iter().map(move |name| around.join(name)))
    };
    let dirs: Vec<PathBuf> = policy.programs.iter().filter_map(|dir| dir.canonicalize().ok()).collect();
    let all = dirs.iter().flat_map(|dir| std::iter::once(dir.clone()).chain(beside(dir)));
    all.filter(is_safe).collect()
}

/// Directories of a home in which everybody keeps everything: never opened for the programs in them.
fn is_bare(dir: &Path, home: &Path) -> bool {
    [".config", ".local", ".local/share", ".cache", ".cargo", "share", "lib", "include"]
        .iter()
        .any(|name| dir == home.join(name))
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

/// The `paths` that exist, free of symlinks.
fn existing<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter(|path| path.exists()).filter_map(|path| path.canonicalize().ok()).collect()
}

/// What must stay closed, whether it exists or not; of symlinks, their targets too, and the same files by other mounts.
fn hidden(policy: &Policy, mounts: &[Mounted]) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = policy.private.iter().map(|path| real(path)).collect();
    hidden.extend(secrets_of_machine());
    hidden.extend(sockets(&real(&policy.workspace)));
    let homes = homes(policy);
    hidden.extend(homes.iter().flat_map(|home| secrets_of(home)));
    // Most are not there, and to be told so costs less than to look at each part of their paths.
    let there: Vec<PathBuf> = hidden.iter().filter(|path| path.exists()).cloned().collect();
    hidden.extend(existing(&there));
    let mut left = LINK_ENTRIES;
    there.iter().for_each(|path| link_targets(path, (LINK_DEPTH, &mut left), &mut hidden));
    let seen_twice = there.iter().chain(&homes);
    hidden.extend(seen_twice.flat_map(|path| mountinfo::aliases(mounts, &real(path))));
    hidden.sort();
    hidden.dedup();
    hidden
}

fn secrets_of_machine() -> Vec<PathBuf> {
    let keys = entries(Path::new("/etc/ssh")).into_iter();
    let keys = keys.filter(|path| begins_with(path, "ssh_host_") && path.extension().is_none());
    paths(known_paths::CLOSED_FILES).into_iter().chain(keys).filter(|path| path.exists()).collect()
}

/// Where servers of the machine listen: a program that is told what to do is a way out.
fn sockets(workspace: &Path) -> Vec<PathBuf> {
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    // A desktop has hundreds, of few names, and most in places that are closed as a whole.
    let is_closed = |name: &Path| known_paths::CLOSED.iter().any(|place| name.starts_with(place));
    let names: BTreeSet<&Path> = table.split(|byte| *byte == b'\n').filter_map(socket_name).collect();
    let names = names.into_iter().filter(|name| !is_closed(name) || name.starts_with(workspace));
    let (absolute, relative): (Vec<&Path>, Vec<&Path>) = names.partition(|name| name.is_absolute());
    // A relative name counts from where the server was, which mostly is where it still is.
    let dirs = if relative.is_empty() { BTreeSet::new() } else { working_directories() };
    let relative: BTreeSet<&Path> = relative.into_iter().collect();
    let from_dirs = dirs.iter().flat_map(|dir| relative.iter().map(|name| dir.join(name)));
    let paths = absolute.into_iter().map(Path::to_owned).chain(from_dirs.filter(|path| is_socket(path)));
    let sockets: BTreeSet<PathBuf> = paths.filter_map(|path| path.canonicalize().ok()).collect();
    sockets.into_iter().collect()
}

/// The path in a line of /proc/net/unix, which follows seven fields; none for sockets without a path, whose names begin
/// with `@`.
fn socket_name(line: &[u8]) -> Option<&Path> {
    let mut rest = line;
    for _ in 0..7 {
        rest = rest.trim_ascii_start();
        rest = &rest[rest.iter().position(|byte| *byte == b' ')?..];
    }
    let is_path = |name: &&[u8]| !name.is_empty() && !name.starts_with(b"@") && *name != b"Path";
    Some(Path::new(OsStr::from_bytes(rest.get(1..).filter(is_path)?)))
}

/// Where the processes are that we may look at.
fn working_directories() -> BTreeSet<PathBuf> {
    entries(Path::new("/proc")).iter().filter_map(|process| fs::read_link(process.join("cwd")).ok()).collect()
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Where the secrets of one home are, or would be.
fn secrets_of(home: &Path) -> Vec<PathBuf> {
    let credentials =
        entries(&home.join(".cargo")).into_iter().filter(|path| begins_with(path, "credentials"));
    known_paths::SECRETS.iter().map(|secret| home.join(secret)).chain(credentials).collect()
}

/// Where the links in a secret's directory lead.
fn link_targets(dir: &Path, (depth, left): (usize, &mut usize), out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => {
                out.extend(entry.path().canonicalize().ok().filter(|target| !is_of_the_system(target)));
            }
            Ok(kind) if kind.is_dir() && depth > 1 => link_targets(&entry.path(), (depth - 1, left), out),
            _ => {}
        }
    }
}

/// A link to a program or a list of certificates makes that no secret.
fn is_of_the_system(target: &Path) -> bool {
    let system =
        ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ssl/certs", "/nix", "/proc", "/dev", "/sys"];
    target.parent().is_none() || system.iter().any(|dir| target.starts_with(dir))
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
    let within: Vec<PathBuf> =
        hidden.iter().filter(|hidden| hidden.starts_with(path) && hidden.exists()).cloned().collect();
    match within.is_empty() {
        true => out.push(path.to_owned()),
        false => beside(path, &within, out),
    }
}

/// All below `dir` but what is `closed` (sorted), as few paths as possible. Symlinks are left out: their targets have
/// paths too.
fn beside(dir: &Path, closed: &[PathBuf], out: &mut Vec<PathBuf>) {
    for path in entries(dir) {
        // What lies below a path comes right behind it.
        let rest = &closed[closed.partition_point(|closed| *closed < path)..];
        match rest.first() {
            Some(closed) if *closed == path => {}
            Some(closed) if closed.starts_with(&path) => beside(&path, rest, out),
            _ => out.push(path),
        }
    }
}

/// `paths` without those that lie below others.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    // What lies below a path comes right behind it.
    paths.sort();
    paths.dedup_by(|path, above| path.starts_with(above));
    paths
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
#[path = "access_paths_tests.rs"]
mod tests;
