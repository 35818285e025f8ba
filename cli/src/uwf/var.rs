//! `uwf var …`: names for nodes, as they stand in the store.

use std::collections::BTreeMap;

use uwf_store::{Expect, Hash, Store, StoreError, VarChange, Variable, suggest};

use super::args::VarCommand;
use crate::shell::{CliError, Column, Session, USAGE, render};
use uwf_engine::view::{VariableRemoved, VariableValue};
use uwf_engine::workflow::REGISTRY;
use uwf_engine::{lost, thread, workflow};

/// Names that the engine keeps in step with other things.
const KEPT: [&str; 8] = [
    thread::HEADS,
    thread::CHILDREN,
    thread::FAILED,
    thread::PARENTS,
    thread::OPTIONS,
    thread::PAUSES,
    lost::REMOVED,
    "@ocas/",
];

pub(super) fn run(session: &mut Session<'_>, command: VarCommand) -> Result<u8, CliError> {
    match command {
        VarCommand::Get { name, schema } => get(session, &name, schema.as_deref()),
        VarCommand::Set { name, hash, tags, force } => set(session, &name, &hash, &tags, force),
        VarCommand::Rm { name, force } => remove(session, &name, force),
        VarCommand::List { prefix } => list(session, prefix.as_deref().unwrap_or_default()),
        VarCommand::History { name } => history(session, &name),
    }
}

fn get(session: &mut Session<'_>, name: &str, schema: Option<&str>) -> Result<u8, CliError> {
    let store = session.store()?;
    let rows = rows(&store, name)?;
    let wanted = schema.map(|schema| session.node_hash(schema)).transpose()?;
    let found = rows.iter().find(|row| wanted.is_none_or(|schema| row.schema == schema));
    let found = found.ok_or_else(|| {
        let schemas: Vec<String> = rows.iter().map(|row| row.schema.to_string()).collect();
        CliError::user(format!("variable {name} has no row of that schema"))
            .with_hint(format!("there is: {}", schemas.join(", ")))
    })?;
    let exit = session.ui.result(found, || format!("{}\n", found.value))?;
    if rows.len() > 1 && schema.is_none() {
        session.ui.note(&format!(
            "{name} has {} rows, one a schema; this is the newest, `uwf var list {name}` shows all",
            rows.len()
        ));
    }
    Ok(exit)
}

fn set(
    session: &mut Session<'_>,
    name: &str,
    value: &str,
    tags: &[String],
    force: bool,
) -> Result<u8, CliError> {
    let value = session.node_hash(value)?;
    let tags = tags.iter().map(|text| tag(text)).collect::<Result<BTreeMap<_, _>, CliError>>()?;
    if !force {
        refuse_kept(name, "set by hand it may no longer fit what it belongs to")?;
    }
    let store = session.store()?;
    if !force && name.starts_with(REGISTRY) {
        workflow::get(&store, &value)?;
    }
    let schema = store.get(&value)?.type_;
    let before = match store.vars().get(name) {
        // What is damaged can be mended only so.
        Err(StoreError::DamagedVariable { .. }) if force => store.vars().salvaged_tags(name)?,
        before => Some(before?.map(|before| before.tags).unwrap_or_default()),
    };
    let lost = before.is_none() && tags.is_empty();
    let tags = if tags.is_empty() { before.unwrap_or_default() } else { tags };
    let name = name.to_owned();
    store.vars().apply(&[VarChange::Set { name: name.clone(), schema, value, tags, expect: Expect::Any }])?;
    if lost {
        let idle = if name.starts_with(thread::HEADS) { ": the thread is idle now" } else { "" };
        session.ui.warn(&format!("the tags of {name} could not be read and are gone{idle}"));
    }
    let row = store.vars().get(&name)?.ok_or_else(|| unknown(&store, &name))?;
    session.ui.result(&row, || format!("{name} {value}\n"))
}

/// What the engine keeps in step with other things is not changed by hand.
fn refuse_kept(name: &str, why: &str) -> Result<(), CliError> {
    match KEPT.iter().any(|kept| name.starts_with(kept)) {
        true => Err(CliError::user(format!("variable {name} is kept by the engine"))
            .with_hint(format!("{why}; --force does it all the same"))),
        false => Ok(()),
    }
}

fn remove(session: &mut Session<'_>, name: &str, force: bool) -> Result<u8, CliError> {
    if !force {
        refuse_kept(name, "`uwf thread rm` gives up a thread with all that belongs to it")?;
    }
    let store = session.store()?;
    let values: Vec<Hash> = rows(&store, name)?.into_iter().map(|row| row.value).collect();
    store.vars().apply(&[VarChange::Remove { name: name.to_owned() }])?;
    let removed = VariableRemoved { name: name.to_owned(), values, removed: true };
    session.ui.result(&removed, || format!("{name} is gone; it stood for {}\n", removed.values[0]))
}

fn tag(text: &str) -> Result<(String, String), CliError> {
    let split = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = split.ok_or_else(|| CliError::Said {
        error: format!("`{text}` is not KEY=VALUE").into(),
        hint: None,
        exit: USAGE,
    })?;
    Ok((key.to_owned(), value.to_owned()))
}

fn list(session: &mut Session<'_>, prefix: &str) -> Result<u8, CliError> {
    let rows = session.store()?.vars().rows(prefix)?;
    session.ui.result(&rows, || {
        let cells: Vec<_> = rows.iter().map(cells).collect();
        render::table(
            [
                Column::new("NAME"),
                Column::new("VALUE"),
                Column::new("SCHEMA").rank(5),
                Column::new("UPDATED (UTC)").rank(4),
                Column::new("TAGS").rank(3).cut(20),
            ],
            &cells,
        )
    })
}

fn cells(row: &Variable) -> [String; 5] {
    let tags = row.tags.iter().map(|(key, value)| format!("{key}={}", render::first_line(value, 40)));
    let notes: Vec<String> = tags.chain(row.labels.iter().map(|label| format!("#{label}"))).collect();
    let (value, schema) = (row.value.to_string(), row.schema.to_string());
    [row.name.clone(), value, schema, render::time(row.updated), notes.join(" ")]
}

fn history(session: &mut Session<'_>, name: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    let history = store.vars().history(name)?.into_iter();
    let history: Vec<_> = history.map(|(value, set_at)| VariableValue { value, set_at }).collect();
    if history.is_empty() {
        rows(&store, name)?;
    }
    session.ui.result(&history, || {
        let cells = history.iter().map(|row| [row.value.to_string(), render::time(row.set_at)]);
        render::table(["VALUE", "SET (UTC)"], &cells.collect::<Vec<_>>())
    })
}

/// The rows of just this name, the newest first; at least one.
fn rows(store: &Store, name: &str) -> Result<Vec<Variable>, CliError> {
    let mut rows = store.vars().rows(name)?;
    rows.retain(|row| row.name == name);
    if rows.is_empty() { Err(unknown(store, name)) } else { Ok(rows) }
}

fn unknown(store: &Store, name: &str) -> CliError {
    let names: Vec<String> =
        store.vars().list("").unwrap_or_default().into_iter().map(|variable| variable.name).collect();
    let error = CliError::user(format!("no such variable: {name}"));
    match suggest::one(name, &names) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error.with_hint("`uwf var list` shows all"),
    }
}
