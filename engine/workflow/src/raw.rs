//! A workflow file as it was typed: every part optional, every part with the pointer to where it stands.
//!
//! Apart from the check because it knows only the shape: which keys there are and what type each has. It never
//! compares one part with another.

pub(super) mod calls;
mod compact;
mod graph;

use serde_json::{Map, Value};
use uwf_store::schema::pointer::escape;
use uwf_store::suggest;

pub(super) use self::graph::{RawCondition, RawEdge, RawNode};
use crate::diagnostics::{Diagnostics, meant};
use crate::yaml::kind;

pub(super) use self::compact::RawCompact;

/// The whole file.
#[derive(Default)]
pub(super) struct RawWorkflow {
    pub(super) name: Option<RawText>,
    pub(super) description: Option<RawText>,
    /// `None`: missing or of the wrong type, which has been reported.
    pub(super) roles: Option<Vec<RawRole>>,
    pub(super) graph: Option<Vec<RawNode>>,
    pub(super) output: Vec<calls::RawOutput>,
    pub(super) compact: Option<RawCompact>,
    pub(super) conditions: Vec<RawCondition>,
}

/// Keys of a role as older documents have them, and what they are called now.
const OLDER: [(&str, &str); 3] =
    [("systemPrompt", "goal"), ("outputSchema", "frontmatter"), ("meta", "frontmatter")];

/// A string and where it stands.
pub(super) struct RawText {
    pub(super) text: String,
    pub(super) pointer: String,
}

/// `roles.<name>`.
#[derive(Default)]
pub(super) struct RawRole {
    pub(super) name: String,
    pub(super) pointer: String,
    pub(super) description: Option<RawText>,
    pub(super) goal: Option<RawText>,
    pub(super) capabilities: Vec<String>,
    pub(super) procedure: Option<RawText>,
    pub(super) output: Option<RawText>,
    pub(super) frontmatter: Option<RawSchema>,
    pub(super) artifacts: Vec<RawText>,
    pub(super) context: Vec<RawText>,
}

/// A role's schema and where it stands.
pub(super) struct RawSchema {
    pub(super) schema: Value,
    pub(super) pointer: String,
}

pub(super) fn read(value: &Value, problems: &mut Diagnostics<'_>) -> RawWorkflow {
    let Some(top) = Section::open(value, String::new(), "a workflow", problems) else {
        return RawWorkflow::default();
    };
    top.tell_others(
        (&["name", "roles", "graph"], &["description", "output", "compact", "conditions"]),
        problems,
    );
    let roles = top.section("roles", problems);
    let graph = top.section("graph", problems);
    RawWorkflow {
        name: top.required("name", problems),
        description: top.text("description", problems),
        output: calls::outputs(&top, problems),
        roles: roles.map(|roles| roles.entries().map(|entry| role(entry, problems)).collect()),
        graph: graph.map(|graph| graph.entries().map(|entry| graph::node(entry, problems)).collect()),
        compact: RawCompact::read(&top, problems),
        conditions: graph::conditions(&top, problems),
    }
}

/// A role of the wrong shape is still a role: what names it is not wrong.
fn role(entry: RawEntry<'_>, problems: &mut Diagnostics<'_>) -> RawRole {
    let RawEntry { name, value, pointer } = entry;
    let Some(section) = Section::open(value, pointer.clone(), &format!("role `{name}`"), problems) else {
        return RawRole { name: name.to_owned(), pointer, ..RawRole::default() };
    };
    section.tell_others(
        (
            &["goal", "frontmatter"],
            &["description", "capabilities", "procedure", "output", "artifacts", "context"],
        ),
        problems,
    );
    let goal = section.called("goal", problems);
    let frontmatter = section.called("frontmatter", problems);
    RawRole {
        name: name.to_owned(),
        description: section.text("description", problems),
        goal: section.required(goal, problems),
        capabilities: section.texts("capabilities", problems).into_iter().map(|item| item.text).collect(),
        procedure: section.text("procedure", problems),
        output: section.text("output", problems),
        frontmatter: section.section(frontmatter, problems).map(RawSchema::of),
        artifacts: section.texts("artifacts", problems),
        context: section.texts("context", problems),
        pointer,
    }
}

impl RawSchema {
    fn of(section: Section<'_>) -> RawSchema {
        RawSchema { schema: Value::from(section.map.clone()), pointer: section.pointer }
    }
}

/// What merged mappings in YAML 1.1.
const MERGE: &str = "<<";

/// A mapping being read.
struct Section<'v> {
    map: &'v Map<String, Value>,
    pointer: String,
}

struct RawEntry<'v> {
    name: &'v str,
    value: &'v Value,
    pointer: String,
}

impl<'v> Section<'v> {
    fn open(
        value: &'v Value,
        pointer: String,
        what: &str,
        problems: &mut Diagnostics<'_>,
    ) -> Option<Section<'v>> {
        if let Value::Object(map) = value {
            return Some(Section { map, pointer });
        }
        problems.at(&pointer, format!("{what} must be a mapping, got {}", kind(value)), None);
        None
    }

    fn entries(&self) -> impl Iterator<Item = RawEntry<'v>> + use<'v, '_> {
        self.map.iter().map(|(name, value)| RawEntry { name, value, pointer: self.below(name) })
    }

    fn below(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, escape(key))
    }

    /// Keys that nobody reads are ignored with a warning: notes, anchors, fields of other programs. One that seems to be a
    /// missing part that must be there is refused where that is looked for.
    fn tell_others(&self, (required, optional): (&[&str], &[&str]), problems: &mut Diagnostics<'_>) {
        let known = [required, optional].concat();
        let is_older = |key: &str| OLDER.iter().any(|(older, now)| *older == key && known.contains(now));
        let is_read = |key: &str| known.contains(&key) || is_older(key);
        for key in self.map.keys().filter(|key| !is_read(key)) {
            let pointer = self.below(key);
            match key.as_str() {
                _ if required.iter().any(|part| self.instead_of(part) == Some(key)) => {}
                MERGE => {
                    let message = format!("`{MERGE}` merges nothing: YAML 1.2 has no merge keys");
                    problems.at_key(&pointer, message, "write the keys out".to_owned());
                }
                _ => problems.warn_at_key(
                    &pointer,
                    format!("unknown key `{key}`, ignored"),
                    meant(key, &known),
                ),
            }
        }
    }

    /// The name under which a part is given: an older one where that alone is there, which is warned of. Of several the
    /// newest counts, and the others have to go.
    fn called(&self, now: &'static str, problems: &mut Diagnostics<'_>) -> &'static str {
        let older = OLDER.iter().filter(|(_, part)| *part == now).map(|(older, _)| *older);
        let mut given = std::iter::once(now).chain(older).filter(|key| self.map.contains_key(*key));
        let Some(counts) = given.next() else { return now };
        if counts != now {
            let message = format!("`{counts}` is called `{now}` now");
            problems.warn_at_key(&self.below(counts), message, format!("write `{now}`"));
        }
        for key in given {
            let message = format!("`{counts}` and `{key}` say the same thing: `{counts}` counts");
            problems.at_key(&self.below(key), message, format!("remove `{key}`, an older name of `{now}`"));
        }
        counts
    }

    /// A mapping that must be there.
    fn section(&self, key: &str, problems: &mut Diagnostics<'_>) -> Option<Section<'v>> {
        let value = self.map.get(key);
        if value.is_none() {
            self.missing(key, problems);
        }
        Section::open(value?, self.below(key), &format!("`{key}`"), problems)
    }

    fn required(&self, key: &str, problems: &mut Diagnostics<'_>) -> Option<RawText> {
        match self.map.get(key) {
            None => self.missing(key, problems),
            Some(Value::Null) => problems.at_key(&self.below(key), format!("`{key}` is empty"), None),
            Some(_) => return self.text(key, problems),
        }
        None
    }

    fn missing(&self, key: &str, problems: &mut Diagnostics<'_>) {
        match self.instead_of(key) {
            Some(given) => problems.at_key(
                &self.below(given),
                format!("unknown key `{given}`, and `{key}` is missing"),
                format!("did you mean `{key}`?"),
            ),
            None => problems.at_key(&self.pointer, format!("`{key}` is missing"), None),
        }
    }

    /// The key that probably is a missing one, misspelt.
    fn instead_of(&self, missing: &str) -> Option<&'v String> {
        let is_given = |key: &str| self.map.contains_key(key);
        let absent =
            !is_given(missing) && !OLDER.iter().any(|(older, now)| *now == missing && is_given(older));
        let similar = |given: &&String| absent && suggest::one(given, [missing]).is_some();
        self.map.keys().find(similar)
    }

    fn text(&self, key: &str, problems: &mut Diagnostics<'_>) -> Option<RawText> {
        let pointer = self.below(key);
        match self.map.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(RawText { text: text.clone(), pointer }),
            other => {
                not_text(&format!("`{key}`"), &pointer, other, problems);
                None
            }
        }
    }

    fn texts(&self, key: &str, problems: &mut Diagnostics<'_>) -> Vec<RawText> {
        let pointer = self.below(key);
        match self.map.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => {
                let text = |(index, item): (usize, &Value)| match (format!("{pointer}/{index}"), item) {
                    (pointer, Value::String(text)) => Some(RawText { text: text.clone(), pointer }),
                    (pointer, other) => {
                        not_text(&format!("an item of `{key}`"), &pointer, other, problems);
                        None
                    }
                };
                items.iter().enumerate().filter_map(text).collect()
            }
            Some(other) => {
                let message = format!("`{key}` must be a list of texts, got {}", kind(other));
                problems.at(&pointer, message, None);
                Vec::new()
            }
        }
    }
}

fn not_text(what: &str, pointer: &str, got: &Value, problems: &mut Diagnostics<'_>) {
    let hint = matches!(got, Value::Bool(_) | Value::Number(_)).then(|| format!("quote it: \"{got}\""));
    problems.at(pointer, format!("{what} must be text, got {}", kind(got)), hint);
}

#[cfg(test)]
mod tests;
