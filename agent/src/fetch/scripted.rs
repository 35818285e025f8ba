//! The pages of a mock script in the place of the network: a scripted run asks nobody.
//!
//! Apart from the real network so that everything before and after it is the same: rules, redirects, limits, text.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use futures_util::stream;
use reqwest::Url;

use super::net::{Later, Net, Reply};
use super::policy::Target;
use crate::provider::ScriptedPage;

/// Where hosts of a script are unless it says otherwise: outside. Nobody connects to it.
const OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(1, 1, 1, 1));

/// The pages of a script by their URLs.
pub(super) struct ScriptedNet(pub BTreeMap<String, ScriptedPage>);

impl ScriptedNet {
    fn get(&self, target: &Target) -> Result<Reply, String> {
        let none = || "the mock script has no page of this URL under `fetch:`".to_owned();
        let page = self.0.get(target.url.as_str()).ok_or_else(none)?;
        if let Some(error) = &page.error {
            return Err(error.clone());
        }
        let body = Bytes::from(page.body.clone());
        Ok(Reply {
            status: page.status,
            content_type: page.content_type.clone(),
            content_encoding: String::new(),
            location: page.location.clone(),
            length: Some(body.len() as u64),
            body: Box::pin(stream::iter([Ok(body)])),
        })
    }
}

impl Net for ScriptedNet {
    fn look_up<'a>(&'a self, host: &'a str) -> Later<'a, io::Result<Vec<IpAddr>>> {
        let is_of = |url: &str| Url::parse(url).is_ok_and(|url| url.host_str() == Some(host));
        let said = self.0.iter().filter(|(url, _)| is_of(url)).find_map(|(_, page)| page.address);
        Box::pin(async move { Ok(vec![said.unwrap_or(OUTSIDE)]) })
    }

    fn get<'a>(&'a self, target: &'a Target, _: &'a [IpAddr]) -> Later<'a, Result<Reply, String>> {
        let reply = self.get(target);
        Box::pin(async move { reply })
    }
}
