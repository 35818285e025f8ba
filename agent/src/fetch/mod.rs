//! `fetch_url`: a page of the web as text, within the policy for the network that people have set.
//!
//! A call goes `policy` (may this URL be asked?) → `net` (its addresses, each of which is asked about again; then the one
//! exchange, with these and no other) → `policy` for each redirect → `page` (unpacked, told apart, as text). `address` and
//! `policy` are pure, `net` is all that connects, and `scripted` stands in for it in a scripted run. It is offered where a
//! host is allowed, and nowhere else.

mod address;
mod html;
mod net;
mod page;
mod policy;
mod scripted;
#[cfg(test)]
mod stand_in;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use uwf_store::excerpt;
use uwf_store::json::sorted;
use uwf_tools::Cancel;

use self::net::{Internet, Net, Reply};
use self::page::{Page, PageError, content_type};
pub(crate) use self::policy::{FetchPolicy, HostRule};
use self::policy::{Refusal, Target};
use self::scripted::ScriptedNet;
use crate::call_runtime;
use crate::own_tool::{OwnOutput, OwnTool};
use crate::provider::ScriptedPage;
use crate::provider::message::ToolDeclaration;

/// What the model calls it by.
pub(crate) const NAME: &str = "fetch_url";

/// How often one call is sent on.
const MAX_REDIRECTS: usize = 5;

/// How much of a URL people are shown, in characters.
const TITLE_CHARS: usize = 60;

/// The tool.
pub(crate) struct FetchUrl {
    policy: FetchPolicy,
    net: Box<dyn Net>,
    declaration: ToolDeclaration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FetchArgs {
    url: String,
}

/// Why nothing is fetched. Displays for the model.
#[derive(Debug, Error)]
enum FetchError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{from} sends on to another place: {why}")]
    SentOn { from: String, why: Refusal },
    #[error("{host} cannot be looked up: {why}")]
    LookUp { host: String, why: String },
    #[error("{host} cannot be asked: {why}")]
    Net { host: String, why: String },
    #[error("it is sent on more than {MAX_REDIRECTS} times")]
    Redirects,
    #[error("it is {0}, which may not be fetched: {1}")]
    Type(String, String),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error("it took longer than {0} s")]
    Time(u64),
}

/// A page, and how it was come by.
struct Fetched {
    target: Target,
    status: u16,
    redirects: usize,
    page: Page,
}

/// The tool as a model is told of it that may ask these hosts.
pub(crate) fn declaration(hosts: &str) -> ToolDeclaration {
    let description = include_str!("fetch_url.md").trim();
    ToolDeclaration {
        name: NAME.to_owned(),
        description: format!("{description}\n\nHosts that may be asked: {hosts}."),
        parameters: sorted(json!({
            "type": "object",
            "properties": {"url": {"type": "string", "description": "Absolute, http or https"}},
            "required": ["url"],
            "additionalProperties": false,
        })),
    }
}

impl FetchUrl {
    /// The tool as it asks the network.
    pub(crate) fn new(policy: FetchPolicy) -> FetchUrl {
        FetchUrl::over(policy, Box::new(Internet))
    }

    /// The tool of a scripted run: the script's pages are all there are.
    pub(crate) fn scripted(policy: FetchPolicy, pages: BTreeMap<String, ScriptedPage>) -> FetchUrl {
        FetchUrl::over(policy, Box::new(ScriptedNet(pages)))
    }

    fn over(policy: FetchPolicy, net: Box<dyn Net>) -> FetchUrl {
        let declaration = declaration(&policy.hosts());
        FetchUrl { policy, net, declaration }
    }

    /// As the loop has it.
    pub(crate) fn shared(self) -> Arc<dyn OwnTool> {
        Arc::new(self)
    }

    /// The page, within the time that there is.
    async fn fetch(&self, url: &str) -> Result<Fetched, FetchError> {
        let time = self.policy.time;
        let fetched = tokio::time::timeout(time, self.follow(url)).await;
        fetched.unwrap_or(Err(FetchError::Time(time.as_secs())))
    }

    /// Goes from place to place until one does not send on.
    async fn follow(&self, url: &str) -> Result<Fetched, FetchError> {
        let mut target = self.policy.target(url)?;
        for redirects in 0..=MAX_REDIRECTS {
            let addresses = self.addresses(&target).await?;
            let asked = self.net.get(&target, &addresses).await;
            let reply = asked.map_err(|why| FetchError::Net { host: target.host.clone(), why })?;
            match reply.location.as_deref().filter(|_| matches!(reply.status, 301 | 302 | 303 | 307 | 308)) {
                Some(location) => {
                    let sent_on = self.policy.redirected(&target, location);
                    target = sent_on.map_err(|why| FetchError::SentOn { from: target.host.clone(), why })?;
                }
                None => {
                    let status = reply.status;
                    let page = self.page(&target, reply).await?;
                    return Ok(Fetched { target, status, redirects, page });
                }
            }
        }
        Err(FetchError::Redirects)
    }

    /// The addresses of a host, all of which may be asked.
    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, FetchError> {
        let failed = |why| FetchError::LookUp { host: target.host.clone(), why };
        let addresses = match target.address() {
            Some(address) => vec![address],
            None => self.net.look_up(&target.host).await.map_err(|error| failed(error.to_string()))?,
        };
        if addresses.is_empty() {
            return Err(failed("it has no address".to_owned()));
        }
        // A host that is inside by one of its addresses is inside.
        addresses.iter().try_for_each(|address| self.policy.check_address(target, *address))?;
        Ok(addresses)
    }

    /// The body to its end, or to the limit.
    async fn page(&self, target: &Target, mut reply: Reply) -> Result<Page, FetchError> {
        let (max, (essence, _)) = (self.policy.max_bytes, content_type(&reply.content_type));
        if !self.policy.takes_type(&essence) {
            return Err(FetchError::Type(essence, self.policy.types.join(", ")));
        }
        if reply.length.is_some_and(|length| length > max) {
            return Err(PageError::TooLarge(max).into());
        }
        let mut body = Vec::new();
        while let Some(piece) = reply.body.next().await {
            let piece = piece.map_err(|why| FetchError::Net { host: target.host.clone(), why })?;
            if (body.len() + piece.len()) as u64 > max {
                return Err(PageError::TooLarge(max).into());
            }
            body.extend_from_slice(&piece);
        }
        let body = page::unpacked(body, &reply.content_encoding, max)?;
        Ok(Page::of(&body, &reply.content_type, &target.url))
    }

    fn called(&self, url: &str, cancel: &Cancel) -> OwnOutput {
        let shown = excerpt(url.trim_start_matches("https://"), TITLE_CHARS);
        match call_runtime::run(self.fetch(url), cancel) {
            Ok(Ok(fetched)) => fetched.output(url, &shown),
            Ok(Err(error)) => OwnOutput {
                title: format!("fetch {shown}: not done"),
                text: refused(&error, self.policy.proxy),
                is_error: true,
                ..OwnOutput::default()
            },
            Err(why) => OwnOutput {
                title: format!("fetch {shown}: cancelled"),
                text: format!("{url} was not fetched: {why}"),
                is_error: true,
                ..OwnOutput::default()
            },
        }
    }
}

/// What the model is told of a page that was not fetched.
fn refused(error: &FetchError, proxy: Option<&str>) -> String {
    let hint = match error {
        FetchError::Refused(refusal) | FetchError::SentOn { why: refusal, .. } => refusal.hint(),
        _ => None,
    };
    let is_unreached =
        matches!(error, FetchError::Net { .. } | FetchError::LookUp { .. } | FetchError::Time(_));
    if let Some(variable) = proxy.filter(|_| is_unreached) {
        return format!(
            "nothing was fetched: {error}. {variable} names a proxy, which fetch_url does not use: where that is the only way \
             out, it reaches no host. Go on without it, or say in your answer that it is needed"
        );
    }
    match hint {
        Some(hint) => format!(
            "nothing was fetched: {error}. Go on without it, or say in your answer that it is needed; people allow it by {hint}"
        ),
        None => format!("nothing was fetched: {error}"),
    }
}

impl Fetched {
    fn output(self, asked: &str, shown: &str) -> OwnOutput {
        let Fetched { target, status, redirects, page } = self;
        let url = target.url.as_str();
        let kind = if page.essence.is_empty() { "no type" } else { &page.essence };
        let sent_on = if redirects > 0 { format!("; sent on from {asked}") } else { String::new() };
        let title = if page.title.is_empty() { String::new() } else { format!("title: {}\n", page.title) };
        let text = match &page.text {
            Ok(text) if text.trim().is_empty() => "(there is no text in it)",
            Ok(text) => text,
            Err(what) => &format!("(it is {what}, which is not shown as text)"),
        };
        let head = format!("({status}, {kind}, {} bytes, sha256 {}{sent_on})", page.bytes, page.sha256);
        let about = json!({
            "url": url, "status": status, "type": page.essence, "bytes": page.bytes, "sha256": page.sha256,
            "redirects": redirects,
        });
        OwnOutput {
            text: format!("{url}\n{head}\n{title}\n{text}"),
            title: format!("fetch {shown} ({status})"),
            is_error: status >= 400,
            about: Some(about),
            is_kept: true,
        }
    }
}

impl OwnTool for FetchUrl {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn reads_only(&self) -> bool {
        true
    }

    fn call(&self, arguments: &str, cancel: &Cancel) -> OwnOutput {
        match serde_json::from_str::<FetchArgs>(arguments) {
            Ok(args) => self.called(&args.url, cancel),
            Err(error) => OwnOutput {
                title: format!("{NAME}: wrong arguments"),
                text: format!("{NAME} was not run: {error}\nExpected: {{\"url\": string}}"),
                is_error: true,
                ..OwnOutput::default()
            },
        }
    }
}

#[cfg(test)]
#[path = "attacks_tests.rs"]
mod attacks;
#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
