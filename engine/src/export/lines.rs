//! Files of JSON lines: a first one that says what the file is, nodes, variables.
//!
//! Apart because threads are not all that is taken to other stores. Nothing here knows what variables mean.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_store::{Batch, Hash, Node, Store};

use super::ExportError;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// As the first line says it.
    pub name: &'static str,
    /// Which version is written and read.
    pub version: u32,
    /// What is in it, in a word.
    pub what: &'static str,
    /// The command that writes one.
    pub how: &'static str,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeLine {
    node: Hash,
    #[serde(rename = "type")]
    type_: Hash,
    payload: Value,
    timestamp: u64,
}

/// A variable with what it names.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableLine {
    /// Its name.
    pub variable: String,
    /// The node.
    pub value: Hash,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// Writes a file: its first line, nodes in the order in which they can be stored, variables.
///
/// # Errors
/// A node cannot be read, or `out` cannot be written.
pub fn write(
    store: &Store,
    out: &mut dyn Write,
    (header, nodes, variables): (&impl Serialize, &[Hash], &[VariableLine]),
) -> Result<(), ExportError> {
    let mut line =
        |value: Value| writeln!(out, "{value}").map_err(|source| ExportError::Io { doing: "write", source });
    line(json(header))?;
    for node in nodes {
        let Node { type_, payload, timestamp } = store.get(node)?;
        line(json(&NodeLine { node: *node, type_, payload, timestamp }))?;
    }
    variables.iter().try_for_each(|variable| line(json(variable)))
}

/// By way of a value, whose keys are sorted.
fn json(line: &impl Serialize) -> Value {
    uwf_store::json::tree(line).expect("hashes, texts, numbers and values are JSON")
}

/// The file, line by line.
pub struct Lines<'r> {
    input: &'r mut dyn BufRead,
    /// Of the line in `text`, from 1.
    number: u64,
    text: String,
}

impl Lines<'_> {
    /// Opens a file: its first line, and what follows.
    ///
    /// # Errors
    /// It is no such file, or one of a later version.
    pub fn open<H: DeserializeOwned>(
        input: &mut dyn BufRead,
        format: Format,
    ) -> Result<(H, Lines<'_>), ExportError> {
        let mut lines = Lines { input, number: 0, text: String::new() };
        let not_one = |why: String| ExportError::NotAnExport { format, why };
        if !lines.read()? {
            return Err(not_one("it is empty".to_owned()));
        }
        let no_json = |error| not_one(format!("its first line is no JSON: {error}"));
        let first: Value = serde_json::from_str(&lines.text).map_err(no_json)?;
        match (first["format"].as_str(), first["version"].as_u64()) {
            (Some(name), _) if name != format.name => return Err(not_one(format!("its format is {name:?}"))),
            (Some(_), Some(found)) if found != u64::from(format.version) => {
                return Err(ExportError::Version { reads: format.version, found });
            }
            _ => {}
        }
        let header = serde_json::from_value(first).map_err(|error| {
            let name = format.name;
            not_one(format!("its first line is not `{{\"format\": {name:?}, …}}` as it must be: {error}"))
        })?;
        Ok((header, lines))
    }

    /// Takes a node into a batch.
    ///
    /// # Errors
    /// The file ends, the line is none of a node, the store does not take it, or it is another node than it says.
    pub fn node(&mut self, expected: u64, batch: &mut Batch<'_>) -> Result<(), ExportError> {
        let NodeLine { node, type_, payload, timestamp } = self.next(expected)?;
        let stored = batch.put_node(&Node { type_, payload, timestamp });
        match stored.map_err(|source| ExportError::Refused { line: self.number, source })? {
            hash if hash == node => Ok(()),
            hash => Err(self.damaged(format!("node {node} hashes to {hash}"))),
        }
    }

    /// Makes sure that nothing follows.
    ///
    /// # Errors
    /// Something does.
    pub fn end(&mut self) -> Result<(), ExportError> {
        while self.read()? {
            if !self.text.trim().is_empty() {
                return Err(self.damaged("it is one too many".to_owned()));
            }
        }
        Ok(())
    }

    /// The next line; `expected` is how many follow the first.
    ///
    /// # Errors
    /// The file ends, or the line says something else.
    pub fn next<T: DeserializeOwned>(&mut self, expected: u64) -> Result<T, ExportError> {
        let lines = self.number - 1;
        if !self.read()? {
            return Err(ExportError::Cut { lines, expected });
        }
        serde_json::from_str(&self.text).map_err(|error| self.damaged(error.to_string()))
    }

    fn read(&mut self) -> Result<bool, ExportError> {
        self.text.clear();
        self.number += 1;
        let read = self.input.read_line(&mut self.text);
        Ok(read.map_err(|source| ExportError::Io { doing: "read", source })? > 0)
    }

    /// What is wrong with the line that was read last.
    pub fn damaged(&self, why: String) -> ExportError {
        ExportError::Damaged { line: self.number, why }
    }
}
