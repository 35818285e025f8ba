//! The terminal that is watched on: a few lines at its end that are painted over, what stays above them, and single keys.
//!
//! No second screen: what was told stays in the scrollback. The terminal is as it was when the watching ends, also by a panic
//! or a signal.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, Once, PoisonError};

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

use super::row::Row;

/// Tells a terminal that what follows is one picture, and that it is whole; others ignore it. In between no line wraps.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// What is painted where a terminal does not tell its size.
const USUAL: (usize, usize) = (80, 24);

/// Where lines are painted over.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// How long each line is that was painted last.
    painted: Vec<usize>,
}

/// Columns and lines.
pub(super) fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => USUAL,
    }
}

impl Screen {
    /// What a terminal of this size is sent to show `rows` in the place of the last ones, and `above` them what stays.
    pub(super) fn paint(
        &mut self,
        (width, height): (usize, usize),
        above: &[String],
        rows: &[Row],
        color: bool,
    ) -> String {
        let mut sent = format!("{BEGIN}{}", self.cleared(width));
        for line in above {
            sent += line;
            sent += "\n";
        }
        // One line is left for the cursor.
        let rows = &rows[..rows.len().min(height.saturating_sub(1).max(1))];
        let lines: Vec<String> = rows.iter().map(|row| row.shown(width, color)).collect();
        self.painted = rows.iter().map(|row| row.length().min(width)).collect();
        sent + NO_WRAP + &lines.join("\n") + WRAP + END
    }

    /// What takes the painted lines away, on a terminal that is so wide by now.
    fn cleared(&self, width: usize) -> String {
        // A terminal that became narrower has broken them.
        let lines: usize =
            self.painted.iter().map(|length| length.saturating_sub(1) / width.max(1) + 1).sum();
        match lines {
            0 | 1 => "\r\x1b[J".to_owned(),
            lines => format!("\r\x1b[{}A\x1b[J", lines - 1),
        }
    }
}

/// How the terminal was, for whoever has to put it back.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static PANICS: Once = Once::new();

/// Keys that are read as they are pressed; the terminal is as it was when this goes.
pub(super) struct Keys(());

impl Keys {
    /// None where nobody can press any: stdin is no terminal, or another program has it just now.
    pub(super) fn of(is_terminal: bool) -> Option<Keys> {
        let keys = Keys(());
        (is_terminal && keys.hold()).then_some(keys)
    }

    /// Has the terminal give single keys and show none of them, if it does not by now: whoever stops this program, and goes on
    /// with it, may have changed that.
    pub(super) fn hold(&self) -> bool {
        let (stdin, ours) = (io::stdin(), getpgrp());
        if tcgetpgrp(&stdin).is_ok_and(|its| its != ours) {
            return false;
        }
        let Ok(mut modes) = tcgetattr(&stdin) else { return false };
        let lines = LocalModes::ICANON | LocalModes::ECHO;
        if !modes.local_modes.intersects(lines) {
            return true;
        }
        before().get_or_insert(modes.clone());
        PANICS.call_once(|| {
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                hook(panic);
            }));
        });
        modes.local_modes -= lines;
        tcsetattr(&stdin, OptionalActions::Now, &modes).is_ok()
    }

    /// The file to wait for.
    pub(super) fn file(&self) -> BorrowedFd<'static> {
        rustix::stdio::stdin()
    }

    /// Whether a key was pressed that ends the watching; none where there will be no more.
    pub(super) fn quits(&self) -> Option<bool> {
        let mut keys = [0; 64];
        match io::stdin().lock().read(&mut keys) {
            Ok(0) => None,
            Ok(count) => Some(keys[..count].iter().any(|key| matches!(key, b'q' | b'Q' | 4))),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(false),
            Err(_) => None,
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore();
    }
}

fn before() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn restore() {
    if let Some(modes) = before().take() {
        tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &modes).ok();
    }
}

/// Sends it at once.
pub(super) fn send(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_painted_takes_the_place_of_what_was() {
        let mut screen = Screen::default();
        let rows = ["one", "two", "three"].map(Row::new);
        let first = screen.paint((10, 24), &[], &rows, false);
        assert_eq!(first, format!("{BEGIN}\r\x1b[J{NO_WRAP}one\ntwo\nthree{WRAP}{END}"));
        let next = screen.paint((10, 24), &["stays".to_owned()], &rows[..1], false);
        assert_eq!(next, format!("{BEGIN}\r\x1b[2A\x1b[Jstays\n{NO_WRAP}one{WRAP}{END}"));
        assert_eq!(screen.cleared(10), "\r\x1b[J");
    }

    #[test]
    fn a_terminal_that_shrinks_has_more_lines_to_clear_and_never_more_than_fit() {
        let mut screen = Screen::default();
        screen.paint((30, 24), &[], &[Row::new("x".repeat(25)), Row::new("y".repeat(40))], false);
        assert_eq!(screen.cleared(10), "\r\x1b[5A\x1b[J", "25 and 30 characters in lines of 10");
        let sent = screen.paint((30, 3), &[], &["a", "b", "c", "d"].map(Row::new), false);
        assert!(sent.ends_with(&format!("{NO_WRAP}a\nb{WRAP}{END}")), "{sent:?}");
    }
}
