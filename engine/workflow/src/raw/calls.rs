//! The parts of a file that are for workflows that call each other, as they were typed: `output` and a role's `context`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{RawEntry, RawText, Section};
use crate::diagnostics::Diagnostics;
use crate::yaml::kind;

/// `output.<role>`.
pub(crate) struct RawOutput {
    pub(crate) role: String,
    pub(crate) pointer: String,
    pub(crate) fields: Vec<RawField>,
}

/// `output.<role>.<field>`.
pub(crate) struct RawField {
    pub(crate) name: String,
    pub(crate) pointer: String,
    /// `None`: missing or of the wrong type, which has been reported.
    pub(crate) from: Option<RawText>,
    pub(crate) values: BTreeMap<String, Value>,
}

/// `output`, if it is there.
pub(super) fn outputs(top: &Section<'_>, problems: &mut Diagnostics<'_>) -> Vec<RawOutput> {
    let Some(section) = optional(top, "output", problems) else { return Vec::new() };
    section.entries().map(|entry| output(entry, problems)).collect()
}

fn output(entry: RawEntry<'_>, problems: &mut Diagnostics<'_>) -> RawOutput {
    let what = format!("the output of role `{}`", entry.name);
    let section = Section::open(entry.value, entry.pointer.clone(), &what, problems);
    let fields = section.iter().flat_map(Section::entries).map(|entry| field(entry, problems)).collect();
    RawOutput { role: entry.name.to_owned(), pointer: entry.pointer, fields }
}

/// A pointer, or a mapping with one in `from`.
fn field(entry: RawEntry<'_>, problems: &mut Diagnostics<'_>) -> RawField {
    let RawEntry { name, value, pointer } = entry;
    let mut field =
        RawField { name: name.to_owned(), pointer: pointer.clone(), from: None, values: BTreeMap::new() };
    match value {
        Value::String(text) => field.from = Some(RawText { text: text.clone(), pointer }),
        Value::Object(_) => {
            let Some(section) = Section::open(value, pointer, name, problems) else { return field };
            section.tell_others((&["from"], &["values"]), problems);
            field.from = section.required("from", problems);
            let values = optional(&section, "values", problems);
            field.values = values
                .iter()
                .flat_map(|values| values.map)
                .map(|(text, value)| (text.clone(), value.clone()))
                .collect();
        }
        other => {
            let message =
                format!("the field `{name}` must be a JSON pointer or a mapping, got {}", kind(other));
            problems.at(&pointer, message, Some("write where it is from: `/field`".to_owned()));
        }
    }
    field
}

/// A mapping that may be absent.
fn optional<'v>(section: &Section<'v>, key: &str, problems: &mut Diagnostics<'_>) -> Option<Section<'v>> {
    match section.map.get(key)? {
        Value::Null => None,
        value => Section::open(value, section.below(key), &format!("`{key}`"), problems),
    }
}
