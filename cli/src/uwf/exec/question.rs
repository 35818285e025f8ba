//! What a thread asks, put to the person at the terminal.

use std::io::Read;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdin;
use rustix::termios::{QueueSelector, tcflush};

use crate::shell::{CliError, Session};

/// How often it is looked whether a signal has come meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// Asks a person what `role` asks, and gives the answer; none where they leave it for later.
pub(super) fn ask(session: &mut Session<'_>, role: &str, message: &str) -> Result<Option<String>, CliError> {
    // What was typed ahead of the question is no answer to it.
    tcflush(stdin(), QueueSelector::IFlush).ok();
    session.ui.say(&format!(
        "\n{role} asks: {}\n(Return alone leaves the thread suspended)\n> ",
        message.trim_end()
    ))?;
    while !is_readable()? {
        if session.stop.signal().is_some() {
            session.ui.say("\n")?;
            return Ok(None);
        }
    }
    let line = line(session.stdin)?;
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// Whether there is something to read, or its end; waits a little.
fn is_readable() -> Result<bool, CliError> {
    let stdin = stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    match poll(&mut watched, Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(CliError::said("cannot wait for an answer", std::io::Error::from(error))),
    }
}

/// A line without the blanks around it; nothing where there is no line.
fn line(stdin: &mut dyn Read) -> Result<String, CliError> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    loop {
        let count = stdin.read(&mut byte).map_err(|error| CliError::said("cannot read the answer", error))?;
        if count == 0 || byte[0] == b'\n' {
            break;
        }
        line.push(byte[0]);
    }
    let line = String::from_utf8(line).map_err(|_| CliError::user("the answer is not UTF-8"))?;
    Ok(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_line() {
        let read = |typed: &str| line(&mut typed.as_bytes()).unwrap();
        assert_eq!(
            (read(" yes \nno\n"), read("\n"), read(""), read("é")),
            ("yes".into(), String::new(), String::new(), "é".into())
        );
        assert!(line(&mut &b"\xff\n"[..]).is_err());
    }
}
