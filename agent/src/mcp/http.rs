//! Servers at an address: one host, no redirects, no message longer than there may be.
//!
//! Apart because a client of the network is made here. Whoever names the address in the settings allows it; nothing that a
//! server says leads elsewhere.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;

use super::bounded::LONGEST;
use crate::provider::http::{builder, is_loopback};

/// How messages go to this address.
///
/// # Errors
/// There is no client for it, in words.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, SecretString>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url} is no address: {error}"))?;
    let client = builder((parsed.scheme() == "https", is_loopback(&parsed)));
    let client = client.default_headers(default_headers(headers)?).build();
    let client = client.map_err(|error| format!("no HTTP client can be made: {error}"))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.max_sse_event_size = LONGEST;
    config.max_json_response_size = LONGEST;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn default_headers(headers: &BTreeMap<String, SecretString>) -> Result<HeaderMap, String> {
    let header = |(name, value): (&String, &SecretString)| {
        let wrong = || format!("the header {name} cannot be sent");
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    headers.iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _within = runtime.enter();
        let headers = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.into())]);
        assert!(transport("http://127.0.0.1:1/mcp", &headers("X-Team", "a")).is_ok());
        for (name, value) in [("X-Team", "hush\nhush"), ("X Team", "hush")] {
            let error = transport("http://127.0.0.1:1/mcp", &headers(name, value)).err().unwrap();
            assert_eq!(error, format!("the header {name} cannot be sent"));
        }
    }
}
