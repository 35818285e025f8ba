//! The fields of a request, but for its items.

use serde_json::Value;

use super::super::Refusal;
use super::super::mode::{Kind, Mode};
use super::super::refusal::{Checked, refuse};

const BODY: &[&str] = &[
    "background",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The refusal of a parameter that is not known.
pub(super) fn unknown(name: &str) -> Refusal {
    refuse(format!("Unknown parameter: '{name}'.")).param(name).code("unknown_parameter")
}

pub(super) fn missing(name: &str) -> Refusal {
    refuse(format!("Missing required parameter: '{name}'.")).param(name).code("missing_required_parameter")
}

/// All names of `value` are known; `place` stands before the one that is not.
pub(super) fn only(value: &Value, place: &str, known: &[&str]) -> Checked {
    let names = value.as_object().into_iter().flat_map(|fields| fields.keys());
    match names.into_iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(unknown(&format!("{place}{name}"))),
        None => Ok(()),
    }
}

pub(super) fn fields(mode: &Mode, body: &Value) -> Checked {
    let known: Vec<&str> = BODY.iter().copied().chain(mode.also.iter().map(String::as_str)).collect();
    only(body, "", &known)?;
    only(&body["reasoning"], "reasoning.", &["effort", "summary", "generate_summary", "context"])?;
    only(&body["prompt_cache_options"], "prompt_cache_options.", &["ttl", "mode"])?;
    only(&body["text"], "text.", &["format", "verbosity"])?;
    if !body["model"].is_string() {
        return Err(missing("model"));
    }
    if mode.kind != Kind::Xai {
        unsupported(body)?;
    }
    limits(body)?;
    let effort = body["reasoning"]["effort"].as_str();
    if let Some(effort) = effort.filter(|effort| !EFFORTS.contains(effort)) {
        let words = format!(
            "Invalid value: '{effort}'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'."
        );
        return Err(refuse(words).param("reasoning.effort").code("invalid_value"));
    }
    body["tools"].as_array().into_iter().flatten().enumerate().try_for_each(|(n, one)| tool(n, one))?;
    if !body["tool_choice"].is_null()
        && body["tool_choice"] != "auto"
        && body["tool_choice"] != "none"
        && body["tools"].as_array().is_none_or(Vec::is_empty)
    {
        return Err(refuse("Tool choice requires tools to be specified.").param("tool_choice"));
    }
    Ok(())
}

/// What reasoning models do not take.
fn unsupported(body: &Value) -> Checked {
    for name in ["temperature", "top_p", "top_logprobs"] {
        if !body[name].is_null() {
            return Err(refuse(format!("Unsupported parameter: '{name}' is not supported with this model."))
                .param(name));
        }
    }
    if !body["prompt_cache_retention"].is_null() && !body["prompt_cache_options"].is_null() {
        let words = "Only one of 'prompt_cache_retention' and 'prompt_cache_options' may be specified.";
        return Err(refuse(words).param("prompt_cache_retention").code("invalid_request"));
    }
    Ok(())
}

fn limits(body: &Value) -> Checked {
    if let Some(limit) = body["max_output_tokens"].as_i64().filter(|limit| *limit < 16) {
        let words = format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {limit} instead."
        );
        return Err(refuse(words).param("max_output_tokens").code("integer_below_min_value"));
    }
    if let Some(key) = body["prompt_cache_key"].as_str().filter(|key| key.len() > 64) {
        let words = format!(
            "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length {} instead.",
            key.len()
        );
        return Err(refuse(words).param("prompt_cache_key").code("string_above_max_length"));
    }
    Ok(())
}

/// Tools are flat.
fn tool(n: usize, tool: &Value) -> Checked {
    let place = format!("tools[{n}].");
    for name in ["type", "name"] {
        if !tool[name].is_string() {
            return Err(missing(&format!("{place}{name}")));
        }
    }
    only(tool, &place, &["type", "name", "description", "parameters", "strict"])?;
    let name = tool["name"].as_str().unwrap();
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
        let words = format!(
            "Invalid '{place}name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(refuse(words).param(format!("{place}name")).code("invalid_value"));
    }
    let schema = &tool["parameters"];
    if schema["type"] != "object"
        || ["oneOf", "anyOf", "allOf", "enum", "not"].iter().any(|key| !schema[key].is_null())
    {
        let words = format!(
            "Invalid schema for function '{name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
        );
        return Err(refuse(words).param(format!("{place}parameters")).code("invalid_function_parameters"));
    }
    Ok(())
}
