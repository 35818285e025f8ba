//! What commands see of the file system: from the paths that are open to mounts that show these and nothing else.
//!
//! Everything is read-only but what is writable; closed places are covered: a home by one of the run's own, in which the
//! toolchains and caches of the real one are mounted; /tmp by a private one; /dev by a few devices; all others by nothing.
//! The private directories and the points to mount on are made here, in the directory of the run. Which mounts there are
//! to be is a pure matter of what is open: a map of paths, in the order in which they are put.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::access_paths::AccessPaths;
use super::home;
use super::mountinfo::{self, Mounted};
use super::mounts::{MountProgram, Operation};
use super::policy::Policy;
use crate::process_table::kilobytes;

/// Files in shared memory: each takes memory beside what it holds.
const MEMORY_FILES: u32 = 1 << 20;

/// What commands see at a path of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathView {
    /// Nothing is there.
    Closed,
    /// A private directory, which commands may write.
    Private,
    /// The devices.
    Devices,
    /// What is really at this path, read-only.
    Shown(PathBuf),
    /// What is really at this path, under a layer of the run's own that commands write.
    Cache(PathBuf),
    /// The machine's own, as it is.
    Writable,
    /// What is really at this path, read-only within a tree that is writable.
    ReadOnly,
    /// A copy of a file, to which a link leads: what renames another file over this one changes the copy.
    Copied,
}

/// The mounts, and the private directories behind them.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) program: MountProgram,
    /// The private directories that commands may write.
    pub(super) private: Vec<PathBuf>,
    /// Files, and the copies that commands change in their place.
    pub(super) copies: Vec<(PathBuf, PathBuf)>,
}

impl View {
    /// The mounts that show what is open on a machine with these mounts; makes directories in `policy.run_dir`.
    pub(super) fn make(policy: &Policy, access: &AccessPaths, mounts: &[Mounted]) -> io::Result<View> {
        let dir = policy.run_dir.join("view");
        fs::create_dir(&dir)?;
        let mut builder = ViewBuilder {
            dir,
            copies: policy.copies(),
            memory: shared_memory(policy),
            steps: Steps::default(),
            mount_points: Vec::new(),
            made: 0,
            view: View::default(),
        };
        for (path, view) in map(access) {
            builder.add(&path, view)?;
        }
        for home in &access.homes {
            if let Some(point) =
                builder.mount_points.iter().find(|point| point.path == *home && point.by.is_some())
            {
                home::copy_configuration(home, point.by.as_deref().unwrap_or(home))?;
            }
        }
        builder.finish(mounts)
    }
}

/// What each path is, parents before what lies below them.
fn map(access: &AccessPaths) -> BTreeMap<PathBuf, PathView> {
    let closed = access.closed.iter().map(|path| (path.clone(), PathView::Closed));
    let private = access.homes.iter().chain(&access.shared).map(|path| (path.clone(), PathView::Private));
    let hidden = access.hidden.iter().map(|path| (path.clone(), PathView::Closed));
    let shown = access.shown.iter().map(|(at, real)| (at.clone(), PathView::Shown(real.clone())));
    let caches = access.caches.iter().map(|(at, real)| (at.clone(), PathView::Cache(real.clone())));
    let writable = access.writable.iter().map(|path| (path.clone(), PathView::Writable));
    let devices = [(PathBuf::from("/dev"), PathView::Devices)];
    let hooks = access.git.hooks.iter().map(|path| (path.clone(), PathView::ReadOnly));
    let configs = access.git.configs.iter().map(|path| (path.clone(), PathView::Copied));
    // Of two that name one path the later counts.
    let all = closed.chain(private).chain(devices).chain(hidden).chain(shown).chain(caches).chain(writable);
    all.chain(hooks).chain(configs).collect()
}

/// A path on which something is mounted for commands.
struct MountPoint {
    path: PathBuf,
    /// Nothing of the machine is seen below it.
    is_closed: bool,
    /// The private directory that is mounted there, once there must be one.
    by: Option<PathBuf>,
    /// Whether a file system of its own is mounted there, which is empty.
    is_fresh: bool,
}

/// Steps by when they are to be done.
#[derive(Default)]
struct Steps {
    /// While everything is as it was.
    before: Vec<Operation>,
    /// When everything is read-only and can still be named.
    after: Vec<Operation>,
    late: Vec<LateStep>,
    /// How many handles of trees the steps take.
    slots: usize,
}

/// What is done when everything is read-only, in the order of the paths.
enum LateStep {
    /// Shows a tree at a path.
    Tree(usize, PathBuf),
    /// Covers a mount point, by its number, with its private directory, which may not be known yet.
    Cover(usize),
    Step(Operation),
}

struct ViewBuilder {
    /// Where private directories are made.
    dir: PathBuf,
    /// Where copies of files are made.
    copies: PathBuf,
    /// How much can be written to shared memory, in bytes.
    memory: u64,
    steps: Steps,
    mount_points: Vec<MountPoint>,
    /// How many directories and copies were made: their names end in it.
    made: usize,
    view: View,
}

impl ViewBuilder {
    fn add(&mut self, path: &Path, view: PathView) -> io::Result<()> {
        let closed = self.is_closed_around(path);
        match view {
            PathView::Closed if closed || fs::symlink_metadata(path).is_err() => {}
            PathView::Closed => self.cover(path, None),
            PathView::Shown(_) if !closed && path.exists() => {}
            PathView::Shown(real) => {
                self.point(path, &real)?;
                let slot = self.take_after(&real)?;
                self.show(slot, path, false);
            }
            PathView::Cache(real) => {
                self.point(path, &real)?;
                let slot = self.lay_over(&real)?;
                self.show(slot, path, false);
            }
            PathView::Writable => {
                self.point(path, path)?;
                let slot = self.take_before(path)?;
                self.show(slot, path, false);
            }
            PathView::Private => {
                let own = self.directory("private", 0o755)?;
                self.view.private.push(own.clone());
                self.point(path, &own)?;
                let slot = self.take_before(&own)?;
                self.mount_points.push(MountPoint {
                    path: path.to_owned(),
                    is_closed: true,
                    by: Some(own),
                    is_fresh: false,
                });
                self.steps.late.push(LateStep::Tree(slot, path.to_owned()));
            }
            PathView::ReadOnly => {
                let slot = self.take_after(path)?;
                self.show(slot, path, false);
            }
            PathView::Copied => self.copy(path)?,
            PathView::Devices => self.devices(path)?,
        }
        Ok(())
    }

    /// Whether nothing of the machine is seen where `path` lies.
    fn is_closed_around(&self, path: &Path) -> bool {
        self.around(path).is_some_and(|at| self.mount_points[at].is_closed)
    }

    /// The innermost mount point that `path` lies in. What lies in a path comes right behind it: the last one that fits.
    fn around(&self, path: &Path) -> Option<usize> {
        self.mount_points.iter().rposition(|point| path.starts_with(&point.path))
    }

    /// Shows the tree of `slot` at `path` as a whole.
    fn show(&mut self, slot: usize, path: &Path, is_closed: bool) {
        self.mount_points.push(MountPoint { path: path.to_owned(), is_closed, by: None, is_fresh: false });
        self.steps.late.push(LateStep::Tree(slot, path.to_owned()));
    }

    /// Covers `path`: by the private directory `by`, else by nothing.
    fn cover(&mut self, path: &Path, by: Option<PathBuf>) {
        self.steps.late.push(LateStep::Cover(self.mount_points.len()));
        self.mount_points.push(MountPoint { path: path.to_owned(), is_closed: true, by, is_fresh: false });
    }

    /// Makes the point on which `path` is mounted, where none is to be seen: like what is at `real`.
    fn point(&mut self, path: &Path, real: &Path) -> io::Result<()> {
        let Some(at) = self.around(path).filter(|at| self.mount_points[*at].is_closed) else { return Ok(()) };
        if self.mount_points[at].is_fresh {
            return self.point_in_memory(path, at);
        }
        let by = match &self.mount_points[at].by {
            Some(by) => by.clone(),
            None => {
                let own = self.directory("covered", 0o755)?;
                self.mount_points[at].by = Some(own.clone());
                own
            }
        };
        let below = path.strip_prefix(&self.mount_points[at].path).unwrap_or(path);
        let point = by.join(below);
        if real.is_dir() {
            return fs::create_dir_all(point);
        }
        point.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::File::create(point).map(drop)
    }

    /// Makes the point on which `path` is mounted where that is on a file system that is not mounted yet: directories alone.
    fn point_in_memory(&mut self, path: &Path, at: usize) -> io::Result<()> {
        let above: Vec<&Path> =
            path.ancestors().take_while(|dir| *dir != self.mount_points[at].path).collect();
        for dir in above.into_iter().rev() {
            self.steps.late.push(LateStep::Step(Operation::Make { at: c_string(dir)? }));
        }
        Ok(())
    }

    fn directory(&mut self, name: &str, mode: u32) -> io::Result<PathBuf> {
        self.made += 1;
        let path = self.dir.join(format!("{name}-{}", self.made));
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
        Ok(path)
    }

    fn slot(&mut self) -> usize {
        self.steps.slots += 1;
        self.steps.slots - 1
    }

    fn take_before(&mut self, path: &Path) -> io::Result<usize> {
        let slot = self.slot();
        self.steps.before.push(Operation::Take { path: c_string(path)?, slot });
        Ok(slot)
    }

    fn take_after(&mut self, path: &Path) -> io::Result<usize> {
        let slot = self.slot();
        self.steps.after.push(Operation::Take { path: c_string(path)?, slot });
        Ok(slot)
    }

    /// A layer over a directory; where that cannot be, the directory itself.
    fn lay_over(&mut self, real: &Path) -> io::Result<usize> {
        let slot = self.slot();
        if real.is_dir() && !real.as_os_str().as_bytes().iter().any(|byte| b",:\\".contains(byte)) {
            let names = ["over", "layer", "work"];
            let [at, upper, work] = names.map(|name| self.directory(name, 0o700));
            let (at, upper, work) = (at?, upper?, work?);
            let mut options = b"userxattr".to_vec();
            for (name, path) in [("lowerdir", real), ("upperdir", &upper), ("workdir", &work)] {
                options.extend(format!(",{name}=").bytes());
                options.extend(path.as_os_str().as_bytes());
            }
            self.steps.before.push(Operation::Overlay {
                at: c_string(&at)?,
                options: CString::new(options)?,
                slot,
            });
        }
        self.steps.after.push(Operation::Take { path: c_string(real)?, slot });
        Ok(slot)
    }

    /// Makes a copy in the directory of copies, and mounts a link to it over the file.
    fn copy(&mut self, path: &Path) -> io::Result<()> {
        self.made += 1;
        let (dir, link) =
            (self.copies.join(self.made.to_string()), self.dir.join(format!("link-{}", self.made)));
        let copy = dir.join(path.file_name().unwrap_or_default());
        fs::create_dir(&dir)?;
        fs::copy(path, &copy)?;
        symlink(&copy, &link)?;
        let slot = self.slot();
        self.steps.after.push(Operation::TakeLink { path: c_string(&link)?, slot });
        self.steps.late.push(LateStep::Step(Operation::PutLink { slot, at: c_string(path)? }));
        self.view.copies.push((path.to_owned(), copy));
        Ok(())
    }

    /// A few devices, terminals and shared memory of the run's own.
    fn devices(&mut self, at: &Path) -> io::Result<()> {
        let own = self.directory("devices", 0o755)?;
        for (link, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            symlink(target, own.join(link))?;
        }
        for dir in ["pts", "shm", "mqueue"] {
            fs::create_dir(own.join(dir))?;
        }
        self.cover(at, Some(own));
        let memory = CString::new(format!("mode=1777,size={},nr_inodes={MEMORY_FILES}", self.memory))?;
        let file_systems = [
            (c"devpts", "pts", c"newinstance,ptmxmode=0666,mode=0620".to_owned()),
            (c"tmpfs", "shm", memory),
            (c"mqueue", "mqueue", CString::default()),
        ];
        for (kind, name, options) in file_systems {
            let path = at.join(name);
            let step = Operation::Mount { kind, at: c_string(&path)?, options };
            self.steps.late.push(LateStep::Step(step));
            self.mount_points.push(MountPoint { path, is_closed: true, by: None, is_fresh: true });
        }
        for device in super::known_paths::DEVICES.iter().map(Path::new).filter(|device| device.exists()) {
            self.point(device, device)?;
            let slot = self.take_after(device)?;
            self.show(slot, device, false);
        }
        Ok(())
    }

    fn finish(mut self, mounts: &[Mounted]) -> io::Result<View> {
        let (empty, nothing) = (self.directory("empty", 0o000)?, self.dir.join("nothing"));
        fs::File::create(&nothing)?.set_permissions(Permissions::from_mode(0o000))?;
        let mut puts = Vec::new();
        for put in std::mem::take(&mut self.steps.late) {
            puts.push(match put {
                LateStep::Step(step) => step,
                LateStep::Tree(slot, at) => Operation::Put { slot, at: c_string(&at)? },
                LateStep::Cover(number) => {
                    let MountPoint { path, by, .. } = &self.mount_points[number];
                    let (at, is_there) = (c_string(path)?, by.is_some());
                    let by = by.as_ref().unwrap_or(if path.is_dir() { &empty } else { &nothing }).clone();
                    let slot = self.take_after(&by)?;
                    // A directory in which something is shown must be there; else it may be gone by now.
                    if is_there { Operation::Put { slot, at } } else { Operation::Cover { slot, at } }
                }
            });
        }
        let Steps { mut before, after, slots, .. } = self.steps;
        before.push(Operation::ReadOnly);
        let steps = before.into_iter().chain(after).chain(puts).collect();
        let program = MountProgram { steps, slots, mounted: mountinfo::flagged(mounts) };
        Ok(View { program, ..self.view })
    }
}

/// Half of the machine's, as is usual, and not more than commands may hold.
fn shared_memory(policy: &Policy) -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let half = kilobytes(&machine, "MemTotal:").map_or(u64::MAX, |bytes| bytes / 2);
    policy.limits.memory_bytes.min(half)
}

fn c_string(path: &Path) -> io::Result<CString> {
    let bytes: &OsStr = path.as_os_str();
    Ok(CString::new(bytes.as_bytes())?)
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
