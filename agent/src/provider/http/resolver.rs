//! The addresses of a host, looked up by the system in a thread of its own.
//!
//! Apart because the HTTP client's own look-up panics where the system has no more threads. Here that is an error like
//! any other of a connection: it is tried again, and then told.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::thread::Builder;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

/// For every HTTP client there is.
pub(crate) struct Resolver {
    thread: fn() -> Builder,
}

impl Resolver {
    pub(crate) fn new() -> Resolver {
        Resolver { thread: Builder::new }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (sender, receiver) = oneshot::channel();
        let host = name.as_str().to_owned();
        // Nobody waits when the run has ended meanwhile. The port is that of the URL.
        let look_up = move || drop(sender.send((name.as_str(), 0).to_socket_addrs()));
        let started = (self.thread)().name("resolver".to_owned()).spawn(look_up);
        Box::pin(async move {
            let failed = |error: io::Error| io::Error::other(format!("no thread to look up {host}: {error}"));
            started.map_err(failed)?;
            let found =
                receiver.await.map_err(|_| io::Error::other(format!("{host} was not looked up")))??;
            Ok(Box::new(found) as Addrs)
        })
    }
}

/// The addresses of a host, each once.
///
/// # Errors
/// It is no name, or has none, or nobody can be asked.
pub(crate) async fn look_up(host: &str) -> io::Result<Vec<IpAddr>> {
    let name: Name = host.parse().map_err(io::Error::other)?;
    let mut addresses = Vec::new();
    for found in Resolver::new().resolve(name).await.map_err(io::Error::other)? {
        if !addresses.contains(&found.ip()) {
            addresses.push(found.ip());
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(thread: fn() -> Builder) -> Result<Vec<String>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found = runtime.block_on(Resolver { thread }.resolve("localhost".parse().unwrap()));
        found.map(|found| found.map(|it| it.ip().to_string()).collect()).map_err(|error| error.to_string())
    }

    /// No system has room for such a stack: the thread cannot be made.
    #[test]
    fn a_host_is_found_and_without_a_thread_it_is_told_that_there_is_none() {
        let found = resolve(Builder::new).unwrap();
        assert!(found.iter().any(|it| it == "127.0.0.1" || it == "::1"), "{found:?}");
        let error = resolve(|| Builder::new().stack_size(1 << 60)).unwrap_err();
        assert!(error.starts_with("no thread to look up localhost: "), "{error}");
    }
}
