//! What endpoints send: every file of `testdata/replies/<wire>` through the real client, from a server on loopback.
//!
//! A file is a head, a blank line and the body of a reply, byte for byte. The head holds `Status:` (200 unless given)
//! and either `Gives:`, the completion (what is empty is left out; a call is its id, name and arguments; usage is input,
//! output, cached, reasoning; `written` and `cost` stand apart; `native` is what goes back verbatim), or `Fails:`, the error's variant and words of its text. Each body is asked for streamed
//! and not, comes in one piece and byte by byte, and is cut off in every place that might pass for an end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Map, Value, json};

use super::*;
use crate::provider::RetryPolicy;
use crate::provider::message::{
    Message, MessageKind, Sampling, Speaker, ToolCall, ToolChoice, ToolDeclaration,
};

/// One file.
struct Fixture {
    name: String,
    wire: Wire,
    status: u16,
    expected: Expected,
    body: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
enum Expected {
    Gives(Value),
    Fails { variant: String, words: String },
}

impl Fixture {
    fn read(path: &Path) -> Fixture {
        let bytes = std::fs::read(path).unwrap();
        let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap();
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let expected = match field("Fails") {
            None => Expected::Gives(serde_json::from_str(field("Gives").unwrap()).unwrap()),
            Some(fails) => {
                let (variant, words) = fails.split_once(": ").unwrap();
                Expected::Fails { variant: variant.to_owned(), words: words.to_owned() }
            }
        };
        let name = path.strip_prefix(replies()).unwrap().display().to_string();
        let wire = name.split('/').next().unwrap().parse().unwrap();
        let status = field("Status").map_or(200, |status| status.parse().unwrap());
        Fixture { name, wire, status, expected, body: bytes[end + 2..].to_vec() }
    }

    /// Where a cut might pass for an end: behind every line, and in the middle of every line.
    fn cuts(&self) -> Vec<usize> {
        let ends =
            self.body.iter().enumerate().filter(|(_, byte)| b"\r\n".contains(byte)).map(|(at, _)| at + 1);
        let ends: Vec<usize> = [0].into_iter().chain(ends).chain([self.body.len()]).collect();
        let middles = ends.windows(2).map(|pair| usize::midpoint(pair[0], pair[1]));
        let cuts: BTreeSet<usize> = ends.iter().copied().chain(middles).collect();
        // A body of a hundred events is cut in some forty places, which are other ones in each fixture.
        let step = cuts.len().div_ceil(40);
        cuts.into_iter().filter(|cut| *cut < self.body.len()).step_by(step).collect()
    }
}

fn replies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/replies")
}

fn fixtures() -> Vec<Fixture> {
    let list = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let rows = list(replies()).flat_map(list);
    let mut files: Vec<PathBuf> = rows.flat_map(list).collect();
    files.sort();
    files.iter().map(|file| Fixture::read(file)).collect()
}

/// How a reply is sent.
#[derive(Clone)]
struct Sent {
    status: u16,
    body: Vec<u8>,
    framing: Framing,
}

/// How a client sees where a body ends, and how the bytes come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    /// In chunks, all of the body in one.
    OneChunk,
    /// In chunks of one byte.
    Bytes,
    /// In one chunk, and the connection is closed where the last chunk should be.
    Broken,
    /// The body ends where the connection does.
    Unframed,
}

impl Sent {
    fn bytes(&self) -> Vec<Vec<u8>> {
        let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        let length = if self.framing == Framing::Unframed { "" } else { "Transfer-Encoding: chunked\r\n" };
        let head = format!("HTTP/1.1 {} Some\r\n{length}Connection: close\r\n\r\n", self.status).into_bytes();
        let mut pieces = vec![head];
        match self.framing {
            Framing::Unframed => pieces[0].extend(&self.body),
            Framing::Bytes => pieces.extend(self.body.chunks(1).map(chunk)),
            _ if self.body.is_empty() => {}
            _ => pieces[0].extend(chunk(&self.body)),
        }
        if matches!(self.framing, Framing::OneChunk | Framing::Bytes) {
            pieces.push(b"0\r\n\r\n".to_vec());
        }
        pieces
    }
}

/// A server that answers every request with the reply that is set.
struct Server {
    address: SocketAddr,
    reply: Arc<Mutex<Option<Sent>>>,
}

impl Server {
    fn new() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let reply: Arc<Mutex<Option<Sent>>> = Arc::default();
        let set = Arc::clone(&reply);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                tests::request(&mut stream);
                let sent = set.lock().unwrap().clone().unwrap();
                // The client leaves as soon as it has heard enough.
                let _ = sent.bytes().iter().try_for_each(|piece| stream.write_all(piece));
                close(&mut stream);
            }
        });
        Server { address, reply }
    }
}

/// Closes in order: were bytes unread, the kernel would reset the connection and the client lose what was sent.
fn close(stream: &mut TcpStream) {
    stream.shutdown(std::net::Shutdown::Write).ok();
    let _ = stream.read(&mut [0; 64]);
}

/// The server, and two clients of it.
struct Harness {
    server: Server,
    clients: BTreeMap<(Wire, bool), HttpProvider>,
    runtime: tokio::runtime::Runtime,
}

impl Harness {
    fn new() -> Harness {
        let server = Server::new();
        let client = |wire, stream| {
            let retry = RetryPolicy { tries: 1, ..RetryPolicy::default() };
            let config = HttpConfig::new(format!("http://{}/v1", server.address), "m");
            HttpProvider::new(HttpConfig { wire: Some(wire), stream, retry, ..config }).unwrap()
        };
        let wires = [Wire::Chat, Wire::Responses, Wire::Messages];
        let kinds = wires.into_iter().flat_map(|wire| [(wire, true), (wire, false)]);
        let clients = kinds.map(|(wire, stream)| ((wire, stream), client(wire, stream))).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Harness { server, clients, runtime }
    }

    /// What comes of the reply, asked for as a stream or not.
    fn ask(&mut self, reply: Sent, kind: (Wire, bool)) -> Result<Completion, ProviderError> {
        *self.server.reply.lock().unwrap() = Some(reply);
        let (messages, tools) = (conversation(), tools());
        let sampling = Sampling::default();
        let request = Request {
            messages: &messages,
            tools: &tools,
            tool_choice: ToolChoice::Auto,
            model: "m",
            sampling: &sampling,
        };
        let client = self.clients.get_mut(&kind).unwrap();
        self.runtime.block_on(client.complete(request, &mut |_: CompletionEvent<'_>| {}))
    }
}

/// One call has been made, by an id that some endpoints give in every turn.
fn conversation() -> Vec<Message> {
    let call = ToolCall { id: "call_0".into(), name: "list_dir".into(), arguments: "{}".into() };
    let turn = Message { tool_calls: vec![call], ..Message::text(Speaker::Assistant, MessageKind::Turn, "") };
    let task = Message::text(Speaker::User, MessageKind::Opening, "Look.");
    vec![task, turn, Message::result("call_0", "a")]
}

fn tools() -> [ToolDeclaration; 2] {
    ["read_file", "list_dir"].map(|name| ToolDeclaration {
        name: name.into(),
        description: String::new(),
        parameters: json!({}),
    })
}

/// A completion as the files write it.
fn shape(completion: &Completion) -> Value {
    let mut shape = Map::new();
    let mut put = |key: &str, value: Value| {
        if ![json!(""), json!([]), Value::Null].contains(&value) {
            shape.insert(key.to_owned(), value);
        }
    };
    put("content", json!(completion.content));
    put("reasoning", json!(completion.reasoning));
    let call = |call: &ToolCall| json!([call.id, call.name, call.arguments]);
    put("calls", completion.tool_calls.iter().map(call).collect());
    put("finish", json!(completion.finish_reason));
    let usage = |usage: &crate::provider::message::TokenUsage| {
        json!([usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens])
    };
    put("usage", completion.usage.as_ref().map_or(Value::Null, usage));
    let told = completion.usage.unwrap_or_default();
    put("written", Some(told.written_tokens).filter(|written| *written > 0).map_or(Value::Null, Value::from));
    put("cost", json!(told.cost_usd));
    let native = completion.native.as_ref().map(|native| serde_json::from_str(&native.value).unwrap());
    put("native", native.unwrap_or_default());
    Value::Object(shape)
}

fn is_as(result: &Result<Completion, ProviderError>, expected: &Expected) -> bool {
    match (result, expected) {
        (Ok(completion), Expected::Gives(gives)) => shape(completion) == *gives,
        (Err(error), Expected::Fails { variant, words }) => {
            format!("{error:?}").starts_with(&**variant) && error.to_string().contains(words)
        }
        _ => false,
    }
}

#[test]
fn every_reply_gives_its_completion_or_its_error_however_it_comes() {
    let mut harness = Harness::new();
    let fixtures = fixtures();
    for (wire, least) in [(Wire::Chat, 270), (Wire::Responses, 60), (Wire::Messages, 60)] {
        let there = fixtures.iter().filter(|fixture| fixture.wire == wire).count();
        assert!(there >= least, "the corpus of {wire} is not there: {there}");
    }
    for fixture in &fixtures {
        for stream in [true, false] {
            let results = [Framing::OneChunk, Framing::Bytes, Framing::Unframed].map(|framing| {
                let Fixture { status, body, .. } = fixture;
                harness.ask(Sent { status: *status, body: body.clone(), framing }, (fixture.wire, stream))
            });
            for result in &results {
                assert!(is_as(result, &fixture.expected), "{}: {result:?}", fixture.name);
                assert_eq!(result.as_ref().ok(), results[0].as_ref().ok(), "{}", fixture.name);
            }
        }
    }
}

/// Without what only the end of a stream tells.
fn without_usage(expected: &Expected) -> Expected {
    let mut expected = expected.clone();
    if let Expected::Gives(Value::Object(gives)) = &mut expected {
        gives.remove("usage");
    }
    expected
}

#[test]
fn what_is_cut_off_is_never_half_a_completion() {
    let mut harness = Harness::new();
    for fixture in fixtures().into_iter().filter(|fixture| fixture.status == 200) {
        let ends = ["[DONE]", "message_stop", "response.completed", "response.incomplete"];
        let has_end = |body: &[u8]| ends.iter().any(|end| String::from_utf8_lossy(body).contains(end));
        for cut in fixture.cuts() {
            let body = fixture.body[..cut].to_vec();
            for framing in [Framing::Broken, Framing::Unframed] {
                let result =
                    harness.ask(Sent { status: 200, body: body.clone(), framing }, (fixture.wire, true));
                let whole =
                    is_as(&result, &fixture.expected) || is_as(&result, &without_usage(&fixture.expected));
                let told = format!("{} cut at {cut}, {framing:?}: {result:?}", fixture.name);
                assert!(result.is_err() || whole, "{told}");
                assert!(result.is_err() || framing == Framing::Unframed || has_end(&body), "{told}");
            }
        }
    }
}
