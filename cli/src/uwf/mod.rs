//! The command line of `uwf`: what was typed becomes one call into the engine, its result becomes text or JSON.
//!
//! [`main`] gathers what there is to know of the process into a [`ProcessContext`] and everything below takes it from there; so
//! does the command line of `uwf-builtin`. One file a noun: each reads its arguments, calls, prints.

mod adapt;
mod agents;
mod args;
mod as_agent;
mod ask;
mod begin;
mod cas;
mod changes;
mod checkout;
mod config;
mod cost;
mod doctor;
mod exec;
mod export;
mod init;
mod legacy;
mod log;
mod logs;
mod mcp;
mod models;
mod prompt;
mod remote;
mod replay;
mod report;
mod serve;
mod setup;
mod step;
mod step_of_thread;
mod sync;
mod thread;
mod time_argument;
mod undo;
mod unknown_command;
mod var;
mod wait;
mod watch;
mod worker;
mod workflow;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::FromArgMatches;

use self::args::{Noun, UwfCli};
use crate::completion;
use crate::shell::fields::Fields;
use crate::shell::{CliError, OK, ProcessContext, Session, USER, in_process, man_pages};
use uwf_engine::conditions::process::{COMMAND, serve};

/// The whole of `uwf`'s `main`; `commit` is what it was built from.
pub fn main(commit: Option<&'static str>) -> ExitCode {
    in_process(commit, main_with)
}

/// Runs one command line and returns its exit status.
pub fn main_with(process: ProcessContext<'_>) -> u8 {
    // Not for people, and so no part of the command line: `uwf` starts itself so to evaluate conditions.
    if matches!(process.args.as_slice(), [_, only] if only == COMMAND) {
        return evaluated(process);
    }
    if process.args.get(1).is_some_and(|word| word == adapt::CONFINED) {
        return adapt::serve_confined(process);
    }
    if let Some(shell) = completion::asking_shell(&process) {
        return completion::answer(process, &shell, args::command());
    }
    let typed = process.matches(args::command()).and_then(|matches| {
        let cli = UwfCli::from_arg_matches(&matches)?;
        Ok((cli, Fields::typed(&matches)))
    });
    match typed {
        Ok((cli, fields)) => process.command(&cli.global, |session| {
            fields.into_iter().for_each(|fields| session.ui.pick(fields));
            run(session, cli.noun)
        }),
        Err(error) => {
            let error = unknown_command::advised(error, &process.args, args::command);
            process.usage(&error)
        }
    }
}

fn evaluated(process: ProcessContext<'_>) -> u8 {
    match serve(process.stdin, process.out) {
        Ok(()) => OK,
        Err(error) => {
            writeln!(process.err, "uwf {COMMAND}: {error}").ok();
            USER
        }
    }
}

fn run(session: &mut Session<'_>, noun: Noun) -> Result<u8, CliError> {
    // Programs read both streams as one: what is for people is not in between.
    session.ui.remarks &= session.terminals.err || session.ui.verbose;
    if legacy::concerns(&noun) {
        legacy::take_over(session);
    }
    match noun {
        Noun::Init(args) => init::init(session, &args),
        Noun::Run(run) => exec::run(session, &run),
        Noun::Workflow(command) => workflow::run(session, command),
        Noun::Thread(command) => thread::run(session, command),
        Noun::Step(command) => step::run(session, command),
        Noun::Worker(args) => worker::worker(session, &args),
        Noun::Watch(args) => thread::watch(session, &args),
        Noun::Logs(args) => logs::logs(session, &args),
        Noun::Wait(args) => wait::wait(session, &args),
        Noun::AsAgent(args) => as_agent::run(session, args),
        Noun::Adapt(args) => adapt::run(session, &args),
        Noun::Agents(args) => agents::run(session, &args),
        Noun::Replay(args) => replay::replay(session, &args),
        Noun::Undo(args) => undo::undo(session, &args),
        Noun::Redo(args) => undo::redo(session, &args),
        Noun::Cas(command) => cas::run(session, command),
        Noun::Var(command) => var::run(session, command),
        Noun::Config(command) => config::run(session, command),
        Noun::Remote(command) => remote::run(session, command),
        Noun::Push(what) => sync::push(session, &what),
        Noun::Fetch(what) => sync::fetch(session, &what),
        Noun::Pull(what) => sync::pull(session, &what),
        Noun::Clone(what) => sync::clone(session, &what),
        Noun::Serve(args) => serve::serve(session, &args),
        Noun::Mcp(args) => mcp::mcp(session, &args),
        Noun::Setup(setup) => setup::run(session, &setup),
        Noun::Models(models) => models::run(session, &models),
        Noun::Cost(what) => cost::cost(session, &what),
        Noun::Log(command) => log::run(session, command),
        Noun::Prompt(prompt) => prompt::run(session, prompt),
        Noun::Skill(skill) => prompt::run(session, skill.into()),
        Noun::Doctor(doctor) => doctor::run(session, &doctor),
        Noun::Completions(shell) => completion::completions(session, &shell, "uwf"),
        Noun::Man(man) => man_pages::man(session, &man, args::command()),
    }
}

/// The name of a directory as nodes hold it: they hold text.
fn utf8(path: PathBuf) -> Result<String, CliError> {
    path.into_os_string()
        .into_string()
        .map_err(|path| CliError::user(format!("the directory's name is not UTF-8: {}", path.display())))
}

#[cfg(test)]
mod tests;
