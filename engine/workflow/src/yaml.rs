//! The one YAML reader: text → `serde_json::Value`, with the position of every value; and the one writer (`write`).
//!
//! It is apart because workflow files, frontmatter, settings and mock scripts must read the same text the same way, on
//! every machine and in every implementation of the format. The dialect is YAML 1.2 core as the npm package `yaml`
//! resolves it: `yes`, `on` and dates are strings, `<<` is an ordinary key, a duplicate key is an error, numbers are
//! JavaScript's. It pulls parser events instead of building the parser's own tree, so nesting cannot overflow the
//! stack, and it bounds what aliases expand to. It never touches a file and never resolves a tag that is not core:
//! the tag is remembered for those who give it a meaning (`!include`).

mod build;
mod kind;
mod scalar;
mod surrogates;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScanError};
use serde_json::Value;
use uwf_store::schema::pointer::{escape, unescape};

pub use kind::kind;
pub use write::{quoted_unless_plain, write};

use build::Builder;

/// Collections nested deeper than this are refused; the same figure as `serde_json`'s own limit.
pub const MAX_DEPTH: usize = 128;

/// One YAML document as JSON, and where in the text each of its values stands.
#[derive(Debug, Clone)]
pub struct Document {
    /// The document; `null` if the text holds nothing but blanks and comments.
    pub value: Value,
    places: Positions,
}

/// A position in the text; both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Why a text is not one YAML document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct YamlError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, without the position; where it helps, with what to write instead.
    pub message: String,
}

/// Where a value and its key stand; mirrors the shape of the value.
#[derive(Debug, Clone)]
struct Positions {
    key: Position,
    value: Position,
    /// An application tag as written, such as `!include`.
    tag: Option<String>,
    children: BTreeMap<String, Positions>,
}

/// Reads exactly one document.
///
/// # Errors
/// On text that is not YAML, a second document, a duplicate key, a key that is no scalar, nesting deeper than
/// [`MAX_DEPTH`], and aliases that expand beyond bounds.
pub fn parse(text: &str) -> Result<Document, YamlError> {
    read(text).or_else(|error| match surrogates::joined(text) {
        Some(joined) => read(&joined).map_err(|_| error),
        None => Err(error),
    })
}

fn read(text: &str) -> Result<Document, YamlError> {
    let mut builder = Builder::new(text);
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| syntax_error(text, &error))?;
        if event == Event::StreamEnd {
            break;
        }
        builder.accept(event, span.start.into())?;
    }
    let (value, places) = builder.finish();
    Ok(Document { value, places })
}

/// Reads exactly one document when no positions are wanted.
///
/// # Errors
/// As [`parse`].
pub fn parse_value(text: &str) -> Result<Value, YamlError> {
    parse(text).map(|document| document.value)
}

impl Document {
    /// A document that is one string, however it reads: a text file in the place of a value.
    pub fn text(text: &str) -> Document {
        let start = Position { line: 1, column: 1 };
        Document { value: Value::from(text), places: Positions::new(start, None) }
    }

    /// Where the value at a JSON pointer starts. For a pointer that leads nowhere: where the last value on its way
    /// starts, so that a missing key is reported at the mapping that misses it.
    pub fn at(&self, pointer: &str) -> Position {
        self.places.nearest(pointer).value
    }

    /// Where the key of the value at a JSON pointer starts; for an item of a sequence and for the root, the value
    /// itself. A pointer that leads nowhere gives the key of the last value on its way.
    pub fn at_key(&self, pointer: &str) -> Position {
        self.places.nearest(pointer).key
    }

    /// The values that carry a tag of an application, such as `!include`: JSON pointer and tag, in the order of the
    /// pointers. What such a tag means is not this reader's to say; their values are read as if untagged and quoted.
    pub fn tags(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.places.collect_tags(&mut String::new(), &mut found);
        found
    }
}

impl Positions {
    fn nearest(&self, pointer: &str) -> &Positions {
        let mut place = self;
        for token in pointer.split('/').skip(1) {
            match place.children.get(&unescape(token)) {
                Some(child) => place = child,
                None => break,
            }
        }
        place
    }

    fn collect_tags(&self, path: &mut String, found: &mut Vec<(String, String)>) {
        if let Some(tag) = &self.tag {
            found.push((path.clone(), tag.clone()));
        }
        for (key, child) in &self.children {
            let length = path.len();
            path.push('/');
            path.push_str(&escape(key));
            child.collect_tags(path, found);
            path.truncate(length);
        }
    }
}

impl From<saphyr_parser::Marker> for Position {
    fn from(marker: saphyr_parser::Marker) -> Position {
        Position { line: marker.line().max(1), column: marker.col() + 1 }
    }
}

impl YamlError {
    fn at(position: Position, message: impl Into<String>) -> YamlError {
        YamlError { line: position.line, column: position.column, message: message.into() }
    }
}

/// The parser's error; if the value on that line starts with `{{`, what it stumbled over is an unquoted template.
fn syntax_error(text: &str, error: &ScanError) -> YamlError {
    let position = Position::from(*error.marker());
    let line = text.lines().nth(position.line - 1).unwrap_or_default();
    match template_column(line) {
        Some(column) => YamlError::at(Position { column, ..position }, QUOTE_TEMPLATE),
        None if error.info().starts_with("mapping values are not allowed") => {
            YamlError::at(position, "`: ` inside a plain value: quote the whole value")
        }
        // It looks ahead, and so may come to its own limit before we come to ours.
        None if error.info() == "recursion limit exceeded" => build::too_deep(position),
        None => YamlError::at(position, error.info()),
    }
}

const QUOTE_TEMPLATE: &str = "unquoted, `{{` starts a mapping: quote your template, as in \"{{{ name }}}\"";

/// The column of a `{{` that starts a value on this line.
fn template_column(line: &str) -> Option<usize> {
    let at = line.find("{{")?;
    let before = line[..at].trim_end();
    let starts_value = before.is_empty() || before.ends_with([':', '-', ',', '[', '{']);
    starts_value.then(|| line[..at].chars().count() + 1)
}
