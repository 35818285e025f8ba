//! `uwf mcp`: registered workflows as tools, for programs that speak the Model Context Protocol.
//!
//! What a client asks for is done by this very program, started again (`runs`): a run is the ordinary one in the background,
//! and outlives the server. `tools` says which tools there are, `server` speaks the protocol. stdin and stdout belong to
//! that: nothing else is read or printed.

mod runs;
mod server;
mod tools;

use std::path::PathBuf;

use super::args::{self, Mcp};
use crate::shell::{CliError, OK, Session};
use runs::Runs;

/// How many commands run at a time.
const AT_A_TIME: usize = 8;

pub(super) fn mcp(session: &mut Session<'_>, args: &Mcp) -> Result<u8, CliError> {
    let runs = runs(session, args)?;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(AT_A_TIME).build();
    let runtime = runtime.map_err(|error| CliError::said("cannot serve", error))?;
    let served = runtime.block_on(server::serve(runs));
    // Whoever waits for a run just now is not waited for: the run goes on.
    runtime.shutdown_background();
    served.map_err(|error| {
        CliError::user(format!("no MCP client on stdin: {error}")).with_hint(
            "Claude Code, codex or an editor starts this command: `claude mcp add uwf -- uwf mcp`; to try it by hand, `npx \
             @modelcontextprotocol/inspector uwf mcp`",
        )
    })?;
    Ok(OK)
}

/// What is asked for, checked before anybody asks.
fn runs(session: &Session<'_>, args: &Mcp) -> Result<Runs, CliError> {
    let program =
        session.program.clone().ok_or_else(|| CliError::user("cannot tell which program this is"))?;
    let given = if args.root.is_empty() { &[PathBuf::from(".")][..] } else { &args.root };
    let root = |dir: &PathBuf| {
        let path = session.cwd.join(dir);
        let path = path
            .canonicalize()
            .map_err(|error| CliError::said(format!("cannot use {}", dir.display()), error))?;
        if path.is_dir() {
            Ok(path)
        } else {
            Err(CliError::user(format!("{} is no directory", dir.display())))
        }
    };
    let roots = given.iter().map(root).collect::<Result<Vec<_>, _>>()?;
    let store = session.store()?;
    let known: Vec<String> = tools::registered(&store)?.into_iter().map(|workflow| workflow.name).collect();
    if let Some(name) = args.workflow.iter().find(|name| !known.contains(name)) {
        let known = uwf_store::suggest::sorted(name, &known).join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        return Err(CliError::user(format!("there is no registered workflow {name}; there are {known}"))
            .with_hint("`uwf workflow add FILE` registers one"));
    }
    check_options(&args.run)?;
    Ok(Runs {
        program,
        env: session.env.clone(),
        cwd: session.cwd.clone(),
        store,
        roots,
        only: (!args.workflow.is_empty()).then(|| args.workflow.clone()),
        options: args.run.clone(),
    })
}

/// Options that `uwf run` does not take are told now, and not to a model later.
fn check_options(options: &[String]) -> Result<(), CliError> {
    let words = ["uwf", "run", "workflow", "--prompt=-", "--background"].into_iter().map(str::to_owned);
    match args::command().try_get_matches_from(words.chain(options.iter().cloned())) {
        Ok(_) => Ok(()),
        Err(error) => {
            let said = error.to_string();
            let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Err(CliError::user(format!("`uwf run` does not take these options: {first}"))
                .with_hint("what stands behind `--` is given to `uwf run`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_runs_are_checked_before_anybody_asks() {
        let words = |options: &[&str]| options.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(check_options(&words(&[])).is_ok());
        assert!(check_options(&words(&["--max-cost", "2", "--sandbox", "best-effort"])).is_ok());
        for wrong in [&["--max-cots", "2"][..], &["--max-cost"], &["more"], &["--prompt", "x"]] {
            let error = check_options(&words(wrong)).unwrap_err().message();
            assert!(error.starts_with("`uwf run` does not take these options: "), "{error}");
        }
    }
}
