//! The one way a template becomes text: strict, unescaped, from a typed context.
//!
//! Apart from the rest so that no other file knows the template language. A context is flat (text, numbers,
//! flags and lists of text), which lets a test compare the names a template uses with the names it is given.
//! Nothing here holds words or chooses between templates.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;

/// Why a prompt could not be written. With the templates of this crate it does not happen (a test renders each).
#[derive(Debug, thiserror::Error)]
#[error("Could not render the prompt template '{template}'")]
pub struct PromptError {
    /// The template's file name without `.md`.
    pub template: &'static str,
    /// What the template engine found wrong, with the line.
    pub source: minijinja::Error,
}

/// The names one template is rendered with.
pub(crate) trait Context: Serialize {
    /// The template's file name without `.md`.
    const NAME: &'static str;
    /// The template's text.
    const SOURCE: &'static str;
}

/// `context!(RoleView<'_>, "role")`: the struct `RoleView` holds what `templates/role.md` uses.
macro_rules! context {
    ($context:ty, $file:literal) => {
        impl $crate::templates::Context for $context {
            const NAME: &'static str = $file;
            const SOURCE: &'static str = include_str!(concat!("../templates/", $file, ".md"));
        }
    };
}
pub(crate) use context;

/// The template's text with the names filled in; no blank lines at either end.
pub(crate) fn render<C: Context>(context: &C) -> Result<String, PromptError> {
    let names = minijinja::Value::from(Serde(context));
    let text = environment()
        .and_then(|environment| environment.template_from_named_str(C::NAME, C::SOURCE)?.render(names))
        .map_err(|source| PromptError { template: C::NAME, source })?;
    Ok(text.trim_matches('\n').to_owned())
}

/// Built for each call: a template is about a kilobyte, parsing it costs microseconds, and nothing is global.
fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    Ok(environment)
}

#[cfg(test)]
#[path = "templates_tests.rs"]
mod tests;
