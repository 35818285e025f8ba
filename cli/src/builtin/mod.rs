//! The command line of `uwf-builtin`: from what was typed to a run, and from its end to stdout, stderr and an exit status.
//!
//! The only place of the crate that prints. stdout carries the result and nothing else; stdin is never read.

mod args;
mod ask;
mod doctor;
mod error;
mod events;
mod host;
mod isolated;
mod observers;
mod progress;
mod replay;
pub(crate) mod resumed;
mod run;
mod signals;
#[cfg(feature = "otel")]
mod traces;

use std::process::ExitCode;

use crate::completion;
use crate::shell::{CliError, OK, ProcessContext, Session, in_process, man_pages};
use clap::CommandFactory;
use uwf_engine::spawn::protocol::EDGE_PROMPT;
use uwf_engine::{AdapterOutput, AgentRequest, ThreadId, thread};

use self::args::{AgentArgs, BuiltinCli, Command, MockServerArgs, ReplyForm};
use self::error::{unknown_command, usage};
pub(crate) use self::events::EventLog;
use self::host::PreparedRun;
pub(crate) use self::host::{Host, is_step_of};
pub(crate) use self::observers::Observers;
pub(crate) use self::replay::{ReplayArgs, replay};
use uwf_agent::journal::{Prompt, WantedRun};
use uwf_agent::mock_server::MockServer;
use uwf_agent::provider::Script;
use uwf_agent::provider::message::ToolDeclaration;
use uwf_agent::role_run::declared_tools;

/// The whole of `uwf-builtin`'s `main`; `commit` is what it was built from.
pub fn main(commit: Option<&'static str>) -> ExitCode {
    in_process(commit, main_with)
}

/// Runs one command line and returns its exit status.
pub fn main_with(process: ProcessContext<'_>) -> u8 {
    if let Some(shell) = completion::asking_shell(&process) {
        return completion::answer(process, &shell, BuiltinCli::command());
    }
    match process.parse::<BuiltinCli>() {
        Ok(cli) => process.command(&cli.global, |session| match &cli.command {
            Some(_) if cli.agent.is_given() => Err(usage(
                "the options of the agent form stand before a command: they come after it".to_owned(),
            )),
            None if cli.agent.mode.is_some() => ask::ask_or_fork(&cli.agent, session),
            None => agent(&cli.agent, session),
            Some(Command::Run(args)) => run::stand_alone(args, session),
            Some(Command::MockServer(args)) => mock_server(args, session),
            Some(Command::MockSchema) => mock_schema(session),
            Some(Command::Replay(args)) => replay(session, args),
            Some(Command::Tools) => tools(session),
            Some(Command::Doctor(args)) => doctor::doctor(args, session),
            Some(Command::Completions(shell)) => completion::completions(session, shell, "uwf-builtin"),
            Some(Command::Man(man)) => man_pages::man(session, man, BuiltinCli::command()),
        }),
        Err(error) => process.usage(&error),
    }
}

/// The agent form: one role of an engine's thread, one line on stdout.
fn agent(args: &AgentArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    let request = request(args, session)?;
    let reply = play(&request, args, session)?;
    let line = match args.reply {
        ReplyForm::Json => reply.to_line(),
        ReplyForm::Hash => format!("{}\n", reply.step_hash),
    };
    session.ui.print(&line)?;
    Ok(OK)
}

/// Plays the visit, goes on with it, or gives its reply again.
fn play(
    request: &AgentRequest,
    args: &AgentArgs,
    session: &mut Session<'_>,
) -> Result<AdapterOutput, CliError> {
    let host = Host::open(session)?.kept_by_worker(session, request)?;
    let usual = resumed::usual_prompt(&host.store, request)?.unwrap_or_default();
    let prompt = request.prompt.as_deref().map_or(Prompt::Usual(&usual), Prompt::This);
    let (thread, role) = (request.thread, Some(request.role.as_str()));
    let head = thread::head(&host.store, &thread)?.hash;
    let here = session.directory(None)?;
    let workspace = host.wanted_in(request, &here);
    let wanted = WantedRun { thread, head, role, prompt, stand_alone: false, workspace, agent: None };
    let resumed = if args.fresh { None } else { resumed::find(&host.journals, &wanted, session)? };
    let begun = resumed.as_ref().map(|resumed| resumed::request(request.thread, resumed));
    let request = begun.as_ref().unwrap_or(request);
    if let Some(resumed) = &resumed
        && let Some(reply) = resumed::reply(&host.store, request, resumed, session)?
    {
        return Ok(reply);
    }
    let settings = host.settings(&args.run, resumed.as_ref(), session)?;
    let events = EventLog::open(args.run.events.as_deref(), &session.cwd, session.clock)?;
    let workspace = host.goes_on_in(resumed.as_ref(), &here)?;
    let stand_alone = resumed.as_ref().is_some_and(|resumed| resumed.header().stand_alone);
    let (workspace, wanted, fresh) = (workspace.as_path(), Some(&wanted), args.fresh);
    let run = PreparedRun { request, workspace, settings, resumed, wanted, fresh, stand_alone, events };
    Ok(host.play(run, session)?.0)
}

/// Which thread and role are meant, in either form.
fn request(args: &AgentArgs, session: &Session<'_>) -> Result<AgentRequest, CliError> {
    if let Some(word) = args.thread.as_ref().filter(|word| word.parse::<ThreadId>().is_err()) {
        return Err(unknown_command(word));
    }
    let missing = |what: &str| usage(format!("no {what} is given"));
    let thread = args.thread.as_ref().or(args.thread_option.as_ref()).ok_or_else(|| missing("thread"))?;
    let thread = thread.parse().map_err(|error| usage(format!("{error}")))?;
    let role = args.role.as_ref().or(args.role_option.as_ref()).ok_or_else(|| missing("role"))?;
    let environment = session.env.text(EDGE_PROMPT).map(str::to_owned);
    Ok(AgentRequest::new(thread, role, args.prompt.clone(), environment))
}

/// Serves a script until a signal ends it; the URL is the one line on stdout.
fn mock_server(args: &MockServerArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    let script = Script::load(&session.cwd.join(&args.script))?.with_seed(args.mock_seed);
    let (server, address) = MockServer::bind(script, args.port, args.by_turn)?;
    session.ui.print(&format!("http://{address}/v1\n"))?;
    let serving = host::runtime()?.block_on(async {
        let mut signals = signals::catch()?;
        let stop = async move {
            signals.next().await;
        };
        server.run(stop).await
    });
    serving.map_err(|error| CliError::said("cannot serve the script", error))?;
    Ok(OK)
}

/// What a mock script may hold, for editors.
fn mock_schema(session: &mut Session<'_>) -> Result<u8, CliError> {
    let schema = Script::schema();
    let text = serde_json::to_string_pretty(&schema).expect("a JSON value always serialises") + "\n";
    session.ui.document(&schema, &text)
}

/// The tools as the model sees them.
fn tools(session: &mut Session<'_>) -> Result<u8, CliError> {
    let specs = declared_tools();
    session.ui.result(&specs, || {
        let names = |spec: &ToolDeclaration| {
            let properties = spec.parameters["properties"].as_object().into_iter().flatten();
            properties.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let tool =
            |spec: &ToolDeclaration| format!("{}({})\n{}\n", spec.name, names(spec), spec.description.trim());
        specs.iter().map(tool).collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
#[path = "help_tests.rs"]
mod tests;
