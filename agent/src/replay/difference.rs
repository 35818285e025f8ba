//! What is not as it was recorded, in words: which part of the run, which part of a request, and both as lines.
//!
//! Pure. The recorded request is known by the digests of its parts alone, so of a request that differs the one that was made
//! now is shown; of everything that was said both are.

use std::fmt::Write as _;

use serde_json::Value;
use uwf_store::json::sorted;

use crate::journal::Difference;

/// The first thing that is not as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayDifference {
    /// After how many turns of the model.
    pub turns: usize,
    /// Which entry of the log, from 0.
    pub entry: usize,
    /// What differs, in a line.
    pub what: String,
    /// What is on record, as text; empty where there is nothing.
    pub recorded: String,
    /// What came now, as text.
    pub found: String,
}

impl From<Difference> for ReplayDifference {
    fn from(difference: Difference) -> ReplayDifference {
        let Difference { index, turns, recorded, found, body } = difference;
        let told = |(what, recorded, found)| ReplayDifference { turns, entry: index, what, recorded, found };
        let Some(recorded) = recorded else {
            let what = format!("the recorded run was over, and this one goes on with: {}", kind(&found));
            return told((what, String::new(), shown(&found)));
        };
        if found.is_null() {
            let what = format!("the recorded run went on with: {}, and this one is over", kind(&recorded));
            return told((what, shown(&recorded), String::new()));
        }
        if kind(&recorded) != kind(&found) {
            let what = format!(
                "the recorded run went on with: {}, and this one with: {}",
                kind(&recorded),
                kind(&found)
            );
            return told((what, shown(&recorded), shown(&found)));
        }
        told(match kind(&found) {
            "sent" => request(&recorded["request"], &found["request"], &body),
            "run" => opened(&recorded, &found),
            _ => said(&recorded, &found),
        })
    }
}

fn kind(entry: &Value) -> &str {
    entry["entry"].as_str().unwrap_or("nothing")
}

/// A value for people: a text as it is, anything else as indented JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => serde_json::to_string_pretty(&sorted(value.clone())).unwrap_or_default(),
    }
}

/// The first lines of a run: the tools that were declared.
fn opened(recorded: &Value, found: &Value) -> (String, String, String) {
    let none = Vec::new();
    let tools = |run: &Value| run["tools"].as_array().unwrap_or(&none).clone();
    let (was, is) = (tools(recorded), tools(found));
    let differing = was.iter().zip(&is).find(|(was, is)| was != is);
    match differing {
        Some((was, is)) => {
            let name = was["name"].as_str().unwrap_or_default();
            let part = ["description", "parameters"].into_iter().find(|part| was[*part] != is[*part]);
            match part {
                Some(part) => (
                    format!("the {part} of the tool {name} is another one"),
                    shown(&was[part]),
                    shown(&is[part]),
                ),
                None => (format!("another tool stands in the place of {name}"), shown(was), shown(is)),
            }
        }
        None => ("the opening of the conversation is another one".to_owned(), shown(recorded), shown(found)),
    }
}

/// What our side said, or what was made of the conversation.
fn said(recorded: &Value, found: &Value) -> (String, String, String) {
    let (was, is) = (&recorded["message"], &found["message"]);
    if was["content"] == is["content"] {
        return (format!("the entry `{}` is another one", kind(found)), shown(recorded), shown(found));
    }
    let (role, kind) = (was["role"].as_str().unwrap_or_default(), was["kind"].as_str().unwrap_or_default());
    let what = match (role, kind) {
        ("system", _) => "the system message is another one: a prompt template has changed".to_owned(),
        ("tool", _) => "a tool answers something else".to_owned(),
        (_, "opening") => "the task is told otherwise: a prompt template has changed".to_owned(),
        (_, kind) => format!("the text of the {kind} is another one: a prompt template has changed"),
    };
    (what, shown(&was["content"]), shown(&is["content"]))
}

/// A request: the parts of its body that are not the same.
fn request(recorded: &Value, found: &Value, body: &str) -> (String, String, String) {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let empty = serde_json::Map::new();
    let changed = |request: &Value| request["changed"].as_object().unwrap_or(&empty).clone();
    let (was, is) = (changed(recorded), changed(found));
    let mut names: Vec<&String> = was.keys().chain(is.keys()).collect();
    names.sort();
    names.dedup();
    let (mut parts, mut before, mut now) = (Vec::new(), String::new(), String::new());
    for name in names.into_iter().filter(|name| was.get(*name) != is.get(*name)) {
        let (was, is) = (was.get(name).unwrap_or(&Value::Null), is.get(name).unwrap_or(&Value::Null));
        let item = item(was, is);
        parts.push(match item {
            Some(item) => format!("{name}[{item}]"),
            None => name.clone(),
        });
        let value = item.map_or(&body[name], |item| &body[name][item]);
        let _ = writeln!(before, "{name}: {}", recorded_part(was, item));
        let _ = writeln!(now, "{name}: {}", shown(value));
    }
    if recorded["gone"] != found["gone"] {
        parts.push("the fields that are left out".to_owned());
        let _ = writeln!(before, "left out: {}", recorded["gone"]);
        let _ = writeln!(now, "left out: {}", found["gone"]);
    }
    let what = match parts.is_empty() {
        true => "the body of the request has the same fields in another order".to_owned(),
        false => format!("the request differs in {}", parts.join(", ")),
    };
    (what, before, now)
}

/// The first item of a list that is not the same.
fn item(was: &Value, is: &Value) -> Option<usize> {
    let items = |list: &Value| list["items"].as_array().cloned();
    let kept = |list: &Value| list["kept"].as_u64().and_then(|kept| usize::try_from(kept).ok());
    let (Some(old), Some(new), Some(from), Some(to)) = (items(was), items(is), kept(was), kept(is)) else {
        return None;
    };
    if from != to {
        return Some(from.min(to));
    }
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    Some(from + same)
}

/// What is on record of a part: its value where it is short, else its digest.
fn recorded_part(was: &Value, item: Option<usize>) -> String {
    let digest = item.and_then(|item| {
        let at = item.checked_sub(usize::try_from(was["kept"].as_u64()?).ok()?)?;
        was["items"].get(at)?.as_str()
    });
    match digest.or(was["digest"].as_str()) {
        Some(digest) => format!("(another value, of which the digest {digest} is on record)"),
        None if was.is_null() => "(as in the request before, or not there)".to_owned(),
        None => shown(was.get("value").unwrap_or(&Value::Null)),
    }
}
