//! `uwf cas schema …`: the types of nodes, by hash and by name.

use std::collections::BTreeMap;

use serde_json::json;
use uwf_engine::builtin::{META_SCHEMA, TEXT};
use uwf_store::{Hash, Store, StoreError};
use uwf_workflow::yaml;

use super::{OWN_TYPES, type_named};
use crate::shell::{CliError, OK, Session, render};
use crate::uwf::args::SchemaCommand;

pub(super) fn run(session: &mut Session<'_>, command: SchemaCommand) -> Result<u8, CliError> {
    match command {
        SchemaCommand::List => list(session),
        SchemaCommand::Get { name } => get(session, &name),
    }
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let store = session.store()?;
    let names = names(&store)?;
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    let indexed = store.indexed(&META_SCHEMA)?;
    if !indexed.contains(&TEXT) {
        session
            .ui
            .warn("the index lacks even the types that every store has; `uwf cas reindex` makes it anew");
    }
    for hash in indexed.into_iter().filter(|hash| store.has(hash)) {
        let title = title(&store, &hash);
        let names = names.get(&hash).cloned().unwrap_or_default();
        rows.push([hash.to_string(), title.clone().unwrap_or_default(), names.join(", ")]);
        values.push(json!({"hash": hash, "title": title, "names": names}));
    }
    session.ui.result(&json!(values), || render::table(["HASH", "TITLE", "NAMES"], &rows))?;
    Ok(OK)
}

fn get(session: &mut Session<'_>, name: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    let schema = store.schema_of(&type_named(&store, name)?)?;
    session.ui.result(&schema, || yaml::write(&schema))?;
    Ok(OK)
}

/// What a schema calls itself.
pub(super) fn title(store: &Store, hash: &Hash) -> Option<String> {
    Some(store.schema_of(hash).ok()?.get("title")?.as_str()?.to_owned())
}

/// What a type can be called: the variables that name it, and the engine's own words.
pub(super) fn names(store: &Store) -> Result<BTreeMap<Hash, Vec<String>>, StoreError> {
    let mut names: BTreeMap<Hash, Vec<String>> = BTreeMap::new();
    for variable in store.vars().list("@ocas/")? {
        names.entry(variable.value).or_default().push(variable.name);
    }
    for (name, hash) in OWN_TYPES {
        names.entry(hash).or_default().push(name.to_owned());
    }
    Ok(names)
}
