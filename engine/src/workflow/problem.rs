//! What is wrong with a workflow file, and where.
//!
//! Apart because three stages report into one list: including files, reading the shape, checking the meaning. An
//! author sees all problems at once, in the order of the text.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use super::include::Source;
use crate::yaml::Mark;

/// One thing an author has to mend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The workflow file, or the file it includes.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, with which thing.
    pub message: String,
    /// What to write instead, where there is something to say.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file.display(), self.line, self.column, self.message)
    }
}

/// How many pairs of names are compared for one workflow before nothing is suggested any more.
const COMPARED: usize = 100_000;
/// Names listed in a hint.
const LISTED: usize = 30;

/// Collects problems against JSON pointers into one workflow source.
pub(super) struct Problems<'s> {
    source: &'s Source,
    found: Vec<Problem>,
    /// What is left of [`COMPARED`].
    comparisons: usize,
}

impl<'s> Problems<'s> {
    pub(super) fn new(source: &'s Source) -> Problems<'s> {
        Problems { source, found: Vec::new(), comparisons: COMPARED }
    }

    /// `did you mean`, for a name that resembles a known one; else what there is. Nothing when too many names have been
    /// compared already: in a large workflow with many mistakes it would take minutes.
    pub(super) fn meant<S: AsRef<str>>(
        &mut self,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Option<String> {
        let known = self.affordable(known)?;
        meant(name, &known)
    }

    /// The one known name that was probably meant, as far as that can be afforded.
    pub(super) fn nearest<S: AsRef<str>>(
        &mut self,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Option<String> {
        let known = self.affordable(known)?;
        crate::nearest::one(name, &known)
    }

    fn affordable<S>(&mut self, known: impl IntoIterator<Item = S>) -> Option<Vec<S>> {
        if self.comparisons == 0 {
            return None;
        }
        let known: Vec<S> = known.into_iter().collect();
        self.comparisons = self.comparisons.saturating_sub(known.len());
        Some(known)
    }

    /// A problem with the value at the pointer.
    pub(super) fn at(&mut self, pointer: &str, message: String, hint: impl Into<Option<String>>) {
        let (file, mark) = self.source.locate(pointer);
        self.push(pointer, (file.to_owned(), mark), message, hint.into());
    }

    /// A problem with the key at the pointer: with its name, or with what is missing below it.
    pub(super) fn at_key(&mut self, pointer: &str, message: String, hint: impl Into<Option<String>>) {
        let (file, mark) = self.source.locate_key(pointer);
        self.push(pointer, (file.to_owned(), mark), message, hint.into());
    }

    fn push(&mut self, pointer: &str, place: (PathBuf, Mark), message: String, hint: Option<String>) {
        // What could not be included has its problem already; whatever stands in for it is not the author's.
        if !self.source.is_missing(pointer) {
            let (file, Mark { line, column }) = place;
            self.found.push(Problem { file, line, column, message, hint });
        }
    }

    pub(super) fn into_found(self) -> Vec<Problem> {
        self.found
    }
}

/// `did you mean`, for a name that resembles a known one; else what there is.
pub(super) fn meant<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Option<String> {
    let known = crate::nearest::sorted(name, known);
    if known.is_empty() {
        return None;
    }
    let more = match known.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let there_is = format!("{}{more}", known[..known.len().min(LISTED)].join(", "));
    Some(match crate::nearest::one(name, &known) {
        Some(nearest) => format!("did you mean `{nearest}`? there is: {there_is}"),
        None => format!("there is: {there_is}"),
    })
}

/// What a value is, in an author's words.
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("{value}"),
        Value::String(_) => "text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}
