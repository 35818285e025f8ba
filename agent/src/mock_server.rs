//! A mock script as an OpenAI-compatible endpoint on loopback: the real client, and any other, can be tried against
//! what a script says, faults included.
//!
//! `turns:` are played in order of arrival, and so are `steps:` unless the header `x-uwf-step` tells which one is asked
//! for: all requests of a run get that one, those too that send its answer back. `roles:` reads the header `x-uwf-role`; the requests of a
//! role play its visits one after another, and when they are over its last visit again and again: a server sees
//! requests, not runs, so it cannot know where a visit ends. By turn instead, `turns:` are chosen by how many turns of
//! the model a request holds: one that is sent again gets the same answer. `GET /v1/requests` tells how often
//! each entry was asked for. A request that is not what its entry expects, or comes
//! after the last one, is answered with 400 and the reason.
//!
//! Apart because it is the one thing here that listens. It listens on 127.0.0.1 only and never prints.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::provider::Script;
use crate::provider::http::{ROLE_HEADER, STEP_HEADER};
use crate::provider::script::{BodyEnding, ScriptEntry};
use crate::provider::wires::chat::serve as wire;

type ReplyBody = StreamBody<BoxStream<'static, io::Result<Frame<Bytes>>>>;

/// How long a connection stays open after its last byte before it is cut, so that the bytes get out.
const BEFORE_CUT: Duration = Duration::from_millis(20);

const JSON: &str = "application/json";

/// The server cannot listen.
#[derive(Debug, Error)]
#[error("the mock server cannot listen on 127.0.0.1:{port}")]
pub struct ListenError {
    /// The port asked for; 0 is any.
    pub port: u16,
    /// Why.
    pub source: io::Error,
}

/// A server that is bound and not yet running.
#[derive(Debug)]
pub struct MockServer {
    listener: TcpListener,
    play: Arc<Play>,
}

/// The script, and how far it has been played.
#[derive(Debug)]
struct Play {
    script: Script,
    /// Whether a request's own turns say which entry it gets, rather than its arrival.
    by_turn: bool,
    /// How often each entry was asked for, of each role when the script has roles.
    asked: Mutex<BTreeMap<(Option<String>, usize), usize>>,
}

impl MockServer {
    /// Binds 127.0.0.1; port 0 takes a free one. The address is the one clients connect to.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub fn bind(script: Script, port: u16, by_turn: bool) -> Result<(MockServer, SocketAddr), ListenError> {
        let failed = |source| ListenError { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let play = Arc::new(Play { script, by_turn, asked: Mutex::default() });
        Ok((MockServer { listener, play }, address))
    }

    /// Serves until `shutdown` is ready, then drops the connections there are.
    ///
    /// # Errors
    /// When the listener cannot be used.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let mut connections = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => { connections.spawn(serve(stream, Arc::clone(&self.play))); }
                    // A client that is gone already, or no file descriptor left: the next one may do.
                    Err(_) => tokio::time::sleep(BEFORE_CUT).await,
                },
            }
        }
    }
}

/// The script wants no reply, but the connection reset.
#[derive(Debug, Error)]
#[error("the script resets the connection here")]
struct Reset;

async fn serve(stream: TcpStream, play: Arc<Play>) {
    let answer = move |request| {
        let play = Arc::clone(&play);
        async move { play.answer(request).await }
    };
    let twin = stream.as_fd().try_clone_to_owned().map(std::net::TcpStream::from);
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
    // It fails when a script cuts the connection, or the client does: both are meant.
    if served.is_err_and(|error| error.source().is_some_and(|source| source.is::<Reset>()))
        && let Ok(twin) = twin.and_then(TcpStream::from_std)
    {
        // Then the kernel resets what it would else have closed.
        twin.set_zero_linger().ok();
    }
}

impl Play {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<ReplyBody>, Reset> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/v1/models" | "/models") => Ok(whole(200, &wire::models())),
            (&Method::GET, "/v1/requests") => Ok(whole(200, &self.requests())),
            (&Method::POST, "/v1/chat/completions" | "/chat/completions") => self.complete(request).await,
            (method, path) => {
                Ok(whole(404, &wire::error(&format!("there is no {method} {path} here"), None)))
            }
        }
    }

    async fn complete(&self, request: Request<Incoming>) -> Result<Response<ReplyBody>, Reset> {
        let role = request
            .headers()
            .get(ROLE_HEADER)
            .map(|role| String::from_utf8_lossy(role.as_bytes()).into_owned());
        let step = request.headers().get(STEP_HEADER).and_then(|step| step.to_str().ok()?.parse().ok());
        let refused = |reason: String| Ok(whole(400, &wire::error(&reason, None)));
        let Ok(body) = request.into_body().collect().await else {
            return refused("the body did not arrive".to_owned());
        };
        let asked = match wire::ServedRequest::read(&body.to_bytes()) {
            Ok(asked) => asked,
            Err(reason) => return refused(reason),
        };
        let step = step.filter(|_| self.script.repeats());
        let (index, times) = self.index(&asked, role.clone(), step);
        let entry = match self.script.arrival(role.as_deref(), index) {
            Ok(entry) => entry,
            Err(error) => return refused(error.to_string()),
        };
        // What a step expects is what it is asked first.
        let is_again = step.is_some() && times > 1;
        if let Some(reason) = entry.check(&asked.request()).err().filter(|_| !is_again) {
            return refused(self.script.error(reason).to_string());
        }
        tokio::time::sleep(entry.delay).await;
        if entry.reset { Err(Reset) } else { Ok(reply(entry, &asked, index)) }
    }

    /// Which entry this request gets, from 0, and how often it was asked for by now.
    fn index(
        &self,
        asked: &wire::ServedRequest,
        role: Option<String>,
        step: Option<usize>,
    ) -> (usize, usize) {
        let role = role.filter(|_| self.script.counts_by_role());
        let turns = asked.request().turns();
        // A number is never half written: a poisoned lock holds a good one.
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let arrived = || asked.iter().filter(|((of, _), _)| *of == role).map(|(_, times)| times).sum();
        let index = step.unwrap_or_else(|| if self.by_turn { turns } else { arrived() });
        let times = asked.entry((role, index)).or_default();
        *times += 1;
        (index, *times)
    }

    /// How often each entry was asked for.
    fn requests(&self) -> Value {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked
            .iter()
            .map(|((role, entry), times)| json!({"role": role, "entry": entry, "times": times}))
            .collect()
    }
}

/// What the entry does over HTTP.
fn reply(entry: &ScriptEntry, asked: &wire::ServedRequest, index: usize) -> Response<ReplyBody> {
    let sent = Sent::of(entry, asked, index);
    let status = entry.error.as_ref().map_or(200, |error| error.status);
    let mut response = response(status, sent.media_type, sent.body(entry.ending));
    let Some(error) = &entry.error else { return response };
    for (name, text) in &error.headers {
        // Both were checked when the script was read.
        if let (Ok(name), Ok(text)) = (HeaderName::try_from(name), HeaderValue::try_from(text)) {
            response.headers_mut().insert(name, text);
        }
    }
    if let Some(wait) = error.retry_after {
        let (name, figure) = match wait.subsec_millis() {
            0 => (RETRY_AFTER, wait.as_secs()),
            _ => (HeaderName::from_static("retry-after-ms"), wait.as_millis().try_into().unwrap_or(u64::MAX)),
        };
        response.headers_mut().insert(name, figure.into());
    }
    response
}

/// A body to be sent.
struct Sent {
    media_type: &'static str,
    pieces: Vec<Bytes>,
    /// After this many bytes a reader may take the reply for whole.
    over: usize,
}

impl Sent {
    fn of(entry: &ScriptEntry, asked: &wire::ServedRequest, index: usize) -> Sent {
        let model = asked.request().model;
        match (&entry.body, &entry.error) {
            (Some(body), _) => Sent::one(media_type(body), body.clone()),
            (None, Some(error)) => {
                Sent::one(JSON, wire::error(&error.message, error.code.as_deref()).to_string())
            }
            (None, None) if asked.stream => {
                let chunks = wire::chunks(&entry.completion(index, model), asked.stream_usage);
                let event = |chunk: &Value| Bytes::from(format!("data: {chunk}\n\n"));
                let before = chunks.iter().take_while(|chunk| !wire::is_last(chunk));
                let over = before.map(|chunk| event(chunk).len()).sum();
                let done = std::iter::once(Bytes::from_static(b"data: [DONE]\n\n"));
                let pieces = chunks.iter().map(event).chain(done).collect();
                Sent { media_type: "text/event-stream", pieces, over }
            }
            (None, None) => Sent::one(JSON, entry.completion(index, model).raw.to_string()),
        }
    }

    fn one(media_type: &'static str, body: String) -> Sent {
        let over = body.len().saturating_sub(1);
        Sent { media_type, pieces: vec![Bytes::from(body)], over }
    }

    /// All of it, or what comes before the ending: after so many bytes, and before the reply is over in any case.
    fn body(self, ending: BodyEnding) -> ReplyBody {
        let frames = |pieces: Vec<Bytes>| stream::iter(pieces).map(|piece| Ok(Frame::data(piece)));
        let (BodyEnding::Cut(limit) | BodyEnding::Silence(limit)) = ending else {
            return StreamBody::new(frames(self.pieces).boxed());
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(self.over);
        let start = frames(vec![Bytes::from(self.pieces.concat()).slice(..limit)]);
        let cut = async {
            tokio::time::sleep(BEFORE_CUT).await;
            Err(io::Error::other("the script cuts the connection here"))
        };
        match ending {
            BodyEnding::Silence(_) => StreamBody::new(start.chain(stream::pending()).boxed()),
            _ => StreamBody::new(start.chain(stream::once(cut)).boxed()),
        }
    }
}

fn media_type(body: &str) -> &'static str {
    match body.trim_start().chars().next() {
        Some('{' | '[') => JSON,
        Some('<') => "text/html",
        _ if body.trim_start().starts_with("data:") => "text/event-stream",
        _ => "text/plain",
    }
}

fn whole(status: u16, value: &Value) -> Response<ReplyBody> {
    response(status, JSON, Sent::one(JSON, value.to_string()).body(BodyEnding::Whole))
}

fn response(status: u16, kind: &'static str, body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
#[path = "mock_server_tests.rs"]
mod tests;
