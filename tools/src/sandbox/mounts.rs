//! Mounts as a program that is made beforehand and carried out in a forked process: plain system calls, no allocation.
//!
//! It decides nothing; [`super::view`] does. Whole trees are taken as handles while they can still be named, then everything
//! becomes read-only, then what was taken is put where it is to be seen.
#![expect(unsafe_code, reason = "these system calls have no safe wrapper that allocates nothing")]

use std::ffi::{CStr, CString};
use std::io;
use std::ptr;

use libc::{c_int, c_long, c_uint, c_ulong};
use rustix::fs::Mode;

use super::child::checked;

/// One step of a program of mounts. Slots are handles of trees, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Mounts an overlay, and takes it. What cannot be laid over is left for [`Operation::Take`].
    Overlay { at: CString, options: CString, slot: usize },
    /// Takes a tree with all that is mounted below it; nothing where the slot has one.
    Take { path: CString, slot: usize },
    /// Everything that is mounted becomes read-only.
    ReadOnly,
    /// Shows a tree at a path.
    Put { slot: usize, at: CString },
    /// Covers what is at a path with a tree; what is gone by now needs no cover.
    Cover { slot: usize, at: CString },
    /// Makes a directory, on what was mounted before.
    Make { at: CString },
    /// Takes a link itself, not what it leads to.
    TakeLink { path: CString, slot: usize },
    /// Mounts a link over a file: whoever opens the file is led elsewhere. Where the kernel mounts no links, the file stays.
    PutLink { slot: usize, at: CString },
    /// Mounts a file system of its own.
    Mount { kind: &'static CStr, at: CString, options: CString },
}

/// The steps in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MountProgram {
    pub(super) steps: Vec<Operation>,
    /// How many handles of trees the steps take.
    pub(super) slots: usize,
    /// Every mount of the machine with the flags it has, for kernels that cannot change them all at once.
    pub(super) mounted: Vec<(CString, c_ulong)>,
}

impl MountProgram {
    /// Carries it out on the mounts of this process, which are its own. `trees` has [`MountProgram::slots`] places, all -1.
    pub(super) fn run(&self, trees: &mut [c_int]) -> Result<(), (usize, io::Error)> {
        for (at, step) in self.steps.iter().enumerate() {
            self.step(step, trees).map_err(|error| (at, error))?;
        }
        Ok(())
    }

    /// What a step is, in words.
    pub(super) fn describe(&self, step: usize) -> String {
        let mount = |kind: &CStr| format!("mount {} on", kind.to_string_lossy());
        let (verb, path) = match self.steps.get(step) {
            Some(Operation::Overlay { at, .. }) => ("lay over".to_owned(), at),
            Some(Operation::Take { path, .. } | Operation::TakeLink { path, .. }) => {
                ("take".to_owned(), path)
            }
            Some(Operation::PutLink { at, .. }) => ("mount a link over".to_owned(), at),
            Some(Operation::Make { at }) => ("make".to_owned(), at),
            Some(Operation::Put { at, .. } | Operation::Cover { at, .. }) => ("mount".to_owned(), at),
            Some(Operation::Mount { kind, at, .. }) => (mount(kind), at),
            Some(Operation::ReadOnly) | None => return "to make all mounts read-only".to_owned(),
        };
        format!("to {verb} {}", path.to_string_lossy())
    }

    fn step(&self, step: &Operation, trees: &mut [c_int]) -> io::Result<()> {
        match step {
            Operation::Overlay { at, options, slot } => {
                if mount(Some(c"overlay"), at, 0, Some(options)).is_ok() {
                    trees[*slot] = take(at, libc::AT_RECURSIVE)?;
                }
                Ok(())
            }
            Operation::Take { path, slot } if trees[*slot] < 0 => {
                take(path, libc::AT_RECURSIVE).map(|tree| trees[*slot] = tree)
            }
            Operation::Take { .. } => Ok(()),
            Operation::ReadOnly => match read_only_at_once() {
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => self.read_only_one_by_one(),
                done => done,
            },
            Operation::Put { slot, at } => put(trees[*slot], at),
            Operation::Cover { slot, at } => match put(trees[*slot], at) {
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                done => done,
            },
            Operation::TakeLink { path, slot } => {
                trees[*slot] = take(path, libc::AT_SYMLINK_NOFOLLOW).unwrap_or(-1);
                Ok(())
            }
            Operation::PutLink { slot, at } => {
                let _ = put(trees[*slot], at);
                Ok(())
            }
            Operation::Make { at } => match rustix::fs::mkdir(at.as_c_str(), Mode::from_raw_mode(0o755)) {
                Err(rustix::io::Errno::EXIST) => Ok(()),
                made => Ok(made?),
            },
            Operation::Mount { kind, at, options } => {
                mount(Some(kind), at, libc::MS_NOSUID | libc::MS_NOEXEC, Some(options))
            }
        }
    }

    /// Makes each mount read-only by itself. One that cannot be reached by its path is skipped: no process reaches it.
    fn read_only_one_by_one(&self) -> io::Result<()> {
        mount(None, c"/", libc::MS_REC | libc::MS_PRIVATE, None)?;
        let all = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
        self.mounted.iter().try_for_each(|(path, flags)| match mount(None, path, all | flags, None) {
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EACCES | libc::ENOTDIR)) =>
            {
                Ok(())
            }
            done => done,
        })
    }
}

/// Linux 5.12.
fn read_only_at_once() -> io::Result<()> {
    const READ_ONLY: u64 = 1; // MOUNT_ATTR_RDONLY
    // What the kernel reads: set, clear, propagation, user namespace. What is mounted outside from now on stays outside.
    let attributes = [READ_ONLY, 0, libc::MS_PRIVATE, 0];
    let (root, size) = (c"/".as_ptr(), size_of_val(&attributes));
    // SAFETY: a plain system call; the attributes have the size that is given.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            root,
            libc::AT_RECURSIVE,
            &raw const attributes,
            size,
        )
    })
    .map(drop)
}

fn take(path: &CStr, how: c_int) -> io::Result<c_int> {
    const CLONE: c_int = 1; // OPEN_TREE_CLONE
    let flags = CLONE | libc::O_CLOEXEC | how;
    // SAFETY: a plain system call; the string ends in a zero.
    let tree = checked(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) })?;
    Ok(c_int::try_from(tree).unwrap_or(-1))
}

fn put(tree: c_int, at: &CStr) -> io::Result<()> {
    const EMPTY_PATH: c_uint = 4; // MOVE_MOUNT_F_EMPTY_PATH
    let from = c"".as_ptr();
    // SAFETY: a plain system call; the strings end in a zero.
    let moved =
        unsafe { libc::syscall(libc::SYS_move_mount, tree, from, libc::AT_FDCWD, at.as_ptr(), EMPTY_PATH) };
    checked(moved).map(drop)
}

/// The older call, for whole file systems and for single flags.
pub(super) fn mount(
    kind: Option<&CStr>,
    at: &CStr,
    flags: c_ulong,
    options: Option<&CStr>,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    let kind = pointer(kind);
    // SAFETY: a plain system call; the strings end in a zero, and what is not given is null.
    let mounted = unsafe { libc::mount(kind, at.as_ptr(), kind, flags, pointer(options).cast()) };
    checked(c_long::from(mounted)).map(drop)
}
