//! What a worker has done, for programs that collect numbers: Prometheus text over HTTP/1.1.
//!
//! A request is answered and its connection closed; who is slow, or sends more than a request has, is cut off.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use uwf_fleet::worker::Counts;

use crate::shell::CliError;

/// How long a client may take for all of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many clients are heard at once; more are not accepted for a moment.
const CLIENTS: usize = 8;
/// The longest head of a request.
const HEAD: usize = 8 << 10;
/// How often it is looked whether there is a client, or the end.
const TICK: Duration = Duration::from_millis(20);

/// Where the numbers are asked for.
pub(super) struct Metrics {
    listener: TcpListener,
    address: SocketAddr,
    clients: AtomicUsize,
    is_over: AtomicBool,
}

impl Metrics {
    pub(super) fn listen(address: SocketAddr) -> Result<Metrics, CliError> {
        let listen = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listen().map_err(|error: std::io::Error| {
            CliError::said(format!("cannot serve metrics at {address}"), error)
                .with_hint("`--metrics 0` takes any port that is free")
        })?;
        Ok(Metrics { listener, address, clients: AtomicUsize::new(0), is_over: AtomicBool::new(false) })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until [`Metrics::end`].
    pub(super) fn serve<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, counts: &'scope Counts) {
        while !self.is_over.load(Ordering::Relaxed) {
            if self.clients.load(Ordering::Relaxed) >= CLIENTS {
                thread::sleep(TICK);
                continue;
            }
            let Ok((stream, _)) = self.listener.accept() else {
                thread::sleep(TICK);
                continue;
            };
            self.clients.fetch_add(1, Ordering::Relaxed);
            scope.spawn(move || {
                // Who does not hear the answer asks again.
                answer(&stream, counts).ok();
                self.clients.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn answer(stream: &TcpStream, counts: &Counts) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let until = Instant::now() + PATIENCE;
    let head = head(stream, until)?;
    let mut words = head.split(|byte| byte.is_ascii_whitespace());
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => ("200 OK", counts.to_prometheus()),
        (b"GET" | b"HEAD", _) => ("404 Not Found", "the numbers are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "this is for GET\n".to_owned()),
    };
    let mut reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if method != b"HEAD" {
        reply += &body;
    }
    let mut stream = stream;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(reply.as_bytes())
}

/// The head of a request, or as much as there is of one when it is too long.
fn head(mut stream: &TcpStream, until: Instant) -> std::io::Result<Vec<u8>> {
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    while head.len() < HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&piece[..count]),
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(request).ok();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).ok();
        String::from_utf8(reply).unwrap()
    }

    #[test]
    fn numbers_are_told_whoever_else_asks_what() {
        let metrics = Metrics::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let (address, counts) = (metrics.address(), Counts::default());
        thread::scope(|scope| {
            scope.spawn(|| metrics.serve(scope, &counts));
            let silent: Vec<TcpStream> =
                (0..CLIENTS - 1).map(|_| TcpStream::connect(address).unwrap()).collect();
            let told = ask(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(
                told.starts_with("HTTP/1.1 200 OK\r\n") && told.contains("\nuwf_worker_steps_total 0\n"),
                "{told}"
            );
            let (head, body) = told.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
            let just_head = ask(address, b"HEAD /metrics HTTP/1.1\r\n\r\n");
            assert!(just_head.ends_with("\r\n\r\n") && just_head.contains(" 200 "), "{just_head}");
            assert!(ask(address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
            assert!(ask(address, b"POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
            // More than a head may have, and what is no request.
            ask(address, &[b'x'; 3 * HEAD]);
            ask(address, b"\r\n\r\n");
            drop(silent);
            assert!(ask(address, b"GET /metrics?x=1 HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
            metrics.end();
        });
    }
}
