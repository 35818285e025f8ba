//! What the model says, and what it has seen before it says it.

use serde_json::Value;

use super::State;

/// What a model is asked for when a conversation becomes too long.
pub(super) const SUMMARY: &str = "Write a summary of your work";

/// One turn of the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) thinking: Option<String>,
    pub(crate) text: String,
    /// Tools and their arguments.
    pub(crate) calls: Vec<(String, Value)>,
    /// The vendor's word for how the turn ended, where it is not the usual one.
    pub(crate) finish: Option<String>,
    /// A redacted thought after the first thought (Messages).
    pub(crate) redacted: bool,
    /// A thought before each call but the first, too (Messages).
    pub(crate) interleaved: bool,
    /// What was generated instead of a call that can be read; reported once (Groq).
    pub(crate) malformed: Option<String>,
}

impl Turn {
    pub(crate) fn text(text: &str) -> Turn {
        Turn { text: text.to_owned(), ..Turn::default() }
    }

    pub(crate) fn call(name: &str, arguments: Value) -> Turn {
        Turn::default().and(name, arguments)
    }

    /// One more call.
    pub(crate) fn and(mut self, name: &str, arguments: Value) -> Turn {
        self.calls.push((name.to_owned(), arguments));
        self
    }

    pub(crate) fn thinking(self, thinking: &str) -> Turn {
        Turn { thinking: Some(thinking.to_owned()), ..self }
    }

    pub(crate) fn saying(self, text: &str) -> Turn {
        Turn { text: text.to_owned(), ..self }
    }

    pub(crate) fn finish(self, reason: &str) -> Turn {
        Turn { finish: Some(reason.to_owned()), ..self }
    }

    pub(crate) fn interleaved(self) -> Turn {
        Turn { redacted: true, interleaved: true, ..self }
    }

    pub(crate) fn malformed(text: &str) -> Turn {
        Turn { malformed: Some(text.to_owned()), ..Turn::text("") }
    }

    /// Everything that is generated, for counting.
    pub(super) fn generated(&self) -> String {
        let calls = self.calls.iter().map(|(name, arguments)| format!("{name}{arguments}"));
        calls
            .fold(format!("{}{}", self.thinking.as_deref().unwrap_or(""), self.text), |all, call| all + &call)
    }
}

/// The conversation as the model sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Which turn comes next. It is the one after the last turn that the request still holds, so it does not change
    /// when older ones are summed up.
    pub(crate) turn: usize,
    /// The text of the last message, result or item.
    pub(crate) last: String,
    /// The whole body.
    pub(crate) body: Value,
}

impl Seen {
    /// `replies` are the call ids of each turn of the model in the request.
    pub(super) fn new(state: &State, replies: &[Vec<String>], last: String, body: &Value) -> Seen {
        let known = replies.iter().enumerate().rev().find_map(|(at, ids)| {
            let turn = ids.iter().find_map(|id| state.minted.get(id))?;
            Some(turn + replies.len() - at)
        });
        Seen { turn: known.unwrap_or(replies.len()), last, body: body.clone() }
    }
}

/// The text of a content: a string, or the texts of its parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let text = |part: &Value| match &part["text"] {
                Value::String(text) => text.clone(),
                _ => text_of(&part["content"]),
            };
            parts.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
