//! What a page, a name or a model may try: none of it comes inside, and none of it lasts.

use std::io::Write;
use std::net::TcpStream;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};

use super::stand_in::{INSIDE, StandIn, respond};
use super::*;

const MAX: u64 = 1_000_000;

fn policy(hosts: &[&str]) -> FetchPolicy {
    FetchPolicy {
        hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        proxy: None,
        role: None,
        private: false,
        max_bytes: MAX,
        time: Duration::from_secs(2),
        types: vec!["text/*".to_owned(), "application/pdf".to_owned()],
    }
}

/// Every name and address, which is the most that can be allowed without `private`.
fn everything() -> FetchPolicy {
    policy(&["*"])
}

fn attack(net: &StandIn, policy: FetchPolicy, url: &str) -> String {
    let tool = FetchUrl::over(policy, Box::new(net.clone()));
    let output = tool.call(&json!({ "url": url }).to_string(), &Cancel::default());
    assert!(!output.text.contains(INSIDE), "{url}: {}", output.text);
    assert_eq!(net.reached(), 0, "{url}");
    output.text
}

fn refused(net: &StandIn, policy: FetchPolicy, url: &str, why: &str) {
    let text = attack(net, policy, url);
    assert!(text.starts_with("nothing was fetched: ") && text.contains(why), "{url}: {text}");
}

#[test]
fn no_spelling_of_an_address_comes_inside() {
    let net = StandIn::new(|_, stream| respond(stream, "200 OK", "", b"outside"));
    for (host, why) in [
        ("127.0.0.1", "this machine"),
        ("2130706433", "this machine"),
        ("0x7f000001", "this machine"),
        ("0x7f.0.0.0x1", "this machine"),
        ("0177.0.0.1", "this machine"),
        ("127.1", "this machine"),
        ("127.0.1", "this machine"),
        ("017700000001", "this machine"),
        ("127.0.0.1.", "this machine"),
        ("%31%32%37.0.0.1", "this machine"),
        ("①②⑦.⓪.⓪.①", "this machine"),
        ("127。0。0。1", "this machine"),
        ("[::1]", "this machine"),
        ("[0:0:0:0:0:0:0:1]", "this machine"),
        ("[::ffff:127.0.0.1]", "this machine"),
        ("[::ffff:7f00:1]", "this machine"),
        ("[64:ff9b::127.0.0.1]", "this machine"),
        ("[::127.0.0.1]", "a reserved address"),
        ("[2002:7f00:1::]", "a reserved address"),
        ("[2001:0:7f00:1::]", "a reserved address"),
        ("[64:ff9b:1::7f00:1]", "a private address"),
        ("[fe80::1]", "link-local"),
        ("[fc00::1]", "a private address"),
        ("[fec0::1]", "a private address"),
        ("[ff02::1]", "multicast"),
        ("[::]", "unspecified"),
        ("0.0.0.0", "unspecified"),
        ("0", "unspecified"),
        ("10.0.0.1", "a private address"),
        ("172.31.255.255", "a private address"),
        ("192.168.1.1", "a private address"),
        ("100.64.0.1", "translation"),
        ("169.254.1.1", "link-local"),
        ("169.254.169.254", "credentials"),
        ("2852039166", "credentials"),
        ("[fd00:ec2::254]", "credentials"),
        ("100.100.100.200", "credentials"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "a reserved address"),
        ("198.18.0.1", "a reserved address"),
    ] {
        refused(&net, everything(), &format!("http://{host}/"), why);
    }
    assert!(net.asked().is_empty());
}

#[test]
fn no_name_leads_inside() {
    let net = StandIn::new(|path, stream| match path {
        "/again" => respond(stream, "302 Found", "location: http://rebinds.example/\r\n", b""),
        _ => respond(stream, "200 OK", "content-type: text/plain\r\n", b"outside"),
    });
    net.name("localhost", &["127.0.0.1", "::1"]);
    net.name("inside.example", &["10.0.0.5"]);
    net.name("both.example", &["93.184.215.14", "10.0.0.5"]);
    net.name("mapped.example", &["::ffff:192.168.0.1"]);
    net.name("cloud.example", &["169.254.169.254"]);
    net.name("rebinds.example", &["93.184.215.14"]);
    net.name("rebinds.example", &["127.0.0.1"]);
    net.name("nowhere.example", &[]);
    for (host, why) in [
        ("localhost", "127.0.0.1"),
        ("LOCALHOST.", "127.0.0.1"),
        ("inside.example", "10.0.0.5"),
        ("both.example", "10.0.0.5"),
        ("mapped.example", "a private address"),
        ("cloud.example", "credentials"),
        ("nowhere.example", "it has no address"),
    ] {
        refused(&net, everything(), &format!("http://{host}/"), why);
    }
    // What it said the first time is what is connected to; the second time it is asked about again.
    refused(&net, everything(), "http://rebinds.example/again", "127.0.0.1");
    assert_eq!(net.asked().len(), 1);
    let private = FetchPolicy { private: true, ..everything() };
    refused(&net, private.clone(), "http://cloud.example/", "credentials");
    refused(&net, private, "http://169.254.169.254/", "credentials");
}

#[test]
fn no_url_says_one_host_and_means_another() {
    let net = StandIn::new(|_, stream| respond(stream, "200 OK", "content-type: text/plain\r\n", b"outside"));
    net.name("evil.example", &["127.0.0.1"]);
    let long = format!("http://docs.example/{}", "a".repeat(9_000));
    for (url, why) in [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://docs.example/", "only http and https"),
        ("gopher://docs.example:70/_", "only http and https"),
        ("data:text/html,hi", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("unix:/run/docker.sock", "only http and https"),
        ("/etc/passwd", "this is no URL"),
        ("docs.example", "this is no URL"),
        ("http://", "this is no URL"),
        ("http://[::1", "this is no URL"),
        ("http://docs.example:99999/", "this is no URL"),
        ("http://user:key@docs.example/", "a user name or password"),
        ("http://docs.example@evil.example/", "a user name or password"),
        ("http://docs.example\\@evil.example/", "a backslash"),
        ("http:\\\\evil.example\\", "a backslash"),
        ("http://docs.example/ HTTP/1.1\r\nHost: evil.example", "control characters"),
        ("http://docs.example/\tx", "control characters"),
        (" http://docs.example/", "control characters"),
        ("http://docs.example\u{0}.evil.example/", "control characters"),
        ("http://evil.example/#@docs.example/", "not among the hosts"),
        ("http://evil.example/docs.example", "not among the hosts"),
        ("http://docs.example.evil.example/", "not among the hosts"),
        ("http://evildocs.example/", "not among the hosts"),
        ("http://d\u{43e}cs.example/", "xn--dcs-sed.example is not among the hosts"),
        ("http://docs.example%2f.evil.example/", "this is no URL"),
        ("http://docs.example:22/", "not by http on port 22"),
        ("https://docs.example:80/", "not by https on port 80"),
        ("http://docs.example:6379/", "not by http on port 6379"),
        (&long, "more than 8 KB"),
    ] {
        refused(&net, policy(&["docs.example"]), url, why);
    }
    assert!(net.asked().is_empty());
    // Another spelling of the very host is that host.
    for url in
        ["http://ｄｏｃｓ.example/", "HTTP://docs.EXAMPLE./", "http://docs.example:80/", "http:docs.example"]
    {
        assert!(attack(&net, policy(&["docs.example"]), url).ends_with("outside"), "{url}");
    }
}

#[test]
fn no_redirect_leads_where_a_url_may_not() {
    let net = StandIn::new(|path, stream| {
        let to = path.trim_start_matches("/to/");
        match to.strip_prefix("loop") {
            Some(number) => {
                let next: usize = number.parse::<usize>().unwrap_or(0) + 1;
                respond(stream, "302 Found", &format!("location: /to/loop{next}\r\n"), b"")
            }
            None => respond(stream, "307 Temporary Redirect", &format!("location: {to}\r\n"), b""),
        }
    });
    net.name("inside.example", &["10.0.0.5"]);
    let all = || policy(&["*", "*:8080"]);
    for (to, why) in [
        ("http://127.0.0.1/", "this machine"),
        ("//127.0.0.1/", "this machine"),
        ("http://0x7f.1:8080/", "this machine"),
        ("http://[::ffff:127.0.0.1]/", "this machine"),
        ("http://169.254.169.254/latest/meta-data/", "credentials"),
        ("http://inside.example/", "10.0.0.5"),
        ("http://docs.example:22/", "port 22"),
        ("file:///etc/passwd", "only http and https"),
        ("ftp://docs.example/", "only http and https"),
        ("http://user:key@docs.example/", "a user name or password"),
        ("http:\\\\127.0.0.1/", "a backslash"),
        ("http://", "this is no URL"),
        ("loop0", "more than 5 times"),
    ] {
        refused(&net, all(), &format!("http://docs.example/to/{to}"), why);
    }
    refused(
        &net,
        policy(&["docs.example"]),
        "http://docs.example/to/http://other.example/",
        "not among the hosts",
    );
    refused(&net, all(), "https://docs.example/to/http://docs.example/", "from https to http");
    let to_plain = "https://docs.example/to/http://docs.example/to/loop0";
    refused(&net, policy(&["*", "http://docs.example"]), to_plain, "more than 5 times");
}

/// Writes until whoever reads has enough.
fn endless(stream: &mut TcpStream, head: &str, piece: &[u8]) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n{head}")?;
    loop {
        stream.write_all(piece)?;
    }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &compress_to_vec(body, 1)[..], &[0; 8]].concat()
}

/// Much, in little.
static SPACES: LazyLock<Vec<u8>> = LazyLock::new(|| vec![b' '; 30_000_000]);
static GZIP: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&SPACES));
static DEFLATE: LazyLock<Vec<u8>> = LazyLock::new(|| compress_to_vec_zlib(&SPACES, 1));

fn hostile(path: &str, stream: &mut TcpStream) -> std::io::Result<()> {
    const TEXT: &str = "content-type: text/plain\r\n";
    let packed = |stream: &mut TcpStream, encoding: &str, body: &[u8]| {
        respond(stream, "200 OK", &format!("{TEXT}content-encoding: {encoding}\r\n"), body)
    };
    match path {
        "/gzip-bomb" => packed(stream, "gzip", &GZIP),
        "/deflate-bomb" => packed(stream, "deflate", &DEFLATE),
        "/double-bomb" => packed(stream, "gzip, gzip", &gzip(&GZIP)),
        "/brotli" => packed(stream, "br", b"\x0b\x02\x80bomb\x03"),
        "/no-gzip" => packed(stream, "gzip", b"plain text"),
        "/endless" => endless(stream, &format!("{TEXT}\r\n"), &[b'x'; 65_536]),
        "/endless-chunks" => {
            let head = format!("{TEXT}transfer-encoding: chunked\r\n\r\n");
            endless(stream, &head, format!("10000\r\n{}\r\n", "x".repeat(65_536)).as_bytes())
        }
        "/endless-header" => endless(stream, "", b"x-more: and more and more and more\r\n"),
        "/endless-line" => endless(stream, "x-long: ", &[b'x'; 65_536]),
        "/claims" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}content-length: 99999999999\r\n\r\nx")?;
            std::thread::sleep(Duration::from_secs(5));
            Ok(())
        }
        "/drip" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}\r\n")?;
            (0..200).try_for_each(|_| {
                std::thread::sleep(Duration::from_millis(50));
                stream.write_all(b"x")
            })
        }
        "/silent" => {
            std::thread::sleep(Duration::from_secs(10));
            Ok(())
        }
        "/cut" => write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}content-length: 100\r\n\r\nhalf"),
        "/no-http" => stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n"),
        "/image" => respond(stream, "200 OK", "content-type: image/png\r\n", b"\x89PNG"),
        "/program" => respond(stream, "200 OK", "content-type: application/octet-stream\r\n", b"\x7fELF\0"),
        "/refresh" => {
            let html = "<meta http-equiv=refresh content='0; url=http://127.0.0.1/'><p>here";
            let headers = "content-type: text/html\r\nrefresh: 0; url=http://127.0.0.1/\r\nlocation: http://127.0.0.1/\r\n";
            respond(stream, "200 OK", headers, html.as_bytes())
        }
        "/frames" => {
            let html = "<iframe src=http://127.0.0.1/></iframe><object data=http://127.0.0.1/>here</object><img src=http://127.0.0.1/>";
            respond(stream, "200 OK", "content-type: text/html\r\n", html.as_bytes())
        }
        "/escapes" => {
            respond(stream, "200 OK", "content-type: text/html\r\n", b"<p>\x1b[2J\x1b]0;evil\x07here")
        }
        "/deep" => respond(
            stream,
            "200 OK",
            "content-type: text/html\r\n",
            "<div><table><tr><td>".repeat(49_000).as_bytes(),
        ),
        _ => respond(stream, "200 OK", TEXT, b"outside"),
    }
}

#[test]
fn no_body_is_too_large_too_slow_or_too_strange() {
    assert!(GZIP.len() < MAX as usize && DEFLATE.len() < MAX as usize);
    let net = StandIn::new(hostile);
    for (path, why) in [
        ("/gzip-bomb", "more than the 1000000 bytes"),
        ("/deflate-bomb", "more than the 1000000 bytes"),
        ("/double-bomb", "packed as \"gzip, gzip\""),
        ("/brotli", "packed as \"br\""),
        ("/no-gzip", "it is no gzip data"),
        ("/endless", "more than the 1000000 bytes"),
        ("/endless-chunks", "more than the 1000000 bytes"),
        ("/endless-header", "docs.example cannot be asked"),
        ("/endless-line", "docs.example cannot be asked"),
        ("/claims", "more than the 1000000 bytes"),
        ("/drip", "longer than 2 s"),
        ("/silent", "longer than 2 s"),
        ("/cut", "docs.example cannot be asked"),
        ("/no-http", "docs.example cannot be asked"),
        ("/image", "it is image/png"),
        ("/program", "it is application/octet-stream"),
    ] {
        let begun = Instant::now();
        refused(&net, policy(&["docs.example"]), &format!("http://docs.example{path}"), why);
        assert!(begun.elapsed() < Duration::from_secs(20), "{path}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_page_has_nothing_done_for_it() {
    let net = StandIn::new(hostile);
    for (path, ends) in
        [("/refresh", "\n\nhere"), ("/frames", "\n\nhere"), ("/escapes", "\n\n[2J]0;evilhere"), ("/deep", "")]
    {
        let begun = Instant::now();
        let text = attack(&net, policy(&["docs.example"]), &format!("http://docs.example{path}"));
        assert!(text.starts_with("http://docs.example/") && text.ends_with(ends), "{path}: {text:.300}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{path}: {:?}", begun.elapsed());
    }
    assert_eq!(net.asked().len(), 4);
}
