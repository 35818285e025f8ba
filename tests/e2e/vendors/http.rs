//! HTTP/1.1, as little of it as one request on one connection needs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::mode::Mode;

/// A request as it came, and what it was answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
    pub(crate) status: u16,
    pub(crate) refusal: Option<String>,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = |line: &'_ String| {
            let (key, _) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(key.len() + 1)
        };
        self.headers.iter().find_map(|line| value(line).map(|at| line[at..].trim()))
    }
}

/// What a wire needs to know of a request beside its body.
pub(super) struct Head<'a> {
    pub(super) mode: &'a Mode,
    pub(super) asked: &'a Asked,
    /// The id of the request.
    pub(super) id: &'a str,
}

/// An answer: one body, or events.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    /// Whole events, with their blank lines.
    pub(super) events: Option<Vec<String>>,
    pub(super) refusal: Option<String>,
    /// The connection ends without the end of the body.
    pub(super) torn: bool,
}

impl Answer {
    pub(super) fn json(body: &Value) -> Answer {
        Answer { status: 200, body: body.to_string(), ..Answer::default() }
    }

    pub(super) fn stream(events: Vec<String>) -> Answer {
        Answer { status: 200, events: Some(events), ..Answer::default() }
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Cut off after so many events, or in the middle of the body.
    pub(super) fn cut(mut self, events: usize) -> Answer {
        self.torn = true;
        match &mut self.events {
            Some(all) => all.truncate(events),
            None => self.body.truncate(self.body.len() / 2),
        }
        self
    }

    /// An error instead of the events after so many.
    pub(super) fn broken(mut self, events: usize, error: &str) -> Answer {
        if let Some(all) = &mut self.events {
            all.truncate(events);
            all.push(error.to_owned());
        }
        self
    }
}

/// An event of a stream, with its name or without.
pub(super) fn event(name: Option<&str>, data: &Value) -> String {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

/// A request, if one comes.
pub(super) fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let mut asked = Asked { method: words.next()?, path: words.next()?, ..Asked::default() };
    loop {
        match line()? {
            end if end.is_empty() => break,
            header => asked.headers.push(header),
        }
    }
    let length = asked.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).ok()?;
    Some(asked)
}

/// Writes an answer, events in chunks that end in the middle of them.
pub(super) fn write(stream: &mut TcpStream, answer: &Answer, mode: &Mode, id: &str) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = format!("HTTP/1.1 {} x\r\nconnection: close\r\n", answer.status);
    for (name, value) in mode.kind.request_ids(id) {
        head += &format!("{name}: {value}\r\n");
    }
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let Some(events) = &answer.events else {
        let length = answer.body.len() * if answer.torn { 2 } else { 1 };
        head += &format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        return stream.write_all((head + &answer.body).as_bytes());
    };
    head += "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let bytes = events.concat().into_bytes();
    let mut size = 61;
    let mut at = 0;
    while at < bytes.len() {
        let end = bytes.len().min(at + size);
        let chunk = [format!("{:x}\r\n", end - at).as_bytes(), &bytes[at..end], b"\r\n"].concat();
        stream.write_all(&chunk)?;
        (at, size) = (end, size % 509 + 40);
    }
    if answer.torn { Ok(()) } else { stream.write_all(b"0\r\n\r\n") }
}
