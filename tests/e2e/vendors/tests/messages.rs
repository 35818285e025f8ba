//! Messages: fields, blocks, thoughts and what they are bound to.

use serde_json::{Value, json};

use super::{Case, Kind, Mode, Turn, Vendor, all_refused, ask, keys, schema, send, started};

const BETA: &str = "anthropic-beta: interleaved-thinking-2025-05-14, thinking-binding-controls-2026-08-01";

pub(super) fn first(vendor: &Vendor) -> Value {
    let tool = |name| json!({"name": name, "description": "d", "input_schema": schema()});
    let thinking = match vendor.shared.mode.kind {
        Kind::AnthropicEnabled => json!({"type": "enabled", "budget_tokens": 2048}),
        _ => json!({"type": "adaptive", "display": "summarized"}),
    };
    json!({"model": vendor.shared.mode.model, "max_tokens": 8000, "system": [{"type": "text", "text": "You work."}], "thinking": thinking,
        "tools": [tool("read_file"), tool("list_dir")], "messages": [{"role": "user", "content": "Look."}]})
}

/// Adds the blocks of a message as they came, and results of its calls.
pub(super) fn add(body: &mut Value, content: &Value) {
    let calls = content.as_array().unwrap().iter().filter(|block| block["type"] == "tool_use");
    let results: Vec<Value> = calls
        .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "a result"}))
        .collect();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": content}));
    messages.push(json!({"role": "user", "content": results}));
}

/// Messages: 1 thought and call, 2 result, 3 text and two calls, 4 results.
pub(super) fn played(vendor: &Vendor) -> Value {
    let mut body = first(vendor);
    for _ in 0..2 {
        let got = ask(vendor, &body).ok().json();
        add(&mut body, &got["content"]);
    }
    if vendor.shared.mode.kind == Kind::AnthropicEnabled {
        // The second turn has no thought; what is checked is the last one, so the first is.
        body["messages"].as_array_mut().unwrap().truncate(3);
    }
    body
}

fn adaptive() -> Mode {
    Mode::new(Kind::AnthropicAdaptive)
}

fn enabled() -> Mode {
    Mode::new(Kind::AnthropicEnabled)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn push(body: &mut Value, at: usize, block: Value) {
    body["messages"][at]["content"].as_array_mut().unwrap().push(block);
}

#[test]
fn a_good_conversation_passes() {
    for kind in [Kind::AnthropicAdaptive, Kind::Bedrock, Kind::MiniMaxMessages, Kind::DeepSeekMessages] {
        let vendor = started(Mode::new(kind));
        let mut body = played(&vendor);
        push(&mut body, 4, text("Hurry up."));
        let last = ask(&vendor, &body).ok().json();
        assert_eq!(last["content"][1]["text"], "Done.", "{kind:?}");
        assert_eq!(last["stop_reason"], "end_turn");
        assert_eq!(vendor.refusals(), Vec::<String>::new());
    }
    let vendor = started(enabled());
    let body = played(&vendor);
    assert_eq!(ask(&vendor, &body).ok().json()["stop_reason"], "tool_use");
}

const FIELDS: &[Case] = &[
    (adaptive, |body| body["store"] = json!(false), 400, "store: Extra inputs are not permitted"),
    (
        adaptive,
        |body| {
            body.as_object_mut().unwrap().remove("max_tokens");
        },
        400,
        "max_tokens: Field required",
    ),
    (
        adaptive,
        |body| body["max_tokens"] = json!(64_001),
        400,
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-opus-5-5",
    ),
    (adaptive, |body| body["temperature"] = json!(1), 400, "`temperature` is deprecated for this model."),
    (
        adaptive,
        |body| body["thinking"] = json!({"type": "enabled", "budget_tokens": 2048}),
        400,
        "\"thinking.type.enabled\" is not supported for this model.",
    ),
    (
        adaptive,
        |body| body["thinking"]["block_binding"] = json!({}),
        400,
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    (
        adaptive,
        |body| body["tools"][1]["input_schema"]["anyOf"] = json!([]),
        400,
        "tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    (
        adaptive,
        |body| body["tools"][1]["parameters"] = json!({}),
        400,
        "tools.1.custom.parameters: Extra inputs are not permitted",
    ),
    (
        adaptive,
        |body| body["tool_choice"] = json!({"type": "any"}),
        400,
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        adaptive,
        |body| body["output_config"] = json!({"effort": "minimal"}),
        400,
        "output_config.effort: Input should be",
    ),
    (
        adaptive,
        |body| {
            let mark = json!({"type": "ephemeral"});
            for n in 0..2 {
                body["tools"][n]["cache_control"] = mark.clone();
            }
            for at in [2, 4] {
                body["messages"][at]["content"][0]["cache_control"] = mark.clone();
            }
            body["system"][0]["cache_control"] = mark
        },
        400,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        adaptive,
        |body| body["messages"][2]["content"][0]["cache_control"] = json!({"type": "ephemeral", "ttl": "2h"}),
        400,
        "ttl: Input should be '5m' or '1h'",
    ),
    (
        enabled,
        |body| body["thinking"]["budget_tokens"] = json!(1000),
        400,
        "budget_tokens: Input should be greater than or equal to 1024",
    ),
    (
        enabled,
        |body| body["max_tokens"] = json!(2048),
        400,
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    (
        enabled,
        |body| body["temperature"] = json!(0.5),
        400,
        "`temperature` may only be set to 1 when thinking is enabled.",
    ),
    (
        enabled,
        |body| body["thinking"] = json!({"type": "adaptive"}),
        400,
        "adaptive thinking is not supported on this model",
    ),
    (
        enabled,
        |body| body["output_config"] = json!({"effort": "low"}),
        400,
        "This model does not support the effort parameter.",
    ),
];

#[test]
fn fields_are_known_and_suit_the_model() {
    all_refused(FIELDS, played);
}

#[test]
fn keys_and_version_are_wanted() {
    let vendor = started(adaptive());
    let body = first(&vendor).to_string();
    send(&vendor, "POST", "/messages", &["x-api-key: k"], &body)
        .refused(400, "anthropic-version: header is required");
    let got = send(&vendor, "POST", "/messages", &["anthropic-version: 2023-06-01"], &body);
    got.refused(401, "x-api-key header is required");
    assert_eq!(got.json()["error"]["type"], "authentication_error");
    assert!(got.head.contains("request-id: req_01"), "{}", got.head);
    assert!(got.json()["request_id"].as_str().unwrap().starts_with("req_01"));
    let other = started(Mode::new(Kind::MiniMaxMessages));
    send(&other, "POST", "/v1/messages", &["authorization: Bearer k"], &first(&other).to_string()).ok();
}

const BLOCKS: &[Case] = &[
    (adaptive, |body| push(body, 4, text("")), 400, "messages: text content blocks must be non-empty"),
    (
        adaptive,
        |body| push(body, 4, json!({"type": "text", "text": "x", "id": 1})),
        400,
        "messages.4.content.2.text.id: Extra inputs are not permitted",
    ),
    (
        adaptive,
        |body| body["messages"][4]["content"].as_array_mut().unwrap().insert(0, text("First.")),
        400,
        "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01",
    ),
    (
        adaptive,
        |body| {
            body["messages"][4]["content"].as_array_mut().unwrap().pop();
        },
        400,
        "messages.3: `tool_use` ids were found without",
    ),
    (
        adaptive,
        |body| {
            let last = body["messages"][4]["content"].as_array_mut().unwrap().pop().unwrap();
            body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": [last]}))
        },
        400,
        "messages.5.content.0: unexpected `tool_use_id` found in `tool_result` blocks",
    ),
    (
        adaptive,
        |body| push(body, 4, json!({"type": "tool_result", "tool_use_id": "toolu_x", "content": "x"})),
        400,
        "messages.4.content.2: unexpected `tool_use_id` found in `tool_result` blocks: toolu_x.",
    ),
    (
        adaptive,
        |body| {
            body["messages"][1]["content"][1]["id"] = json!("call.1");
            body["messages"][2]["content"][0]["tool_use_id"] = json!("call.1")
        },
        400,
        "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        adaptive,
        |body| body["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "So"})),
        400,
        "This model does not support assistant message prefill.",
    ),
    (
        enabled,
        |body| body["messages"][0]["role"] = json!("system"),
        400,
        "messages: Unexpected role \"system\".",
    ),
    (
        || Mode::new(Kind::Bedrock),
        |body| body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "x"})),
        400,
        "roles must alternate",
    ),
];

#[test]
fn blocks_and_results_stand_where_they_must() {
    all_refused(BLOCKS, played);
}

const THOUGHTS: &[Case] = &[
    (
        || Mode::new(Kind::DeepSeekMessages),
        |body| {
            body["messages"][3]["content"].as_array_mut().unwrap().remove(0);
        },
        400,
        "The `content[].thinking` in the thinking mode must be passed back to the API.",
    ),
    (
        adaptive,
        |body| body["messages"][1]["content"][0]["signature"] = json!("AAAA"),
        400,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        adaptive,
        |body| body["messages"][1]["content"][0]["thinking"] = json!("Else."),
        400,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        adaptive,
        |body| {
            body["messages"][1]["content"][0].as_object_mut().unwrap().remove("signature");
        },
        400,
        "messages.1.content.0.thinking.signature: Field required",
    ),
    (
        adaptive,
        |body| body["messages"][0]["content"] = json!("Look again."),
        400,
        "The block is bound to a different conversation.",
    ),
    (
        adaptive,
        |body| body["system"][0]["text"] = json!("You rest."),
        400,
        "The block is bound to a different conversation.",
    ),
    (
        adaptive,
        |body| body["tools"][0]["description"] = json!("else"),
        400,
        "The block is bound to a different conversation.",
    ),
    (
        enabled,
        |body| {
            body["messages"][1]["content"].as_array_mut().unwrap().remove(0);
        },
        400,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ),
    (
        enabled,
        |body| body["messages"][1]["content"][0]["signature"] = json!("AAAA"),
        400,
        "Invalid `signature` in `thinking` block",
    ),
];

#[test]
fn thoughts_come_back_as_they_were() {
    all_refused(THOUGHTS, played);
    // Marks, the form of a text, and what comes after are no part of what a thought is bound to.
    let vendor = started(adaptive());
    let mut body = played(&vendor);
    body["messages"][0]["content"] =
        json!([{"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}]);
    body["messages"][2]["content"][0]["content"] = json!("[result left out]");
    ask(&vendor, &body).ok();
    // An older model is not bound.
    let vendor = started(enabled());
    let mut body = played(&vendor);
    body["messages"][0]["content"] = json!("Look again.");
    ask(&vendor, &body).ok();
}

#[test]
fn a_block_behind_a_changed_prefix_may_be_dropped() {
    let vendor = started(adaptive());
    let mut body = played(&vendor);
    body["messages"][0]["content"] = json!("Look again.");
    body["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    let headers = [keys(Kind::AnthropicAdaptive), &[BETA]].concat();
    let got = send(&vendor, "POST", "/messages", &headers, &body.to_string()).ok().json();
    assert_eq!(got["input_transformations"].as_array().unwrap().len(), 1);
    ask(&vendor, &body).refused(400, "block_binding: Extra inputs are not permitted");
}

#[test]
fn what_comes_after_a_changed_prefix_holds_again() {
    // A turn with a thought before the change, and three after it: the old one is dropped, the new ones are not.
    let headers = [keys(Kind::AnthropicAdaptive), &[BETA]].concat();
    let vendor = Vendor::start(adaptive(), vec![Turn::call("list_dir", json!({})).thinking("Anew.")]);
    let mut again = first(&vendor);
    let content = ask(&vendor, &again).ok().json()["content"].clone();
    add(&mut again, &content);
    again["messages"][0]["content"] = json!("Look again.");
    again["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    for _ in 0..3 {
        let got = send(&vendor, "POST", "/messages", &headers, &again.to_string()).ok().json();
        assert_eq!(got["input_transformations"].as_array().unwrap().len(), 1, "{got}");
        add(&mut again, &got["content"]);
    }
    // A thought between others is missed.
    again["messages"][5]["content"].as_array_mut().unwrap().remove(0);
    let got = send(&vendor, "POST", "/messages", &headers, &again.to_string()).ok().json();
    assert!(got["input_transformations"].as_array().unwrap().len() > 1, "{got}");
}

#[test]
fn thoughts_that_are_not_told_come_back_empty() {
    let vendor = started(adaptive());
    let mut body = first(&vendor);
    body["thinking"] = json!({"type": "adaptive"});
    let content = ask(&vendor, &body).ok().json()["content"].clone();
    assert_eq!(content[0]["thinking"], "");
    assert!(!content[0]["signature"].as_str().unwrap().is_empty());
    add(&mut body, &content);
    ask(&vendor, &body).ok();
}

#[test]
fn interleaved_thoughts_keep_their_order() {
    let turn = Turn::call("read_file", json!({"path": "a"}))
        .and("list_dir", json!({}))
        .thinking("Hm.")
        .interleaved();
    let vendor = Vendor::start(enabled(), vec![turn, Turn::text("Done.")]);
    let mut body = first(&vendor);
    assert_eq!(
        ask(&vendor, &body).ok().json()["content"].as_array().unwrap().len(),
        4,
        "not without the beta"
    );
    let headers = [keys(Kind::AnthropicEnabled), &[BETA]].concat();
    let again = |body: &Value| send(&vendor, "POST", "/messages", &headers, &body.to_string());
    let content = again(&body).ok().json()["content"].clone();
    let kinds: Vec<&str> =
        content.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "tool_use", "thinking", "tool_use"]);
    add(&mut body, &content);
    again(&body).ok();
    for broken in [&[0, 1, 3, 2, 4][..], &[1, 0, 2, 3, 4], &[0, 2, 3, 4]] {
        let mut other = body.clone();
        other["messages"][1]["content"] = broken.iter().map(|n| content[*n].clone()).collect();
        again(&other).refused(400, "blocks in the latest assistant message cannot be modified.");
    }
}

#[test]
fn events_come_in_the_true_order() {
    let vendor = started(adaptive());
    let mut body = first(&vendor);
    let whole = ask(&vendor, &body).ok().json();
    body["stream"] = json!(true);
    let got = ask(&vendor, &body).ok();
    assert!(got.body.starts_with("event: message_start\ndata: "));
    let events = got.events();
    let mut kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    let order = "message_start content_block_start ping content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop";
    assert_eq!(kinds.join(" "), order);
    let joined =
        |name: &str| events.iter().filter_map(|event| event["delta"][name].as_str()).collect::<String>();
    assert_eq!(joined("thinking"), whole["content"][0]["thinking"]);
    assert_eq!(joined("signature"), whole["content"][0]["signature"]);
    assert_eq!(joined("partial_json"), whole["content"][1]["input"].to_string());
}
