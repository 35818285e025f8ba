//! To share memory and messages with processes outside.

use super::Attack;
use super::End::Refused;

pub(in super::super) const HARMLESS: &[Attack] = &[
    ("shared memory by its path", "", "cat /dev/shm/{shared}", Refused("")),
    ("all shared memory", "", "cat /dev/shm/* | grep -a innermost", Refused("")),
    (
        "a segment",
        "python3",
        "python3 -c 'import ctypes; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p; a = c.shmat({segment}, None, 4096); print(ctypes.string_at(a))'",
        Refused(""),
    ),
    (
        "a segment by its key",
        "python3",
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).shmget({victim}, 0, 0) < 0)'",
        Refused(""),
    ),
    ("the list of segments", "", "grep -w {victim} /proc/sysvipc/shm", Refused("")),
    ("the list by ipcs", "ipcs", "ipcs -m -i {segment} | grep -q bytes", Refused("")),
    (
        "a queue by its key",
        "python3",
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).msgget({victim}, 0) < 0)'",
        Refused(""),
    ),
    (
        "a waiting message",
        "python3",
        "python3 -c 'import ctypes; b = ctypes.create_string_buffer(99); n = ctypes.CDLL(None).msgrcv({queue}, b, 91, 0, 0o44000); print(b.raw); exit(n < 0)'",
        Refused(""),
    ),
    (
        "a semaphore",
        "python3",
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).semctl({semaphores}, 0, 16, 1) != 0)'",
        Refused(""),
    ),
    (
        "a named queue",
        "python3",
        "python3 -c 'import ctypes; c = ctypes.CDLL(None); b = ctypes.create_string_buffer(9000); h = c.mq_open(b\"/{shared}\", 0o4000); n = c.mq_receive(h, b, 8999, None); print(b.value); exit(n < 0)'",
        Refused(""),
    ),
];

pub(in super::super) const CONFINED: &[Attack] = &[
    (
        "change shared memory",
        "",
        "echo x >> /dev/shm/{shared}; test -s /dev/shm/{shared} && grep innermost /dev/shm/{shared}",
        Refused(""),
    ),
    ("remove a segment", "ipcrm", "ipcrm -m {segment}", Refused("")),
    ("remove a queue", "ipcrm", "ipcrm -q {queue}", Refused("")),
    ("remove semaphores", "ipcrm", "ipcrm -s {semaphores}", Refused("")),
];
