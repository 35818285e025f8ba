//! A network that fails: what is between a worker and its database.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How a network is just now.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Network {
    Works,
    /// Each piece is late.
    Slow,
    /// Nothing goes through, and nobody is told.
    Silent,
    /// Connections are closed, and new ones with them.
    Closed,
    /// Connections are closed in the middle of what is sent next.
    Cuts,
}

/// A way to a database by a port of 127.0.0.1.
pub(crate) struct Proxy {
    state: Arc<State>,
    port: u16,
}

struct State {
    network: AtomicU8,
    /// Connections that were closed by it.
    closed: AtomicU64,
}

impl Proxy {
    /// To the socket of this database.
    pub(crate) fn to(socket: PathBuf) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { network: AtomicU8::new(0), closed: AtomicU64::new(0) });
        let shared = Arc::clone(&state);
        // Ends with the process of the tests.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (state, socket) = (Arc::clone(&shared), socket.clone());
                thread::spawn(move || connect(&state, &client, &socket));
            }
        });
        Proxy { state, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?connect_timeout=2", self.port)
    }

    pub(crate) fn set(&self, network: Network) {
        self.state.network.store(network as u8, Ordering::SeqCst);
    }

    /// How many connections it has closed.
    pub(crate) fn closed(&self) -> u64 {
        self.state.closed.load(Ordering::SeqCst)
    }
}

fn connect(state: &Arc<State>, client: &TcpStream, socket: &PathBuf) {
    let Ok(server) = UnixStream::connect(socket) else { return };
    client.set_nodelay(true).ok();
    let (client_in, client_out) = (client.try_clone().unwrap(), client.try_clone().unwrap());
    let (server_in, server_out) = (server.try_clone().unwrap(), server.try_clone().unwrap());
    let there = Arc::clone(state);
    // Woken now and then, to see how the network is.
    client.set_read_timeout(Some(TICK)).unwrap();
    server.set_read_timeout(Some(TICK)).unwrap();
    // Whichever direction ends, both do.
    let ended = |client: &TcpStream, server: &UnixStream| {
        client.shutdown(Shutdown::Both).ok();
        server.shutdown(Shutdown::Both).ok();
    };
    let both = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let pumped = thread::spawn(move || {
        pump(&there, client_in, server_out);
        ended(&both.0, &both.1);
    });
    pump(state, server_in, client_out);
    ended(client, &server);
    pumped.join().ok();
}

const TICK: Duration = Duration::from_millis(20);

fn pump(state: &State, mut from: impl Read, mut to: impl Write) {
    let is = |network: Network| state.network.load(Ordering::SeqCst) == network as u8;
    let mut piece = [0; 16 << 10];
    loop {
        if is(Network::Closed) {
            state.closed.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if is(Network::Silent) {
            thread::sleep(TICK);
            continue;
        }
        let count = match from.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                continue;
            }
            Err(_) => return,
        };
        if is(Network::Cuts) {
            to.write_all(&piece[..count / 2]).ok();
            state.closed.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if is(Network::Slow) {
            thread::sleep(TICK);
        }
        if to.write_all(&piece[..count]).is_err() {
            return;
        }
    }
}
