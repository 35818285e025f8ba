//! The caps on what a call may cost and show, in one place.
//!
//! The tools' descriptions state the defaults; a test compares them. Cutting a command's output is
//! `run_command`'s own matter, since it does so while the output streams by.

use std::time::Duration;

/// The caps. [`ToolLimits::default`] is what the tools' descriptions say; other values are for tests.
#[derive(Clone, Debug)]
pub struct ToolLimits {
    /// Lines of a page of `read_file`.
    pub read_lines: u64,
    /// Characters shown of one line by `read_file`.
    pub line_chars: usize,
    /// Bytes of a page of `read_file`.
    pub read_bytes: usize,
    /// Files above this many bytes are neither counted to their end by `read_file` nor changed by the other tools.
    pub whole_file_bytes: u64,
    /// Entries shown by `list_dir`, and files by `grep` with `files_only`.
    pub list_entries: usize,
    /// Levels that `list_dir` descends unless told otherwise.
    pub list_depth: u64,
    /// Files shown by `glob`.
    pub glob_files: usize,
    /// Matching lines shown by `grep`.
    pub grep_matches: u64,
    /// Characters shown of one line by `grep`.
    pub grep_line_chars: usize,
    /// Bytes of a command's output that the model sees.
    pub command_bytes: usize,
    /// Bytes of a command's output that are kept in its spool file.
    pub spool_bytes: u64,
    /// How long a call of any tool but `run_command` may take.
    pub call_time: Duration,
    /// How long a command may run unless told otherwise.
    pub command_timeout: Duration,
    /// How long to wait for more output once the command's shell has exited.
    pub drain: Duration,
    /// The time between TERM and KILL.
    pub grace: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            read_lines: 2_000,
            line_chars: 2_000,
            read_bytes: 50 * 1024,
            whole_file_bytes: 64 << 20,
            list_entries: 500,
            list_depth: 2,
            glob_files: 200,
            grep_matches: 100,
            grep_line_chars: 400,
            command_bytes: 16 * 1024,
            spool_bytes: 64 << 20,
            call_time: Duration::from_secs(60),
            command_timeout: Duration::from_secs(120),
            drain: Duration::from_secs(2),
            grace: Duration::from_secs(2),
        }
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes for reading: `812 bytes`, `56 KB`, `3.4 MB`; 1 KB is 1,024 bytes.
pub(crate) fn bytes(number: u64) -> String {
    const KB: u64 = 1 << 10;
    const MB: u64 = 1 << 20;
    match number {
        1 => "1 byte".to_owned(),
        0..KB => format!("{number} bytes"),
        KB..MB => format!("{} KB", number.div_ceil(KB)),
        _ => format!("{}.{} MB", thousands(number / MB), number % MB * 10 / MB),
    }
}

/// `1 line`, `2 lines`, `1,234 matches`, `0 entries`: for regular words.
pub(crate) fn count(number: u64, word: &str) -> String {
    let number_text = thousands(number);
    match word.strip_suffix('y') {
        _ if number == 1 => format!("1 {word}"),
        Some(stem) => format!("{number_text} {stem}ies"),
        None if word.ends_with("ch") || word.ends_with('s') => format!("{number_text} {word}es"),
        None => format!("{number_text} {word}s"),
    }
}

/// The first `limit` characters of `line`, and how many there are beyond them.
pub(crate) fn cut_line(line: &str, limit: usize) -> (&str, u64) {
    match line.char_indices().nth(limit) {
        None => (line, 0),
        Some((at, _)) => (&line[..at], line[at..].chars().count() as u64),
    }
}

/// A line to show: whole, or its first `limit` characters and how many more there are.
pub(crate) fn shorten(line: &str, limit: usize) -> String {
    match cut_line(line, limit) {
        (shown, 0) => shown.to_owned(),
        (shown, more) => format!("{shown} [… {more} more characters]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1025), "2 KB");
        assert_eq!(bytes(3 * (1 << 20) + (1 << 19)), "3.5 MB");
        assert_eq!(count(1, "line"), "1 line");
        assert_eq!(count(1200, "match"), "1,200 matches");
        assert_eq!(
            (count(0, "entry"), count(2, "process")),
            ("0 entries".to_owned(), "2 processes".to_owned())
        );
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        assert_eq!(cut_line("añ€", 3), ("añ€", 0));
        assert_eq!(cut_line("añ€😀x", 2), ("añ", 3));
        assert_eq!((shorten("añ€", 3), shorten("añ€", 1)), ("añ€".into(), "a [… 2 more characters]".into()));
    }
}
