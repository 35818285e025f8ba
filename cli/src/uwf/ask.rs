//! Questions to a person at a terminal: a line, and a line that is not shown.
//!
//! Used only where stdin and stderr both are terminals ([`Session::has_person`]); the one place beside file arguments
//! of `-` that reads stdin.

use std::io::{self, Read};

use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::shell::{CliError, Session, USER};

/// The exit status of a program that an interrupt ended.
const INTERRUPTED: u8 = 130;

impl Session<'_> {
    /// Asks for a line; nothing but Return is the default.
    pub(super) fn ask(&mut self, question: &str, default: &str) -> Result<String, CliError> {
        let offer = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        self.ui.say(&format!("{question}{offer}: "))?;
        let mut line = Vec::new();
        loop {
            match next(self.stdin)? {
                Some(b'\n') => break,
                Some(byte) => line.push(byte),
                None if line.is_empty() => return Err(gave_up(USER)),
                None => break,
            }
        }
        let line = text(line)?;
        Ok(if line.is_empty() { default.to_owned() } else { line })
    }

    /// Asks for a line without showing what is typed; it may be empty.
    pub(super) fn ask_hidden(&mut self, question: &str) -> Result<String, CliError> {
        let silence = Silence::begin()
            .map_err(|error| CliError::said("cannot ask for a secret: the terminal keeps its echo", error))?;
        self.ui.say(&format!("{question}: "))?;
        let line = hidden_line(self.stdin);
        drop(silence);
        self.ui.say("\n")?;
        text(line?)
    }
}

/// What is typed until Return. The terminal passes every key on by now, so that an interrupt comes as a byte and the
/// terminal is restored before it counts.
fn hidden_line(stdin: &mut dyn Read) -> Result<Vec<u8>, CliError> {
    let mut line = Vec::new();
    loop {
        match next(stdin)? {
            Some(b'\n' | b'\r') => return Ok(line),
            Some(0x03 | 0x1c) => return Err(gave_up(INTERRUPTED)),
            None | Some(0x04) if line.is_empty() => return Err(gave_up(USER)),
            None | Some(0x04) => return Ok(line),
            Some(0x15) => line.clear(),
            Some(0x08 | 0x7f) => rub_out(&mut line),
            Some(byte) => line.push(byte),
        }
    }
}

/// Takes the last character away, however many bytes it has.
fn rub_out(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

fn next(stdin: &mut dyn Read) -> Result<Option<u8>, CliError> {
    let mut byte = [0];
    let count = stdin.read(&mut byte).map_err(|error| CliError::said("cannot read the answer", error))?;
    Ok((count > 0).then_some(byte[0]))
}

fn text(line: Vec<u8>) -> Result<String, CliError> {
    let text = String::from_utf8(line).map_err(|_| CliError::user("the answer is not UTF-8"))?;
    Ok(text.trim().to_owned())
}

fn gave_up(exit: u8) -> CliError {
    CliError::Said { error: "no answer was given; nothing was changed".into(), hint: None, exit }
}

/// A terminal that shows nothing of what is typed, until this goes.
struct Silence(Termios);

impl Silence {
    fn begin() -> io::Result<Silence> {
        let before = tcgetattr(stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        // What was typed ahead of the question is no answer to it.
        tcsetattr(stdin(), OptionalActions::Flush, &silent)?;
        Ok(Silence(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        tcsetattr(stdin(), OptionalActions::Drain, &self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[u8]) -> Result<Vec<u8>, u8> {
        hidden_line(&mut &*keys).map_err(|error| error.exit())
    }

    #[test]
    fn keys_edit_the_line_and_an_interrupt_ends_it() {
        assert_eq!(typed(b"abc\rrest"), Ok(b"abc".to_vec()));
        assert_eq!(typed("aé\u{7f}b\n".as_bytes()), Ok(b"ab".to_vec()));
        assert_eq!(typed(b"wrong\x15right\n"), Ok(b"right".to_vec()));
        assert_eq!(typed(b"\n"), Ok(Vec::new()));
        assert_eq!(typed(b"sec\x03ret\n"), Err(130));
        assert_eq!((typed(b""), typed(b"\x04")), (Err(1), Err(1)));
        assert_eq!(typed(b"abc\x04"), Ok(b"abc".to_vec()));
    }
}
