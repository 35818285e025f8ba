//! A workflow file and what it includes, as one value whose every part knows its file.
//!
//! Apart because the check sees one value and its problems must name many files. It is read by `include`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::yaml::{Document, Position};

/// A parsed file, with the files that stand in the place of its `!include`s.
pub(super) struct Source {
    pub(super) file: PathBuf,
    pub(super) document: Document,
    pub(super) included: BTreeMap<String, Source>,
    pub(super) missing: BTreeSet<String>,
}

impl Source {
    pub(super) fn value(&self) -> &Value {
        &self.document.value
    }

    /// The file and the position of the value at a pointer.
    pub(super) fn locate(&self, pointer: &str) -> (&Path, Position) {
        match self.inside(pointer) {
            Some((source, rest)) => source.locate(rest),
            None => (&self.file, self.document.at(pointer)),
        }
    }

    /// The file and the position of the key at a pointer. The key of an included value stands in the including file.
    pub(super) fn locate_key(&self, pointer: &str) -> (&Path, Position) {
        match self.inside(pointer) {
            Some((source, rest)) if !rest.is_empty() => source.locate_key(rest),
            _ => (&self.file, self.document.at_key(pointer)),
        }
    }

    /// Whether what belongs at the pointer could not be included.
    pub(super) fn is_missing(&self, pointer: &str) -> bool {
        self.missing.iter().any(|missing| below(pointer, missing).is_some())
            || self.inside(pointer).is_some_and(|(source, rest)| source.is_missing(rest))
    }

    fn inside<'p>(&self, pointer: &'p str) -> Option<(&Source, &'p str)> {
        self.included.iter().find_map(|(at, source)| below(pointer, at).map(|rest| (source, rest)))
    }
}

/// The rest of a pointer below another one.
fn below<'p>(pointer: &'p str, above: &str) -> Option<&'p str> {
    pointer.strip_prefix(above).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
