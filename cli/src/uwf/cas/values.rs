//! `uwf cas put` and `uwf cas hash`: values from a file or stdin, one or one a line.
//!
//! Lines are read one at a time, so that a file may be larger than memory; an error names its line.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use uwf_engine::builtin;
use uwf_store::json::sorted;
use uwf_store::{Hash, Store, StoreError};

use super::{lines, print_lines, type_named};
use crate::shell::{
    CliError, OK, Session,
    input::{Input, unreadable},
};
use crate::uwf::args::{Put, Values};

pub(super) fn put(session: &mut Session<'_>, what: &Put) -> Result<u8, CliError> {
    let store = session.store()?;
    if !what.values.jsonl {
        let (type_, payload) = one(session, &store, &what.values)?;
        let hash = store.put(&type_, &payload)?;
        return print_lines(session, &[hash]);
    }
    let Session { stdin, ui, cwd, .. } = session;
    let input = Input::open(*stdin, cwd, &what.values.file)?;
    if what.sync_each {
        each(input, &store, &mut |place, type_, payload| {
            let hash = store.put(type_, payload).map_err(|error| at(place, error))?;
            ui.print(&lines(&[hash]))
        })?;
        return Ok(OK);
    }
    let (mut batch, mut hashes) = (store.batch(), Vec::new());
    each(input, &store, &mut |place, type_, payload| {
        hashes.push(batch.put(type_, payload).map_err(|error| at(place, error))?);
        Ok(())
    })?;
    batch.commit()?;
    print_lines(session, &hashes)
}

pub(super) fn hash(session: &mut Session<'_>, values: &Values) -> Result<u8, CliError> {
    let store = session.store()?;
    if !values.jsonl {
        let (type_, payload) = one(session, &store, values)?;
        return print_lines(session, &[named(&type_, &payload)]);
    }
    let Session { stdin, ui, cwd, .. } = session;
    let input = Input::open(*stdin, cwd, &values.file)?;
    each(input, &store, &mut |_, type_, payload| ui.print(&lines(&[named(type_, payload)])))?;
    Ok(OK)
}

/// The meta-schema is its own type, so it alone is hashed without one.
fn named(type_: &Hash, payload: &Value) -> Hash {
    let own = Hash::of_self(payload);
    if *type_ == builtin::META_SCHEMA && own == *type_ { own } else { Hash::of(type_, payload) }
}

fn one(session: &mut Session<'_>, store: &Store, values: &Values) -> Result<(Hash, Value), CliError> {
    let name = values.type_.as_ref().expect("the command line requires it without --jsonl");
    let type_ = type_named(store, name)?;
    let input = Input::open(session.stdin, &session.cwd, &values.file)?;
    let name = input.name.clone();
    let payload = serde_json::from_str(&input.text()?)
        .map(sorted)
        .map_err(|error| CliError::said(format!("{name} does not hold one JSON value"), error))?;
    Ok((type_, payload))
}

/// One line of `--jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "type")]
    type_: String,
    payload: Value,
}

/// Hands each node to `visit` as it is read, with the place of its line; blank lines are none.
fn each(
    mut input: Input<'_>,
    store: &Store,
    visit: &mut dyn FnMut(&str, &Hash, &Value) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut types: HashMap<String, Hash> = HashMap::new();
    let mut text = String::new();
    for number in 1.. {
        text.clear();
        let place = format!("{}:{number}", input.name);
        if input.reader.read_line(&mut text).map_err(|error| unreadable(&place, error))? == 0 {
            break;
        }
        if text.trim().is_empty() {
            continue;
        }
        let Line { type_, payload } = serde_json::from_str(&text)
            .map_err(|error| CliError::said(format!("{place} is not {{\"type\", \"payload\"}}"), error))?;
        let type_ = match types.get(&type_) {
            Some(known) => *known,
            None => *types.entry(type_.clone()).or_insert(type_named(store, &type_)?),
        };
        visit(&place, &type_, &sorted(payload))?;
    }
    Ok(())
}

fn at(place: &str, error: StoreError) -> CliError {
    let hint = error.hint();
    let error = CliError::said(format!("{place} cannot be stored"), error);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
