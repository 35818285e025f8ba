//! The body of a reply, whatever it is and however the network cuts it → a stream of whole events, one a piece, with
//! [`BodyEnd`] behind the last.
//!
//! Apart because endpoints are less exact than the client library's reader of events, which gets its events from here:
//! that reader panics on a byte order mark, never gets over a byte that is no UTF-8, does not tell how a body ended,
//! and takes time that grows with the square of what arrives at once. Here lines end, and nothing is understood.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use hyper::Response as HttpResponse;
use reqwest::Response;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::network_error::{attempt_error, silence};
use crate::provider::api_error;
use crate::provider::attempt_error::AttemptError;
use crate::provider::wires::lenient::whole_characters;
use crate::secrets::Secrets;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The fields of an event; a line without a name is a comment.
const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b""];

/// So many bytes of a body that is no stream are read: far more than any completion has.
const WHOLE_LIMIT: usize = 64 << 20;

/// So many bytes of a stream are read: a hundred thousand tokens take a tenth of it, with all that is around each.
const STREAM_LIMIT: usize = 256 << 20;

pub(super) type ReplyBody = BoxStream<'static, reqwest::Result<Bytes>>;

/// The next piece of a body; `None` at its end. Silence for longer than `idle` is an error.
pub(super) async fn next(body: &mut ReplyBody, idle: Duration) -> Result<Option<Bytes>, AttemptError> {
    match timeout(idle, body.next()).await {
        Err(_) => Err(silence(idle)),
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => bytes.map(Some).map_err(|error| attempt_error(&error)),
    }
}

/// A reply of any kind → one whose body is a stream of events. A JSON body is one event; what is neither is an error.
pub(super) async fn events(
    response: Response,
    idle: Duration,
    secrets: &Secrets,
) -> Result<Response, AttemptError> {
    let mut body = response.bytes_stream().boxed();
    let mut start = Vec::new();
    let kind = loop {
        if start.starts_with(BYTE_ORDER_MARK) {
            start.drain(..BYTE_ORDER_MARK.len());
        }
        if let Some(kind) = BodyKind::of(&start) {
            break kind;
        }
        let cut = || AttemptError::Cut { reason: "the reply has no body".to_owned() };
        take(&mut start, &next(&mut body, idle).await?.ok_or_else(cut)?, WHOLE_LIMIT)?;
    };
    if let BodyKind::Events = kind {
        let body = stream::iter([Ok(start.into())]).chain(body).boxed();
        return Ok(reply_of(whole_events(body, idle, STREAM_LIMIT)));
    }
    while let Some(bytes) = next(&mut body, idle).await? {
        take(&mut start, &bytes, WHOLE_LIMIT)?;
    }
    whole(&start, secrets).map(|event| reply_of(stream::iter([Ok(event)])))
}

/// One more piece of a body that is read whole.
pub(super) fn take(body: &mut Vec<u8>, piece: &[u8], limit: usize) -> Result<(), AttemptError> {
    if body.len() + piece.len() > limit {
        return Err(AttemptError::Oversized { limit });
    }
    body.extend_from_slice(piece);
    Ok(())
}

/// What a body is.
enum BodyKind {
    Events,
    Whole,
}

impl BodyKind {
    /// As soon as the start of the body tells.
    fn of(start: &[u8]) -> Option<BodyKind> {
        if BYTE_ORDER_MARK.starts_with(start) {
            return None;
        }
        let line = start.trim_ascii_start();
        let name = line.iter().position(|byte| b":\r\n".contains(byte)).map(|end| &line[..end]);
        match name {
            _ if line.is_empty() => None,
            Some(name) if FIELDS.contains(&name) => Some(BodyKind::Events),
            None if FIELDS.iter().any(|field| field.starts_with(line)) => None,
            _ => Some(BodyKind::Whole),
        }
    }
}

/// A body that came whole, as an event.
fn whole(body: &[u8], secrets: &Secrets) -> Result<Bytes, AttemptError> {
    let text = String::from_utf8_lossy(body);
    let text = whole_characters(&text);
    match serde_json::from_str::<IgnoredAny>(&text) {
        // As it came: what must go back verbatim may be in it.
        Ok(_) => {
            let lines = text.lines().map(|line| format!("data: {line}\n"));
            Ok(Bytes::from(lines.collect::<String>() + "\ndata: [DONE]\n\n"))
        }
        Err(error) if error.is_eof() => {
            Err(AttemptError::Cut { reason: "the reply ends within its JSON".to_owned() })
        }
        Err(_) => {
            let start = api_error::excerpt(&secrets.clean(&text));
            Err(AttemptError::Malformed { reason: format!("expected JSON or an event stream, got {start}") })
        }
    }
}

/// How the body of a stream ended, told to the reader as a last event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    Clean,
    Broken(String),
    /// It goes on behind so many bytes.
    Oversized(usize),
}

const BODY_END: &str = "{\"x-uwf-body-end\":";

impl BodyEnd {
    fn of(error: &AttemptError) -> BodyEnd {
        match error {
            AttemptError::Oversized { limit } => BodyEnd::Oversized(*limit),
            error => BodyEnd::Broken(error.to_string()),
        }
    }

    fn event(&self) -> String {
        let told = match self {
            BodyEnd::Clean => Value::Null,
            BodyEnd::Broken(reason) => json!(reason),
            BodyEnd::Oversized(limit) => json!(limit),
        };
        format!("data: {BODY_END}{told}}}\n\n")
    }

    /// The end, if the event is one.
    pub(super) fn read(event: &str) -> Option<BodyEnd> {
        let told = event.strip_prefix(BODY_END)?.strip_suffix('}')?;
        Some(match serde_json::from_str(told) {
            Ok(Value::String(reason)) => BodyEnd::Broken(reason),
            Ok(Value::Number(limit)) => {
                BodyEnd::Oversized(limit.as_u64().and_then(|limit| limit.try_into().ok()).unwrap_or_default())
            }
            _ => BodyEnd::Clean,
        })
    }
}

fn reply_of(body: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    Response::from(HttpResponse::new(reqwest::Body::wrap_stream(body)))
}

fn whole_events(
    body: ReplyBody,
    idle: Duration,
    limit: usize,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let events = stream::unfold(Some((body, SseDecoder::default(), limit)), move |under_way| async move {
        let (mut body, mut decoder, left) = under_way?;
        let piece = match next(&mut body, idle).await {
            Ok(Some(bytes)) if bytes.len() > left => Err(AttemptError::Oversized { limit }),
            piece => piece,
        };
        Some(match piece {
            Ok(Some(bytes)) => (decoder.push(&bytes), Some((body, decoder, left - bytes.len()))),
            Ok(None) => (vec![decoder.finish(&BodyEnd::Clean)], None),
            Err(error) => (vec![decoder.finish(&BodyEnd::of(&error))], None),
        })
    });
    events.flat_map(|events| stream::iter(events.into_iter().map(Ok)))
}

/// Decodes server-sent events: cuts bytes into events, as text with `\n` at the end of each line.
#[derive(Default)]
struct SseDecoder {
    /// What came behind the last whole line.
    held: Vec<u8>,
    /// The lines of the event that is under way.
    event: String,
    /// Whether they are JSON without a field's name: some throw their errors into a stream as they are.
    bare: bool,
}

impl SseDecoder {
    /// The events that are whole with these bytes.
    fn push(&mut self, bytes: &[u8]) -> Vec<Bytes> {
        // What is held has no line end, save for a `\r` at its end whose `\n` may come.
        let mut from = self.held.len().saturating_sub(1);
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let (mut events, mut start) = (Vec::new(), 0);
        while let Some((end, next)) = line_end(&held, from) {
            events.extend(self.line(&String::from_utf8_lossy(&held[start..end])));
            (start, from) = (next, next);
        }
        // A line that comes in many pieces is not copied with each.
        self.held = if start == 0 { held } else { held[start..].to_vec() };
        events
    }

    /// The event that ends with this line, if one does.
    fn line(&mut self, line: &str) -> Option<Bytes> {
        if line.is_empty() {
            self.bare = false;
            return (!self.event.is_empty()).then(|| Bytes::from(std::mem::take(&mut self.event) + "\n"));
        }
        // What an event is called, its data says again as its `type`: that is what is read.
        if !self.bare && line.starts_with("event:") {
            return None;
        }
        if !self.bare && line.trim_start().starts_with('{') {
            self.bare = true;
            self.event.push('\n');
        }
        if self.bare {
            self.event.push_str("data: ");
        }
        self.event.push_str(line);
        self.event.push('\n');
        None
    }

    /// What is left, which is half an event, or whole but for its blank line; and the end.
    fn finish(mut self, end: &BodyEnd) -> Bytes {
        let held = std::mem::take(&mut self.held);
        let whole = self.line(String::from_utf8_lossy(&held).trim_end_matches('\r')).unwrap_or_default();
        Bytes::from([&whole, self.event.as_bytes(), b"\n", end.event().as_bytes()].concat())
    }
}

/// Where the next line ends, and where the one behind it starts. A `\r` at the very end may be half a line end.
fn line_end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let end = from + bytes[from..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    match (bytes[end], bytes.get(end + 1)) {
        (b'\r', None) => None,
        (b'\r', Some(b'\n')) => Some((end, end + 2)),
        _ => Some((end, end + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a body that arrives in these pieces, with its end.
    fn cut(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = SseDecoder::default();
        let mut events: Vec<Bytes> = pieces.iter().flat_map(|piece| decoder.push(piece)).collect();
        events.push(decoder.finish(&BodyEnd::Clean));
        events.iter().map(|event| String::from_utf8(event.to_vec()).unwrap()).collect()
    }

    fn kind(start: &str) -> &'static str {
        match BodyKind::of(start.as_bytes()) {
            None => "more",
            Some(BodyKind::Events) => "events",
            Some(BodyKind::Whole) => "whole",
        }
    }

    const END: &str = "\ndata: {\"x-uwf-body-end\":null}\n\n";

    #[test]
    fn each_event_is_one_piece_whatever_ends_its_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let body = format!("data: a{end}data: b{end}{end}: c{end}{end}{end}data: d");
            let expected = ["data: a\ndata: b\n\n", ": c\n\n", &format!("data: d\n{END}")];
            assert_eq!(cut(&[body.as_bytes()]), expected, "{end:?}");
            let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
            assert_eq!(cut(&bytes), expected, "{end:?}");
        }
    }

    #[test]
    fn a_line_in_many_pieces_is_copied_once() {
        let mut decoder = SseDecoder::default();
        decoder.held.reserve(1 << 20);
        let place = decoder.held.as_ptr();
        assert!((0..1000).all(|_| decoder.push(b"data: x").is_empty()));
        assert_eq!((decoder.held.as_ptr(), decoder.held.len()), (place, 7000), "it stays where it is");
    }

    #[test]
    fn a_body_that_is_no_stream_has_a_limit() {
        let mut body = Vec::new();
        assert_eq!(take(&mut body, b"{ \"a\"", 8), Ok(()));
        assert_eq!(take(&mut body, b": 10", 8), Err(AttemptError::Oversized { limit: 8 }));
        assert_eq!(AttemptError::Oversized { limit: 8 }.to_string(), "the reply is longer than 8 bytes");
    }

    #[tokio::test]
    async fn so_has_a_stream() {
        let pieces = std::iter::repeat_n("data: x\n\n", 3).map(|piece| Ok(Bytes::from(piece)));
        let events = whole_events(stream::iter(pieces).boxed(), Duration::from_secs(1), 20);
        let events: Vec<Bytes> = events.map(Result::unwrap).collect().await;
        let end = "data: {\"x-uwf-body-end\":20}\n\n";
        assert_eq!(events[..2], ["data: x\n\n", "data: x\n\n"]);
        assert_eq!((events.len(), events[2].trim_ascii_start()), (3, end.as_bytes()));
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(
            cut(&[b"data: a\xff\xc3", b"\xa9\n\n"]),
            ["data: a\u{fffd}é\n\n".to_owned(), END.to_owned()]
        );
    }

    #[test]
    fn json_among_events_becomes_an_event() {
        let events = cut(&[b"data: 1\n{\n \"a\": 1\n}\n\ndata: 2\n\n"]);
        assert_eq!(cut(&[b"{}\n"]), [format!("\ndata: {{}}\n\n{END}")]);
        assert_eq!(events[..2], ["data: 1\n\ndata: {\ndata:  \"a\": 1\ndata: }\n\n", "data: 2\n\n"]);
    }

    #[test]
    fn the_start_tells_what_a_body_is() {
        for start in ["", " \n", "\u{feff}", "d", "dat", "retr", "event", "\n data"] {
            assert_eq!(kind(start), "more", "{start:?}");
        }
        for start in [":", ": hi", "data:", "data\n", "event: x", "id: 1", "retry: 3\n", "\n\ndata: x"] {
            assert_eq!(kind(start), "events", "{start:?}");
        }
        for start in ["{", "[", "<html>", "error: no such model", "datum: 1", "detail", "x", "dates"] {
            assert_eq!(kind(start), "whole", "{start:?}");
        }
    }

    #[test]
    fn the_end_is_an_event_of_its_own() {
        for end in [BodyEnd::Clean, BodyEnd::Broken("a \"b\"\n".to_owned()), BodyEnd::Oversized(STREAM_LIMIT)]
        {
            let event = end.event();
            assert_eq!(BodyEnd::read(event.trim_end().strip_prefix("data: ").unwrap()), Some(end));
        }
        assert_eq!(BodyEnd::read("{\"choices\":[]}"), None);
    }
}
