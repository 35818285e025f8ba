//! What pages can have done: a question answered, a run begun or ended. The program that serves does it; here is only who may
//! ask, and where the browser goes then.

use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use uwf_engine::ThreadId;
use uwf_engine::thread;

use super::App;
use super::guard::same;
use super::routes::{id, oops};
use crate::error::WebError;
use crate::read;
use crate::site::Site;

/// A form of ours.
#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    text: String,
    /// The node that the thread stood at when the page was made.
    #[serde(default)]
    head: String,
}

pub(super) async fn answer(app: State<Arc<App>>, thread: Path<String>, Form(asked): Form<Asked>) -> Response {
    done(app, thread, asked, |site, thread, asked| {
        let refused = |why: &str| Err(WebError::Undone { why: why.to_owned(), thread: *thread });
        if asked.text.trim().is_empty() {
            return refused("an answer has words");
        }
        if read::asks_at(site, thread)?.is_none_or(|head| head.to_string() != asked.head) {
            return refused("the thread does not ask this any more; look at what it asks now");
        }
        // Browsers end lines as the web does.
        undone(thread, site.host.answer(thread, &asked.text.replace("\r\n", "\n")))
    })
    .await
}

pub(super) async fn run(app: State<Arc<App>>, thread: Path<String>, Form(asked): Form<Asked>) -> Response {
    done(app, thread, asked, |site, thread, _| undone(thread, site.host.run(thread))).await
}

pub(super) async fn stop(app: State<Arc<App>>, thread: Path<String>, Form(asked): Form<Asked>) -> Response {
    done(app, thread, asked, |site, thread, _| undone(thread, site.host.stop(thread))).await
}

fn undone(thread: &ThreadId, done: Result<(), String>) -> Result<(), WebError> {
    done.map_err(|why| WebError::Undone { why, thread: *thread })
}

async fn done(
    State(app): State<Arc<App>>,
    Path(thread): Path<String>,
    asked: Asked,
    act: fn(&Site, &ThreadId, &Asked) -> Result<(), WebError>,
) -> Response {
    if !same(&asked.csrf, &app.access.csrf) {
        return oops(&WebError::Refused { why: "the form is not one of this session; open the page again" });
    }
    let acted = tokio::task::spawn_blocking(move || {
        let thread = id(&thread)?;
        thread::entry(&app.site.store, &thread)?;
        act(&app.site, &thread, &asked)?;
        Ok(thread)
    });
    match acted.await {
        Ok(Ok(thread)) => Redirect::to(&format!("/t/{thread}")).into_response(),
        Ok(Err(error)) => oops(&error),
        Err(error) => oops(&WebError::missing(format!("answer: {error}"))),
    }
}
