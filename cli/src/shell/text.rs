//! What a command says on stdout for people, before it is known who reads: pieces that are foreign, painted, or a table.
//!
//! Apart because only the [`Ui`](super::Ui) knows the terminal: whoever makes a text says what its words mean, and where it is
//! printed it becomes as wide and as colourful as the reader can have it.

use super::paint::{Paint, Reader};
use super::table::Table;

/// A text for people, or several in a row.
#[derive(Debug, Default)]
pub struct Text {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Plain(String),
    Painted(Paint, String),
    Table(Table),
}

impl Text {
    /// Adds a text, or a table.
    pub fn then(mut self, text: impl Into<Text>) -> Text {
        self.pieces.extend(text.into().pieces);
        self
    }

    /// Adds a word with a meaning.
    pub fn then_painted(mut self, paint: Paint, text: impl Into<String>) -> Text {
        self.pieces.push(Piece::Painted(paint, text.into()));
        self
    }

    /// A text whose lines may begin with a mark, `✓` or `✗`.
    pub fn marked(text: &str) -> Text {
        text.split_inclusive('\n').fold(Text::default(), |all, line| {
            let indent = line.len() - line.trim_start().len();
            let (indent, rest) = line.split_at(indent);
            let marks = [('✓', Paint::Good), ('✗', Paint::Bad)];
            match marks.iter().find_map(|(mark, paint)| Some((mark, paint, rest.strip_prefix(*mark)?))) {
                Some((mark, paint, rest)) => all.then(indent).then_painted(*paint, *mark).then(rest),
                None => all.then(line),
            }
        })
    }

    /// Adds a status word in its colour.
    pub fn then_status(self, word: &str) -> Text {
        match Paint::of_status(word) {
            Some(paint) => self.then_painted(paint, word),
            None => self.then(word),
        }
    }

    /// As it is printed for a reader.
    pub(super) fn for_reader(&self, reader: &Reader) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Plain(text) => reader.shown(text).into_owned(),
            Piece::Painted(paint, text) => reader.painted(reader.shown(text), Some(*paint)),
            Piece::Table(table) => table.for_reader(reader),
        };
        self.pieces.iter().map(piece).collect()
    }
}

/// A status word in its colour: `end` green, `suspended` yellow, `failed` red, `running` cyan, `cancelled` dim.
pub fn status_painted(word: &str) -> Text {
    Text::default().then_status(word)
}

impl Table {
    /// Followed by more.
    pub(crate) fn then(self, text: impl Into<Text>) -> Text {
        Text::from(self).then(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text { pieces: vec![Piece::Plain(text)] }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        text.to_owned().into()
    }
}

impl From<Table> for Text {
    fn from(table: Table) -> Text {
        Text { pieces: vec![Piece::Table(table)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_colours_where_a_line_begins() {
        let reader = Reader { color: true, is_terminal: true, width: None };
        let text = Text::marked("✓ a ✗\n  ✗ b\nc");
        assert_eq!(text.for_reader(&reader), "\x1b[32m✓\x1b[0m a ✗\n  \x1b[31m✗\x1b[0m b\nc");
        assert_eq!(text.for_reader(&Reader::default()), "✓ a ✗\n  ✗ b\nc");
    }

    #[test]
    fn a_status_has_the_colour_of_its_first_word() {
        let reader = Reader { color: true, is_terminal: true, width: None };
        let text = status_painted("failed: 401\x1b[2J").then(" and \x1b[0m").then_status("idle");
        assert_eq!(text.for_reader(&reader), "\x1b[31mfailed: 401\\u001b[2J\x1b[0m and \\u001b[0midle");
        assert_eq!(text.for_reader(&Reader::default()), "failed: 401\x1b[2J and \x1b[0midle");
        assert_eq!(Paint::of_status("ending"), None);
    }
}
