//! To reach servers of the machine, by every kind of socket.

use super::Attack;
use super::End::Refused;

const ALONE: &str = "a loopback of their own";

pub(in super::super) const HARMLESS: &[Attack] = &[
    ("bash and /dev/tcp", "bash", "bash -c 'echo > /dev/tcp/127.0.0.1/{tcp}'", Refused(ALONE)),
    ("curl", "curl", "curl -sS --max-time 5 http://127.0.0.1:{tcp}/", Refused(ALONE)),
    ("curl by a name", "curl", "curl -sS --max-time 5 http://localhost:{tcp}/", Refused(ALONE)),
    ("curl over IPv6", "curl", "curl -sS --max-time 5 http://[::1]:{tcp6}/", Refused("exit code 7")),
    ("curl by a socket's path", "curl", "curl -sS --max-time 5 --unix-socket {unix} http://x/", Refused("")),
    (
        "python over TCP",
        "python3",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {tcp}), 5)'",
        Refused(ALONE),
    ),
    (
        "python over IPv6",
        "python3",
        "python3 -c 'import socket; socket.create_connection((\"::1\", {tcp6}), 5)'",
        Refused(ALONE),
    ),
    (
        "IPv4 by IPv6",
        "python3",
        "python3 -c 'import socket; socket.create_connection((\"::ffff:127.0.0.1\", {tcp}), 5)'",
        Refused(ALONE),
    ),
    (
        "another name of loopback",
        "python3",
        "python3 -c 'import socket; socket.create_connection((\"127.9.9.9\", {tcp}), 5)' || curl -sS --max-time 5 http://0.0.0.0:{tcp}/",
        Refused(ALONE),
    ),
    (
        "python over UDP",
        "python3",
        "python3 -c 'import socket as s; u = s.socket(s.AF_INET, s.SOCK_DGRAM); u.settimeout(2); u.connect((\"127.0.0.1\", {udp})); u.send(b\"x\"); u.recv(9)'",
        Refused(ALONE),
    ),
    (
        "a socket's path",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"{unix}\")'",
        Refused("No such file"),
    ),
    (
        "a socket's path in other words",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"/proc/self/root{unix}\")'",
        Refused("No such file"),
    ),
    (
        "an abstract socket",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"\\0{abstract}\")'",
        Refused(ALONE),
    ),
    (
        "datagrams to a path",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b\"x\", \"{datagram}\")'",
        Refused("No such file"),
    ),
    (
        "datagrams to a name",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b\"x\", \"\\0{nameless}\")'",
        Refused(ALONE),
    ),
    (
        "a message from a pair of sockets",
        "python3",
        "python3 -c 'import socket as s; a, b = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); a.sendmsg([b\"x\"], [], 0, \"{datagram}\")'",
        Refused("No such file"),
    ),
    (
        "packets in order",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_SEQPACKET).connect(\"{packets}\")'",
        Refused("No such file"),
    ),
    (
        "the terminals of tmux",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"{tmux}\")'",
        Refused("No such file"),
    ),
    (
        "seen: a server",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"{listening}\")'",
        Refused(""),
    ),
    (
        "seen: a server of datagrams",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b\"x\", \"{taking}\")'",
        Refused(""),
    ),
    (
        "seen: a server by a relative path",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"{relative}\")'",
        Refused(""),
    ),
];

pub(in super::super) const CONFINED: &[Attack] = &[
    (
        "a bus",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"/run/dbus/system_bus_socket\")'",
        Refused(""),
    ),
    (
        "docker",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"/var/run/docker.sock\")'",
        Refused(""),
    ),
    (
        "the log",
        "python3",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_DGRAM).connect(\"/dev/log\")'",
        Refused(""),
    ),
    ("an agent of keys", "ssh-add", "SSH_AUTH_SOCK={unix} ssh-add -l", Refused("agent")),
    ("terminals of tmux by tmux", "tmux", "tmux -S {tmux} ls", Refused("")),
    ("an address outside", "bash", "timeout 5 bash -c 'echo > /dev/tcp/192.0.2.1/9'", Refused("no network")),
    (
        "a name outside",
        "python3",
        "python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 9)'",
        Refused("no network"),
    ),
    ("the network of the machine", "ip", "ip -o link | grep -v LOOPBACK", Refused("")),
    ("a new interface", "ip", "ip link add x type dummy", Refused("")),
];
