"""Starts a program on a kernel that lacks something: behind a filter of system calls, which all that it starts inherits.

    launch.py SETTING PROGRAM [ARGUMENT...]

Calls that are wholly absent or forbidden are answered by the filter itself. A version of Landlock is answered by this process,
which is asked by the kernel at each such call.
"""
import ctypes, errno, fcntl, os, select, socket, struct, sys

c = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # x86_64, aarch64
    "clone": (56, 220), "unshare": (272, 97), "clone3": (435, 435), "mount": (165, 40), "setns": (308, 268),
    "umount2": (166, 39), "pivot_root": (155, 41), "mount_setattr": (442, 442), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445), "landlock_restrict_self": (446, 446),
}
AT = 0 if os.uname().machine == "x86_64" else 1
USER, PROCESSES = 0x10000000, 0x20000000
ALLOW, ASK = 0x7FFF0000, 0x7FC00000

MOUNTS = ["mount", "umount2", "pivot_root", "mount_setattr", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick"]
NO_USERS = [("clone", errno.EPERM, USER), ("unshare", errno.EPERM, USER), ("clone3", errno.ENOSYS, 0), ("setns", errno.EPERM, 0)]
NO_LANDLOCK = [(name, errno.ENOSYS, 0) for name in NUMBERS if name.startswith("landlock")]
# By setting: calls, how they fail, and with which bits in their first argument (0: always).
RULES = {
    "all": [],
    "no-landlock": NO_LANDLOCK,
    "no-users": NO_USERS + [(name, errno.EPERM, 0) for name in MOUNTS],
    "no-mounts": [(name, errno.EPERM, 0) for name in MOUNTS],
    "no-mount-setattr": [("mount_setattr", errno.ENOSYS, 0)],
    "no-new-mounts": [(name, errno.ENOSYS, 0) for name in MOUNTS if name not in ("mount", "umount2", "pivot_root")],
    "no-processes": [("clone", errno.ENOSPC, PROCESSES), ("unshare", errno.ENOSPC, PROCESSES)],
    "no-processes-no-clone3": [("clone", errno.ENOSPC, PROCESSES), ("unshare", errno.ENOSPC, PROCESSES), ("clone3", errno.ENOSYS, 0)],
    "no-clone3": [("clone3", errno.ENOSYS, 0)],
}


def step(code, jump, other, value):
    return struct.pack("HBBI", code, jump, other, value)


def program(rules, asked):
    """LD is the number of the call, then of its first argument."""
    steps = [step(0x20, 0, 0, 0)]
    for name, error, bits in rules:
        number = NUMBERS[name][AT]
        answer = step(0x06, 0, 0, 0x00050000 | error)
        if bits:
            steps += [step(0x15, 0, 4, number), step(0x20, 0, 0, 16), step(0x45, 0, 1, bits), answer, step(0x20, 0, 0, 0)]
        else:
            steps += [step(0x15, 0, 1, number), answer]
    for name in asked:
        steps += [step(0x15, 0, 1, NUMBERS[name][AT]), step(0x06, 0, 0, ASK)]
    return steps + [step(0x06, 0, 0, ALLOW)]


def install(steps, flags):
    code = b"".join(steps)
    text = ctypes.create_string_buffer(code, len(code))
    given = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(text))
    if c.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
        raise OSError(ctypes.get_errno(), "no_new_privs")
    handle = c.syscall((317, 277)[AT], 1, flags, given)
    if handle < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return handle


def known(version):
    """What may be handled: the size of the attributes, rights over files, over the network, scopes."""
    files = (1 << (13, 14, 15, 15, 16, 16, 16)[version - 1]) - 1
    return (8 if version < 4 else 16 if version < 6 else 24), (files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)


def landlock(version, process, arguments):
    """The answer of a kernel with this version to landlock_create_ruleset; 0 where the kernel may answer."""
    attributes, size, flags = arguments[:3]
    if flags & 0xFFFFFFFF == 1:
        return version
    if flags & 0xFFFFFFFF or size < 8:
        return -errno.EINVAL
    with open("/proc/%d/mem" % process, "rb", 0) as memory:
        memory.seek(attributes)
        given = memory.read(min(size, 4096))
    longest, rights = known(version)
    if any(given[longest:]):
        return -errno.E2BIG
    fields = struct.unpack("QQQ", given[:24].ljust(24, b"\0"))
    return -errno.EINVAL if any(field & ~right for field, right in zip(fields, rights)) else 0


def answer(listener, version):
    notice = bytearray(80)
    try:
        fcntl.ioctl(listener, 0xC0502100, notice)  # SECCOMP_IOCTL_NOTIF_RECV
    except OSError as error:
        return error.errno in (errno.EINTR, errno.ENOENT)
    name, process = struct.unpack_from("QI", notice)
    try:
        value = landlock(version, process, struct.unpack_from("6Q", notice, 32))
    except OSError:
        value = -errno.EFAULT
    reply = struct.pack("QqiI", name, max(value, 0), min(value, 0), 0 if value else 1)
    try:
        fcntl.ioctl(listener, 0xC0182101, bytearray(reply))  # SECCOMP_IOCTL_NOTIF_SEND
    except OSError:
        pass  # The process has ended.
    return True


def main(setting, command):
    if setting in RULES:
        install(program(RULES[setting], []), 0)
        os.execvp(command[0], command)
    version = int(setting.removeprefix("landlock-"))
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        listener = install(program([], ["landlock_create_ruleset"]), 8)  # SECCOMP_FILTER_FLAG_NEW_LISTENER
        socket.send_fds(theirs, [b"x"], [listener])
        os.close(listener)
        theirs.close()
        os.execvp(command[0], command)
    theirs.close()
    listener = socket.recv_fds(ours, 1, 1)[1][0]
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while True:
        for _, event in poll.poll(200):
            if event & select.POLLIN:
                answer(listener, version)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)


main(sys.argv[1], sys.argv[2:])
