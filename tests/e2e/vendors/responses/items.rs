//! The items of a request: what the model said comes back as it was, with everything that belongs together.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::mode::Mode;
use super::super::refusal::{Checked, refuse};
use super::super::{Refusal, State};
use super::check::{missing, only};

/// What may stand in an item of each type.
fn known(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "message" => &["type", "role", "content", "id", "status", "phase"],
        "reasoning" => &["type", "id", "summary", "content", "encrypted_content", "status"],
        "function_call" => &["type", "id", "call_id", "name", "arguments", "status", "namespace"],
        "function_call_output" => &["type", "id", "call_id", "output", "status"],
        "item_reference" => &["type", "id"],
        _ => return None,
    })
}

fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item[name].as_str().unwrap_or("")
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("message")
}

pub(super) fn check(mode: &Mode, body: &Value, input: &[Value], state: &State) -> Checked {
    for (n, item) in input.iter().enumerate() {
        let place = format!("input[{n}].");
        let Some(known) = known(kind(item)) else {
            let words = format!(
                "Invalid value: '{}'. Supported values are: 'message', 'reasoning', 'function_call', 'function_call_output', and 'item_reference'.",
                kind(item)
            );
            return Err(refuse(words).param(format!("{place}type")).code("invalid_value"));
        };
        only(item, &place, known)?;
        match kind(item) {
            "message" => message(item, &place)?,
            "function_call" => required(item, &place, &["call_id", "name", "arguments"])?,
            "function_call_output" => required(item, &place, &["call_id", "output"])?,
            _ => required(item, &place, &["id"])?,
        }
        prefix(item, &place)?;
    }
    ids(input, body, state)?;
    if mode.kind.responds() && mode.kind != super::Kind::Xai {
        together(input, state)?;
    }
    calls(input)
}

fn required(item: &Value, place: &str, names: &[&str]) -> Checked {
    match names.iter().find(|name| item[**name].is_null()) {
        Some(name) => Err(missing(&format!("{place}{name}"))),
        None => Ok(()),
    }
}

fn message(item: &Value, place: &str) -> Checked {
    let role = text(item, "role");
    if !["user", "assistant", "system", "developer"].contains(&role) {
        let words = format!(
            "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        );
        return Err(refuse(words).param(format!("{place}role")).code("invalid_value"));
    }
    let allowed: &[&str] = if role == "assistant" {
        &["output_text", "refusal"]
    } else {
        &["input_text", "input_image", "input_file"]
    };
    let parts = item["content"].as_array().into_iter().flatten().enumerate();
    for (n, part) in parts {
        let kind = text(part, "type");
        if !allowed.contains(&kind) {
            let words = format!("Invalid value: '{kind}'. Supported values are: '{}'.", allowed.join("', '"));
            return Err(refuse(words).param(format!("{place}content[{n}]")).code("invalid_value"));
        }
    }
    if item["content"].is_null() { Err(missing(&format!("{place}content"))) } else { Ok(()) }
}

/// An id says by its beginning what it is the id of.
fn prefix(item: &Value, place: &str) -> Checked {
    let begin = match kind(item) {
        "function_call" => "fc",
        "message" => "msg",
        "reasoning" => "rs",
        _ => return Ok(()),
    };
    match item["id"].as_str() {
        Some(id) if !id.starts_with(begin) => {
            let words = format!("Invalid '{place}id': '{id}'. Expected an ID that begins with '{begin}'.");
            Err(refuse(words).param(format!("{place}id")).code("invalid_value"))
        }
        _ => Ok(()),
    }
}

/// Ids are known and come once; thoughts can be read.
fn ids(input: &[Value], body: &Value, state: &State) -> Checked {
    let mut seen = BTreeSet::new();
    for item in input {
        let id = text(item, "id");
        if id.is_empty() {
            continue;
        }
        if !seen.insert(id) {
            return Err(refuse(format!(
                "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
            ))
            .param("input"));
        }
        let issued = state.issued.get(id);
        let blob = item["encrypted_content"].as_str();
        if let Some(blob) = blob
            && issued.is_none_or(|issued| issued.whole["encrypted_content"] != blob)
        {
            let words = format!(
                "The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be decrypted or parsed."
            );
            return Err(refuse(words).code("invalid_encrypted_content"));
        }
        let stored = body["store"] != false;
        if issued.is_none() && kind(item) != "function_call_output"
            || kind(item) == "reasoning" && blob.is_none() && !stored
        {
            let words = format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
            );
            return Err(Refusal::new(404, &words).param("input"));
        }
    }
    Ok(())
}

/// A thought stands before what followed it, and what followed it does not come without.
fn together(input: &[Value], state: &State) -> Checked {
    for (n, item) in input.iter().enumerate() {
        let id = text(item, "id");
        let Some(issued) = state.issued.get(id) else { continue };
        let earlier = |id: &str| input[..n].iter().any(|item| text(item, "id") == id);
        if let Some(thought) = issued.before.as_deref().filter(|thought| !earlier(thought)) {
            let words = format!(
                "Item '{id}' of type '{}' was provided without its required 'reasoning' item: '{thought}'.",
                kind(item)
            );
            return Err(refuse(words).param("input"));
        }
        let follows = |id: &String| {
            input.get(n + 1).is_some_and(|next| {
                text(next, "id") == id || next["id"].is_null() && same(next, &state.issued[id].whole)
            })
        };
        if kind(item) == "reasoning" && issued.after.as_ref().is_none_or(|after| !follows(after)) {
            let words =
                format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
            return Err(refuse(words).param("input"));
        }
    }
    Ok(())
}

/// Without ids, what an item says tells which it is.
fn same(item: &Value, issued: &Value) -> bool {
    kind(item) == kind(issued) && item["call_id"] == issued["call_id"]
}

/// Every call has one result, and every result a call before it.
fn calls(input: &[Value]) -> Checked {
    let of = |kind_of: &'static str| input.iter().enumerate().filter(move |(_, item)| kind(item) == kind_of);
    for (at, result) in of("function_call_output") {
        let id = text(result, "call_id");
        if !of("function_call").any(|(n, call)| n < at && text(call, "call_id") == id) {
            return Err(refuse(format!("No tool call found for function call output with call_id {id}."))
                .param("input"));
        }
    }
    for (at, call) in of("function_call") {
        let id = text(call, "call_id");
        if !of("function_call_output").any(|(n, result)| n > at && text(result, "call_id") == id) {
            return Err(refuse(format!("No tool output found for function call {id}.")).param("input"));
        }
    }
    Ok(())
}
