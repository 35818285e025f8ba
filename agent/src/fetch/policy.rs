//! Which URLs and which addresses may be fetched: the rules, and what is wrong with what they do not allow.
//!
//! Apart because it is pure: it looks nothing up and connects to nothing, so that every rule can be tried without a network.
//! Whoever fetches asks three times: for the URL, for the addresses of its host, and for each place that it is sent on to.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use thiserror::Error;

use super::address::{self, AddressKind};

/// The longest URL, in bytes.
const MAX_URL: usize = 8_192;

/// What may be fetched, and how much of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FetchPolicy {
    /// The hosts; one of these must name the host of a URL.
    pub hosts: Vec<HostRule>,
    /// The hosts of the role; where it has some, one of these must name it as well.
    pub role: Option<Vec<HostRule>>,
    /// Whether addresses inside (this machine, its networks) may be asked.
    pub private: bool,
    /// The largest body, before and after it is unpacked.
    pub max_bytes: u64,
    /// How long a call may take in all.
    pub time: Duration,
    /// Content types: `text/html`, `text/*`, `*/*+json`.
    pub types: Vec<String>,
    /// The variable that names a proxy, which is not used: told where a host cannot be reached.
    pub proxy: Option<&'static str>,
}

/// A host that may be asked: `docs.rs`, `*.example.com`, `localhost:8080`, `http://intranet`, `[::1]:80`, `*`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostRule {
    scheme: Option<Scheme>,
    host: HostPattern,
    port: Option<u16>,
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum HostPattern {
    Any,
    Name(String),
    /// All names below this one.
    Below(String),
    Address(IpAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

impl Scheme {
    fn of(word: &str) -> Option<Scheme> {
        match word {
            "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            _ => None,
        }
    }

    fn port(self) -> u16 {
        if self == Scheme::Http { 80 } else { 443 }
    }
}

/// A URL that may be fetched, as far as it tells by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Without a fragment and without a dot behind the host.
    pub url: Url,
    /// A name, or an address without brackets.
    pub host: String,
    pub port: u16,
    scheme: Scheme,
}

impl Target {
    /// The address, where the URL has one in the place of a name.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

/// Why something is not fetched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("this is no URL such as https://example.org/page: {0}")]
    NoUrl(String),
    #[error("the URL has {0}, which no URL may have here")]
    Holds(&'static str),
    #[error("only http and https are fetched, not {0}:")]
    Scheme(String),
    #[error("{host} is not among the hosts that may be fetched: {allowed}")]
    Host { host: String, allowed: String },
    #[error("{host} may be fetched, but not by {scheme} on port {port}: {allowed}")]
    Port { host: String, scheme: String, port: u16, allowed: String },
    #[error("{host} is at {address}, {kind}, which may not be fetched")]
    Address { host: String, address: IpAddr, kind: AddressKind },
    #[error("{host} is sent on from https to http, which gives away what is asked")]
    Downgrade { host: String },
}

impl Refusal {
    /// What people can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Refusal::Host { host, .. } => {
                Some(format!("`fetch: {{ hosts: [{host}] }}` in agents/builtin.yaml, or --fetch-host {host}"))
            }
            Refusal::Port { host, port, .. } => Some(format!("--fetch-host {host}:{port}")),
            Refusal::Address { kind, .. } if kind.is_inside() => {
                Some("`fetch: { private: true }` in agents/builtin.yaml".to_owned())
            }
            Refusal::Downgrade { host } => Some(format!("--fetch-host http://{host}")),
            _ => None,
        }
    }
}

impl FetchPolicy {
    /// The URL, if it may be fetched.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub(crate) fn target(&self, text: &str) -> Result<Target, Refusal> {
        let target = parse(text)?;
        self.check(&target)?;
        Ok(target)
    }

    /// Where a reply from `from` sends on to, if that may be fetched.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub(crate) fn redirected(&self, from: &Target, location: &str) -> Result<Target, Refusal> {
        clean(location)?;
        let joined = from.url.join(location).map_err(|error| Refusal::NoUrl(error.to_string()))?;
        let target = parse(joined.as_str())?;
        self.check(&target)?;
        let is_downgrade = from.scheme == Scheme::Https && target.scheme == Scheme::Http;
        let by_name = |rule: &HostRule| rule.scheme == Some(Scheme::Http) && rule.allows(&target);
        if is_downgrade && !self.rules().all(|rules| rules.iter().any(by_name)) {
            return Err(Refusal::Downgrade { host: target.host });
        }
        Ok(target)
    }

    /// Whether a host at this address may be asked.
    ///
    /// # Errors
    /// [`Refusal::Address`].
    pub(crate) fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), Refusal> {
        let kind = address::kind(address);
        let is_allowed = match kind {
            AddressKind::Public => true,
            // Whoever wants credentials of a cloud asked for has to name that very address.
            AddressKind::Metadata => {
                let names_it = |rule: &HostRule| rule.host == HostPattern::Address(address);
                self.private
                    && target.address() == Some(address)
                    && self.rules().all(|rules| rules.iter().any(names_it))
            }
            kind => kind.is_inside() && self.private,
        };
        if is_allowed { Ok(()) } else { Err(Refusal::Address { host: target.host.clone(), address, kind }) }
    }

    /// Whether a body of this content type may be fetched; one that is not told may.
    pub(crate) fn takes_type(&self, essence: &str) -> bool {
        let (main, sub) = essence.split_once('/').unwrap_or((essence, ""));
        let suffix = sub.rsplit_once('+').map_or("", |(_, suffix)| suffix);
        let takes = |pattern: &String| match pattern.split_once('/') {
            Some((of, "*")) => of == "*" || of == main,
            Some((of, pattern)) if pattern.starts_with("*+") => {
                (of == "*" || of == main) && pattern[2..] == *suffix
            }
            _ => *pattern == essence,
        };
        essence.is_empty() || (essence.contains('/') && self.types.iter().any(takes))
    }

    /// The hosts as people wrote them.
    pub(crate) fn hosts(&self) -> String {
        let rules = self.role.as_ref().unwrap_or(&self.hosts);
        let names: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
        names.join(", ")
    }

    /// The policy as the journal and the record keep it.
    pub(crate) fn describe(&self) -> Value {
        let texts = |rules: &[HostRule]| rules.iter().map(|rule| rule.text.clone()).collect::<Vec<_>>();
        let mut described = json!({
            "hosts": texts(&self.hosts), "private": self.private, "maxBytes": self.max_bytes,
            "seconds": self.time.as_secs(), "types": self.types,
        });
        if let Some(role) = &self.role {
            described["role"] = json!(texts(role));
        }
        described
    }

    fn rules(&self) -> impl Iterator<Item = &Vec<HostRule>> {
        [&self.hosts].into_iter().chain(&self.role)
    }

    /// Whether every list names the target's host, by its scheme and port.
    fn check(&self, target: &Target) -> Result<(), Refusal> {
        let (host, allowed) = (target.host.clone(), self.hosts());
        for rules in self.rules() {
            if rules.iter().any(|rule| rule.allows(target)) {
                continue;
            }
            if !rules.iter().any(|rule| rule.names(target)) {
                return Err(Refusal::Host { host, allowed });
            }
            let scheme = target.url.scheme().to_owned();
            return Err(Refusal::Port { host, scheme, port: target.port, allowed });
        }
        Ok(())
    }
}

impl HostRule {
    fn names(&self, target: &Target) -> bool {
        match &self.host {
            HostPattern::Any => true,
            HostPattern::Name(name) => *name == target.host,
            HostPattern::Below(name) => {
                target.address().is_none()
                    && target.host.strip_suffix(name.as_str()).is_some_and(|below| below.ends_with('.'))
            }
            HostPattern::Address(address) => target.address() == Some(*address),
        }
    }

    fn allows(&self, target: &Target) -> bool {
        let port = self.port.unwrap_or(target.scheme.port());
        self.names(target) && self.scheme.is_none_or(|scheme| scheme == target.scheme) && port == target.port
    }
}

impl FromStr for HostRule {
    type Err = String;

    fn from_str(text: &str) -> Result<HostRule, String> {
        let wrong = |why: &str| format!("{text:?} is no host: {why}");
        let (scheme, rest) = match text.split_once("://") {
            Some((word, rest)) => (
                Some(Scheme::of(word).ok_or_else(|| wrong("only http:// and https:// may stand before it"))?),
                rest,
            ),
            None => (None, text),
        };
        if rest.contains(['/', '@', '?', '#', '\\', '%'])
            || rest.contains(|c: char| c.is_whitespace() || c.is_control())
        {
            return Err(wrong("expected a name such as docs.rs, *.example.com, or localhost:8080"));
        }
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, Some(port_of(port).ok_or_else(|| wrong("its port is not a number from 1 to 65535"))?))
            }
            _ => (rest, None),
        };
        let (below, name) = host.strip_prefix("*.").map_or((false, host), |name| (true, name));
        let host = match (name, below) {
            ("*", false) => HostPattern::Any,
            (name, _) if name.contains('*') => {
                return Err(wrong("`*` stands alone or for what is before a dot"));
            }
            (name, _) => {
                let url =
                    Url::parse(&format!("http://{name}/")).map_err(|error| wrong(&error.to_string()))?;
                let name = bare_host(&url).map_err(|error| wrong(&error.to_string()))?;
                match name.parse() {
                    Ok(_) if below => return Err(wrong("nothing is below an address")),
                    Ok(address) => HostPattern::Address(address),
                    Err(_) if below => HostPattern::Below(name),
                    Err(_) => HostPattern::Name(name),
                }
            }
        };
        Ok(HostRule { scheme, host, port, text: text.to_owned() })
    }
}

fn port_of(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

/// Nothing that parsers of URLs read in different ways.
fn clean(text: &str) -> Result<(), Refusal> {
    if text.len() > MAX_URL {
        return Err(Refusal::Holds("more than 8 KB"));
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Refusal::Holds("spaces or control characters"));
    }
    if text.contains('\\') {
        return Err(Refusal::Holds("a backslash"));
    }
    Ok(())
}

/// The URL as it will be asked for. Numbers in other notations, percent signs and other scripts in its host are resolved by
/// the parser: what is compared is what is asked.
fn parse(text: &str) -> Result<Target, Refusal> {
    clean(text)?;
    let mut url = Url::parse(text).map_err(|error| Refusal::NoUrl(error.to_string()))?;
    let scheme = Scheme::of(url.scheme()).ok_or_else(|| Refusal::Scheme(url.scheme().to_owned()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::Holds("a user name or password"));
    }
    let host = bare_host(&url)?;
    if url.host_str().is_some_and(|shown| shown.ends_with('.')) {
        url.set_host(Some(&host)).map_err(|error| Refusal::NoUrl(error.to_string()))?;
    }
    url.set_fragment(None);
    let port = url.port().unwrap_or(scheme.port());
    Ok(Target { url, host, port, scheme })
}

/// The host without brackets, and without the one dot that may end a name.
fn bare_host(url: &Url) -> Result<String, Refusal> {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    match host.is_empty() || host.ends_with('.') {
        true => Err(Refusal::NoUrl("it has no host".to_owned())),
        false => Ok(host.to_owned()),
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
