//! What goes over the wire: how large a request is, and how much of it an endpoint has seen before.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::endpoint::NOT_FOUND;
use crate::site::{Site, example};

/// Turns of the run, all but the last with a tool call.
const TURNS: usize = 30;

/// An endpoint that keeps the bodies of all requests, and asks for a tool until the last turn.
fn endpoint() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let bodies: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&bodies);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(body) = body(&mut stream) else { continue };
            let turn = {
                let mut kept = kept.lock().unwrap();
                kept.push(body);
                kept.len()
            };
            let reply = reply(turn);
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{reply}",
                reply.len()
            )
            .unwrap();
        }
    });
    (url, bodies)
}

/// The body of a request, whose head says how long it is; none of what asks for no completion, which is answered.
fn body(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if text.starts_with("GET ") && text.ends_with("\r\n\r\n") {
            stream.write_all(NOT_FOUND).unwrap();
            return None;
        }
        let parts = text.split_once("\r\n\r\n");
        let length =
            parts.and_then(|(head, _)| head.lines().find_map(|line| line.strip_prefix("content-length: ")));
        if let (Some((_, body)), Some(length)) = (parts, length)
            && body.len() == length.parse::<usize>().unwrap()
        {
            return Some(body.to_owned());
        }
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the request ends early: {text}");
        request.extend_from_slice(&buffer[..read]);
    }
}

fn reply(turn: usize) -> String {
    let delta = match turn {
        TURNS => r#"{"content": "---\n$status: approved\n---\n"}"#.to_owned(),
        turn => {
            // Two calls with fragments; one of them fails, and each turn says something else.
            let call = |index, arguments: &str| {
                format!(
                    r#"{{"index": {index}, "id": "c{turn}{index}", "function": {{"name": "list_dir", "arguments": "{arguments}"}}}}"#
                )
            };
            format!(
                r#"{{"content": "Look {turn}.", "reasoning_content": "hm", "tool_calls": [{}, {}]}}"#,
                call(0, &format!(r#"{{\"depth\": {turn}}}"#)),
                call(1, &format!(r#"{{\"path\": {turn}"#))
            )
        }
    };
    format!(
        "data: {{\"choices\": [{{\"delta\": {delta}, \"finish_reason\": \"stop\"}}]}}\n\ndata: [DONE]\n\n"
    )
}

#[test]
fn a_request_is_small_and_each_begins_with_the_one_before() {
    let site = Site::new();
    let (url, bodies) = endpoint();
    let workflow = example("solve-issue/workflow.yaml");
    let run = [
        "run",
        &workflow,
        "--role",
        "reviewer",
        "-p",
        "Look",
        "--base-url",
        &url,
        "--model",
        "m",
        "--format",
        "json",
    ];
    let reply = site.agent(&run).ok().json();
    assert_eq!(reply["usage"]["turns"], TURNS);
    let bodies = bodies.lock().unwrap();
    assert_eq!(bodies.len(), TURNS);
    assert!(bodies[0].len() <= 10_000, "the first request has {} bytes", bodies[0].len());
    assert!(bodies[0].contains("\"tool_output\""), "all tools are declared: {}", bodies[0]);
    // The messages end where what follows them begins; nothing before them changes either.
    let sent: Vec<&str> =
        bodies.iter().map(|body| &body[..body.rfind("],\"tool_choice\"").unwrap()]).collect();
    for (turn, pair) in sent.windows(2).enumerate() {
        assert!(pair[1].starts_with(pair[0]), "turn {}:\n{}\n{}", turn + 1, pair[0], pair[1]);
        assert!(pair[1].len() > pair[0].len());
    }
}
