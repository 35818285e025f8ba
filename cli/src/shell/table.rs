//! Tables: columns as wide as they need to be, on a line as long as the terminal has.
//!
//! Where a table is too wide, the columns that may be cut are; then, one by one, columns leave the line, the least important
//! first, and stand below it with their names. Nothing but what may be cut is lost, and nothing wraps that need not.

use super::paint::{Paint, Reader};
use super::sanitise::one_line;

/// Between two columns.
const GAP: usize = 2;
/// Before and between what stands below a line.
const INDENT: &str = "  ";
const BETWEEN: &str = " · ";

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    heading: &'static str,
    rank: Option<usize>,
    least: Option<usize>,
    is_status: bool,
}

impl Column {
    /// A column that is shown whole, and leaves a line before those to its left do.
    pub const fn new(heading: &'static str) -> Column {
        Column { heading, rank: None, least: None, is_status: false }
    }

    /// How unimportant it is, if not by its place: the highest rank leaves the line first. The first column has rank 0 and
    /// never leaves.
    pub const fn rank(self, rank: usize) -> Column {
        Column { rank: Some(rank), ..self }
    }

    /// It may be cut to so many characters before any column leaves the line.
    pub const fn cut(self, least: usize) -> Column {
        Column { least: Some(least), ..self }
    }

    /// Its cells are status words, and have their colours.
    pub const fn status(self) -> Column {
        Column { is_status: true, ..self }
    }
}

impl From<&'static str> for Column {
    fn from(heading: &'static str) -> Column {
        Column::new(heading)
    }
}

/// Rows under headings, not laid out yet.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// How many of the last characters of each row's first cell are bold.
    bold_ends: Vec<usize>,
}

/// Rows under headings, in columns as wide as they need to be; no heading line when there are no rows.
pub(crate) fn table<const N: usize>(columns: [impl Into<Column>; N], rows: &[[String; N]]) -> Table {
    let rows = rows.iter().map(|row| row.to_vec()).collect();
    Table { columns: columns.map(Into::into).to_vec(), rows, bold_ends: Vec::new() }
}

/// Which columns are on the line, and how wide every column is.
struct Layout {
    on_line: Vec<usize>,
    widths: Vec<usize>,
}

impl Table {
    /// With the ends of the first cells bold, so many characters of each row.
    pub(crate) fn with_bold_ends(self, bold_ends: Vec<usize>) -> Table {
        Table { bold_ends, ..self }
    }

    pub(super) fn for_reader(&self, reader: &Reader) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let cell = |cell: &String| match reader.is_terminal {
            true => one_line(cell).into_owned(),
            false => cell.clone(),
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        let layout = self.layout(&rows, reader.width.unwrap_or(usize::MAX));
        let headings: Vec<String> = self.columns.iter().map(|column| column.heading.to_owned()).collect();
        let mut text = self.line(&headings, &layout, &Reader { color: false, ..*reader });
        for (at, row) in rows.iter().enumerate() {
            let line = self.line(row, &layout, reader);
            text += &match self.bold_ends.get(at).filter(|_| reader.color) {
                Some(count) => with_bold_end(&line, &row[0], *count),
                None => line,
            };
            text += &self.below(row, &layout, reader);
        }
        text
    }

    fn layout(&self, rows: &[Vec<String>], room: usize) -> Layout {
        let widest = |at: usize| rows.iter().map(|row| length(&row[at])).max().unwrap_or(0);
        let natural = self.columns.iter().enumerate();
        let whole: Vec<usize> = natural.map(|(at, column)| widest(at).max(length(column.heading))).collect();
        let mut on_line: Vec<usize> = (0..self.columns.len()).collect();
        let mut widths = whole.clone();
        loop {
            let needed = on_line.iter().map(|at| widths[*at] + GAP).sum::<usize>().saturating_sub(GAP);
            let Some(excess) = needed.checked_sub(room).filter(|excess| *excess > 0) else { break };
            if self.cut_one(&on_line, &mut widths, excess) {
                continue;
            }
            let rank = |at: usize| (self.columns[at].rank.unwrap_or(at), at);
            match on_line.iter().copied().filter(|at| *at > 0).max_by_key(|at| rank(*at)) {
                Some(last) => {
                    on_line.retain(|at| *at != last);
                    widths.clone_from(&whole);
                }
                None => break,
            }
        }
        Layout { on_line, widths }
    }

    /// Cuts the column that has most to give, by what is too much or all it has.
    fn cut_one(&self, on_line: &[usize], widths: &mut [usize], excess: usize) -> bool {
        let spare = |at: usize, widths: &[usize]| {
            let column = &self.columns[at];
            column.least.map_or(0, |least| widths[at].saturating_sub(least.max(length(column.heading))))
        };
        let Some(most) = on_line.iter().copied().max_by_key(|at| spare(*at, widths)) else { return false };
        let cut = spare(most, widths).min(excess);
        widths[most] -= cut;
        cut > 0
    }

    fn line(&self, row: &[String], layout: &Layout, reader: &Reader) -> String {
        let last = layout.on_line.iter().rposition(|at| !row[*at].is_empty());
        let mut line = String::new();
        for at in layout.on_line.iter().take(last.map_or(0, |last| last + 1)) {
            let width = layout.widths[*at];
            let cell = self.cut_to(*at, &row[*at], width);
            let padding = width.saturating_sub(length(&cell)) + GAP;
            line += &reader.painted(cell.into(), self.paint(*at, &row[*at]));
            line += &" ".repeat(padding);
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    }

    /// What is not on the line of a row, with the names of the columns.
    fn below(&self, row: &[String], layout: &Layout, reader: &Reader) -> String {
        let room = reader.width.unwrap_or(usize::MAX);
        let (mut text, mut used) = (String::new(), 0);
        let away = (0..row.len()).filter(|at| !layout.on_line.contains(at) && !row[*at].is_empty());
        for at in away {
            let heading = self.columns[at].heading.to_lowercase() + " ";
            let cell = self.cut_to(at, &row[at], room.saturating_sub(INDENT.len() + length(&heading)));
            let needed = length(&heading) + length(&cell);
            let follows = used > 0 && used + length(BETWEEN) + needed <= room;
            text += match (follows, used) {
                (true, _) => BETWEEN,
                (false, 0) => INDENT,
                (false, _) => "\n  ",
            };
            used = if follows { used + length(BETWEEN) } else { INDENT.len() } + needed;
            let lines = wrapped(&cell, room, INDENT.len() + length(&heading));
            let lines = lines.into_iter().map(|line| reader.painted(line.into(), self.paint(at, &row[at])));
            text += &(heading + &lines.collect::<Vec<_>>().join("\n    "));
        }
        if text.is_empty() { text } else { text + "\n" }
    }

    fn paint(&self, at: usize, cell: &str) -> Option<Paint> {
        Paint::of_status(cell).filter(|_| self.columns[at].is_status)
    }

    /// A cell, cut if its column may be.
    fn cut_to(&self, at: usize, cell: &str, width: usize) -> String {
        if self.columns[at].least.is_none() || length(cell) <= width {
            return cell.to_owned();
        }
        cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    }
}

/// A line that begins with a cell, the last characters of that bold.
fn with_bold_end(line: &str, cell: &str, count: usize) -> String {
    let begin = cell.char_indices().rev().take(count).last().map_or(cell.len(), |(at, _)| at);
    match (line.strip_prefix(cell), cell.split_at(begin)) {
        (Some(rest), (before, end)) if !end.is_empty() => format!("{before}{}{rest}", Paint::Strong.on(end)),
        _ => line.to_owned(),
    }
}

/// The words of a cell on lines as long as there is room, the first after what is there already, the others further in. A
/// word that is longer stays whole: somebody may want to copy it.
fn wrapped(cell: &str, room: usize, before: usize) -> Vec<String> {
    if before.saturating_add(length(cell)) <= room {
        return vec![cell.to_owned()];
    }
    let (mut lines, mut used) = (vec![String::new()], before);
    for word in cell.split(' ') {
        let line = lines.last_mut().expect("there is one from the beginning");
        if !line.is_empty() && used + 1 + length(word) > room {
            lines.push(word.to_owned());
            used = INDENT.len() * 2 + length(word);
            continue;
        }
        let gap = if line.is_empty() { "" } else { " " };
        *line += &format!("{gap}{word}");
        used += gap.len() + length(word);
    }
    lines
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(width: usize) -> Reader {
        Reader { width: Some(width), color: false, is_terminal: true }
    }

    fn sample() -> Table {
        let columns = [
            Column::new("ID"),
            Column::new("STATUS").status(),
            Column::new("TASK").cut(8),
            Column::new("ROLE").rank(9),
            Column::new("STARTED"),
        ];
        let row = |cells: [&str; 5]| cells.map(str::to_owned);
        table(
            columns,
            &[
                row(["01KA", "end", "Let it add three numbers", "developer", "today"]),
                row(["01KB", "failed: 401", "", "", "yesterday"]),
            ],
        )
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a".to_owned(), "länger".to_owned()], ["bbbb".to_owned(), String::new()]];
        let wide = Reader::default();
        assert_eq!(table(["X", "Y"], &rows).for_reader(&wide), "X     Y\na     länger\nbbbb\n");
        assert_eq!(table(["X"], &[]).for_reader(&wide), "");
    }

    #[test]
    fn what_may_be_cut_is_cut_first() {
        assert_eq!(
            sample().for_reader(&reader(60)),
            "ID    STATUS       TASK                 ROLE       STARTED\n\
             01KA  end          Let it add three n…  developer  today\n\
             01KB  failed: 401                                  yesterday\n"
        );
    }

    #[test]
    fn the_least_important_stands_below() {
        assert_eq!(
            sample().for_reader(&reader(40)),
            "ID    STATUS       TASK        STARTED\n\
             01KA  end          Let it ad…  today\n\
             \u{20} role developer\n\
             01KB  failed: 401              yesterday\n"
        );
    }

    #[test]
    fn what_stands_below_breaks_between_words() {
        let rows = [["id".to_owned(), "how to write a workflow, with one that works".to_owned()]];
        assert_eq!(
            table(["GUIDE", "ABOUT"], &rows).for_reader(&reader(30)),
            "GUIDE\nid\n  about how to write a\n    workflow, with one that\n    works\n"
        );
    }

    #[test]
    fn a_narrow_table_wraps_nowhere() {
        for width in [20, 40, 60, 80] {
            let text = sample().for_reader(&reader(width));
            assert!(text.lines().all(|line| length(line) <= width), "{width}:\n{text}");
            for whole in ["01KA", "failed: 401", "developer", "yesterday"] {
                assert!(text.contains(whole), "{width}:\n{text}");
            }
        }
    }

    #[test]
    fn status_words_have_colours_and_no_cell_steers() {
        let rows = [["a\x1b[2J\nb".to_owned(), "end".to_owned()]];
        let reader = Reader { color: true, ..reader(80) };
        let text = table([Column::new("NAME"), Column::new("STATUS").status()], &rows).for_reader(&reader);
        assert_eq!(text, "NAME               STATUS\na\\u001b[2J\\u000ab  \x1b[32mend\x1b[0m\n");
    }
}
