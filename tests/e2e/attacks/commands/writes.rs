//! To change what is outside: some of it succeeds on what commands have of their own, and changes nothing outside.

use super::Attack;
use super::End::{Own, Refused};

const SANDBOX: &str = "(sandbox: ";
const WRITES: &str = "commands write only the workspace and $TMPDIR";
const ABSENT: &str = "is not shown to commands";

pub(in super::super) const HARMLESS: &[Attack] = &[
    ("write the home", "", "echo x > $HOME/new-1", Own("{dir}/home/new-1")),
    ("append to .bashrc", "", "echo x >> ~/.bashrc", Own("{dir}/home/.bashrc")),
    ("remove .bashrc", "", "rm -f ~/.bashrc", Own("{dir}/home/.bashrc")),
    ("a directory in the home", "", "mkdir ~/new-5", Own("{dir}/home/new-5")),
    ("a link in the home", "", "ln -s /etc ~/new-6", Own("{dir}/home/new-6")),
    (
        "a key that may log in",
        "",
        "mkdir -p ~/.ssh && echo x > ~/.ssh/authorized_keys",
        Own("{dir}/home/.ssh/authorized_keys"),
    ),
    (
        "a program of one's own",
        "",
        "mkdir -p ~/.local/bin && echo x > ~/.local/bin/git",
        Own("{dir}/home/.local"),
    ),
    (
        "a service of the user",
        "",
        "mkdir -p ~/.config/systemd/user && echo x > ~/.config/systemd/user/x.service",
        Own("{dir}/home/.config"),
    ),
    (
        "what starts with the desktop",
        "",
        "mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/x.desktop",
        Own("{dir}/home/.config"),
    ),
    ("git's settings for all", "git", "git config --global core.pager x", Own("{dir}/home/.gitconfig")),
    ("write beside the workspace", "", "echo x > ../new-2", Own("{dir}/new-2")),
    ("write /tmp", "", "echo x > {dir}/new-3", Own("{dir}/new-3")),
    ("make a directory", "", "mkdir {dir}/outside/new-4", Refused(ABSENT)),
    ("remove a file", "", "rm {dir}/outside/dir/file", Refused(ABSENT)),
    ("truncate a file", "", "truncate -s 1 {dir}/outside/file", Refused(ABSENT)),
    ("move a file in", "", "mv {dir}/work-2/file mine", Refused(ABSENT)),
    ("move a file out", "", "echo x > m-1; mv m-1 {dir}/outside/out", Refused(ABSENT)),
    ("rename outside", "", "mv {dir}/outside/dir {dir}/outside/renamed", Refused(ABSENT)),
    ("hard link in", "", "ln {dir}/outside/file hard-in", Refused(ABSENT)),
    ("hard link out", "", "echo x > h; ln h {dir}/outside/hard-out", Refused(ABSENT)),
    ("a symbolic link outside", "", "ln -s x {dir}/outside/link", Refused(ABSENT)),
    ("write through a symbolic link", "", "ln -s {dir}/outside/by-link l; echo x > l", Refused("")),
    ("write through /proc", "", "echo x > /proc/self/root{dir}/outside/by-proc", Refused("No such file")),
    (
        "write through a directory's handle",
        "",
        "exec 3<{dir}/outside; echo x > /proc/self/fd/3/by-handle",
        Refused(SANDBOX),
    ),
    ("a FIFO outside", "mkfifo", "mkfifo {dir}/outside/fifo", Refused(ABSENT)),
    ("seen: overwrite", "", "echo x > {seen}/file", Refused(WRITES)),
    ("seen: append", "", "echo x >> {seen}/file", Refused(WRITES)),
    ("seen: a new file", "", "echo x > {seen}/new", Refused(WRITES)),
    ("seen: make a directory", "", "mkdir {seen}/new-dir", Refused(WRITES)),
    ("seen: a symbolic link", "", "ln -s x {seen}/link", Refused(WRITES)),
    ("seen: a FIFO", "mkfifo", "mkfifo {seen}/fifo", Refused(WRITES)),
    ("seen: a hard link in", "", "ln {seen}/file hard-seen", Refused(SANDBOX)),
    ("seen: a hard link out", "", "echo x > h-2; ln h-2 {seen}/hard", Refused(SANDBOX)),
    ("seen: copy over", "", "cp a {seen}/file", Refused(WRITES)),
    ("seen: copy with dd", "dd", "dd if=a of={seen}/file conv=notrunc status=none", Refused(WRITES)),
    ("seen: edit in place", "sed", "sed -i s/u/x/ {seen}/file", Refused(SANDBOX)),
    ("seen: unpack there", "tar", "tar cf t.tar a && tar xf t.tar -C {seen}", Refused("")),
    (
        "seen: write by a handle for reading",
        "",
        "exec 3<{seen}/file; echo x > /proc/self/fd/3",
        Refused(SANDBOX),
    ),
    ("seen: write below a handle", "", "exec 3<{seen}; echo x > /proc/self/fd/3/by-handle", Refused(SANDBOX)),
    ("seen: write by the root of a process", "", "echo x > /proc/self/root{seen}/by-root", Refused(SANDBOX)),
    ("seen: write by a path of links", "", "ln -s {seen} s; echo x > s/by-link", Refused("")),
    ("seen: allocate", "fallocate", "fallocate -l 9 {seen}/file", Refused(WRITES)),
    (
        "seen: map for writing",
        "python3",
        "python3 -c 'import mmap; f = open(\"{seen}/file\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[:1] = b\"x\"'",
        Refused(SANDBOX),
    ),
    (
        "seen: open for writing and nothing",
        "python3",
        "python3 -c 'import os; os.open(\"{seen}/file\", os.O_RDWR)'",
        Refused(SANDBOX),
    ),
    (
        "seen: a file without a name",
        "python3",
        "python3 -c 'import os; os.open(\"{seen}\", os.O_TMPFILE | os.O_RDWR)'",
        Refused(SANDBOX),
    ),
    ("seen: install", "install", "install -m 755 a {seen}/installed", Refused(SANDBOX)),
    ("seen: a repository", "git", "git init -q {seen}/repository", Refused(SANDBOX)),
    // What is moved or removed comes last.
    ("seen: move in", "", "mv {seen}/dir/file mine-2", Refused(SANDBOX)),
    ("seen: move out", "", "echo x > m-2; mv m-2 {seen}/out", Refused(SANDBOX)),
    ("seen: rename", "", "mv {seen}/dir {seen}/renamed", Refused(SANDBOX)),
    ("seen: remove", "", "rm {seen}/file", Refused(WRITES)),
];

pub(in super::super) const CONFINED: &[Attack] = &[
    ("write /etc", "", "echo x > /etc/uwf-attacks-probe", Refused(SANDBOX)),
    ("write /usr", "", "mkdir /usr/uwf-attacks-probe", Refused(SANDBOX)),
    ("write /", "", "mkdir /uwf-attacks-probe", Refused(SANDBOX)),
    ("write /var/tmp", "", "echo x > /var/tmp/uwf-attacks-probe", Own("/var/tmp/uwf-attacks-probe")),
    ("write /var/lib", "", "mkdir /var/lib/uwf-attacks-probe", Refused(SANDBOX)),
    ("write /dev", "", "echo x > /dev/uwf-attacks-probe", Refused(SANDBOX)),
    ("write /opt", "", "mkdir -p /opt/uwf-attacks-probe", Refused(SANDBOX)),
    ("replace the home", "", "mv ~ ~-2", Refused("")),
    ("a link for TMPDIR", "", "rmdir $TMPDIR && ln -s {seen} $TMPDIR", Refused("busy")),
    ("TMPDIR under another name", "", "mv $TMPDIR $TMPDIR-2 && ln -s {seen} $TMPDIR", Refused("")),
    (
        "a link in TMPDIR that is removed with it",
        "",
        "ln -s {seen} $TMPDIR/link; ln -s {dir}/outside $TMPDIR/l-2; false",
        Refused(""),
    ),
    ("the workspace under another name", "", "mv $PWD $PWD-2", Refused("")),
    ("the directory of the run", "", "echo x > $TMPDIR/../view/x", Refused("")),
];
