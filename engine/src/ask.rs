//! A question to the agent of a finished step: step → agent → session → answer.
//!
//! Apart from `exec` because nothing of the thread changes: no lock is taken, no node is written, no head moves. The
//! question goes to a fork of the step's session, so that the session itself stays as the step left it; the fork is
//! remembered (see `forks`), so that a second question can refer to the first. Where there is to be no fork, or the agent
//! makes none, it is asked without a session, about the step's record. The step's own session is never asked: an agent
//! that keeps its sessions would write the question into the very history that it is about.

mod forks;

use std::path::{Path, PathBuf};

use thiserror::Error;
use uwf_store::Hash;
use uwf_workflow::moderator::PROMPT_MAX;

use self::forks::Fork;
use crate::config::ConfigError;
use crate::exec::error::INSIDE;
use crate::exec::{Engine, ExecError, ExecOptions, Observer};
use crate::record::Detail;
use crate::spawn::ask_protocol::AskCall;
use crate::spawn::protocol::{ASKED_STEP, AgentCommand, CallForm};
use crate::spawn::{self, Finished, ProcessSpec, SpawnError};
use crate::thread::{self, StartNode, StepNode, ThreadError};
use crate::workflow;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The step it is about.
    pub step: Hash,
    /// In words.
    pub text: &'a str,
    /// Whether no session is asked, rather than a fork of the step's.
    pub no_fork: bool,
    /// Whether the questions before are to be forgotten.
    pub fresh: bool,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The fork that was asked; none where the record alone was.
    pub session: Option<String>,
    /// In words.
    pub text: String,
}

/// Why there is no answer. The thread is as it was in every case.
#[derive(Debug, Error)]
pub enum AskError {
    /// There is nothing to answer.
    #[error("the question is empty")]
    NoQuestion,
    /// The question is no command line argument any more.
    #[error("the question is {bytes} bytes long: at most {PROMPT_MAX} fit on a command line")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The step.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// Who is to answer.
    #[error(transparent)]
    Agent(#[from] ExecError),
    /// Who is to answer, as configured.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The agent is called in the older form, which has no questions.
    #[error(
        "the agent `{agent}` takes no questions: it is called as `{agent} THREAD ROLE`, by `protocol: positional`"
    )]
    OlderForm {
        /// The program.
        agent: String,
    },
    /// The directory the step worked in is gone.
    #[error("there is no directory {}, where step {step} worked", path.display())]
    NoDirectory {
        /// The step.
        step: Hash,
        /// The directory.
        path: PathBuf,
    },
    /// The agent's process.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The agent cannot, or will not.
    #[error("the agent `{agent}` gave no answer: it ended with {exit}{stderr}")]
    Refused {
        /// The program.
        agent: String,
        /// Whether it was asked in a fork of an earlier question.
        remembered: bool,
        /// How it exited.
        exit: String,
        /// The end of its stderr, when we saw that.
        stderr: String,
    },
    /// The fork cannot be remembered.
    #[error("cannot write {}", path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl AskError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            AskError::NoQuestion => Some("say what you want to know with -p TEXT".to_owned()),
            AskError::TooLong { .. } => Some("write it to a file and name the file".to_owned()),
            AskError::Thread(error) => error.hint(),
            AskError::Agent(error) => error.hint(),
            AskError::Config(error) => error.hint(),
            AskError::NoDirectory { .. } | AskError::Spawn(SpawnError::Directory { .. }) => {
                Some("ask from another directory with --cwd DIR".to_owned())
            }
            AskError::Spawn(SpawnError::Inside { .. }) => Some(INSIDE.to_owned()),
            AskError::Spawn(SpawnError::Start { .. }) => Some("name an agent with --agent".to_owned()),
            AskError::OlderForm { .. } => Some(
                "name an agent that does with --agent; where this one does, `protocol: flags` in config.yaml"
                    .to_owned(),
            ),
            AskError::Refused { remembered: true, .. } => {
                Some("--fresh forks the step's session anew".to_owned())
            }
            AskError::Refused { .. } | AskError::Spawn(_) | AskError::Cache { .. } => None,
        }
    }
}

/// The step that an agent made: of one that a workflow made, the last step of the thread that was called.
fn innermost(engine: &Engine<'_>, step: Hash) -> Result<Hash, ThreadError> {
    let mut innermost = step;
    while let Some(called) =
        thread::called_by(engine.store, &thread::step_node(engine.store, &innermost)?.detail)?
    {
        innermost = called;
    }
    Ok(innermost)
}

/// Asks the agent of `question.step`, or the one in `options`, and waits for its answer.
///
/// # Errors
/// The question is empty or too long, the step cannot be read, the agent or its directory is not there, or the agent
/// gives no answer.
pub fn ask(
    engine: &Engine<'_>,
    question: &Question<'_>,
    options: &ExecOptions,
    observer: &mut dyn Observer,
) -> Result<Answer, AskError> {
    check(question.text)?;
    let question = &Question { step: innermost(engine, question.step)?, ..*question };
    let step = thread::step_node(engine.store, &question.step)?;
    let detail = Detail::read(engine.store, &step.detail).map_err(ThreadError::from)?;
    let start = thread::start_node(engine.store, &step.start)?;
    let command = agent(engine, (&start, &step), options, observer)?;
    if command.form == CallForm::Positional {
        return Err(AskError::OlderForm { agent: command.program });
    }
    let cwd = options.cwd.clone().unwrap_or_else(|| PathBuf::from(&step.cwd));
    if !cwd.is_dir() {
        return Err(AskError::NoDirectory { step: question.step, path: cwd });
    }
    let dirs = [Path::new(&start.cwd), Path::new(&step.cwd), &cwd];
    let file = engine.programs.file_of(&command.program, &dirs)?;
    observer.spawning(&step.role, &command, &cwd);
    let (command, step_asked, cwd) = ((&command, file.as_str()), question.step, cwd.as_path());
    let mut asked =
        AskedAgent { engine, command, step: step_asked, cwd, options, observer, remembered: false };
    let own = detail.session_id.filter(|session| !session.is_empty() && !question.no_fork);
    let session = own.as_deref().map(|own| asked.fork_of(own, question)).transpose()?.flatten();
    let call = AskCall::Ask { session: session.as_deref(), prompt: question.text, detail: step.detail };
    let text = asked.said(&call)?;
    Ok(Answer { session, text })
}

fn check(text: &str) -> Result<(), AskError> {
    match text.len() {
        _ if text.trim().is_empty() => Err(AskError::NoQuestion),
        bytes if bytes > PROMPT_MAX => Err(AskError::TooLong { bytes }),
        _ => Ok(()),
    }
}

/// The one asked for, else the one that made the step.
fn agent(
    engine: &Engine<'_>,
    (start, step): (&StartNode, &StepNode),
    options: &ExecOptions,
    observer: &mut dyn Observer,
) -> Result<AgentCommand, AskError> {
    if let Some(command) = &options.agent {
        return Ok(engine.with_chosen(engine.own(command), options, observer));
    }
    let workflow = workflow::get(engine.store, &start.workflow).map_err(ThreadError::from)?;
    let configured = match &options.chosen.agent {
        Some(chosen) => Some(chosen),
        None => engine.config.agent_for(&workflow.name, &step.role)?,
    };
    let maker = engine.maker(step, configured, observer)?;
    Ok(engine.with_chosen(maker, options, observer))
}

/// An agent that can be called.
struct AskedAgent<'a> {
    engine: &'a Engine<'a>,
    /// With the file of its program.
    command: (&'a AgentCommand, &'a str),
    /// The step that it is asked about.
    step: Hash,
    cwd: &'a Path,
    options: &'a ExecOptions,
    observer: &'a mut dyn Observer,
    /// Whether the question goes to a fork of an earlier one.
    remembered: bool,
}

impl AskedAgent<'_> {
    /// The fork that earlier questions went to, else a new one; none when the agent makes none.
    fn fork_of(&mut self, session: &str, question: &Question<'_>) -> Result<Option<String>, AskError> {
        let file = forks::path(&self.engine.homes.uwf, &question.step);
        let known = Fork::read(&file).filter(|fork| fork.is_of(session, self.command.0) && !question.fresh);
        if let Some(fork) = known {
            self.remembered = true;
            return Ok(Some(fork.id));
        }
        let finished = self.run(&AskCall::Fork { session })?;
        let said = said(&finished).unwrap_or_default();
        let Some(id) = said.lines().rev().map(str::trim).find(|line| !line.is_empty()) else {
            let (agent, exit) = (self.command.0.called(), finished.exit());
            self.observer.warn(&format!(
                "the agent `{agent}` did not fork the session, it ended with {exit}: \
                 it is asked without one, from the step's record alone"
            ));
            return Ok(None);
        };
        let fork = Fork::new(session, self.command.0, id.to_owned());
        fork.write(&file).map_err(|source| AskError::Cache { path: file, source })?;
        Ok(Some(fork.id))
    }

    /// What the agent answers.
    fn said(&mut self, call: &AskCall<'_>) -> Result<String, AskError> {
        let finished = self.run(call)?;
        said(&finished).ok_or_else(|| AskError::Refused {
            agent: self.command.0.called().to_owned(),
            remembered: self.remembered,
            exit: finished.exit(),
            stderr: finished.last_words(),
        })
    }

    fn run(&mut self, call: &AskCall<'_>) -> Result<Finished, SpawnError> {
        let mut env = self.engine.agent_env(self.options);
        env.set(ASKED_STEP, self.step.as_str());
        let run = ProcessSpec {
            command: self.command.0,
            file: self.command.1,
            args: call.to_args(),
            cwd: self.cwd,
            env: &env,
            deadline: self.options.deadline,
            inherit_stderr: self.options.inherit_stderr,
            stop: self.engine.stop,
        };
        spawn::run(&run, &mut |bytes| self.observer.agent_stderr(bytes))
    }
}

/// What an agent printed, without blank lines around it; nothing is no answer.
fn said(finished: &Finished) -> Option<String> {
    let text = String::from_utf8_lossy(&finished.stdout).trim_matches(['\n', '\r']).to_owned();
    (finished.status.success() && !text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests;
