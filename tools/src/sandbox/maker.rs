//! The process that makes the namespaces of a run and becomes their init: it does nothing but wait.
//!
//! Apart from [`super::child`], which is what commands go through. The maker is a fork of the agent, taken before that has
//! threads of its own or is confined itself; it makes plain system calls alone and then becomes `cat`. As the first process
//! of a PID namespace it takes over whatever loses its parent, and the kernel ends all of them with it. It ends
//! when its input closes: when the agent ends, in whatever way.
#![expect(
    unsafe_code,
    reason = "fork is unsafe by nature, and some of these system calls have no safe wrapper"
)]

use std::convert::Infallible;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;

use libc::c_int;
use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::child::{self, checked};
use super::mounts::{self, MountProgram};
use super::pipe::{self, ForkMessage};
use super::shared_memory;

/// What becomes init: a program that waits for the end of its input, and leaves it to the kernel to collect children that
/// end, as a shell does not.
const INIT: &[&[&CStr]] = &[&[c"/bin/cat"], &[c"/usr/bin/cat"], &[c"/bin/sh", c"-c", c"exec cat"]];

/// Numbers of the steps before and after those of the mounts, which count from 0; for [`ForkMessage::Failed`].
const NAMESPACES: i32 = -1;
const LOOPBACK: i32 = -2;
const FORK: i32 = -3;
const PROC: i32 = -4;
const INIT_PROGRAM: i32 = -5;

/// Which namespaces to make. One of users and one of IPC are always among them.
#[derive(Debug, Default)]
pub(super) struct WantedNamespaces {
    /// A network of loopback and nothing else.
    pub(super) network: bool,
    /// Mounts of its own, changed by this program.
    pub(super) mounts: Option<MountProgram>,
    /// Processes of its own.
    pub(super) processes: bool,
}

/// The init of a run's namespaces.
#[derive(Debug)]
pub(super) struct Init {
    pub(super) pid: Pid,
    /// A pidfd: pids are given out again.
    pub(super) handle: Arc<OwnedFd>,
    /// Whether the agent must reap it; else its parent is the first process of the machine.
    is_child: bool,
    /// Nothing is written to it: that it closes is what counts.
    pub(super) input: OwnedFd,
    /// The shared memory of its namespace, where it could be opened.
    pub(super) segments: Option<File>,
}

impl Drop for Init {
    /// The kernel ends all in its namespace. That is not waited for: what it takes down with it takes some milliseconds.
    fn drop(&mut self) {
        // It may have ended already.
        let _ = rustix::process::pidfd_send_signal(&self.handle, Signal::KILL);
        if self.is_child {
            let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        }
    }
}

/// Makes the namespaces; `map` gives the users of a new user namespace their numbers, by the process that is in it.
///
/// # Errors
/// What failed, in words, and the system's reason.
pub(super) fn make(wanted: &WantedNamespaces, map: impl FnOnce(Pid) -> io::Result<()>) -> io::Result<Init> {
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
    let ((reports, report), (mapped, go_on)) = (pipe()?, pipe()?);
    let (input, to_init) = pipe()?;
    let mut trees = vec![-1; wanted.mounts.as_ref().map_or(0, |program| program.slots)];
    let maker = Maker { wanted, report: report.as_raw_fd(), mapped: &mapped, input: &input };
    // SAFETY: the new process makes plain system calls until it ends or becomes another program.
    let pid = match checked(unsafe { libc::fork() }.into())? {
        0 => maker.run(&mut trees),
        pid => i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?,
    };
    drop((report, mapped, input));
    let report = receive((reports, pid), || {
        map(pid)?;
        File::from(go_on).write_all(b"\n")
    });
    let failed = match (report.error, report.failed) {
        (None, None) => None,
        (Some(error), _) => Some(error),
        (None, Some((step, errno))) => {
            let error = io::Error::from_raw_os_error(errno);
            Some(io::Error::new(error.kind(), format!("{}: {error}", wanted.describe(step))))
        }
    };
    // What failed has ended, or does as soon as its input closes.
    let init = report.init.unwrap_or(pid);
    let handle = failed.map_or_else(|| Ok(rustix::process::pidfd_open(init, PidfdFlags::empty())?), Err);
    let handle = match handle {
        Ok(handle) => handle,
        Err(error) => {
            drop(to_init);
            rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
            return Err(error);
        }
    };
    let is_child = report.init.is_none();
    if !is_child {
        rustix::process::waitpid(Some(pid), WaitOptions::empty())?;
    }
    Ok(Init { pid: init, handle: Arc::new(handle), is_child, input: to_init, segments: report.segments })
}

/// What the maker sent until it was ready.
#[derive(Default)]
struct MakerReport {
    /// The init, where that is another process.
    init: Option<Pid>,
    /// See [`Init::segments`].
    segments: Option<File>,
    /// The step that failed, and the number of the system's error.
    failed: Option<(i32, i32)>,
    /// What failed on the agent's side.
    error: Option<io::Error>,
}

/// Receives what the maker sends. `go_on` is called when the namespaces are there, and lets the maker go on.
fn receive((reports, maker): (OwnedFd, Pid), go_on: impl FnOnce() -> io::Result<()>) -> MakerReport {
    let (mut report, mut go_on) = (MakerReport::default(), Some(go_on));
    for message in pipe::messages(reports) {
        match message {
            ForkMessage::Unshared => report.error = go_on.take().and_then(|go_on| go_on().err()),
            ForkMessage::Outside(pid) => report.init = Pid::from_raw(pid),
            ForkMessage::Segments(number) => report.segments = shared_memory::taken(maker, number).ok(),
            ForkMessage::Inside(_) => {}
            ForkMessage::Failed(step, errno) => report.failed = Some((step, errno)),
        }
        if report.error.is_some() {
            break;
        }
    }
    report
}

impl WantedNamespaces {
    fn describe(&self, step: i32) -> String {
        match (step, &self.mounts) {
            (NAMESPACES, _) => "to make namespaces".to_owned(),
            (LOOPBACK, _) => "to set up the loopback interface".to_owned(),
            (FORK, _) => "to fork into the PID namespace".to_owned(),
            (PROC, _) => "to mount /proc".to_owned(),
            (step, Some(program)) if step >= 0 => program.describe(usize::try_from(step).unwrap_or_default()),
            _ => "to start init".to_owned(),
        }
    }

    fn flags(&self) -> UnshareFlags {
        let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWIPC;
        flags.set(UnshareFlags::NEWNET, self.network);
        flags.set(UnshareFlags::NEWNS, self.mounts.is_some());
        flags.set(UnshareFlags::NEWPID, self.processes);
        flags
    }
}

/// The new process's side: plain system calls alone.
struct Maker<'a> {
    wanted: &'a WantedNamespaces,
    /// The descriptor of the pipe for messages.
    report: c_int,
    /// Gives a byte when the users have their numbers.
    mapped: &'a OwnedFd,
    input: &'a OwnedFd,
}

type MakerResult<T> = Result<T, (i32, io::Error)>;

/// Init keeps a right that no command has: so none looks into it or opens its pipes. A process that held its
/// input open would live on when the agent ends.
fn keep_apart() -> io::Result<()> {
    let sets = rustix::thread::capabilities(None)?;
    let right = CapabilitySet::KILL;
    let inheritable = sets.inheritable | right;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable, ..sets })?;
    Ok(rustix::thread::configure_capability_in_ambient_set(right, true)?)
}

impl Maker<'_> {
    fn run(&self, trees: &mut [c_int]) -> ! {
        let Err((step, error)) = self.make(trees);
        // There is nobody else to tell.
        let _ = ForkMessage::Failed(step, error.raw_os_error().unwrap_or(libc::EIO)).send(self.report);
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(1) }
    }

    fn make(&self, trees: &mut [c_int]) -> MakerResult<Infallible> {
        let failed = |step: i32| move |error: io::Error| (step, error);
        self.unshare().map_err(failed(NAMESPACES))?;
        if self.wanted.network {
            child::loopback_up().map_err(failed(LOOPBACK))?;
        }
        if let Some(program) = &self.wanted.mounts {
            program.run(trees).map_err(|(step, error)| (i32::try_from(step).unwrap_or(i32::MAX), error))?;
        }
        if self.wanted.processes {
            child::fork_into_namespace(self.report, 0).map_err(failed(FORK))?;
            if self.wanted.mounts.is_some() {
                let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
                mounts::mount(Some(c"proc"), c"/proc", flags, None).map_err(failed(PROC))?;
            }
        }
        self.become_init().map_err(failed(INIT_PROGRAM))
    }

    fn unshare(&self) -> io::Result<()> {
        // SAFETY: the table of descriptors is not unshared.
        unsafe { rustix::thread::unshare_unsafe(self.wanted.flags())? };
        // Taken by the other side while this one waits; becoming another program closes it.
        let segments =
            rustix::fs::open(c"/proc/sysvipc/shm", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        if let Ok(segments) = &segments {
            ForkMessage::Segments(segments.as_raw_fd()).send(self.report)?;
        }
        ForkMessage::Unshared.send(self.report)?;
        match rustix::io::read(self.mapped, &mut [0_u8])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    fn become_init(&self) -> io::Result<Infallible> {
        let null = rustix::fs::open(c"/dev/null", OFlags::RDWR, Mode::empty())?;
        rustix::stdio::dup2_stdin(self.input)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        keep_apart()?;
        let environment = [c"PATH=/usr/bin:/bin:/run/current-system/sw/bin".as_ptr(), ptr::null()];
        // SAFETY: plain system calls; the lists end in null, and the report is closed by exec.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            checked(libc::setsid().into())?;
            checked(libc::chdir(c"/".as_ptr()).into())?;
            child::close_on_exec()?;
            for program in INIT {
                let mut arguments = [ptr::null(); 4];
                for (argument, text) in arguments.iter_mut().zip(*program) {
                    *argument = text.as_ptr();
                }
                libc::execve(program[0].as_ptr(), arguments.as_ptr(), environment.as_ptr());
            }
        }
        Err(io::Error::last_os_error())
    }
}
