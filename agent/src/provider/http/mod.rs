//! A provider that speaks HTTP: an endpoint, a request to it, its reply, streamed and not.
//!
//! Apart because it is what all wires share. A call goes `wires` (written) → `transport` (the only network) → `body` →
//! `stream` → `wires` (assembled); `endpoint` and `secrets` keep the key out of
//! everything people read. The client library builds requests; replies are read here, and its retries are replaced
//! by ours.

mod body;
mod body_reader;
mod config;
mod endpoint;
mod network_error;
mod probe;
mod resolver;
mod stream;
mod transport;

use std::pin::Pin;

pub(crate) use body_reader::read_body;
pub use config::HttpConfig;
pub(crate) use config::{EchoReasoning, IDLE};
pub use endpoint::host_and_path;
pub(crate) use endpoint::{ROLE_HEADER, STEP_HEADER, is_loopback};
pub(crate) use network_error::innermost;
pub use probe::Served;
#[cfg(feature = "otel")]
pub(crate) use resolver::Resolver;
pub(crate) use resolver::look_up;
pub(crate) use transport::builder;

use self::body::ReplyEvents;
use self::endpoint::HttpEndpoint;
use self::transport::Exchange;
use super::attempt_error::AttemptError;
use super::dialect::Dialect;
use super::fields::Fields;
use super::message::{Completion, ModelOrigin, Request};
use super::model_facts::ModelFacts;
use super::quirks::{Learnt, Quirk, RefusedRequest};
use super::recorded::{self, RecordedReplies};
use super::retry::{AfterFailure, Attempts};
use super::sent::LastSent;
use super::wire::Wire;
use super::wires::chat::failed_generation;
use super::wires::written::Written;
use super::wires::{Assembly, Ending, RequestTarget};
use super::{ChatProvider, Completing, CompletionEvent, EventSink, ProviderError};

/// A reply that does not stream is silent until it is whole: its patience is that many times longer.
const WHOLE: u32 = 5;

/// No endpoint teaches more than this: one that goes on refusing is given up.
const MAX_QUIRKS: usize = 16;

/// A provider that speaks to an endpoint over HTTP.
pub struct HttpProvider {
    config: HttpConfig,
    endpoint: HttpEndpoint,
    http: reqwest::Client,
    dialect: Dialect,
    model: ModelFacts,
    origin: ModelOrigin,
    quirks: Vec<Quirk>,
    /// The messages that were sent last.
    written: Written,
    /// The fields that were sent last.
    sent: Fields,
    /// The body that was sent last, as it is told.
    last_sent: LastSent,
    /// What was done after the attempt that failed last, in a run that is played again.
    after_failure: Option<AfterFailure>,
    /// Where replies come from in the place of the network, in a run that is played again.
    recording: Option<Box<dyn RecordedReplies>>,
    /// Whether people were told that a temperature is left out.
    announced_temperature: bool,
}

impl HttpProvider {
    /// Checks the settings and prepares the client; nothing is sent yet.
    ///
    /// # Errors
    /// [`ProviderError::Setup`] for a base URL, key or header that cannot be used.
    pub fn new(config: HttpConfig) -> Result<HttpProvider, ProviderError> {
        let dialect = config.dialect();
        let endpoint = HttpEndpoint::new(&config)?;
        let http = transport::client(&endpoint)?;
        let origin =
            ModelOrigin { wire: dialect.wire, host: endpoint.host.clone(), model: config.model.clone() };
        let mut model = ModelFacts::of(&endpoint.host, &config.model);
        model.window = config.window.or(model.window);
        let is_known = |learnt: &&Learnt| learnt.host == origin.host && learnt.model == origin.model;
        let known = config.learnt.iter().find(is_known).map(Learnt::quirks);
        let mut provider = HttpProvider {
            config,
            endpoint,
            http,
            dialect,
            model,
            origin,
            quirks: Vec::new(),
            written: Written::default(),
            sent: Fields::default(),
            last_sent: LastSent::default(),
            after_failure: None,
            recording: None,
            announced_temperature: false,
        };
        for quirk in known.into_iter().flatten() {
            if provider.may_learn(&quirk) {
                provider.apply(quirk);
            }
        }
        Ok(provider)
    }

    /// The same with the replies of a recording: nothing is sent.
    pub(crate) fn replaying(self, recording: Box<dyn RecordedReplies>) -> HttpProvider {
        HttpProvider { recording: Some(recording), ..self }
    }

    /// The wire that is spoken.
    pub fn wire(&self) -> Wire {
        self.dialect.wire
    }

    async fn run(
        &mut self,
        request: &Request<'_>,
        on_event: EventSink<'_>,
    ) -> Result<Completion, ProviderError> {
        let retry = self.config.retry.clone();
        let mut attempts = Attempts::new(&retry);
        let mut whole = false;
        if self.leaves_temperature_out(request) {
            let change = "`temperature` is left out from here on";
            on_event(CompletionEvent::Learnt { change, reason: "the model takes no temperature" });
        }
        loop {
            let stream = self.config.stream && !whole && !self.quirks.contains(&Quirk::Whole);
            let error = match self.attempt(request, stream, on_event).await {
                Ok(completion) => return Ok(completion),
                Err(error) => error,
            };
            on_event(CompletionEvent::Failed(&error));
            if let AttemptError::Status { status: 400, api_error, .. } = &error
                && let Some(completion) = failed_generation::completion(api_error, request)
            {
                return Ok(completion);
            }
            if error == AttemptError::Empty && !whole {
                // Some endpoints can say only in one piece what they have to say.
                whole = true;
            } else if let Some(quirk) = self.quirk(&error, stream) {
                on_event(CompletionEvent::Learnt { change: &quirk.meaning(), reason: &error.to_string() });
                self.apply(quirk);
            } else {
                let url = self.endpoint.shown(self.dialect.wire);
                let failed = match self.after_failure {
                    Some(after) => attempts.replayed(error, &url, after).await,
                    None => attempts.failed(error, &url, on_event).await,
                };
                failed.map_err(|error| error.with_key(self.config.key_from.as_deref()))?;
            }
        }
    }

    /// Whether a temperature that was asked for is not sent; people are told once.
    fn leaves_temperature_out(&mut self, request: &Request<'_>) -> bool {
        let left_out =
            request.sampling.temperature.is_some() && !self.model.takes_temperature(request.sampling);
        left_out && !std::mem::replace(&mut self.announced_temperature, true)
    }

    async fn attempt(
        &mut self,
        request: &Request<'_>,
        stream: bool,
        on_event: EventSink<'_>,
    ) -> Result<Completion, AttemptError> {
        let wire = self.dialect.wire;
        let target = RequestTarget {
            origin: &self.origin,
            dialect: &self.dialect,
            model: &self.model,
            cache_key: &self.config.cache_key,
            stream,
        };
        let mut outgoing = wire.write(request, &target, &mut self.written);
        for quirk in &self.quirks {
            if let Quirk::Omit(field) = quirk {
                outgoing.fields.omit(field);
            }
        }
        outgoing.fields.merge(&self.config.request_body);
        self.sent = outgoing.fields;
        if let Some(recording) = &self.recording {
            recording.sends(serde_json::to_string(&self.sent).unwrap_or_default());
        }
        // The digest of a secret would tell a short one: whoever has the record could try all of them.
        let cleaned = self.sent.cleaned(&self.config.request_body, &self.endpoint.secrets);
        on_event(CompletionEvent::Sent(&self.last_sent.next(cleaned.as_ref().unwrap_or(&self.sent))));
        if let Some(recording) = &self.recording {
            return match recorded::reply(recording.as_ref()).await {
                Ok(Ok(completion)) => Ok(completion),
                Ok(Err((error, after))) => {
                    self.after_failure = Some(after);
                    Err(error)
                }
                Err(error) => Err(AttemptError::Setup { reason: error.to_string() }),
            };
        }
        let patience = if stream { self.config.idle } else { self.config.idle.saturating_mul(WHOLE) };
        let endpoint = self.endpoint.for_request(&self.dialect, &outgoing.headers);
        let exchange = Exchange::new(self.http.clone(), endpoint.secrets.clone(), patience);
        let ending =
            Ending { conversation: request.messages, origin: &self.origin, secrets: &self.endpoint.secrets };
        let answer = match exchange.ask(endpoint, &self.sent).await {
            Ok(events) => read(events, (wire.assembly(), &ending), on_event).await,
            Err(error) => Err(error),
        };
        let named = |error: AttemptError| match self.dialect.overflows_silently {
            true => error.with_overflow_named(),
            false => error,
        };
        answer.map_err(|error| named(error).with_request_id(exchange.request_id()))
    }

    /// What the error teaches, unless that was learnt before.
    fn quirk(&self, error: &AttemptError, streamed: bool) -> Option<Quirk> {
        let refused = RefusedRequest {
            wire: self.dialect.wire,
            wire_is_set: self.config.wire.is_some(),
            dialect: &self.dialect,
            model: &self.model,
            streamed,
            fields: &self.sent,
        };
        refused.quirk(error).filter(|quirk| !self.quirks.contains(quirk) && self.may_learn(quirk))
    }

    /// Whether no setting says otherwise, and there is an end to learning.
    fn may_learn(&self, quirk: &Quirk) -> bool {
        let HttpConfig { wire, dialect, echo_reasoning, request_body, .. } = &self.config;
        let is_free = match quirk {
            Quirk::Wire(_) => wire.is_none(),
            Quirk::Echo(_) | Quirk::Blank | Quirk::NoEcho => {
                *echo_reasoning == EchoReasoning::Auto && dialect.echo.is_none()
            }
            Quirk::NoMarks => dialect.cache.is_none(),
            // What the user adds is merged behind what is left out.
            Quirk::Omit(path) => !request_body.contains_key(path.split('.').next().unwrap_or_default()),
            _ => true,
        };
        is_free && self.quirks.len() < MAX_QUIRKS
    }

    fn apply(&mut self, quirk: Quirk) {
        quirk.apply(&mut self.dialect, &mut self.model);
        self.origin.wire = self.dialect.wire;
        self.written = Written::default();
        self.quirks.push(quirk);
    }
}

impl ChatProvider for HttpProvider {
    fn complete<'a>(&'a mut self, request: Request<'a>, on_event: EventSink<'a>) -> Completing<'a> {
        Box::pin(async move { self.run(&request, on_event).await })
    }

    fn window<'a>(&'a mut self) -> Pin<Box<dyn Future<Output = Option<u64>> + 'a>> {
        Box::pin(async move {
            let window = match &self.recording {
                Some(recording) => recording.told_window(),
                None => self.served_window().await,
            };
            self.model.window = self.config.window.or(window).or(self.model.window);
            window
        })
    }

    fn learnt(&self) -> Option<Learnt> {
        (!self.quirks.is_empty()).then(|| Learnt {
            host: self.origin.host.clone(),
            model: self.origin.model.clone(),
            quirks: self.quirks.iter().map(ToString::to_string).collect(),
        })
    }
}

/// The events of a reply, assembled to the end.
async fn read(
    mut events: ReplyEvents,
    (assembly, ending): (Box<dyn Assembly>, &Ending<'_>),
    on_event: EventSink<'_>,
) -> Result<Completion, AttemptError> {
    ending.complete(stream::read(&mut events, assembly, ending.secrets, on_event).await?)
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
