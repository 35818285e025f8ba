//! Parser events → a JSON value and its places.
//!
//! Apart because it is the one stateful part of the reader: a stack of open collections, and the anchors seen so far.

use std::collections::{BTreeMap, HashMap};

use saphyr_parser::{Event, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::{MAX_DEPTH, Position, Positions, QUOTE_TEMPLATE, YamlError, scalar};

/// What all aliases of a text may expand to together, in weight.
const MAX_EXPANSION: usize = 8 << 20;
/// The weight of a value, in bytes of text: about what it takes in memory besides its text.
const NODE: usize = 64;

pub(super) struct Builder<'a> {
    text: &'a str,
    open: Vec<Open>,
    anchors: HashMap<usize, Built>,
    root: Option<Built>,
    expanded: usize,
}

/// A collection whose end has not come yet.
struct Open {
    contents: Contents,
    anchor: usize,
    place: Positions,
    weight: usize,
    height: usize,
}

enum Contents {
    Sequence(Vec<Value>),
    Mapping { entries: Map<String, Value>, key: Option<(String, Position)> },
}

/// A finished value. The weight counts bytes, the height nested collections.
#[derive(Clone)]
struct Built {
    value: Value,
    place: Positions,
    weight: usize,
    height: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(text: &'a str) -> Builder<'a> {
        Builder { text, open: Vec::new(), anchors: HashMap::new(), root: None, expanded: 0 }
    }

    pub(super) fn accept(&mut self, event: Event<'_>, position: Position) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(YamlError::at(position, "a second document starts here: there must be exactly one"))
            }
            Event::Scalar(text, style, anchor, tag) => {
                let built = scalar_node(&text, style, tag.as_deref(), position);
                self.close(built, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(Contents::Sequence(Vec::new()), anchor, tag.as_deref(), position)
            }
            Event::MappingStart(anchor, tag) => self.begin(
                Contents::Mapping { entries: Map::new(), key: None },
                anchor,
                tag.as_deref(),
                position,
            ),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.expand(anchor, position),
            _ => Ok(()),
        }
    }

    pub(super) fn finish(self) -> (Value, Positions) {
        let empty = || (Value::Null, Positions::new(Position { line: 1, column: 1 }, None));
        self.root.map_or_else(empty, |root| (root.value, root.place))
    }

    fn begin(
        &mut self,
        contents: Contents,
        anchor: usize,
        tag: Option<&Tag>,
        position: Position,
    ) -> Result<(), YamlError> {
        if let Some(parent) = self.open.last().filter(|parent| parent.wants_key()) {
            return Err(self.not_a_key(position, parent));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(position));
        }
        let place = Positions::new(position, application_tag(tag));
        self.open.push(Open { contents, anchor, place, weight: NODE, height: 1 });
        Ok(())
    }

    fn not_a_key(&self, position: Position, parent: &Open) -> YamlError {
        let line = self.text.lines().nth(position.line - 1).unwrap_or_default();
        if line.chars().nth(position.column - 1) == Some('{') {
            return YamlError::at(parent.place.value, QUOTE_TEMPLATE);
        }
        YamlError::at(position, "a key must be a scalar, this is a mapping or a sequence")
    }

    fn end(&mut self) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.contents {
            Contents::Sequence(items) => Value::Array(items),
            Contents::Mapping { mut entries, .. } => {
                entries.sort_keys();
                Value::Object(entries)
            }
        };
        self.close(Built { value, place: open.place, weight: open.weight, height: open.height }, open.anchor)
    }

    fn expand(&mut self, anchor: usize, position: Position) -> Result<(), YamlError> {
        // The parser refuses unknown names, so an anchor without a value is one that is still open.
        let Some(built) = self.anchors.get(&anchor) else {
            return Err(YamlError::at(position, "this alias refers to a value that contains it"));
        };
        self.expanded += built.weight;
        if self.expanded > MAX_EXPANSION {
            return Err(YamlError::at(position, "the aliases expand to too much"));
        }
        if self.open.len() + built.height > MAX_DEPTH {
            return Err(too_deep(position));
        }
        self.close(built.clone(), 0)
    }

    /// Puts a finished value where it belongs: into its collection, as the next key, or as the document.
    fn close(&mut self, built: Built, anchor: usize) -> Result<(), YamlError> {
        if anchor > 0 {
            self.anchors.insert(anchor, built.clone());
        }
        match self.open.last_mut() {
            Some(parent) => parent.add(built),
            None => {
                self.root = Some(built);
                Ok(())
            }
        }
    }
}

impl Open {
    fn wants_key(&self) -> bool {
        matches!(self.contents, Contents::Mapping { key: None, .. })
    }

    fn add(&mut self, mut built: Built) -> Result<(), YamlError> {
        self.weight += built.weight;
        self.height = self.height.max(built.height + 1);
        let name = match &mut self.contents {
            Contents::Sequence(items) => {
                items.push(built.value);
                (items.len() - 1).to_string()
            }
            Contents::Mapping { entries, key } => match key.take() {
                None => {
                    let name = key_name(built)?;
                    return self.begin_entry(name);
                }
                Some((name, position)) => {
                    built.place.key = position;
                    entries.insert(name.clone(), built.value);
                    name
                }
            },
        };
        self.place.children.insert(name, built.place);
        Ok(())
    }

    fn begin_entry(&mut self, (name, position): (String, Position)) -> Result<(), YamlError> {
        if let Some(first) = self.place.children.get(&name) {
            let line = first.key.line;
            return Err(YamlError::at(
                position,
                format!("duplicate key `{name}`, first given on line {line}"),
            ));
        }
        if let Contents::Mapping { key, .. } = &mut self.contents {
            *key = Some((name, position));
        }
        Ok(())
    }
}

impl Positions {
    pub(super) fn new(position: Position, tag: Option<String>) -> Positions {
        Positions { key: position, value: position, tag, children: BTreeMap::new() }
    }
}

fn key_name(built: Built) -> Result<(String, Position), YamlError> {
    let position = built.place.value;
    if built.value.is_object() || built.value.is_array() {
        return Err(YamlError::at(position, "a key must be a scalar, this alias is a mapping or a sequence"));
    }
    Ok((scalar::key(built.value), position))
}

fn scalar_node(text: &str, style: ScalarStyle, tag: Option<&Tag>, position: Position) -> Built {
    let value = match tag {
        Some(tag) if tag.is_yaml_core_schema() => scalar::core_tagged(&tag.suffix, text),
        None if style == ScalarStyle::Plain => scalar::plain(text),
        _ => Value::String(text.to_owned()),
    };
    Built {
        value,
        place: Positions::new(position, application_tag(tag)),
        weight: NODE + text.len(),
        height: 0,
    }
}

fn application_tag(tag: Option<&Tag>) -> Option<String> {
    tag.filter(|tag| !tag.is_yaml_core_schema()).map(|tag| format!("{}{}", tag.handle, tag.suffix))
}

pub(super) fn too_deep(position: Position) -> YamlError {
    YamlError::at(position, format!("nested deeper than {MAX_DEPTH} levels"))
}
