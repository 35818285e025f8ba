//! What `fetch_url` may fetch: `fetch:` of `agents/builtin.yaml` and `--fetch-host`, and what of it a role has.
//!
//! Apart because no host is allowed by default: without one there is no such tool.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::Env;

use super::provenance::{Provenance, SettingSource};
use super::{BUILTIN, Flags, SettingsError};
use crate::fetch::{self, FetchPolicy, HostRule};
use crate::permissions::RolePermissions;

/// The largest body, in bytes, and the longest time of a call, in seconds.
const MAX_BYTES: u64 = 5_000_000;
const SECONDS: u64 = 30;

/// Where hosts are named.
const FILE: &str = "agents/builtin.yaml: fetch.hosts";
const OPTION: &str = "--fetch-host";

/// Where programs are told of a proxy.
const PROXIES: &[&str] =
    &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"];

/// What is text, and PDF, which is told apart.
const TYPES: &[&str] = &[
    "text/*",
    "*/*+json",
    "*/*+xml",
    "application/json",
    "application/ld+json",
    "application/xml",
    "application/javascript",
    "application/ndjson",
    "application/x-ndjson",
    "application/toml",
    "application/yaml",
    "application/x-yaml",
    "application/sql",
    "application/rtf",
    "application/pdf",
];

/// `fetch:` in `agents/builtin.yaml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileFetch {
    hosts: Vec<String>,
    private: bool,
    max_bytes: Option<u64>,
    seconds: Option<u64>,
    types: Option<Vec<String>>,
}

impl FileFetch {
    /// What may be fetched: from the hosts of the file and those that were typed; none where there are none, or where other
    /// tools were typed.
    ///
    /// # Errors
    /// [`SettingsError::FetchHost`], and [`SettingsError::NoFetchHost`] where the tool was typed.
    pub(super) fn policy(
        self,
        flags: &Flags,
        env: &Env,
        provenance: &mut Vec<Provenance>,
    ) -> Result<Option<FetchPolicy>, SettingsError> {
        let of_file = rules(&self.hosts).map_err(|why| SettingsError::FetchHost { place: FILE, why })?;
        let typed =
            rules(&flags.fetch_hosts).map_err(|why| SettingsError::FetchHost { place: OPTION, why })?;
        let from = if typed.is_empty() { SettingSource::File(BUILTIN) } else { SettingSource::Run };
        let hosts = [of_file, typed].concat();
        let is_offered =
            flags.tools.as_ref().is_none_or(|names| names.iter().any(|name| name == fetch::NAME));
        if hosts.is_empty() {
            let is_typed = flags.tools.is_some() && is_offered;
            return if is_typed { Err(SettingsError::NoFetchHost) } else { Ok(None) };
        }
        let types = || TYPES.iter().map(|kind| (*kind).to_owned()).collect();
        let policy = FetchPolicy {
            hosts,
            role: None,
            private: self.private,
            max_bytes: self.max_bytes.unwrap_or(MAX_BYTES),
            time: Duration::from_secs(self.seconds.unwrap_or(SECONDS)),
            types: self.types.unwrap_or_else(types),
            proxy: PROXIES.iter().copied().find(|name| env.text(name).is_some_and(|proxy| !proxy.is_empty())),
        };
        provenance.push(Provenance::new("fetch.hosts", policy.hosts(), from));
        Ok(Some(policy).filter(|_| is_offered))
    }
}

fn rules(hosts: &[String]) -> Result<Vec<HostRule>, String> {
    hosts.iter().map(|host| host.parse()).collect()
}

/// What is left of the policy for a role; none where it may not fetch. `typed` are the tools that were typed.
///
/// # Errors
/// [`SettingsError::NoFetchHost`] where the role has hosts and nobody else has: it narrows, and would have nothing.
pub(super) fn of_role(
    policy: Option<FetchPolicy>,
    role: &RolePermissions,
    typed: Option<&[String]>,
) -> Result<Option<FetchPolicy>, SettingsError> {
    let names_it = |names: &[String]| names.iter().any(|name| name == fetch::NAME);
    if !role.tools.as_deref().is_none_or(names_it) || role.network == Some(false) {
        return Ok(None);
    }
    match (&role.fetch, policy) {
        (None, policy) => Ok(policy),
        (Some(hosts), _) if hosts.is_empty() => Ok(None),
        (Some(_), None) if typed.is_none_or(names_it) => Err(SettingsError::NoFetchHost),
        (Some(hosts), policy) => {
            // They were checked when they were read.
            let rules = hosts.iter().filter_map(|host| host.parse().ok()).collect();
            Ok(policy.map(|policy| FetchPolicy { role: Some(rules), ..policy }))
        }
    }
}

/// The shape of `fetch:`.
pub(super) fn shape() -> Value {
    let some = json!({"type": "integer", "minimum": 1});
    let texts = json!({"type": "array", "items": {"type": "string", "minLength": 1}});
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "hosts": texts, "private": {"type": "boolean"}, "maxBytes": some, "seconds": some, "types": texts,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: Value, flags: &Flags) -> Result<Option<FetchPolicy>, String> {
        let file: FileFetch = serde_json::from_value(file).unwrap();
        file.policy(flags, &Env::default(), &mut Vec::new()).map_err(|error| error.to_string())
    }

    fn typed(hosts: &[&str], tools: Option<&[&str]>) -> Flags {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Flags { fetch_hosts: owned(hosts), tools: tools.map(owned), ..Flags::default() }
    }

    #[test]
    fn a_proxy_of_the_environment_is_noticed() {
        let proxy = |env: &[(&str, &str)]| {
            let file = FileFetch { hosts: vec!["docs.rs".to_owned()], ..FileFetch::default() };
            let env = env.iter().copied().collect::<Env>();
            file.policy(&Flags::default(), &env, &mut Vec::new()).unwrap().unwrap().proxy
        };
        assert_eq!(proxy(&[("http_proxy", "http://p"), ("https_proxy", "http://q")]), Some("https_proxy"));
        assert_eq!(proxy(&[("HTTPS_PROXY", ""), ("NO_PROXY", "*")]), None);
    }

    #[test]
    fn hosts_are_those_of_the_file_and_those_that_are_typed() {
        assert_eq!(of(json!({"private": true}), &Flags::default()).unwrap(), None);
        let policy = of(json!({"hosts": ["docs.rs"], "seconds": 5}), &typed(&["a.example:8080"], None));
        let policy = policy.unwrap().unwrap();
        assert_eq!(
            (policy.hosts().as_str(), policy.time),
            ("docs.rs, a.example:8080", Duration::from_secs(5))
        );
        assert_eq!((policy.max_bytes, policy.private), (MAX_BYTES, false));
        assert!(policy.takes_type("text/html") && !policy.takes_type("image/png"));
        assert!(policy.takes_type("application/problem+json") && policy.takes_type(""));
        let error = of(json!({}), &typed(&["http://a/b"], None)).unwrap_err();
        assert!(error.starts_with("--fetch-host: \"http://a/b\" is no host"), "{error}");
        let error = of(json!({"hosts": ["a b"]}), &Flags::default()).unwrap_err();
        assert!(error.starts_with("agents/builtin.yaml: fetch.hosts: \"a b\" is no host"), "{error}");
    }

    #[test]
    fn it_is_offered_with_the_tools_that_are_typed_or_not() {
        assert!(of(json!({"hosts": ["a"]}), &typed(&[], Some(&["grep"]))).unwrap().is_none());
        assert!(of(json!({"hosts": ["a"]}), &typed(&[], Some(&["grep", "fetch_url"]))).unwrap().is_some());
        let error = of(json!({}), &typed(&[], Some(&["fetch_url"]))).unwrap_err();
        assert!(error.starts_with("fetch_url is to be offered, and no host"), "{error}");
    }

    #[test]
    fn a_role_narrows_and_never_widens() {
        let policy = || of(json!({"hosts": ["*.example"]}), &Flags::default()).unwrap();
        let role = |value: Value| serde_json::from_value::<RolePermissions>(value).unwrap();
        let left = |value: Value| of_role(policy(), &role(value), None).unwrap();
        assert_eq!(left(json!({})), policy());
        for none in [json!({"network": false}), json!({"tools": ["grep"]}), json!({"fetch": []})] {
            assert_eq!(left(none), None);
        }
        assert!(left(json!({"tools": ["fetch_url"], "readOnly": true})).is_some());
        let narrowed = left(json!({"fetch": ["a.example", "other.test"]})).unwrap();
        assert!(narrowed.target("https://a.example/").is_ok());
        assert!(narrowed.target("https://b.example/").is_err(), "not the role's");
        assert!(narrowed.target("https://other.test/").is_err(), "not the run's");
        let alone = |typed: Option<&[String]>| of_role(None, &role(json!({"fetch": ["a.example"]})), typed);
        assert!(
            matches!(alone(None), Err(SettingsError::NoFetchHost)),
            "it would have nothing, and not know why"
        );
        assert_eq!(alone(Some(&["grep".to_owned()])).unwrap(), None);
    }
}
