//! The client without a network: bodies go in where replies would come from.
//!
//! Apart because only scripts, fuzz targets and the benchmark read replies that no endpoint sent.

use std::convert::Infallible;
use std::time::Duration;

use async_openai::Client;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use bytes::Bytes;

use super::endpoint::Endpoint;
use super::{HttpConfig, ask, body, transport};
use crate::provider::attempt_error::AttemptError;
use crate::provider::fields::Fields;
use crate::provider::message::{Completion, Origin, Request};
use crate::provider::wire::Wire;
use crate::provider::wires::Ending;
use crate::provider::{Progress, ProviderError};

/// The completion that a body of chat completions holds, as if an endpoint had sent it in these pieces with a good
/// status.
pub(crate) async fn read_body(
    pieces: Vec<Bytes>,
    request: &Request<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Completion, AttemptError> {
    let reader =
        BodyReader::new(Wire::Chat).map_err(|error| AttemptError::Setup { reason: error.to_string() })?;
    reader.read(pieces, request, progress).await
}

/// A client without a network: bodies go in where replies would come from.
pub(crate) struct BodyReader {
    wire: Wire,
    endpoint: Endpoint,
    http: reqwest::Client,
}

impl BodyReader {
    /// Fails only where no HTTP client can be made.
    pub(crate) fn new(wire: Wire) -> Result<BodyReader, ProviderError> {
        let endpoint = Endpoint::new(&HttpConfig::new("http://localhost", ""))?;
        let http = transport::client(&endpoint)?;
        Ok(BodyReader { wire, endpoint, http })
    }

    /// See [`read_body`].
    pub(crate) async fn read(
        &self,
        pieces: Vec<Bytes>,
        request: &Request<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Completion, AttemptError> {
        let secrets = self.endpoint.secrets.clone();
        let service = tower::service_fn(move |_: HttpRequestFactory| {
            let pieces = pieces.clone().into_iter().map(Ok::<_, Infallible>);
            let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
            let (response, secrets) = (hyper::Response::new(body).into(), secrets.clone());
            async move {
                let events = body::events(response, Duration::MAX, &secrets).await;
                events.map_err(|error| OpenAIError::Boxed(Box::new(error)))
            }
        });
        let client = Client::build(self.http.clone(), self.endpoint.clone()).with_http_service(service);
        let origin =
            Origin { wire: self.wire, host: "localhost".to_owned(), model: request.model.to_owned() };
        let ending = Ending { said: request.messages, origin: &origin, secrets: &self.endpoint.secrets };
        ask(&client, &Fields::default(), (self.wire.assembly(), &ending), progress).await
    }
}
