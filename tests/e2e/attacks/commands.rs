//! What commands try: to write outside, to read secrets, to reach the machine's servers and other processes.
//!
//! Each command ends with 0 when it got what it wanted.

use super::field::{Call, Field, SECRET, by_everybody, command, has, skipped};

/// Name, command, and a word of what the model is told.
type Attack = (&'static str, &'static str, &'static str);

/// Why a write outside fails: the rule and what to do instead.
const WRITES: &str = "commands write only the workspace and $TMPDIR";
const CLOSED: &str = "may hold secrets and is closed to commands";
const REFUSED: &str = "(sandbox: ";
const ALONE: &str = "a loopback of their own";

/// They do no harm: with the sandbox off they succeed.
const HARMLESS: &[Attack] = &[
    ("write the home", "echo x > $HOME/new-1", WRITES),
    ("append to .bashrc", "echo x >> ~/.bashrc", WRITES),
    ("write beside the workspace", "echo x > ../new-2", REFUSED),
    ("write /tmp", "echo x > {dir}/new-3", WRITES),
    ("make a directory", "mkdir {dir}/outside/new-4", WRITES),
    ("remove a file", "rm -f {dir}/outside/dir/file", WRITES),
    ("truncate a file", "truncate -s 1 {dir}/outside/file", WRITES),
    ("move a file in", "mv {dir}/work-2/file mine", REFUSED),
    ("move a file out", "mv a {dir}/outside/out", REFUSED),
    ("rename outside", "mv {dir}/outside/dir {dir}/outside/renamed", REFUSED),
    ("hard link in", "ln {dir}/outside/file hard-in", WRITES),
    ("hard link out", "echo x > h; ln h {dir}/outside/hard-out", REFUSED),
    ("a symbolic link outside", "ln -s x {dir}/outside/link", WRITES),
    ("write through a symbolic link", "ln -s {dir}/outside/by-link l; echo x > l", REFUSED),
    ("write through /proc", "echo x > /proc/self/root{dir}/outside/by-proc", REFUSED),
    (
        "write through a directory's handle",
        "exec 3<{dir}/outside; echo x > /proc/self/fd/3/by-handle",
        REFUSED,
    ),
    ("change the mode outside", "chmod 777 {dir}/outside/file", WRITES),
    ("change the time outside", "touch -d 2001-01-01 {dir}/outside/file", WRITES),
    ("change the home's mode", "chmod 777 ~", WRITES),
    ("change the mode of keys", "chmod 777 ~/.ssh ~/.ssh/id", CLOSED),
    ("change the mode by /proc", "chmod 777 /proc/self/root{dir}/outside/file", REFUSED),
    ("a FIFO outside", "mkfifo {dir}/outside/fifo", REFUSED),
    ("read an ssh key", "cat ~/.ssh/id", CLOSED),
    ("read .netrc", "cat ~/.netrc", CLOSED),
    ("read the config", "cat ~/.uwf/notes", CLOSED),
    ("read the store", "cat ~/.ocas/notes", CLOSED),
    ("archive the keys", "tar cf - -C ~ .ssh | grep -aq id", REFUSED),
    ("copy the keys", "cp -r ~/.ssh keys && cat keys/id && rm -r keys", CLOSED),
    ("read a key by a link", "ln -s ~/.ssh/id key; cat key", REFUSED),
    ("read a key by a hard link", "ln ~/.ssh/id key-2 && rm key-2", CLOSED),
    ("read a key through /proc", "cat /proc/self/root$HOME/.ssh/id", REFUSED),
    ("read a key from elsewhere", "cd ~/.ssh && cat id", REFUSED),
    ("bash and /dev/tcp", "bash -c 'echo > /dev/tcp/127.0.0.1/{tcp}'", ALONE),
    ("signal the agent", "kill -CONT $PPID", REFUSED),
];

/// The same, by other programs.
const BY_PROGRAMS: &[(&str, Attack)] = &[
    (
        "python3",
        (
            "chmod by its handle",
            "python3 -c 'import os; os.fchmod(os.open(\"{dir}/outside/file\", 0), 0o777)'",
            REFUSED,
        ),
    ),
    ("perl", ("chmod by perl", "perl -e 'chmod(0777, \"{dir}/outside/file\") or die $!'", REFUSED)),
    ("curl", ("curl", "curl -sS --max-time 5 http://127.0.0.1:{tcp}/", ALONE)),
    ("curl", ("curl over IPv6", "curl -sS --max-time 5 http://[::1]:{tcp6}/", "exit code 7")),
    (
        "python3",
        (
            "python over TCP",
            "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {tcp}), 5)'",
            ALONE,
        ),
    ),
    (
        "python3",
        (
            "python over IPv6",
            "python3 -c 'import socket; socket.create_connection((\"::1\", {tcp6}), 5)'",
            ALONE,
        ),
    ),
    (
        "python3",
        (
            "python over UDP",
            "python3 -c 'import socket as s; u = s.socket(s.AF_INET, s.SOCK_DGRAM); u.settimeout(2); u.connect((\"127.0.0.1\", {udp})); u.send(b\"x\"); u.recv(9)'",
            ALONE,
        ),
    ),
    (
        "python3",
        (
            "a socket's path",
            "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"{unix}\")'",
            "AF_UNIX",
        ),
    ),
    (
        "python3",
        (
            "an abstract socket",
            "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"\\0{abstract}\")'",
            "AF_UNIX",
        ),
    ),
    (
        "python3",
        (
            "a message from a pair of sockets",
            "python3 -c 'import socket as s; a, b = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)'",
            REFUSED,
        ),
    ),
];

/// Confined only: what they want is not to be had, or must not be.
const CONFINED: &[Attack] = &[
    ("change an owner outside", "chown 65533 {dir}/outside/file", REFUSED),
    ("write /etc", "echo x > /etc/uwf-attacks-probe", REFUSED),
    ("write /usr", "mkdir /usr/uwf-attacks-probe", REFUSED),
    ("write /var/tmp", "echo x > /var/tmp/uwf-attacks-probe", REFUSED),
    ("write the kernel's settings", ": >> /proc/sys/kernel/core_pattern", REFUSED),
    ("the agent's environment", "cat /proc/$PPID/environ", REFUSED),
    ("the agent's memory", "head -c 1 /proc/$PPID/mem", REFUSED),
    ("the agent's handles", "cat /proc/$PPID/fd/*", REFUSED),
    ("the agent's directory", "cat /proc/$PPID/root$HOME/.ssh/id", REFUSED),
    ("end the agent", "kill -TERM $PPID", REFUSED),
    ("stop by_everybody", "kill -STOP $PPID", REFUSED),
    ("the agent's limits", "prlimit --pid $PPID --nofile=3", REFUSED),
    ("any environment", "grep -aqs 'KE''Y=local-' /proc/[0-9]*/environ", "exit code"),
    ("print the environment", "env | grep local-''key", "exit code 1"),
    ("the key by its name", "printenv UWF_API_KEY", "exit code 1"),
    ("the shell's own environment", "grep -a local-''key /proc/self/environ", "exit code 1"),
    ("a namespace of one's own", "unshare -Ur true", REFUSED),
    ("mount", "mount -t tmpfs none .", "exit code"),
    ("a device", "mknod disk b 254 0", REFUSED),
    ("the machine's passwords", "cat /etc/shadow", REFUSED),
    ("the kernel's log", "head -c 1 /dev/kmsg", "exit code"),
    ("a disk", "head -c 1 /dev/vda", "exit code"),
    ("enter another namespace", "nsenter -t 1 -m true", "exit code"),
];

/// System calls by number, in Python; told by the exception.
const CALLS: &[(&str, &str)] = &[
    ("ptrace", "101, 16, os.getppid(), 0, 0"),
    ("io_uring", "425, 4, 0, 0, 0"),
    ("process_vm_readv", "310, os.getppid(), 0, 0, 0"),
    ("pidfd_getfd", "438, 3, 0, 0, 0"),
    ("a raw socket", "41, 2, 3, 1, 0"),
    ("a packet socket", "41, 17, 3, 0, 0"),
    ("a vsock", "41, 40, 1, 0, 0"),
    ("bpf", "321, 0, 0, 0, 0"),
    ("keyctl", "250, 0, 0, 0, 0"),
    ("open_by_handle_at", "304, 0, 0, 0, 0"),
];

fn system_calls() -> Vec<(String, String)> {
    if !has("python3") || std::env::consts::ARCH != "x86_64" {
        skipped("attacks by the numbers of system calls", "python3 on x86_64");
        return Vec::new();
    }
    let program = |arguments: &str| {
        format!(
            "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); r = c.syscall({arguments}); e = ctypes.get_errno(); print(r, os.strerror(e)); exit(r < 0)'"
        )
    };
    CALLS.iter().map(|(name, arguments)| ((*name).to_owned(), program(arguments))).collect()
}

/// Both tables of what does no harm, as far as the programs are here.
fn harmless() -> Vec<Attack> {
    let (here, missing): (Vec<_>, Vec<&(&str, Attack)>) =
        BY_PROGRAMS.iter().partition(|(program, _)| has(program));
    missing.iter().for_each(|(program, attack)| skipped(attack.0, program));
    HARMLESS.iter().copied().chain(here.into_iter().map(|(_, attack)| *attack)).collect()
}

fn calls(field: &Field, attacks: &[Attack]) -> Vec<Call> {
    let (here, missing): (Vec<&Attack>, Vec<&Attack>) =
        attacks.iter().partition(|(_, text, _)| field.reaches(text));
    missing.iter().for_each(|(name, ..)| skipped(name, "IPv6 on loopback"));
    here.iter().map(|(name, text, _)| command(name, &field.fill(text))).collect()
}

#[test]
fn commands_neither_leave_nor_learn_nor_reach() {
    by_everybody(|who| {
        let field = Field::new(who);
        let attacks = [&harmless(), CONFINED].concat();
        let mut calls = calls(&field, &attacks);
        calls.extend(system_calls().iter().map(|(name, text)| command(name, text)));
        let before = field.outside();
        let answers = field.run(&calls, &[]);
        let mut broken = Vec::new();
        for (id, answer) in &answers.texts {
            let told = attacks.iter().find(|(name, ..)| name == id).map_or(REFUSED, |(.., told)| told);
            if answer.succeeded() || !answer.text.contains(told) {
                broken.push(format!("{who:?}: {id}: expected {told:?}: {}", answer.text));
            }
        }
        assert!(broken.is_empty(), "{}", broken.join("\n\n"));
        assert_eq!(answers.texts.len(), calls.len());
        assert_eq!(field.outside(), before);
        assert_eq!(field.visits(), 0, "no server of the machine was reached");
        field.assert_kept_secret(&answers);
        for probe in ["/etc/uwf-attacks-probe", "/usr/uwf-attacks-probe", "/var/tmp/uwf-attacks-probe"] {
            assert!(!std::path::Path::new(probe).exists(), "{probe}");
        }
    });
}

#[test]
fn with_the_sandbox_off_the_harmless_ones_succeed() {
    let field = Field::new(super::field::Who::Me);
    let attacks = harmless();
    let before = field.outside();
    let answers = field.run(&calls(&field, &attacks), &["--sandbox", "off"]);
    let failed: Vec<_> = answers.texts.iter().filter(|(_, answer)| !answer.succeeded()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(answers.texts["read an ssh key"].text.contains(SECRET));
    assert!(field.visits() >= 3 && field.outside() != before);
}
