//! A provider that speaks HTTP: an endpoint, a request to it, its reply, streamed and not.
//!
//! Apart because it is what all wires share. A call goes `wires` (written) → `transport` (the only network) → `body` →
//! `stream` → `wires` (assembled); `endpoint` and `secrets` keep the key out of
//! everything people read. The client library builds requests and reads events; its retries are replaced by ours.

mod body;
pub(crate) mod complaint;
mod endpoint;
mod probe;
mod stream;
mod transport;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use async_openai::Client;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use bytes::Bytes;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use endpoint::ROLE_HEADER;

use self::endpoint::Endpoint;
use self::transport::Exchange;
use super::fault::Fault;
use super::message::{Completion, Request};
use super::retry::{Attempts, RetryPolicy};
use super::wires::chat::generation;
use super::wires::chat::write::{Body, Dialect, Echo, ReasoningField, Written};
use super::{Completing, Progress, Provider, ProviderError};

/// The longest silence, unless it is set otherwise.
pub(crate) const IDLE: Duration = Duration::from_secs(120);

/// A reply that does not stream is silent until it is whole: its patience is that many times longer.
const WHOLE: u32 = 5;

/// How to reach an endpoint, and how to talk to it.
#[derive(Clone, Debug)]
pub(crate) struct HttpConfig {
    /// Usually ends in `/v1`; a `/` at its end and the path of completions are trimmed, a query is kept.
    pub base_url: String,
    /// Sent as a bearer token, to the host of the base URL only.
    pub api_key: Option<SecretString>,
    /// Further headers of every request; an `authorization` here replaces the key.
    pub headers: BTreeMap<String, String>,
    /// Whether to ask for a stream.
    pub stream: bool,
    /// The longest silence of a stream; a reply that does not stream has five times as long.
    pub idle: Duration,
    /// The role that runs, told to loopback addresses only.
    pub role: String,
    /// Which of the model's reasoning is sent back to it.
    pub echo_reasoning: EchoReasoning,
    /// How failures are tried again.
    pub retry: RetryPolicy,
}

impl HttpConfig {
    /// The defaults: streaming, 120 s of silence, no key.
    pub(crate) fn new(base_url: impl Into<String>) -> HttpConfig {
        HttpConfig {
            base_url: base_url.into(),
            api_key: None,
            headers: BTreeMap::new(),
            stream: true,
            idle: IDLE,
            role: String::new(),
            echo_reasoning: EchoReasoning::Auto,
            retry: RetryPolicy::default(),
        }
    }
}

/// Which of the model's reasoning is sent back to it. Endpoints differ: most ignore it, some refuse it, some refuse
/// a conversation without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EchoReasoning {
    /// None, until the endpoint refuses a request for the lack of it.
    #[default]
    Auto,
    /// None.
    Never,
    /// That of turns with tool calls.
    WithToolCalls,
    /// All.
    Always,
}

/// A provider that speaks to an OpenAI-compatible endpoint.
pub(crate) struct HttpProvider {
    endpoint: Endpoint,
    http: reqwest::Client,
    idle: Duration,
    retry: RetryPolicy,
    dialect: Dialect,
    /// What was sent last.
    written: Written,
    /// Whether the echo of reasoning may still be learnt from a refusal.
    learns_echo: bool,
}

impl HttpProvider {
    /// Checks the settings and prepares the client; nothing is sent yet.
    ///
    /// # Errors
    /// [`ProviderError::Setup`] for a base URL, key or header that cannot be used.
    pub(crate) fn new(config: HttpConfig) -> Result<HttpProvider, ProviderError> {
        let endpoint = Endpoint::new(&config)?;
        let http = transport::client(&endpoint)?;
        let echo = match config.echo_reasoning {
            EchoReasoning::Auto | EchoReasoning::Never => Echo::Never,
            EchoReasoning::WithToolCalls => Echo::WithToolCalls,
            EchoReasoning::Always => Echo::Always,
        };
        let reasoning_field = ReasoningField::default();
        Ok(HttpProvider {
            endpoint,
            http,
            idle: config.idle,
            retry: config.retry,
            dialect: Dialect { stream: config.stream, stream_usage: true, echo, reasoning_field },
            written: Written::default(),
            learns_echo: config.echo_reasoning == EchoReasoning::Auto,
        })
    }

    async fn run(
        &mut self,
        request: &Request<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Completion, ProviderError> {
        let (retry, url) = (self.retry.clone(), self.endpoint.shown.clone());
        let mut attempts = Attempts::new(&retry, &url);
        let mut whole = false;
        loop {
            let stream = self.dialect.stream && !whole;
            let fault = match self.attempt(request, stream, progress).await {
                Ok(completion) => return Ok(completion),
                Err(fault) => fault,
            };
            if let Fault::Status { status: 400, complaint, .. } = &fault
                && let Some(completion) = generation::completion(complaint, request)
            {
                return Ok(completion);
            }
            if fault == Fault::Empty && !whole {
                // Some endpoints can say only in one piece what they have to say.
                whole = true;
            } else if !self.learn(&fault) {
                attempts.failed(fault, progress).await?;
            }
        }
    }

    async fn attempt(
        &mut self,
        request: &Request<'_>,
        stream: bool,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Completion, Fault> {
        let patience = if stream { self.idle } else { self.idle.saturating_mul(WHOLE) };
        let secrets = self.endpoint.secrets.clone();
        let exchange = Exchange { client: self.http.clone(), secrets, patience };
        let dialect = Dialect { stream, ..self.dialect };
        let client = Client::build(self.http.clone(), self.endpoint.clone()).with_http_service(exchange);
        let (completion, field) = ask(&client, request, (dialect, &mut self.written), progress).await?;
        self.dialect.reasoning_field = field.unwrap_or(self.dialect.reasoning_field);
        Ok(completion)
    }

    /// Whether the fault is a refusal of something we can leave out or add; each is learnt once.
    fn learn(&mut self, fault: &Fault) -> bool {
        let Fault::Status { status: 400 | 422, complaint, .. } = fault else { return false };
        if self.dialect.stream_usage && complaint.message.contains("stream_options") {
            self.dialect.stream_usage = false;
            return true;
        }
        if self.dialect.stream && complaint.is_about_streaming() {
            self.dialect.stream = false;
            return true;
        }
        let about_reasoning = ["reasoning_content", "`reasoning`", "thinking_blocks"];
        if self.learns_echo && about_reasoning.iter().any(|word| complaint.message.contains(word)) {
            self.learns_echo = false;
            self.dialect.echo = Echo::WithToolCalls;
            return true;
        }
        false
    }
}

impl Provider for HttpProvider {
    fn complete<'a>(
        &'a mut self,
        request: Request<'a>,
        progress: &'a mut dyn FnMut(Progress<'_>),
    ) -> Completing<'a> {
        Box::pin(async move { self.run(&request, progress).await })
    }
}

/// One request through the client library, and the field its reasoning came in.
async fn ask(
    client: &Client<Endpoint>,
    request: &Request<'_>,
    (dialect, written): (Dialect, &mut Written),
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Completion, Option<ReasoningField>), Fault> {
    let body = Body::new(request, dialect, written.of(request.messages, dialect));
    let events = client.chat().create_stream_byot::<_, Box<RawValue>>(body).await.map_err(stream::refused)?;
    let secrets = &client.config().secrets;
    let assembly = stream::read(events, secrets, progress).await?;
    let field = assembly.reasoning_field;
    Ok((assembly.finish(request.messages, secrets)?, field))
}

/// The completion that a body holds, as if an endpoint had sent it in these pieces with a good status.
pub(crate) async fn read_body(
    pieces: Vec<Bytes>,
    request: &Request<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Completion, Fault> {
    let reader = BodyReader::new().map_err(|error| Fault::Setup { reason: error.to_string() })?;
    reader.read(pieces, request, progress).await
}

/// A client without a network: bodies go in where replies would come from.
pub(crate) struct BodyReader {
    endpoint: Endpoint,
    http: reqwest::Client,
}

impl BodyReader {
    /// Fails only where no HTTP client can be made.
    pub(crate) fn new() -> Result<BodyReader, ProviderError> {
        let endpoint = Endpoint::new(&HttpConfig::new("http://localhost"))?;
        let http = transport::client(&endpoint)?;
        Ok(BodyReader { endpoint, http })
    }

    /// See [`read_body`].
    pub(crate) async fn read(
        &self,
        pieces: Vec<Bytes>,
        request: &Request<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Completion, Fault> {
        let secrets = self.endpoint.secrets.clone();
        let service = tower::service_fn(move |_: HttpRequestFactory| {
            let pieces = pieces.clone().into_iter().map(Ok::<_, Infallible>);
            let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
            let (response, secrets) = (hyper::Response::new(body).into(), secrets.clone());
            async move {
                let events = body::events(response, Duration::MAX, &secrets).await;
                events.map_err(|fault| OpenAIError::Boxed(Box::new(fault)))
            }
        });
        let client = Client::build(self.http.clone(), self.endpoint.clone()).with_http_service(service);
        let dialect = Dialect {
            stream: true,
            stream_usage: true,
            echo: Echo::Never,
            reasoning_field: ReasoningField::default(),
        };
        Ok(ask(&client, request, (dialect, &mut Written::default()), progress).await?.0)
    }
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
