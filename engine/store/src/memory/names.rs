//! Names in a map. One name has one row: nobody else is there who could write a second.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::{Memory, look};
use crate::error::StoreError;
use crate::expect::Expect;
use crate::hash::Hash;
use crate::names::{HISTORY, Names, Row, VarChange};

#[derive(Clone)]
pub(super) struct KeptName {
    row: Row,
    /// What it was set to and when, the newest last.
    history: Vec<(String, u64)>,
}

impl Names for Memory {
    fn newest(&self, name: &str) -> Result<Option<Row>, StoreError> {
        Ok(look(&self.names).get(name).map(|kept| kept.row.clone()))
    }

    fn each(&self, prefix: &str, visit: &mut dyn FnMut(Row) -> bool) -> Result<(), StoreError> {
        let names = look(&self.names);
        let rows = starting(&names, prefix).map(|(_, kept)| kept.row.clone());
        rows.take_while(|row| visit(row.clone())).for_each(drop);
        Ok(())
    }

    fn backwards(&self, from: &str, below: &str, limit: usize) -> Result<Vec<Row>, StoreError> {
        if from >= below {
            return Ok(Vec::new());
        }
        let names = look(&self.names);
        let found = names.range::<str, _>((Bound::Included(from), Bound::Excluded(below)));
        Ok(found.rev().take(limit).map(|(_, kept)| kept.row.clone()).collect())
    }

    fn history(&self, name: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let names = look(&self.names);
        Ok(names.get(name).map_or(Vec::new(), |kept| kept.history.iter().rev().cloned().collect()))
    }

    fn remembered(&self) -> Result<Vec<String>, StoreError> {
        let names = look(&self.names);
        let values = |kept: &KeptName| {
            let values = kept.history.iter().map(|(value, _)| value.clone());
            values.chain([kept.row.schema.clone()]).collect::<Vec<_>>()
        };
        Ok(names.values().flat_map(values).collect())
    }

    /// What is changed is a copy, which takes the place of the other when all of it is done.
    fn apply(&self, changes: &[VarChange], now: u64) -> Result<(), StoreError> {
        let mut names = look(&self.names);
        let mut changed = names.clone();
        changes.iter().try_for_each(|change| perform(&mut changed, change, now))?;
        *names = changed;
        Ok(())
    }

    fn ensure(&self, schema: Hash, names: &[(&str, Hash)], now: u64) -> Result<(), StoreError> {
        let kept = |name: &str| self.newest(name).map(|row| row.map(|row| (row.schema, row.value)));
        let mut lacking = Vec::new();
        for (name, value) in names {
            if kept(name)? != Some((schema.to_string(), value.to_string())) {
                let (name, tags) = ((*name).to_owned(), BTreeMap::new());
                lacking.push(VarChange::Set { name, schema, value: *value, tags, expect: Expect::Any });
            }
        }
        self.apply(&lacking, now)
    }
}

fn starting<'n>(
    names: &'n BTreeMap<String, KeptName>,
    prefix: &'n str,
) -> impl Iterator<Item = (&'n String, &'n KeptName)> {
    let from = (Bound::Included(prefix), Bound::Unbounded);
    names.range::<str, _>(from).take_while(move |(name, _)| name.starts_with(prefix))
}

fn perform(names: &mut BTreeMap<String, KeptName>, change: &VarChange, now: u64) -> Result<(), StoreError> {
    match change {
        VarChange::Set { name, schema, value, tags, expect } => {
            let before = names.remove(name);
            expect.check(name, before.as_ref().map(|kept| &kept.row))?;
            let tags = serde_json::to_string(tags).expect("strings are JSON");
            names.insert(name.clone(), set(before, (name, schema, value), tags, now));
        }
        VarChange::Remove { name } => drop(names.remove(name)),
        VarChange::RemovePrefix { prefix } => names.retain(|name, _| !name.starts_with(prefix)),
    }
    Ok(())
}

fn set(
    before: Option<KeptName>,
    (name, schema, value): (&str, &Hash, &Hash),
    tags: String,
    now: u64,
) -> KeptName {
    let (schema, value) = (schema.to_string(), value.to_string());
    let created = before.as_ref().and_then(|kept| kept.row.created).unwrap_or(now.cast_signed());
    let labels = before.as_ref().map_or("[]".to_owned(), |kept| kept.row.labels.clone());
    let mut history = before.filter(|kept| kept.row.schema == schema).map_or(Vec::new(), |kept| kept.history);
    if history.last().is_none_or(|(last, _)| *last != value) {
        history.push((value.clone(), now));
        history.drain(..history.len().saturating_sub(HISTORY));
    }
    let (created, updated) = (Some(created), Some(now.cast_signed()));
    KeptName { row: Row { name: name.to_owned(), schema, value, created, updated, tags, labels }, history }
}
