//! From the reason why an answer was refused to the turn that asks for a better one. At most [`MAX`] of them.
//!
//! Apart from `frontmatter` because that one judges and this one speaks; the words are in uwf-prompts.

use serde_json::Value;
use uwf_prompts::{CorrectionView, PromptError, ViolationView};
use uwf_store::schema::Violation;

use crate::frontmatter::ExtractError;
use crate::provider::message::{Message, MessageKind, Speaker};

/// How many corrections a run gives.
pub(crate) const MAX: usize = 2;

/// The correction turn: the exact errors, and the shape that is expected. `attempt` counts from 1.
///
/// # Errors
/// A template that does not render: a bug of ours.
pub(crate) fn turn(error: &ExtractError, schema: &Value, attempt: usize) -> Result<Message, PromptError> {
    let violations;
    let view = match error {
        ExtractError::NoFrontmatter(_) | ExtractError::Schema(_) => CorrectionView::NoFrontmatter { schema },
        ExtractError::NotMapping { got } => CorrectionView::NotMapping { got, schema },
        ExtractError::Yaml { line, column, message, yaml } => {
            CorrectionView::BadYaml { line: *line, column: *column, message, yaml, schema }
        }
        ExtractError::Placeholder { path, placeholder, status } => {
            CorrectionView::Placeholder { path, placeholder, status: status.as_deref(), schema }
        }
        ExtractError::Invalid { violations: found, status } => {
            violations = found.iter().map(violation_view).collect::<Vec<_>>();
            CorrectionView::Violations { violations: &violations, status: status.as_deref(), schema }
        }
    };
    let text = uwf_prompts::correction(&view, attempt, MAX)?;
    Ok(Message::text(Speaker::User, MessageKind::Correction, text))
}

fn violation_view(violation: &Violation) -> ViolationView<'_> {
    ViolationView {
        path: &violation.path,
        message: &violation.message,
        expected: violation.expected.as_deref(),
        got: violation.got.as_ref(),
    }
}
