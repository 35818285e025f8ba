//! The command line of `uwf-eval`: workflows run over and over on the same tasks, judged, and compared.
//!
//! One file a command; what they do is in `uwf_eval`. stdout carries the result and nothing else; stdin is never read.

mod args;
pub(crate) mod configured;
mod diff;
mod document;
mod error;
mod export;
mod init;
mod judge;
mod list;
mod mock;
mod outcome;
mod place;
mod planning;
mod progress;
mod report;
mod run;
mod show;

pub(crate) use self::configured::snapshots;
use std::process::ExitCode;

use clap::CommandFactory;

use self::args::{Command, EvalCli};
use crate::completion;
use crate::shell::{CliError, ProcessContext, Session, in_process, man_pages};

/// The whole of `uwf-eval`'s `main`; `commit` is what it was built from.
pub fn main(commit: Option<&'static str>) -> ExitCode {
    in_process(commit, main_with)
}

/// Runs one command line and returns its exit status.
pub fn main_with(process: ProcessContext<'_>) -> u8 {
    if let Some(shell) = completion::asking_shell(&process) {
        return completion::answer(process, &shell, EvalCli::command());
    }
    match process.parse::<EvalCli>() {
        Ok(cli) => process.command(&cli.global, |session| run(session, cli.command)),
        Err(error) => process.usage(&error),
    }
}

fn run(session: &mut Session<'_>, command: Command) -> Result<u8, CliError> {
    match command {
        Command::Init(what) => init::init(session, &what),
        Command::Run(what) => run::run(session, &what),
        Command::Judge(what) => judge::judge(session, &what),
        Command::List => list::list(session),
        Command::Show(what) => show::show(session, &what),
        Command::Report(what) => report::report(session, &what),
        Command::Diff(what) => diff::diff(session, &what),
        Command::Export(what) => export::export(session, &what),
        Command::Import(what) => export::import(session, &what),
        Command::Completions(shell) => completion::completions(session, &shell, "uwf-eval"),
        Command::Man(man) => man_pages::man(session, &man, EvalCli::command()),
    }
}

#[cfg(test)]
mod tests;
