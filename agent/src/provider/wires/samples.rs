//! What the tests of all wires write: a conversation with everything in it, for a target of their choice.

use serde_json::{Value, json};
use uwf_store::json::line;

use super::RequestTarget;
use super::written::Written;
use crate::provider::dialect::Dialect;
use crate::provider::message::{
    Message, MessageKind, ModelOrigin, Native, Request, Sampling, Speaker, ToolCall, ToolChoice,
    ToolDeclaration,
};
use crate::provider::model_facts::ModelFacts;

/// An endpoint as a test wants it.
pub(in crate::provider) struct Sample {
    pub(in crate::provider) origin: ModelOrigin,
    pub(in crate::provider) dialect: Dialect,
    pub(in crate::provider) model: ModelFacts,
    pub(in crate::provider) stream: bool,
    pub(in crate::provider) sampling: Sampling,
    pub(in crate::provider) tool_choice: ToolChoice,
}

impl Sample {
    /// An endpoint with the dialect of that name, and a model of which nothing is known.
    pub(in crate::provider) fn new(dialect: &str) -> Sample {
        let dialect = Dialect::named(dialect).unwrap();
        Sample {
            origin: ModelOrigin { wire: dialect.wire, host: "llm.example".into(), model: "m".into() },
            dialect,
            model: ModelFacts::default(),
            stream: true,
            sampling: Sampling::default(),
            tool_choice: ToolChoice::Auto,
        }
    }

    pub(in crate::provider) fn target(&self) -> RequestTarget<'_> {
        let Sample { origin, dialect, model, stream, .. } = self;
        RequestTarget { origin, dialect, model, cache_key: "thread-role", stream: *stream }
    }

    /// A native part that this endpoint said.
    pub(in crate::provider) fn native(&self, value: &Value) -> Option<Native> {
        Some(Native { origin: self.origin.clone(), value: line(value), prefix_changed: false })
    }

    /// The body of a request.
    pub(in crate::provider) fn body(&self, messages: &[Message], tools: &[ToolDeclaration]) -> Value {
        serde_json::from_str(&self.text(messages, tools)).unwrap()
    }

    /// The same, byte for byte.
    pub(in crate::provider) fn text(&self, messages: &[Message], tools: &[ToolDeclaration]) -> String {
        let Sample { sampling, tool_choice, .. } = self;
        let request = Request { messages, tools, tool_choice: *tool_choice, model: "m", sampling };
        let written = &mut Written::default();
        serde_json::to_string(&self.dialect.wire.write(&request, &self.target(), written).fields).unwrap()
    }
}

pub(in crate::provider) fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "read_file".into(), arguments: arguments.into() }
}

/// The rules, the task, a turn of two calls of which one is no JSON, their results, an answer and a nudge.
pub(in crate::provider) fn conversation() -> Vec<Message> {
    let mut turn = Message::text(Speaker::Assistant, MessageKind::Turn, "");
    turn.tool_calls = vec![call("a1", r#"{"path": "x"}"#), call("a2", r#"{"path": "#)];
    turn.reasoning = Some("hm".into());
    let mut answer = Message::text(Speaker::Assistant, MessageKind::Turn, "Done.");
    answer.reasoning = Some("so".into());
    vec![
        Message::text(Speaker::System, MessageKind::Opening, "You review."),
        Message::text(Speaker::User, MessageKind::Opening, "Review."),
        turn,
        Message::result("a1", "text"),
        Message::result("a2", "no JSON"),
        answer,
        Message::text(Speaker::User, MessageKind::Nudge, "Go on."),
    ]
}

pub(in crate::provider) fn tools() -> [ToolDeclaration; 2] {
    let tool =
        |name: &str, parameters| ToolDeclaration { name: name.into(), description: "d".into(), parameters };
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    [tool("read_file", schema), tool("list_dir", json!({}))]
}
