//! Tests of `page`.

use proptest::prelude::*;

use super::*;

fn page(content: &[u8], offset: u64, limit: u64) -> Page {
    read(content, PageRequest { offset, limit, to_end: true }, &ToolLimits::default(), || true).unwrap()
}

/// Gives a few bytes at a time, so that lines and characters are cut anywhere.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

#[test]
fn a_page_in_the_middle() {
    let page = page(b"one\ntwo\nthree\nfour\n", 2, 2);
    assert_eq!(page.text, "    2\ttwo\n    3\tthree\n");
    assert_eq!(page.end.map(|(lines, _)| lines), Some(4));
}

#[test]
fn the_last_line_needs_no_line_end() {
    assert_eq!(page(b"a\nb", 1, 9).text, "    1\ta\n    2\tb\n");
    assert_eq!(page(b"a\nb", 1, 9).end.unwrap().0, 2);
    assert_eq!(page(b"a\n\n", 1, 9).end.unwrap().0, 2);
    assert_eq!(page(b"", 1, 9).end.unwrap().0, 0);
    assert_eq!(page(b"\n", 1, 9).text, "    1\t\n");
}

#[test]
fn long_lines_are_cut_between_characters_and_counted() {
    let content = "€".repeat(2_001 + 5_000);
    let page = page(content.as_bytes(), 1, 9);
    assert_eq!(page.text, format!("    1\t{} [… 5,001 more characters]\n", "€".repeat(2_000)));
    assert!(page.cut);
}

#[test]
fn a_page_ends_before_it_is_too_long() {
    let content = format!("{}\n", "x".repeat(1_000)).repeat(100);
    let page = page(content.as_bytes(), 1, 2_000);
    assert!(page.text.len() <= 50 * 1024 && page.text.len() > 49 * 1024);
    assert_eq!(page.lines, 50);
    assert_eq!(page.end.unwrap().0, 100);
}

#[test]
fn without_the_end_reading_stops_after_the_page() {
    let endless = io::repeat(b'\n');
    let wanted = PageRequest { offset: 3, limit: 2, to_end: false };
    let page = read(endless, wanted, &ToolLimits::default(), || true).unwrap();
    assert_eq!((page.text.as_str(), page.end), ("    3\t\n    4\t\n", None));
}

#[test]
fn carriage_returns_and_invalid_bytes_are_noted() {
    let page = page(b"a\r\nb\xFFc\n", 1, 9);
    assert_eq!(page.text, "    1\ta\n    2\tb\u{FFFD}c\n");
    assert!(page.crlf && page.lossy);
}

#[test]
fn a_character_that_a_long_line_is_cut_in_is_no_invalid_byte() {
    for before in ["", "a", "ab", "abc"] {
        let line = format!("{before}{}", "€".repeat(4_000));
        assert!(!page(line.as_bytes(), 1, 1).lossy, "{before:?}");
    }
    assert!(page(&[&b"\xE2"[..], "€".repeat(4_000).as_bytes()].concat(), 1, 1).lossy);
    assert!(page(b"a\xE2\x82", 1, 1).lossy);
}

proptest! {
    /// However the bytes arrive, a page is the same as the lines of the whole text.
    #[test]
    fn pages_are_slices_of_the_lines(text in "[a€\n]{0,200}", offset in 1_u64..20, limit in 1_u64..20, step in 1_usize..7) {
        let wanted = PageRequest { offset, limit, to_end: true };
        let page = read(Trickle(text.as_bytes(), step), wanted, &ToolLimits::default(), || true).unwrap();
        let lines = text.lines().enumerate().skip(offset as usize - 1).take(limit as usize);
        let expected: String = lines.map(|(at, line)| format!("{:>5}\t{line}\n", at + 1)).collect();
        prop_assert_eq!(page.text, expected);
        prop_assert_eq!(page.end, Some((text.lines().count() as u64, Digest::of(text.as_bytes()))));
    }
}
