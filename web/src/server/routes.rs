//! Pages that are only read.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::Markup;
use serde::Deserialize;
use uwf_engine::ThreadId;
use uwf_engine::record::Detail;
use uwf_engine::thread;
use uwf_eval::Case;
use uwf_eval::report::CaseDetail;

use super::App;
use crate::assets;
use crate::error::WebError;
use crate::page;
use crate::read::{self, ListFilter, StepPlace, ThreadQuery, TurnsPage};
use crate::site::Site;

pub(super) async fn list(app: State<Arc<App>>, Query(filter): Query<ListFilter>) -> Response {
    answer(app, move |app| {
        let version = app.version("list");
        let found = read::list(&app.site, &filter)?;
        Ok(page::list(&found, &filter, app.site.store.now(), &version))
    })
    .await
}

pub(super) async fn thread(
    app: State<Arc<App>>,
    Path(thread): Path<String>,
    Query(query): Query<ThreadQuery>,
) -> Response {
    answer(app, move |app| {
        let thread = id(&thread)?;
        let version = app.version(&thread.to_string());
        let found = read::thread(&app.site, &thread, &query)?;
        let runs = found.view.status == "running";
        let live = if runs { app.live(&thread) } else { None };
        Ok(page::thread(&found, live.as_ref(), &app.access.csrf, &version))
    })
    .await
}

/// Which turns of a step are shown.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct StepQuery {
    to: Option<usize>,
}

pub(super) async fn step(
    app: State<Arc<App>>,
    Path((thread, step)): Path<(String, String)>,
    Query(StepQuery { to }): Query<StepQuery>,
) -> Response {
    answer(app, move |app| {
        let turns = to.map_or(TurnsPage::Last, TurnsPage::UpTo);
        let found = read::step(&app.site, &id(&thread)?, StepPlace::parse(&step)?, turns)?;
        Ok(page::step(&found))
    })
    .await
}

pub(super) async fn message(
    app: State<Arc<App>>,
    Path((thread, step, at)): Path<(String, String, usize)>,
) -> Response {
    answer(app, move |app| {
        let (thread, store) = (id(&thread)?, &app.site.store);
        let hash = read::step_hash(&app.site, &thread, StepPlace::parse(&step)?)?;
        let detail = Detail::read(store, &thread::step_node(store, &hash)?.detail)?;
        let said = read::message(store, &detail, at)?.ok_or_else(|| WebError::missing("such message"))?;
        Ok(page::message(&thread, &step, (at, &said)))
    })
    .await
}

pub(super) async fn evaluations(app: State<Arc<App>>) -> Response {
    answer(app, move |app| Ok(page::evaluations(&read::evaluations(&app.site)?, app.site.store.now()))).await
}

pub(super) async fn evaluation(app: State<Arc<App>>, Path(name): Path<String>) -> Response {
    answer(app, move |app| {
        let found = read::evaluation(&app.site, &name)?;
        let others = read::comparable(&app.site, &found)?;
        Ok(page::evaluation(&found, &others, &details(&app.site)))
    })
    .await
}

pub(super) async fn difference(
    app: State<Arc<App>>,
    Path((name, before)): Path<(String, String)>,
) -> Response {
    answer(app, move |app| {
        let (found, sides) = read::difference(&app.site, [&before, &name])?;
        Ok(page::difference(&found, [&sides[0], &sides[1]], &details(&app.site)))
    })
    .await
}

fn details(site: &Site) -> impl Fn(&Case) -> Option<CaseDetail> + use<'_> {
    |case| CaseDetail::read(&site.store, &case.run.parse().ok()?).ok()
}

pub(super) async fn remote(app: State<Arc<App>>) -> Response {
    answer(app, move |app| {
        let Some(remote) = &app.site.remote else { return Ok(page::no_remote()) };
        let found = remote.found();
        // Of what is told: what comes between is a later version.
        let version = app.version("remote");
        Ok(page::remote(remote.name(), &found, app.site.store.now(), &version))
    })
    .await
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match assets::asset(&name) {
        Some((content, kind)) => ([(header::CONTENT_TYPE, kind)], content).into_response(),
        None => oops(&WebError::missing("such file")),
    }
}

pub(super) async fn missing() -> Response {
    oops(&WebError::missing("page at this address"))
}

/// A thread as an address names it.
pub(super) fn id(text: &str) -> Result<ThreadId, WebError> {
    text.parse().map_err(|_| WebError::missing("thread of that name"))
}

/// A page, made where reading may take its time.
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    page: impl FnOnce(&App) -> Result<Markup, WebError> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(move || page(&app)).await {
        Ok(Ok(page)) => page.into_response(),
        Ok(Err(error)) => oops(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The page of what went wrong.
pub(super) fn oops(error: &WebError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, page::oops(error)).into_response()
}
