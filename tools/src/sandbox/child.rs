//! What a child process does to itself between fork and exec.
//!
//! Between fork and exec of a program that has threads only calls that are safe in a copy
//! of one thread may be made: plain system calls, no allocation, no locks. So rulesets, filters and namespaces are made
//! before the fork, and here they are only applied.
//!
//! That a command does not outlive the agent is not done here: `PR_SET_PDEATHSIG` fires when the *thread* that forked
//! ends, which may be one of a pool, and reaches the command alone, not what it started. See
//! [`crate::shell::guard`] for what is done instead.
#![expect(
    unsafe_code,
    reason = "pre_exec is unsafe by nature, and some of these system calls have no safe wrapper that allocates nothing"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use libc::{c_int, c_long};
use rustix::fs::{FileType, Mode, OFlags, RawDir};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, LinkNameSpaceType};
use seccompiler::BpfProgram;

use super::pipe::{self, ForkMessage};
use super::policy::ProcessLimits;
use crate::open_flags::DIRECTORY;
use crate::wait;

/// What root keeps: to own, read and write the files of a workspace whoever made them.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// The confinement of a command's process, prepared before the fork and applied between fork and exec.
#[derive(Debug)]
pub(crate) struct ChildSetup {
    /// What the process may use, set with setrlimit.
    pub(crate) limits: ProcessLimits,
    /// Handles of a user namespace and of those it owns, entered in this order.
    pub(crate) namespaces: Vec<(OwnedFd, LinkNameSpaceType)>,
    /// The descriptor that keeps the init of these namespaces alive. It is closed before they are entered: a process that
    /// were stopped inside would hold it open for ever.
    pub(crate) init_input: Option<c_int>,
    /// The `cgroup.procs` of a control group: a process that writes `0` to it becomes a member.
    pub(crate) cgroup: Option<OwnedFd>,
    /// A Landlock ruleset.
    pub(crate) ruleset: Option<OwnedFd>,
    /// The seccomp filters, installed in this order.
    pub(crate) filters: Vec<BpfProgram>,
}

/// The process gets a session of its own: no terminal to ask for passwords on, and one group to signal.
pub(crate) fn own_session(command: &mut Command) -> &mut Command {
    // SAFETY: setsid is a plain system call.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        })
    }
}

/// The process applies `setup` before exec, and whatever it starts inherits it. Where the setup has a PID namespace, the
/// program runs in a second fork, in that namespace, whose pids are written to `report` (see [`ForkedPids`]).
pub(crate) fn confine(command: &mut Command, setup: Arc<ChildSetup>, report: OwnedFd) -> &mut Command {
    // SAFETY: `apply` makes plain system calls; what it uses was made before the fork.
    unsafe { command.pre_exec(move || setup.apply(report.as_raw_fd())) }
}

/// The pids of a process that was forked into a PID namespace, outside of it and inside; zero while they are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ForkedPids {
    pub(crate) outside: i32,
    pub(crate) inside: i32,
}

impl ForkedPids {
    /// What [`fork_into_namespace`] reported; waits until the last writer has closed the pipe.
    pub(crate) fn read(report: OwnedFd) -> ForkedPids {
        pipe::messages(report).fold(ForkedPids::default(), |forked, message| match message {
            ForkMessage::Outside(outside) => ForkedPids { outside, ..forked },
            ForkMessage::Inside(inside) => ForkedPids { inside, ..forked },
            _ => forked,
        })
    }
}

/// A second fork: into the PID namespace that was entered or made just before, which counts for children alone. With
/// `CLONE_PARENT` in `more` the parent of the new process is that of this one, else init. Returns in the new process
/// alone; this one ends.
pub(super) fn fork_into_namespace(report: c_int, more: c_int) -> io::Result<()> {
    let flags = c_long::from(more | libc::SIGCHLD);
    // SAFETY: a fork without a stack of its own; both go on with plain system calls alone.
    let forked = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match forked {
        0 => ForkMessage::Inside(rustix::process::getpid().as_raw_pid()).send(report),
        pid if pid > 0 => {
            let sent = ForkMessage::Outside(i32::try_from(pid).unwrap_or_default()).send(report);
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(i32::from(sent.is_err())) }
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the kernel takes this call: filters of containers often do not, since its flags lie in memory.
pub(super) fn has_clone3() -> bool {
    // SAFETY: without arguments the kernel refuses it before anything happens.
    let refused = unsafe { libc::syscall(libc::SYS_clone3, ptr::null::<u8>(), 0) };
    refused < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// Closes a descriptor of this copy of the agent by its number; the agent itself keeps it.
fn close(number: c_int) {
    // SAFETY: a plain system call between fork and exec: nothing of this process uses it any more.
    unsafe { libc::close(number) };
}

pub(super) fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Enters `namespaces`, and again the directory that the process is in: a mount namespace is entered at its root. Input is
/// opened anew inside: by a handle from outside a command could change the mode of a device. The pipe of a server stays.
fn enter(namespaces: &[(OwnedFd, LinkNameSpaceType)]) -> io::Result<()> {
    if namespaces.is_empty() {
        return Ok(());
    }
    let mut here = [0; libc::PATH_MAX as usize];
    // SAFETY: the buffer has the size that is given.
    if unsafe { libc::getcwd(here.as_mut_ptr(), here.len()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    for (namespace, kind) in namespaces {
        rustix::thread::move_into_link_name_space(borrowed(namespace), Some(*kind))?;
    }
    // SAFETY: getcwd ended the path with a zero.
    checked(unsafe { libc::chdir(here.as_ptr()) }.into())?;
    if FileType::from_raw_mode(rustix::fs::fstat(rustix::stdio::stdin())?.st_mode) == FileType::Fifo {
        return Ok(());
    }
    let null = rustix::fs::open(c"/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::stdio::dup2_stdin(&null)?)
}

/// KILL to all processes of the namespace that `handles` lead to but its init, at once: nothing can fork away meanwhile. A
/// process that enters it does that, without the descriptor that keeps that init alive; it is killed after `timeout`, since
/// processes inside may stop it.
pub(super) fn kill_inside(
    handles: &[(OwnedFd, LinkNameSpaceType)],
    init_input: c_int,
    timeout: Duration,
) -> io::Result<()> {
    // SAFETY: the new processes make plain system calls until they end.
    let entered = match checked(unsafe { libc::fork() }.into())? {
        0 => unsafe {
            close(init_input);
            let done = kill_all_inside(handles);
            libc::_exit(i32::from(done.is_err()))
        },
        pid => i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?,
    };
    let handle = rustix::process::pidfd_open(entered, PidfdFlags::empty())?;
    // Whatever it came to: what is left is killed from outside.
    let _ = wait::for_any([Some(handle.as_fd())], timeout);
    let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
    rustix::process::waitpid(Some(entered), WaitOptions::empty())?;
    Ok(())
}

/// The side of the process that enters, and of the one that it forks there.
fn kill_all_inside(handles: &[(OwnedFd, LinkNameSpaceType)]) -> io::Result<()> {
    let needed = [LinkNameSpaceType::User, LinkNameSpaceType::ProcessID];
    for (namespace, kind) in handles.iter().filter(|(_, kind)| needed.contains(kind)) {
        rustix::thread::move_into_link_name_space(borrowed(namespace), Some(*kind))?;
    }
    // SAFETY: the new process makes plain system calls until it ends.
    match checked(unsafe { libc::fork() }.into())? {
        0 => unsafe {
            libc::kill(-1, libc::SIGKILL);
            libc::_exit(0)
        },
        _ => Ok(rustix::process::wait(WaitOptions::empty()).map(drop)?),
    }
}

impl ChildSetup {
    /// The order matters: joining namespaces needs capabilities, restricting oneself needs no_new_privs, and the filters
    /// come last since they refuse some of the calls before them.
    fn apply(&self, report: c_int) -> io::Result<()> {
        self.limit()?;
        if let Some(cgroup) = &self.cgroup {
            // By moving in, since kernels kill a process that is forked into a group whose members were killed before.
            rustix::io::write(cgroup, b"0")?;
        }
        if let Some(input) = self.init_input {
            close(input);
        }
        enter(&self.namespaces)?;
        if self.namespaces.iter().any(|(_, kind)| *kind == LinkNameSpaceType::ProcessID) {
            fork_into_namespace(report, libc::CLONE_PARENT)?;
        }
        rustix::process::setsid()?;
        rustix::thread::set_no_new_privs(true)?;
        drop_capabilities()?;
        close_on_exec()?;
        if let Some(ruleset) = &self.ruleset {
            restrict_self(ruleset)?;
        }
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(|_| io::Error::last_os_error())?;
        }
        Ok(())
    }

    fn limit(&self) -> io::Result<()> {
        let ProcessLimits { processes, file_bytes, memory_bytes, .. } = self.limits;
        // A core of a process that held secrets would lie in the workspace.
        let limits = [
            (Resource::Nproc, processes),
            (Resource::Fsize, file_bytes),
            (Resource::Data, memory_bytes),
            (Resource::Core, 0),
        ];
        for (resource, wanted) in limits {
            let limit = getrlimit(resource).maximum.map_or(wanted, |present| present.min(wanted));
            setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
        }
        Ok(())
    }
}

/// Drops all but [`KEPT_CAPABILITIES`], and for others than root all. With no_new_privs no program gives them back, so that
/// it is enough to reduce the bounding set where that is allowed.
fn drop_capabilities() -> io::Result<()> {
    let kept = if rustix::process::geteuid().is_root() { KEPT_CAPABILITIES } else { CapabilitySet::empty() };
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if !kept.contains(capability)
            && rustix::thread::remove_capability_from_bounding_set(capability).is_err()
        {
            // The kernel knows no more, or does not allow it.
            break;
        }
    }
    let permitted = rustix::thread::capabilities(None)?.permitted & kept;
    let sets = CapabilitySets { effective: permitted, permitted, inheritable: CapabilitySet::empty() };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// What the agent was started with and did not close itself is none of a command's business.
pub(super) fn close_on_exec() -> io::Result<()> {
    // SAFETY: only a flag of descriptors is set; none is closed before exec.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    match checked(result) {
        // Linux 5.10 has the call and not the flag.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => close_on_exec_one_by_one(),
        done => done.map(drop),
    }
}

/// [`close_on_exec`] for kernels that cannot do it at once: each descriptor by itself, from the list in /proc.
fn close_on_exec_one_by_one() -> io::Result<()> {
    let list = rustix::fs::open(c"/proc/self/fd", DIRECTORY, Mode::empty())?;
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(list, &mut buffer);
    while let Some(entry) = entries.next() {
        let number =
            std::str::from_utf8(entry?.file_name().to_bytes()).ok().and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|number: &c_int| *number > 2) {
            // SAFETY: a plain system call; only a flag of a descriptor is set.
            checked(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) }.into())?;
        }
    }
    Ok(())
}

fn restrict_self(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: a plain system call on an open descriptor.
    let result = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The version of Landlock that the kernel has switched on.
pub(crate) fn landlock_version() -> Option<u32> {
    const VERSION: u32 = 1; // LANDLOCK_CREATE_RULESET_VERSION
    // SAFETY: with this flag the kernel takes no pointer and gives a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0, VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// In the type that `ioctl` takes, which libc's own is not for every C library.
const SIOCSIFFLAGS: libc::Ioctl = 0x8914;

/// `ip link set lo up`, in the network namespace of the caller.
pub(super) fn loopback_up() -> io::Result<()> {
    // SAFETY: an `ifreq` of zeros is valid; the name is shorter than its field and ends in a zero; the descriptor is
    // closed by exec at the latest.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = from.cast_signed() as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        let result = libc::ioctl(socket, SIOCSIFFLAGS, &request);
        let error = io::Error::last_os_error();
        libc::close(socket);
        if result == 0 { Ok(()) } else { Err(error) }
    }
}

fn borrowed(fd: &OwnedFd) -> BorrowedFd<'_> {
    fd.as_fd()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_descriptor_is_passed_on_where_the_kernel_closes_none_at_once() {
        let passed = |close: fn() -> io::Result<()>| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "ls /proc/self/fd/200 /proc/self/fd/1"]);
            // SAFETY: plain system calls.
            unsafe {
                command.pre_exec(move || {
                    checked(libc::dup2(1, 200).into())?;
                    close()
                })
            };
            let output = command.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("/proc/self/fd/1\n"), "{output:?}");
            text.contains("/proc/self/fd/200\n")
        };
        assert!(passed(|| Ok(())));
        assert!(!passed(close_on_exec) && !passed(close_on_exec_one_by_one));
    }
}
