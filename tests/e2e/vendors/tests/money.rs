//! Caches, windows and what it all costs.

use serde_json::{Value, json};

use super::{Kind, Mode, Turn, Vendor, ask, chat, messages, responses, send};

/// Turns with a call each.
fn long(mode: Mode) -> Vendor {
    Vendor::answering(mode, |seen| Turn::call("read_file", json!({"path": format!("{}.txt", seen.turn)})))
}

fn mark(body: &mut Value) {
    let mark = json!({"type": "ephemeral"});
    body["system"][0]["cache_control"] = mark.clone();
    body["tools"][1]["cache_control"] = mark.clone();
    let messages = body["messages"].as_array_mut().unwrap();
    if let Some(blocks) = messages.last_mut().unwrap()["content"].as_array_mut() {
        blocks.last_mut().unwrap()["cache_control"] = mark;
    }
}

#[test]
fn what_was_marked_before_is_read() {
    let vendor = long(Mode::new(Kind::AnthropicAdaptive).cache_min(10));
    let mut body = messages::first(&vendor);
    let mut last = 0;
    for turn in 0..6 {
        let mut sent = body.clone();
        mark(&mut sent);
        let got = ask(&vendor, &sent).ok().json();
        let usage = |name: &str| got["usage"][name].as_u64().unwrap();
        assert_eq!(usage("cache_read_input_tokens") > 0, turn > 0, "{got}");
        if turn > 1 {
            assert_eq!(usage("input_tokens"), 0, "everything is marked: {got}");
            assert_eq!(usage("cache_read_input_tokens"), last);
        }
        assert_eq!(
            got["usage"]["cache_creation"]["ephemeral_5m_input_tokens"],
            got["usage"]["cache_creation_input_tokens"]
        );
        last = usage("cache_read_input_tokens") + usage("cache_creation_input_tokens");
        messages::add(&mut body, &got["content"]);
    }
    let charged = vendor.charged();
    assert!(charged.cached > charged.written && charged.written > charged.input, "{charged:?}");
    let parts = [(charged.input, 4.0), (charged.cached, 0.2), (charged.written, 5.0), (charged.output, 20.0)];
    let usd: f64 =
        parts.iter().map(|(tokens, price)| f64::from(u32::try_from(*tokens).unwrap()) * price / 1e6).sum();
    assert!((charged.usd - usd).abs() < 1e-9, "{charged:?}");
    // Without marks nothing is read, and a changed choice of tools loses the messages alone.
    let got = ask(&vendor, &body).ok().json();
    assert_eq!(got["usage"]["cache_read_input_tokens"], 0);
    mark(&mut body);
    body["tool_choice"] = json!({"type": "none"});
    let read = ask(&vendor, &body).ok().json()["usage"]["cache_read_input_tokens"].as_u64().unwrap();
    assert!(read > 0 && read < last, "{read} of {last}");
}

#[test]
fn a_mark_looks_back_over_twenty_blocks() {
    for (results, hit) in [(4, true), (30, false)] {
        let turn = (0..results).fold(Turn::default(), |turn, _| turn.and("list_dir", json!({})));
        let vendor = Vendor::start(Mode::new(Kind::AnthropicAdaptive).cache_min(1), vec![turn]);
        let mut body = messages::first(&vendor);
        body["messages"][0]["content"] =
            json!([{"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]);
        let got = ask(&vendor, &body).ok().json();
        assert!(got["usage"]["cache_creation"]["ephemeral_1h_input_tokens"].as_u64().unwrap() > 0);
        body["messages"][0]["content"][0].as_object_mut().unwrap().remove("cache_control");
        messages::add(&mut body, &got["content"]);
        let last = body["messages"][2]["content"].as_array_mut().unwrap().last_mut().unwrap();
        last["cache_control"] = json!({"type": "ephemeral"});
        let read = ask(&vendor, &body).ok().json()["usage"]["cache_read_input_tokens"].as_u64().unwrap();
        assert_eq!(read > 0, hit, "{results} results");
    }
}

#[test]
fn a_short_prefix_is_not_cached() {
    let vendor = long(Mode::new(Kind::AnthropicAdaptive));
    let mut body = messages::first(&vendor);
    mark(&mut body);
    for _ in 0..2 {
        let got = ask(&vendor, &body).ok().json();
        assert_eq!(
            (&got["usage"]["cache_read_input_tokens"], &got["usage"]["cache_creation_input_tokens"]),
            (&json!(0), &json!(0))
        );
    }
}

#[test]
fn responses_are_cached_by_key() {
    let vendor = long(Mode::new(Kind::OpenAi).cache_min(20));
    let mut body = responses::first(&vendor);
    let got = ask(&vendor, &body).ok().json();
    assert!(got["usage"]["input_tokens_details"]["cache_write_tokens"].as_u64().unwrap() > 0);
    responses::add(&mut body, &got["output"]);
    let usage = ask(&vendor, &body).ok().json()["usage"].clone();
    let cached = usage["input_tokens_details"]["cached_tokens"].as_u64().unwrap();
    assert!(cached > 0 && cached < usage["input_tokens"].as_u64().unwrap(), "{usage}");
    body["prompt_cache_key"] = json!("another");
    let usage = ask(&vendor, &body).ok().json()["usage"].clone();
    assert_eq!(usage["input_tokens_details"]["cached_tokens"], 0);
}

#[test]
fn the_router_and_xai_tell_the_cost() {
    for (kind, name, unit) in [(Kind::OpenRouterClaude, "cost", 1.0), (Kind::Xai, "cost_in_usd_ticks", 1e10)]
    {
        let vendor = long(Mode::new(kind));
        let got = ask(&vendor, &chat::first(&vendor)).ok().json();
        let cost = got["usage"][name].as_f64().unwrap() / unit;
        assert!(cost > 0.0 && (cost - vendor.charged().usd).abs() < 1e-6, "{got}");
    }
}

#[test]
fn a_prompt_that_is_too_long_is_refused() {
    let words = [
        (Kind::OpenAi, "exceeds the context window"),
        (Kind::Xai, "maximum prompt length is 60 but the request contains"),
        (Kind::Gemini, "exceeds the maximum number of tokens allowed (60)"),
        (Kind::OpenRouterClaude, "This endpoint's maximum context length is 60 tokens."),
        (Kind::DeepSeek, "This model's maximum context length is 60 tokens."),
        (Kind::Moonshot, "exceeded model token limit: 60 (requested: "),
        (Kind::Zai, "\"code\":\"1261\",\"message\":\"Prompt exceeds max length\""),
        (Kind::MiniMax, "context window exceeds limit (2013)"),
        (Kind::Qwen, "Range of input length should be [1, 60]"),
        (Kind::Mistral, "too large for model with 60 maximum context length"),
        (Kind::Groq, "Please reduce the length of the messages or completion."),
        (Kind::Vllm, "This model's maximum context length is 60 tokens."),
    ];
    for (kind, words) in words {
        let vendor = long(Mode::new(kind).window(60));
        ask(&vendor, &chat::first(&vendor)).refused(400, words);
    }
    let vendor = long(Mode::new(Kind::Cerebras).window(60));
    let got = ask(&vendor, &chat::first(&vendor));
    assert_eq!((got.status, got.body.as_str()), (400, ""));
    assert_eq!(vendor.refusals(), ["400 (no body)"]);
    let vendor = long(Mode::new(Kind::AnthropicAdaptive).window(60));
    ask(&vendor, &messages::first(&vendor)).refused(400, " tokens > 60 maximum");
    let vendor = long(Mode::new(Kind::OpenAi).window(60));
    ask(&vendor, &responses::first(&vendor)).refused(400, "context_length_exceeded");
    let vendor = long(Mode::new(Kind::Vllm).window(60).too_long("token limit exceeded: {n} of {window}"));
    ask(&vendor, &chat::first(&vendor)).refused(400, " of 60");
}

#[test]
fn ollama_cuts_and_says_what_it_holds() {
    let vendor = long(Mode::new(Kind::Ollama).window(60));
    let got = ask(&vendor, &chat::first(&vendor)).ok().json();
    assert_eq!(got["usage"]["prompt_tokens"], 60);
    let loaded = send(&vendor, "GET", "//api/ps", &[], "").ok().json();
    assert_eq!(loaded["models"][0]["context_length"], 60);
}

#[test]
fn models_are_listed_with_their_windows() {
    let fields = [
        (Kind::Vllm, "max_model_len"),
        (Kind::OpenRouterGemini, "context_length"),
        (Kind::Groq, "context_window"),
        (Kind::Mistral, "max_context_length"),
        (Kind::AnthropicEnabled, "max_input_tokens"),
    ];
    for (kind, field) in fields {
        let vendor = long(Mode::new(kind).window(4321));
        let list = send(&vendor, "GET", "/models", &[], "").ok().json();
        assert_eq!(list["data"][0][field], 4321, "{kind:?}: {list}");
    }
}
