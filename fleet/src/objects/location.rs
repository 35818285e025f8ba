//! The URL of an object store: which bucket or directory, and never a key.

use std::path::PathBuf;

use reqwest::Url;

use crate::FleetError;

/// Where objects are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// `s3://BUCKET/PREFIX?endpoint=URL&region=REGION`.
    S3 { bucket: String, prefix: String, endpoint: Option<String>, region: String, allow_http: bool },
    /// `file:///DIRECTORY`.
    Directory(PathBuf),
}

fn wrong(what: impl Into<String>, hint: &str) -> FleetError {
    FleetError::Objects { what: what.into(), hint: Some(hint.to_owned()), passes: false }
}

const SHAPE: &str = "s3://BUCKET/PREFIX?region=REGION (and &endpoint=https://HOST for a server that is not Amazon's), or \
                     file:///DIRECTORY for one that all machines mount";
const NO_KEYS: &str = "leave them out: programs read AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of their environment";

impl Location {
    /// What a URL says. Errors show nothing of it that may be a key.
    pub(super) fn parse(text: &str) -> Result<(Location, Url), FleetError> {
        let url = Url::parse(text)
            .map_err(|error| wrong(format!("that is no URL of an object store: {error}"), SHAPE))?;
        refuse_keys(&url)?;
        let location = match url.scheme() {
            "s3" => s3(&url)?,
            "file" if url.query().is_none() && url.host_str().is_none() => match url.to_file_path() {
                Ok(path) if path.parent().is_some() => Location::Directory(path),
                _ => return Err(wrong("that is no directory for objects", SHAPE)),
            },
            scheme => return Err(wrong(format!("`{scheme}:` is no object store that uwf knows"), SHAPE)),
        };
        Ok((location, url))
    }
}

fn refuse_keys(url: &Url) -> Result<(), FleetError> {
    match url.username().is_empty() && url.password().is_none() {
        true => Ok(()),
        false => Err(wrong("the URL of an object store has keys in it", NO_KEYS)),
    }
}

fn s3(url: &Url) -> Result<Location, FleetError> {
    let bucket = url.host_str().filter(|host| !host.is_empty());
    let bucket = bucket.ok_or_else(|| wrong("the URL names no bucket", SHAPE))?.to_owned();
    let prefix = url.path().trim_matches('/').to_owned();
    let (mut endpoint, mut region, mut allow_http) = (None, "us-east-1".to_owned(), false);
    for (name, value) in url.query_pairs() {
        match name.as_ref() {
            "endpoint" => endpoint = Some(value.into_owned()),
            "region" => region = value.into_owned(),
            "allow_http" => allow_http = value == "true",
            name if ["key", "secret", "token", "password", "credential", "signature"]
                .iter()
                .any(|word| name.to_ascii_lowercase().contains(word)) =>
            {
                return Err(wrong("the URL of an object store has keys in it", NO_KEYS));
            }
            name => {
                let hint = "endpoint, region and allow_http are known";
                return Err(wrong(format!("`{name}` is no parameter of an object store"), hint));
            }
        }
    }
    if let Some(endpoint) = &endpoint {
        allow_http = check_endpoint(endpoint, allow_http)?;
    }
    Ok(Location::S3 { bucket, prefix, endpoint, region, allow_http })
}

/// Whether an endpoint is spoken to in the clear.
fn check_endpoint(endpoint: &str, allow_http: bool) -> Result<bool, FleetError> {
    let url =
        Url::parse(endpoint).map_err(|error| wrong(format!("the endpoint is no URL: {error}"), SHAPE))?;
    refuse_keys(&url)?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    match url.scheme() {
        "https" => Ok(false),
        "http" if is_here || allow_http => Ok(true),
        "http" => Err(wrong(
            format!("http to {host} sends everything in the clear"),
            "use https, or add &allow_http=true where the network is trusted",
        )),
        scheme => Err(wrong(format!("`{scheme}:` is no endpoint of an object store"), SHAPE)),
    }
}
