//! An endpoint that keeps what it is asked, byte for byte, and answers as a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The bytes of the messages, without the bracket that closes them.
    pub(crate) fn messages(&self) -> &str {
        let from = self.body.find("\"messages\":[").unwrap();
        let to = self.body.rfind("],\"tool_choice\"").or_else(|| self.body.rfind("],\"stream\"")).unwrap();
        &self.body[from..to]
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&String| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        Some(self.headers.iter().find(named)?.split_once(':')?.1.trim())
    }
}

/// The answer to all but completions.
pub(crate) const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// An endpoint on loopback.
pub(crate) struct Endpoint {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Endpoint {
    /// `answer` gets the number of the request, from 0, and the request; it gives status and body.
    pub(crate) fn new(mut answer: impl FnMut(usize, &Asked) -> (u16, Value) + Send + 'static) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read(&mut stream);
                if request.headers[0].starts_with("GET ") {
                    let _ = stream.write_all(NOT_FOUND);
                    continue;
                }
                let number = kept.lock().unwrap().len();
                kept.lock().unwrap().push(request.clone());
                let (status, body) = answer(number, &request);
                let body = body.to_string();
                let head = "content-type: application/json\r\nconnection: close";
                // Whoever asked may have been killed since; the next one is to be answered.
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} x\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Endpoint { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Asked {
    let mut reader = BufReader::new(stream);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => headers.push(line.to_owned()),
        }
    }
    let length =
        |line: &String| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
    let mut body = vec![0; headers.iter().find_map(length).unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    Asked { headers, body: String::from_utf8(body).unwrap() }
}

/// A turn that calls one tool.
pub(crate) fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call = json!({"id": format!("call{id:05}"), "type": "function", "function": function});
    json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [call]}}]})
}

/// A turn that says something.
pub(crate) fn text(text: &str) -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
}

/// The reviewer's answer.
pub(crate) fn approved() -> Value {
    text("---\n$status: approved\n---\nFine.\n")
}
