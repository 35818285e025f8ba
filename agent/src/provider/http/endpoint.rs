//! Where requests go: the base URL, the headers, and the secrets among them.
//!
//! Apart because everything secret is in here: the key leaves it as a header of requests to the one host, and never
//! as text. Implements the client library's `Config` so that the library reads no environment variables.

use std::net::IpAddr;

use async_openai::config::Config;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::HttpConfig;
use crate::provider::ProviderError;
use crate::secrets::{Secrets, sounds_secret};

/// The header that tells a scripted server which role asks; for loopback addresses only.
pub(crate) const ROLE_HEADER: &str = "x-uwf-role";

/// Headers that belong to the client.
const OWN_HEADERS: &[&str] = &["content-type", "content-length", "host", "transfer-encoding"];

/// An endpoint, checked.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// Without query, without a `/` at the end.
    base: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    /// What [`Config`] wants to see; the key itself is a header already.
    no_key: SecretString,
    /// The URL of completions for people: without user, password and query.
    pub(super) shown: String,
    pub(super) is_loopback: bool,
    pub(super) is_tls: bool,
    pub(super) secrets: Secrets,
}

impl Endpoint {
    /// Checks the settings; errors name the setting and never its secret.
    pub(super) fn new(config: &HttpConfig) -> Result<Endpoint, ProviderError> {
        let mut url = base_url(&config.base_url)?;
        let is_loopback = is_loopback(&url);
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        url.set_query(None);
        let mut secrets = Secrets::default();
        secrets.add(url.password().unwrap_or_default());
        query.iter().filter(|(name, _)| sounds_secret(name)).for_each(|(_, value)| secrets.add(value));
        let mut headers = extra_headers(config, &mut secrets)?;
        if let Some(key) = bearer(config, &mut secrets)? {
            headers.entry(AUTHORIZATION).or_insert(key);
        }
        if let Ok(role) = HeaderValue::from_bytes(config.role.as_bytes())
            && is_loopback
        {
            headers.insert(ROLE_HEADER, role);
        }
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Endpoint {
            shown: shown(url),
            base,
            query,
            headers,
            no_key: SecretString::default(),
            is_loopback,
            is_tls: config.base_url.trim_start().starts_with("https"),
            secrets,
        })
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
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
    let path = path.strip_suffix("/chat/completions").unwrap_or(path).to_owned();
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

fn shown(mut url: Url) -> String {
    // Both fail for URLs without a host only, and http URLs have one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    format!("{}/chat/completions", url.as_str().trim_end_matches('/'))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    address || host == "localhost" || host.ends_with(".localhost")
}

fn bearer(config: &HttpConfig, secrets: &mut Secrets) -> Result<Option<HeaderValue>, ProviderError> {
    let Some(key) = &config.api_key else { return Ok(None) };
    let key = key.expose_secret().trim();
    if key.is_empty() {
        return Ok(None);
    }
    secrets.add(key);
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
        ProviderError::Setup(
            "the API key cannot be sent: it has characters that no HTTP header may have".into(),
        )
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
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
        HttpConfig::new(base_url)
    }

    fn endpoint(base_url: &str) -> Endpoint {
        Endpoint::new(&config(base_url)).unwrap()
    }

    fn refused(config: &HttpConfig) -> String {
        Endpoint::new(config).err().unwrap().to_string()
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
        assert_eq!(endpoint.shown, "https://h/v1/chat/completions");
        assert_eq!(endpoint.secrets.clean("hunter22, abcdefgh and 7"), "***, *** and 7");
        assert!(endpoint.is_tls);
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        assert!(
            refused(&config("localhost:8080/v1")).contains("expected http:// or https://, got localhost:")
        );
        assert!(refused(&config("")).contains("the base URL cannot be used"));
    }

    #[test]
    fn the_role_is_told_to_loopback_only() {
        for (base, told) in [
            ("http://127.0.0.2:9/v1", true),
            ("http://localhost:9/v1", true),
            ("http://[::1]:9/v1", true),
            ("http://10.0.0.1/v1", false),
            ("http://127.0.0.1.example.com/v1", false),
        ] {
            let config = HttpConfig { role: "reviewer".into(), ..config(base) };
            let endpoint = Endpoint::new(&config).unwrap();
            assert_eq!(endpoint.headers().contains_key(ROLE_HEADER), told, "{base}");
            assert_eq!(endpoint.is_loopback, told, "{base}");
        }
    }

    #[test]
    fn a_key_is_trimmed_and_one_that_is_no_header_is_never_shown() {
        let mut config = config("http://h/v1");
        config.api_key = Some(" sk-123\n".into());
        let headers = Endpoint::new(&config).unwrap().headers();
        assert_eq!(headers[AUTHORIZATION], "Bearer sk-123");
        assert!(!format!("{headers:?}").contains("sk-123"), "sensitive headers are not printed");
        config.api_key = Some("sk-\u{1}secret".into());
        let error = refused(&config);
        assert!(error.contains("the API key cannot be sent") && !error.contains("secret"), "{error}");
        config.api_key = Some("  ".into());
        assert!(!Endpoint::new(&config).unwrap().headers().contains_key(AUTHORIZATION));
    }

    #[test]
    fn extra_headers_are_sent_and_errors_name_them_without_their_value() {
        let mut config = config("http://h/v1");
        config.headers.insert("X-Api-Key".into(), "topsecret".into());
        let endpoint = Endpoint::new(&config).unwrap();
        assert_eq!(endpoint.headers()["x-api-key"], "topsecret");
        assert_eq!(endpoint.secrets.clean("you sent topsecret"), "you sent ***");
        for (name, value) in [("x y", "v"), ("x-a", "top\u{7f}secret"), ("Content-Type", "v")] {
            let headers = [(name.to_owned(), value.to_owned())].into();
            let error = refused(&HttpConfig { headers, ..config.clone() });
            assert!(error.contains(&format!("{name:?}")) && !error.contains("secret"), "{error}");
        }
    }
}
