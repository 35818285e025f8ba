//! `uwf thread exec`, `resume` and `poke`: one step or many, told as they happen.

mod background;
mod complaints;

use std::mem;
use std::ops::ControlFlow;
use std::path::Path;

use uwf_store::Store;

use self::complaints::{Complaints, chatter};
use super::args::{Exec, How};
use crate::shell::{CliError, FAILED_STEP, Format, OK, SUSPENDED, SandboxLevel, Session, Text, Ui, render};
use uwf_engine::conditions::Judge;
use uwf_engine::conditions::process::{ConditionProcess, judge};
use uwf_engine::config::{self, BUILTIN, Config};
use uwf_engine::drive::{DriveError, Halt, drive};
use uwf_engine::exec::{
    Compacted, Engine, ExecError, ExecOptions, Observer, StepReport, hold, poke_once, resume_once,
};
use uwf_engine::home::{Env, Homes};
use uwf_engine::lock::ThreadLock;
use uwf_engine::record;
use uwf_engine::spawn::lookup::Programs;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::spawn::{SpawnError, StopSignal};
use uwf_engine::thread::{self, StartNode, Status, ThreadId};
use uwf_engine::view::ThreadView;
use uwf_engine::workflow::{self, Workflow};

pub(super) fn exec(session: &mut Session<'_>, what: &Exec) -> Result<u8, CliError> {
    let thread = session.thread_id(&what.thread)?;
    let context = ExecContext::open(session, &what.how)?;
    if what.detached {
        // Its stderr is the log, which is all there will be to read.
        session.ui.remarks = true;
        let lock = background::arrive(&context, &thread)?;
        return run(session, &context, &lock, what);
    }
    // Only an idle thread has anything to run; any other is told of at once.
    if what.background && is_idle(&context.store, &thread, context.judge())? {
        return background::launch(session, &context, &thread, what);
    }
    let lock = hold(&context.engine(&session.stop), &thread)?;
    run(session, &context, &lock, what)
}

fn is_idle(store: &Store, thread: &ThreadId, judge: Judge<'_>) -> Result<bool, CliError> {
    let head = thread::head(store, thread)?;
    let workflow = workflow::get(store, &head.start(store)?.workflow)?;
    Ok(head.settled(store, &workflow, judge).status == Status::Idle)
}

/// The steps, one after the other.
fn run(
    session: &mut Session<'_>,
    context: &ExecContext,
    lock: &ThreadLock,
    what: &Exec,
) -> Result<u8, CliError> {
    let limit = if what.until_end { what.max_steps } else { what.count };
    let many = what.until_end || what.count > 1;
    let (ran, unprinted) =
        context.watched(session, |engine, options, observer| drive(engine, lock, options, limit, observer));
    let (reports, error) = match ran {
        Ok(driven) => {
            if many && driven.halt == Halt::Limit {
                session
                    .ui
                    .note(&format!("stopped after {} as asked; the thread is still idle", steps(limit)));
            }
            (driven.steps, unprinted)
        }
        Err(DriveError { steps, source }) => (steps, Some(unread(*source, &session.ui))),
    };
    finish(session, context, (&reports, many), error)
}

pub(super) fn resume(
    session: &mut Session<'_>,
    thread: &str,
    text: Option<&str>,
    how: &How,
) -> Result<u8, CliError> {
    once(session, thread, how, |engine, lock, options, observer| {
        resume_once(engine, lock, text, options, observer)
    })
}

pub(super) fn poke(session: &mut Session<'_>, thread: &str, text: &str, how: &How) -> Result<u8, CliError> {
    once(session, thread, how, |engine, lock, options, observer| {
        poke_once(engine, lock, text, options, observer)
    })
}

/// One step of another kind.
fn once(
    session: &mut Session<'_>,
    thread: &str,
    how: &How,
    step: impl FnOnce(&Engine<'_>, &ThreadLock, &ExecOptions, &mut dyn Observer) -> Result<StepReport, ExecError>,
) -> Result<u8, CliError> {
    let thread = session.thread_id(thread)?;
    let context = ExecContext::open(session, how)?;
    let lock = hold(&context.engine(&session.stop), &thread)?;
    let report = context.step(session, |engine, options, observer| step(engine, &lock, options, observer))?;
    finish(session, &context, (&[report], false), None)
}

fn steps(count: u32) -> String {
    if count == 1 { "1 step".to_owned() } else { format!("{count} steps") }
}

/// Prints what was done, then fails if something did.
pub(super) fn finish(
    session: &mut Session<'_>,
    context: &ExecContext,
    (reports, many): (&[StepReport], bool),
    error: Option<CliError>,
) -> Result<u8, CliError> {
    if session.ui.format != Format::Text {
        let views: Vec<ThreadView> = reports.iter().map(ThreadView::after).collect();
        match views.as_slice() {
            [one] if !many => session.ui.result(one, String::new)?,
            [] if !many => OK,
            all => session.ui.result(all, String::new)?,
        };
    }
    if let Some(error) = error {
        return Err(error);
    }
    Ok(match reports.last() {
        _ if context.tells_no_outcome() => OK,
        Some(StepReport { failure: Some(_), .. }) => FAILED_STEP,
        Some(StepReport { status: Status::Suspended { .. }, .. }) => SUSPENDED,
        _ => OK,
    })
}

/// What agents need, gathered once for all that a command runs.
pub(super) struct ExecContext {
    pub(super) homes: Homes,
    pub(super) store: Store,
    config: Config,
    env: Env,
    builtin: AgentCommand,
    programs: Programs,
    conditions: Option<ConditionProcess>,
    pub(super) options: ExecOptions,
}

impl ExecContext {
    pub(super) fn open(session: &Session<'_>, how: &How) -> Result<ExecContext, CliError> {
        let homes = session.homes()?;
        (session.catch_signals)(&session.stop);
        let config = config::load(&homes.uwf)?;
        let agent = how.agent.as_deref().map(|text| config.named_agent(text, &session.cwd)).transpose()?;
        let cwd = how.cwd.as_deref().map(|dir| session.directory(Some(dir))).transpose()?;
        let options = ExecOptions {
            agent,
            cwd,
            deadline: how.timeout,
            sandbox: how.sandbox.map(SandboxLevel::as_str),
            // A person's terminal is the agent's own: it shows its progress there.
            inherit_stderr: session.terminals.err && !session.ui.quiet,
        };
        let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
        let builtin = builtin(session.program.as_deref());
        let agents = config.agents.values().chain(&options.agent).chain([&builtin]);
        let programs = Programs::look_up(agents.map(|agent| agent.program.as_str()), env.get("PATH"));
        let (store, conditions) = (session.store()?, session.conditions());
        Ok(ExecContext { store, homes, config, env, builtin, programs, conditions, options })
    }

    /// Whether the exit status is to say only that the command did its work, for programs that take any other for a
    /// failure of the engine: what came of the steps is in the result.
    fn tells_no_outcome(&self) -> bool {
        self.env.text("UWF_EXIT") == Some("0")
    }

    /// The engine with what is gathered here.
    pub(super) fn engine<'a>(&'a self, stop: &'a StopSignal) -> Engine<'a> {
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
    fn judge(&self) -> Judge<'_> {
        judge(self.conditions.as_ref())
    }

    /// Makes sure that there is a program for the agent that plays `role` next, if anybody does.
    fn find_agent(&self, start: &StartNode, workflow: &Workflow, role: Option<&str>) -> Result<(), CliError> {
        let configured = match role {
            Some(role) => self.config.agent_for(&workflow.name, role)?,
            None => return Ok(()),
        };
        let command = self.options.agent.as_ref().or(configured).unwrap_or(&self.builtin);
        if let Some(reference) = command.of_workflow() {
            workflow::resolve(&self.store, reference, Path::new(&start.cwd))?;
            return Ok(());
        }
        let program = if command.program == BUILTIN { &self.builtin.program } else { &command.program };
        let own = Path::new(&start.cwd);
        let dirs = [own, self.options.cwd.as_deref().unwrap_or(own)];
        let file = self.programs.file_of(program, &dirs).map_err(ExecError::Spawn)?;
        match self.programs.any_file_of(&file) {
            Some(_) => Ok(()),
            None => {
                let source = rustix::io::Errno::NOENT.into();
                Err(ExecError::Spawn(SpawnError::Start { program: file, source }).into())
            }
        }
    }

    /// Has an agent run, and passes on what it says meanwhile.
    pub(super) fn run<T>(
        &self,
        session: &mut Session<'_>,
        run: impl FnOnce(&Engine<'_>, &ExecOptions, &mut dyn Observer) -> T,
    ) -> T {
        self.watched(session, run).0
    }

    /// What `run` gives, and why steps that were reported meanwhile could not be printed.
    fn watched<T>(
        &self,
        session: &mut Session<'_>,
        run: impl FnOnce(&Engine<'_>, &ExecOptions, &mut dyn Observer) -> T,
    ) -> (T, Option<CliError>) {
        let mut watcher = Watcher { ui: &mut session.ui, complaints: Complaints::default(), unprinted: None };
        let ran = run(&self.engine(&session.stop), &self.options, &mut watcher);
        watcher.ends();
        (ran, watcher.unprinted)
    }

    /// Runs one step and, in text, tells it at once.
    fn step(
        &self,
        session: &mut Session<'_>,
        run: impl FnOnce(&Engine<'_>, &ExecOptions, &mut dyn Observer) -> Result<StepReport, ExecError>,
    ) -> Result<StepReport, CliError> {
        let report = self.attempt(session, run)?;
        print_step(&mut session.ui, &report)?;
        Ok(report)
    }

    /// Has an agent run, and gives what came of it.
    pub(super) fn attempt<T>(
        &self,
        session: &mut Session<'_>,
        run: impl FnOnce(&Engine<'_>, &ExecOptions, &mut dyn Observer) -> Result<T, ExecError>,
    ) -> Result<T, CliError> {
        self.run(session, run).map_err(|error| unread(error, &session.ui))
    }
}

/// The error without what people have read by now.
fn unread(mut error: ExecError, ui: &Ui<'_>) -> CliError {
    if let ExecError::NoReply { stderr, .. } = &mut error {
        leave_unread(stderr, ui);
    }
    error.into()
}

/// Leaves of an agent's last words what was not passed on already.
pub(super) fn leave_unread(last_words: &mut String, ui: &Ui<'_>) {
    match (ui.is_quiet(), ui.remarks) {
        (true, _) => {}
        (false, true) => last_words.clear(),
        (false, false) => *last_words = chatter(last_words),
    }
}

/// The agent beside this program, else the one in `PATH`.
pub(super) fn builtin(program: Option<&Path>) -> AgentCommand {
    let beside = program.and_then(Path::parent).map(|dir| dir.join(BUILTIN)).filter(|file| file.is_file());
    let program = beside.and_then(|file| file.into_os_string().into_string().ok());
    AgentCommand::new(program.unwrap_or_else(|| BUILTIN.to_owned()), Vec::new())
}

/// Passes on what happens: all of it to people, of the agent's words only complaints where nobody reads along.
struct Watcher<'a, 'b> {
    ui: &'a mut Ui<'b>,
    complaints: Complaints,
    /// Why a step could not be told of.
    unprinted: Option<CliError>,
}

impl Watcher<'_, '_> {
    /// The agent has said all that it will say.
    fn ends(&mut self) {
        let rest = mem::take(&mut self.complaints).rest();
        self.ui.pass(&rest);
    }
}

impl Observer for Watcher<'_, '_> {
    fn spawning(&mut self, role: &str, agent: &AgentCommand, cwd: &Path) {
        let words: Vec<&str> =
            std::iter::once(agent.program.as_str()).chain(agent.args.iter().map(String::as_str)).collect();
        self.ui.detail(&format!("{role}: {} in {}", words.join(" "), cwd.display()));
    }

    fn warn(&mut self, text: &str) {
        self.ui.warn(text);
    }

    fn agent_stderr(&mut self, bytes: &[u8]) {
        if self.ui.remarks {
            self.ui.pass(bytes);
        } else {
            let complaints = self.complaints.of(bytes);
            self.ui.pass(&complaints);
        }
    }

    fn stepped(&mut self, report: &StepReport) -> ControlFlow<()> {
        self.ends();
        self.unprinted = print_step(self.ui, report).err();
        if self.unprinted.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// In text, tells a step at once; other formats have all of them at the end.
pub(super) fn print_step(ui: &mut Ui<'_>, report: &StepReport) -> Result<(), CliError> {
    if ui.format == Format::Text { ui.print_text(step_text(report)) } else { Ok(()) }
}

/// A step and where it led to, in one or two lines.
fn step_text(report: &StepReport) -> Text {
    let played = report.played.as_ref().map(|played| {
        let status = record::status(&played.output).unwrap_or("?");
        let took = render::duration(played.step.duration_ms());
        format!("{} → {status}  {took}  {}\n", played.step.role, played.hash)
    });
    let (status, next) = match (&report.failure, &report.status) {
        (Some(error), _) => {
            let hint = ThreadView::after(report).hint.unwrap_or_default();
            ("failed", format!(": {error}\n{hint}\n"))
        }
        (None, Status::Suspended { role, message }) => {
            let thread = report.thread;
            let answer = format!("answer with: uwf thread resume {thread} -p TEXT");
            ("suspended", format!(": {role} asks: {message}\n{answer}\n"))
        }
        (None, status @ (Status::Ended { .. } | Status::Cancelled { .. })) => {
            (status.as_str(), "\n".to_owned())
        }
        (None, Status::Idle) => match (&report.current_role, &report.obstacle) {
            (Some(role), _) => ("", format!("next: {role}\n")),
            (None, Some(obstacle)) => ("", format!("next: nobody: {obstacle}\n")),
            (None, None) => ("", String::new()),
        },
    };
    let compacted = report.compacted.as_ref().map(summed_up).unwrap_or_default();
    Text::from(compacted).then(played.unwrap_or_default()).then_status(status).then(next)
}

/// A summary that was made, in a line.
pub(super) fn summed_up(compacted: &Compacted) -> String {
    let Compacted { summary, step, compacted_by, .. } = compacted;
    format!("summed up: {summary}, before the step {step}; made by {compacted_by}\n")
}
