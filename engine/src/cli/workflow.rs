//! `uwf workflow …`

use std::path::Path;

use serde_json::json;

use super::args::Workflow;
use super::failure::{Failure, OK};
use super::{Session, render};
use crate::emit;
use crate::schema::builtin;
use crate::workflow::{self, Origin};

pub(super) fn run(session: &mut Session<'_>, command: Workflow) -> Result<u8, Failure> {
    match command {
        Workflow::Add { file } => add(session, &file),
        Workflow::Validate { file } => validate(session, &file),
        Workflow::Show { workflow } => show(session, &workflow),
        Workflow::List => list(session),
    }
}

fn add(session: &mut Session<'_>, file: &Path) -> Result<u8, Failure> {
    let checked = workflow::load(&session.cwd.join(file))?;
    let hash = workflow::add(&session.store()?, &checked)?;
    let name = &checked.name;
    session.ui.result(&json!({"name": name, "hash": hash}), || format!("{name} {hash}\n"))?;
    Ok(OK)
}

fn validate(session: &mut Session<'_>, file: &Path) -> Result<u8, Failure> {
    let checked = workflow::load(&session.cwd.join(file))?;
    let (name, hash) = (&checked.name, workflow::hash_of(&checked));
    let value = json!({"valid": true, "name": name, "hash": hash});
    session.ui.result(&value, || format!("{} is valid: {name} {hash}\n", file.display()))?;
    Ok(OK)
}

fn show(session: &mut Session<'_>, reference: &str) -> Result<u8, Failure> {
    let store = session.store()?;
    let resolved = workflow::resolve(&store, reference, &session.cwd)?;
    let (hash, payload, timestamp) = match &resolved.checked {
        Some(checked) => {
            let hash = workflow::hash_of(checked);
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
    session.ui.result(&value, || format!("# {hash}\n{}", emit::yaml(&payload)))?;
    Ok(OK)
}

fn list(session: &mut Session<'_>) -> Result<u8, Failure> {
    let listed = workflow::list(&session.store()?, &session.cwd)?;
    let hash = |hash: Option<_>| hash.map_or("(local)".to_owned(), |hash: crate::Hash| hash.to_string());
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
