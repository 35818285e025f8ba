//! A completion as the body of a reply, the shape an endpoint sends when it does not stream.
//!
//! Apart because three sides write it: an assembled stream (for the journal), the scripted model and the mock server.

use serde_json::{Map, Value, json};

use crate::provider::message::{Completion, TokenUsage, ToolCall};

/// The body of `completion`. `head` holds the fields of the reply as a whole (`id`, `model` …); what is about the
/// answer is overwritten.
pub(crate) fn body(mut head: Map<String, Value>, completion: &Completion) -> Value {
    let choice =
        json!({ "index": 0, "message": message(completion), "finish_reason": completion.finish_reason });
    head.insert("object".to_owned(), json!("chat.completion"));
    head.insert("choices".to_owned(), json!([choice]));
    head.remove("usage");
    if let Some(usage) = &completion.usage {
        head.insert("usage".to_owned(), self::usage(usage));
    }
    Value::Object(head)
}

fn message(completion: &Completion) -> Value {
    let mut message = json!({ "role": "assistant", "content": completion.content });
    if completion.content.is_empty() {
        message["content"] = Value::Null;
    }
    if let Some(reasoning) = &completion.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    if !completion.tool_calls.is_empty() {
        message["tool_calls"] = completion.tool_calls.iter().map(call).collect();
    }
    message
}

fn call(call: &ToolCall) -> Value {
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": call.arguments } })
}

/// Tokens as an endpoint counts them.
pub(crate) fn usage(usage: &TokenUsage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": { "cached_tokens": usage.cached_tokens },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
    })
}
