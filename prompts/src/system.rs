//! The system message: output format first, then who the role is, where it works, how it works.
//!
//! Apart because it is the prefix every request of a role has in common: it depends on the workflow, the directory
//! with the project's own words in it and the tools alone, never on what has happened.

use crate::fields::{Field, SchemaForm, fields};
use crate::templates::{PromptError, context, render};
use crate::views::{RoleView, SystemView, WorkspaceView};
use crate::{example, project, quote};
use serde::Serialize;
use serde_json::Value;

/// The longest entry of a role's `artifacts` that is shown, in characters: a workflow has no longer one.
const ARTIFACT: usize = 4_096;

/// The system message of a role. Byte-identical for the same view, so over all turns and visits.
///
/// # Errors
/// The template cannot be rendered.
pub fn system(view: &SystemView<'_>) -> Result<String, PromptError> {
    let parts = [
        output_format(view.schema)?,
        role(&view.role)?,
        render(&view.workspace)?,
        render(&Guidelines { tools: !view.workspace.tools.is_empty(), own_tools: view.workspace.own_tools })?,
    ];
    let parts = parts.into_iter().chain(project::part(&view.project)?);
    Ok(parts.collect::<Vec<_>>().join("\n\n"))
}

#[derive(Default, Serialize)]
pub(crate) struct OutputFormat<'a> {
    several: bool,
    forms: String,
    suspend_reason: &'a str,
}
context!(OutputFormat<'_>, "output_format");

#[derive(Default, Serialize)]
pub(crate) struct FormText {
    heading: String,
    description: String,
    fields: String,
    rules: Vec<String>,
    example: String,
}
context!(FormText, "form");

#[derive(Default, Serialize)]
pub(crate) struct FieldText<'a> {
    indent: String,
    label: &'a str,
    kind: &'a str,
    need: Option<&'a str>,
    rules: &'a [String],
    description: &'a str,
}
context!(FieldText<'_>, "field");

#[derive(Default, Serialize)]
pub(crate) struct ExampleAnswer<'a> {
    yaml: &'a str,
    body: &'a str,
}
context!(ExampleAnswer<'_>, "example_answer");

context!(RoleView<'_>, "role");
context!(WorkspaceView<'_>, "workspace");

#[derive(Default, Serialize)]
pub(crate) struct Guidelines {
    tools: bool,
    own_tools: bool,
}
context!(Guidelines, "guidelines");

fn output_format(schema: &Value) -> Result<String, PromptError> {
    let forms = fields(schema);
    let several = forms.len() > 1;
    let texts: Result<Vec<String>, PromptError> =
        forms.iter().enumerate().map(|(index, form)| form_text(form, several.then_some(index + 1))).collect();
    render(&OutputFormat { several, forms: texts?.join("\n\n"), suspend_reason: example::SUSPEND_REASON })
}

fn form_text(form: &SchemaForm, number: Option<usize>) -> Result<String, PromptError> {
    let heading = match (number, form.statuses.as_slice()) {
        (None, _) => String::new(),
        (Some(number), []) => format!("Form {number}"),
        (Some(number), statuses) => format!("Form {number}: `$status: {}`", statuses.join(" | ")),
    };
    let lines: Result<Vec<String>, PromptError> = form.fields.iter().map(field_text).collect();
    render(&FormText {
        heading,
        description: form.description.clone(),
        fields: lines?.join("\n"),
        rules: form.rules.clone(),
        example: example_answer(&form.example)?,
    })
}

fn field_text(field: &Field) -> Result<String, PromptError> {
    render(&FieldText {
        indent: "  ".repeat(field.depth),
        label: &field.label,
        kind: &field.kind,
        need: field.required.map(|required| if required { "required" } else { "optional" }),
        rules: &field.rules,
        description: &field.description,
    })
}

/// A whole answer around the YAML of one form.
pub(crate) fn example_answer(yaml: &str) -> Result<String, PromptError> {
    render(&ExampleAnswer { yaml: yaml.trim_end(), body: example::BODY })
}

fn role(view: &RoleView<'_>) -> Result<String, PromptError> {
    let artifacts: Vec<String> =
        view.artifacts.iter().map(|artifact| quote::inline(artifact, ARTIFACT)).collect();
    render(&RoleView {
        artifacts: &artifacts,
        description: view.description.trim(),
        goal: view.goal.trim(),
        procedure: view.procedure.trim(),
        output: view.output.trim(),
        ..*view
    })
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
