//! A line of a picture that is painted over and over: never longer than the terminal is wide, whatever it is to hold.

use crate::shell::Paint;

/// Pieces of one line, each with what its colour means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row(Vec<(Option<Paint>, String)>);

impl Row {
    pub(super) fn new(text: impl Into<String>) -> Row {
        Row::default().then(None, text)
    }

    /// One piece more.
    pub(super) fn then(mut self, paint: impl Into<Option<Paint>>, text: impl Into<String>) -> Row {
        self.0.push((paint.into(), text.into()));
        self
    }

    /// One piece more, at its beginning.
    pub(super) fn before(mut self, paint: impl Into<Option<Paint>>, text: impl Into<String>) -> Row {
        self.0.insert(0, (paint.into(), text.into()));
        self
    }

    /// How many characters it has.
    pub(super) fn length(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The line, at most so many characters of it.
    pub(super) fn shown(&self, width: usize, color: bool) -> String {
        let is_cut = self.length() > width;
        let mut left = if is_cut { width.saturating_sub(1) } else { width };
        let mut line = String::new();
        for (paint, text) in &self.0 {
            let text: String = text.chars().take(left).collect();
            left -= text.chars().count();
            match paint.filter(|_| color && !text.is_empty()) {
                Some(paint) => line += &paint.on(&text),
                None => line += &text,
            }
        }
        if is_cut { line + "…" } else { line }
    }
}

/// Pieces with something between them, on as many lines as they need.
pub(super) fn wrapped(pieces: Vec<Row>, between: &str, width: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for piece in pieces {
        let gap = between.chars().count();
        match rows.last_mut() {
            Some(row) if row.length() + gap + piece.length() <= width => {
                row.0.push((None, between.to_owned()));
                row.0.extend(piece.0);
            }
            Some(_) => {
                let mut row = Row::new(format!("  {}", between.trim_start()));
                row.0.extend(piece.0);
                rows.push(row);
            }
            None => rows.push(piece),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_never_longer_than_the_line() {
        let row = Row::new("abc").then(Paint::Good, "defg").then(None, "hi");
        assert_eq!(row.shown(9, false), "abcdefghi");
        assert_eq!(row.shown(8, true), "abc\x1b[32mdefg\x1b[0m…");
        assert_eq!(row.shown(5, true), "abc\x1b[32md\x1b[0m…");
        assert_eq!((row.shown(1, true), row.shown(0, false).len()), ("…".to_owned(), 3));
    }

    #[test]
    fn pieces_go_on_in_the_next_line() {
        let rows = wrapped(["planner", "developer", "reviewer"].map(Row::new).into(), " → ", 20);
        let shown: Vec<String> = rows.iter().map(|row| row.shown(20, false)).collect();
        assert_eq!(shown, ["planner → developer", "  → reviewer"]);
    }
}
