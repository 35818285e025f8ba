//! The real client against the server: what a script says in process, it says over HTTP.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::provider::message::{Completion, Message, MessageKind, Request, Sampling, Speaker, ToolChoice};
use crate::provider::retry::RetryPolicy;
use crate::provider::{
    ChatProvider, CompletionEvent, HttpConfig, HttpProvider, Mock, ProviderError, ScriptPosition,
};

fn script(text: &str) -> Script {
    Script::parse("s.yaml", text).unwrap()
}

/// Serves the script while `client` runs.
async fn with_server<T>(text: &str, client: impl AsyncFnOnce(SocketAddr) -> T) -> T {
    let (server, address) = MockServer::bind(script(text), 0, false).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async { stopped.await.unwrap_or(()) };
    let (served, answer) = tokio::join!(server.run(shutdown), async {
        let answer = client(address).await;
        drop(stop);
        answer
    });
    served.unwrap();
    answer
}

fn config(address: SocketAddr, role: &str, stream: bool) -> HttpConfig {
    let retry = RetryPolicy { first_wait: Duration::from_millis(5), ..RetryPolicy::default() };
    HttpConfig { role: role.into(), stream, retry, ..HttpConfig::new(format!("http://{address}/v1/"), "m") }
}

fn client(address: SocketAddr, role: &str, stream: bool) -> HttpProvider {
    HttpProvider::new(config(address, role, stream)).unwrap()
}

async fn ask(provider: &mut dyn ChatProvider) -> Result<Completion, ProviderError> {
    ask_and_hear(provider, &mut Vec::new()).await
}

/// Asks, and notes why attempts were repeated.
async fn ask_and_hear(
    provider: &mut dyn ChatProvider,
    heard: &mut Vec<String>,
) -> Result<Completion, ProviderError> {
    let messages = [
        Message::text(Speaker::System, MessageKind::Opening, "You review."),
        Message::text(Speaker::User, MessageKind::Opening, "Review the patch"),
    ];
    let sampling = Sampling::default();
    let request = Request {
        messages: &messages,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        model: "m",
        sampling: &sampling,
    };
    let mut on_event = |event: CompletionEvent<'_>| {
        if let CompletionEvent::Retry { reason, .. } = event {
            heard.push(reason.to_owned());
        }
    };
    provider.complete(request, &mut on_event).await
}

const TALK: &str = "
turns:
  - reasoning: I wonder what this is about.
    content: \"Let me look at this, shall we? Ünïcode — 漢字.\"
    tool_calls:
      - {name: read_file, arguments: {path: README.md, lines: [1, 20]}}
      - {name: grep, arguments: '{\"pattern\": '}
      - {name: list_dir}
    usage: {input_tokens: 100, output_tokens: 20, cached_tokens: 64, reasoning_tokens: 7}
    expect: {last_contains: patch, system_contains: review}
  - content: \"---\\n$status: done\\n---\\nFine.\\n\"
";

#[tokio::test]
async fn the_same_completion_in_process_streamed_and_whole() {
    let position = ScriptPosition { role: "r", visit: 0, step: 0, prompt: None };
    let mut mock = Mock::new(script(TALK), position).unwrap();
    let expected = [ask(&mut mock).await.unwrap(), ask(&mut mock).await.unwrap()];
    assert_eq!(expected[0].tool_calls.len(), 3);
    for stream in [true, false] {
        let got = with_server(TALK, async |address| {
            let mut client = client(address, "r", stream);
            [ask(&mut client).await.unwrap(), ask(&mut client).await.unwrap()]
        });
        assert_eq!(got.await, expected, "streamed: {stream}");
    }
}

#[tokio::test]
async fn faults_are_played_over_http() {
    let faults = "
turns:
  - error: {status: 429, retry_after: 0.01, message: busy}
  - error: {status: 503, retry_after: 0}
  - {drop_after_bytes: 30, content: This is cut off before it is over.}
  - {drop_after_bytes: 0, content: So is this.}
  - {delay_ms: 30, content: Fine.}
";
    for stream in [true, false] {
        let mut heard = Vec::new();
        let completion = with_server(faults, async |address| {
            ask_and_hear(&mut client(address, "r", stream), &mut heard).await
        });
        assert_eq!(completion.await.unwrap().content, "Fine.");
        assert_eq!(heard[..2], ["429: busy", "503: scripted error"]);
        assert_eq!(heard.len(), 4, "{heard:?}");
    }
}

#[tokio::test]
async fn a_connection_is_reset() {
    let script = "turns: [{reset: true}, {content: whole}]";
    for stream in [true, false] {
        let mut heard = Vec::new();
        let completion = with_server(script, async |address| {
            ask_and_hear(&mut client(address, "r", stream), &mut heard).await
        });
        assert_eq!(completion.await.unwrap().content, "whole");
        assert!(heard.len() == 1 && heard[0].contains("reset by peer"), "{heard:?}");
    }
}

/// On a slow machine what is said whole may take too long, too: it is said often enough.
#[tokio::test]
async fn a_connection_falls_silent() {
    let whole = ", {content: whole}".repeat(9);
    let script = format!("turns: [{{stall_after_bytes: 40, content: half}}{whole}]");
    for stream in [true, false] {
        let mut heard = Vec::new();
        let idle = if stream { 100 } else { 20 };
        let completion = with_server(&script, async |address| {
            let mut config = config(address, "r", stream);
            config.idle = Duration::from_millis(idle);
            config.retry.tries = 10;
            ask_and_hear(&mut HttpProvider::new(config).unwrap(), &mut heard).await
        });
        assert_eq!(completion.await.unwrap().content, "whole");
        assert!(!heard.is_empty() && heard.iter().all(|why| why == "nothing arrived for 100ms"), "{heard:?}");
    }
}

#[tokio::test]
async fn headers_are_sent_as_they_are() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let script = format!(
        "turns: [{{error: {{status: 429, headers: {{Date: '{date}', Retry-After: '{date}'}}}}}}, {{content: a}}]"
    );
    with_server(&script, async |address| {
        let body = "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}";
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
        let reply = raw(address, &format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await;
        for header in ["date", "retry-after"] {
            assert!(reply.contains(&format!("\r\n{header}: {date}\r\n")), "{reply}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_cut_after_the_end_still_cuts() {
    let text = "turns: [{drop_after_bytes: 99999, content: first}, {content: second}]";
    for stream in [true, false] {
        let completion = with_server(text, async |address| ask(&mut client(address, "r", stream)).await);
        assert_eq!(completion.await.unwrap().content, "second");
    }
}

#[tokio::test]
async fn raw_bodies_are_sent_as_they_are() {
    let text = "
turns:
  - {error: {status: 502}, body: <html><title>Bad</title>}
  - body: {choices: [{message: {content: a}}]}
  - body: <html>
";
    with_server(text, async |address| {
        let mut client = client(address, "r", true);
        assert_eq!(ask(&mut client).await.unwrap().content, "a");
        assert!(matches!(ask(&mut client).await, Err(ProviderError::Malformed { .. })));
    })
    .await;
}

#[tokio::test]
async fn a_request_that_does_not_fit_the_script_is_refused_with_the_reason() {
    with_server("turns: [{content: a, expect: {last_contains: Fix}}]", async |address| {
        let mut client = client(address, "r", true);
        let error = ask(&mut client).await.unwrap_err().to_string();
        assert!(error.contains("400: mock script s.yaml: turns[0] expects the last message"), "{error}");
        let error = ask(&mut client).await.unwrap_err().to_string();
        assert!(error.contains("has 1 entry, and one more call came"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn roles_are_told_apart_by_their_header() {
    let text =
        "roles: {a: [{turns: [{content: a1}]}, {turns: [{content: a2}]}], ß: [{turns: [{content: b1}]}]}";
    with_server(text, async |address| {
        let mut roles = ["a", "ß"].map(|role| client(address, role, true));
        let mut said = Vec::new();
        for role in [0, 1, 0, 0, 1] {
            said.push(ask(&mut roles[role]).await.unwrap().content);
        }
        assert_eq!(said, ["a1", "b1", "a2", "a2", "b1"]);
        let error = ask(&mut client(address, "c", true)).await.unwrap_err().to_string();
        assert!(error.contains("has nothing for role c, only for a, ß"), "{error}");
    })
    .await;
}

/// Sends a request as it is and returns the reply as it is.
async fn raw(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    reply
}

#[tokio::test]
async fn any_client_is_answered() {
    with_server("turns: [{content: hi}]", async |address| {
        let get = async |path: &str| {
            raw(address, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await
        };
        let models = get("/v1/models").await;
        assert!(models.starts_with("HTTP/1.1 200 OK") && models.contains("\"id\":\"mock\""), "{models}");
        assert!(get("/nowhere").await.starts_with("HTTP/1.1 404"));
        let post = async |body: &str| {
            let head = "POST /chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
            raw(address, &format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await
        };
        assert!(post("{").await.contains("the body is no JSON"));
        assert!(post("{}").await.contains("`messages` must be a list"));
        let asked =
            "{\"stream\": true, \"messages\": [{\"role\": \"user\", \"content\": [{\"text\": \"hi\"}]}]}";
        let stream = post(asked).await;
        assert!(
            stream.contains("content-type: text/event-stream") && stream.contains("data: [DONE]"),
            "{stream}"
        );
        assert!(!stream.contains("\"usage\""), "usage is sent to those who ask for it: {stream}");
    })
    .await;
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = MockServer::bind(script("turns: [{content: a}]"), port, false).unwrap_err();
    assert_eq!(error.to_string(), format!("the mock server cannot listen on 127.0.0.1:{port}"));
}

#[test]
fn by_turn_a_request_that_is_sent_again_gets_the_same_answer_and_is_counted() {
    let play = |by_turn| Play {
        script: script("turns: [{content: a}, {content: b}]"),
        by_turn,
        asked: Mutex::default(),
    };
    let (by_arrival, by_turn) = (play(false), play(true));
    let body = serde_json::to_vec(&json!({"model": "m", "messages": [
        {"role": "user", "content": "x"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "y"},
    ]}))
    .unwrap();
    let asked = wire::ServedRequest::read(&body).unwrap();
    let index = |play: &Play, step| play.index(&asked, None, step);
    assert_eq!([index(&by_turn, None), index(&by_turn, None)], [(1, 1), (1, 2)]);
    assert_eq!([index(&by_arrival, None), index(&by_arrival, None)], [(0, 1), (1, 1)]);
    let by_step = play(false);
    assert_eq!([index(&by_step, Some(7)), index(&by_step, Some(7))], [(7, 1), (7, 2)]);
    let times = |entry, times| json!({"role": null, "entry": entry, "times": times});
    assert_eq!(by_turn.requests(), json!([times(1, 2)]));
    assert_eq!(by_arrival.requests(), json!([times(0, 1), times(1, 1)]));
}
