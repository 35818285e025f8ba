//! One call of an agent: its process, from its arguments to its last byte, heard line by line.
//!
//! Processes are the engine's business (`uwf_engine::spawn`): a group of its own, signals passed on, its end. Here is what a
//! definition makes of it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::MemfdFlags;
use thiserror::Error;
use uwf_engine::Env;
use uwf_engine::home::make_private;
use uwf_engine::spawn::protocol::{ASKED_STEP, AgentCommand, SANDBOX, STEP_OF};
use uwf_engine::spawn::{self, Finished, ProcessSpec, Sinks, SpawnError, StopSignal};
use uwf_store::sounds_secret;
use uwf_workflow::moderator::PROMPT_MAX;
use uwf_workflow::template::TemplateError;

use super::argv::{self, CallKind, CallValues};
use super::confined::ConfinedBy;
use super::definition::{Definition, PromptBy};
use crate::secrets::Secrets;

/// The longest line that is listened to: longer ones are passed over.
const LINE: usize = 32 << 20;

/// An agent that can be called.
#[derive(Clone, Copy)]
pub struct ExternalAgent<'a> {
    /// What is known of it.
    pub definition: &'a Definition,
    /// The file of its program.
    pub file: &'a str,
    /// Arguments that are passed on.
    pub passed: &'a [String],
    /// The model to use, where somebody has said.
    pub model: Option<&'a str>,
    /// What it starts from.
    pub env: &'a Env,
    /// Set when this program is to stop.
    pub stop: &'a StopSignal,
    /// What confines it, if anything does.
    pub confined_by: Option<&'a ConfinedBy>,
    /// Called when a call is over, for what it may have left running.
    pub ended: &'a dyn Fn(),
}

impl ExternalAgent<'_> {
    /// What nobody may be shown of what it starts from, be it from its environment or its definition: the keys that its definition
    /// names, and the values of names that sound so.
    pub(super) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        let named = self.env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let set = self.definition.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in named.chain(set) {
            let is_key = self.definition.needs.env.iter().any(|key| key == name);
            // A number of tokens sounds so, and is none.
            if is_key || (sounds_secret(name) && value.parse::<f64>().is_err()) {
                secrets.add(value);
            }
        }
        secrets
    }
}

/// Why a call did not come to its own end.
#[derive(Debug, Error)]
pub(super) enum CallError {
    /// Its process.
    #[error(transparent)]
    Process(#[from] SpawnError),
    /// What it is to be told is too long for an argument.
    #[error("what `{agent}` is to be told is {bytes} bytes long: at most {PROMPT_MAX} fit on a command line")]
    TooLong {
        /// The agent.
        agent: String,
        /// How long.
        bytes: usize,
    },
    /// What it is to be told cannot be written where it reads it.
    #[error("what the agent is to be told cannot be written")]
    Prompt(#[source] io::Error),
    /// Its arguments.
    #[error("the arguments of the agent cannot be made")]
    Arguments(#[from] TemplateError),
}

/// What is heard of a call.
pub(super) enum Heard<'a> {
    /// A line of its stdout.
    Line(&'a str),
    /// A line of its stderr.
    Complaint(&'a str),
    /// Nothing has come for a moment.
    Idle,
}

/// Calls the agent in `cwd`, and tells what is heard of it meanwhile.
///
/// # Errors
/// See [`CallError`].
pub(super) fn call(
    agent: &ExternalAgent<'_>,
    (kind, values): (CallKind, CallValues),
    (cwd, cache): (&Path, &Path),
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<Finished, CallError> {
    let definition = agent.definition;
    let (mut values, prompt) = (values, PromptFile::write(definition, cache)?);
    let stdin = match definition.prompt {
        PromptBy::Stdin => Some(in_memory(&values.prompt).map_err(CallError::Prompt)?),
        PromptBy::Argument | PromptBy::File => None,
    };
    if let Some(file) = &prompt {
        values.prompt_file = file.fill(&values.prompt).map_err(CallError::Prompt)?;
    }
    values.confined = agent.confined_by.is_some();
    values.model = agent.model.unwrap_or_default().to_owned();
    values.cwd = cwd.display().to_string();
    let env = environment(agent, &values)?;
    let args = argv::args(definition, kind, (&values, agent.passed))?;
    if let Some(bytes) = args.iter().map(String::len).max().filter(|bytes| *bytes > PROMPT_MAX) {
        return Err(CallError::TooLong { agent: definition.name.clone(), bytes });
    }
    let session_dir = Path::new(&values.session_file).parent().filter(|_| definition.keeps_session_file());
    let own: Vec<&Path> = prompt.iter().map(PromptFile::dir).chain(session_dir).collect();
    let (file, args) = confined(agent, &own, args);
    let command = AgentCommand::new(definition.name.as_str(), Vec::new());
    let run = ProcessSpec {
        command: &command,
        file: &file,
        args,
        cwd,
        env: &env,
        deadline: Some(Duration::from_secs(definition.timeout_seconds)),
        inherit_stderr: false,
        stop: agent.stop,
    };
    let finished = listened_to(&run, stdin, heard);
    (agent.ended)();
    Ok(finished?)
}

/// The program and its arguments behind the command that confines them, to these directories of its own, too.
fn confined(agent: &ExternalAgent<'_>, own: &[&Path], args: Vec<String>) -> (String, Vec<OsString>) {
    let before = agent.confined_by.into_iter().flat_map(|by| {
        let asked = serde_json::to_string(&by.asked.with(own)).expect("paths of a definition are text");
        by.command.iter().cloned().chain([asked])
    });
    let mut words = before.chain([agent.file.to_owned()]).chain(args);
    let file = words.next().unwrap_or_default();
    (file, words.map(OsString::from).collect())
}

/// What the agent starts from: what is not its business is not in it.
fn environment(agent: &ExternalAgent<'_>, values: &CallValues) -> Result<Env, TemplateError> {
    let ours = [STEP_OF, SANDBOX, ASKED_STEP];
    let mut env: Env = agent.env.iter().filter(|(name, _)| ours.iter().all(|ours| name != ours)).collect();
    for (name, value) in argv::env(agent.definition, values)? {
        if env.get(&name).is_none() {
            env.set(name, value);
        }
    }
    Ok(env)
}

fn listened_to(
    run: &ProcessSpec<'_>,
    stdin: Option<File>,
    heard: &mut dyn FnMut(Heard<'_>),
) -> Result<Finished, SpawnError> {
    let heard = RefCell::new(heard);
    let (mut lines, mut complaints) = (Lines::default(), Lines::default());
    let finished = spawn::run_within(
        run,
        stdin,
        &mut Sinks {
            stdout: &mut |bytes| lines.push(bytes, &mut |line| (heard.borrow_mut())(Heard::Line(line))),
            stderr: &mut |bytes| {
                complaints.push(bytes, &mut |line| (heard.borrow_mut())(Heard::Complaint(line)));
            },
            idle: &mut || (heard.borrow_mut())(Heard::Idle),
        },
    );
    lines.end(&mut |line| (heard.borrow_mut())(Heard::Line(line)));
    complaints.end(&mut |line| (heard.borrow_mut())(Heard::Complaint(line)));
    finished
}

/// Bytes as lines.
#[derive(Debug, Default)]
struct Lines {
    rest: Vec<u8>,
    /// The line is too long, up to its end.
    skips: bool,
}

impl Lines {
    fn push(&mut self, bytes: &[u8], line: &mut dyn FnMut(&str)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if !self.skips {
                self.rest.extend_from_slice(piece);
            }
            if self.rest.len() > LINE {
                (self.skips, self.rest) = (true, Vec::new());
            }
            if ends {
                self.end(line);
            }
        }
    }

    fn end(&mut self, line: &mut dyn FnMut(&str)) {
        let bytes = std::mem::take(&mut self.rest);
        if !std::mem::take(&mut self.skips) && !bytes.is_empty() {
            line(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
        }
    }
}

/// A text to be read from its beginning, in no directory.
fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create(c"prompt", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// What an agent is told that reads it from a file: in a directory of its own, which can be opened to a confined one and goes with
/// this.
struct PromptFile(tempfile::TempDir);

impl PromptFile {
    fn write(definition: &Definition, cache: &Path) -> Result<Option<PromptFile>, CallError> {
        if definition.prompt != PromptBy::File {
            return Ok(None);
        }
        let made =
            make_private(cache).and_then(|()| tempfile::Builder::new().prefix("prompt-").tempdir_in(cache));
        Ok(Some(PromptFile(made.map_err(CallError::Prompt)?)))
    }

    fn dir(&self) -> &Path {
        self.0.path()
    }

    fn path(&self) -> PathBuf {
        self.dir().join("prompt.md")
    }

    fn fill(&self, text: &str) -> io::Result<String> {
        fs::write(self.path(), text)?;
        Ok(self.path().display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &str = "description: d
program: p
prompt: argument
args: { first: ['{{task}}'] }
reply: { format: text }
needs: { env: [PIN] }
env: { SERVICE_TOKEN: tk-0123456, MODE: verbose, PIN: '4711.0' }
";

    fn agent<'a>(
        definition: &'a Definition,
        (env, stop): (&'a Env, &'a StopSignal),
        file: &'a str,
    ) -> ExternalAgent<'a> {
        let (passed, model) = (&[][..], None);
        ExternalAgent { definition, file, passed, model, env, stop, confined_by: None, ended: &|| () }
    }

    #[test]
    fn keys_are_secret_wherever_they_are_set() {
        let definition = Definition::read("a", DEFINITION, "a.yaml").unwrap();
        let env: Env =
            [("PIN", "123456"), ("OTHER_API_KEY", "sk-98765"), ("MAX_TOKEN", "100000")].into_iter().collect();
        let stop = StopSignal::default();
        let mut values = agent(&definition, (&env, &stop), "p").secrets().values();
        values.sort();
        assert_eq!(values, ["123456", "4711.0", "sk-98765", "tk-0123456"]);
    }

    #[test]
    fn what_is_too_long_for_an_argument_is_told_and_what_is_not_passed_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let (env, stop) = (Env::default(), StopSignal::default());
        let definition = Definition::read("a", DEFINITION, "a.yaml").unwrap();
        let agent = agent(&definition, (&env, &stop), "/bin/true");
        let call = |task: usize| {
            let (prompt, task) = ("x".repeat(PROMPT_MAX + 1), "x".repeat(task));
            let values = CallValues { prompt, task, ..CallValues::default() };
            call(&agent, (CallKind::First, values), (dir.path(), dir.path()), &mut |_| ())
        };
        assert!(call(PROMPT_MAX).unwrap().status.success());
        assert!(
            matches!(call(PROMPT_MAX + 1), Err(CallError::TooLong { bytes, .. }) if bytes == PROMPT_MAX + 1)
        );
    }

    #[test]
    fn bytes_become_lines_whatever_their_pieces() {
        let (mut lines, mut heard) = (Lines::default(), Vec::new());
        for piece in ["a\r\nb", "c\n\n", "d"] {
            lines.push(piece.as_bytes(), &mut |line| heard.push(line.to_owned()));
        }
        lines.end(&mut |line| heard.push(line.to_owned()));
        assert_eq!(heard, ["a", "bc", "", "d"]);
    }

    #[test]
    fn a_line_without_an_end_is_passed_over_and_the_next_is_heard() {
        let (mut lines, mut heard) = (Lines::default(), Vec::new());
        let mut push = |bytes: &[u8]| lines.push(bytes, &mut |line| heard.push(line.to_owned()));
        (0..40).for_each(|_| push(&vec![b'x'; 1 << 20]));
        push(b"x\nnext\n");
        assert_eq!(heard, ["next"]);
    }
}
