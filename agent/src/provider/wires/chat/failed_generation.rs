//! What a model generated when its endpoint could not read the tool calls in it (400 `tool_use_failed`).
//!
//! Apart because these texts follow templates of models, not the protocol. Only calls of declared tools are taken;
//! anything else is left for a new attempt.

use serde_json::Value;
use uwf_store::json;

use super::chunk::CallPiece;
use super::tool_call_assembler::ToolCallAssembler;
use crate::provider::api_error::ApiError;
use crate::provider::message::{Completion, Request, ToolCall};
use crate::provider::wires::lenient::arguments_of;

/// The completion that the failed generation was meant to be.
pub(in crate::provider) fn completion(api_error: &ApiError, request: &Request<'_>) -> Option<Completion> {
    let generation = api_error.failed_generation.as_deref()?;
    let calls = json_calls(generation).or_else(|| function_calls(generation))?;
    let declared = |call: &(String, String)| request.tools.iter().any(|tool| tool.name == call.0);
    if calls.is_empty() || !calls.iter().all(declared) {
        return None;
    }
    Some(Completion {
        tool_calls: with_ids(&calls, request),
        finish_reason: api_error.code.clone(),
        raw: serde_json::json!({ "failed_generation": generation }),
        ..Completion::default()
    })
}

fn with_ids(calls: &[(String, String)], request: &Request<'_>) -> Vec<ToolCall> {
    let piece = |(name, arguments): &(String, String)| CallPiece::whole(name, arguments);
    let mut taken = ToolCallAssembler::default();
    taken.take_whole(&calls.iter().map(piece).collect::<Vec<_>>());
    taken.finish(request.messages).0
}

/// `{"name": …, "arguments": {…}}`, a list of them, or `{"tool_calls": [{"function": …, "parameters": …}]}`, within
/// any tags.
fn json_calls(text: &str) -> Option<Vec<(String, String)>> {
    let start = text.find(['{', '['])?;
    if text[..start].contains("<function") {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let list = value.get("tool_calls").unwrap_or(&value);
    match list {
        Value::Array(calls) => calls.iter().map(json_call).collect(),
        one => Some(vec![json_call(one)?]),
    }
}

fn json_call(call: &Value) -> Option<(String, String)> {
    let function = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name =
        function.get("name").or_else(|| call.get("function")).or_else(|| call.get("name"))?.as_str()?;
    let arguments =
        [function, call].into_iter().find_map(|at| at.get("arguments").or_else(|| at.get("parameters")));
    Some((name.to_owned(), arguments.cloned().map(arguments_of).unwrap_or_default()))
}

/// `<function=NAME>{…}</function>`, also `<function=NAME{…}` and `<function(NAME){…}`, one or several.
fn function_calls(text: &str) -> Option<Vec<(String, String)>> {
    let call = |text: &str| {
        let (name, rest) = text.split_once(['>', '{', ')', ',', '[']).unwrap_or((text, ""));
        let body = &text[text.len() - rest.len()..];
        let arguments = text.find('{').map_or(body, |brace| &text[brace..]);
        let mut values = serde_json::Deserializer::from_str(arguments).into_iter::<Value>();
        let arguments = match values.next() {
            None => String::new(),
            Some(value) => json::line(&value.ok()?),
        };
        Some((name.trim_matches(['=', '(', '"', ' ']).to_owned(), arguments))
    };
    let mut pieces = text.split("<function");
    pieces.next();
    pieces.map(|piece| call(piece.split("</function>").next()?)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::message::{Sampling, ToolChoice, ToolDeclaration};

    fn calls(generation: &str) -> Option<Vec<(String, String)>> {
        let tools = ["read_file", "list_dir"].map(|name| ToolDeclaration {
            name: name.into(),
            description: String::new(),
            parameters: json!({}),
        });
        let sampling = Sampling::default();
        let request = Request {
            messages: &[],
            tools: &tools,
            tool_choice: ToolChoice::Auto,
            model: "m",
            sampling: &sampling,
        };
        let api_error = ApiError { failed_generation: Some(generation.into()), ..ApiError::words("failed") };
        let completion = completion(&api_error, &request)?;
        Some(completion.tool_calls.into_iter().map(|call| (call.name, call.arguments)).collect())
    }

    #[test]
    fn every_template_is_read() {
        let read = |arguments: &str| Some(vec![("read_file".to_owned(), arguments.to_owned())]);
        for text in [
            r#"{"name": "read_file", "arguments": {"path": "a"}}"#,
            r#"{"name": "read_file", "arguments": "{\"path\":\"a\"}"}"#,
            r#"<tool-use>{"tool_calls": [{"id": "pending", "type": "function", "function": {"name": "read_file"}, "parameters": {"path": "a"}}]}</tool-use>"#,
            r#"<tool_call>[{"name": "read_file", "parameters": {"path": "a"}}]</tool_call>"#,
            r#"<function=read_file>{"path": "a"}</function>"#,
            r#"<function=read_file{"path": "a"}</function>"#,
            r#"Let me look. <function(read_file){"path": "a"}"#,
        ] {
            assert_eq!(calls(text), read(r#"{"path":"a"}"#), "{text}");
        }
        assert_eq!(calls("<function=read_file></function>"), read("{}"));
        let two = calls("<function=list_dir></function><function=read_file>{\"path\":1}</function>").unwrap();
        assert_eq!(two.len(), 2);
    }

    #[test]
    fn what_is_no_call_of_a_declared_tool_is_left() {
        for text in
            ["", "I cannot.", r#"{"name": "rm"}"#, r#"{"answer": 1}"#, "<function=read_file>{\"path\": ", "{"]
        {
            assert_eq!(calls(text), None, "{text}");
        }
    }
}
