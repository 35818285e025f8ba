//! Changing one value of the configuration file: checked before it is written, written whole or not at all.
//!
//! The file is the user's: where one plain value on one line is replaced, or a new top-level key is added, his comments
//! and layout stay. Every other change writes the file anew. Either way the result is read back before it counts.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;
use tempfile::NamedTempFile;

use super::{ConfigError, check, keys, parse, path, read, shape};
use crate::emit;
use crate::yaml::{self, Document};

/// What [`set`] did.
#[derive(Debug, PartialEq)]
pub struct Edited {
    /// The value as it was understood.
    pub value: Value,
    /// Whether comments went: the file had to be written anew.
    pub comments_lost: bool,
}

/// Sets the value at a dotted key in `$UWF_HOME/config.yaml`; `text` is read as YAML, or as a plain string where only
/// that is valid. Nothing is written when the result would not be a valid configuration.
pub fn set(home: &Path, key: &str, text: &str) -> Result<Edited, ConfigError> {
    let file = path(home);
    let (old, document) = read(&file, &shape())?;
    if key.split('.').any(str::is_empty) {
        return Err(ConfigError::BadKey { key: key.to_owned() });
    }
    let names = keys::resolve(&document.value, key);
    let (value, wanted) = understood(&document.value, &names, text, &file)?;
    let kept = in_place(&old, &document, &names, &value).filter(|new| says(new, &file, &wanted));
    let comments_lost = kept.is_none() && old.contains('#');
    let new = kept.unwrap_or_else(|| emit::yaml(&wanted));
    write(&file, &new).map_err(|source| ConfigError::Io { verb: "write", file, source })?;
    Ok(Edited { value, comments_lost })
}

/// The value that `text` stands for, and the whole file with it.
fn understood(old: &Value, names: &[String], text: &str, file: &Path) -> Result<(Value, Value), ConfigError> {
    let string = Value::from(text);
    let parsed = yaml::parse_value(text).unwrap_or_else(|_| string.clone());
    let with = |value: Value| {
        let mut whole = old.clone();
        insert(&mut whole, names, value.clone());
        let document = yaml::parse(&emit::yaml(&whole)).expect("what we emit is YAML");
        check(&document, file, &shape()).map(|()| (value, whole))
    };
    // A number or a word like `true` may be meant as text; a list never is.
    let scalar = !parsed.is_array() && !parsed.is_object();
    with(parsed).or_else(|error| if scalar { with(string).map_err(|_| error) } else { Err(error) })
}

fn insert(whole: &mut Value, names: &[String], value: Value) {
    let Some((first, rest)) = names.split_first() else {
        *whole = value;
        return;
    };
    if !whole.is_object() {
        *whole = Value::Object(serde_json::Map::new());
    }
    insert(&mut whole[first.as_str()], rest, value);
}

/// The old text with one scalar replaced on its line, or with a new top-level key at its end.
fn in_place(old: &str, document: &Document, names: &[String], value: &Value) -> Option<String> {
    let scalar = emit::yaml(value);
    let scalar = scalar.trim_end();
    if scalar.contains('\n') {
        return None;
    }
    let pointer: String = names.iter().map(|name| format!("/{}", yaml::escape(name))).collect();
    let Some(present) = document.value.pointer(&pointer) else {
        let [name] = names else { return None };
        let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
        return Some(format!("{old}{gap}{name}: {scalar}\n"));
    };
    let mark = document.at(&pointer);
    let line = old.lines().nth(mark.line.checked_sub(1)?)?;
    let start = line.char_indices().nth(mark.column.checked_sub(1)?)?.0;
    let code = line[start..].find(" #").map_or(line, |at| &line[..start + at]).trim_end();
    let comment = &line[code.len()..];
    let replaced = format!("{}{scalar}{comment}", &line[..start]);
    let lines = old.lines().enumerate();
    let new = lines.map(|(at, text)| if at + 1 == mark.line { replaced.as_str() } else { text });
    (!present.is_object() && !present.is_array()).then(|| new.map(|line| format!("{line}\n")).collect())
}

fn says(text: &str, file: &Path, wanted: &Value) -> bool {
    parse(text, file, &shape()).is_ok_and(|document| document.value == *wanted)
}

/// Readable for its owner only, since it may hold keys; by rename, so that it is the old file or the new one.
fn write(file: &Path, text: &str) -> io::Result<()> {
    // A link (a dotfiles repository, say) stays one: its target is replaced.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let dir = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(dir)?;
    let mut new = NamedTempFile::new_in(dir)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(&target)?;
    fs::File::open(dir)?.sync_all()
}
