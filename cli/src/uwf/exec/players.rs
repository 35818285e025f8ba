//! Whether there is an agent for each role, looked at before anything is begun: one that is missing would be met only after
//! the roles before it have played.

use std::path::Path;

use super::ExecContext;
use crate::shell::CliError;
use crate::uwf::adapt::{no_program_named, not_there};
use uwf_agent::external::Definition;
use uwf_engine::config::BUILTIN;
use uwf_engine::exec::ExecError;
use uwf_engine::spawn::SpawnError;
use uwf_engine::spawn::lookup::Programs;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::thread::{self, Status, ThreadId};
use uwf_engine::workflow::{self, Workflow};

impl ExecContext {
    /// Makes sure that every role of a workflow has somebody who can play it in this directory.
    ///
    /// # Errors
    /// The first role that has nobody, with its agent.
    pub(super) fn find_agents(&self, workflow: &Workflow, cwd: &str) -> Result<(), CliError> {
        for role in workflow.roles.keys() {
            self.find_agent(workflow, cwd, role).map_err(|error| of_role(role, error))?;
        }
        Ok(())
    }

    /// The same of a thread that is to make several steps: an idle one, or one that is taken up.
    ///
    /// # Errors
    /// As [`ExecContext::find_agents`], or the thread cannot be read.
    pub(super) fn find_agents_of(&self, thread: &ThreadId, takes_up: bool) -> Result<(), CliError> {
        let head = thread::head(&self.store, thread)?;
        let start = head.start(&self.store)?;
        let workflow = workflow::get(&self.store, &start.workflow)?;
        match head.settled(&self.store, &workflow, self.judge()).status {
            Status::Idle => self.find_agents(&workflow, &start.cwd),
            Status::Suspended { .. } | Status::Ended { .. } if takes_up => {
                self.find_agents(&workflow, &start.cwd)
            }
            _ => Ok(()),
        }
    }

    /// Makes sure that there is a program for the agent that plays `role`.
    ///
    /// # Errors
    /// The configuration names nobody that there is, or there is no program.
    pub(super) fn find_agent(&self, workflow: &Workflow, cwd: &str, role: &str) -> Result<(), CliError> {
        let configured = match &self.options.chosen.agent {
            Some(chosen) => Some(chosen),
            None => self.config.agent_for(&workflow.name, role)?,
        };
        let command = self.options.agent.as_ref().or(configured).unwrap_or(&self.builtin);
        let own = Path::new(cwd);
        if let Some(reference) = command.of_workflow() {
            workflow::resolve(&self.store, reference, own)?;
            return Ok(());
        }
        let dirs = [own, self.options.cwd.as_deref().unwrap_or(own)];
        let program = if command.program == BUILTIN { &self.builtin.program } else { &command.program };
        let file = self.programs.file_of(program, &dirs);
        let file = file.map_err(|error| ExecError::of_lookup(error, &self.config))?;
        if self.programs.any_file_of(&file).is_none() {
            let source = rustix::io::Errno::NOENT.into();
            return Err(ExecError::Spawn(SpawnError::Start { program: file, source }).into());
        }
        match command.of_definition() {
            Some(name) => self.find_defined(name, command, &dirs),
            None => Ok(()),
        }
    }

    /// The same of an agent that a definition describes: it is valid, and its program is there.
    fn find_defined(&self, name: &str, command: &AgentCommand, dirs: &[&Path]) -> Result<(), CliError> {
        let definition = Definition::find(&self.homes.uwf, name)?;
        let program = match definition.program.is_empty() {
            true => command.typed().into_iter().nth(1).ok_or_else(no_program_named)?,
            false => definition.program_of(&self.homes.uwf),
        };
        let programs = Programs::look_up([program.as_str()], self.env.get("PATH"));
        match programs.file_of(&program, dirs) {
            Ok(file) if programs.any_file_of(&file).is_some() => Ok(()),
            Err(inside @ SpawnError::Inside { .. }) => Err(ExecError::Spawn(inside).into()),
            _ => Err(not_there(&definition, &program)),
        }
    }
}

/// Why a role cannot be played.
fn of_role(role: &str, error: CliError) -> CliError {
    let why: Vec<String> = std::iter::once(error.message()).chain(error.causes()).collect();
    let said = CliError::user(format!("role `{role}` cannot be played: {}", why.join(": ")));
    error.hint().map(str::to_owned).into_iter().fold(said, CliError::with_hint)
}
