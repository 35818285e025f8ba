//! A terminal with a person before it who waits for each question and sees what is shown.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::site::Said;

/// A program whose stdin and stderr are a terminal; its stdout is not.
pub(crate) struct Person {
    program: Child,
    terminal: File,
    seen: String,
}

impl Person {
    pub(crate) fn before(mut command: Command) -> Person {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let far = File::options().read(true).write(true).open(name).unwrap();
        command.stdin(far.try_clone().unwrap()).stderr(far).stdout(Stdio::piped());
        let program = command.spawn().unwrap();
        Person { program, terminal: terminal.into(), seen: String::new() }
    }

    /// Waits until the terminal shows `question`, then types `answer`.
    pub(crate) fn answers(&mut self, question: &str, answer: &str) {
        while !self.seen.contains(question) {
            assert!(self.reads(), "{question:?} was never asked: {}", self.seen);
        }
        self.terminal.write_all(answer.as_bytes()).unwrap();
    }

    /// What the program said in the end; all that the terminal has shown is its stderr.
    pub(crate) fn waits(mut self) -> Said {
        // The kernel says so with an error when the far end has closed.
        while self.reads() {}
        let mut out = String::new();
        self.program.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        Said { code: self.program.wait().unwrap().code().unwrap_or(-1), out, err: self.seen }
    }

    fn reads(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let count = self.terminal.read(&mut bytes).unwrap_or(0);
        self.seen += &String::from_utf8_lossy(&bytes[..count]);
        count > 0
    }
}
