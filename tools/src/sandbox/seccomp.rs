//! The filters of system calls: what Landlock does not see, and what only serves to break out.
//!
//! Refused calls fail with EPERM, so that programs can tell; nothing is killed but programs of another architecture,
//! whose calls have other numbers.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpArgLen::Qword, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// Calls that look into or steer other processes, load code into the kernel, or change how processes are confined:
/// refused always. io_uring makes calls that no filter sees.
const REFUSED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// The programs to install, in this order: at one call the strictest answer counts. `apart` tells that the processes have a
/// namespace of their own. `None` where this processor's calls
/// are not known.
pub(crate) fn programs(sockets: Sockets, apart: bool) -> Option<Vec<BpfProgram>> {
    let arch = TargetArch::try_from(ARCH).ok()?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules(sockets, apart)?, SeccompAction::Allow, refused, arch).ok()?;
    Some(vec![unreadable_calls(), filter.try_into().ok()?])
}

/// Which sockets there may be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sockets {
    /// Sockets of the internet. Which addresses they reach is not decided by filters.
    pub(crate) internet: bool,
    /// Sockets with a path or a name (AF_UNIX): allowed only where the machine's cannot be named, since they lead to docker
    /// and D-Bus.
    pub(crate) local: bool,
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(sockets: Sockets, apart: bool) -> Option<SeccompRules> {
    let mut rules: SeccompRules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // A user namespace of its own gives a process all capabilities over it.
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        let user = libc::CLONE_NEWUSER as u64;
        rules.insert(call, vec![rule([argument(0, SeccompCmpOp::MaskedEq(user), user)])?]);
    }
    // Limits of other processes, such as the agent.
    let others = [argument(0, SeccompCmpOp::Ne, 0), nonzero(2)];
    rules.insert(libc::SYS_prlimit64, vec![rule(others)?]);
    // Typing into a terminal.
    let typing = [TIOCSTI, TIOCLINUX].map(|request| rule([argument(1, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Option<_>>()?);
    // A lease stops whoever opens the file next, and a watch of a directory signals: both reach beyond the sandbox.
    let notes =
        [libc::F_SETLEASE, libc::F_NOTIFY].map(|note| rule([argument(1, SeccompCmpOp::Eq, word(note))]));
    rules.insert(libc::SYS_fcntl, notes.into_iter().collect::<Option<_>>()?);
    if !apart {
        steering(&mut rules)?;
    }
    rules.insert(libc::SYS_socket, families(sockets)?);
    rules.insert(libc::SYS_socketpair, pairs(sockets)?);
    if !sockets.internet && !sockets.local {
        for call in [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4]
        {
            rules.insert(call, Vec::new());
        }
        rules.insert(libc::SYS_sendto, vec![rule([nonzero(4)])?]);
    }
    Some(rules)
}

/// Priorities and processors of other processes by number: where these have no namespace, the agent's among them. A process
/// still sets its own, and that of its group by 0.
fn steering(rules: &mut SeccompRules) -> Option<()> {
    const USER: u64 = 2; // PRIO_USER
    const IO_USER: u64 = 3; // IOPRIO_WHO_USER
    let other = |index| argument(index, SeccompCmpOp::Ne, 0);
    let all_of_a_user = |user| rule([argument(0, SeccompCmpOp::Eq, user)]);
    rules.insert(libc::SYS_setpriority, vec![rule([other(1)])?, all_of_a_user(USER)?]);
    rules.insert(libc::SYS_ioprio_set, vec![rule([other(1)])?, all_of_a_user(IO_USER)?]);
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        rules.insert(call, vec![rule([other(0)])?]);
    }
    Some(())
}

/// Sockets of the internet, of this machine, and of routing tables; nothing else. AF_VSOCK leads to the host of a virtual
/// machine, and no network namespace parts it off. Where there is no such namespace, internet sockets are refused as well:
/// sendmsg takes its address from memory, which no filter can read.
fn families(sockets: Sockets) -> Option<Vec<SeccompRule>> {
    let internet = [libc::AF_INET, libc::AF_INET6].into_iter().filter(|_| sockets.internet);
    let local = [libc::AF_UNIX].into_iter().filter(|_| sockets.local);
    let allowed = internet.chain(local).chain([libc::AF_NETLINK]);
    let others = allowed.map(|family| argument(0, SeccompCmpOp::Ne, word(family)));
    Some(vec![SeccompRule::new(others.collect::<Option<_>>()?).ok()?])
}

/// Pairs of AF_UNIX sockets; where those may not be reached otherwise, pairs that stay connected. Of a datagram's pair (and
/// "raw" is one of its names) either end could send to any address.
fn pairs(sockets: Sockets) -> Option<Vec<SeccompRule>> {
    let family = rule([argument(0, SeccompCmpOp::Ne, word(libc::AF_UNIX))])?;
    if sockets.local {
        return Some(vec![family]);
    }
    // The type shares its argument with flags in the higher bits.
    let is_type = |number: c_int| argument(1, SeccompCmpOp::MaskedEq(0xf), word(number));
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    let others = (0..=0xf).filter(|number| !connected.contains(number)).map(|number| rule([is_type(number)]));
    std::iter::once(Some(family)).chain(others).collect()
}

/// Two ioctls of terminals: libc does not define the second, and the first in another type for each C library.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

fn word(value: c_int) -> u64 {
    u64::from(value.unsigned_abs())
}

fn argument(index: u8, operator: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(index, Dword, operator, value).ok()
}

/// A pointer that is given.
fn nonzero(index: u8) -> Option<SeccompCondition> {
    SeccompCondition::new(index, Qword, SeccompCmpOp::Ne, 0).ok()
}

fn rule<const N: usize>(conditions: [Option<SeccompCondition>; N]) -> Option<SeccompRule> {
    SeccompRule::new(conditions.into_iter().collect::<Option<_>>()?).ok()
}

/// A program written by hand, since it compares numbers of calls: clone3 (whose flags lie in memory) and everything of
/// the x32 ABI (the same calls under other numbers) are answered "not implemented", upon which the C library uses clone.
fn unreadable_calls() -> BpfProgram {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const X32: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        step(LOAD, 0, 0, 0),
        step(EQUAL, 1, 0, clone3),
        step(AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, absent),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
