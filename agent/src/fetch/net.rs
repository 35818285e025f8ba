//! One exchange: a request to a host whose addresses are checked already, and its reply, of which the body is still to come.
//!
//! Apart because it is the only file here that connects. A host is looked up once, by whoever decides; the connection goes
//! to the addresses that were found then, and to no other. It knows no proxy, keeps no cookie and has no key.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::policy::Target;
use crate::provider::{innermost, look_up};

const CONNECT: Duration = Duration::from_secs(10);

/// What text is asked for.
const ACCEPTED: &str = "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5";

/// What comes, later.
pub(super) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A body in pieces; an error is in words.
pub(super) type Body = Pin<Box<dyn Stream<Item = Result<Bytes, String>>>>;

/// Where pages come from: the network, or a script.
pub(super) trait Net: Send + Sync {
    /// The addresses of a host.
    fn look_up<'a>(&'a self, host: &'a str) -> Later<'a, io::Result<Vec<IpAddr>>>;

    /// Asks the host at one of these addresses; an error is in words.
    fn get<'a>(&'a self, target: &'a Target, addresses: &'a [IpAddr]) -> Later<'a, Result<Reply, String>>;
}

/// The head of a reply, and its body.
pub(super) struct Reply {
    pub status: u16,
    pub content_type: String,
    pub content_encoding: String,
    pub location: Option<String>,
    /// How long the body is, where that is told.
    pub length: Option<u64>,
    pub body: Body,
}

/// The network.
pub(super) struct Internet;

impl Net for Internet {
    fn look_up<'a>(&'a self, host: &'a str) -> Later<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(look_up(host))
    }

    fn get<'a>(&'a self, target: &'a Target, addresses: &'a [IpAddr]) -> Later<'a, Result<Reply, String>> {
        let addresses = addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        Box::pin(exchange(target.url.clone(), addresses))
    }
}

/// Asks for a page at one of these addresses.
pub(super) async fn exchange(url: Url, addresses: Vec<SocketAddr>) -> Result<Reply, String> {
    let client = client(&url, addresses.clone()).map_err(|error| innermost(&error))?;
    let reply = client.get(url).send().await.map_err(|error| innermost(&error))?;
    let peer = reply.remote_addr().map(|peer| peer.ip().to_canonical());
    if !peer.is_some_and(|peer| addresses.iter().any(|address| address.ip().to_canonical() == peer)) {
        return Err("the connection went to another address than the one that was checked".to_owned());
    }
    let header = |name: HeaderName| text(reply.headers(), &name);
    Ok(Reply {
        status: reply.status().as_u16(),
        content_type: header(CONTENT_TYPE).unwrap_or_default(),
        content_encoding: encodings(reply.headers()),
        location: header(LOCATION),
        length: reply.content_length(),
        body: Box::pin(reply.bytes_stream().map(|piece| piece.map_err(|error| innermost(&error)))),
    })
}

/// A client of this one request.
fn client(url: &Url, addresses: Vec<SocketAddr>) -> reqwest::Result<Client> {
    // Fails only when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, ACCEPTED.parse().expect("a constant"));
    headers.insert(ACCEPT_ENCODING, "gzip".parse().expect("a constant"));
    let mut client = Client::builder()
        .connect_timeout(CONNECT)
        .dns_resolver(Pinned(addresses))
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .pool_max_idle_per_host(0)
        .default_headers(headers)
        .user_agent(concat!("uwf-builtin/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        // Nothing to verify: reading the system's certificates takes longer than many an answer.
        client = client.tls_certs_only([]);
    }
    client.build()
}

/// A header as text; none where it is none.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// All the ways in which a body is packed.
fn encodings(headers: &HeaderMap) -> String {
    let all = headers.get_all(CONTENT_ENCODING).iter().map(|value| value.to_str().unwrap_or("?"));
    all.collect::<Vec<_>>().join(", ")
}

/// Knows the addresses that were checked, for whatever name.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(async move { Ok(addresses) })
    }
}
