//! The servers themselves: a good conversation passes, and each broken rule is refused with the vendor's words.

#[path = "tests/chat.rs"]
mod chat;
#[path = "tests/echo.rs"]
mod echo;
#[path = "tests/faults.rs"]
mod faults;
#[path = "tests/messages.rs"]
mod messages;
#[path = "tests/money.rs"]
mod money;
#[path = "tests/responses.rs"]
mod responses;

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Kind, Mode, Turn, Vendor};

/// What came back.
struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The events of a stream.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    fn ok(self) -> Got {
        assert_eq!(self.status, 200, "{}", self.body);
        self
    }

    fn refused(&self, status: u16, words: &str) {
        assert_eq!(self.status, status, "{words}: {}", self.body);
        assert!(self.body.replace("\\\"", "\"").contains(words), "{words:?} is not in: {}", self.body);
    }
}

/// The headers that a vendor wants.
fn keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        kind if kind.sends_messages() => &["x-api-key: k", "anthropic-version: 2023-06-01"],
        Kind::Azure => &["api-key: k"],
        _ => &["authorization: Bearer k"],
    }
}

/// Sends a request as bytes and reads all that comes.
fn send(vendor: &Vendor, method: &str, path: &str, headers: &[&str], body: &str) -> Got {
    let (host, base) =
        vendor.url.strip_prefix("http://").unwrap().split_at(vendor.url[7..].find('/').unwrap());
    let path =
        if let Some(root) = path.strip_prefix("//") { format!("/{root}") } else { format!("{base}{path}") };
    let mut stream = TcpStream::connect(host).unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = &all[end + 4..];
    let body = if head.contains("chunked") { unchunked(body) } else { body.to_vec() };
    Got { status, head, body: String::from_utf8(body).unwrap() }
}

/// A chunk may end within a character.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        all.extend_from_slice(&body[end + 2..][..size]);
        body = body.get(end + 2 + size + 2..).unwrap_or_default();
    }
    all
}

/// Asks for a completion, with the keys that the vendor wants.
fn ask(vendor: &Vendor, body: &Value) -> Got {
    let kind = vendor.shared.mode.kind;
    let path = if kind.sends_messages() {
        "/messages"
    } else if kind.responds() && !body["input"].is_null() {
        "/responses"
    } else {
        "/chat/completions"
    };
    send(vendor, "POST", path, keys(kind), &body.to_string())
}

/// Two turns with calls, the second with two, and an answer.
fn script() -> Vec<Turn> {
    vec![
        Turn::call("read_file", json!({"path": "a.txt"})).thinking("First I read a.txt, then I say “done”."),
        Turn::call("read_file", json!({"path": "b.txt"})).and("list_dir", json!({})).saying("Two more."),
        Turn::text("Done.").thinking("That was all."),
    ]
}

fn started(mode: Mode) -> Vendor {
    Vendor::start(mode, script())
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}}})
}

/// A rule: how a good request is broken, and what is said then.
type Case = (fn() -> Mode, fn(&mut Value), u16, &'static str);

/// Each case begins with a conversation that passes.
fn all_refused(cases: &[Case], played: fn(&Vendor) -> Value) {
    for (mode, break_it, status, words) in cases {
        let vendor = started(mode());
        let mut body = played(&vendor);
        assert_eq!(vendor.refusals(), Vec::<String>::new(), "{words}");
        break_it(&mut body);
        ask(&vendor, &body).refused(*status, words);
        assert_eq!(vendor.refusals().len(), 1);
        assert_eq!(vendor.asked().last().unwrap().status, *status);
    }
}
