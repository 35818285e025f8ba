//! The client against a server that misbehaves: one scripted reply a connection, over real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::provider::RetryPolicy;
use crate::provider::message::{Message, MessageKind, Sampling, Speaker, ToolChoice, ToolDeclaration};

const KEY: &str = "sk-very-secret-key";

const GOOD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A server that answers its connections with these replies, one each, and remembers the requests.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

/// What one connection gets.
#[derive(Clone)]
enum Reply {
    /// These bytes, then the connection ends.
    Bytes(String),
    /// The connection is reset.
    Reset,
    /// Nothing, and the connection stays.
    Silence,
    /// These bytes, and the connection stays.
    Open(String),
}

fn status(line: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(format!(
        "HTTP/1.1 {line}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ))
}

fn ok(body: &str) -> Reply {
    status("200 OK", "", body)
}

/// A good status, and a body whose end is the end of the connection.
fn unframed(body: &str) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}"))
}

impl Server {
    fn new(replies: Vec<Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            let mut silent = Vec::new();
            for reply in replies {
                let (mut stream, _) = listener.accept().unwrap();
                if let Reply::Reset = reply {
                    // The kernel resets a connection that is closed with bytes unread.
                    stream.peek(&mut [0]).unwrap();
                    continue;
                }
                seen.lock().unwrap().push(request(&mut stream));
                match reply {
                    Reply::Bytes(bytes) => stream.write_all(bytes.as_bytes()).unwrap(),
                    Reply::Reset => {}
                    Reply::Silence => silent.push(stream),
                    Reply::Open(bytes) => {
                        stream.write_all(bytes.as_bytes()).unwrap();
                        silent.push(stream);
                    }
                }
            }
        });
        Server { address, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Reads a request whole: its head, and as much body as it says.
pub(super) fn request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        match stream.read(&mut buffer).unwrap() {
            0 => return text,
            read => request.extend_from_slice(&buffer[..read]),
        }
    }
}

fn config(address: SocketAddr) -> HttpConfig {
    let fast = RetryPolicy { first_wait: Duration::from_millis(5), ..RetryPolicy::default() };
    HttpConfig {
        api_key: Some(KEY.into()),
        key_from: Some("$MY_KEY".into()),
        role: "reviewer".into(),
        retry: fast,
        ..HttpConfig::new(format!("http://{address}/v1"), "m")
    }
}

/// Asks once; returns the completion or the error, and the retries in words. Nothing may show the key.
fn ask(config: HttpConfig) -> (Result<Completion, ProviderError>, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut provider = HttpProvider::new(config).unwrap();
    let messages = [Message::text(Speaker::User, MessageKind::Opening, "hi")];
    let parameters = serde_json::json!({});
    let tools = [ToolDeclaration { name: "list_dir".into(), description: String::new(), parameters }];
    let sampling = Sampling::default();
    let request = Request {
        messages: &messages,
        tools: &tools,
        tool_choice: ToolChoice::Auto,
        model: "m",
        sampling: &sampling,
    };
    let mut retries = Vec::new();
    let mut on_event = |event: CompletionEvent<'_>| {
        if let CompletionEvent::Retry { reason, .. } = event {
            retries.push(reason.to_owned());
        }
    };
    let result = runtime.block_on(provider.complete(request, &mut on_event));
    let shown = format!(
        "{result:?} {retries:?} {}",
        result.as_ref().err().map(ToString::to_string).unwrap_or_default()
    );
    assert!(!shown.contains("very-secret"), "{shown}");
    (result, retries)
}

fn against(replies: Vec<Reply>) -> (Result<Completion, ProviderError>, Vec<String>) {
    ask(config(Server::new(replies).address))
}

/// The error after one reply that must not be tried again.
fn refused(reply: Reply) -> ProviderError {
    let (result, retries) = against(vec![reply]);
    assert_eq!(retries, [""; 0]);
    result.unwrap_err()
}

#[test]
fn a_request_carries_key_role_and_headers() {
    let server = Server::new(vec![ok(GOOD)]);
    let mut config = config(server.address);
    config.base_url.push_str("/?api-version=7");
    config.headers.insert("X-Title".into(), "uwf".into());
    assert_eq!(ask(config).0.unwrap().content, "Hello");
    let request = &server.requests()[0];
    assert!(request.starts_with("POST /v1/chat/completions?api-version=7 HTTP/1.1\r\n"), "{request}");
    for line in [
        "authorization: Bearer sk-very-secret-key",
        "x-uwf-role: reviewer",
        "x-title: uwf",
        "content-type: application/json",
    ] {
        assert!(request.contains(&format!("\r\n{line}\r\n")), "{line} in {request}");
    }
    assert!(request.contains("\"stream\":true,\"stream_options\":{\"include_usage\":true}"), "{request}");
}

#[test]
fn every_retry_after_is_waited_for() {
    let soon = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_millis(1500));
    let headers = [
        ("Retry-After: 0\r\n".to_owned(), 0),
        ("Retry-After: 1\r\n".to_owned(), 1000),
        ("retry-after-ms: 300\r\nRetry-After: 60\r\n".to_owned(), 300),
        (format!("Retry-After: {soon}\r\n"), 0),
        (
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n"
                .to_owned(),
            1000,
        ),
    ];
    for (header, least) in headers {
        let begun = Instant::now();
        let (result, retries) =
            against(vec![status("429 Too Many Requests", &header, "slow down"), ok(GOOD)]);
        assert_eq!(result.unwrap().content, "Hello", "{header}");
        assert_eq!(retries, ["429: slow down"]);
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(least) && took < Duration::from_secs(50), "{header}: {took:?}");
    }
}

#[test]
fn a_wait_beyond_the_budget_is_not_begun() {
    let (result, retries) =
        against(vec![status("429 Too Many Requests", "Retry-After: 3600\r\n", "tomorrow")]);
    let error = result.unwrap_err().to_string();
    assert!(error.ends_with("failed once, with: 429: tomorrow (it asks to wait 3600 s)"), "{error}");
    assert_eq!(retries, [""; 0]);
}

#[test]
fn passing_failures_are_tried_again() {
    let in_band = ok("data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n");
    let half = unframed("data: {\"choices\":[{\"delta\":{\"content\":\"Hel");
    let silent_end = unframed("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n");
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    for (reply, reason) in [
        (status("500 Internal Server Error", "", "{\"error\":\"boom\"}"), "500: boom"),
        (
            status("502 Bad Gateway", "", "<html><title>Bad gateway</title>"),
            "502: an HTML page, \"Bad gateway\"",
        ),
        (status("408 Request Timeout", "", ""), "408: no explanation"),
        (in_band, "overloaded"),
        (half, "the stream ended"),
        (silent_end, "the stream ended"),
        (Reply::Bytes(short.to_owned()), ""),
        (Reply::Reset, "reset"),
        (Reply::Bytes(String::new()), ""),
        (
            status("400 Bad Request", "", "{\"error\":{\"message\":\"x\",\"failed_generation\":\"I say\"}}"),
            "400: x",
        ),
    ] {
        let (result, retries) = against(vec![reply, ok(GOOD)]);
        assert_eq!(result.unwrap().content, "Hello", "nothing of the first attempt is left");
        assert!(retries.len() == 1 && retries[0].contains(reason), "{reason}: {retries:?}");
    }
}

#[test]
fn an_endpoint_that_goes_on_failing_is_given_up() {
    let server = Server::new(vec![status("500 Internal Server Error", "", "boom"); 9]);
    let (result, retries) = ask(config(server.address));
    let error = result.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Exhausted { attempts: 5, last, .. } if last == "500: boom"),
        "{error}"
    );
    assert_eq!((retries.len(), server.requests().len()), (4, 5), "ours is the only retry layer");
}

#[test]
fn nobody_there_is_unreachable() {
    // An address of loopback that nobody else listens on.
    let address = TcpListener::bind("127.0.0.77:0").unwrap().local_addr().unwrap();
    let (result, retries) = ask(config(address));
    let error = result.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Unreachable { reason, .. } if reason.contains("refused")),
        "{error}"
    );
    assert_eq!(retries.len(), 4);
}

#[test]
fn a_server_that_speaks_no_tls_is_unreachable_over_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        }
    });
    let (result, _) = ask(HttpConfig { base_url: format!("https://{address}/v1"), ..config(address) });
    let error = result.unwrap_err();
    assert!(matches!(&error, ProviderError::Unreachable { .. }), "{error}");
}

#[test]
fn silence_ends_an_attempt() {
    // On a slow machine what is said may take too long, too: it is said often enough.
    let replies = [vec![Reply::Silence], vec![ok(GOOD); 9]].concat();
    let mut config = HttpConfig { idle: Duration::from_millis(100), ..config(Server::new(replies).address) };
    config.retry.tries = 10;
    let (result, retries) = ask(config);
    assert_eq!(result.unwrap().content, "Hello");
    assert!(
        !retries.is_empty() && retries.iter().all(|why| why == "nothing arrived for 100ms"),
        "{retries:?}"
    );
}

#[test]
fn permanent_errors_are_told_at_once() {
    for (line, code, word) in [
        ("401 Unauthorized", "invalid_api_key", "answered 401: no; the key from $MY_KEY was sent"),
        ("403 Forbidden", "", "answered 403: no; the key from $MY_KEY was sent"),
        ("404 Not Found", "model_not_found", "answered 404: no"),
        ("400 Bad Request", "", "answered 400: no"),
        ("429 Too Many Requests", "insufficient_quota", "answered 429: no"),
        ("400 Bad Request", "context_length_exceeded", "longer than the model's context window: no"),
    ] {
        let body = format!("{{\"error\":{{\"message\":\"no\",\"code\":\"{code}\"}}}}");
        let error = refused(status(line, "", &body)).to_string();
        assert!(error.ends_with(word), "{error}");
    }
    let error = refused(ok("{\"error\":{\"message\":\"no\",\"code\":401}}"));
    assert!(matches!(error, ProviderError::Refused { status: 200, .. }), "{error}");
    let error = refused(ok("<html><title>Sign in</title></html>"));
    assert!(matches!(error, ProviderError::Malformed { .. }), "{error}");
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Server::new(vec![ok(GOOD)]);
    let location = format!("Location: http://{}/v1\r\n", other.address);
    let error = refused(status("307 Temporary Redirect", &location, "")).to_string();
    assert!(error.contains("307: it redirects to http://"), "{error}");
    assert!(other.requests().is_empty());
}

#[test]
fn a_key_that_is_echoed_is_blotted_out() {
    let echo = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\"}}}}");
    let error = refused(status("401 Unauthorized", "", &echo)).to_string();
    assert!(error.contains("Incorrect API key provided: ***;"), "{error}");
    let long = format!("{}{KEY}", "x ".repeat(295));
    let error = refused(status("400 Bad Request", "", &long)).to_string();
    assert!(!error.contains("sk-ve"), "half a key is not shown either: {error}");
    refused(ok(&format!("{{\"error\":{{\"message\":\"{KEY}\",\"code\":\"invalid_api_key\"}}}}")));
    refused(ok(&format!("Sorry {KEY}")));
    let body = format!("{{\"choices\":[{{\"message\":{{\"content\":\"a\"}}}}],\"you\":\"{KEY}\"}}");
    assert_eq!(against(vec![ok(&body)]).0.unwrap().raw["you"], "***");
}

#[test]
fn json_on_a_stream_is_read() {
    let reply = "{\"choices\":[{\"message\":{\"content\":\"Hello\"}}]}";
    assert_eq!(against(vec![ok(reply)]).0.unwrap().content, "Hello");
}

#[test]
fn a_stream_that_says_nothing_is_asked_for_in_one_piece_once() {
    let reply = "{\"choices\":[{\"message\":{\"content\":\"Hello\"}}]}";
    let server = Server::new(vec![ok("data: {\"choices\":[]}\n\ndata: [DONE]\n\n"), ok(reply)]);
    assert_eq!(ask(config(server.address)).0.unwrap().content, "Hello");
    assert!(
        server.requests()[1].contains("\"stream\":false") && !server.requests()[1].contains("stream_options")
    );
    let error = against(vec![ok("data: [DONE]\n\n"), ok("{\"choices\":[]}")]).0.unwrap_err().to_string();
    assert!(error.ends_with("is not a completion: the reply holds no choices"), "{error}");
}

#[test]
fn what_an_endpoint_refuses_is_left_out_or_added_once() {
    let refusal =
        |words: &str| status("400 Bad Request", "", &format!("{{\"error\":{{\"message\":\"{words}\"}}}}"));
    let server = Server::new(vec![refusal("unknown field stream_options"), ok(GOOD)]);
    assert!(ask(config(server.address)).0.is_ok());
    assert!(!server.requests()[1].contains("stream_options"));
    let missing = "Missing `reasoning_content` field in the assistant message";
    let (result, _) = against(vec![refusal(missing); 3]);
    assert!(
        matches!(result, Err(ProviderError::Refused { status: 400, .. })),
        "empty, then blank, then no more"
    );
}

#[test]
fn an_endpoint_that_refuses_to_stream_is_asked_without_from_then_on() {
    let refusal =
        "{\"error\":{\"message\":\"Unsupported value: 'stream' does not support true with this model.\"}}";
    let whole = "{\"choices\":[{\"message\":{\"content\":\"Hello\"}}]}";
    let server = Server::new(vec![status("400 Bad Request", "", refusal), ok(whole), ok(whole)]);
    let mut provider = HttpProvider::new(config(server.address)).unwrap();
    let messages = [Message::text(Speaker::User, MessageKind::Opening, "hi")];
    for _ in 0..2 {
        assert_eq!(complete(&mut provider, &messages).unwrap().content, "Hello");
    }
    let streamed =
        server.requests().iter().map(|request| request.contains("\"stream\":true")).collect::<Vec<_>>();
    assert_eq!(streamed, [true, false, false]);
    let upstream = "{\"error\":{\"message\":\"upstream_model does not support images\"}}";
    assert!(matches!(
        refused(status("400 Bad Request", "", upstream)),
        ProviderError::Refused { status: 400, .. }
    ));
}

/// One completion after another, by the same provider.
fn complete(provider: &mut HttpProvider, messages: &[Message]) -> Result<Completion, ProviderError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sampling = Sampling::default();
    let tool_choice = ToolChoice::Auto;
    let request = Request { messages, tools: &[], tool_choice, model: "m", sampling: &sampling };
    runtime.block_on(provider.complete(request, &mut |_: CompletionEvent<'_>| {}))
}

#[test]
fn reasoning_goes_back_once_its_lack_was_refused_and_in_the_field_it_came_in() {
    let thinks = "{\"choices\":[{\"message\":{\"content\":\"a\",\"reasoning\":\"hm\"}}]}";
    let refusal = "{\"error\":{\"message\":\"Missing `reasoning` field in the assistant message\"}}";
    let server =
        Server::new(vec![ok(thinks), status("400 Bad Request", "", refusal), ok(thinks), ok(thinks)]);
    let mut provider = HttpProvider::new(config(server.address)).unwrap();
    let mut turn = Message::text(Speaker::Assistant, MessageKind::Turn, "");
    turn.reasoning = Some("hm".into());
    turn.tool_calls = vec![crate::provider::message::ToolCall {
        id: "a".into(),
        name: "list_dir".into(),
        arguments: "{}".into(),
    }];
    let mut silent = Message { reasoning: Some(String::new()), ..turn.clone() };
    silent.tool_calls[0].id = "b".into();
    let task = Message::text(Speaker::User, MessageKind::Opening, "hi");
    let messages = [task, turn, Message::result("a", "x"), silent, Message::result("b", "y")];
    complete(&mut provider, &messages[..1]).unwrap();
    complete(&mut provider, &messages).unwrap();
    complete(&mut provider, &messages).unwrap();
    let echoes: Vec<usize> =
        server.requests().iter().map(|request| request.matches("\"reasoning\":\"hm\"").count()).collect();
    assert_eq!(echoes, [0, 0, 1, 1]);
    let empty = |request: &String| request.matches("\"reasoning\":\"\"").count();
    assert_eq!(
        server.requests().iter().map(empty).collect::<Vec<_>>(),
        [0, 0, 1, 1],
        "there, where nothing was thought"
    );
    assert!(server.requests().iter().all(|request| !request.contains("reasoning_content")));
}

#[test]
fn a_failed_generation_is_read_where_it_is_a_call() {
    let body = "{\"error\":{\"message\":\"x\",\"code\":\"tool_use_failed\",\"failed_generation\":\"<function=list_dir></function>\"}}";
    let completion = against(vec![status("400 Bad Request", "", body)]).0.unwrap();
    assert_eq!(completion.tool_calls[0].name, "list_dir");
    assert_eq!(completion.finish_reason.as_deref(), Some("tool_use_failed"));
}

#[test]
fn dropping_a_completion_ends_it() {
    let server = Server::new(vec![Reply::Silence, Reply::Silence]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut provider = HttpProvider::new(config(server.address)).unwrap();
    let sampling = Sampling::default();
    let messages = [Message::text(Speaker::User, MessageKind::Opening, "hi")];
    let request = Request {
        messages: &messages,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        model: "m",
        sampling: &sampling,
    };
    let mut on_event = |_: CompletionEvent<'_>| {};
    let ended = runtime.block_on(async {
        tokio::time::timeout(Duration::from_millis(100), provider.complete(request, &mut on_event)).await
    });
    assert!(ended.is_err());
}

#[test]
fn a_setting_wins_over_what_was_learnt() {
    let learnt = |quirks: &[&str]| Learnt {
        host: "127.0.0.1:9".into(),
        model: "m".into(),
        quirks: quirks.iter().map(|quirk| (*quirk).to_owned()).collect(),
    };
    let with = |config: HttpConfig| {
        let quirks = ["wire=responses", "echo=reasoning", "omit=temperature", "of=tomorrow"];
        let provider = HttpProvider::new(HttpConfig { learnt: vec![learnt(&quirks)], ..config }).unwrap();
        (provider.wire(), provider.learnt().map(|learnt| learnt.quirks.len()))
    };
    let plain = || HttpConfig::new("http://127.0.0.1:9/v1", "m");
    assert_eq!(with(plain()), (Wire::Responses, Some(3)));
    assert_eq!(with(HttpConfig { wire: Some(Wire::Chat), ..plain() }), (Wire::Chat, Some(2)));
    assert_eq!(with(HttpConfig { echo_reasoning: EchoReasoning::Never, ..plain() }).1, Some(2));
    let request_body = [("temperature".to_owned(), 1.into())].into_iter().collect();
    assert_eq!(with(HttpConfig { request_body, ..plain() }).1, Some(2));
    assert_eq!(
        with(HttpConfig::new("http://127.0.0.1:9/v1", "other")),
        (Wire::Chat, None),
        "another model's"
    );
}

#[test]
fn a_connection_that_stays_open_behind_the_end_is_left_soon() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = GOOD.replace("data: [DONE]\n\n", "");
    let open = Reply::Open(format!("{head}{:x}\r\n{body}\r\n", body.len()));
    // The server lives as long as it waits for another connection.
    let server = Server::new(vec![open, Reply::Silence]);
    let begun = Instant::now();
    let (result, retries) = ask(config(server.address));
    assert_eq!((result.unwrap().content.as_str(), retries.len()), ("Hello", 0));
    assert!(begun.elapsed() < Duration::from_secs(60), "the longest silence is 120 s");
}

#[test]
fn half_a_character_spoils_no_reply() {
    let whole = "{\"choices\":[{\"message\":{\"content\":\"a\\ud83db\"}}]}";
    let delta = "{\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}";
    let rest = "{\"choices\":[{\"delta\":{\"content\":\"\\ude00b\"},\"finish_reason\":\"stop\"}]}";
    let stream = format!("data: {delta}\n\ndata: {rest}\n\ndata: [DONE]\n\n");
    assert_eq!(against(vec![ok(whole)]).0.unwrap().content, "a\u{fffd}b");
    assert_eq!(against(vec![ok(&stream)]).0.unwrap().content, "a\u{fffd}\u{fffd}b");
}

#[test]
fn a_key_is_in_no_part_of_a_call() {
    let call = |id: &str| {
        format!("{{\"id\":\"{id}\",\"function\":{{\"name\":\"tool-{KEY}\",\"arguments\":\"{{}}\"}}}}")
    };
    let (one, two) = (call(KEY), call(&format!("{KEY}{KEY}")));
    let body = format!(
        "{{\"choices\":[{{\"message\":{{\"tool_calls\":[{one},{two}]}},\"finish_reason\":\"{KEY}\"}}]}}"
    );
    let completion = against(vec![ok(&body)]).0.unwrap();
    assert!(!format!("{completion:?}").contains(KEY), "{completion:?}");
    let ids: Vec<&str> = completion.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!((ids[0], completion.tool_calls[0].name.as_str()), ("***", "tool-***"));
    assert_ne!(ids[0], ids[1]);
}

/// What is told of the request that is sent with these fields added.
fn sent_with(added: serde_json::Value) -> String {
    let server = Server::new(vec![ok(GOOD)]);
    let request_body = added.as_object().unwrap().clone();
    let mut provider = HttpProvider::new(HttpConfig { request_body, ..config(server.address) }).unwrap();
    let messages = [Message::text(Speaker::User, MessageKind::Opening, "hi")];
    let sampling = Sampling::default();
    let tool_choice = ToolChoice::Auto;
    let request = Request { messages: &messages, tools: &[], tool_choice, model: "m", sampling: &sampling };
    let mut told = String::new();
    let on_event = &mut |event: CompletionEvent<'_>| {
        if let CompletionEvent::Sent(sent) = event {
            told = serde_json::json!(sent).to_string();
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(provider.complete(request, on_event)).unwrap();
    let requests = server.requests.lock().unwrap();
    assert!(added.as_object().unwrap().keys().all(|name| requests[0].contains(name)), "{requests:?}");
    told
}

#[test]
fn what_is_told_of_a_request_says_nothing_of_a_secret_in_it() {
    let long = "x".repeat(300);
    for added in [
        serde_json::json!({"token": "12345"}),
        serde_json::json!({"passwords": ["12345"], "metadata": {"api_key": "12345", "note": long}}),
        serde_json::json!({"user": format!("a {KEY}")}),
    ] {
        let other = added.to_string().replace("12345", "***").replace(KEY, "***");
        assert_eq!(sent_with(added), sent_with(serde_json::from_str(&other).unwrap()));
    }
}
