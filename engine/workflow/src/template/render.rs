//! Parts and data → text.
//!
//! Apart because it is where JavaScript's ways show: what is false, how values print, what `.length` is.

use std::borrow::Cow;

use serde_json::Value;

use super::{TemplateError, parse::TemplatePart};

/// Bytes of the rendered text. A prompt is refused long before; this only keeps memory in bounds.
const MAX_OUTPUT: usize = 8 << 20;
/// Parts rendered, so that nested sections over one list cannot run for ever without printing.
const MAX_PARTS: usize = 1 << 20;

pub(super) fn render(parts: &[TemplatePart<'_>], data: &Value) -> Result<String, TemplateError> {
    let mut renderer = Renderer { output: String::new(), parts: 0 };
    renderer.parts(parts, &Scope { view: data, parent: None })?;
    Ok(renderer.output)
}

struct Renderer {
    output: String,
    parts: usize,
}

/// A value whose members are names, and the scopes around it.
struct Scope<'a> {
    view: &'a Value,
    parent: Option<&'a Scope<'a>>,
}

impl Renderer {
    fn parts(&mut self, parts: &[TemplatePart<'_>], scope: &Scope<'_>) -> Result<(), TemplateError> {
        parts.iter().try_for_each(|part| self.part(part, scope))
    }

    fn part(&mut self, part: &TemplatePart<'_>, scope: &Scope<'_>) -> Result<(), TemplateError> {
        let offset = match part {
            TemplatePart::Text { text, offset } => {
                self.output.push_str(text);
                *offset
            }
            TemplatePart::Variable { name, offset } => {
                print(&scope.lookup(name), &mut self.output);
                *offset
            }
            TemplatePart::Section { name, offset, inverted, parts } => {
                let value = scope.lookup(name);
                match inverted {
                    true if is_false(&value) => self.parts(parts, scope)?,
                    false if !is_false(&value) => self.section(parts, &value, scope)?,
                    _ => {}
                }
                *offset
            }
        };
        self.parts += 1;
        if self.output.len() > MAX_OUTPUT || self.parts > MAX_PARTS {
            return Err(TemplateError::TooMuch { offset });
        }
        Ok(())
    }

    fn section(
        &mut self,
        parts: &[TemplatePart<'_>],
        value: &Value,
        scope: &Scope<'_>,
    ) -> Result<(), TemplateError> {
        match value {
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.parts(parts, &Scope { view: item, parent: Some(scope) })),
            Value::Bool(_) => self.parts(parts, scope),
            view => self.parts(parts, &Scope { view, parent: Some(scope) }),
        }
    }
}

impl Scope<'_> {
    /// The innermost value of that name; null if there is none.
    fn lookup(&self, name: &str) -> Cow<'_, Value> {
        if name == "." {
            return Cow::Borrowed(self.view);
        }
        let mut scope = Some(self);
        while let Some(current) = scope {
            if let Some(value) = resolve(current.view, name) {
                return value;
            }
            scope = current.parent;
        }
        Cow::Owned(Value::Null)
    }
}

/// `None` if the last part of the name is no member; a member that is null hides those of the scopes around.
fn resolve<'v>(view: &'v Value, name: &str) -> Option<Cow<'v, Value>> {
    // A leading dot makes no path.
    if name.find('.').is_none_or(|at| at == 0) {
        return if view.is_string() { None } else { member(view, name) };
    }
    let mut value = Cow::Borrowed(view);
    for step in name.split('.') {
        value = match value {
            Cow::Borrowed(value) => member(value, step)?,
            // A length has no members.
            Cow::Owned(_) => return None,
        };
    }
    Some(value)
}

fn member<'v>(value: &'v Value, name: &str) -> Option<Cow<'v, Value>> {
    let length = |length: usize| Some(Cow::Owned(Value::from(length)));
    match value {
        Value::Object(members) => members.get(name).map(Cow::Borrowed),
        Value::Array(items) if name == "length" => length(items.len()),
        Value::Array(items) => {
            let index: usize = name.parse().ok()?;
            // "01" and "+1" are no indices.
            items.get(index).filter(|_| index.to_string() == name).map(Cow::Borrowed)
        }
        Value::String(text) if name == "length" => length(text.encode_utf16().count()),
        _ => None,
    }
}

fn is_false(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => false,
    }
}

/// As JavaScript turns a value into a string, but null into nothing.
fn print(value: &Value, output: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(value) => output.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => {
            output.push_str(ryu_js::Buffer::new().format(number.as_f64().unwrap_or(f64::NAN)));
        }
        Value::String(text) => output.push_str(text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    output.push(',');
                }
                print(item, output);
            }
        }
        Value::Object(_) => output.push_str("[object Object]"),
    }
}
