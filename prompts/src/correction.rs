//! What a model is told when its answer is refused: each error with what was there and what is allowed, and an
//! example to fill in.
//!
//! Apart because the first correction decides whether the answer is ever repaired, so it must carry everything. It
//! never parses or validates an answer; it is told what is wrong.

use crate::fields::expectation;
use crate::system::example_answer;
use crate::templates::{PromptError, context, render};
use crate::views::{CorrectionView, ViolationView};
use crate::{example, quote};
use serde::Serialize;
use serde_json::Value;
use uwf_workflow::markdown::fenced;
use uwf_workflow::schema_analysis::forms;

/// The longest value that is shown back to the model, in characters.
const GOT: usize = 300;
/// The longest rule, which the opening has told whole, in characters.
const RULE: usize = 2_000;

/// The answer was refused: what is wrong with it, every error at once, and what a right one looks like.
/// `attempt` counts from 1 to `of`.
///
/// # Errors
/// The template cannot be rendered.
pub fn correction(view: &CorrectionView<'_>, attempt: usize, of: usize) -> Result<String, PromptError> {
    let (schema, status) = match *view {
        CorrectionView::NoFrontmatter { schema }
        | CorrectionView::NotMapping { schema, .. }
        | CorrectionView::BadYaml { schema, .. } => (schema, None),
        CorrectionView::Violations { schema, status, .. }
        | CorrectionView::Placeholder { schema, status, .. } => (schema, status),
    };
    let errors = render_errors(view)?;
    let (examples, several) = examples(schema, status)?;
    Ok([errors, render(&Again { examples, several, attempt, of })?].join("\n\n"))
}

#[derive(Default, Serialize)]
pub(crate) struct NoFrontmatter {}
context!(NoFrontmatter, "correction_no_frontmatter");

#[derive(Default, Serialize)]
pub(crate) struct NotMapping<'a> {
    got: &'a str,
}
context!(NotMapping<'_>, "correction_not_mapping");

#[derive(Default, Serialize)]
pub(crate) struct BadYaml<'a> {
    line: usize,
    column: usize,
    message: &'a str,
    excerpt: Option<String>,
}
context!(BadYaml<'_>, "correction_bad_yaml");

#[derive(Default, Serialize)]
pub(crate) struct Violations {
    count: usize,
    violations: String,
}
context!(Violations, "correction_violations");

#[derive(Default, Serialize)]
pub(crate) struct ViolationText<'a> {
    location: String,
    message: &'a str,
    got: Option<String>,
    expected: Option<String>,
    allowed: Option<String>,
}
context!(ViolationText<'_>, "violation");

#[derive(Default, Serialize)]
pub(crate) struct Placeholder {
    location: String,
    placeholder: String,
    allowed: Option<String>,
}
context!(Placeholder, "correction_placeholder");

#[derive(Default, Serialize)]
pub(crate) struct Again {
    examples: String,
    several: bool,
    attempt: usize,
    of: usize,
}
context!(Again, "correction_again");

fn render_errors(view: &CorrectionView<'_>) -> Result<String, PromptError> {
    match *view {
        CorrectionView::NoFrontmatter { .. } => render(&NoFrontmatter {}),
        CorrectionView::NotMapping { got, .. } => render(&NotMapping { got }),
        CorrectionView::BadYaml { line, column, message, yaml, .. } => {
            render(&BadYaml { line, column, message, excerpt: excerpt(yaml, line) })
        }
        CorrectionView::Violations { violations, status, schema } => {
            let lines: Result<Vec<String>, PromptError> =
                violations.iter().map(|one| violation(one, schema, status)).collect();
            render(&Violations { count: violations.len(), violations: lines?.join("\n") })
        }
        CorrectionView::Placeholder { path, placeholder, status, schema } => render(&Placeholder {
            location: location(path),
            placeholder: quote::inline(placeholder, GOT),
            allowed: allowed(schema, status, path),
        }),
    }
}

fn violation(view: &ViolationView<'_>, schema: &Value, status: Option<&str>) -> Result<String, PromptError> {
    render(&ViolationText {
        location: location(view.path),
        message: &quote::cut(view.message.trim(), RULE, " "),
        got: view.got.map(|value| quote::inline_json(value, GOT)),
        expected: view.expected.map(|expected| quote::cut(expected.trim(), RULE, " ")),
        allowed: allowed(schema, status, view.path),
    })
}

/// What the schema allows at the pointer; nothing for the whole, which the example shows.
fn allowed(schema: &Value, status: Option<&str>, path: &str) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    let mut found: Vec<String> = forms::at(schema, status, path).iter().map(expectation).collect();
    found.dedup();
    (!found.is_empty()).then(|| quote::cut(&found.join(", or "), RULE, " "))
}

fn location(path: &str) -> String {
    if path.is_empty() { "the fields as a whole".to_owned() } else { quote::inline(path, GOT) }
}

fn excerpt(yaml: &str, line: usize) -> Option<String> {
    let text = yaml.lines().nth(line.checked_sub(1)?)?;
    (!text.trim().is_empty()).then(|| fenced("", &quote::cut(text, GOT, " ")))
}

/// The examples of the forms that carry this `$status` (all when none does), and whether they are several.
fn examples(schema: &Value, status: Option<&str>) -> Result<(String, bool), PromptError> {
    let forms = forms::for_status(schema, status);
    let texts: Result<Vec<String>, PromptError> =
        forms.iter().map(|form| example_answer(&example::yaml(form))).collect();
    Ok((texts?.join("\n\n"), forms.len() > 1))
}

#[cfg(test)]
#[path = "correction_tests.rs"]
mod tests;
