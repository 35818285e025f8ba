//! What a script expects of the request it answers, so that a script that no longer fits its run fails loudly.
//!
//! Apart because it looks at requests, which the rest of a script never does.

use serde_json::Value;

use crate::provider::message::{Message, Request, Speaker};

/// The keys of `expect:`.
pub(super) const KEYS: &[&str] =
    &["last_contains", "last_role", "contains", "lacks", "system_contains", "tools"];

/// Everything a request must fulfil; empty: anything goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScriptExpectation {
    /// Texts in the last message.
    pub(super) last_contains: Vec<String>,
    /// Texts in some message.
    pub(super) contains: Vec<String>,
    /// Texts in no message.
    pub(super) lacks: Vec<String>,
    /// Texts in the system message.
    pub(super) system_contains: Vec<String>,
    /// Tools that are declared.
    pub(super) tools: Vec<String>,
    /// Who speaks last: `user`, `tool` …
    pub(super) last_role: Option<String>,
}

impl ScriptExpectation {
    /// `Err` says which expectation the request does not fulfil.
    pub(crate) fn check(&self, request: &Request<'_>) -> Result<(), String> {
        let last = request.messages.last();
        let within = |message: Option<&Message>, text: &String| {
            message.is_some_and(|message| message.content.contains(text.as_str()))
        };
        let anywhere = |text: &&String| request.messages.iter().any(|message| within(Some(message), text));
        let system = request.messages.iter().find(|message| message.role == Speaker::System);
        if let Some(text) = self.last_contains.iter().find(|text| !within(last, text)) {
            return Err(format!("expects the last message to contain {text:?}, it is {}", quoted(last)));
        }
        if let Some(text) = self.system_contains.iter().find(|text| !within(system, text)) {
            return Err(format!("expects the system message to contain {text:?}, it is {}", quoted(system)));
        }
        if let Some(text) = self.contains.iter().find(|text| !anywhere(text)) {
            return Err(format!("expects a message to contain {text:?}, none does"));
        }
        if let Some(text) = self.lacks.iter().find(anywhere) {
            return Err(format!("expects no message to contain {text:?}, one does"));
        }
        self.check_speaker(last)?;
        self.check_tools(request)
    }

    fn check_speaker(&self, last: Option<&Message>) -> Result<(), String> {
        let Some(expected) = &self.last_role else { return Ok(()) };
        match last.map(|message| message.role.as_str()) {
            Some(got) if got == expected => Ok(()),
            got => Err(format!(
                "expects the last message from {expected}, it is from {}",
                got.unwrap_or("nobody")
            )),
        }
    }

    fn check_tools(&self, request: &Request<'_>) -> Result<(), String> {
        let declared = |name: &String| request.tools.iter().any(|tool| tool.name == *name);
        match self.tools.iter().find(|name| !declared(name)) {
            Some(name) => Err(format!("expects the tool {name}, it is not declared")),
            None => Ok(()),
        }
    }
}

/// One text or several.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// The start of a message, for people.
fn quoted(message: Option<&Message>) -> String {
    let Some(message) = message else { return "missing".to_owned() };
    let start: String = message.content.chars().take(120).collect();
    let more = if start.len() < message.content.len() { "…" } else { "" };
    format!("{start:?}{more}")
}
