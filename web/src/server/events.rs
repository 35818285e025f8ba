//! The stream of events: for each thread that is followed, and for the list, the version that its page should have.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::json;
use uwf_engine::ThreadId;

use super::App;
use super::routes::oops;
use super::watch::{Followed, Watch};
use crate::error::WebError;

/// How many topics one stream has.
const TOPICS: usize = 64;

/// How often a stream that is silent says that it is there.
const SILENCE: Duration = Duration::from_secs(20);

pub(super) async fn events(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let topics: Option<Vec<String>> = query.as_deref().unwrap_or_default().split('&').map(topic).collect();
    let Some(topics) = topics else { return oops(&WebError::missing("such stream")) };
    let topics = newest(topics);
    let known = Arc::clone(&app);
    let versioned =
        move || topics.into_iter().map(|topic| (known.version(&topic), topic)).collect::<Vec<_>>();
    let Ok(topics) = tokio::task::spawn_blocking(versioned).await else {
        return oops(&WebError::missing("stream of events just now"));
    };
    let streams = topics.into_iter().map(|(version, topic)| versions(Watch::follow(&app, topic, version)));
    let events = stream::select_all(streams.map(Box::pin));
    Sse::new(events.map(Ok::<Event, Infallible>))
        .keep_alive(KeepAlive::new().interval(SILENCE))
        .into_response()
}

/// The list, and of too many threads the youngest, whose ids are the greatest.
fn newest(mut topics: Vec<String>) -> Vec<String> {
    topics.sort_unstable_by(|one, other| other.cmp(one));
    topics.dedup();
    topics.truncate(TOPICS);
    topics
}

/// What a part of the query names: `list`, `remote` or a thread.
fn topic(part: &str) -> Option<String> {
    let named = part.strip_prefix("topic=")?;
    (matches!(named, "list" | "remote") || named.parse::<ThreadId>().is_ok()).then(|| named.to_owned())
}

/// The version there is, and each one after it.
fn versions(followed: Followed) -> impl Stream<Item = Event> + Send {
    stream::unfold((followed, true), |(mut followed, is_first)| async move {
        if !is_first {
            followed.versions.changed().await.ok()?;
        }
        let version = followed.versions.borrow_and_update().clone();
        let event = Event::default()
            .event("change")
            .data(json!({"topic": followed.topic, "version": version}).to_string());
        Some((event, (followed, false)))
    })
}
