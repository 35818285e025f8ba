//! A network for tests: names with the addresses that a test says, one server for all that is outside, and one for all that
//! is inside, which nobody should ever reach.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::address::{AddressKind, kind};
use super::net::{Later, Net, Reply, exchange};
use super::policy::Target;

/// What the inside says.
pub(super) const INSIDE: &str = "the secret of the inside";

/// Somewhere outside.
const OUTSIDE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 215, 14));

/// Answers a request for a path.
pub(super) type Answer = fn(path: &str, stream: &mut TcpStream) -> io::Result<()>;

#[derive(Clone)]
pub(super) struct StandIn(Arc<Inner>);

struct Inner {
    outside: SocketAddr,
    inside: SocketAddr,
    /// Each answer of a name in turn; the last one repeats.
    names: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    reached: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl StandIn {
    pub(super) fn new(answer: Answer) -> StandIn {
        let (reached, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (hits, requests) = (Arc::clone(&reached), Arc::clone(&asked));
        let inside = serve(move |_, stream| {
            hits.fetch_add(1, Ordering::SeqCst);
            respond(stream, "200 OK", "content-type: text/plain\r\n", INSIDE.as_bytes())
        });
        let outside = serve(move |request, stream| {
            requests.lock().unwrap().push(request.to_owned());
            answer(request.split(' ').nth(1).unwrap_or_default(), stream)
        });
        StandIn(Arc::new(Inner { outside, inside, names: Mutex::default(), reached, asked }))
    }

    /// The name has these addresses when it is looked up next.
    pub(super) fn name(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        self.0.names.lock().unwrap().entry(name.to_owned()).or_default().push_back(addresses);
    }

    /// How often somebody came inside.
    pub(super) fn reached(&self) -> usize {
        self.0.reached.load(Ordering::SeqCst)
    }

    /// The heads of the requests outside.
    pub(super) fn asked(&self) -> Vec<String> {
        self.0.asked.lock().unwrap().clone()
    }
}

impl Net for StandIn {
    fn look_up<'a>(&'a self, host: &'a str) -> Later<'a, io::Result<Vec<IpAddr>>> {
        let mut names = self.0.names.lock().unwrap();
        let answers = names.get_mut(host);
        let answer =
            answers.and_then(
                |answers| if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() },
            );
        Box::pin(async move { Ok(answer.unwrap_or_else(|| vec![OUTSIDE])) })
    }

    fn get<'a>(&'a self, target: &'a Target, addresses: &'a [IpAddr]) -> Later<'a, Result<Reply, String>> {
        // What is public is the server outside, whatever the port, with TLS or without.
        let is_outside = addresses.iter().all(|address| kind(*address) == AddressKind::Public);
        let mut url = target.url.clone();
        url.set_scheme("http").unwrap();
        url.set_host(Some("stand-in.test")).unwrap();
        url.set_port(None).unwrap();
        Box::pin(exchange(url, vec![if is_outside { self.0.outside } else { self.0.inside }]))
    }
}

/// A server that ends with the process; each connection has a thread.
fn serve(answer: impl Fn(&str, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, answer) = (listener.local_addr().unwrap(), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            thread::spawn(move || {
                let mut head = String::new();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
                // Whoever asked may have hung up.
                answer(&head, &mut stream).ok();
            });
        }
    });
    address
}

/// A whole reply.
pub(super) fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    )?;
    stream.write_all(body)
}
