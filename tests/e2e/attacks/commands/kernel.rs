//! To use what the kernel offers: devices, its own files, mounts, namespaces, rights, and calls that look past the walls.

use super::Attack;
use super::End::Refused;

const SANDBOX: &str = "(sandbox: ";

/// Files, devices and rights, which programs ask for.
pub(in super::super) const CONFINED: &[Attack] = &[
    ("the kernel's settings", "", ": >> /proc/sys/kernel/core_pattern", Refused("")),
    ("the kernel's settings of loading", "", ": >> /proc/sys/kernel/modprobe", Refused("")),
    ("the machine's network settings", "", ": >> /proc/sys/net/ipv4/ip_forward", Refused("")),
    ("the keys of the console", "", ": >> /proc/sysrq-trigger", Refused("")),
    ("the kernel's memory", "", "head -c 1 /proc/kcore", Refused("")),
    ("memory", "", "head -c 1 /dev/mem", Refused("")),
    ("the kernel's log", "", "head -c 1 /dev/kmsg", Refused("")),
    ("the kernel's log in /proc", "", "timeout 1 head -c 1 /proc/kmsg", Refused("")),
    ("the kernel's log by dmesg", "dmesg", "dmesg | grep -q .", Refused("")),
    ("a disk", "", "head -c 1 /dev/vda || head -c 1 /dev/sda", Refused("")),
    ("loops", "", ": < /dev/loop-control", Refused("")),
    ("file systems of one's own", "", ": < /dev/fuse", Refused("")),
    ("virtual machines", "", ": < /dev/kvm", Refused("")),
    ("interfaces", "", ": < /dev/net/tun", Refused("")),
    ("keys that are typed", "", ": < /dev/uinput || : < /dev/input/event0", Refused("")),
    ("the console", "", ": > /dev/console", Refused("")),
    ("other terminals", "", ": > /dev/tty1", Refused("")),
    ("sleep of the machine", "", ": >> /sys/power/state", Refused("")),
    ("what the kernel starts", "", ": >> /sys/kernel/uevent_helper", Refused("")),
    ("a control group", "", "mkdir /sys/fs/cgroup/uwf-attacks-probe", Refused("")),
    ("who ends a group", "", ": >> /sys/fs/cgroup/cgroup.procs", Refused("")),
    (
        "the kernel's trace",
        "",
        "head -c 1 /sys/kernel/tracing/trace || head -c 1 /sys/kernel/debug/tracing/trace",
        Refused(""),
    ),
    ("namespaces of users", "unshare", "unshare -Ur true", Refused(SANDBOX)),
    ("namespaces of mounts", "unshare", "unshare -m true", Refused(SANDBOX)),
    ("namespaces of networks", "unshare", "unshare -n true", Refused(SANDBOX)),
    ("namespaces of processes", "unshare", "unshare -fp true", Refused(SANDBOX)),
    ("mount", "mount", "mount -t tmpfs none .", Refused("")),
    ("mount a second time", "mount", "mkdir -p m; mount --bind / m", Refused("")),
    ("mount for writing", "mount", "mount -o remount,rw /", Refused("")),
    ("mount proc anew", "mount", "mkdir -p m; mount -t proc none m", Refused("")),
    ("take mounts away", "umount", "umount /tmp || umount -l ~", Refused("")),
    ("another root", "chroot", "chroot / true", Refused("")),
    ("a device", "mknod", "mknod disk b 254 0", Refused(SANDBOX)),
    ("a device of characters", "mknod", "mknod mem c 1 1", Refused(SANDBOX)),
    ("another user", "setpriv", "setpriv --reuid 1 --clear-groups true", Refused("")),
    ("another user by su", "su", "su nobody -s /bin/sh -c true < /dev/null", Refused("")),
    ("another user by python", "python3", "python3 -c 'import os; os.setuid(1)'", Refused("")),
    ("a module", "modprobe", "modprobe dummy", Refused("")),
    ("the clock", "date", "date -s now", Refused("")),
    ("the machine's name", "hostname", "hostname $(hostname)", Refused("")),
    ("swap", "swapon", "truncate -s 1M swap; mkswap swap && swapon swap", Refused("")),
    ("a capability for a program", "setcap", "cp /bin/true cap; setcap cap_sys_admin+ep cap", Refused("")),
];

/// System calls by number, in Python; on x86_64.
const CALLS: &[(&str, &str)] = &[
    ("ptrace", "101, 16, os.getppid(), 0, 0"),
    ("io_uring_setup", "425, 4, 0, 0, 0"),
    ("io_uring_enter", "426, 0, 0, 0, 0"),
    ("process_vm_readv", "310, os.getppid(), 0, 0, 0"),
    ("process_vm_writev", "311, os.getppid(), 0, 0, 0"),
    ("process_madvise", "440, 3, 0, 0, 0"),
    ("kcmp", "312, os.getpid(), os.getppid(), 0, 0"),
    ("pidfd_getfd", "438, 3, 0, 0, 0"),
    ("a raw socket", "41, 2, 3, 1, 0"),
    ("a packet socket", "41, 17, 3, 0, 0"),
    ("a vsock", "41, 40, 1, 0, 0"),
    ("a socket of ciphers", "41, 38, 5, 0, 0"),
    ("a socket of keys", "41, 15, 3, 2, 0"),
    ("a bluetooth socket", "41, 31, 3, 1, 0"),
    ("a tipc socket", "41, 30, 1, 0, 0"),
    ("a can socket", "41, 29, 3, 1, 0"),
    ("an express path", "41, 44, 3, 0, 0"),
    ("a raw socket of IPv6", "41, 10, 3, 58, 0"),
    ("a pair of internet sockets", "53, 2, 1, 0, ctypes.byref((ctypes.c_int * 2)())"),
    ("bpf", "321, 0, 0, 0, 0"),
    ("perf_event_open", "298, 0, 0, -1, -1"),
    ("userfaultfd", "323, 0, 0, 0, 0"),
    ("keyctl", "250, 0, 0, 0, 0"),
    ("add_key", "248, b'user', b'uwf-attacks', b'x', 1"),
    ("request_key", "249, b'user', b'uwf-attacks', 0, 0"),
    ("syslog", "103, 10, 0, 0, 0"),
    ("open_by_handle_at", "304, 0, 0, 0, 0"),
    ("setns", "308, 0, 0, 0, 0"),
    ("unshare users", "272, 0x10000000, 0, 0, 0"),
    ("clone users", "56, 0x10000011, 0, 0, 0"),
    ("clone3", "435, 0, 0, 0, 0"),
    ("mount", "165, b'none', b'.', b'tmpfs', 0, 0"),
    ("umount2", "166, b'/tmp', 2, 0, 0"),
    ("pivot_root", "155, b'.', b'.', 0, 0"),
    ("chroot", "161, b'/', 0, 0, 0"),
    ("open_tree", "428, -100, b'/', 1, 0"),
    ("move_mount", "429, -100, b'/', -100, b'.', 0"),
    ("fsopen", "430, b'tmpfs', 0, 0, 0"),
    ("fspick", "433, -100, b'/', 0, 0"),
    ("mount_setattr", "442, -100, b'/', 0, ctypes.byref((ctypes.c_ulong * 4)(0, 1, 0, 0)), 32"),
    ("finit_module", "313, 0, b'', 0, 0"),
    ("acct", "163, 0, 0, 0, 0"),
    ("quotactl", "179, 0, 0, 0, 0"),
    ("limits of another process", "302, os.getppid() or 1, 7, ctypes.byref((ctypes.c_ulong * 2)(9, 9)), 0"),
    ("type into a terminal", "16, 0, 0x5412, b'x', 0"),
    ("a lease on a file outside", "72, os.open('/etc/passwd', 0), 1024, 0, 0"),
];

/// Their names and commands; each ends with 0 when the kernel did it.
pub(in super::super) fn system_calls() -> Vec<(String, String)> {
    if !super::has("python3") || std::env::consts::ARCH != "x86_64" {
        super::skipped("attacks by the numbers of system calls", "python3 on x86_64");
        return Vec::new();
    }
    let program = |arguments: &str| {
        format!(
            "python3 -c \"import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.syscall({arguments}); e = ctypes.get_errno(); print(r, os.strerror(e)); os._exit(r < 0)\""
        )
    };
    CALLS.iter().map(|(name, arguments)| (name_of_call(name), program(arguments))).collect()
}

/// The names alone.
pub(in super::super) fn names_of_calls() -> impl Iterator<Item = String> {
    CALLS.iter().map(|(name, _)| name_of_call(name))
}

fn name_of_call(name: &str) -> String {
    format!("the call {name}")
}
