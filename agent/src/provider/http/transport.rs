//! One HTTP exchange: a request out, a reply in. The client library makes the request; this is the service that it sends it
//! by, in the place of its own and of its retries, so that status, headers and body of every reply are ours to read: what
//! is no success whole, what is one as events (`body`). The library never sees a reply.
//!
//! Apart because it is the only file that talks to the network. It judges nothing: errors go up as they are.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use futures_util::StreamExt;
use hyper::Response as HttpResponse;
use reqwest::{Client, ClientBuilder, Response};
use serde::de::IgnoredAny;
use tokio::time::timeout;

use super::body::{ReplyEvents, next};
use super::endpoint::HttpEndpoint;
use super::network_error::{attempt_error, innermost, silence};
use super::resolver::Resolver;
use crate::provider::ProviderError;
use crate::provider::api_error;
use crate::provider::attempt_error::AttemptError;
use crate::provider::fields::Fields;
use crate::provider::retry::asked_wait;
use crate::secrets::Secrets;

const CONNECT: Duration = Duration::from_secs(10);
/// An error's body is read this far, and no longer than this.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_TIME: Duration = Duration::from_secs(10);

/// The headers in which endpoints tell the id of a request, which their support asks for.
const REQUEST_IDS: [&str; 4] = ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id"];

/// One exchange: what it needs to know, and what is kept of its reply's head.
#[derive(Clone)]
pub(super) struct Exchange {
    client: Client,
    secrets: Secrets,
    /// The longest silence.
    patience: Duration,
    request_id: Arc<OnceLock<String>>,
    /// What came back, until it is read.
    reply: Arc<Mutex<Option<Response>>>,
}

/// The HTTP client of an endpoint.
pub(super) fn client(endpoint: &HttpEndpoint) -> Result<Client, ProviderError> {
    builder((endpoint.is_tls, endpoint.is_loopback))
        .build()
        .map_err(|error| ProviderError::Setup(format!("no HTTP client can be made: {}", innermost(&error))))
}

/// A client as all here are.
pub(crate) fn builder((is_tls, is_loopback): (bool, bool)) -> ClientBuilder {
    // Fails only when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .connect_timeout(CONNECT)
        .dns_resolver(Resolver::new())
        // A redirect would carry the key to a host it was not meant for.
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("uwf-builtin/", env!("CARGO_PKG_VERSION")));
    if is_loopback {
        client = client.no_proxy();
    }
    if !is_tls && is_loopback {
        // Nothing to verify: reading the system's certificates would be most of the start-up time.
        client = client.tls_certs_only([]);
    }
    client
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
            let reply = exchange.run(request).await.map_err(|error| OpenAIError::Boxed(Box::new(error)))?;
            *lock(&exchange.reply) = Some(reply);
            // The library is left with nothing to read.
            Ok(HttpResponse::new("").into())
        })
    }
}

impl Exchange {
    /// An exchange that is to be made.
    pub(super) fn new(client: Client, secrets: Secrets, patience: Duration) -> Exchange {
        Exchange { client, secrets, patience, request_id: Arc::default(), reply: Arc::default() }
    }

    /// Sends a request for a completion; its events.
    ///
    /// # Errors
    /// There is no reply, or it is a refusal, or no events.
    pub(super) async fn ask(
        &self,
        endpoint: HttpEndpoint,
        body: &Fields,
    ) -> Result<ReplyEvents, AttemptError> {
        let client =
            async_openai::Client::build(self.client.clone(), endpoint).with_http_service(self.clone());
        drop(client.chat().create_stream_byot::<_, IgnoredAny>(body).await.map_err(refused)?);
        let none = || AttemptError::Setup { reason: "the client library sent no request".to_owned() };
        let reply = lock(&self.reply).take().ok_or_else(none)?;
        ReplyEvents::of(reply.bytes_stream().boxed(), self.patience, &self.secrets).await
    }

    /// The endpoint's id of the request, where it told one.
    pub(super) fn request_id(&self) -> Option<String> {
        self.request_id.get().cloned()
    }

    async fn run(&self, request: reqwest::Request) -> Result<Response, AttemptError> {
        let reply = timeout(self.patience, self.client.execute(request)).await;
        let response = reply.map_err(|_| silence(self.patience))?.map_err(|error| attempt_error(&error))?;
        let header = |name: &&str| response.headers().get(*name)?.to_str().ok();
        if let Some(id) = REQUEST_IDS.iter().find_map(header) {
            let _ = self.request_id.set(api_error::excerpt(&self.secrets.clean(id)));
        }
        if !response.status().is_success() {
            return Err(refusal(response, &self.secrets).await);
        }
        Ok(response)
    }
}

/// What is in the slot, also after a panic elsewhere: it is put in and taken out whole.
fn lock(slot: &Mutex<Option<Response>>) -> MutexGuard<'_, Option<Response>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an error of the library means, which may be one of ours that it hands on.
fn refused(error: OpenAIError) -> AttemptError {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<AttemptError>() {
            Ok(error) => *error,
            Err(error) => AttemptError::Setup { reason: error.to_string() },
        },
        OpenAIError::Reqwest(error) => attempt_error(&error),
        error => AttemptError::Setup { reason: error.to_string() },
    }
}

/// What an endpoint says with a status that is no success.
pub(super) async fn refusal(response: Response, secrets: &Secrets) -> AttemptError {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let retry_after = asked_wait(header);
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream().boxed();
    // Whatever arrives in time will do: the status says the most.
    while let Ok(Some(bytes)) = next(&mut chunks, ERROR_TIME).await
        && body.len() < ERROR_BODY
    {
        body.extend_from_slice(&bytes);
    }
    let mut api_error = api_error::of_body(&secrets.clean(&String::from_utf8_lossy(&body)));
    api_error.should_retry = header("x-should-retry").and_then(|word| word.trim().parse().ok());
    if let (300..400, Some(to)) = (status, header("location")) {
        api_error.message = format!("it redirects to {}, and redirects are not followed", secrets.clean(to));
    }
    let retry_after = retry_after.or(api_error.retry_delay);
    AttemptError::Status { status, api_error: api_error.into(), retry_after }
}
