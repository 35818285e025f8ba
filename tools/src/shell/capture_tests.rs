//! Tests of `capture` and `spool`.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::scratch::Numbered;

fn spool(dir: PathBuf, limit: u64) -> Spool {
    Spool::new(dir, limit, Arc::new(Numbered))
}

fn capture(budget: usize) -> (tempfile::TempDir, Capture) {
    let dir = tempfile::tempdir().unwrap();
    let capture = Capture::new(budget, spool(dir.path().join("spool"), 1 << 20));
    (dir, capture)
}

#[test]
fn short_output_is_whole_and_in_order_of_arrival() {
    let (dir, mut capture) = capture(100);
    capture.push(Stream::Out, b"one\n");
    capture.push(Stream::Err, b"two\n");
    capture.push(Stream::Out, b"three\n");
    let captured = capture.finish();
    assert_eq!(captured.text, "one\ntwo\nthree\n");
    assert!(!captured.truncated && captured.output.is_none() && !dir.path().join("spool").exists());
}

#[test]
fn long_output_keeps_its_ends_at_line_ends_and_all_of_it_in_a_file() {
    let (_dir, mut capture) = capture(60);
    let all: String = (1..=1_000).map(|n| format!("line {n}\n")).collect();
    capture.push(Stream::Out, all.as_bytes());
    let captured = capture.finish();
    insta::assert_snapshot!(captured.text, @"
    line 1
    line 2
    line 3
    line 4
    [… 993 lines (9 KB) omitted; read them with tool_output hash=40bd88cd9e9aaa21 …]
    line 998
    line 999
    line 1000
    ");
    assert_eq!(captured.total, all.len() as u64);
    assert_eq!(fs::read_to_string(captured.output.unwrap().path).unwrap(), all);
}

#[test]
fn what_fits_after_what_did_not_is_no_beginning() {
    // A character that is longer than the budget, then one that is not: it is shown once.
    for (chunks, shown) in [(["\u{FFFD}", "\n"], ["", "\n"]), (["a", "\u{FFFD}"], ["a", ""])] {
        let (_dir, mut capture) = capture(2);
        chunks.iter().for_each(|chunk| capture.push(Stream::Out, chunk.as_bytes()));
        let text = capture.finish().text;
        let (first, rest) = text.split_once("[… 3 bytes omitted; ").unwrap();
        let last = rest.split_once("…]\n").unwrap().1;
        assert_eq!([first.trim_end_matches('\n'), last], shown, "{text}");
    }
}

#[test]
fn stderr_keeps_a_third_whatever_comes_on_stdout() {
    let (_dir, mut capture) = capture(90);
    for n in 0..500 {
        capture.push(Stream::Out, format!("out {n}\n").as_bytes());
        if n % 100 == 0 {
            capture.push(Stream::Err, format!("error {n}\n").as_bytes());
        }
    }
    let text = capture.finish().text;
    let (out, err): (Vec<&str>, Vec<&str>) =
        text.lines().filter(|line| !line.starts_with('[')).partition(|line| line.starts_with("out"));
    assert_eq!(err, ["error 0", "error 400"]);
    assert_eq!((out[0], out[out.len() - 1]), ("out 0", "out 499"));
    assert!(text.contains("3 lines (30 bytes) of stderr omitted"), "{text}");
    assert!(text.contains("of stdout omitted"), "{text}");
}

#[test]
fn a_quiet_stream_leaves_its_share_to_the_other() {
    let (_dir, mut capture) = capture(90);
    capture.push(Stream::Out, "o".repeat(50).as_bytes());
    capture.push(Stream::Err, "e".repeat(500).as_bytes());
    let text = capture.finish().text;
    let mark = text.lines().find(|line| line.starts_with("[… 460 bytes of stderr omitted; ")).unwrap();
    assert_eq!(text.matches('o').count(), 50 + mark.matches('o').count());
    assert_eq!(text.matches('e').count() - mark.matches('e').count(), 40);
}

#[test]
fn a_character_cut_by_a_chunk_is_whole_and_a_lone_byte_is_counted() {
    let (_dir, mut capture) = capture(100);
    let euro = "€".as_bytes();
    capture.push(Stream::Out, &euro[..1]);
    capture.push(Stream::Err, b"e");
    capture.push(Stream::Out, &euro[1..]);
    capture.push(Stream::Out, b"\xFF|\xE2\x82");
    let captured = capture.finish();
    assert_eq!(captured.text, "e€\u{FFFD}|\u{FFFD}");
    assert_eq!(captured.invalid, 3);
}

#[test]
fn a_full_spool_says_that_it_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let mut capture = Capture::new(10, spool(dir.path().to_owned(), 1_000));
    for _ in 0..100 {
        capture.push(Stream::Out, &[b'x'; 99]);
    }
    let captured = capture.finish();
    assert!(captured.text.contains("read the first 1000 bytes with tool_output hash="), "{}", captured.text);
    let kept = fs::read_to_string(captured.output.unwrap().path).unwrap();
    assert_eq!(kept, format!("{}\n[… cut after 1000 bytes]\n", "x".repeat(1_000)));
}

#[test]
fn what_is_cut_is_cut_between_characters_and_bytes_that_are_none_are_kept() {
    for (before, limit, kept) in [("", 2, 0), ("", 3, 3), ("x", 3, 1), ("xx", 6, 5), ("xxx", 5, 3)] {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(2, spool(dir.path().to_owned(), limit));
        capture.push(Stream::Out, format!("{before}€€€").as_bytes());
        let bytes = fs::read(capture.finish().output.unwrap().path).unwrap();
        assert_eq!(
            bytes,
            format!("{}\n[… cut after {limit} bytes]\n", &format!("{before}€€€")[..kept]).as_bytes()
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let mut capture = Capture::new(2, spool(dir.path().to_owned(), 5));
    capture.push(Stream::Out, b"\x80\x80\x80\x80\x80\x80\x80");
    let bytes = fs::read(capture.finish().output.unwrap().path).unwrap();
    assert!(bytes.starts_with(b"\x80\x80\x80\x80\x80\n["), "{bytes:?}");
}

#[test]
fn a_spool_that_cannot_be_made_loses_no_more_than_itself() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let mut capture = Capture::new(10, spool(dir.path().join("file/below"), 1_000));
    capture.push(Stream::Out, &[b'x'; 99]);
    let captured = capture.finish();
    assert!(captured.text.contains("the full output could not be kept: "), "{}", captured.text);
    assert!(captured.output.is_none());
}

#[test]
fn a_secret_is_in_nothing_that_is_shown_or_kept() {
    let (_dir, capture) = capture(20);
    let mut capture = capture.without(&["the-key-0123".to_owned()].into());
    for piece in ["12345678901the-k", "ey-0123 ", &"x".repeat(90), "the-key-0123"] {
        capture.push(Stream::Out, piece.as_bytes());
    }
    let captured = capture.finish();
    assert!(captured.text.starts_with("12345678901***") || captured.text.starts_with("1234567890"));
    assert!(!captured.text.contains("the-k") && captured.text.ends_with("***"), "{}", captured.text);
    let kept = fs::read_to_string(captured.output.unwrap().path).unwrap();
    assert!(kept.starts_with("12345678901*** xx") && kept.ends_with("x***"), "{kept}");
}

/// What the marks say was left out: lines, and the least and the most bytes that they can mean.
fn omitted(text: &str) -> (u64, (u64, u64)) {
    let (mut lines, mut least, mut most) = (0, 0, 0);
    for mark in text.lines().filter(|line| line.starts_with("[… ")) {
        let words: Vec<&str> = mark.trim_start_matches("[… ").split(' ').collect();
        let number = |word: &str| word.trim_start_matches('(').replace(',', "").parse::<u64>().unwrap();
        let size = match words[1].starts_with("line") {
            true => {
                lines += number(words[0]);
                &words[2..]
            }
            false => &words[..],
        };
        // KB are rounded up.
        let (unit, below) = if size[1].starts_with("KB") { (1_024, 1_023) } else { (1, 0) };
        most += number(size[0]) * unit;
        least += number(size[0]) * unit - below;
    }
    (lines, (least, most))
}

proptest! {
    /// However the output arrives: the text is within the budget, no character is split, and what is shown and what is
    /// said to be left out add up to all there was.
    #[test]
    fn what_is_shown_and_what_is_left_out_add_up(
        pushes in prop::collection::vec((any::<bool>(), "[aé€😀\n]{0,30}"), 0..40),
        budget in 8_usize..200,
        step in 1_usize..9,
    ) {
        let (_dir, mut capture) = capture(budget);
        let mut all = String::new();
        for (out, text) in &pushes {
            let stream = if *out { Stream::Out } else { Stream::Err };
            all.push_str(text);
            text.as_bytes().chunks(step).for_each(|chunk| capture.push(stream, chunk));
        }
        let captured = capture.finish();
        prop_assert_eq!(captured.total, all.len() as u64);
        prop_assert_eq!(captured.invalid, 0);
        prop_assert_eq!(captured.text.matches(char::REPLACEMENT_CHARACTER).count(), 0);
        prop_assert_eq!(captured.truncated, all.len() > budget);
        if !captured.truncated {
            prop_assert_eq!(captured.text, all);
            return Ok(());
        }
        // A mark after half a line puts a line end before itself.
        let marks: Vec<&str> = captured.text.lines().filter(|line| line.starts_with("[… ")).collect();
        let own = marks.len() as u64;
        let shown = captured.text.len() as u64 - marks.iter().map(|mark| mark.len() as u64 + 1).sum::<u64>();
        let (lines, (least, most)) = omitted(&captured.text);
        let total = all.len() as u64;
        prop_assert!(shown <= budget as u64 + own, "{shown} > {budget}");
        let reported = shown.saturating_sub(own) + least..=shown + most;
        prop_assert!(reported.contains(&total), "{total} is not in {reported:?}");
        let newlines = captured.text.matches('\n').count() as u64 - own;
        let reported = newlines.saturating_sub(own) + lines..=newlines + lines;
        prop_assert!(reported.contains(&(all.matches('\n').count() as u64)), "{reported:?}");
        prop_assert_eq!(fs::read_to_string(captured.output.unwrap().path).unwrap().len(), all.len());
    }

    /// Whatever the bytes: they are kept as they are, shown as the text that they are, the number of those that are none is
    /// right, and the mark is there exactly when something is missing.
    #[test]
    fn any_bytes_are_kept_as_they_are(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10),
        budget in 8_usize..200,
    ) {
        let (_dir, mut capture) = capture(budget);
        chunks.iter().for_each(|chunk| capture.push(Stream::Out, chunk));
        let captured = capture.finish();
        let all = chunks.concat();
        let text = String::from_utf8_lossy(&all);
        let valid: usize = all.utf8_chunks().map(|chunk| chunk.valid().len()).sum();
        prop_assert_eq!(captured.invalid, (all.len() - valid) as u64);
        prop_assert_eq!(captured.truncated, text.len() > budget);
        prop_assert_eq!(captured.text.contains(" omitted; "), captured.truncated);
        match captured.output {
            None => prop_assert_eq!(captured.text, text),
            Some(output) => prop_assert_eq!(fs::read(output.path).unwrap(), all),
        }
    }
}
