//! What is wrong with a workflow file, and where.
//!
//! Apart because three stages report into one list: including files, reading the shape, checking the meaning. An
//! author sees all problems at once, in the order of the text.

use std::fmt;
use std::path::{Path, PathBuf};

use uwf_store::suggest;

use crate::source::Source;
use crate::yaml::Position;

/// One thing an author has to mend, or has probably not meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
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

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file.display(), self.line, self.column, self.message)
    }
}

impl Diagnostic {
    /// The problem with its hint on a line of its own, which begins with `indent`.
    pub(super) fn with_hint(&self, indent: &str) -> String {
        match &self.hint {
            Some(hint) => format!("{self}\n{indent}hint: {hint}"),
            None => self.to_string(),
        }
    }
}

/// Diagnostics that are told of one file.
const TOLD: usize = 200;

/// Each of many problems as `line` makes a text of it, as far as anybody reads on.
pub(super) fn told(problems: &[Diagnostic], line: impl Fn(&Diagnostic) -> String) -> Vec<String> {
    let more = problems.len().saturating_sub(TOLD);
    let more = (more > 0).then(|| format!("… and {more} more"));
    problems.iter().take(TOLD).map(line).chain(more).collect()
}

/// How many pairs of names are compared for one workflow before nothing is suggested any more.
const COMPARED: usize = 100_000;
/// Names listed in a hint.
const LISTED: usize = 30;

/// Collects problems against JSON pointers into one workflow source.
pub(super) struct Diagnostics<'s> {
    source: &'s Source,
    found: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// What is left of [`COMPARED`].
    comparisons: usize,
}

impl<'s> Diagnostics<'s> {
    pub(super) fn new(source: &'s Source) -> Diagnostics<'s> {
        Diagnostics { source, found: Vec::new(), warnings: Vec::new(), comparisons: COMPARED }
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
        suggest::one(name, &known)
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
        self.found.extend(self.value_at(pointer, message, hint.into()));
    }

    /// A problem with the key at the pointer: with its name, or with what is missing below it.
    pub(super) fn at_key(&mut self, pointer: &str, message: String, hint: impl Into<Option<String>>) {
        self.found.extend(self.key_at(pointer, message, hint.into()));
    }

    /// As [`Diagnostics::at`], of what is probably not meant and does no harm.
    pub(super) fn warn_at(&mut self, pointer: &str, message: String, hint: impl Into<Option<String>>) {
        self.warnings.extend(self.value_at(pointer, message, hint.into()));
    }

    /// As [`Diagnostics::at_key`], of what is probably not meant and does no harm.
    pub(super) fn warn_at_key(&mut self, pointer: &str, message: String, hint: impl Into<Option<String>>) {
        self.warnings.extend(self.key_at(pointer, message, hint.into()));
    }

    fn value_at(&self, pointer: &str, message: String, hint: Option<String>) -> Option<Diagnostic> {
        self.problem(pointer, self.source.locate(pointer), message, hint)
    }

    fn key_at(&self, pointer: &str, message: String, hint: Option<String>) -> Option<Diagnostic> {
        self.problem(pointer, self.source.locate_key(pointer), message, hint)
    }

    /// What could not be included has its problem already; whatever stands in for it is not the author's.
    fn problem(
        &self,
        pointer: &str,
        (file, Position { line, column }): (&Path, Position),
        message: String,
        hint: Option<String>,
    ) -> Option<Diagnostic> {
        let of = || Diagnostic { file: file.to_owned(), line, column, message, hint };
        (!self.source.is_missing(pointer)).then(of)
    }

    /// What must be mended, and what is only warned of.
    pub(super) fn into_found(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        (self.found, self.warnings)
    }
}

/// `did you mean`, for a name that resembles a known one; else what there is.
pub(super) fn meant<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Option<String> {
    let known = suggest::sorted(name, known);
    if known.is_empty() {
        return None;
    }
    let more = match known.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let there_is = format!("{}{more}", known[..known.len().min(LISTED)].join(", "));
    Some(match suggest::one(name, &known) {
        Some(nearest) => format!("did you mean `{nearest}`? there is: {there_is}"),
        None => format!("there is: {there_is}"),
    })
}
