//! Chat Completions: fields, roles, calls and results of each vendor.

use serde_json::{Value, json};

use super::{Case, Kind, Mode, Turn, Vendor, all_refused, ask, keys, schema, send, started};

pub(super) const ALL: [Kind; 16] = [
    Kind::OpenAi,
    Kind::Azure,
    Kind::Xai,
    Kind::Gemini,
    Kind::OpenRouterClaude,
    Kind::OpenRouterGemini,
    Kind::DeepSeek,
    Kind::Moonshot,
    Kind::Zai,
    Kind::MiniMax,
    Kind::Qwen,
    Kind::Mistral,
    Kind::Groq,
    Kind::Cerebras,
    Kind::Ollama,
    Kind::Vllm,
];

pub(super) fn first(vendor: &Vendor) -> Value {
    let tool = |name| json!({"type": "function", "function": {"name": name, "description": "d", "parameters": schema()}});
    let messages = json!([{"role": "system", "content": "You work."}, {"role": "user", "content": "Look."}]);
    let mut body = json!({"model": vendor.shared.mode.model, "messages": messages, "tools": [tool("read_file"), tool("list_dir")], "tool_choice": "auto", "stream": false});
    if vendor.shared.mode.kind.responds() && vendor.shared.mode.kind != Kind::Xai {
        body["reasoning_effort"] = json!("none");
    }
    body
}

/// Adds what the model said, as it came, and results of its calls.
pub(super) fn add(vendor: &Vendor, body: &mut Value, message: &Value) {
    let messages = body["messages"].as_array_mut().unwrap();
    let mut message = message.clone();
    let wants = matches!(vendor.shared.mode.kind, Kind::DeepSeek | Kind::Moonshot);
    if wants && message["reasoning_content"].is_null() {
        message["reasoning_content"] = json!(if vendor.shared.mode.space { " " } else { "" });
    }
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    messages.push(message);
    for call in calls {
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "a result"}));
    }
}

pub(super) fn played(vendor: &Vendor) -> Value {
    let mut body = first(vendor);
    for _ in 0..2 {
        let got = ask(vendor, &body).ok().json();
        add(vendor, &mut body, &got["choices"][0]["message"]);
    }
    body
}

#[test]
fn a_good_conversation_passes_everywhere() {
    for kind in ALL {
        let vendor = started(Mode::new(kind));
        let body = played(&vendor);
        let last = ask(&vendor, &body).ok().json();
        let message = &last["choices"][0]["message"];
        assert!(message["content"].to_string().contains("Done."), "{kind:?}: {message}");
        assert_eq!(last["choices"][0]["finish_reason"], "stop");
        // The same request is answered by the same turn, and a long one whose middle is gone by the right one.
        assert_eq!(ask(&vendor, &body).ok().json()["choices"][0]["message"], *message);
        let mut short = body.clone();
        let messages = short["messages"].as_array_mut().unwrap();
        messages.splice(1..4, [json!({"role": "user", "content": "Summary: I read a.txt."})]);
        assert_eq!(ask(&vendor, &short).ok().json()["choices"][0]["message"], *message, "{kind:?}");
    }
}

#[test]
fn what_is_streamed_is_what_is_said_whole() {
    for kind in ALL {
        let vendor = started(Mode::new(kind));
        let mut body = first(&vendor);
        for _ in 0..3 {
            let whole = ask(&vendor, &body).ok().json();
            let message = &whole["choices"][0]["message"];
            let mut streamed = body.clone();
            streamed["stream"] = json!(true);
            streamed["stream_options"] = json!({"include_usage": true});
            if kind == Kind::Mistral {
                streamed.as_object_mut().unwrap().remove("stream_options");
            }
            let got = ask(&vendor, &streamed).ok();
            let events = got.events();
            let deltas: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
            let text: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
            let said = message["content"].as_str().or_else(|| message["content"][1]["text"].as_str());
            assert_eq!(text, said.unwrap_or(""), "{kind:?}");
            let calls = deltas.iter().filter_map(|delta| delta["tool_calls"][0]["id"].as_str()).count();
            assert_eq!(calls, message["tool_calls"].as_array().map_or(0, Vec::len), "{kind:?}");
            for field in ["reasoning", "reasoning_content"] {
                let thought: String = deltas.iter().filter_map(|delta| delta[field].as_str()).collect();
                assert_eq!(thought, message[field].as_str().unwrap_or(""), "{kind:?}");
            }
            assert!(got.body.contains("\"prompt_tokens\""), "{kind:?}: {}", got.body);
            assert!(got.body.ends_with("data: [DONE]\n\n"));
            add(&vendor, &mut body, message);
        }
    }
}

fn result(body: &mut Value) {
    body["messages"].as_array_mut().unwrap().pop();
}

fn stray(body: &mut Value) {
    let stray = json!({"role": "tool", "tool_call_id": "strange01", "content": "x"});
    body["messages"].as_array_mut().unwrap().push(stray);
}

fn thinking(body: &mut Value) {
    body["enable_thinking"] = json!(true);
}

fn cold(body: &mut Value) {
    body["temperature"] = json!(0.2);
}

fn echoed(body: &mut Value) {
    body["messages"][2]["reasoning_content"] = json!("hm");
}

const PAIRS: &[Case] = &[
    (|| Mode::new(Kind::DeepSeek), result, 400, "did not have response messages: call_00_"),
    (|| Mode::new(Kind::Mistral), result, 400, "Not the same number of function calls and responses"),
    (
        || Mode::new(Kind::OpenRouterClaude),
        result,
        400,
        "were found without `tool_result` blocks immediately after: toolu_bdrk_01",
    ),
    (|| Mode::new(Kind::Gemini), result, 400, "number of function response parts"),
    (|| Mode::new(Kind::Groq), stray, 400, "must be a response to a preceeding message with 'tool_calls'"),
    (|| Mode::new(Kind::Mistral), stray, 400, "Unexpected tool call id strange01 in tool results"),
    (|| Mode::new(Kind::MiniMax), stray, 400, "tool result's tool id(strange01) not found (2013)"),
    (|| Mode::new(Kind::Moonshot), stray, 400, "tool_call_id strange01 is not found"),
    (
        || Mode::new(Kind::Mistral),
        |body| body["messages"][2]["tool_calls"][0]["id"] = json!("call_1"),
        400,
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    (
        || Mode::new(Kind::MiniMax),
        |body| body["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{\"pa"),
        400,
        "invalid function arguments json string",
    ),
    (
        || Mode::new(Kind::Mistral).ordered(),
        |body| body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "x"})),
        400,
        "Unexpected role 'user' after role 'tool'",
    ),
];

#[test]
fn calls_and_results_belong_together() {
    all_refused(PAIRS, played);
}

const FIELDS: &[Case] = &[
    (
        || Mode::new(Kind::Groq),
        echoed,
        400,
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
    ),
    (|| Mode::new(Kind::Groq), thinking, 400, "property 'enable_thinking' is unsupported"),
    (
        || Mode::new(Kind::Cerebras),
        echoed,
        400,
        "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
    ),
    (|| Mode::new(Kind::Mistral), echoed, 422, "Extra inputs are not permitted"),
    (
        || Mode::new(Kind::Mistral),
        |body| body["messages"][2]["tool_calls"][0]["extra_content"] = json!({}),
        422,
        "extra_forbidden",
    ),
    (|| Mode::new(Kind::OpenAi), thinking, 400, "Unknown parameter: 'enable_thinking'."),
    (|| Mode::new(Kind::OpenAi), echoed, 400, "Unknown parameter: 'messages[2].reasoning_content'."),
    (
        || Mode::new(Kind::Generic),
        |body| body["stream_options"] = json!({}),
        400,
        "Unrecognized request argument supplied: stream_options",
    ),
    (|| Mode::new(Kind::Generic), echoed, 400, "Unrecognized request argument supplied: reasoning_content"),
    (
        || Mode::new(Kind::DeepSeek),
        |body| body["messages"][0]["role"] = json!("developer"),
        400,
        "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.0.role'",
    ),
    (
        || Mode::new(Kind::Groq),
        |body| body["tools"][0]["cache_control"] = json!({"type": "ephemeral"}),
        400,
        "cache_control",
    ),
];

#[test]
fn fields_that_are_not_known_are_refused() {
    all_refused(FIELDS, played);
    for kind in [Kind::Qwen, Kind::DeepSeek, Kind::Vllm, Kind::Zai, Kind::Ollama] {
        let vendor = started(Mode::new(kind));
        let mut body = first(&vendor);
        thinking(&mut body);
        ask(&vendor, &body).ok();
    }
    let vendor = started(Mode::new(Kind::Generic).also("stream_options"));
    let mut body = first(&vendor);
    body["stream_options"] = json!({"include_usage": true});
    body["stream"] = json!(true);
    assert!(ask(&vendor, &body).ok().body.contains("prompt_tokens"));
}

const SETTINGS: &[Case] = &[
    (
        || Mode::new(Kind::OpenAi),
        |body| body["reasoning_effort"] = json!("low"),
        400,
        "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    ),
    (
        || Mode::new(Kind::OpenAi),
        |body| body["model"] = json!("gpt-6-astra"),
        400,
        "does not support 'none' with this model",
    ),
    (
        || Mode::new(Kind::OpenAi),
        |body| body["max_tokens"] = json!(9),
        400,
        "Use 'max_completion_tokens' instead.",
    ),
    (|| Mode::new(Kind::OpenAi), |body| body["stop"] = json!("x"), 400, "Unsupported parameter: 'stop'"),
    (
        || Mode::new(Kind::OpenAi),
        cold,
        400,
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
    ),
    (|| Mode::new(Kind::Moonshot), cold, 400, "invalid temperature: only 1 is allowed for this model"),
    (
        || Mode::new(Kind::Moonshot),
        |body| body["tool_choice"] = json!("required"),
        400,
        "tool_choice 'required' is incompatible with thinking enabled",
    ),
    (
        || Mode::new(Kind::Zai).only_auto(),
        |body| body["tool_choice"] = json!("none"),
        400,
        "tool_choice: only 'auto' is supported",
    ),
    (
        || Mode::new(Kind::Xai),
        |body| body["stop"] = json!("x"),
        400,
        "Model grok-4.5 does not support parameter stop.",
    ),
    (
        || Mode::new(Kind::Gemini),
        |body| body["reasoning_effort"] = json!("xhigh"),
        400,
        "Invalid reasoning_effort: xhigh.",
    ),
];

#[test]
fn what_a_model_is_told_must_suit_it() {
    all_refused(SETTINGS, played);
}

#[test]
fn a_key_is_wanted_where_there_is_money() {
    for kind in ALL {
        let vendor = started(Mode::new(kind));
        let body = first(&vendor).to_string();
        let got = send(&vendor, "POST", "/chat/completions", &[], &body);
        let free = matches!(kind, Kind::Ollama | Kind::Vllm);
        assert_eq!(got.status, if free { 200 } else { 401 }, "{kind:?}: {}", got.body);
        let got = send(&vendor, "POST", "/nowhere", keys(kind), &body);
        assert_eq!(got.status, 404);
    }
    let vendor = started(Mode::new(Kind::Gemini));
    let got = send(&vendor, "POST", "/chat/completions", &[], "{}").json();
    assert_eq!(got[0]["error"]["status"], "UNAUTHENTICATED", "an array: {got}");
}

#[test]
fn a_malformed_call_is_reported_once() {
    let vendor = Vendor::start(
        Mode::new(Kind::Groq),
        vec![Turn::malformed("<function=read_file{\"path\": 1}</function>"), Turn::text("x")],
    );
    let body = first(&vendor);
    let got = ask(&vendor, &body);
    got.refused(400, "Failed to call a function.");
    assert_eq!(got.json()["error"]["code"], "tool_use_failed");
    assert!(got.json()["error"]["failed_generation"].as_str().unwrap().starts_with("<function="));
    ask(&vendor, &body).ok();
}
