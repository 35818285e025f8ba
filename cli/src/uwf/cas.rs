//! `uwf cas …`: the store as it is, for people who look under the hood and for programs that write their own nodes.

mod schema;
mod upkeep;
mod values;

use uwf_engine::builtin;
use uwf_store::{Hash, Store, StoreError};

use super::args::CasCommand;
use crate::shell::{CliError, OK, Session, USER};

/// The engine's own types by name; those of the store have variables.
const OWN_TYPES: [(&str, Hash); 12] = [
    ("Workflow", builtin::WORKFLOW),
    ("StartNode", builtin::START_NODE),
    ("StepNode", builtin::STEP_NODE),
    ("ErrorOutput", builtin::ERROR_OUTPUT),
    ("SuspendOutput", builtin::SUSPEND_OUTPUT),
    ("uwf-turn", builtin::UWF_TURN),
    ("uwf-detail", builtin::UWF_DETAIL),
    ("uwf-workflow-2", builtin::WORKFLOW_2),
    ("uwf-start", builtin::UWF_START),
    ("uwf-step", builtin::UWF_STEP),
    ("uwf-content", builtin::UWF_CONTENT),
    ("text", builtin::TEXT),
];

pub(super) fn run(session: &mut Session<'_>, command: CasCommand) -> Result<u8, CliError> {
    match command {
        CasCommand::Get { hash } => get(session, &hash),
        CasCommand::Cat { hash } => cat(session, &hash),
        CasCommand::Put(what) => values::put(session, &what),
        CasCommand::Has { hash } => has(session, &hash),
        CasCommand::Hash(what) => values::hash(session, &what),
        CasCommand::Refs { hash } => refs(session, &hash),
        CasCommand::Walk { hash } => walk(session, &hash),
        CasCommand::Verify => upkeep::verify(session),
        CasCommand::Gc { dry_run, force } => upkeep::gc(session, dry_run, force),
        CasCommand::Reindex => upkeep::reindex(session),
        CasCommand::Stats => upkeep::stats(session),
        CasCommand::Schema(command) => schema::run(session, command),
    }
}

fn get(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let hash = session.node_hash(text)?;
    let node = session.store()?.get(&hash)?;
    session.ui.yaml(&node)
}

fn cat(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    let mut content = store.blob(&session.node_hash(text)?)?;
    loop {
        match content.read_next()? {
            [] => return Ok(OK),
            bytes => session.ui.print_bytes(bytes)?,
        }
    }
}

fn has(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let hash = session.node_hash(text)?;
    let there = session.store()?.has(&hash);
    session.ui.print(&format!("{there}\n"))?;
    Ok(if there { OK } else { USER })
}

fn refs(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let hash = session.node_hash(text)?;
    let refs = session.store()?.refs(&hash)?;
    session.ui.result(&refs, || lines(&refs))
}

fn walk(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let hash = session.node_hash(text)?;
    let walk = session.store()?.walk(&hash)?;
    session.ui.result(&walk.nodes, || lines(&walk.nodes))?;
    for (missing, referrer) in &walk.missing {
        session.ui.warn(&format!("{missing} is missing; {referrer} refers to it"));
    }
    for (corrupt, referrer, why) in &walk.corrupt {
        session.ui.warn(&format!("{corrupt} is corrupt: {why}; {referrer} refers to it"));
    }
    Ok(if walk.missing.is_empty() && walk.corrupt.is_empty() { OK } else { USER })
}

/// A hash, a variable, the last word of an `@ocas/` variable, or one of the engine's own types.
fn type_named(store: &Store, name: &str) -> Result<Hash, CliError> {
    if let Ok(hash) = name.parse() {
        return Ok(hash);
    }
    let own = OWN_TYPES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, hash)| *hash);
    let variable = if name.starts_with('@') { name.to_owned() } else { format!("@ocas/{name}") };
    let found = match own {
        Some(hash) => Some(hash),
        None => match store.vars().get(&variable) {
            Err(StoreError::BadName { .. }) => None,
            found => found?.map(|variable| variable.value),
        },
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = OWN_TYPES.iter().map(|(own, _)| *own).collect();
        CliError::user(format!("no such type: {name}")).with_hint(format!(
            "a hash, a variable, a word of @ocas/… (string, schema), or {}",
            names.join(", ")
        ))
    })
}

fn lines(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| format!("{hash}\n")).collect()
}

/// One hash a line whatever the format is: that is what shell scripts read.
fn print_lines(session: &mut Session<'_>, hashes: &[Hash]) -> Result<u8, CliError> {
    session.ui.print(&lines(hashes))?;
    Ok(OK)
}
