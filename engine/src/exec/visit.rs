//! One visit of one role, from the moment it is decided to the checked step: where, by whom, with which words.

use std::path::{Path, PathBuf};

use super::reply::{self, Expected};
use super::{Engine, ExecError, ExecOptions, Observer, Played, Turn};
use crate::config::BUILTIN;
use crate::log::{self, Event};
use crate::moderator::Route;
use crate::spawn::protocol::{AgentCommand, AgentRequest, EdgePromptSource, parse_reply};
use crate::spawn::{self, Finished, Run};
use crate::thread::{StartNode, role_of};

/// The longest edge prompt: the kernel takes no argument longer than 128 KiB.
const PROMPT_MAX: usize = 120 << 10;

/// What is to be played, where.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) role: String,
    pub(super) prompt: String,
    pub(super) cwd: PathBuf,
}

/// What a visit came to.
#[derive(Debug)]
pub(super) enum Outcome {
    /// An output of the role.
    Answer,
    /// The role asks the person something.
    Suspended(String),
    /// No valid output; why.
    Failed(String),
}

impl Visit {
    /// The visit that an edge asks for: its location counts from the thread's directory.
    pub(super) fn routed(
        start: &StartNode,
        role: &str,
        route: &Route,
        options: &ExecOptions,
    ) -> Result<Visit, ExecError> {
        let base = options.cwd.as_deref().unwrap_or(Path::new(&start.cwd));
        let cwd = match route.location.as_deref().map(str::trim) {
            None => base.to_owned(),
            Some("") => return Err(ExecError::EmptyLocation { role: role.to_owned() }),
            Some(location) => base.join(location),
        };
        Ok(Visit { role: role.to_owned(), prompt: route.prompt.clone(), cwd })
    }

    /// Runs the agent and checks its step.
    pub(super) fn run(
        &self,
        turn: &Turn<'_>,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<(Played, Outcome), ExecError> {
        let engine = turn.engine;
        let role = role_of(&turn.workflow, &self.role)?;
        let command = agent(engine, options, &turn.workflow.name, &self.role)?;
        self.check()?;
        observer.spawning(&self.role, &command, &self.cwd);
        let agent = log::name(&command.program);
        turn.log(Event::StepStarted { role: &self.role, agent, cwd: &self.cwd });
        let begun = engine.store.now();
        let finished = self.spawn(turn, &command, options, observer)?;
        let duration_ms = engine.store.now().saturating_sub(begun);
        turn.log(Event::AgentExited { role: &self.role, agent, exit: finished.exit(), duration_ms });
        let failed = |source| ExecError::NoReply {
            agent: command.program.clone(),
            exit: finished.exit(),
            stderr: finished.stderr_tail.clone(),
            source,
        };
        if !finished.status.success() {
            return Err(failed(None));
        }
        let reply = parse_reply(&finished.stdout).map_err(|error| failed(Some(error)))?;
        let expected = Expected { start: turn.head.start_hash(), head: turn.head.hash, role: &self.role };
        reply::check(engine.store, reply, &expected, &role.frontmatter).map_err(|source| {
            ExecError::BadReply { agent: command.program.clone(), source: Box::new(source) }
        })
    }

    /// What can be known to fail before anything is started.
    fn check(&self) -> Result<(), ExecError> {
        if self.prompt.trim().is_empty() {
            return Err(ExecError::EmptyPrompt { role: self.role.clone() });
        }
        if self.prompt.len() > PROMPT_MAX {
            return Err(ExecError::PromptTooLong { role: self.role.clone(), bytes: self.prompt.len() });
        }
        if !self.cwd.is_dir() {
            return Err(ExecError::NoDirectory { role: self.role.clone(), path: self.cwd.clone() });
        }
        Ok(())
    }

    fn spawn(
        &self,
        turn: &Turn<'_>,
        command: &AgentCommand,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<Finished, ExecError> {
        let engine = turn.engine;
        let request = AgentRequest {
            thread: turn.thread,
            role: self.role.clone(),
            prompt: Some(self.prompt.clone()),
            prompt_source: EdgePromptSource::Given,
        };
        let mut env = engine.env.clone();
        env.set("UWF_HOME", &engine.homes.uwf);
        env.set("OCAS_HOME", &engine.homes.ocas);
        let run = Run {
            command,
            args: request.to_args(),
            cwd: &self.cwd,
            env: &env,
            deadline: options.deadline,
            inherit_stderr: options.inherit_stderr,
            stop: engine.stop,
        };
        Ok(spawn::run(&run, &mut |bytes| observer.agent_stderr(bytes))?)
    }
}

/// Who plays: the one asked for, else the configured one, else the builtin one, whose bare name means the program that
/// belongs to this engine.
fn agent(
    engine: &Engine<'_>,
    options: &ExecOptions,
    workflow: &str,
    role: &str,
) -> Result<AgentCommand, ExecError> {
    let chosen = match &options.agent {
        Some(command) => Some(command),
        None => engine.config.agent_for(workflow, role)?,
    };
    let mut agent = chosen.unwrap_or(engine.builtin).clone();
    if agent.program == BUILTIN {
        agent.program.clone_from(&engine.builtin.program);
    }
    Ok(agent)
}
