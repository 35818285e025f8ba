//! `uwf cas schema …`: the types of nodes, by hash and by name.

use std::collections::BTreeMap;

use uwf_engine::builtin::{META_SCHEMA, TEXT};
use uwf_store::{Hash, Store, StoreError};

use super::{OWN_TYPES, type_named};
use crate::shell::{CliError, Session, render};
use crate::uwf::args::SchemaCommand;
use uwf_engine::view::SchemaRow;

pub(super) fn run(session: &mut Session<'_>, command: SchemaCommand) -> Result<u8, CliError> {
    match command {
        SchemaCommand::List => list(session),
        SchemaCommand::Get { name } => get(session, &name),
    }
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let store = session.store()?;
    let names = names(&store)?;
    let indexed = store.indexed(&META_SCHEMA)?;
    if !indexed.contains(&TEXT) {
        session
            .ui
            .warn("the index lacks even the types that every store has; `uwf cas reindex` makes it anew");
    }
    let row = |hash| {
        let names = names.get(&hash).cloned().unwrap_or_default();
        SchemaRow { hash, title: title(&store, &hash), names }
    };
    let rows: Vec<SchemaRow> = indexed.into_iter().filter(|hash| store.has(hash)).map(row).collect();
    session.ui.result(&rows, || {
        let cells = |row: &SchemaRow| {
            [row.hash.to_string(), row.title.clone().unwrap_or_default(), row.names.join(", ")]
        };
        render::table(["HASH", "TITLE", "NAMES"], &rows.iter().map(cells).collect::<Vec<_>>())
    })
}

fn get(session: &mut Session<'_>, name: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    let schema = store.schema_of(&type_named(&store, name)?)?;
    session.ui.yaml(&schema)
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
