//! What the model thought has to come back: where, and in which form.

use serde_json::Value;

use super::super::mode::Kind;
use super::super::refusal::{Checked, refuse};
use super::{Chat, calls, has_tools, id, replies, turn_begins};

/// The value that is taken for a signature where there is none.
const DUMMIES: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// Whether a thought is there, if only an empty one.
fn thought(chat: &Chat, message: &Value) -> bool {
    match message["reasoning_content"].as_str() {
        Some("") => !chat.mode.space,
        thought => thought.is_some(),
    }
}

/// DeepSeek wants thoughts on every message of the model as soon as there are tools, Moonshot on those with calls.
pub(super) fn thoughts(chat: &Chat) -> Checked {
    let off = chat.body["thinking"]["type"] == "disabled";
    let tools = has_tools(chat) || replies(chat).any(|(_, message)| !calls(message).is_empty());
    let missing = |with_calls_only: bool| {
        replies(chat)
            .find(|(_, message)| !(thought(chat, message) || with_calls_only && calls(message).is_empty()))
    };
    match chat.mode.kind {
        Kind::DeepSeek if tools && !off && missing(false).is_some() => {
            Err(refuse("The `reasoning_content` in the thinking mode must be passed back to the API."))
        }
        Kind::Moonshot if !off => match missing(true) {
            Some((at, _)) => Err(refuse(format!(
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index {at}"
            ))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The array comes back as it was, and may be missing only where the turn it belongs to is over.
pub(super) fn details(chat: &Chat) -> Checked {
    let needed = chat.mode.kind.routes();
    if !needed && chat.mode.kind != Kind::MiniMax {
        return Ok(());
    }
    for (at, message) in replies(chat) {
        let Some(issued) = calls(message).first().and_then(|call| chat.state.issued.get(id(call))) else {
            continue;
        };
        match &message["reasoning_details"] {
            Value::Null if needed && at >= turn_begins(chat) => {
                return Err(missing(chat.mode.kind, at, &calls(message)[0]));
            }
            Value::Null => {}
            details if *details == issued.whole => {}
            _ if chat.mode.kind == Kind::OpenRouterGemini => {
                return Err(refuse("Corrupted thought signature."));
            }
            _ => {
                return Err(refuse(format!(
                    "messages.{at}.content.0: Invalid `signature` in `thinking` block"
                )));
            }
        }
    }
    Ok(())
}

fn missing(kind: Kind, at: usize, call: &Value) -> super::super::Refusal {
    match kind {
        Kind::OpenRouterClaude => refuse(format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )),
        _ => unsigned(call, at),
    }
}

fn unsigned(call: &Value, at: usize) -> super::super::Refusal {
    let name = call["function"]["name"].as_str().unwrap_or("");
    refuse(format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position {at}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    ))
}

/// Gemini: the first call of each step of the current turn is signed, with the signature that it was given.
pub(super) fn signatures(chat: &Chat) -> Checked {
    if chat.mode.kind != Kind::Gemini {
        return Ok(());
    }
    for (at, message) in replies(chat) {
        for (n, call) in calls(message).iter().enumerate() {
            let signature = call["extra_content"]["google"]["thought_signature"].as_str();
            match signature {
                None if n == 0 && at >= turn_begins(chat) => return Err(unsigned(call, at + 1)),
                None => {}
                Some(dummy) if DUMMIES.contains(&dummy) => {}
                Some(signature) => {
                    let issued = chat.state.issued.get(signature);
                    if issued.is_none_or(|issued| issued.whole != call["id"]) {
                        return Err(refuse("Corrupted thought signature."));
                    }
                }
            }
        }
    }
    Ok(())
}
