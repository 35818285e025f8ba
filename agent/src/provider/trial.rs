//! A small conversation with an endpoint: one tool, and the turn after its result. For people who wonder whether a run
//! would get through.
//!
//! Apart from the loop because nothing of it is journalled, and its tool does nothing.

use serde_json::json;

use super::message::{
    Completion, Message, MessageKind, Request, Sampling, Speaker, TokenUsage, ToolChoice, ToolDeclaration,
};
use super::{ChatProvider, CompletionEvent, HttpProvider, ProviderError};

/// What came of it.
#[derive(Debug)]
pub struct Trial {
    /// Whether the model called the tool.
    pub tool_called: bool,
    /// What had to be asked otherwise, in words.
    pub changes: Vec<String>,
    /// The tokens of the second turn.
    pub usage: Option<TokenUsage>,
}

/// Repeated so often, the rules are long enough for every endpoint's prompt cache.
const RULES: usize = 70;

/// Asks the model to call a tool, and gives it the result.
///
/// # Errors
/// The endpoint's refusal of either turn.
pub async fn trial(
    provider: &mut HttpProvider,
    model: &str,
    sampling: &Sampling,
) -> Result<Trial, ProviderError> {
    let rule = "Answer in one short sentence. Call the tool when you are asked to, and say what it gave.\n";
    let tool = ToolDeclaration {
        name: "echo".to_owned(),
        description: "Gives back the text that it is given.".to_owned(),
        parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    };
    let mut messages = vec![
        Message::text(Speaker::System, MessageKind::Opening, rule.repeat(RULES)),
        Message::text(Speaker::User, MessageKind::Opening, "Call the tool echo with the text `ready`."),
    ];
    let mut changes = Vec::new();
    let mut ask = async |messages: &[Message]| {
        let tools = std::slice::from_ref(&tool);
        let request = Request { messages, tools, tool_choice: ToolChoice::Auto, model, sampling };
        let on_event = &mut |event: CompletionEvent<'_>| {
            if let CompletionEvent::Learnt { change, .. } = event {
                changes.push(change.to_owned());
            }
        };
        provider.complete(request, on_event).await
    };
    let Completion { content, reasoning, tool_calls, native, .. } = ask(&messages).await?;
    let tool_called = !tool_calls.is_empty();
    let results: Vec<Message> = tool_calls.iter().map(|call| Message::result(&call.id, "ready")).collect();
    let turn = Message {
        reasoning,
        tool_calls,
        native,
        ..Message::text(Speaker::Assistant, MessageKind::Turn, content)
    };
    // An endpoint takes no empty turn.
    messages.extend((!turn.says_nothing()).then_some(turn));
    messages.extend(results);
    if !tool_called {
        messages.push(Message::text(Speaker::User, MessageKind::Nudge, "Go on."));
    }
    let usage = ask(&messages).await?.usage;
    Ok(Trial { tool_called, changes, usage })
}
