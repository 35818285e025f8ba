//! Text of models, tools and files as a page may show it, and small things said in words.
//!
//! Markup is no concern here: maud escapes. This is about what is left then: characters that turn the direction of a line,
//! that no XML may hold, or that a terminal would have obeyed.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// The text with what steers made visible: control characters as their pictures, what turns a line's direction by its
/// number. Colours for a terminal are left out.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = colour(rest) {
            rest = after;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '\r' if rest.starts_with('\n') => {}
            _ if !steers(character) => shown.push(character),
            control @ '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(control))),
            '\x7f' => shown.push('\u{2421}'),
            other => drop(write!(shown, "⟨U+{:04X}⟩", u32::from(other))),
        }
    }
    Cow::Owned(shown)
}

fn steers(character: char) -> bool {
    let turns = matches!(character, '\u{61c}' | '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // The last two of each plane are no characters, and XML has no place for the first two of these.
    let none = matches!(character, '\u{fffe}' | '\u{ffff}');
    turns || none || character.is_control() && !matches!(character, '\n' | '\t')
}

/// What comes after a sequence that sets colours, if the text begins with one.
fn colour(text: &str) -> Option<&str> {
    let sequence = text.strip_prefix("\x1b[")?;
    let end = sequence.find(|character: char| !character.is_ascii_digit() && character != ';')?;
    sequence[end..].strip_prefix('m')
}

/// The first line that says something, at most `width` characters of it; the text is visible then.
pub(crate) fn first_line(text: &str, width: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let line = visible(line);
    match line.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

/// At most `limit` characters, and how many were left out.
pub(crate) fn beginning(text: &str, limit: usize) -> (&str, usize) {
    match text.char_indices().nth(limit) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

/// `2026-11-23 18:50:07`, in UTC.
pub(crate) fn time(ms: u64) -> String {
    let rfc = rfc3339(ms);
    rfc.replace('T', " ").trim_end_matches('Z').to_owned()
}

/// `2026-11-23T18:50:07Z`; the epoch for a time beyond what calendars have.
pub(crate) fn rfc3339(ms: u64) -> String {
    const LAST: u64 = 253_402_300_799_000;
    let at = UNIX_EPOCH + Duration::from_millis(if ms > LAST { 0 } else { ms });
    humantime::format_rfc3339_seconds(at).to_string()
}

/// `850 ms`, `12.3 s`, `4m 05s`, `3h 20m`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{}h {:02}m", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// How long ago that was: `3 min`, `2 d`.
pub(crate) fn age(ms: u64, now: u64) -> String {
    let seconds = now.saturating_sub(ms) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// `12,345`.
pub(crate) fn number(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// `3 turns`, `1 turn`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", number(count)) }
}

/// `$0.0123`: as many digits as tell something.
pub(crate) fn usd(cost: f64) -> String {
    if cost >= 1.0 || cost == 0.0 { format!("${cost:.2}") } else { format!("${cost:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown() {
        assert_eq!(visible("a\n\tb é 🦀"), "a\n\tb é 🦀");
        assert_eq!(visible("\x1b[1;31mred\x1b[0m\r\n\x1b]0;t\x07"), "red\n␛]0;t␇");
        assert_eq!(visible("fdp\u{202e}exe\u{9b}\x7f\0\r"), "fdp⟨U+202E⟩exe⟨U+009B⟩␡␀␍");
        assert_eq!(visible("\x1b[12"), "␛[12", "cut off");
    }

    #[test]
    fn words_for_numbers() {
        assert_eq!(
            [duration(850), duration(12_345), duration(245_000), duration(12_000_000)],
            ["850 ms", "12.3 s", "4m 05s", "3h 20m"]
        );
        assert_eq!(
            [age(0, 59_000), age(0, 180_000), age(0, 90_000_000), age(9, 3)],
            ["59 s", "3 min", "1 d", "0 s"]
        );
        assert_eq!([number(0), number(999), number(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!([usd(0.0), usd(0.0123), usd(12.5)], ["$0.00", "$0.0123", "$12.50"]);
        assert_eq!(time(1_800_000_000_000), "2027-01-15 08:00:00");
        assert_eq!(time(u64::MAX), "1970-01-01 00:00:00");
        assert_eq!(first_line("\n  one\u{1b} two  \nthree", 5), "one␛ …");
    }
}
