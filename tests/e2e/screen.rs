//! A terminal of a size, with what it shows: enough of one for a program that paints a few lines over and over.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// A program whose streams are all a terminal.
pub(crate) struct Terminal {
    pub(crate) program: Child,
    near: File,
    far: File,
    sent: String,
}

impl Terminal {
    pub(crate) fn with(mut command: Command, columns: u16) -> Terminal {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&near).unwrap();
        unlockpt(&near).unwrap();
        let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
        let far = File::options().read(true).write(true).open(name).unwrap();
        resize(&far, columns);
        let stream = || far.try_clone().unwrap();
        command.env("TERM", "xterm").stdin(stream()).stdout(stream()).stderr(stream());
        let program = command.spawn().unwrap();
        Terminal { program, near: near.into(), far, sent: String::new() }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.near.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, columns: u16) {
        resize(&self.far, columns);
    }

    /// Whether it gives whole lines and shows what is typed, as terminals do that no program has taken over.
    pub(crate) fn is_usual(&self) -> bool {
        let usual = LocalModes::ICANON | LocalModes::ECHO;
        tcgetattr(&self.far).unwrap().local_modes.contains(usual)
    }

    /// Waits until it shows all these, and gives what it shows.
    #[track_caller]
    pub(crate) fn shows(&mut self, words: &[&str]) -> String {
        let begun = Instant::now();
        loop {
            self.read(Duration::from_millis(20));
            let shown = shown(&self.sent);
            if words.iter().all(|word| shown.contains(word)) {
                return shown;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{words:?} are not shown:\n{shown}\n{:?}",
                self.sent
            );
        }
    }

    /// The exit status, once it has ended, and what is shown then.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> (i32, String) {
        let begun = Instant::now();
        loop {
            self.read(Duration::from_millis(20));
            if let Some(status) = self.program.try_wait().unwrap() {
                while self.read(Duration::from_millis(20)) {}
                return (status.code().unwrap_or(-1), shown(&self.sent));
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not end:\n{}", shown(&self.sent));
        }
    }

    /// All that it was sent.
    pub(crate) fn sent(&self) -> &str {
        &self.sent
    }

    fn read(&mut self, wait: Duration) -> bool {
        let wait = Timespec::try_from(wait).unwrap();
        let ready = poll(&mut [PollFd::new(&self.near, PollFlags::IN)], Some(&wait)).unwrap();
        let mut bytes = [0; 1 << 16];
        let count = if ready > 0 { self.near.read(&mut bytes).unwrap_or(0) } else { 0 };
        self.sent += &String::from_utf8_lossy(&bytes[..count]);
        count > 0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

fn resize(far: &File, columns: u16) {
    tcsetwinsize(far, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// What is shown of what was sent: line ends, the way up, and clearing to the end, which has to come after it; colours and modes
/// show nothing. No line may be longer than the terminal is wide, so nothing wraps.
fn shown(sent: &str) -> String {
    let (mut lines, mut at) = (vec![String::new()], 0);
    let mut rest = sent.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => {}
            '\n' => {
                at += 1;
                lines.resize(lines.len().max(at + 1), String::new());
            }
            '\x1b' => {
                let mut sequence = String::new();
                for c in rest.by_ref().skip_while(|c| *c == '[') {
                    sequence.push(c);
                    if c.is_ascii_alphabetic() {
                        break;
                    }
                }
                match sequence.split_at(sequence.len() - 1) {
                    (count, "A") => at -= count.parse::<usize>().unwrap(),
                    ("", "J") => {
                        lines.truncate(at + 1);
                        lines[at].clear();
                    }
                    (_, "m" | "h" | "l") => {}
                    other => panic!("what is this: {other:?}"),
                }
            }
            c => lines[at].push(c),
        }
    }
    lines.join("\n")
}
