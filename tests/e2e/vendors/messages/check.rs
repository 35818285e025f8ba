//! The fields of a request, but for its messages.

use serde_json::Value;

use super::super::http::Asked;
use super::super::mode::{Kind, Mode};
use super::super::refusal::{Checked, refuse};

const BODY: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stream",
    "stop_sequences",
    "metadata",
    "temperature",
    "top_p",
    "top_k",
    "service_tier",
    "cache_control",
    "inference_geo",
];
const GUIDE: &str = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking";

/// All names of `value` are known.
pub(super) fn only(value: &Value, place: &str, known: &[&str]) -> Checked {
    let names = value.as_object().into_iter().flat_map(|fields| fields.keys());
    match names.into_iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(refuse(format!("{place}{name}: Extra inputs are not permitted"))),
        None => Ok(()),
    }
}

pub(super) fn required(value: &Value, place: &str, names: &[&str]) -> Checked {
    match names.iter().find(|name| value[**name].is_null()) {
        Some(name) => Err(refuse(format!("{place}{name}: Field required"))),
        None => Ok(()),
    }
}

pub(super) fn request(mode: &Mode, asked: &Asked, body: &Value) -> Checked {
    required(body, "", &["model", "messages", "max_tokens"])?;
    if !mode.kind.is_claude() {
        return messages_there(body);
    }
    let known: Vec<&str> = BODY.iter().copied().chain(mode.also.iter().map(String::as_str)).collect();
    only(body, "", &known)?;
    messages_there(body)?;
    max_tokens(mode, body)?;
    system(body)?;
    body["tools"].as_array().into_iter().flatten().enumerate().try_for_each(|(n, one)| tool(n, one))?;
    names(body)?;
    marks(body)?;
    match mode.kind {
        Kind::AnthropicEnabled => enabled(mode, body),
        _ => adaptive(mode, asked, body),
    }?;
    choice(mode, body)
}

fn messages_there(body: &Value) -> Checked {
    match body["messages"].as_array() {
        Some(messages) if !messages.is_empty() => Ok(()),
        Some(_) => Err(refuse("messages: at least one message is required")),
        None => Err(refuse("messages: Input should be a valid list")),
    }
}

fn max_tokens(mode: &Mode, body: &Value) -> Checked {
    let limit = mode.max_output;
    match body["max_tokens"].as_u64() {
        None => Err(refuse("max_tokens: Input should be a valid integer")),
        Some(0) => Err(refuse("max_tokens: Input should be greater than or equal to 1")),
        Some(asked) if asked > limit => Err(refuse(format!(
            "max_tokens: {asked} > {limit}, which is the maximum allowed number of output tokens for {}",
            mode.model
        ))),
        Some(_) => Ok(()),
    }
}

fn system(body: &Value) -> Checked {
    for (n, block) in body["system"].as_array().into_iter().flatten().enumerate() {
        only(block, &format!("system.{n}."), &["type", "text", "cache_control", "citations"])?;
        if block["text"].as_str().is_none_or(str::is_empty) {
            return Err(refuse("system: text content blocks must be non-empty"));
        }
    }
    if body["system"] == "" { Err(refuse("system: text content blocks must be non-empty")) } else { Ok(()) }
}

fn tool(n: usize, tool: &Value) -> Checked {
    let place = format!("tools.{n}.custom.");
    required(tool, &place, &["name", "input_schema"])?;
    only(
        tool,
        &place,
        &[
            "type",
            "name",
            "description",
            "input_schema",
            "cache_control",
            "strict",
            "defer_loading",
            "input_examples",
            "eager_input_streaming",
            "allowed_callers",
        ],
    )?;
    let name = tool["name"].as_str().unwrap_or("");
    if name.is_empty()
        || name.len() > 128
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    {
        return Err(refuse(format!("{place}name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")));
    }
    let schema = &tool["input_schema"];
    if schema["type"] != "object" {
        return Err(refuse(format!("{place}input_schema.type: Input should be 'object'")));
    }
    if ["oneOf", "allOf", "anyOf"].iter().any(|key| !schema[key].is_null()) {
        return Err(refuse(format!(
            "tools.{n}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        )));
    }
    if tool["strict"] == true && schema.to_string().contains("\"minimum\"") {
        return Err(refuse(format!(
            "tools.{n}.custom: For 'integer' type, property 'minimum' is not supported"
        )));
    }
    Ok(())
}

fn names(body: &Value) -> Checked {
    let mut names: Vec<&str> =
        body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    if names.len() < all { Err(refuse("tools: Tool names must be unique.")) } else { Ok(()) }
}

/// At most four marks, each of a kind that there is.
fn marks(body: &Value) -> Checked {
    let found = count(body);
    if found > 4 {
        return Err(refuse(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {found}."
        )));
    }
    each_mark(body)
}

fn count(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let here = usize::from(fields.get("cache_control").is_some_and(Value::is_object));
            here + fields.values().map(count).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(count).sum(),
        _ => 0,
    }
}

fn each_mark(value: &Value) -> Checked {
    match value {
        Value::Object(fields) => {
            if let Some(mark) = fields.get("cache_control").filter(|mark| mark.is_object()) {
                only(mark, "cache_control.ephemeral.", &["type", "ttl"])?;
                if mark["type"] != "ephemeral" {
                    return Err(refuse("cache_control.type: Input should be 'ephemeral'"));
                }
                if !mark["ttl"].is_null() && mark["ttl"] != "5m" && mark["ttl"] != "1h" {
                    return Err(refuse("cache_control.ephemeral.ttl: Input should be '5m' or '1h'"));
                }
            }
            fields.values().try_for_each(each_mark)
        }
        Value::Array(values) => values.iter().try_for_each(each_mark),
        _ => Ok(()),
    }
}

/// Claude 5.x: thinking is adaptive or left out; there is nothing to sample by.
fn adaptive(mode: &Mode, asked: &Asked, body: &Value) -> Checked {
    for name in ["temperature", "top_p", "top_k"] {
        if !body[name].is_null() {
            return Err(refuse(format!("`{name}` is deprecated for this model.")));
        }
    }
    let thinking = &body["thinking"];
    match thinking["type"].as_str() {
        Some(other @ ("enabled" | "disabled")) => {
            return Err(refuse(format!(
                "\"thinking.type.{other}\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."
            )));
        }
        Some("adaptive") | None => {}
        Some(other) => {
            return Err(refuse(format!(
                "thinking: Input tag '{other}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'"
            )));
        }
    }
    let beta = asked
        .header("anthropic-beta")
        .is_some_and(|beta| beta.contains("thinking-binding-controls-2026-08-01"));
    let known: &[&str] = if beta && mode.kind != Kind::Bedrock {
        &["type", "display", "block_binding"]
    } else {
        &["type", "display"]
    };
    only(thinking, "thinking.adaptive.", known)?;
    only(&thinking["block_binding"], "thinking.adaptive.block_binding.", &["prefix_mismatch_behavior"])?;
    only(&body["output_config"], "output_config.", &["effort", "format", "task_budget"])?;
    let effort = body["output_config"]["effort"].as_str();
    match effort.filter(|effort| !["low", "medium", "high", "xhigh", "max"].contains(effort)) {
        Some(_) => {
            Err(refuse("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"))
        }
        None => Ok(()),
    }
}

/// Claude 4.5: thinking has a budget.
fn enabled(mode: &Mode, body: &Value) -> Checked {
    let thinking = &body["thinking"];
    if !body["output_config"]["effort"].is_null() {
        return Err(refuse("This model does not support the effort parameter."));
    }
    if thinking["type"] == "adaptive" {
        return Err(refuse("adaptive thinking is not supported on this model"));
    }
    if thinking["type"] != "enabled" {
        return only(thinking, "thinking.disabled.", &["type"]);
    }
    only(thinking, "thinking.enabled.", &["type", "budget_tokens", "display"])?;
    required(thinking, "thinking.enabled.", &["budget_tokens"])?;
    let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
    if budget < 1024 {
        return Err(refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"));
    }
    if budget >= body["max_tokens"].as_u64().unwrap_or(mode.max_output) {
        return Err(refuse(format!(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at {GUIDE}#max-tokens-and-context-window-size"
        )));
    }
    if body["temperature"].as_f64().is_some_and(|value| (value - 1.0).abs() > f64::EPSILON) {
        return Err(refuse(format!(
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at {GUIDE}#important-considerations-when-using-extended-thinking"
        )));
    }
    Ok(())
}

fn choice(mode: &Mode, body: &Value) -> Checked {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    let kind = choice["type"].as_str().unwrap_or("");
    if !["auto", "any", "tool", "none"].contains(&kind) {
        return Err(refuse(format!(
            "tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'"
        )));
    }
    if body["tools"].as_array().is_none_or(Vec::is_empty) && kind != "none" {
        return Err(refuse("tool_choice may only be specified while providing tools."));
    }
    let thinks = mode.kind != Kind::AnthropicEnabled || body["thinking"]["type"] == "enabled";
    if thinks && ["any", "tool"].contains(&kind) {
        return Err(refuse("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(())
}
