//! The network: the host's is out of reach by every way, the own loopback works.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use super::*;

/// Servers of the host.
struct Host {
    tcp: TcpListener,
    udp: UdpSocket,
    v6: Option<TcpListener>,
}

impl Host {
    fn new() -> Host {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        Host { tcp: TcpListener::bind("127.0.0.1:0").unwrap(), udp, v6: TcpListener::bind("[::1]:0").ok() }
    }

    /// A Python program that tries them all, and says which it reached.
    fn client(&self, unix: &Path) -> String {
        let port = |server: &TcpListener| server.local_addr().unwrap().port();
        format!(
            "import socket as s\nreached = []\n\
             def attempt(name, f):\n    try:\n        f(); reached.append(name)\n    except OSError as e: print(name, e)\n\
             def udp():\n    u = s.socket(s.AF_INET, s.SOCK_DGRAM); u.sendto(b'x', ('127.0.0.1', {udp}))\n\
             def message():\n    u = s.socket(s.AF_INET, s.SOCK_DGRAM); u.sendmsg([b'x'], [], 0, ('127.0.0.1', {udp}))\n\
             def unix(path):\n    u = s.socket(s.AF_UNIX); u.connect(path)\n\
             def pair():\n    a, b = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); a.sendto(b'x', {unix:?})\n\
             attempt('tcp', lambda: s.create_connection(('127.0.0.1', {tcp}), 2))\n\
             attempt('tcp6', lambda: s.create_connection(('::1', {v6}), 2))\n\
             attempt('outside', lambda: s.create_connection(('192.0.2.1', 80), 2))\n\
             attempt('unix', lambda: unix({unix:?}))\nattempt('abstract', lambda: unix('\\0uwf-test-{tcp}'))\n\
             attempt('vsock', lambda: s.socket(40))\nattempt('packet', lambda: s.socket(17, s.SOCK_RAW))\n\
             attempt('datagram pair', pair)\nattempt('udp', udp)\nattempt('message', message)\n\
             a, b = s.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n",
            tcp = port(&self.tcp),
            v6 = self.v6.as_ref().map_or(9, port),
            udp = self.udp.local_addr().unwrap().port(),
        )
    }

    fn received(&self) -> bool {
        self.udp.recv(&mut [0; 8]).is_ok()
    }
}

#[test]
fn nothing_of_the_host_is_reached() {
    if !has("python3") {
        return;
    }
    for namespaces in [true, false] {
        let level = if namespaces { Level::Strict } else { Level::BestEffort };
        let fixture = SandboxFixture::with(|policy| Policy { namespaces, level, ..policy });
        let host = Host::new();
        let unix = fixture.path("elsewhere/socket");
        let _unix = UnixListener::bind(&unix).unwrap();
        let program = host.client(&unix);
        // A datagram into one's own network is sent, and arrives nowhere.
        let reached = if namespaces { "['udp', 'message']" } else { "[]" };
        fixture.python(&format!("{program}assert reached == {reached}, reached"));
        assert!(!host.received());
    }
}

#[test]
fn an_open_network_reaches_the_host_and_still_no_local_sockets() {
    if !has("python3") {
        return;
    }
    let fixture = SandboxFixture::with(|policy| Policy { network: true, ..policy });
    let host = Host::new();
    let unix = fixture.path("elsewhere/socket");
    let _unix = UnixListener::bind(&unix).unwrap();
    let program = host.client(&unix);
    fixture.python(&format!(
        "{program}assert 'tcp' in reached and 'udp' in reached, reached\n\
         assert not {{'unix', 'abstract', 'vsock', 'packet', 'datagram pair'}} & set(reached), reached"
    ));
    assert!(host.received());
}

/// A server that one command leaves running is reached by the next.
#[test]
fn the_own_loopback_works_and_is_shared_by_the_commands_of_a_run() {
    if !has("python3") {
        return;
    }
    let fixture = SandboxFixture::new();
    fixture.works("python3 -m http.server 8765 --bind 127.0.0.1 >log 2>&1 &");
    fixture.python(
        "import time, urllib.request\nfor attempt in range(100):\n    try:\n        \
         text = urllib.request.urlopen('http://127.0.0.1:8765/a').read(); break\n    \
         except OSError: time.sleep(0.1)\nassert text == b'a\\n'\n",
    );
    // Another run has another network.
    let other = SandboxFixture::new();
    other.python(
        "import socket\ntry: socket.create_connection(('127.0.0.1', 8765), 2)\nexcept OSError: pass\nelse: raise SystemExit('reached')",
    );
}

#[test]
fn a_failure_for_want_of_a_network_is_explained() {
    if !has("python3") {
        return;
    }
    let fixture = SandboxFixture::new();
    let text = fixture.fails("python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80))\"");
    assert!(text.contains("Network is unreachable") && text.contains("--allow-network"), "{text}");
}
