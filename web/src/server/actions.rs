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
use crate::site::Host;

/// A form of ours.
#[derive(Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    text: String,
}

pub(super) async fn answer(app: State<Arc<App>>, thread: Path<String>, Form(asked): Form<Asked>) -> Response {
    done(app, thread, asked, |host, thread, text| {
        if text.trim().is_empty() {
            return Err("an answer has words".to_owned());
        }
        // Browsers end lines as the web does.
        host.answer(thread, &text.replace("\r\n", "\n"))
    })
    .await
}

pub(super) async fn run(app: State<Arc<App>>, thread: Path<String>, Form(asked): Form<Asked>) -> Response {
    done(app, thread, asked, |host, thread, _| host.run(thread)).await
}

pub(super) async fn stop(app: State<Arc<App>>, thread: Path<String>, Form(asked): Form<Asked>) -> Response {
    done(app, thread, asked, |host, thread, _| host.stop(thread)).await
}

async fn done(
    State(app): State<Arc<App>>,
    Path(thread): Path<String>,
    asked: Asked,
    act: fn(&dyn Host, &ThreadId, &str) -> Result<(), String>,
) -> Response {
    if !same(&asked.csrf, &app.access.csrf) {
        return oops(&WebError::Refused { why: "the form is not one of this session; open the page again" });
    }
    let acted = tokio::task::spawn_blocking(move || {
        let thread = id(&thread)?;
        thread::entry(&app.site.store, &thread)?;
        act(app.site.host.as_ref(), &thread, &asked.text).map_err(|why| WebError::Undone { why, thread })?;
        Ok(thread)
    });
    match acted.await {
        Ok(Ok(thread)) => Redirect::to(&format!("/t/{thread}")).into_response(),
        Ok(Err(error)) => oops(&error),
        Err(error) => oops(&WebError::missing(format!("answer: {error}"))),
    }
}
