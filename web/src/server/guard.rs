//! Who may ask: the right host (a page elsewhere may have its name point here), with the token or the session it was exchanged
//! for, and for what changes something also from a page of ours. What is answered goes with a policy under which a page
//! runs nothing but the scripts of this server and asks nobody else.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::{Access, App};
use crate::page;

/// What every response says. A page is of this server alone: no script, style, picture, frame or form from or to elsewhere.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With none at all, a form would not say where it is from.
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Lets a request through, or answers it.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&app, request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(answer) => *answer,
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

fn admitted(app: &App, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let answer = |status: StatusCode, words: &'static str| Box::new((status, words).into_response());
    let host = text(headers, &header::HOST).unwrap_or_default();
    if !is_ours(host, app.address, &app.access) {
        return Err(answer(StatusCode::MISDIRECTED_REQUEST, "this server is not called by that name\n"));
    }
    if let Some(token) = token_of(uri).filter(|_| method == Method::GET) {
        return Err(Box::new(exchanged(app, &token)));
    }
    if !has_session(app, headers) {
        return Err(Box::new((StatusCode::UNAUTHORIZED, page::signed_out()).into_response()));
    }
    let origin = text(headers, &header::ORIGIN);
    let is_own = origin.is_some_and(|origin| origin.strip_prefix("http://") == Some(host));
    let is_safe = method == Method::GET || method == Method::HEAD;
    let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
    let is_foreign = site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let is_admitted = if is_safe { origin.is_none() || is_own } else { is_own && !is_foreign };
    if !is_admitted {
        return Err(answer(StatusCode::FORBIDDEN, "this was asked for by a page of another server\n"));
    }
    Ok(())
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    // Of a header that comes twice neither counts.
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next()?, values.next());
    if second.is_some() { Some("") } else { first.to_str().ok() }
}

/// Whether a name and port are those of this server. An address cannot be pointed elsewhere: whoever listens at all addresses may
/// be called by each of them.
fn is_ours(host: &str, address: SocketAddr, access: &Access) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
        _ => (host, Some(80)),
    };
    if port != Some(address.port()) {
        return false;
    }
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let is_address = |bare: &str| {
        bare.parse().is_ok_and(|named: std::net::IpAddr| match address.ip().is_unspecified() {
            true => true,
            false => named == address.ip(),
        })
    };
    let is_named = access.hosts.iter().any(|host| host.eq_ignore_ascii_case(bare));
    let is_local = bare.eq_ignore_ascii_case("localhost")
        && (address.ip().is_loopback() || address.ip().is_unspecified());
    is_local || is_address(bare) || is_named
}

/// The token in an address.
fn token_of(uri: &Uri) -> Option<String> {
    let query = uri.query()?;
    query.split('&').find_map(|part| part.strip_prefix("token=")).map(str::to_owned)
}

/// The token for a session; a wrong one for nothing.
fn exchanged(app: &App, token: &str) -> Response {
    if !same(token, &app.access.token) {
        return (StatusCode::UNAUTHORIZED, page::signed_out()).into_response();
    }
    let cookie =
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_name(app.address), app.access.session);
    let mut response = Redirect::to("/").into_response();
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

/// Cookies do not tell ports apart: each server has a name of its own.
fn cookie_name(address: SocketAddr) -> String {
    format!("uwf-{}", address.port())
}

fn has_session(app: &App, headers: &HeaderMap) -> bool {
    let bearer = text(headers, &header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let name = cookie_name(app.address);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = cookies
        .flat_map(|value| value.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter(|(found, _)| *found == name);
    bearer.is_some_and(|token| same(token, &app.access.token))
        || ours.any(|(_, session)| same(session, &app.access.session))
}

/// Whether two secrets are the same, in a time that does not tell where they differ. One that is empty is no secret.
pub(super) fn same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |differ, (one, other)| differ | (one ^ other));
    !other.is_empty() && one.len() == other.len() && std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_points_here_is_not_ours() {
        let access = Access {
            token: "t".into(),
            session: "s".into(),
            csrf: "c".into(),
            hosts: vec!["box.example".into()],
        };
        let ours = |host: &str, at: &str| is_ours(host, at.parse().unwrap(), &access);
        for host in ["127.0.0.1:8123", "localhost:8123", "LOCALHOST:8123", "box.example:8123"] {
            assert!(ours(host, "127.0.0.1:8123"), "{host}");
        }
        for host in [
            "evil.example:8123",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.2:8123",
            "",
            ":8123",
            "localhost.evil.example:8123",
            "[::1]:8123",
            "127.0.0.1:8123:8123",
        ] {
            assert!(!ours(host, "127.0.0.1:8123"), "{host}");
        }
        assert!(ours("[::1]:8123", "[::1]:8123") && ours("[::1]", "[::1]:80"));
        assert!(ours("192.168.1.7:8123", "0.0.0.0:8123") && !ours("evil.example:8123", "0.0.0.0:8123"));
        assert!(!ours("localhost:8123", "192.168.1.7:8123"));
    }

    #[test]
    fn secrets_are_compared_whole() {
        assert!(
            same("abc", "abc")
                && !same("abd", "abc")
                && !same("ab", "abc")
                && !same("abcd", "abc")
                && !same("", "")
        );
    }
}
