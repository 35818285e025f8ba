//! `--mode fork` and `--mode ask`: what an engine wants of a step that is over.

use crate::shell::{CliError, OK, Session};
use uwf_store::Hash;

use super::args::{AgentArgs, Mode};
use super::error::usage;
use super::events::EventLog;
use super::host::{Host, RunSetup};
use uwf_agent::ask::{self, StepQuestion};

/// A new session id, or an answer; on stdout, and nothing else.
pub(super) fn ask_or_fork(args: &AgentArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    let text = match args.mode {
        Some(Mode::Ask) => answer(args, session)?,
        _ => ask::fork(&session.homes()?.uwf, args.session.as_deref().unwrap_or_default(), session.clock)?,
    };
    session.ui.print(&format!("{text}\n"))?;
    Ok(OK)
}

fn answer(args: &AgentArgs, session: &mut Session<'_>) -> Result<String, CliError> {
    let text = args.prompt.clone().filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| usage("no question is given: --prompt TEXT".to_owned()))?;
    let detail: Hash = args
        .detail
        .as_deref()
        .unwrap_or_default()
        .parse()
        .map_err(|error: uwf_store::HashError| usage(error.to_string()))?;
    let question = StepQuestion { session: args.session.clone(), text, detail };
    let host = Host::open(session)?;
    let settings = ask::settings(&host.settings(&args.run, None, session)?, &host.store, &detail)?;
    let workspace = session.directory(None)?;
    let events = EventLog::open(args.run.events.as_deref(), &session.cwd, session.clock)?;
    let setup = RunSetup {
        settings: &settings,
        workspace: &workspace,
        stand_alone: true,
        claim: None,
        begun: &|| (),
        events,
    };
    let (answer, _) =
        host.confined(setup, session, async |context, tell| ask::ask(&question, context, tell).await)?;
    Ok(answer?)
}
