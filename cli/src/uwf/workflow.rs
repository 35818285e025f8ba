//! `uwf workflow …`

mod graph;

use std::path::Path;

use serde_json::{Value, json};
use uwf_store::schema::builtin;
use uwf_workflow::{json_schema, yaml};

use super::args::Workflow;
use super::hash;
use crate::shell::{
    Failure, OK, Session,
    input::{is_stdin, name_of},
    render,
};
use uwf_engine::workflow::{self, Back, CheckedWorkflow, Origin, WorkflowError};

pub(super) fn run(session: &mut Session<'_>, command: Workflow) -> Result<u8, Failure> {
    match command {
        Workflow::Add { file } => add(session, &file),
        Workflow::Validate { file } => validate(session, &file),
        Workflow::Show { workflow } => show(session, &workflow),
        Workflow::List => list(session),
        Workflow::History { name } => history(session, &name),
        Workflow::Rollback { name, to } => rollback(session, &name, &to),
        Workflow::Schema => schema(session),
        Workflow::Graph { workflow, language, thread } => {
            graph::run(session, workflow.as_deref(), language, thread.as_deref())
        }
    }
}

/// A workflow file, or stdin for `-`; then what it includes lies in the current directory.
fn checked(session: &mut Session<'_>, file: &Path) -> Result<CheckedWorkflow, WorkflowError> {
    let checked = match is_stdin(file) {
        true => workflow::read(session.stdin, Path::new(&name_of(file)), &session.cwd),
        false => workflow::load(&session.cwd.join(file)),
    }?;
    session.ui.warn_of(&checked);
    Ok(checked)
}

fn add(session: &mut Session<'_>, file: &Path) -> Result<u8, Failure> {
    let checked = checked(session, file)?;
    let hash = workflow::add(&session.store()?, &checked)?;
    let name = &checked.name;
    session.ui.result(&json!({"name": name, "hash": hash}), || format!("{name} {hash}\n"))?;
    Ok(OK)
}

fn validate(session: &mut Session<'_>, file: &Path) -> Result<u8, Failure> {
    let checked = checked(session, file)?;
    let (name, hash) = (&checked.name, checked.hash());
    let value = json!({"valid": true, "name": name, "hash": hash});
    session.ui.result(&value, || format!("{} is valid: {name} {hash}\n", name_of(file)))?;
    Ok(OK)
}

fn show(session: &mut Session<'_>, reference: &str) -> Result<u8, Failure> {
    let store = session.store()?;
    let resolved = workflow::resolve(&store, reference, &session.cwd)?;
    let (hash, payload, timestamp) = match &resolved.checked {
        Some(checked) => {
            let hash = checked.hash();
            (hash, json!(checked.to_stored()), store.find(&hash)?.map(|node| node.timestamp))
        }
        None => {
            let hash = resolved.hash.expect("what is no file was found by its hash");
            let node = store.get(&hash)?;
            (hash, node.payload, Some(node.timestamp))
        }
    };
    let value = json!({
        "hash": hash, "name": resolved.name, "type": builtin::WORKFLOW, "payload": payload, "timestamp": timestamp,
    });
    session.ui.result(&value, || format!("# {hash}\n{}", yaml::write(&payload)))?;
    Ok(OK)
}

fn list(session: &mut Session<'_>) -> Result<u8, Failure> {
    let listed = workflow::list(&session.store()?, &session.cwd)?;
    let hash = |hash: Option<_>| hash.map_or("(local)".to_owned(), |hash: uwf_store::Hash| hash.to_string());
    let origin = |origin: &Origin| origin.as_str().to_owned();
    let value = listed
        .iter()
        .map(|row| json!({"name": row.name, "hash": hash(row.hash), "origin": origin(&row.origin)}))
        .collect();
    let rows: Vec<_> =
        listed.iter().map(|row| [row.name.clone(), hash(row.hash), origin(&row.origin)]).collect();
    session.ui.result(&value, || render::table(["NAME", "HASH", "ORIGIN"], &rows))?;
    Ok(OK)
}

fn history(session: &mut Session<'_>, name: &str) -> Result<u8, Failure> {
    let store = session.store()?;
    let past = workflow::history(&store, name)?;
    // One that another program has collected has no description any more.
    let about = |hash| workflow::get(&store, hash).map(|workflow| workflow.description).unwrap_or_default();
    let entries: Vec<_> = past.iter().enumerate().map(|(n, past)| (n, past, about(&past.hash))).collect();
    let value: Value = entries
        .iter()
        .map(
            |(n, past, about)| json!({"n": n, "hash": past.hash, "setAt": past.set_at, "description": about}),
        )
        .collect();
    session.ui.result(&value, || {
        let cells = entries.iter().map(|(n, past, about)| {
            let about = render::first_line(about, 60);
            [n.to_string(), past.hash.to_string(), render::time(past.set_at), about]
        });
        render::table(["N", "HASH", "SET (UTC)", "DESCRIPTION"], &cells.collect::<Vec<_>>())
    })?;
    Ok(OK)
}

fn rollback(session: &mut Session<'_>, name: &str, to: &str) -> Result<u8, Failure> {
    let back = match to.parse() {
        // A hash may be all digits, but then it has thirteen of them.
        Ok(steps) if to.len() < 13 => Back::Steps(steps),
        _ => Back::To(hash(to)?),
    };
    let (hash, before) = workflow::rollback(&session.store()?, name, back)?;
    let value = json!({"name": name, "hash": hash, "before": before});
    session.ui.result(&value, || format!("{name} {hash} (was {before})\n"))?;
    Ok(OK)
}

fn schema(session: &mut Session<'_>) -> Result<u8, Failure> {
    let schema = json_schema::schema();
    let text = serde_json::to_string_pretty(&schema).expect("a JSON value always serialises") + "\n";
    session.ui.document(|| schema, &text)?;
    Ok(OK)
}
