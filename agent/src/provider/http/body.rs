//! The body of a reply, whatever it is and however the network cuts it → its events, one after the other.
//!
//! Apart because endpoints are less exact than the client library's reader of events: that one panics on a byte order
//! mark, never gets over a byte that is no UTF-8, does not tell how a body ended, and takes time that grows with the
//! square of what arrives at once. So the library makes the request, and what comes back is read here. Lines end here, and
//! nothing is understood.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde::de::IgnoredAny;
use tokio::time::timeout;

use super::network_error::{attempt_error, silence};
use crate::provider::api_error;
use crate::provider::attempt_error::AttemptError;
use crate::provider::wires::lenient::whole_characters;
use crate::secrets::Secrets;

/// What endpoints send when they have said everything.
pub(super) const DONE: &str = "[DONE]";

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The fields of an event; a line without a name is a comment.
const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b""];

/// So many bytes of a body that is no stream are read: far more than any completion has.
const WHOLE_LIMIT: usize = 64 << 20;

/// So many bytes of a stream are read: a hundred thousand tokens take a tenth of it, with all that is around each.
const STREAM_LIMIT: usize = 256 << 20;

pub(super) type ByteStream = BoxStream<'static, reqwest::Result<Bytes>>;

/// The next piece of a body; `None` at its end. Silence for longer than `idle` is an error.
pub(super) async fn next(body: &mut ByteStream, idle: Duration) -> Result<Option<Bytes>, AttemptError> {
    match timeout(idle, body.next()).await {
        Err(_) => Err(silence(idle)),
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => bytes.map(Some).map_err(|error| attempt_error(&error)),
    }
}

/// The events of one reply: the data of each, as it came.
pub(super) struct ReplyEvents {
    /// What is still to come; none when it has ended.
    body: Option<ByteStream>,
    decoder: SseDecoder,
    /// Events that are whole and not given out.
    ready: VecDeque<String>,
    /// Why the body ended before its end.
    broken: Option<AttemptError>,
    /// The longest silence.
    idle: Duration,
    /// How many bytes may be read, and how many of them are left.
    limit: usize,
    left: usize,
}

impl ReplyEvents {
    /// The events of a reply of any kind. A JSON body is one event and [`DONE`].
    ///
    /// # Errors
    /// The body is neither events nor JSON, there is none, or it broke off before it told what it is.
    pub(super) async fn of(
        mut body: ByteStream,
        idle: Duration,
        secrets: &Secrets,
    ) -> Result<ReplyEvents, AttemptError> {
        let mut start = Vec::new();
        let kind = loop {
            if start.starts_with(BYTE_ORDER_MARK) {
                start.drain(..BYTE_ORDER_MARK.len());
            }
            if let Some(kind) = BodyFormat::of(&start) {
                break kind;
            }
            let cut = || AttemptError::Cut { reason: "the reply has no body".to_owned() };
            take(&mut start, &next(&mut body, idle).await?.ok_or_else(cut)?, WHOLE_LIMIT)?;
        };
        if let BodyFormat::Events = kind {
            let body = stream::iter([Ok(start.into())]).chain(body).boxed();
            return Ok(ReplyEvents::in_pieces(body, idle, STREAM_LIMIT));
        }
        while let Some(bytes) = next(&mut body, idle).await? {
            take(&mut start, &bytes, WHOLE_LIMIT)?;
        }
        let ready = VecDeque::from([whole(&start, secrets)?, DONE.to_owned()]);
        Ok(ReplyEvents { body: None, ready, ..ReplyEvents::in_pieces(body, idle, 0) })
    }

    fn in_pieces(body: ByteStream, idle: Duration, limit: usize) -> ReplyEvents {
        let (decoder, ready) = (SseDecoder::default(), VecDeque::new());
        ReplyEvents { body: Some(body), decoder, ready, broken: None, idle, limit, left: limit }
    }

    /// The next event; none when the body has ended as it should. What is left when it ends is an event too.
    ///
    /// # Errors
    /// The body broke off, or is too long.
    pub(super) async fn next(&mut self) -> Result<Option<String>, AttemptError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(body) = &mut self.body else {
                return self.broken.take().map_or(Ok(None), Err);
            };
            self.broken = match next(body, self.idle).await {
                Ok(Some(bytes)) if bytes.len() <= self.left => {
                    self.left -= bytes.len();
                    self.ready.extend(self.decoder.push(&bytes));
                    continue;
                }
                Ok(Some(_)) => Some(AttemptError::Oversized { limit: self.limit }),
                Ok(None) => None,
                Err(error) => Some(error),
            };
            self.body = None;
            self.ready.extend(self.decoder.finish());
        }
    }
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
enum BodyFormat {
    Events,
    Whole,
}

impl BodyFormat {
    /// As soon as the start of the body tells.
    fn of(start: &[u8]) -> Option<BodyFormat> {
        if BYTE_ORDER_MARK.starts_with(start) {
            return None;
        }
        let line = start.trim_ascii_start();
        let name = line.iter().position(|byte| b":\r\n".contains(byte)).map(|end| &line[..end]);
        match name {
            _ if line.is_empty() => None,
            Some(name) if FIELDS.contains(&name) => Some(BodyFormat::Events),
            None if FIELDS.iter().any(|field| field.starts_with(line)) => None,
            _ => Some(BodyFormat::Whole),
        }
    }
}

/// A body that came whole, as an event.
fn whole(body: &[u8], secrets: &Secrets) -> Result<String, AttemptError> {
    let text = String::from_utf8_lossy(body);
    let text = whole_characters(&text);
    match serde_json::from_str::<IgnoredAny>(&text) {
        // As it came: what must go back verbatim may be in it.
        Ok(_) => Ok(text.into_owned()),
        Err(error) if error.is_eof() => {
            Err(AttemptError::Cut { reason: "the reply ends within its JSON".to_owned() })
        }
        Err(_) => {
            let start = api_error::excerpt(&secrets.clean(&text));
            Err(AttemptError::Malformed { reason: format!("expected JSON or an event stream, got {start}") })
        }
    }
}

/// Decodes server-sent events, of which only the data counts: what an event is called, its data says again as its `type`.
#[derive(Default)]
struct SseDecoder {
    /// What came behind the last whole line.
    held: Vec<u8>,
    /// The data of the event that is under way.
    data: Option<String>,
    /// Whether its lines are JSON without a field's name: some throw their errors into a stream as they are.
    bare: bool,
}

impl SseDecoder {
    /// The events that are whole with these bytes.
    fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        // What is held has no line end, save for a `\r` at its end whose `\n` may come.
        let mut from = self.held.len().saturating_sub(1);
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let (mut events, mut start) = (Vec::new(), 0);
        while let Some((end, next)) = line_end(&held, from) {
            self.line(&String::from_utf8_lossy(&held[start..end]), &mut events);
            (start, from) = (next, next);
        }
        // A line that comes in many pieces is not copied with each.
        self.held = if start == 0 { held } else { held[start..].to_vec() };
        events
    }

    /// One more line, and the event that ends with it.
    fn line(&mut self, line: &str, events: &mut Vec<String>) {
        if line.is_empty() {
            self.bare = false;
            events.extend(self.data.take());
            return;
        }
        if !self.bare && line.trim_start().starts_with('{') {
            self.bare = true;
            events.extend(self.data.take());
        }
        let value = if self.bare { Some(line) } else { data(line) };
        match (&mut self.data, value) {
            (_, None) => {}
            (Some(data), Some(value)) => {
                data.push('\n');
                data.push_str(value);
            }
            (none, Some(value)) => *none = Some(value.to_owned()),
        }
    }

    /// What is left: half an event, or whole but for its blank line.
    fn finish(&mut self) -> Vec<String> {
        let (held, mut events) = (std::mem::take(&mut self.held), Vec::new());
        self.line(String::from_utf8_lossy(&held).trim_end_matches('\r'), &mut events);
        events.extend(self.data.take());
        events
    }
}

/// The value of the field `data`, if the line is one.
fn data(line: &str) -> Option<&str> {
    let value = line.strip_prefix("data")?;
    match value.strip_prefix(':') {
        Some(value) => Some(value.strip_prefix(' ').unwrap_or(value)),
        None => value.is_empty().then_some(value),
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

    /// The events of a body that arrives in these pieces.
    fn cut(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = SseDecoder::default();
        let mut events: Vec<String> = pieces.iter().flat_map(|piece| decoder.push(piece)).collect();
        events.extend(decoder.finish());
        events
    }

    fn kind(start: &str) -> &'static str {
        match BodyFormat::of(start.as_bytes()) {
            None => "more",
            Some(BodyFormat::Events) => "events",
            Some(BodyFormat::Whole) => "whole",
        }
    }

    #[test]
    fn each_event_is_its_data_whatever_ends_its_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let body = format!("data: a{end}data: b{end}{end}: c{end}{end}{end}data: d");
            let expected = ["a\nb", "d"];
            assert_eq!(cut(&[body.as_bytes()]), expected, "{end:?}");
            let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
            assert_eq!(cut(&bytes), expected, "{end:?}");
        }
    }

    #[test]
    fn only_data_counts_with_at_most_one_blank_before_it() {
        let events =
            cut(&[b"id: 1\nevent: x\nretry: 3\ndata:a\n\ndata:  b\n\ndata\n\ndatum: c\n\ndata-d: 1\n\n"]);
        assert_eq!(events, ["a", " b", ""]);
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
    async fn so_has_a_stream_and_its_last_events_come_before_the_error() {
        let pieces = ["data: x\n\n", "data: x\n\nda", "data: x\n\n"].map(|piece| Ok(Bytes::from(piece)));
        let mut events = ReplyEvents::in_pieces(stream::iter(pieces).boxed(), Duration::from_secs(1), 22);
        assert_eq!(events.next().await, Ok(Some("x".to_owned())));
        assert_eq!(events.next().await, Ok(Some("x".to_owned())));
        assert_eq!(events.next().await, Err(AttemptError::Oversized { limit: 22 }));
        assert_eq!(events.next().await, Ok(None));
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(cut(&[b"data: a\xff\xc3", b"\xa9\n\n"]), ["a\u{fffd}é"]);
    }

    #[test]
    fn json_among_events_becomes_an_event() {
        assert_eq!(cut(&[b"{}\n"]), ["{}"]);
        let events = cut(&[b"data: 1\n{\n \"a\": 1\n}\n\ndata: 2\n\n"]);
        assert_eq!(events, ["1", "{\n \"a\": 1\n}", "2"]);
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
}
