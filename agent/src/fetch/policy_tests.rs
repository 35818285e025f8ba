use super::*;

fn policy(hosts: &[&str]) -> FetchPolicy {
    FetchPolicy {
        hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        proxy: None,
        role: None,
        private: false,
        max_bytes: 1_000,
        time: Duration::from_secs(1),
        types: vec!["text/*".to_owned(), "*/*+json".to_owned(), "application/json".to_owned()],
    }
}

fn may(hosts: &[&str], url: &str) -> bool {
    policy(hosts).target(url).is_ok()
}

#[test]
fn a_rule_names_a_host_all_below_one_an_address_or_everything() {
    for (rule, allowed, refused) in [
        (
            "docs.rs",
            "https://docs.rs/a http://docs.rs https://DOCS.rs./x",
            "https://a.docs.rs https://docs.rs:8443 https://docs.rs.evil.test",
        ),
        ("*.docs.rs", "https://a.docs.rs https://a.b.docs.rs", "https://docs.rs https://evildocs.rs"),
        ("https://docs.rs", "https://docs.rs", "http://docs.rs"),
        ("http://docs.rs:8080", "http://docs.rs:8080", "http://docs.rs https://docs.rs:8080"),
        ("docs.rs:8443", "https://docs.rs:8443 http://docs.rs:8443", "https://docs.rs"),
        ("docs.rs:80", "http://docs.rs", "https://docs.rs"),
        (
            "127.0.0.1:8080",
            "http://127.0.0.1:8080 http://0x7f000001:8080",
            "http://127.0.0.1 http://127.0.0.2:8080",
        ),
        ("[::1]:8080", "http://[::1]:8080 http://[0:0::1]:8080", "http://[::1]"),
        ("bücher.example", "https://bücher.example https://xn--bcher-kva.example", "https://bucher.example"),
        ("*", "https://anything.test http://10.0.0.1", "https://anything.test:8443"),
        ("*:9000", "https://anything.test:9000", "https://anything.test"),
    ] {
        for url in allowed.split(' ') {
            assert!(may(&[rule], url), "{rule}: {url}");
        }
        for url in refused.split(' ') {
            assert!(!may(&[rule], url), "{rule}: {url}");
        }
    }
}

#[test]
fn what_is_no_rule_is_told() {
    for wrong in [
        "",
        "a b",
        "ftp://a",
        "http://a/b",
        "me@a",
        "a:port",
        "a:99999",
        "*.10.0.0.1",
        "a.*.b",
        "**",
        "a?b",
        "[::1",
        "a..",
        "%61",
    ] {
        let error = wrong.parse::<HostRule>().unwrap_err();
        assert!(error.contains("is no host"), "{wrong}: {error}");
    }
    for wrong in ["a:port", "a:99999", "a:0"] {
        let error = wrong.parse::<HostRule>().unwrap_err();
        assert!(error.ends_with("its port is not a number from 1 to 65535"), "{wrong}: {error}");
    }
}

#[test]
fn what_is_asked_for_is_what_was_compared() {
    let target = policy(&["docs.rs"]).target("HTTPS://Docs.RS.:443/a/../b?q=%20#part").unwrap();
    assert_eq!(target.url.as_str(), "https://docs.rs/b?q=%20");
    assert_eq!((target.host.as_str(), target.port), ("docs.rs", 443));
}

#[test]
fn a_refusal_says_what_is_allowed_and_how_people_allow_more() {
    let refused = policy(&["docs.rs", "*.example"]).target("https://other.test/").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "other.test is not among the hosts that may be fetched: docs.rs, *.example"
    );
    assert!(refused.hint().unwrap().ends_with("--fetch-host other.test"));
    let refused = policy(&["docs.rs"]).target("https://docs.rs:22/").unwrap_err();
    assert_eq!(refused.to_string(), "docs.rs may be fetched, but not by https on port 22: docs.rs");
}

#[test]
fn addresses_inside_are_asked_where_that_is_allowed_and_those_of_credentials_where_they_are_named() {
    let inside = |hosts: &[&str]| FetchPolicy { private: true, ..policy(hosts) };
    let check = |policy: &FetchPolicy, url: &str, address: &str| {
        let target = policy.target(url).unwrap();
        policy.check_address(&target, address.parse().unwrap())
    };
    for address in ["127.0.0.1", "10.0.0.1", "fe80::1", "100.64.0.1"] {
        assert!(check(&policy(&["a"]), "http://a", address).is_err(), "{address}");
        assert!(check(&inside(&["a"]), "http://a", address).is_ok(), "{address}");
    }
    for address in ["0.0.0.0", "224.0.0.1", "255.255.255.255", "2002::1"] {
        assert!(check(&inside(&["*"]), "http://a", address).is_err(), "{address}");
    }
    let metadata = "169.254.169.254";
    let url = format!("http://{metadata}/");
    assert!(check(&inside(&["*"]), &url, metadata).is_err());
    assert!(check(&policy(&[metadata]), &url, metadata).is_err());
    assert!(check(&inside(&[metadata, "a"]), "http://a", metadata).is_err());
    assert!(check(&inside(&[metadata]), &url, metadata).is_ok());
}

#[test]
fn a_place_that_is_sent_on_to_must_be_allowed_and_no_less_secret() {
    let to = |hosts: &[&str], from: &str, location: &str| {
        let policy = policy(hosts);
        policy.redirected(&policy.target(from).unwrap(), location).map(|target| target.url.to_string())
    };
    assert_eq!(to(&["a"], "https://a/b/c", "../d").unwrap(), "https://a/d");
    assert_eq!(to(&["a", "b"], "http://a/", "//b/x").unwrap(), "http://b/x");
    assert!(matches!(to(&["a"], "https://a/", "https://b/"), Err(Refusal::Host { .. })));
    assert!(matches!(to(&["a"], "https://a/", "http://a/"), Err(Refusal::Downgrade { .. })));
    assert!(to(&["a", "http://a"], "https://a/", "http://a/").is_ok());
    assert!(matches!(to(&["a"], "https://a/", "file:///etc/passwd"), Err(Refusal::Scheme(_))));
    assert!(matches!(to(&["a"], "https://a/", "/b\tc"), Err(Refusal::Holds(_))));
}

#[test]
fn a_role_is_held_to_both_lists() {
    let of_role = FetchPolicy {
        role: Some(vec!["*.b".parse().unwrap(), "c".parse().unwrap()]),
        ..policy(&["a.b", "d.b"])
    };
    assert!(of_role.target("https://a.b/").is_ok());
    for refused in ["https://c/", "https://x.b/"] {
        assert!(matches!(of_role.target(refused), Err(Refusal::Host { .. })), "{refused}");
    }
    assert_eq!(of_role.hosts(), "*.b, c");
    assert_eq!(of_role.describe()["role"], json!(["*.b", "c"]));
}

#[test]
fn types_are_named_by_halves_and_endings() {
    let policy = policy(&["a"]);
    for taken in ["text/html", "application/json", "application/ld+json", ""] {
        assert!(policy.takes_type(taken), "{taken}");
    }
    for refused in ["image/png", "application/octet-stream", "application/jsonx", "json", "text"] {
        assert!(!policy.takes_type(refused), "{refused}");
    }
}
