//! `uwf adapt`: a command-line agent that a definition describes, as the agent of any engine. The engine that calls holds the
//! thread's lock and moves its head.

mod confined;

use std::path::{Path, PathBuf};

use uwf_store::Hash;

pub(super) use self::confined::{COMMAND as CONFINED, serve as serve_confined};
use self::confined::{Walls, check_narrowed, walls, watching_git};

use super::args::{Adapt, AskMode};
use crate::builtin::{EventLog, Host, Observers, is_step_of, resumed};
use crate::shell::{CliError, OK, SandboxLevel, Session, USAGE, USER};
use uwf_agent::external::ask::{self, Question};
use uwf_agent::external::{self, Definition, ExternalAgent, VisitContext};
use uwf_agent::journal::{Prompt, WantedRun};
use uwf_agent::resume::ResumedRun;
use uwf_agent::settings::SharedSettings;
use uwf_engine::config::defined::COMMAND;
use uwf_engine::exec::ExecError;
use uwf_engine::home::Env;
use uwf_engine::spawn::SpawnError;
use uwf_engine::spawn::lookup::Programs;
use uwf_engine::spawn::protocol::{ASKED_STEP, EDGE_PROMPT, JOURNAL_SINK};
use uwf_engine::{AdapterOutput, AgentRequest, thread, workflow};

pub(super) fn run(session: &mut Session<'_>, args: &Adapt) -> Result<u8, CliError> {
    let home = session.homes()?.uwf;
    let definition = Definition::find(&home, &args.name)?;
    let own = args.session.as_deref().unwrap_or_default();
    if args.mode == Some(AskMode::Fork) {
        let fork = ask::fork(&definition, &home, (own, asked_step(session)), session.clock)?;
        session.ui.print(&format!("{fork}\n"))?;
        return Ok(OK);
    }
    let env = session.env.without(JOURNAL_SINK).with_dotenv(&home.join(".env"))?;
    let Program { file, passed } = program(session, (&definition, &home), args, &env)?;
    (session.catch_signals)(&session.stop);
    // What the agent leaves behind, in whatever session of its own, becomes a child of this process and ends with the call.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| CliError::said("cannot look after the processes of the agent", error))?;
    let stop = session.stop.clone();
    let shared = shared(session, args, (&definition, &env), &home)?;
    let walls = walls(session, args, (&definition, &file), (&shared, &env))?;
    check_narrowed(&walls, (&shared, args.role.as_deref().unwrap_or_default()), &definition)?;
    let agent = ExternalAgent {
        definition: &definition,
        file: &file,
        passed: &passed,
        model: args.model.as_deref(),
        env: &env,
        stop: &stop,
        confined_by: walls.confined_by.as_ref(),
        ended: &|| {
            uwf_tools::end_descendants();
        },
    };
    let line = match args.mode {
        Some(_) => {
            let here = session.directory(None)?;
            watching_git((&walls, &here), session, |session| answer(session, args, &agent))?
        }
        None => play(session, args, (&agent, &walls, &shared))?.to_line(),
    };
    session.ui.print(&line)?;
    Ok(OK)
}

/// The program of an agent, and what is passed on to it.
struct Program {
    file: String,
    passed: Vec<String>,
}

/// Looks the program up; never one that an earlier step may have put into the directory.
fn program(
    session: &Session<'_>,
    (definition, home): (&Definition, &Path),
    args: &Adapt,
    env: &Env,
) -> Result<Program, CliError> {
    let mut passed = args.passed.clone();
    let named = match definition.program.is_empty() {
        true if passed.is_empty() => return Err(no_program_named()),
        true => passed.remove(0),
        false => definition.program_of(home),
    };
    let programs = Programs::look_up([named.as_str()], env.get("PATH"));
    let own = thread_directory(session, args)?;
    let dirs = [Some(session.cwd.as_path()), own.as_deref()].map(|dir| dir.unwrap_or(&session.cwd));
    match programs.file_of(&named, &dirs) {
        Ok(file) if programs.any_file_of(&file).is_some() => Ok(Program { file, passed }),
        Err(inside @ SpawnError::Inside { .. }) => Err(ExecError::Spawn(inside).into()),
        _ => Err(not_there(definition, &named)),
    }
}

/// The error of an agent whose program is its first argument, without any.
pub(super) fn no_program_named() -> CliError {
    let error = format!("no program is named for the agent `{COMMAND}`");
    CliError::user(error).with_hint("--agent \"command PROGRAM ARGUMENTS\"")
}

/// The error of an agent whose program is missing, or cannot be run.
pub(super) fn not_there(definition: &Definition, program: &str) -> CliError {
    let name = &definition.name;
    if Path::new(program).is_file() {
        let error = format!("the agent `{name}` cannot be run: {program} is not executable");
        return CliError::user(error).with_hint(format!("chmod +x {program}"));
    }
    let error = format!("the agent `{name}` is not there: no program {program}");
    let hint = Some(definition.needs.hint.clone()).filter(|hint| !hint.is_empty());
    CliError::user(error).with_hint(hint.unwrap_or_else(|| "install it, or put it into PATH".to_owned()))
}

/// What of the settings of the builtin agent holds here, too; people are told what of them does not.
fn shared(
    session: &mut Session<'_>,
    args: &Adapt,
    (definition, env): (&Definition, &Env),
    home: &Path,
) -> Result<SharedSettings, CliError> {
    let shared = SharedSettings::load(args.sandbox.map(SandboxLevel::level), env, home)?;
    let (Some(thread), Some(role)) = (&args.thread, &args.role) else { return Ok(shared) };
    let (thread, store) = (session.thread_id(thread)?, session.store()?);
    let start = thread::head(&store, &thread)?.start(&store)?;
    let workflow = workflow::get(&store, &start.workflow)?;
    let shared = shared.for_role(&workflow, role)?;
    let unheard = shared.unheard(role, definition.sandbox.network).join(", ");
    if !unheard.is_empty() {
        let agent = &definition.name;
        session.ui.warn(&format!(
            "what agents/builtin.yaml says of the role `{role}` says nothing to the agent `{agent}`: {unheard}"
        ));
    }
    Ok(shared)
}

/// The step that a question is about, where the engine that asks tells it.
fn asked_step<'a>(session: &'a Session<'_>) -> Option<&'a str> {
    session.env.text(ASKED_STEP).filter(|step| step.parse::<Hash>().is_ok())
}

/// The directory of the thread that is played, which may be another one than that of this visit.
fn thread_directory(session: &Session<'_>, args: &Adapt) -> Result<Option<PathBuf>, CliError> {
    let Some(thread) = &args.thread else { return Ok(None) };
    let (thread, store) = (session.thread_id(thread)?, session.store()?);
    Ok(Some(thread::head(&store, &thread)?.start(&store)?.cwd.into()))
}

/// Plays the visit, goes on with it, or gives its reply again.
fn play(
    session: &mut Session<'_>,
    args: &Adapt,
    (agent, walls, shared): Player<'_>,
) -> Result<AdapterOutput, CliError> {
    let host = Host::open(session)?;
    let thread = session.thread_id(args.thread.as_deref().unwrap_or_default())?;
    let role = args.role.as_deref().unwrap_or_default();
    let environment = session.env.text(EDGE_PROMPT).map(str::to_owned);
    let request = AgentRequest::new(thread, role, args.prompt.clone(), environment);
    let host = host.kept_by_worker(session, &request)?;
    let usual = resumed::usual_prompt(&host.store, &request)?.unwrap_or_default();
    let prompt = request.prompt.as_deref().map_or(Prompt::Usual(&usual), Prompt::This);
    let head = thread::head(&host.store, &thread)?.hash;
    let here = session.directory(None)?;
    let workspace = host.wanted_in(&request, &here);
    let wanted = WantedRun {
        thread,
        head,
        role: Some(role),
        prompt,
        stand_alone: false,
        workspace,
        agent: Some(&agent.definition.name),
    };
    let earlier = if args.fresh { None } else { resumed::find(&host.journals, &wanted, session)? };
    let begun = earlier.as_ref().map(|earlier| resumed::request(thread, earlier));
    let request = begun.as_ref().unwrap_or(&request);
    if let Some(earlier) = &earlier
        && let Some(reply) = resumed::reply(&host.store, request, earlier, session)?
    {
        return Ok(reply);
    }
    let workspace = host.goes_on_in(earlier.as_ref(), &here)?;
    watching_git((walls, &workspace), session, |session| {
        visit(session, args, (&host, (agent, walls, shared)), (request, &workspace, &wanted, earlier))
    })
}

/// Who plays, behind which walls, and what of the settings holds for it.
type Player<'a> = (&'a ExternalAgent<'a>, &'a Walls, &'a SharedSettings);

type Visited<'a> = (&'a AgentRequest, &'a Path, &'a WantedRun<'a>, Option<ResumedRun>);

fn visit(
    session: &mut Session<'_>,
    args: &Adapt,
    (host, (agent, walls, shared)): (&Host, Player<'_>),
    (request, workspace, wanted, earlier): Visited<'_>,
) -> Result<AdapterOutput, CliError> {
    let events = EventLog::open(args.events.as_deref(), &session.cwd, session.clock)?;
    let mut observers = Observers::new(events, session.terminals.err);
    let begun = || host.tidy(&request.thread, Some(wanted).filter(|_| args.fresh));
    let place = VisitContext {
        store: &host.store,
        home: &host.homes.uwf,
        ocas: &host.homes.ocas,
        workspace,
        agent,
        shared,
        sandbox: &walls.enforced,
        refusal: walls.refusal.as_deref(),
        clock: session.clock,
        claim: Some(wanted).filter(|_| !args.fresh),
        begun: &begun,
        sink: host.sink.as_ref(),
    };
    let ui = &mut session.ui;
    let reply = external::play(request, &place, earlier, &mut |notice| observers.tell(&notice, ui));
    reply.map_err(|error| {
        let kept = error.keeps_the_run();
        // The engine that wanted the step says what became of it, and how its thread goes on.
        if let (Some(signal), true) = (error.interrupted_by(), is_step_of(session, request)) {
            return CliError::Untold { exit: signal.exit_code() };
        }
        let error = CliError::from(error);
        if kept { error.with_hint("nothing is lost: the same command goes on with it") } else { error }
    })
}

/// The answer to a question, in a line or more.
fn answer(session: &mut Session<'_>, args: &Adapt, agent: &ExternalAgent<'_>) -> Result<String, CliError> {
    let usage = |error: String| CliError::Said { error: error.into(), hint: None, exit: USAGE };
    let text = args.prompt.as_deref().filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| usage("no question is given: --prompt TEXT".to_owned()))?;
    let detail: Hash = args
        .detail
        .as_deref()
        .unwrap_or_default()
        .parse()
        .map_err(|error: uwf_store::HashError| usage(error.to_string()))?;
    let homes = session.homes()?;
    let store = session.store()?;
    let cwd = session.directory(None)?;
    let step = asked_step(session);
    let question = Question { session: args.session.as_deref(), step, text, detail, cwd: &cwd };
    let answer = ask::ask(agent, (&store, &homes.uwf), &question, session.clock)?;
    Ok(format!("{answer}\n"))
}

impl From<external::DefinitionError> for CliError {
    fn from(error: external::DefinitionError) -> CliError {
        let hint = error.hint();
        CliError::Said { error: Box::new(error), hint, exit: USER }
    }
}

impl From<ask::AskError> for CliError {
    fn from(error: ask::AskError) -> CliError {
        let hint = error.hint().map(str::to_owned);
        CliError::Said { error: Box::new(error), hint, exit: USER }
    }
}
