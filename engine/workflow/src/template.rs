//! Edge-prompt templates: Mustache without escaping.
//!
//! Apart because the text it makes must be byte-identical to what other implementations of the format make from the
//! same output: the rules (tags, standalone lines, scopes, what is false) are those of mustache.js, and numbers print
//! as JavaScript prints them. It is pure, and it is bounded: sections nest [`MAX_SECTIONS`] deep at most, and a
//! template that multiplies lists ends in an error instead of running on. Partials are empty: there are no files here.

mod parse;
mod render;
#[cfg(test)]
mod tests;

use serde_json::Value;

use parse::TemplatePart;

/// Sections nested deeper than this are refused.
pub const MAX_SECTIONS: usize = 64;

/// Why a template cannot be rendered. Offsets are in bytes of the template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A tag without its end.
    #[error("a tag is not closed: `{tag}`")]
    UnclosedTag {
        /// Where the tag opens.
        offset: usize,
        /// The start of the tag as written.
        tag: String,
    },
    /// An end tag without a section.
    #[error("`{{{{/{name}}}}}` closes a section that is not open")]
    Unopened {
        /// Where the end tag opens.
        offset: usize,
        /// The name in the end tag.
        name: String,
    },
    /// A section that ends with the template or with the end tag of another one.
    #[error("section `{name}` is not closed{}", .found.as_ref().map(|found| format!(": found `{{{{/{found}}}}}`")).unwrap_or_default())]
    Unclosed {
        /// Where the section opens.
        offset: usize,
        /// The section's name.
        name: String,
        /// The name in the end tag that was found instead; `None` at the end of the template.
        found: Option<String>,
    },
    /// A set-delimiters tag that does not hold two delimiters.
    #[error("`{got}` does not give two delimiters")]
    Delimiters {
        /// Where the tag opens.
        offset: usize,
        /// What the tag holds.
        got: String,
    },
    /// More than [`MAX_SECTIONS`] sections inside each other.
    #[error("sections nest deeper than {MAX_SECTIONS} levels")]
    TooDeep {
        /// Where the section opens that is one too many.
        offset: usize,
    },
    /// The rendered text, or the work for it, went beyond bounds.
    #[error("the template renders to too much")]
    TooMuch {
        /// The tag or text at which it did.
        offset: usize,
    },
}

impl TemplateError {
    /// Where in the template, in bytes.
    pub fn offset(&self) -> usize {
        match self {
            TemplateError::UnclosedTag { offset, .. }
            | TemplateError::Unopened { offset, .. }
            | TemplateError::Unclosed { offset, .. }
            | TemplateError::Delimiters { offset, .. }
            | TemplateError::TooDeep { offset }
            | TemplateError::TooMuch { offset } => *offset,
        }
    }
}

/// A name that a template looks up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// As written, dots included: `issue.title`.
    pub name: String,
    /// Where its tag opens, in bytes.
    pub offset: usize,
    /// The names of the sections around it, outermost first: inside `{{#issues}}`, `title` may be an item's.
    /// Inverted sections are not among them, they open no scope.
    pub within: Vec<String>,
}

/// Renders a template with a role's output. A name that is not there is the empty text.
///
/// # Errors
/// On a template that does not parse, and on one whose result is beyond bounds.
pub fn render(template: &str, data: &Value) -> Result<String, TemplateError> {
    render::render(&parse::parse(template)?, data)
}

/// All names that a template looks up, in order of appearance; `{{.}}` is none.
///
/// # Errors
/// On a template that does not parse.
pub fn names(template: &str) -> Result<Vec<Name>, TemplateError> {
    let mut found = Vec::new();
    collect(&parse::parse(template)?, &mut Vec::new(), &mut found);
    Ok(found)
}

fn collect(parts: &[TemplatePart<'_>], within: &mut Vec<String>, found: &mut Vec<Name>) {
    for part in parts {
        if let TemplatePart::Variable { name, offset } | TemplatePart::Section { name, offset, .. } = part
            && *name != "."
        {
            found.push(Name { name: (*name).to_owned(), offset: *offset, within: within.clone() });
        }
        match part {
            TemplatePart::Section { inverted: true, parts, .. } => collect(parts, within, found),
            TemplatePart::Section { name, parts, .. } => {
                within.push((*name).to_owned());
                collect(parts, within, found);
                within.pop();
            }
            TemplatePart::Text { .. } | TemplatePart::Variable { .. } => {}
        }
    }
}
