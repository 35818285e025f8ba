//! Where the lines of a journal must be, beside this disk, before anything in them has an effect: a worker that has them
//! from this agent and keeps them where other machines find them.
//!
//! Apart because agent and worker meet here and nowhere else: a unix socket, a line a question (`NAME LENGTH`: the journal of
//! this name is to be kept up to this length), a line an answer (`kept UNTIL` or `refused WHY`). An agent whose question is
//! refused, or not answered because the worker is gone, may do nothing more.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::time::{ClockId, clock_gettime};

use super::JournalName;

/// The time since the machine was started, also while it slept: the same clock for the worker and its agents.
pub fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), nanos)
}

/// What an agent asks: to keep this journal up to this length, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRequest {
    /// The journal.
    pub name: JournalName,
    /// How much of it.
    pub length: u64,
}

impl fmt::Display for KeepRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.length)
    }
}

impl FromStr for KeepRequest {
    type Err = ();

    fn from_str(text: &str) -> Result<KeepRequest, ()> {
        let (name, length) = text.split_once(' ').ok_or(())?;
        Ok(KeepRequest { name: JournalName::parse(name).ok_or(())?, length: length.parse().map_err(|_| ())? })
    }
}

/// What it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepAnswer {
    /// It is kept; until this time since the machine was started nobody else works on the thread.
    Kept {
        /// In whole milliseconds.
        until: Duration,
    },
    /// It is not, for this reason, and nothing more may be done.
    Refused(String),
}

impl fmt::Display for KeepAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeepAnswer::Kept { until } => write!(f, "kept {}", until.as_millis()),
            KeepAnswer::Refused(why) => write!(f, "refused {}", why.replace('\n', " ")),
        }
    }
}

impl FromStr for KeepAnswer {
    type Err = ();

    fn from_str(text: &str) -> Result<KeepAnswer, ()> {
        match text.split_once(' ').ok_or(())? {
            ("kept", until) => {
                Ok(KeepAnswer::Kept { until: Duration::from_millis(until.parse().map_err(|_| ())?) })
            }
            ("refused", why) => Ok(KeepAnswer::Refused(why.to_owned())),
            _ => Err(()),
        }
    }
}

/// An agent's connection to the worker that keeps its journal.
#[derive(Debug)]
pub struct JournalSink {
    stream: Mutex<BufReader<UnixStream>>,
}

impl JournalSink {
    /// Connects to the worker that listens at `path`.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(path: &Path) -> io::Result<JournalSink> {
        let (_directory, path) = short(path)?;
        Ok(JournalSink { stream: Mutex::new(BufReader::new(UnixStream::connect(path)?)) })
    }

    /// Asks to keep a journal up to this length, which is in its file. The answer is waited for by [`JournalSink::wait`].
    ///
    /// # Errors
    /// The worker is gone.
    pub fn ask(&self, request: &KeepRequest) -> io::Result<()> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.get_ref().write_all(format!("{request}\n").as_bytes())
    }

    /// Waits until what was asked for is kept.
    ///
    /// # Errors
    /// It is refused, the worker is gone, or the time is over in which the thread is this machine's.
    pub fn wait(&self) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some(line) = line.strip_suffix('\n') else {
            let gone = "the worker that keeps the journal of this run is gone";
            return Err(io::Error::new(ErrorKind::UnexpectedEof, gone));
        };
        match line.parse() {
            Ok(KeepAnswer::Kept { until }) if since_boot() < until => Ok(()),
            Ok(KeepAnswer::Kept { .. }) => {
                Err(io::Error::other("the time is over in which the thread is this machine's"))
            }
            Ok(KeepAnswer::Refused(why)) => Err(io::Error::other(why)),
            Err(()) => Err(io::Error::new(ErrorKind::InvalidData, format!("the worker answered {line:?}"))),
        }
    }
}

/// Listens at `path`, where nothing may be yet; for this user alone if the directory is.
///
/// # Errors
/// The system's.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let (_directory, path) = short(path)?;
    UnixListener::bind(path)
}

/// A path by which the system reaches a socket, of whose own path it takes a hundred bytes only; good as long as the
/// directory is open.
fn short(path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no path of a socket"));
    };
    let directory = open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let within = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok((directory, within))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn request() -> KeepRequest {
        let name = JournalName {
            thread: "0000000001ZCA8M6K0V7R5V2YT".parse().unwrap(),
            head: "0123456789ABC".parse().unwrap(),
            session: "0000000002E80Z8E1MF7CB052H".parse().unwrap(),
        };
        KeepRequest { name, length: 77 }
    }

    #[test]
    fn questions_and_answers_read_back() {
        assert_eq!(request().to_string().parse(), Ok(request()));
        for bad in ["", "x 1", &request().to_string()[1..], &format!("{} -1", request().name)] {
            assert_eq!(bad.parse::<KeepRequest>(), Err(()), "{bad}");
        }
        let kept = KeepAnswer::Kept { until: Duration::from_millis(12) };
        for answer in [kept, KeepAnswer::Refused("its lease is over".into())] {
            assert_eq!(answer.to_string().parse(), Ok(answer));
        }
        assert_eq!(KeepAnswer::Refused("a\nb".into()).to_string(), "refused a b");
        assert!("kept".parse::<KeepAnswer>().is_err() && "kept x".parse::<KeepAnswer>().is_err());
    }

    /// What the agent makes of one answer; `None` is a worker that hangs up.
    fn heard(answer: Option<String>) -> io::Result<()> {
        let dir = tempfile::tempdir().unwrap();
        // Longer than the path of a socket may be.
        let deep = dir.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let path = deep.join("sink");
        let listener = listen(&path).unwrap();
        let worker = thread::spawn(move || {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end().parse(), Ok(request()));
            if let Some(answer) = answer {
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        let sink = JournalSink::connect(&path).unwrap();
        sink.ask(&request()).unwrap();
        let heard = sink.wait();
        worker.join().unwrap();
        heard
    }

    #[test]
    fn only_what_is_kept_in_time_may_have_an_effect() {
        let kept = |until: Duration| format!("{}\n", KeepAnswer::Kept { until });
        heard(Some(kept(since_boot() + Duration::from_secs(60)))).unwrap();
        let late = heard(Some(kept(since_boot()))).unwrap_err().to_string();
        assert!(late.starts_with("the time is over"), "{late}");
        let refused = heard(Some(format!("{}\n", KeepAnswer::Refused("no".into())))).unwrap_err();
        assert_eq!(refused.to_string(), "no");
        // Half an answer is none.
        for cut in [None, Some("kept 99999999999999".to_owned())] {
            assert_eq!(heard(cut).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        }
    }
}
