//! Changing values of the configuration file: checked before it is written, written whole or not at all.
//!
//! The file is the user's: where a plain value on one line is replaced or removed, or a new key is added to a mapping
//! in block style, his comments and layout stay. Every other change writes the file anew. Either way the result is
//! read back before it counts.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value};
use uwf_store::atomic_file::{self, AtomicFile};
use uwf_store::is_deeper;
use uwf_store::schema::pointer;
use uwf_workflow::yaml::{self, Document, Position};

use super::file::{diagnostics, parse, read, text};
use super::{ConfigError, keys, path, shape};
use crate::home::make_private;

/// How deep a value of the file may be nested: half of what can be read, so that what is written is read again.
pub(super) const MAX_DEPTH: usize = yaml::MAX_DEPTH / 2;

/// What [`set`] did.
#[derive(Debug, PartialEq)]
pub struct Edited {
    /// The value as it was understood.
    pub value: Value,
    /// Whether comments went: the file had to be written anew.
    pub comments_lost: bool,
    /// For a key that no program here reads: what is read in its place, the nearest first.
    pub unread: Option<Vec<String>>,
}

/// A change of one value: the names that lead to it, and what it is to be; `None` takes it away.
pub type ConfigChange = (Vec<String>, Option<Value>);

/// Sets the value at a dotted key in `$UWF_HOME/config.yaml`; `text` is read as YAML, or as a plain string where only
/// that is valid. Nothing is written when the result would not be a valid configuration.
///
/// # Errors
/// The key is malformed, the file cannot be read or written, or the result would not be a valid configuration.
pub fn set(home: &Path, key: &str, text: &str) -> Result<Edited, ConfigError> {
    keys::check_key(key)?;
    let file = path(home);
    let whole = read(&file, &shape())?;
    let names = keys::resolve(&whole, key);
    keys::check_way(&whole, &names)?;
    let value = understood(&whole, &names, text)?;
    if is_deeper(&value, MAX_DEPTH.saturating_sub(names.len())) {
        return Err(ConfigError::Deep { key: key.to_owned() });
    }
    let unread = keys::unread(&shape(), &names);
    let comments_lost = apply(home, &[(names, Some(value.clone()))])?;
    Ok(Edited { value, comments_lost, unread })
}

/// Takes the value at a dotted key away, and the mappings that are empty without it. Nothing is written when the result
/// would not be a valid configuration. Tells whether comments were lost.
///
/// # Errors
/// The key is malformed, the file cannot be read or written, or the result would not be a valid configuration.
pub fn unset(home: &Path, key: &str) -> Result<bool, ConfigError> {
    keys::check_key(key)?;
    let whole = read(&path(home), &shape())?;
    let mut names = keys::resolve(&whole, key);
    keys::check_way(&whole, &names)?;
    let alone = |way: &[String]| {
        let parent = way.iter().try_fold(&whole, |value, name| value.get(name));
        parent.and_then(Value::as_object).is_some_and(|fields| fields.len() == 1)
    };
    while names.len() > 1 && alone(&names[..names.len() - 1]) {
        names.pop();
    }
    apply(home, &[(names, None)])
}

/// Makes all of these changes in `$UWF_HOME/config.yaml`, or none when the result would not be a valid configuration.
/// Tells whether comments were lost.
///
/// # Errors
/// The file cannot be read or written, is not valid as it is, or would not be valid after the changes.
pub fn apply(home: &Path, changes: &[ConfigChange]) -> Result<bool, ConfigError> {
    let file = path(home);
    let old = text(&file)?.unwrap_or_default();
    let document = parse(&old, &file, &shape())?;
    let mut draft = Draft { text: old.clone(), document, comments_lost: false };
    for (names, value) in changes {
        draft.change(names, value.as_ref());
    }
    fits(&draft.document.value)?;
    if draft.text != old {
        write(&file, &draft.text).map_err(|source| ConfigError::Io { verb: "write", file, source })?;
    }
    Ok(draft.comments_lost)
}

/// Puts a text that somebody wrote in the place of `$UWF_HOME/config.yaml`, if the file still is what it was: `old`, none for
/// no file. Problems have their places in `written`, where the text is from.
///
/// # Errors
/// The text is no valid configuration, the file is another one by now, or it cannot be written; then it stays as it is.
pub fn replace(home: &Path, old: Option<&str>, new: &str, written: &Path) -> Result<(), ConfigError> {
    let file = path(home);
    parse(new, written, &shape())?;
    if text(&file)?.as_deref() != old {
        return Err(ConfigError::Changed { file });
    }
    write(&file, new).map_err(|source| ConfigError::Io { verb: "write", file, source })
}

/// The text of `$UWF_HOME/config.yaml`, valid or not; none if there is no file.
///
/// # Errors
/// The file cannot be read.
pub fn written(home: &Path) -> Result<Option<String>, ConfigError> {
    text(&path(home))
}

/// Whether that would be a valid configuration.
fn fits(whole: &Value) -> Result<(), ConfigError> {
    let diagnostics = diagnostics(whole, &shape());
    if diagnostics.is_empty() {
        return Ok(());
    }
    Err(ConfigError::Unfit { problems: diagnostics.into_iter().map(|it| it.text).collect() })
}

/// The file as it is to become.
struct Draft {
    text: String,
    document: Document,
    comments_lost: bool,
}

impl Draft {
    fn change(&mut self, names: &[String], value: Option<&Value>) {
        let mut wanted = self.document.value.clone();
        match value {
            Some(value) => insert(&mut wanted, names, value.clone()),
            None => remove(&mut wanted, names),
        }
        if wanted == self.document.value {
            return;
        }
        let says = |text: &String| yaml::parse(text).is_ok_and(|document| document.value == wanted);
        let kept = in_place(&self.text, &self.document, names, value).filter(says);
        self.comments_lost |= kept.is_none() && self.text.contains('#');
        self.text = kept.unwrap_or_else(|| yaml::write(&wanted));
        self.document = yaml::parse(&self.text).expect("it was read back, or we emitted it");
    }
}

/// The value that `text` stands for.
fn understood(old: &Value, names: &[String], text: &str) -> Result<Value, ConfigError> {
    let string = Value::from(text);
    let parsed = yaml::parse_value(text).unwrap_or_else(|_| string.clone());
    let valid = |value: Value| {
        let mut whole = old.clone();
        insert(&mut whole, names, value.clone());
        fits(&whole).map(|()| value)
    };
    // A number or a word like `true` may be meant as text; a list never is.
    let scalar = !parsed.is_array() && !parsed.is_object();
    valid(parsed).or_else(|error| if scalar { valid(string).map_err(|_| error) } else { Err(error) })
}

fn insert(whole: &mut Value, names: &[String], value: Value) {
    let Some((first, rest)) = names.split_first() else {
        *whole = value;
        return;
    };
    if !whole.is_object() {
        *whole = Value::Object(Map::new());
    }
    insert(&mut whole[first.as_str()], rest, value);
}

fn remove(whole: &mut Value, names: &[String]) {
    let Some((last, way)) = names.split_last() else { return };
    let parent = way.iter().try_fold(whole, |value, name| value.get_mut(name));
    if let Some(Value::Object(fields)) = parent {
        fields.remove(last);
    }
}

/// The old text with that change, where it can be made without touching the rest. Only a proposal: whether it says what
/// is wanted is for the caller to see.
fn in_place(old: &str, document: &Document, names: &[String], value: Option<&Value>) -> Option<String> {
    let there =
        (1..=names.len()).take_while(|&count| document.value.pointer(&pointer(&names[..count])).is_some());
    let known = there.count();
    match value {
        Some(value) if known == names.len() => replaced(old, document, &pointer(names), value),
        Some(value) => added(old, document, names.split_at(known), value),
        None => {
            let key = document.at_key(&pointer(names));
            let block = key.line..key.line + block_length(old, key);
            Some(lines(old, |at, text| if block.contains(&at) { String::new() } else { format!("{text}\n") }))
        }
    }
}

/// How many lines a key has with what stands below it: those that are indented more.
fn block_length(old: &str, key: Position) -> usize {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let deeper = |line: &&str| line.trim().is_empty() || indent(line) >= key.column;
    let below: Vec<&str> = old.lines().skip(key.line).take_while(deeper).collect();
    1 + below.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1)
}

fn pointer(names: &[String]) -> String {
    names.iter().map(|name| format!("/{}", pointer::escape(name))).collect()
}

/// Every line, counted from 1, as `edit` has it.
fn lines(old: &str, edit: impl Fn(usize, &str) -> String) -> String {
    old.lines().enumerate().map(|(at, text)| edit(at + 1, text)).collect()
}

/// One scalar replaced on its line.
fn replaced(old: &str, document: &Document, pointer: &str, value: &Value) -> Option<String> {
    let scalar = yaml::write(value);
    let scalar = scalar.trim_end();
    let present = document.value.pointer(pointer)?;
    if scalar.contains('\n') || present.is_object() || present.is_array() {
        return None;
    }
    let position = document.at(pointer);
    let line = old.lines().nth(position.line.checked_sub(1)?)?;
    let start = line.char_indices().nth(position.column.checked_sub(1)?)?.0;
    let code = line[start..].find(" #").map_or(line, |at| &line[..start + at]).trim_end();
    let (kept, comment) = (&line[..start], &line[code.len()..]);
    Some(lines(old, |at, text| {
        if at == position.line { format!("{kept}{scalar}{comment}\n") } else { format!("{text}\n") }
    }))
}

/// A new key, with all that is to be below it: at the end of the file, or first in the mapping it belongs to, as deep
/// as its siblings.
fn added(
    old: &str,
    document: &Document,
    (parents, new): (&[String], &[String]),
    value: &Value,
) -> Option<String> {
    let mut block = Value::Null;
    insert(&mut block, new, value.clone());
    let block = yaml::write(&block);
    let Some(parent) = document.value.pointer(&pointer(parents)).filter(|_| !parents.is_empty()) else {
        let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
        return Some(format!("{old}{gap}{block}"));
    };
    let sibling = parent.as_object()?.keys().next()?;
    let parent = document.at_key(&pointer(parents)).line;
    let sibling = document.at_key(&pointer(&[parents, std::slice::from_ref(sibling)].concat()));
    let indent = " ".repeat(sibling.column - 1);
    let block: String = block.lines().map(|line| format!("{indent}{line}\n")).collect();
    let edit = |at, text: &str| if at == parent { format!("{text}\n{block}") } else { format!("{text}\n") };
    (sibling.line > parent).then(|| lines(old, edit))
}

/// Readable for its owner only, since it may hold keys.
fn write(file: &Path, text: &str) -> io::Result<()> {
    make_private(atomic_file::target(file).parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let mut new = AtomicFile::create(file, 0o600)?;
    new.write_all(text.as_bytes())?;
    new.persist_durably()
}
