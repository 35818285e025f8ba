//! From a text to a checked workflow, or everything that is wrong with it.
//!
//! Apart because it is the way through the stages, each a value: the text and what it includes (`include`), what was
//! typed (`raw`), what it means (`check`).

use std::path::{Path, PathBuf};

use crate::diagnostics::{self, Diagnostic, Diagnostics};
use crate::include::WorkflowText;
use crate::source::Source;
use crate::values::CheckedWorkflow;
use crate::{check, raw};

/// The file says something that cannot be. Holds everything that is wrong with it, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} has {}{}", path.display(), count(problems), lines(problems))]
pub struct Invalid {
    /// The file.
    pub path: PathBuf,
    /// At least one.
    pub problems: Vec<Diagnostic>,
}

fn count(problems: &[Diagnostic]) -> String {
    match problems.len() {
        1 => "a problem".to_owned(),
        many => format!("{many} problems"),
    }
}

fn lines(problems: &[Diagnostic]) -> String {
    let told = diagnostics::told(problems, |problem| problem.with_hint("    "));
    told.into_iter().map(|told| format!("\n  {told}")).collect()
}

/// Reads and checks a workflow.
///
/// # Errors
/// All problems at once.
pub fn read(text: &WorkflowText<'_>) -> Result<CheckedWorkflow, Invalid> {
    let path = text.called;
    let (source, mut found) =
        Source::read(text).map_err(|problem| Invalid { path: path.to_owned(), problems: vec![problem] })?;
    let mut problems = Diagnostics::new(&source);
    let raw = raw::read(source.value(), &mut problems);
    let checked = check::check(raw, &mut problems);
    let (wrong, warnings) = problems.into_found();
    found.extend(wrong);
    if found.is_empty() {
        return Ok(CheckedWorkflow { warnings: in_order(path, warnings), ..checked });
    }
    // Whoever has to mend a file is told of everything at once.
    found.extend(warnings);
    Err(Invalid { path: path.to_owned(), problems: in_order(path, found) })
}

/// Each problem once, the workflow's own file first, then what it includes.
fn in_order(path: &Path, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    problems.sort_by(|a, b| (a.file != path, a).cmp(&(b.file != path, b)));
    problems.dedup();
    problems
}

#[cfg(test)]
mod tests;
