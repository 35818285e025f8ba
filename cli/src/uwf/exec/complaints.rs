//! What is passed on of an agent's words where no person reads along: its warnings and errors, and nothing else.
//!
//! Apart because the words come in pieces that end anywhere. A complaint is a line that begins with `warning:` or
//! `error:`, and the indented lines right below it: causes, hints, more problems of the same thing.

use uwf_engine::spawn;

/// The longest line that is waited for.
const LINE_MAX: usize = 64 << 10;

/// How lines below a complaint begin that do not belong to it: what the agent of ours tells of a tool call.
const APART: [&str; 2] = ["  ✓", "  ✗"];

/// Sorts complaints from chatter, piece by piece.
#[derive(Default)]
pub(in crate::uwf) struct Complaints {
    /// The line that has not come to its end.
    begun: Vec<u8>,
    /// Whether the line before was one or belonged to one.
    within: bool,
}

impl Complaints {
    /// Takes the next piece; gives the complaints that are complete now.
    pub(super) fn of(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut complete = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.begun.len() > LINE_MAX {
                complete.extend(self.line());
            }
        }
        complete
    }

    /// What the line comes to that has had no end by now.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let mut line = self.line();
        if !line.is_empty() {
            line.push(b'\n');
        }
        line
    }

    fn line(&mut self) -> Vec<u8> {
        let line = std::mem::take(&mut self.begun);
        let begins = line.starts_with(b"warning:") || line.starts_with(b"error:");
        let is_more =
            line.starts_with(b"  ") && !APART.iter().any(|apart| line.starts_with(apart.as_bytes()));
        self.within = begins || (self.within && is_more);
        if self.within { line } else { Vec::new() }
    }
}

/// An agent's last words, see [`spawn::last_words`], without the complaints among them.
pub(super) fn chatter(last_words: &str) -> String {
    let mut complaints = Complaints::default();
    let lines = last_words.lines().skip(1).map(|line| line.strip_prefix("    ").unwrap_or(line));
    spawn::last_words(lines.filter(|line| complaints.of(format!("{line}\n").as_bytes()).is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "turn 1\nwarning: no sandbox\n  hint: none\n  ✓ read a file\n  hint: x\nerror: two problems\n  a\n    b\n";
    const COMPLAINTS: &str = "warning: no sandbox\n  hint: none\nerror: two problems\n  a\n    b\n";

    #[test]
    fn complaints_pass_wherever_the_words_are_cut() {
        for size in [1, 2, 7, 1000] {
            let mut complaints = Complaints::default();
            let passed: Vec<u8> =
                SAID.as_bytes().chunks(size).flat_map(|piece| complaints.of(piece)).collect();
            assert_eq!(String::from_utf8(passed).unwrap(), COMPLAINTS, "{size}");
        }
        let mut complaints = Complaints::default();
        assert_eq!(complaints.of(b"chatter\nerror: no end"), b"");
        assert_eq!((complaints.rest(), complaints.rest()), (b"error: no end\n".to_vec(), Vec::new()));
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_forever() {
        let mut complaints = Complaints::default();
        for _ in 0..1000 {
            assert!(complaints.of(&[b'x'; 4096]).is_empty() && complaints.begun.len() <= LINE_MAX + 4096);
        }
    }

    #[test]
    fn last_words_are_what_was_not_passed_on() {
        let words = spawn::last_words(SAID.lines());
        assert_eq!(chatter(&words), "; its last words:\n    turn 1\n      ✓ read a file\n      hint: x");
        assert_eq!(
            (chatter("; its last words:\n    error: it broke"), chatter("")),
            (String::new(), String::new())
        );
    }
}
