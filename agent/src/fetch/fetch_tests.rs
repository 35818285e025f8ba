use std::time::Duration;

use miniz_oxide::deflate::compress_to_vec;
use serde_json::Value;

use super::stand_in::{INSIDE, StandIn, respond};
use super::*;
use crate::provider::Script;

fn policy(hosts: &[&str]) -> FetchPolicy {
    FetchPolicy {
        hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        proxy: None,
        role: None,
        private: false,
        max_bytes: 100_000,
        time: Duration::from_secs(10),
        types: vec!["text/*".to_owned(), "application/*".to_owned()],
    }
}

fn stand_in() -> StandIn {
    StandIn::new(|path, stream| match path {
        "/page" => {
            let html = "<title>T</title><h1>Hello</h1><p>A <a href=/b>link</a>";
            respond(
                stream,
                "200 OK",
                "content-type: text/html; charset=utf-8\r\nset-cookie: a=b\r\n",
                html.as_bytes(),
            )
        }
        "/packed" => {
            let packed =
                [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &compress_to_vec(b"unpacked", 6)[..], &[0; 8]]
                    .concat();
            respond(stream, "200 OK", "content-type: text/plain\r\ncontent-encoding: gzip\r\n", &packed)
        }
        "/moved" => respond(stream, "301 Moved", "location: /page\r\n", b""),
        "/gone" => {
            respond(stream, "404 Not Found", "content-type: application/json\r\n", b"{\"error\": \"gone\"}")
        }
        "/paper" => respond(stream, "200 OK", "content-type: application/pdf\r\n", b"%PDF-1.7 ..."),
        "/slow" => {
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        _ => respond(stream, "200 OK", "content-type: text/plain\r\n", b""),
    })
}

fn call(net: &StandIn, policy: FetchPolicy, url: &str) -> OwnOutput {
    let arguments = json!({ "url": url }).to_string();
    FetchUrl::over(policy, Box::new(net.clone())).call(&arguments, &Cancel::default())
}

#[test]
fn a_page_is_told_with_its_url_its_hash_and_its_text() {
    let net = stand_in();
    let output = call(&net, policy(&["docs.example"]), "https://docs.example/moved");
    let lines: Vec<&str> = output.text.lines().collect();
    assert_eq!(lines[0], "https://docs.example/page");
    assert!(lines[1].starts_with("(200, text/html, 54 bytes, sha256 "), "{}", lines[1]);
    assert!(lines[1].ends_with("; sent on from https://docs.example/moved)"), "{}", lines[1]);
    assert_eq!(lines[2..], ["title: T", "", "# Hello", "", "A [link](https://docs.example/b)"]);
    assert_eq!((output.title.as_str(), output.is_error), ("fetch docs.example/moved (200)", false));
    let about = output.about.unwrap();
    assert_eq!(
        (&about["status"], &about["redirects"], &about["bytes"]),
        (&json!(200), &json!(1), &json!(54))
    );
    assert!(lines[1].contains(about["sha256"].as_str().unwrap()));
    for head in net.asked() {
        let head = head.to_ascii_lowercase();
        assert!(!["cookie", "authorization", "referer"].iter().any(|name| head.contains(name)), "{head}");
    }
}

#[test]
fn who_sends_on_to_a_host_that_is_not_allowed_is_named_with_what_allows_it() {
    let net =
        StandIn::new(|_, stream| respond(stream, "302 Found", "location: https://other.example/\r\n", b""));
    let output = call(&net, policy(&["docs.example"]), "http://docs.example/moved");
    let said = "docs.example sends on to another place: other.example is not among the hosts";
    assert!(output.is_error && output.text.contains(said), "{}", output.text);
    assert!(
        output.text.contains("people allow it by `fetch: { hosts: [other.example] }`"),
        "{}",
        output.text
    );
}

#[test]
fn what_is_no_page_is_told_as_what_it_is() {
    let net = stand_in();
    let get = |path: &str| call(&net, policy(&["docs.example"]), &format!("http://docs.example{path}"));
    assert!(get("/packed").text.ends_with(")\n\nunpacked"));
    let gone = get("/gone");
    assert!(gone.is_error && gone.text.ends_with("{\"error\": \"gone\"}"), "{}", gone.text);
    assert!(get("/paper").text.ends_with("(it is a PDF document, which is not shown as text)"));
    assert!(get("/").text.ends_with("(there is no text in it)"));
}

#[test]
fn the_inside_is_asked_where_that_is_allowed() {
    let net = stand_in();
    net.name("intranet", &["10.0.0.7"]);
    let allowed = FetchPolicy { private: true, ..policy(&["intranet"]) };
    assert!(call(&net, allowed, "http://intranet/").text.ends_with(INSIDE));
    let refused = call(&net, policy(&["intranet"]), "http://intranet/");
    assert_eq!(
        refused.text,
        "nothing was fetched: intranet is at 10.0.0.7, a private address, which may not be fetched. Go on without it, or say \
         in your answer that it is needed; people allow it by `fetch: { private: true }` in agents/builtin.yaml"
    );
    assert_eq!(net.reached(), 1);
}

#[test]
fn a_call_ends_when_it_is_cancelled_and_when_its_time_is_over() {
    let net = stand_in();
    let tool = FetchUrl::over(policy(&["a"]), Box::new(net.clone()));
    let cancel = Cancel::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            cancel.cancel();
        });
        let output = tool.call(r#"{"url": "http://a/slow"}"#, &cancel);
        assert_eq!(output.text, "http://a/slow was not fetched: it was ended before it was done");
    });
    let short = FetchPolicy { time: Duration::from_secs(1), ..policy(&["a"]) };
    assert_eq!(call(&net, short, "http://a/slow").text, "nothing was fetched: it took longer than 1 s");
}

#[test]
fn a_host_that_is_not_reached_is_told_with_the_proxy_that_is_not_used() {
    let pages =
        "turns: [{content: a}]\nfetch: { 'https://docs.example/': { error: the connection was refused } }";
    let pages = Script::parse("s", pages).unwrap().pages().clone();
    let told = |proxy, url: &str| {
        let policy = FetchPolicy { proxy, ..policy(&["docs.example"]) };
        let tool = FetchUrl::scripted(policy, pages.clone());
        tool.call(&json!({ "url": url }).to_string(), &Cancel::default()).text
    };
    let (here, other) = ("https://docs.example/", "https://other.example/");
    assert!(told(None, here).ends_with("cannot be asked: the connection was refused"));
    let with = told(Some("HTTPS_PROXY"), here);
    assert!(with.contains("refused. HTTPS_PROXY names a proxy, which fetch_url does not use: "), "{with}");
    assert!(!told(Some("HTTPS_PROXY"), other).contains("proxy"), "it is no matter of a proxy");
}

#[test]
fn the_tool_tells_which_hosts_it_asks_and_what_it_takes() {
    let tool = FetchUrl::new(policy(&["docs.rs", "*.example"]));
    assert!(tool.declaration().description.ends_with("Hosts that may be asked: docs.rs, *.example."));
    assert!(tool.reads_only());
    for wrong in
        ["{}", "[]", "{\"url\": 1}", "{\"url\": \"https://docs.rs\", \"method\": \"POST\"}", "nonsense"]
    {
        let output = tool.call(wrong, &Cancel::default());
        assert!(output.is_error && output.text.starts_with("fetch_url was not run: "), "{}", output.text);
    }
}

#[test]
fn a_script_has_the_pages_of_a_scripted_run() {
    let script = "
turns: [{content: a}]
fetch:
  https://docs.example/a: { location: /b }
  https://docs.example/b: { body: '<p>From the script', type: text/html }
  https://in.docs.example/: { body: hidden, address: 10.0.0.1 }
  https://down.docs.example/: { error: the connection was refused }
";
    let pages = Script::parse("s", script).unwrap().pages().clone();
    let tool = FetchUrl::scripted(policy(&["docs.example", "*.docs.example"]), pages);
    let get = |url: &str| tool.call(&json!({ "url": url }).to_string(), &Cancel::default()).text;
    assert!(get("https://docs.example/a#x").ends_with("\n\nFrom the script"));
    assert!(get("https://in.docs.example").contains("10.0.0.1, a private address"));
    assert!(
        get("https://down.docs.example")
            .ends_with("down.docs.example cannot be asked: the connection was refused")
    );
    assert!(get("https://docs.example/c").contains("has no page of this URL"));
    assert!(get("https://other.example/").contains("not among the hosts"));
    let about: Value = tool.call(r#"{"url": "https://docs.example/b"}"#, &Cancel::default()).about.unwrap();
    assert_eq!(about["url"], "https://docs.example/b");
}
