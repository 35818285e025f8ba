//! `fetch:` of a mock script: what the web says, so that a scripted run asks nobody.
//!
//! Apart because it says nothing of the model. A page is found by its URL as it would be asked for.

use std::collections::BTreeMap;
use std::net::IpAddr;

use reqwest::Url;
use serde_json::Value;
use uwf_store::schema::pointer;

use super::read::ScriptReader;

const PAGE: &[&str] = &["status", "type", "body", "location", "error", "address"];

/// What is at a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptedPage {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: String,
    /// Where it sends on to.
    pub(crate) location: Option<String>,
    /// The host cannot be asked, and why.
    pub(crate) error: Option<String>,
    /// Where the host is.
    pub(crate) address: Option<IpAddr>,
}

impl<'d> ScriptReader<'d> {
    /// All pages, by their URLs.
    pub(super) fn pages(&mut self) -> BTreeMap<String, ScriptedPage> {
        let pages = match self.document.value.get("fetch") {
            None => return BTreeMap::new(),
            Some(Value::Object(pages)) => pages,
            Some(other) => {
                self.mismatch("/fetch", "a mapping of URLs", other);
                return BTreeMap::new();
            }
        };
        let page = |(url, page): (&String, &'d Value)| {
            let pointer = format!("/fetch/{}", pointer::escape(url));
            let url = Url::parse(url).map_err(|error| {
                self.problem(&pointer, format!("expected an absolute URL: {error}"));
            });
            Some((url.ok()?.into(), self.page(&pointer, page)?))
        };
        pages.iter().filter_map(page).collect()
    }

    fn page(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptedPage> {
        let map = self.object(pointer, value, PAGE)?;
        let location = self.text(pointer, map, "location");
        let usual = if location.is_some() { 302 } else { 200 };
        let status = self.get(pointer, map, "status", ("a status from 200 to 599", status));
        Some(ScriptedPage {
            status: status.unwrap_or(usual),
            content_type: self.text(pointer, map, "type").unwrap_or_else(|| "text/html".to_owned()),
            body: self.text(pointer, map, "body").unwrap_or_default(),
            location,
            error: self.text(pointer, map, "error"),
            address: self.get(pointer, map, "address", ("an IP address", address)),
        })
    }
}

fn status(value: &Value) -> Option<u16> {
    u16::try_from(value.as_u64()?).ok().filter(|status| (200..600).contains(status))
}

fn address(value: &Value) -> Option<IpAddr> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::provider::Script;

    #[test]
    fn pages_are_found_by_their_urls_and_what_is_none_is_told_with_its_line() {
        let turns = "turns: [{content: a}]\n";
        let script = "fetch:\n  HTTPS://Docs.Example:443/a/../b: {body: x}\n  https://c.example: {location: /d}\n  http://e.example/: {status: 404, type: text/plain, address: 10.0.0.1}\n";
        let read = Script::parse("s", &format!("{turns}{script}")).unwrap();
        let pages = read.pages();
        let names: Vec<&str> = pages.keys().map(String::as_str).collect();
        assert_eq!(names, ["http://e.example/", "https://c.example/", "https://docs.example/b"]);
        assert_eq!((pages["https://docs.example/b"].status, pages["https://c.example/"].status), (200, 302));
        assert_eq!(pages["http://e.example/"].address, Some([10, 0, 0, 1].into()));
        for (wrong, problem) in [
            ("fetch: [a]", "line 2: fetch: expected a mapping of URLs, got a list"),
            ("fetch: {b: {}}", "expected an absolute URL"),
            ("fetch: {https://a/: {bodi: x}}", "did you mean `body`?"),
            ("fetch: {https://a/: {status: 99}}", "expected a status from 200 to 599"),
            ("fetch: {https://a/: {address: home}}", "expected an IP address"),
        ] {
            let error = Script::parse("s", &format!("{turns}{wrong}\n")).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
