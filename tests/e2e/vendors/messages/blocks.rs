//! Messages and their blocks: fields, roles, calls and results.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::mode::{Kind, Mode};
use super::super::refusal::{Checked, refuse};
use super::check::{only, required};
use super::content;

fn known(kind: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    Some(match kind {
        "text" => (&["text"], &["type", "text", "cache_control", "citations"]),
        "thinking" => (&["thinking", "signature"], &["type", "thinking", "signature"]),
        "redacted_thinking" => (&["data"], &["type", "data"]),
        "tool_use" => (&["id", "name", "input"], &["type", "id", "name", "input", "cache_control", "caller"]),
        "tool_result" => (&["tool_use_id"], &["type", "tool_use_id", "content", "is_error", "cache_control"]),
        "image" | "document" => {
            (&["source"], &["type", "source", "cache_control", "title", "context", "citations"])
        }
        _ => return None,
    })
}

pub(super) fn check(mode: &Mode, messages: &[Value]) -> Checked {
    roles(mode, messages)?;
    for (at, message) in messages.iter().enumerate() {
        only(message, &format!("messages.{at}."), &["role", "content"])?;
        let blocks = content(message);
        if blocks.is_empty() {
            return Err(refuse(format!(
                "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
            )));
        }
        for (n, one) in blocks.iter().enumerate() {
            block(&format!("messages.{at}.content.{n}"), one)?;
        }
    }
    results(messages)?;
    uses(messages)
}

fn roles(mode: &Mode, messages: &[Value]) -> Checked {
    let role = |message: &Value| message["role"].as_str().unwrap_or("").to_owned();
    for message in messages {
        let role = role(message);
        let known = ["user", "assistant"].contains(&role.as_str())
            || role == "system" && mode.kind == Kind::AnthropicAdaptive;
        if !known {
            return Err(refuse(format!(
                "messages: Unexpected role \"{role}\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role."
            )));
        }
    }
    if role(&messages[0]) != "user" {
        return Err(refuse("messages: first message must use the \"user\" role"));
    }
    let twice = messages.windows(2).find(|pair| role(&pair[0]) == role(&pair[1]));
    if let Some(pair) = twice.filter(|_| mode.kind == Kind::Bedrock) {
        return Err(refuse(format!(
            "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{}\" roles in a row",
            role(&pair[0])
        )));
    }
    if mode.kind != Kind::AnthropicEnabled
        && mode.kind.is_claude()
        && role(messages.last().unwrap()) == "assistant"
    {
        return Err(refuse(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    Ok(())
}

fn block(place: &str, block: &Value) -> Checked {
    let kind = block["type"].as_str().unwrap_or("");
    let Some((needed, fields)) = known(kind) else {
        return Err(refuse(format!(
            "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'"
        )));
    };
    let place = format!("{place}.{kind}.");
    required(block, &place, needed)?;
    only(block, &place, fields)?;
    match kind {
        "text" if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
            let words = if block["text"] == "" {
                "messages: text content blocks must be non-empty"
            } else {
                "messages: text content blocks must contain non-whitespace text"
            };
            Err(refuse(words))
        }
        "tool_use" => {
            let id = block["id"].as_str().unwrap_or("");
            if id.is_empty()
                || id.len() > 64
                || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            {
                return Err(refuse(format!("{place}id: String should match pattern '^[a-zA-Z0-9_-]+$'")));
            }
            if block["input"].is_object() {
                Ok(())
            } else {
                Err(refuse(format!("{place}input: Input should be an object")))
            }
        }
        "tool_result" => {
            let parts = block["content"].as_array().into_iter().flatten();
            match parts.into_iter().find(|part| part["type"] == "text" && part["text"] == "") {
                Some(_) => Err(refuse("messages: text content blocks must be non-empty")),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn ids(message: &Value, kind: &str, name: &str) -> Vec<String> {
    let blocks = content(message);
    let of_kind = blocks.iter().filter(|block| block["type"] == kind);
    of_kind.filter_map(|block| block[name].as_str().map(str::to_owned)).collect()
}

/// All calls of a message are answered at the beginning of the next one.
fn uses(messages: &[Value]) -> Checked {
    let mut seen = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let calls = ids(message, "tool_use", "id");
        if calls.iter().any(|id| !seen.insert(id.clone())) {
            return Err(refuse(format!("messages.{at}.content: `tool_use` ids must be unique")));
        }
        let next = messages.get(at + 1).map(content).unwrap_or_default();
        let first = next.iter().take_while(|block| block["type"] == "tool_result");
        let answered: Vec<&str> = first.filter_map(|block| block["tool_use_id"].as_str()).collect();
        let open: Vec<String> = calls.into_iter().filter(|id| !answered.contains(&id.as_str())).collect();
        if !open.is_empty() {
            return Err(refuse(format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                open.join(", ")
            )));
        }
    }
    Ok(())
}

/// Every result answers a call of the message before, once.
fn results(messages: &[Value]) -> Checked {
    for (at, message) in messages.iter().enumerate() {
        let mut calls =
            at.checked_sub(1).map_or_else(Vec::new, |before| ids(&messages[before], "tool_use", "id"));
        for (n, block) in
            content(message).iter().enumerate().filter(|(_, block)| block["type"] == "tool_result")
        {
            let id = block["tool_use_id"].as_str().unwrap_or("");
            let Some(place) = calls.iter().position(|call| call == id) else {
                return Err(refuse(format!(
                    "messages.{at}.content.{n}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )));
            };
            calls.remove(place);
        }
    }
    Ok(())
}
