//! Conditions evaluated by a process of their own, with a limit for its memory and for its time.
//!
//! Both ends are here: [`ConditionProcess`] starts a program and asks it, [`serve`] is what that program does. It is the
//! engine's own program with the argument [`COMMAND`]. The question comes on stdin, in JSON; on stdout is a line for each
//! expression before it is tried, so that one which never comes back has a name, and then the answer.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, setrlimit};
use serde::{Deserialize, Serialize};
use uwf_workflow::condition;

use super::{Answer, Conditions, Judge, Question, Unanswered, Why};

/// The argument by which a program is asked for [`serve`].
pub const COMMAND: &str = "evaluate-conditions";

/// The memory that it may take, in bytes.
pub const MEMORY: u64 = 400 << 20;
/// The processor time that it may take.
const CPU: Duration = Duration::from_secs(2);
/// The time after which it is killed, whatever it does.
const WALL: Duration = Duration::from_secs(10);

/// Evaluates conditions by starting a program.
#[derive(Clone, Debug)]
pub struct ConditionProcess {
    program: PathBuf,
}

/// A line of the process.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Said {
    Trying { trying: usize },
    Answer(Answer),
}

impl ConditionProcess {
    /// The program is one that does [`serve`] when its only argument is [`COMMAND`].
    pub fn new(program: PathBuf) -> ConditionProcess {
        ConditionProcess { program }
    }

    /// The process, and what it will have said on stdout and stderr. All three are files, so that nobody waits for
    /// anybody: a question may be larger than a pipe.
    fn start(&self, question: &Question) -> io::Result<(Child, File, File)> {
        let file = || Ok::<_, io::Error>(File::from(memfd_create("uwf-conditions", MemfdFlags::CLOEXEC)?));
        let (mut asked, said, complaints) = (file()?, file()?, file()?);
        serde_json::to_writer(io::BufWriter::new(&asked), question)?;
        asked.rewind()?;
        // Where this program works may be gone by now.
        let child = Command::new(&self.program)
            .arg(COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(asked)
            .stdout(said.try_clone()?)
            .stderr(complaints.try_clone()?)
            .spawn()?;
        Ok((child, said, complaints))
    }
}

/// This process as who evaluates conditions, if there is one.
pub fn judge(process: Option<&ConditionProcess>) -> Judge<'_> {
    process.map(|process| process as &dyn Conditions)
}

impl Conditions for ConditionProcess {
    fn answer(&self, question: &Question) -> Result<Answer, Unanswered> {
        let mut tried = None;
        let unanswered = |why, tried| Unanswered { tried, why };
        let (mut child, said, complaints) =
            self.start(question).map_err(|error| unanswered(Why::Start(error), None))?;
        let waited = wait(&mut child);
        if !matches!(waited, Ok(Some(_))) {
            child.kill().ok();
            child.wait().ok();
        }
        for line in written(said).lines() {
            match serde_json::from_str(line) {
                Ok(Said::Trying { trying }) => tried = Some(trying),
                Ok(Said::Answer(answer)) => return Ok(answer),
                Err(_) => {}
            }
        }
        Err(unanswered(
            match waited {
                Ok(Some(status)) => ended(status, &written(complaints)),
                Ok(None) => Why::Time(WALL),
                Err(error) => Why::Wait(error),
            },
            tried,
        ))
    }
}

/// What a process has written into a file.
fn written(mut file: File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.take(1 << 20).read_to_end(&mut bytes));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

/// What is said when no memory can be had: by the allocator, by the stack that wants to grow, and by the system.
const NO_MEMORY: [&str; 3] = ["memory allocation of", "allocating stack", "Cannot allocate memory"];

/// How a process without an answer has ended.
fn ended(status: ExitStatus, complaints: &str) -> Why {
    if NO_MEMORY.iter().any(|words| complaints.contains(words)) {
        return Why::Memory;
    }
    match (status.signal().and_then(Signal::from_named_raw), status.code()) {
        (Some(Signal::XCPU | Signal::KILL), _) => Why::Time(CPU),
        // A stack that cannot grow is a fault.
        (Some(Signal::SEGV | Signal::BUS), _) => Why::Memory,
        (Some(signal), _) => Why::Ended(format!("signal {}", signal.as_raw())),
        (None, Some(code)) => Why::Ended(format!("exit status {code}")),
        (None, None) => Why::Ended("an unknown status".to_owned()),
    }
}

/// Waits for the exit of the process; none when it takes too long.
fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + WALL;
    let exit = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let timeout = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut [PollFd::new(&exit, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return child.wait().map(Some),
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the program does: takes its limits upon itself, reads a question, and answers it.
///
/// # Errors
/// The limits cannot be set, what comes is no question, or nobody listens.
pub fn serve(question: &mut dyn Read, answer: &mut dyn Write) -> io::Result<()> {
    for (resource, limit) in [(Resource::As, MEMORY), (Resource::Cpu, CPU.as_secs()), (Resource::Core, 0)] {
        // Whoever started this engine may have set less.
        let maximum = getrlimit(resource).maximum.map_or(limit + 1, |maximum| maximum.min(limit + 1));
        setrlimit(resource, Rlimit { current: Some(limit.min(maximum)), maximum: Some(maximum) })?;
    }
    let mut text = String::new();
    question.read_to_string(&mut text)?;
    let question: Question = serde_json::from_str(&text)?;
    drop(text);
    let mut say = |said: &Said| {
        serde_json::to_writer(&mut *answer, said)?;
        answer.write_all(b"\n")?;
        answer.flush()
    };
    let mut heard = Ok(());
    let said = condition::answer(&question, &mut |trying| {
        if heard.is_ok() {
            heard = say(&Said::Trying { trying });
        }
    });
    heard?;
    say(&Said::Answer(said))
}
