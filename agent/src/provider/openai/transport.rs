//! One HTTP exchange: a request out, a body of events in. It replaces the client library's own service, and with it
//! its retries, so that status, headers and body of every reply that is no success are kept.
//!
//! Apart because it is the only file that talks to the network. It judges nothing: faults go up as they are.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use hyper::Response as HttpResponse;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::complaint;
use super::endpoint::Endpoint;
use crate::provider::ProviderError;
use crate::provider::fault::Fault;
use crate::provider::retry::asked_wait;
use crate::secrets::Secrets;

const CONNECT: Duration = Duration::from_secs(10);
/// An error's body is read this far, and no longer than this.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_TIME: Duration = Duration::from_secs(10);

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What an exchange needs to know.
#[derive(Clone)]
pub(super) struct Exchange {
    pub(super) client: Client,
    pub(super) secrets: Secrets,
    /// The longest silence.
    pub(super) patience: Duration,
}

/// The HTTP client of an endpoint.
pub(super) fn client(endpoint: &Endpoint) -> Result<Client, ProviderError> {
    // Fails only when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .connect_timeout(CONNECT)
        // A redirect would carry the key to a host it was not meant for.
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("uwf-builtin/", env!("CARGO_PKG_VERSION")));
    if endpoint.is_loopback {
        client = client.no_proxy();
    }
    if !endpoint.is_tls && endpoint.is_loopback {
        // Nothing to verify: reading the system's certificates would be most of the start-up time.
        client = client.tls_certs_only([]);
    }
    client
        .build()
        .map_err(|error| ProviderError::Setup(format!("no HTTP client can be made: {}", innermost(&error))))
}

impl tower::Service<HttpRequestFactory> for Exchange {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), OpenAIError>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let exchange = self.clone();
        Box::pin(async move {
            let request = request.build().await?;
            exchange.run(request).await.map_err(|fault| OpenAIError::Boxed(Box::new(fault)))
        })
    }
}

impl Exchange {
    async fn run(&self, request: reqwest::Request) -> Result<Response, Fault> {
        let reply = timeout(self.patience, self.client.execute(request)).await;
        let response = reply.map_err(|_| silence(self.patience))?.map_err(|error| fault_of(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response, &self.secrets).await);
        }
        events(response, self.patience, &self.secrets).await
    }
}

/// A reply of any kind → one whose body is a stream of events, with [`BodyEnd`] behind the last. A JSON body is one
/// event; what is neither is a fault.
pub(super) async fn events(response: Response, idle: Duration, secrets: &Secrets) -> Result<Response, Fault> {
    let mut body = response.bytes_stream().boxed();
    let mut start = Vec::new();
    let first = loop {
        match next(&mut body, idle).await? {
            None => return Err(Fault::Cut { reason: "the reply has no body".to_owned() }),
            Some(bytes) => start.extend_from_slice(&bytes),
        }
        // The library's reader of events panics on a byte order mark.
        if start.starts_with(BYTE_ORDER_MARK) {
            start.drain(..BYTE_ORDER_MARK.len());
        }
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
        if let Some(first) = first.filter(|_| !BYTE_ORDER_MARK.starts_with(&start)) {
            break *first;
        }
    };
    // The fields of an event stream: `data:`, `event:`, `id:`, `retry:`, and comments.
    if b":deir".contains(&first) {
        return Ok(reply_of(with_end(start.into(), body, idle)));
    }
    while let Some(bytes) = next(&mut body, idle).await? {
        start.extend_from_slice(&bytes);
    }
    whole(&start, secrets).map(|event| reply_of(stream::iter([Ok(event)])))
}

/// A body that came whole, as an event.
fn whole(body: &[u8], secrets: &Secrets) -> Result<Bytes, Fault> {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => Ok(Bytes::from(format!("data: {value}\n\ndata: [DONE]\n\n"))),
        Err(error) if error.is_eof() => {
            Err(Fault::Cut { reason: "the reply ends within its JSON".to_owned() })
        }
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            let start = complaint::excerpt(&secrets.clean(&text));
            Err(Fault::Malformed { reason: format!("expected JSON or an event stream, got {start}") })
        }
    }
}

/// How the body of a stream ended, told to the reader as a last event: the client library tells neither that a body
/// ended without `[DONE]` nor why a connection broke.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    Clean,
    Broken(String),
}

const BODY_END: &str = "x-uwf-body-end";

impl BodyEnd {
    fn event(reason: Option<&str>) -> Bytes {
        // The blank line ends an event that was cut off, which is then no JSON, or is whole but for its blank line.
        Bytes::from(format!("\n\ndata: {}\n\n", json!({ BODY_END: reason })))
    }

    /// The end, if the event is one.
    pub(super) fn read(event: &Value) -> Option<BodyEnd> {
        match event.get(BODY_END)? {
            Value::String(reason) => Some(BodyEnd::Broken(reason.clone())),
            _ => Some(BodyEnd::Clean),
        }
    }
}

type Body = BoxStream<'static, reqwest::Result<Bytes>>;

async fn next(body: &mut Body, idle: Duration) -> Result<Option<Bytes>, Fault> {
    match timeout(idle, body.next()).await {
        Err(_) => Err(silence(idle)),
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => bytes.map(Some).map_err(|error| fault_of(&error)),
    }
}

fn with_end(
    start: Bytes,
    body: Body,
    idle: Duration,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let rest = stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        match next(&mut body, idle).await {
            Ok(Some(bytes)) => Some((Ok(bytes), Some(body))),
            Ok(None) => Some((Ok(BodyEnd::event(None)), None)),
            Err(fault) => Some((Ok(BodyEnd::event(Some(&fault.to_string()))), None)),
        }
    });
    stream::iter([Ok(start)]).chain(rest)
}

fn reply_of(body: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    Response::from(HttpResponse::new(reqwest::Body::wrap_stream(body)))
}

/// What an endpoint says with a status that is no success.
pub(super) async fn refusal(response: Response, secrets: &Secrets) -> Fault {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let retry_after = asked_wait(header, SystemTime::now());
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream().boxed();
    // Whatever arrives in time will do: the status says the most.
    while let Ok(Some(bytes)) = next(&mut chunks, ERROR_TIME).await
        && body.len() < ERROR_BODY
    {
        body.extend_from_slice(&bytes);
    }
    let mut complaint = complaint::of_body(&secrets.clean(&String::from_utf8_lossy(&body)));
    if let (300..400, Some(to)) = (status, header("location")) {
        complaint.message = format!("it redirects to {}, and redirects are not followed", secrets.clean(to));
    }
    Fault::Status { status, complaint, retry_after }
}

fn silence(patience: Duration) -> Fault {
    Fault::Cut { reason: format!("nothing arrived for {patience:?}") }
}

/// The fault of a request that got no reply, or of a body that broke off.
pub(super) fn fault_of(error: &reqwest::Error) -> Fault {
    let reason = innermost(error);
    if error.is_connect() {
        return Fault::Connect { reason };
    }
    if error.is_builder() {
        return Fault::Setup { reason };
    }
    Fault::Cut { reason }
}

/// The last cause: the ones above it only wrap, and name the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
