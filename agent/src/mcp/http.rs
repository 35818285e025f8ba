//! Servers at an address: one host, no redirects, no message longer than there may be.
//!
//! Apart because a client of the network is made here. Whoever names the address in the settings allows it; nothing that a
//! server says leads elsewhere.

use std::collections::BTreeMap;
use std::error::Error;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::service::ClientInitializeError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use secrecy::{ExposeSecret, SecretString};

use super::bounded::LONGEST;
use crate::provider::http::{builder, is_loopback};
use crate::provider::innermost;

/// How much is told of what it answers, in characters.
const TOLD: usize = 200;

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

/// Why nobody there greets, in words: the SDK tells its own types.
pub(super) fn why(error: &ClientInitializeError) -> String {
    let ClientInitializeError::TransportError { error, .. } = error else { return error.to_string() };
    let mut cause: &dyn Error = error.error.as_ref();
    loop {
        if let Some(error) = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            return match error {
                StreamableHttpError::Client(error) => match error.status() {
                    Some(status) => format!("it answers HTTP {status}"),
                    None => format!("it cannot be reached: {}", innermost(error)),
                },
                StreamableHttpError::UnexpectedContentType(_) => {
                    "what answers there does not speak the Model Context Protocol".to_owned()
                }
                StreamableHttpError::HttpStatus(error) => format!("it answers HTTP {}", error.status),
                StreamableHttpError::UnexpectedServerResponse(said) => {
                    format!("it answers {}", uwf_store::excerpt(said, TOLD))
                }
                other => other.to_string(),
            };
        }
        match cause.source() {
            Some(deeper) => cause = deeper,
            None => return cause.to_string(),
        }
    }
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
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn who_does_not_greet_is_told_in_plain_words() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let greet = |url: String| {
            let _within = runtime.enter();
            let transport = transport(&url, &BTreeMap::new()).unwrap();
            why(&runtime.block_on(rmcp::serve_client((), transport)).unwrap_err())
        };
        let answers = |head: &'static str| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            std::thread::spawn(move || {
                for mut stream in listener.incoming().take(4).flatten() {
                    let _ = stream.read(&mut [0; 4096]);
                    let _ =
                        write!(stream, "HTTP/1.1 {head}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
                }
            });
            url
        };
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let refused = greet(format!("http://{nobody}/mcp"));
        assert!(refused.starts_with("it cannot be reached: Connection refused"), "{refused}");
        assert_eq!(greet(answers("404 Not Found")), "it answers HTTP 404 Not Found: no");
        let page = "what answers there does not speak the Model Context Protocol";
        assert_eq!(greet(answers("200 OK\r\nContent-Type: text/html")), page);
    }

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
