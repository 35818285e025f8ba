//! A reply without a network: bodies go in where an endpoint's would come from.
//!
//! Apart because only scripts, fuzz targets and the benchmark read replies that no endpoint sent.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};

use super::body::ReplyEvents;
use crate::provider::EventSink;
use crate::provider::attempt_error::AttemptError;
use crate::provider::message::{Completion, ModelOrigin, Request};
use crate::provider::wire::Wire;
use crate::provider::wires::Ending;
use crate::secrets::Secrets;

/// The completion that a body holds, as if an endpoint had sent it in these pieces with a good status.
pub(crate) async fn read_body(
    wire: Wire,
    pieces: Vec<Bytes>,
    request: &Request<'_>,
    on_event: EventSink<'_>,
) -> Result<Completion, AttemptError> {
    let (body, secrets) = (stream::iter(pieces.into_iter().map(Ok)).boxed(), Secrets::default());
    let events = ReplyEvents::of(body, Duration::MAX, &secrets).await?;
    let origin = ModelOrigin { wire, host: "localhost".to_owned(), model: request.model.to_owned() };
    let ending = Ending { conversation: request.messages, origin: &origin, secrets: &secrets };
    super::read(events, (wire.assembly(), &ending), on_event).await
}
