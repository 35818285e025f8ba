//! One invocation of one role, from the moment it is decided to the checked step: where, by whom, with which words.

use std::path::{Path, PathBuf};

use uwf_store::{Hash, Store};
use uwf_workflow::WORKFLOW_2;
use uwf_workflow::moderator::PROMPT_MAX;
use uwf_workflow::moderator::Route;

use super::agent::{NAME, StepAgent};
use super::artifacts;
use super::child::{self, WorkflowCall};
use super::reply::{self, Expected, Outcome};
use super::{Engine, ExecError, ExecOptions, LockedThread, Observer, StepResult};
use crate::builtin;
use crate::config::BUILTIN;
use crate::home::Env;
use crate::log::{self, LogEvent};
use crate::spawn::protocol::{
    AdapterOutput, AgentCommand, AgentReply, AgentRequest, EdgePromptSource, STEP_OF, WORKFLOW_PREFIX,
    parse_reply,
};
use crate::spawn::{self, Finished, ProcessSpec, SpawnError};
use crate::thread::{
    COMPACT, StartNode, StepLinks, StepNode, ThreadError, called_by, role_played, step_node,
};
use crate::workflow;

/// What is to be played, where.
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) role: String,
    pub(super) prompt: String,
    pub(super) cwd: PathBuf,
    /// Whether an edge's location says where.
    located: bool,
    /// The step that this one is to replace, if it is not to come after the head.
    instead: Option<StepNode>,
    /// Who asked what is answered now, where that is a workflow whose thread waits.
    asked_by: Option<AgentCommand>,
}

impl Invocation {
    /// The invocation that an edge asks for: its location counts from the thread's directory.
    pub(super) fn routed(
        start: &StartNode,
        role: &str,
        route: &Route,
        options: &ExecOptions,
    ) -> Result<Invocation, ExecError> {
        let base = options.cwd.as_deref().unwrap_or(Path::new(&start.cwd));
        let cwd = match route.location.as_deref().map(str::trim) {
            None => base.to_owned(),
            Some("") => return Err(ExecError::EmptyLocation { role: role.to_owned() }),
            Some(location) => base.join(location),
        };
        let located = route.location.is_some();
        Ok(Invocation {
            role: role.to_owned(),
            prompt: route.prompt.clone(),
            cwd,
            located,
            instead: None,
            asked_by: None,
        })
    }

    /// A role once more, in the directory it worked in.
    pub(super) fn again(role: String, prompt: String, cwd: &str, options: &ExecOptions) -> Invocation {
        let cwd = options.cwd.clone().unwrap_or_else(|| PathBuf::from(cwd));
        Invocation { role, prompt, cwd, located: false, instead: None, asked_by: None }
    }

    /// This invocation, which answers what `step` asked: where a workflow did, its thread goes on unless another agent is named.
    pub(super) fn answering(self, store: &Store, step: &StepNode) -> Result<Invocation, ExecError> {
        let waits = called_by(store, &step.detail)?.is_some()
            && store.get(&step.output).map_err(ThreadError::from)?.type_ == builtin::SUSPEND_OUTPUT;
        let reference = step.agent.strip_prefix(WORKFLOW_PREFIX).filter(|_| waits);
        Ok(Invocation { asked_by: reference.map(AgentCommand::workflow), ..self })
    }

    /// This invocation, with its step to take the place of `step`.
    pub(super) fn in_place_of(self, step: &StepNode) -> Invocation {
        Invocation { instead: Some(step.clone()), ..self }
    }

    /// Whether its step is to take another one's place.
    pub(super) fn replaces(&self) -> bool {
        self.instead.is_some()
    }

    /// The step where it belongs, with the failed `attempts` before it. An agent puts its step behind the head and links
    /// what failed; one that replaces the head is stored again behind what was before it and with its attempts, and so
    /// is one of an agent that links nothing.
    pub(super) fn placed(
        &self,
        locked: &LockedThread<'_>,
        played: StepResult,
        attempts: &[Hash],
    ) -> Result<StepResult, ExecError> {
        let own = played.step.previous_attempts.as_deref().unwrap_or_default();
        let before = self.instead.as_ref().and_then(|step| step.previous_attempts.as_deref());
        let mut linked = before.unwrap_or_default().to_vec();
        for attempt in own.iter().chain(attempts) {
            if !linked.contains(attempt) {
                linked.push(*attempt);
            }
        }
        let prev = self.instead.as_ref().map_or(played.step.prev, |instead| instead.prev);
        let content = artifacts::kept(locked, &self.cwd, &played)?;
        let links = StepLinks { content, ..self.links(locked, prev, &played.step.detail)? };
        if self.instead.is_none() && linked == own && links == played.step.links {
            return Ok(played);
        }
        let previous_attempts = Some(linked).filter(|linked| !linked.is_empty());
        let step = StepNode { prev, previous_attempts, links, ..played.step };
        let payload = serde_json::to_value(&step).expect("a step always serialises");
        let hash = locked.engine.store.put(&step.type_(), &payload).map_err(ThreadError::from)?;
        Ok(StepResult { hash, step, ..played })
    }

    /// What a step behind `prev` refers to beside what its agent wrote.
    fn links(
        &self,
        locked: &LockedThread<'_>,
        prev: Option<Hash>,
        detail: &Hash,
    ) -> Result<StepLinks, ExecError> {
        let child_thread = called_by(locked.engine.store, detail)?;
        let Some(prev) = prev else { return Ok(StepLinks { child_thread, ..StepLinks::default() }) };
        let before = match locked.head.step().filter(|_| prev == locked.head.hash) {
            Some(before) => before.clone(),
            None => step_node(locked.engine.store, &prev)?,
        };
        let has_ancestors = locked.start.call.is_some()
            || locked.workflow.type_() == WORKFLOW_2
            || before.type_() == builtin::UWF_STEP;
        let ancestors = if has_ancestors { before.ancestors_after(prev) } else { Vec::new() };
        // A summary of what is before a step is one of what is before the step that takes its place.
        let replaced = self.instead.as_ref().map(|step| &step.links);
        let compact = replaced.and_then(|links| links.compact);
        let compacted_by = replaced.and_then(|links| links.compacted_by);
        Ok(StepLinks { ancestors, child_thread, compact, compacted_by, ..StepLinks::default() })
    }

    /// Runs the agent and checks its step.
    pub(super) fn run(
        &self,
        locked: &LockedThread<'_>,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<(StepResult, Outcome), ExecError> {
        let role = role_played(&locked.workflow, &self.role)?;
        let (agent, reply) = match locked.engine.agent.filter(|_| options.agent.is_none()) {
            Some(agent) => (NAME.to_owned(), self.played_by(locked, agent)?),
            None => self.replied(locked, options, observer)?,
        };
        let expected = Expected { start: locked.head.start_hash(), head: locked.head.hash, role: &self.role };
        reply::check(locked.engine.store, reply, &expected, &role.frontmatter)
            .map_err(|source| ExecError::BadReply { agent, source: Box::new(source) })
    }

    /// What a workflow made of the role.
    fn called(
        &self,
        locked: &LockedThread<'_>,
        workflow: &str,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<AdapterOutput, ExecError> {
        locked.log(LogEvent::StepStarted { role: &self.role, agent: workflow, cwd: &self.cwd });
        let request = self.request(locked);
        let call =
            WorkflowCall { request: &request, workflow, cwd: &self.cwd, instead: self.instead.as_ref() };
        child::call_workflow(locked.engine, &call, options, observer)
    }

    /// The reply of code of this program.
    fn played_by(&self, locked: &LockedThread<'_>, agent: &dyn StepAgent) -> Result<AgentReply, ExecError> {
        self.check()?;
        locked.log(LogEvent::StepStarted { role: &self.role, agent: NAME, cwd: &self.cwd });
        let failed = |source| ExecError::Agent { role: self.role.clone(), source };
        agent
            .play(&self.request(locked), &self.cwd)
            .map(|output| AgentReply::Output(Box::new(output)))
            .map_err(failed)
    }

    /// The reply of a process, and which program that was.
    fn replied(
        &self,
        locked: &LockedThread<'_>,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<(String, AgentReply), ExecError> {
        let engine = locked.engine;
        let command = self.agent(engine, options, &locked.workflow.name, observer)?;
        let command = engine.with_chosen(command, options, observer);
        self.check()?;
        if let Some(workflow) = command.of_workflow() {
            if workflow::resolve(engine.store, workflow, Path::new(&locked.start.cwd)).is_ok() {
                locked.keep(options)?;
            }
            let output = self.called(locked, workflow, options, observer)?;
            return Ok((command.program.clone(), AgentReply::Output(Box::new(output))));
        }
        let file = engine.file_of(&command.program, &[Path::new(&locked.start.cwd), &self.cwd])?;
        // What cannot be started is bad input, which changes nothing.
        if engine.programs.any_file_of(&file).is_some() {
            locked.keep(options)?;
        }
        observer.spawning(&self.role, &command, &self.cwd);
        let agent = log::name(command.called());
        locked.log(LogEvent::StepStarted { role: &self.role, agent, cwd: &self.cwd });
        let begun = engine.store.now();
        let finished = self.spawn(locked, (&command, &file), options, observer)?;
        let duration_ms = engine.store.now().saturating_sub(begun);
        locked.log(LogEvent::AgentExited { role: &self.role, agent, exit: finished.exit(), duration_ms });
        let failed = |source| ExecError::NoReply {
            agent: command.called().to_owned(),
            exit: finished.exit(),
            stderr: finished.last_words(),
            source,
        };
        if !finished.status.success() {
            return Err(failed(None));
        }
        let reply = parse_reply(&finished.stdout).map_err(|error| failed(Some(error)))?;
        Ok((command.called().to_owned(), reply))
    }

    /// What the agent is asked.
    fn request(&self, locked: &LockedThread<'_>) -> AgentRequest {
        AgentRequest {
            thread: locked.thread,
            role: self.role.clone(),
            prompt: Some(self.prompt.clone()),
            prompt_source: EdgePromptSource::Given,
        }
    }

    /// What can be known to fail before anything is started.
    fn check(&self) -> Result<(), ExecError> {
        if self.prompt.trim().is_empty() {
            return Err(ExecError::EmptyPrompt { role: self.role.clone() });
        }
        if self.prompt.contains('\0') {
            return Err(ExecError::PromptWithNul { role: self.role.clone() });
        }
        if self.prompt.len() > PROMPT_MAX {
            return Err(ExecError::PromptTooLong { role: self.role.clone(), bytes: self.prompt.len() });
        }
        if !self.cwd.is_dir() {
            let (role, path) = (self.role.clone(), self.cwd.clone());
            return Err(ExecError::NoDirectory { role, path, located: self.located });
        }
        Ok(())
    }

    fn spawn(
        &self,
        locked: &LockedThread<'_>,
        (command, file): (&AgentCommand, &str),
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<Finished, ExecError> {
        let engine = locked.engine;
        let request = self.request(locked);
        let mut env = engine.agent_env(options);
        env.set(STEP_OF, locked.thread.as_str());
        request.to_env(command.form).into_iter().for_each(|(name, prompt)| env.set(name, prompt));
        let run = ProcessSpec {
            command,
            file,
            args: request.to_args(command.form),
            cwd: &self.cwd,
            env: &env,
            deadline: options.deadline,
            inherit_stderr: options.inherit_stderr,
            stop: engine.stop,
        };
        spawn::run(&run, &mut |bytes| observer.agent_stderr(bytes)).map_err(|error| match error {
            SpawnError::Stopped { signal } => ExecError::Stopped { thread: locked.thread, signal },
            error => error.into(),
        })
    }

    /// Who plays: the one asked for, else who made the step that is replaced, else the configured one, else the builtin
    /// one.
    fn agent(
        &self,
        engine: &Engine<'_>,
        options: &ExecOptions,
        workflow: &str,
        observer: &mut dyn Observer,
    ) -> Result<AgentCommand, ExecError> {
        let mut is_able =
            |command: &&AgentCommand| match command.of_workflow().filter(|_| self.role == COMPACT) {
                None => true,
                Some(reference) => {
                    observer.warn(&format!(
                        "the workflow `{reference}` cannot sum up a thread: the builtin agent takes its place"
                    ));
                    false
                }
            };
        if let Some(command) = &options.agent {
            return Ok(engine.own(Some(command).filter(&mut is_able).unwrap_or(engine.builtin)));
        }
        if let Some(asked_by) = &self.asked_by {
            return Ok(asked_by.clone());
        }
        let configured = match &options.chosen.agent {
            Some(chosen) => Some(chosen),
            None => engine.config.agent_for(workflow, &self.role)?,
        };
        let configured = configured.filter(&mut is_able);
        match &self.instead {
            Some(step) => engine.maker(step, configured, observer),
            None => Ok(engine.own(configured.unwrap_or(engine.builtin))),
        }
    }
}

impl Engine<'_> {
    /// The program that made `step`, as far as its name tells: the one configured for the role if that is it, else an
    /// alias of that name, else the only configured one that is it, else the builtin agent if that is it. Where it is none
    /// of these, the one configured for the role takes its place, and people are told. A name is data that may come with a
    /// thread from elsewhere: it never chooses a program that nobody here has configured.
    ///
    /// # Errors
    /// [`ExecError::UnknownMaker`] when no configured agent can be chosen.
    pub fn maker(
        &self,
        step: &StepNode,
        configured: Option<&AgentCommand>,
        observer: &mut dyn Observer,
    ) -> Result<AgentCommand, ExecError> {
        let name = step.agent.as_str();
        let is_it = |command: &&AgentCommand| {
            command.called() == name || Path::new(&command.program).file_name() == Some(name.as_ref())
        };
        let known = configured
            .filter(is_it)
            .or_else(|| self.config.agents.get(name))
            .or_else(|| only(self.config.agents.values().filter(is_it)))
            .or_else(|| (name == BUILTIN).then_some(self.builtin));
        if let Some(command) = known {
            return Ok(self.own(command));
        }
        let instead = configured.ok_or_else(|| ExecError::UnknownMaker { agent: name.to_owned() })?;
        observer.warn(&format!(
            "the step was made by `{name}`, which is no configured agent: `{}` takes its place; --agent names another",
            instead.called()
        ));
        Ok(self.own(instead))
    }

    /// The command with what was chosen for the thread, where it is that of the builtin agent. Others are told in their
    /// environment, and people of what they are not told.
    pub(crate) fn with_chosen(
        &self,
        mut command: AgentCommand,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> AgentCommand {
        if self.is_builtin(&command) {
            command.args.extend(options.chosen.to_builtin_args());
            return command;
        }
        if let Some(name) = command.of_definition() {
            // A model is that of the agent it was named with: another one's would not know it.
            let named = options.agent.iter().chain(&options.chosen.agent);
            let is_named = named.into_iter().any(|named| named.of_definition() == Some(name));
            let args = options.chosen.to_adapter_args(is_named);
            command.args.extend(args);
        }
        let untold = options.chosen.of_builtin_alone();
        if !untold.is_empty() && command.of_workflow().is_none() {
            observer.warn(&format!(
                "the agent `{}` is not uwf-builtin: {} say nothing to it",
                command.called(),
                untold.join(", ")
            ));
        }
        command
    }

    /// The file that is run for `program`, none that lies in one of the directories `within`.
    ///
    /// # Errors
    /// There is none, or none but such.
    pub fn file_of(&self, program: &str, within: &[&Path]) -> Result<String, ExecError> {
        let file = self.programs.file_of(program, within);
        file.map_err(|error| ExecError::of_lookup(error, self.config))
    }

    fn is_builtin(&self, command: &AgentCommand) -> bool {
        command.program == self.builtin.program
            || Path::new(&command.program).file_name() == Some(BUILTIN.as_ref())
    }

    /// What an agent starts from; where everything is, is made explicit in it.
    pub(crate) fn agent_env(&self, options: &ExecOptions) -> Env {
        let mut env = self.env.clone();
        env.set("UWF_HOME", &self.homes.uwf);
        env.set("OCAS_HOME", &self.homes.ocas);
        options.chosen.to_env().into_iter().for_each(|(name, value)| env.set(name, value));
        env
    }

    /// The bare name of the builtin agent means the program that belongs to this engine.
    pub(crate) fn own(&self, command: &AgentCommand) -> AgentCommand {
        let mut command = command.clone();
        if command.program == BUILTIN {
            command.program.clone_from(&self.builtin.program);
        }
        command
    }
}

/// The one command there is; none where there are others.
fn only<'a>(mut commands: impl Iterator<Item = &'a AgentCommand>) -> Option<&'a AgentCommand> {
    let first = commands.next()?;
    commands.all(|other| other == first).then_some(first)
}
