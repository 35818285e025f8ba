//! To learn what there is outside, though not what is in it: names and sizes of secrets, addresses of servers. Mounts and a
//! network of their own keep it; Landlock and filters do not.

use super::Attack;
use super::End::Refused;

const CLOSED: &str = "may hold secrets and is closed to commands";

pub(in super::super) const HARMLESS: &[Attack] = &[
    ("see the size of a key", "stat", "stat -c %s ~/.ssh/id", Refused(CLOSED)),
    ("see the names of keys", "", "ls ~/.ssh/id", Refused(CLOSED)),
    ("the names of servers", "", "grep {abstract} /proc/net/unix", Refused("")),
    (
        "the ports of servers",
        "python3",
        "python3 -c 'exit(not any(\":%04X 00000000:0000 0A \" % {tcp} in line for line in open(\"/proc/net/tcp\")))'",
        Refused(""),
    ),
];
