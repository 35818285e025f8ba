//! What agents need, gathered once for all that a command runs.

use std::path::{Path, PathBuf};

use serde_json::json;
use uwf_agent::Script;
use uwf_store::Store;

use super::watcher::{Telling, Watcher};
use crate::shell::{CliError, SandboxLevel, Session};
use crate::uwf::args::{AgentFlags, How, Rounds};
use crate::uwf::utf8;
use uwf_engine::conditions::Judge;
use uwf_engine::conditions::process::{ConditionProcess, judge};
use uwf_engine::config::{self, BUILTIN, Config};
use uwf_engine::exec::{Engine, ExecError, ExecOptions, Observer};
use uwf_engine::home::{Env, Homes};
use uwf_engine::spawn::StopSignal;
use uwf_engine::spawn::lookup::Programs;
use uwf_engine::spawn::protocol::{ADAPTER, AgentCommand, JOURNAL_SINK, STEP_OF};
use uwf_engine::thread::{self, ThreadError, ThreadId, ThreadOptions};

/// What is kept with a thread of what was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::uwf) enum Keeps {
    /// All of it.
    All,
    /// All but who plays: that is for one step.
    AllButAgent,
    /// Nothing.
    Nothing,
}

/// What agents need, gathered once for all that a command runs.
pub(in crate::uwf) struct ExecContext {
    pub(in crate::uwf) homes: Homes,
    pub(in crate::uwf) store: Store,
    pub(super) config: Config,
    pub(super) env: Env,
    pub(super) builtin: AgentCommand,
    /// This very program, which plays for agents that a definition describes.
    adapter: Option<PathBuf>,
    pub(super) programs: Programs,
    conditions: Option<ConditionProcess>,
    pub(in crate::uwf) options: ExecOptions,
    /// Who plays, as it was typed.
    pub(super) typed_agent: Option<String>,
    /// What was typed of the options that are kept with a thread.
    pub(super) typed: ThreadOptions,
    reset: bool,
    pub(super) telling: Telling,
}

impl ExecContext {
    pub(in crate::uwf) fn open(session: &Session<'_>, how: &How) -> Result<ExecContext, CliError> {
        let homes = session.homes()?;
        let config = config::load(&homes.uwf)?;
        let agent = how.flags.agent.as_deref();
        let agent = agent.map(|text| config.named_agent(text, &session.cwd)).transpose()?;
        let cwd = how.cwd.as_deref().map(|dir| session.directory(Some(dir))).transpose()?;
        let typed = typed(session, &how.flags)?;
        (session.catch_signals)(&session.stop);
        let options = ExecOptions {
            agent,
            cwd,
            deadline: how.flags.timeout,
            chosen: typed.clone(),
            keep: false,
            // A worker pushes each move of the head before anything is built on it.
            apart: session.env.get(JOURNAL_SINK).is_some() && session.env.get(STEP_OF).is_none(),
            // A person's terminal is the agent's own: it shows its progress there.
            inherit_stderr: session.terminals.err && !session.ui.quiet,
        };
        let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
        let builtin = builtin(session.program.as_deref());
        let (store, conditions) = (session.store()?, session.conditions());
        let context = ExecContext {
            store,
            homes,
            config,
            env,
            builtin,
            adapter: session.program.clone(),
            programs: Programs::default(),
            conditions,
            options,
            typed_agent: how.flags.agent.clone(),
            typed,
            reset: how.flags.reset_options,
            telling: Telling::default(),
        };
        Ok(context.with_programs())
    }

    /// This context where a role may play so often.
    pub(super) fn with_rounds(mut self, rounds: Rounds) -> ExecContext {
        self.typed.max_rounds = rounds.max_rounds;
        self
    }

    /// This context, which asks a person what a thread asks, if that is `wanted` and somebody is there.
    pub(super) fn asking(mut self, session: &Session<'_>, wanted: bool) -> ExecContext {
        self.telling.goes_on = wanted;
        self.telling.asks_person = wanted && session.has_person();
        self
    }

    fn with_programs(mut self) -> ExecContext {
        let named = self.options.agent.iter().chain(&self.options.chosen.agent).chain([&self.builtin]);
        let agents = self.config.agents.values().chain(named);
        let programs = Programs::look_up(agents.map(|agent| agent.program.as_str()), self.env.get("PATH"));
        self.programs = programs.with_own(ADAPTER, self.adapter.as_deref());
        self
    }

    /// This context for a thread: with what is kept with it where nothing else was typed.
    pub(in crate::uwf) fn of_thread(
        self,
        session: &mut Session<'_>,
        thread: &ThreadId,
        keeps: Keeps,
    ) -> Result<ExecContext, CliError> {
        self.over(session, |store| thread::options(store, thread), keeps)
    }

    /// This context with what is kept where nothing else was typed.
    pub(in crate::uwf) fn over(
        mut self,
        session: &mut Session<'_>,
        kept: impl FnOnce(&Store) -> Result<ThreadOptions, ThreadError>,
        keeps: Keeps,
    ) -> Result<ExecContext, CliError> {
        let kept = if self.reset { ThreadOptions::default() } else { kept(&self.store)? };
        let mut typed = self.typed.clone();
        typed.agent = self.options.agent.clone().filter(|_| keeps == Keeps::All);
        if typed.agent.as_ref().is_some_and(holds_secret) {
            session
                .ui
                .warn("the command line of the agent seems to hold a secret: it is not kept with the thread");
            typed.agent = None;
        }
        let chosen = typed.over(kept);
        if keeps != Keeps::Nothing {
            chosen.check()?;
        }
        self.options.chosen = chosen;
        self.options.keep = keeps != Keeps::Nothing;
        Ok(self.with_programs())
    }

    /// Whether the exit status is to say only that the command did its work, for programs that take any other for a
    /// failure of the engine: what came of the steps is in the result.
    pub(super) fn tells_no_outcome(&self) -> bool {
        self.env.text("UWF_EXIT") == Some("0")
    }

    /// The engine with what is gathered here.
    pub(in crate::uwf) fn engine<'a>(&'a self, stop: &'a StopSignal) -> Engine<'a> {
        Engine {
            store: &self.store,
            homes: &self.homes,
            config: &self.config,
            env: &self.env,
            builtin: &self.builtin,
            programs: &self.programs,
            stop,
            agent: None,
            conditions: self.judge(),
        }
    }

    /// Who evaluates the conditions of graphs.
    pub(super) fn judge(&self) -> Judge<'_> {
        judge(self.conditions.as_ref())
    }

    /// Whether the person at the terminal was told by the agent itself why it gave no reply: those of ours tell before they fail.
    pub(super) fn was_told(&self, error: &ExecError) -> bool {
        let ExecError::NoReply { agent, exit, .. } = error else { return false };
        let is_own = *agent == self.builtin.program || self.config.defined.contains_key(agent);
        self.options.inherit_stderr && is_own && exit != "exit status 0"
    }

    /// Has an agent run, and passes on what it says meanwhile.
    pub(in crate::uwf) fn run<T>(
        &self,
        session: &mut Session<'_>,
        run: impl FnOnce(&Engine<'_>, &ExecOptions, &mut dyn Observer) -> T,
    ) -> T {
        self.watched(session, run).0
    }

    /// What `run` gives, and why steps that were reported meanwhile could not be printed.
    pub(super) fn watched<T>(
        &self,
        session: &mut Session<'_>,
        run: impl FnOnce(&Engine<'_>, &ExecOptions, &mut dyn Observer) -> T,
    ) -> (T, Option<CliError>) {
        let mut watcher = Watcher::new(&mut session.ui, self.telling);
        let ran = run(&self.engine(&session.stop), &self.options, &mut watcher);
        (ran, watcher.ended())
    }
}

/// What was typed of the options that are kept with a thread, but for who plays.
fn typed(session: &Session<'_>, flags: &AgentFlags) -> Result<ThreadOptions, CliError> {
    let mock = flags.mock.as_ref().map(|script| {
        let path = session.cwd.join(script);
        match path.canonicalize() {
            // The agent would find the same, but only when a thread is there.
            Ok(path) if path.is_file() => Script::load(&path)
                .map_err(|error| CliError::user(error.to_string()))
                .and_then(|_| utf8(path)),
            Ok(path) => Err(CliError::user(format!("the mock script {} is no file", path.display()))),
            Err(error) => {
                let failed =
                    CliError::said(format!("cannot read the mock script {}", script.display()), error);
                Err(failed
                    .with_hint("name the script with --mock FILE; it counts from the current directory"))
            }
        }
    });
    Ok(ThreadOptions {
        agent: None,
        model: flags.model.clone(),
        base_url: flags.base_url.clone(),
        mock: mock.transpose()?,
        mock_seed: flags.mock_seed,
        sandbox: flags.sandbox.map(|level| SandboxLevel::as_str(level).to_owned()),
        max_cost: flags.max_cost,
        max_turns: flags.max_turns,
        allow_network: flags.allow_network,
        fetch_hosts: Some(flags.fetch_host.clone()).filter(|hosts| !hosts.is_empty()),
        reasoning_effort: flags.reasoning_effort.clone(),
        temperature: flags.temperature,
        tools: flags.tools.clone(),
        mcp_servers: Some(flags.mcp.clone()).filter(|servers| !servers.is_empty()),
        no_snapshots: flags.no_snapshots,
        max_rounds: None,
    })
}

/// Whether an agent's arguments hold what sounds like a key.
fn holds_secret(agent: &AgentCommand) -> bool {
    let args = json!(agent.args);
    config::masked(&args, "args") != args
}

/// The agent beside this program, else the one in `PATH`.
pub(in crate::uwf) fn builtin(program: Option<&Path>) -> AgentCommand {
    let beside = program.and_then(Path::parent).map(|dir| dir.join(BUILTIN)).filter(|file| file.is_file());
    let program = beside.and_then(|file| file.into_os_string().into_string().ok());
    AgentCommand::new(program.unwrap_or_else(|| BUILTIN.to_owned()), Vec::new())
}
