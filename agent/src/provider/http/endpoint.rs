//! Where requests go: the base URL, the headers, and the secrets among them.
//!
//! Apart because everything secret is in here: the key leaves it as a header of requests to the one host, and never
//! as text. Implements the client library's `Config` so that the library reads no environment variables.

use std::net::IpAddr;

use async_openai::config::Config;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use uwf_store::sounds_secret;

use super::HttpConfig;
use crate::provider::ProviderError;
use crate::provider::dialect::{Dialect, KeyHeader};
use crate::provider::wire::Wire;
use crate::secrets::{Secrets, secret_texts};

/// The header that tells a scripted server which role asks; for loopback addresses only.
pub(crate) const ROLE_HEADER: &str = "x-uwf-role";

/// The header that tells it for which step of its thread, from 0; for loopback addresses only.
pub(crate) const STEP_HEADER: &str = "x-uwf-step";

/// The version of Messages that is spoken.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The header that names features of Messages which are not yet everybody's, as a list.
const BETA: &str = "anthropic-beta";

/// Headers that belong to the client.
const OWN_HEADERS: &[&str] = &["content-type", "content-length", "host", "transfer-encoding"];

/// An endpoint, checked.
#[derive(Clone)]
pub(super) struct HttpEndpoint {
    /// Without query, without a `/` at the end.
    base: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    keys: Option<[HeaderValue; 2]>,
    /// What [`Config`] wants to see; the key itself is a header already.
    no_key: SecretString,
    /// The path below the base that the library's one request goes to; see [`HttpEndpoint::for_request`].
    path: String,
    /// Host, and port unless it is the scheme's own.
    pub(super) host: String,
    /// The base for people: without user, password and query.
    shown: String,
    pub(super) is_loopback: bool,
    pub(super) is_tls: bool,
    pub(super) secrets: Secrets,
}

impl HttpEndpoint {
    /// Checks the settings; errors name the setting and never its secret.
    pub(super) fn new(config: &HttpConfig) -> Result<HttpEndpoint, ProviderError> {
        let mut url = base_url(&config.base_url)?;
        let is_loopback = is_loopback(&url);
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        url.set_query(None);
        let mut secrets = Secrets::default();
        secrets.add(url.password().unwrap_or_default());
        query.iter().filter(|(name, _)| sounds_secret(name)).for_each(|(_, value)| secrets.add(value));
        let mut headers = extra_headers(config, &mut secrets)?;
        let added = Value::Object(config.request_body.clone());
        secret_texts(&added).into_iter().for_each(|text| secrets.add(text));
        let keys = keys(config, &mut secrets)?;
        if let Ok(role) = HeaderValue::from_bytes(config.role.as_bytes())
            && is_loopback
        {
            headers.insert(ROLE_HEADER, role);
        }
        if let Some(step) = config.step.filter(|_| is_loopback) {
            headers.insert(STEP_HEADER, step.into());
        }
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(HttpEndpoint {
            path: Wire::Chat.path().to_owned(),
            host: host(&url).unwrap_or_default(),
            shown: shown(url),
            base,
            query,
            headers,
            keys,
            no_key: SecretString::default(),
            is_loopback,
            is_tls: config.base_url.trim_start().starts_with("https"),
            secrets,
        })
    }

    /// The endpoint as one request sees it: the path of its wire, and headers of its own. The library is asked for a chat
    /// completion whatever the wire: it sends the body that it is given, and where to is decided here.
    pub(super) fn for_request(&self, dialect: &Dialect, own: &[(String, String)]) -> HttpEndpoint {
        let wire = dialect.wire;
        let mut endpoint = HttpEndpoint { path: self.path_of(wire), ..self.clone() };
        endpoint.add_key(dialect.key);
        let version = (wire == Wire::Messages).then_some(VERSION);
        let own = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in version.into_iter().chain(own) {
            // What is set by the user stays; of a list of features it is one more.
            let set = endpoint.headers.get(name).and_then(|set| set.to_str().ok());
            let value = match set.filter(|_| name == BETA) {
                Some(set) => format!("{set},{value}"),
                None => value.to_owned(),
            };
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
                && (name == BETA || !endpoint.headers.contains_key(&name))
            {
                endpoint.headers.insert(name, value);
            }
        }
        endpoint
    }

    /// Adds the key in the header, or headers, that the endpoint reads, unless the user's own headers hold one.
    fn add_key(&mut self, key: KeyHeader) {
        let [authorization, x_api_key, api_key] = [AUTHORIZATION.as_str(), "x-api-key", "api-key"];
        let Some([bearer, plain]) = self.keys.clone() else { return };
        if [authorization, x_api_key, api_key].iter().any(|name| self.headers.contains_key(*name)) {
            return;
        }
        if matches!(key, KeyHeader::Bearer | KeyHeader::Both) {
            self.headers.insert(AUTHORIZATION, bearer);
        }
        if matches!(key, KeyHeader::XApiKey | KeyHeader::Both) {
            self.headers.insert(x_api_key, plain.clone());
        }
        if key == KeyHeader::ApiKey {
            self.headers.insert(api_key, plain);
        }
    }

    /// Below the base; that of Messages may be given with or without its version.
    fn path_of(&self, wire: Wire) -> String {
        let is_versioned = self.base.rsplit('/').next().is_some_and(|last| {
            last.strip_prefix('v').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
        });
        match wire {
            Wire::Messages if !is_versioned => format!("/v1{}", wire.path()),
            _ => wire.path().to_owned(),
        }
    }

    /// The URL of completions for people: without user, password and query.
    pub(super) fn shown(&self, wire: Wire) -> String {
        format!("{}{}", self.shown, self.path_of(wire))
    }

    /// Where it lists its models, for requests and for people.
    pub(super) fn models(&self, wire: Wire) -> [String; 2] {
        let path = self.path_of(wire).replace(wire.path(), "/models");
        [format!("{}{path}", self.base), format!("{}{path}", self.shown)]
    }

    /// The base without its path: the server itself.
    pub(super) fn server(&self) -> String {
        Url::parse(&self.base).map_or_else(|_| self.base.clone(), |url| url.origin().ascii_serialization())
    }
}

/// Where a base URL leads: host, with its port unless it is the scheme's own, and path.
pub fn host_and_path(base_url: &str) -> Option<(String, String)> {
    let url = self::base_url(base_url).ok()?;
    Some((host(&url)?, url.path().to_owned()))
}

/// The host, with its port unless it is the scheme's own.
fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

impl Config for HttpEndpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, _: &str) -> String {
        format!("{}{}", self.base, self.path)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

/// The base URL; the whole URL of completions is taken for its base.
fn base_url(text: &str) -> Result<Url, ProviderError> {
    let bad = |why: String| ProviderError::Setup(format!("the base URL cannot be used: {why}"));
    let text = text.trim();
    let mut url = Url::parse(text).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("expected http:// or https://, got {}:", url.scheme())));
    }
    let path = url.path().trim_end_matches('/');
    let wires = ["/chat/completions", "/responses", "/messages"];
    let path = wires.iter().find_map(|wire| path.strip_suffix(wire)).unwrap_or(path).to_owned();
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

fn shown(mut url: Url) -> String {
    // Both fail for URLs without a host only, and http URLs have one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.as_str().trim_end_matches('/').to_owned()
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    address || host == "localhost" || host.ends_with(".localhost")
}

/// The key as the two kinds of headers hold it: as a bearer token, and as it is.
fn keys(config: &HttpConfig, secrets: &mut Secrets) -> Result<Option<[HeaderValue; 2]>, ProviderError> {
    let Some(text) = config.api_key.as_ref().map(|key| key.expose_secret().trim()) else { return Ok(None) };
    if text.is_empty() {
        return Ok(None);
    }
    secrets.add(text);
    let header = |text: &str| {
        let mut value = HeaderValue::from_str(text).map_err(|_| {
            ProviderError::Setup(
                "the API key cannot be sent: it has characters that no HTTP header may have".into(),
            )
        })?;
        value.set_sensitive(true);
        Ok(value)
    };
    Ok(Some([header(&format!("Bearer {text}"))?, header(text)?]))
}

fn extra_headers(config: &HttpConfig, secrets: &mut Secrets) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    for (name, text) in &config.headers {
        let bad = |why: &str| ProviderError::Setup(format!("the header {name:?} cannot be sent: {why}"));
        let header = HeaderName::try_from(name.trim()).map_err(|_| bad("this is no name of a header"))?;
        if OWN_HEADERS.contains(&header.as_str()) {
            return Err(bad("the client sets it"));
        }
        let text = text.trim();
        let mut value = HeaderValue::from_str(text)
            .map_err(|_| bad("its value has characters that no HTTP header may have"))?;
        value.set_sensitive(true);
        if sounds_secret(header.as_str()) {
            secrets.add(text);
            secrets.add(text.trim_start_matches("Bearer "));
        }
        headers.insert(header, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(base_url: &str) -> HttpConfig {
        HttpConfig::new(base_url, "m")
    }

    fn endpoint(base_url: &str) -> HttpEndpoint {
        HttpEndpoint::new(&config(base_url)).unwrap()
    }

    fn refused(config: &HttpConfig) -> String {
        HttpEndpoint::new(config).err().unwrap().to_string()
    }

    #[test]
    fn the_base_is_trimmed_to_what_paths_are_added_to() {
        for base in
            ["http://h:1/v1", " http://h:1/v1/ \n", "http://h:1/v1//", "http://h:1/v1/chat/completions#x"]
        {
            assert_eq!(endpoint(base).url("/chat/completions"), "http://h:1/v1/chat/completions", "{base}");
        }
        assert_eq!(endpoint("http://h:1").url("/chat/completions"), "http://h:1/chat/completions");
    }

    #[test]
    fn a_query_is_kept_and_never_shown() {
        let endpoint = endpoint("https://me:hunter22@h/v1?api-version=7&key=abcdefgh");
        assert_eq!(endpoint.query(), [("api-version", "7"), ("key", "abcdefgh")]);
        assert_eq!(endpoint.shown(Wire::Chat), "https://h/v1/chat/completions");
        assert_eq!(endpoint.secrets.clean("hunter22, abcdefgh and 7"), "***, *** and 7");
        assert!(endpoint.is_tls);
    }

    #[test]
    fn a_request_goes_to_the_path_of_its_wire_with_headers_of_its_own() {
        for (base, wire, url) in [
            ("https://h/v1", Wire::Chat, "https://h/v1/chat/completions"),
            ("https://h/openai/v1/", Wire::Responses, "https://h/openai/v1/responses"),
            ("https://h/v1", Wire::Messages, "https://h/v1/messages"),
            ("https://h/anthropic", Wire::Messages, "https://h/anthropic/v1/messages"),
            ("https://h/v1/messages", Wire::Messages, "https://h/v1/messages"),
            ("https://h/api/paas/v4", Wire::Chat, "https://h/api/paas/v4/chat/completions"),
        ] {
            assert_eq!(
                endpoint(base).for_request(&Dialect::named("generic").unwrap().on(wire), &[]).url(""),
                url
            );
            assert_eq!(endpoint(base).shown(wire), url);
        }
        assert_eq!(
            endpoint("https://h/anthropic").models(Wire::Messages)[0],
            "https://h/anthropic/v1/models"
        );
        assert_eq!(endpoint("https://h:8/a/v1").server(), "https://h:8");
        let mut config = config("https://h/v1");
        config.headers =
            [("anthropic-beta", "mine"), ("x-a", "mine")].map(|(n, v)| (n.into(), v.into())).into();
        let endpoint = HttpEndpoint::new(&config).unwrap();
        let own =
            [("anthropic-beta", "ours"), ("x-a", "ours"), ("x-b", "ours")].map(|(n, v)| (n.into(), v.into()));
        let headers = endpoint.for_request(&Dialect::named("messages").unwrap(), &own).headers();
        assert_eq!(
            (&headers["anthropic-beta"], &headers["x-a"], &headers["x-b"]),
            (&"mine,ours".parse().unwrap(), &"mine".parse().unwrap(), &"ours".parse().unwrap())
        );
        assert_eq!(headers["anthropic-version"], "2023-06-01");
    }

    #[test]
    fn each_host_has_its_header_for_the_key() {
        let sent = |key: KeyHeader| {
            let config = HttpConfig { api_key: Some("secret-key".into()), ..config("https://h/v1") };
            let dialect = Dialect { key, ..Dialect::named("generic").unwrap() };
            let headers = HttpEndpoint::new(&config).unwrap().for_request(&dialect, &[]).headers();
            ["authorization", "x-api-key", "api-key"].map(|name| headers.contains_key(name))
        };
        assert_eq!(sent(KeyHeader::Bearer), [true, false, false]);
        assert_eq!(sent(KeyHeader::XApiKey), [false, true, false]);
        assert_eq!(sent(KeyHeader::ApiKey), [false, false, true]);
        assert_eq!(sent(KeyHeader::Both), [true, true, false]);
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        assert!(
            refused(&config("localhost:8080/v1")).contains("expected http:// or https://, got localhost:")
        );
        assert!(refused(&config("")).contains("the base URL cannot be used"));
    }

    #[test]
    fn role_and_step_are_told_to_loopback_only() {
        for (base, told) in [
            ("http://127.0.0.2:9/v1", true),
            ("http://localhost:9/v1", true),
            ("http://[::1]:9/v1", true),
            ("http://10.0.0.1/v1", false),
            ("http://127.0.0.1.example.com/v1", false),
        ] {
            let config = HttpConfig { role: "reviewer".into(), step: Some(3), ..config(base) };
            let endpoint = HttpEndpoint::new(&config).unwrap();
            assert_eq!(endpoint.headers().get(STEP_HEADER).is_some_and(|step| step == "3"), told, "{base}");
            assert_eq!(endpoint.headers().contains_key(ROLE_HEADER), told, "{base}");
            assert_eq!(endpoint.is_loopback, told, "{base}");
        }
    }

    #[test]
    fn a_key_is_trimmed_and_one_that_is_no_header_is_never_shown() {
        let sent = |config: &HttpConfig| {
            let generic = Dialect::named("generic").unwrap();
            HttpEndpoint::new(config).unwrap().for_request(&generic, &[]).headers()
        };
        let mut config = config("http://h/v1");
        config.api_key = Some(" sk-123\n".into());
        let headers = sent(&config);
        assert_eq!(headers[AUTHORIZATION], "Bearer sk-123");
        assert!(!format!("{headers:?}").contains("sk-123"), "sensitive headers are not printed");
        config.api_key = Some("sk-\u{1}secret".into());
        let error = refused(&config);
        assert!(error.contains("the API key cannot be sent") && !error.contains("secret"), "{error}");
        config.api_key = Some("  ".into());
        assert!(!sent(&config).contains_key(AUTHORIZATION));
    }

    #[test]
    fn extra_headers_are_sent_and_errors_name_them_without_their_value() {
        let mut config = config("http://h/v1");
        config.headers.insert("X-Api-Key".into(), "topsecret".into());
        let endpoint = HttpEndpoint::new(&config).unwrap();
        assert_eq!(endpoint.headers()["x-api-key"], "topsecret");
        assert_eq!(endpoint.secrets.clean("you sent topsecret"), "you sent ***");
        for (name, value) in [("x y", "v"), ("x-a", "top\u{7f}secret"), ("Content-Type", "v")] {
            let headers = [(name.to_owned(), value.to_owned())].into();
            let error = refused(&HttpConfig { headers, ..config.clone() });
            assert!(error.contains(&format!("{name:?}")) && !error.contains("secret"), "{error}");
        }
    }
}
