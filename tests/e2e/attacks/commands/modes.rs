//! To change modes, owners and times of files outside, which Landlock does not govern.

use super::Attack;
use super::End::{Own, Refused};

const SANDBOX: &str = "(sandbox: ";
const WRITES: &str = "commands write only the workspace and $TMPDIR";

pub(in super::super) const HARMLESS: &[Attack] = &[
    ("change the mode outside", "", "chmod 777 {dir}/outside/file", Refused("is not shown to commands")),
    (
        "change the time outside",
        "",
        "touch -c -d 2001-01-01 {dir}/outside/file && test -e {dir}/outside/file",
        Refused(""),
    ),
    ("change the home's mode", "", "chmod 751 ~", Own("{dir}/home")),
    (
        "change the mode of keys",
        "",
        "chmod 777 ~/.ssh/id",
        Refused("may hold secrets and is closed to commands"),
    ),
    ("change the mode by /proc", "", "chmod 777 /proc/self/root{dir}/outside/file", Refused("No such file")),
    ("seen: mode", "", "chmod 777 {seen}/file", Refused(WRITES)),
    ("seen: mode of a directory", "", "chmod 777 {seen}", Refused(WRITES)),
    ("seen: time", "", "touch -d 2001-01-01 {seen}/file", Refused(WRITES)),
    ("seen: owner, the same", "", "chown $(id -u) {seen}/file", Refused(WRITES)),
    (
        "seen: mode by a handle",
        "python3",
        "python3 -c 'import os; os.fchmod(os.open(\"{seen}/file\", 0), 0o777)'",
        Refused(SANDBOX),
    ),
    ("seen: mode by a handle's path", "", "exec 3<{seen}/file; chmod 777 /proc/self/fd/3", Refused(SANDBOX)),
    (
        "seen: time by a handle",
        "python3",
        "python3 -c 'import os; os.utime(os.open(\"{seen}/file\", 0), (0, 0))'",
        Refused(SANDBOX),
    ),
    (
        "seen: owner by a handle",
        "python3",
        "python3 -c 'import os; os.fchown(os.open(\"{seen}/file\", 0), os.getuid(), -1)'",
        Refused(SANDBOX),
    ),
    ("seen: mode by perl", "perl", "perl -e 'chmod(0777, \"{seen}/file\") or die $!'", Refused(SANDBOX)),
    (
        "seen: an attribute",
        "python3",
        "python3 -c 'import os; os.setxattr(\"{seen}/file\", \"user.x\", b\"x\")'",
        Refused(SANDBOX),
    ),
    ("mode by perl", "perl", "perl -e 'chmod(0777, \"{dir}/outside/file\") or die $!'", Refused("")),
];

pub(in super::super) const CONFINED: &[Attack] = &[
    ("change an owner outside", "", "chown 65533 {dir}/outside/file", Refused("")),
    ("seen: another owner", "", "chown 65533 {seen}/file", Refused(SANDBOX)),
    ("seen: never changed again", "chattr", "chattr +i {seen}/file", Refused(SANDBOX)),
    ("the null device by its path", "", "chmod 666 /dev/null", Refused("Read-only")),
    ("the null device by input", "", "chmod 666 /proc/self/fd/0", Refused(SANDBOX)),
    (
        "the null device by a handle",
        "python3",
        "python3 -c 'import os; os.fchmod(0, 0o666)'",
        Refused(SANDBOX),
    ),
    ("the null device's time", "python3", "python3 -c 'import os; os.utime(0)'", Refused(SANDBOX)),
    ("the null device's owner", "python3", "python3 -c 'import os; os.fchown(0, 0, 0)'", Refused(SANDBOX)),
    ("another device's mode", "", "chmod 666 /dev/zero", Refused("Read-only")),
];
