//! Why a step could not be made, and what to do about it.

use std::path::PathBuf;

use thiserror::Error;
use uwf_workflow::moderator::PROMPT_MAX;

use super::agent::StepAgentError;
use super::artifacts::ArtifactError;
use super::reply::ReplyFault;
use crate::config::{Config, ConfigError};
use crate::journals::JournalsError;
use crate::lock::LockError;
use crate::log::{self, Unmade};
use crate::spawn::SpawnError;
use crate::spawn::protocol::ProtocolError;
use crate::thread::{PausedBy, ThreadError, ThreadId};

/// What to do about an agent that lies in the thread's directory.
pub(crate) const INSIDE: &str = "name it by its full path if that is meant";

/// Why a step could not be made. The head is where it was in every case.
#[derive(Debug, Error)]
pub enum ExecError {
    /// Somebody else runs a step of the thread.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The thread, its workflow or its route.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// Who is to play.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The thread has come to its end.
    #[error("thread {thread} is not active: its status is {status}")]
    NotActive {
        /// The thread.
        thread: ThreadId,
        /// Its status.
        status: &'static str,
        /// Whether its workflow says how it begins again.
        again: bool,
    },
    /// The thread is to make no further step for now.
    #[error("thread {thread} is paused: {reason}")]
    Paused {
        /// The thread.
        thread: ThreadId,
        /// Why.
        reason: String,
        /// Who wants it.
        by: PausedBy,
    },
    /// The thread is paused, and nobody in it waits for an answer.
    #[error("thread {thread} is paused and asks nothing: there is nobody to be told anything")]
    NothingAsked {
        /// The thread.
        thread: ThreadId,
    },
    /// There is nothing to take up.
    #[error("thread {thread} cannot be resumed: its status is {status}")]
    NotResumable {
        /// The thread.
        thread: ThreadId,
        /// Its status.
        status: &'static str,
    },
    /// The `$START` edge `resume` leads to no role.
    #[error("thread {thread} cannot be resumed: its workflow has no `resume` edge from `$START` to a role")]
    NothingToResume {
        /// The thread.
        thread: ThreadId,
    },
    /// No role has played yet.
    #[error("thread {thread} has no step yet")]
    NothingToPoke {
        /// The thread.
        thread: ThreadId,
    },
    /// The name of the step's agent stands for no program.
    #[error("the step was made by `{agent}`, which is no configured agent")]
    UnknownMaker {
        /// What the step says.
        agent: String,
    },
    /// A summary needs a step that comes after it.
    #[error("no step would stay: a summary is kept with the step that comes after it")]
    KeepsNothing,
    /// A visit that was cut off can be continued at this head alone.
    #[error(
        "role `{role}` of thread {thread} was cut off and can go on: a summary would lose what it has done"
    )]
    InProgress {
        /// The thread.
        thread: ThreadId,
        /// The role.
        role: String,
    },
    /// Which visits were cut off cannot be told.
    #[error(transparent)]
    Journals(Box<JournalsError>),
    /// There is nothing to say to the role.
    #[error("there is no prompt for role `{role}`")]
    EmptyPrompt {
        /// The role.
        role: String,
    },
    /// The edge prompt is no command line argument any more.
    #[error("the prompt for role `{role}` is {bytes} bytes long: at most {PROMPT_MAX} fit on a command line")]
    PromptTooLong {
        /// The role.
        role: String,
        /// Its length.
        bytes: usize,
    },
    /// The edge prompt is no command line argument at all.
    #[error("the prompt for role `{role}` holds a NUL character, which no command line can")]
    PromptWithNul {
        /// The role.
        role: String,
    },
    /// The edge's location rendered to nothing.
    #[error("the location of the edge to role `{role}` renders to nothing")]
    EmptyLocation {
        /// The role.
        role: String,
    },
    /// The directory to work in is not there.
    #[error("there is no directory {} for role `{role}` to work in", path.display())]
    NoDirectory {
        /// The role.
        role: String,
        /// The directory.
        path: PathBuf,
        /// Whether the edge's location says so.
        located: bool,
    },
    /// A signal asked us to stop; so the agent was ended.
    #[error("stopped by signal {signal}")]
    Stopped {
        /// The thread whose step is not made.
        thread: ThreadId,
        /// The signal's number.
        signal: i32,
    },
    /// The agent's process.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// There is no program of that name.
    #[error("{source}")]
    NoProgram {
        /// The system's reason.
        source: SpawnError,
        /// The agents there are, the nearest first.
        known: Vec<String>,
    },
    /// The agent, which is code of this program, gave no reply.
    #[error("the agent for role `{role}` failed: {source}")]
    Agent {
        /// The role.
        role: String,
        /// What the agent could not do.
        source: StepAgentError,
    },
    /// The agent came to its end without a reply.
    #[error("the agent `{agent}` gave no reply: it ended with {exit}{stderr}")]
    NoReply {
        /// The program.
        agent: String,
        /// How it exited.
        exit: String,
        /// The end of its stderr as a block, when we saw that.
        stderr: String,
        /// What its stdout was instead.
        source: Option<ProtocolError>,
    },
    /// A workflow is to play a role of one that is above it already.
    #[error("role `{role}` cannot be played by a workflow that plays above it: {}", stack.join(" → "))]
    CallsItself {
        /// The role.
        role: String,
        /// The workflows, from the first caller to the one that would be called.
        stack: Vec<String>,
    },
    /// A workflow is to play a role too far down.
    #[error("role `{role}` cannot be played by a workflow here: at most {max} threads may be above another: {}",
        stack.join(" → "))]
    TooDeep {
        /// The role.
        role: String,
        /// The workflows, from the first caller to the one that would be called.
        stack: Vec<String>,
        /// How many there may be above.
        max: u32,
    },
    /// A step of the thread that plays the role cannot be made.
    #[error("the thread {thread}, which plays role `{role}`, cannot go on")]
    Below {
        /// The role.
        role: String,
        /// The thread that was called.
        thread: ThreadId,
        /// Why it cannot.
        source: Box<ExecError>,
    },
    /// The agent's reply is not true.
    #[error("the reply of the agent `{agent}` is not valid; the head has not moved")]
    BadReply {
        /// The program.
        agent: String,
        /// In which way.
        source: Box<ReplyFault>,
    },
    /// What the role was to leave cannot be kept.
    #[error(transparent)]
    Artifact(Box<ArtifactError>),
}

impl ExecError {
    /// What the agent itself has told of an error, where it gave no reply and somebody heard it.
    pub fn of_agent(&self) -> Option<Unmade> {
        match self {
            ExecError::NoReply { stderr, .. } => log::own_error(stderr),
            ExecError::Below { source, .. } => source.of_agent(),
            _ => None,
        }
    }

    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            ExecError::Lock(error) => error.hint(),
            ExecError::Thread(error) => error.hint(),
            ExecError::Config(error) => error.hint(),
            ExecError::Artifact(error) => Some(error.hint()),
            ExecError::NotActive { thread, status: "end", again: true } => {
                Some(format!("begin it again with `uwf thread resume {thread} -p TEXT`"))
            }
            ExecError::NotActive { thread, status: "end", again: false } => Some(format!(
                "`uwf thread read {thread}` tells what happened; its workflow has no `resume` edge, so start a new thread for more"
            )),
            ExecError::NotActive { .. } | ExecError::NotResumable { status: "cancelled", .. } => {
                Some("a cancelled thread stays so; start a new one".to_owned())
            }
            ExecError::Paused { thread, by: PausedBy::Person, .. } | ExecError::NothingAsked { thread } => {
                Some(format!("it goes on with `uwf thread resume {thread}`"))
            }
            ExecError::Paused { thread, by: PausedBy::Rounds, .. } => {
                Some(format!("it goes on with `uwf thread resume {thread} --max-rounds N`, with a larger N"))
            }
            ExecError::NotResumable { thread, .. } => {
                Some(format!("run its next step with `uwf thread exec {thread}`"))
            }
            ExecError::NothingToResume { .. } => {
                Some("start a new thread; a workflow with that edge can be resumed".to_owned())
            }
            ExecError::NothingToPoke { thread } => {
                Some(format!("run its first step with `uwf thread exec {thread}`"))
            }
            ExecError::InProgress { thread, .. } => Some(format!(
                "let it come to its end first: `uwf doctor` tells how, mostly `uwf thread exec {thread}`"
            )),
            ExecError::KeepsNothing => Some("let at least the last one stay: --keep 1".to_owned()),
            ExecError::UnknownMaker { .. } => Some("name an agent with --agent".to_owned()),
            ExecError::Stopped { thread, .. } => {
                Some(format!("the step was not made; `uwf thread show {thread}` tells where the thread stands"))
            }
            ExecError::Spawn(error) => spawn_hint(error).map(str::to_owned),
            ExecError::NoProgram { source, known } => {
                spawn_hint(source).map(|hint| format!("{hint}; agents known: {}", known.join(", ")))
            }
            // What it printed may well be its answer.
            ExecError::NoReply { source: Some(ProtocolError::NotAReply { .. }), .. } => Some(
                "a program that just prints its answer is named as --agent \"command PROGRAM\"; `uwf agents command` tells how"
                    .to_owned(),
            ),
            _ => self.beginning_hint().or_else(|| self.call_hint()),
        }
    }

    /// The same where it is known before anybody plays: of the prompt, and of the directory.
    fn beginning_hint(&self) -> Option<String> {
        match self {
            ExecError::EmptyPrompt { .. } => Some("say what to do with -p TEXT".to_owned()),
            ExecError::PromptWithNul { .. } => Some(
                "it comes from the edge's template or from the output of the step before: mend the workflow, or let that \
                 step be made again with `uwf thread poke`"
                    .to_owned(),
            ),
            ExecError::PromptTooLong { .. } => Some(
                "let the step before write long text to a file and name the file in its output".to_owned(),
            ),
            ExecError::EmptyLocation { .. } => Some(
                "the output of the step before must give the names used in the edge's `location`".to_owned(),
            ),
            ExecError::NoDirectory { located: true, .. } => Some(
                "the edge's `location` says so: create it, or let the step before name another one, with `uwf thread poke`"
                    .to_owned(),
            ),
            ExecError::NoDirectory { located: false, .. } => {
                Some("create it, or run the step elsewhere with --cwd DIR".to_owned())
            }
            _ => None,
        }
    }

    /// Why there is no file for that program; where its name leads nowhere, the agents are told that there are.
    pub fn of_lookup(error: SpawnError, config: &Config) -> ExecError {
        match error {
            SpawnError::Start { ref program, .. } => {
                let known = config.known_agents(program);
                ExecError::NoProgram { source: error, known }
            }
            error => error.into(),
        }
    }

    /// The same, of a workflow that is to play a role.
    fn call_hint(&self) -> Option<String> {
        match self {
            ExecError::CallsItself { role, .. } => {
                Some(format!("give role `{role}` another agent in agentOverrides of config.yaml"))
            }
            ExecError::TooDeep { .. } => Some("`uwf config set maxDepth N` allows more".to_owned()),
            ExecError::Below { thread, source, .. } => {
                // What is typed for the caller's step does not reach this one.
                let is_meant = |hint: &String| !hint.contains("--agent") && !hint.contains("--cwd");
                let alone = || {
                    format!(
                        "what was done stays, and the same command goes on; `uwf thread exec {thread}` makes that step alone"
                    )
                };
                Some(source.hint().filter(is_meant).unwrap_or_else(alone))
            }
            _ => None,
        }
    }
}

fn spawn_hint(error: &SpawnError) -> Option<&'static str> {
    match error {
        SpawnError::Directory { .. } => {
            Some("make it one that you may enter, or run the step elsewhere with --cwd DIR")
        }
        SpawnError::Start { .. } => Some("name an agent with --agent, or set defaultAgent in config.yaml"),
        SpawnError::Inside { .. } => Some(INSIDE),
        _ => None,
    }
}
