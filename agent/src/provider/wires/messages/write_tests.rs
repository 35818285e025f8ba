use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::provider::dialect::Dialect;
use crate::provider::message::{MessageKind, Native, ToolChoice};
use crate::provider::wire::Wire;
use crate::provider::wires::samples::{Sample, call, conversation, tools};

/// A body, a line for each field.
fn shown(text: &str) -> String {
    let pretty: Box<RawValue> = serde_json::from_str(text).unwrap();
    pretty.get().replace(",\"", ",\n\"").replace("},{", "},\n{")
}

/// An endpoint of Anthropic with a model of these facts.
fn claude(name: &str) -> Sample {
    let mut sample = Sample::new("anthropic");
    sample.model = crate::provider::model_facts::ModelFacts::of_name(name);
    sample
}

fn with_effort(name: &str, effort: &str) -> Sample {
    let mut sample = claude(name);
    sample.sampling.reasoning_effort = Some(effort.into());
    sample
}

/// The first two turns of the conversation, the model's as it was said.
fn said() -> Value {
    json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "tool_use", "id": "a1", "name": "read_file", "input": {"path": "x"}},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "tool_use", "id": "a2", "name": "read_file", "input": {"path": "y"}, "caller": {"type": "direct"}},
    ])
}

fn headers(sample: &Sample, messages: &[Message]) -> Vec<(String, String)> {
    let request = Request {
        messages,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        model: "m",
        sampling: &sample.sampling,
    };
    write(&request, &sample.target(), &mut Written::default()).headers
}

/// The content of each turn.
fn contents(sample: &Sample, messages: &[Message]) -> Vec<Value> {
    let body = sample.body(messages, &tools());
    body["messages"].as_array().unwrap().iter().map(|turn| turn["content"].clone()).collect()
}

#[test]
fn the_whole_body() {
    let mut sample = Sample::new("messages");
    sample.sampling.temperature = Some(0.5);
    insta::assert_snapshot!(shown(&sample.text(&conversation(), &tools())));
}

#[test]
fn the_whole_body_of_a_model_that_binds_its_thinking() {
    let sample = with_effort("claude-opus-5-5", "high");
    let mut messages = conversation();
    messages[2].native = sample.native(&said());
    messages[5].native = sample.native(&json!([{"type": "thinking", "thinking": "", "signature": "eA=="}, {"type": "text", "text": "Done."}]));
    insta::assert_snapshot!(shown(&sample.text(&messages, &tools())));
}

#[test]
fn only_what_is_set_is_sent() {
    let mut sample = Sample { stream: false, ..Sample::new("messages") };
    sample.dialect.cache = Cache::None;
    let messages = [Message::text(Speaker::User, MessageKind::Opening, "hi")];
    let whole = r#"{"model":"m","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"stream":false}"#;
    assert_eq!(sample.text(&messages, &[]), whole);
    sample.model.output_limit = Some(8192);
    assert_eq!(sample.body(&messages, &[])["max_tokens"], 8192);
}

#[test]
fn two_requests_of_a_run_begin_alike() {
    let (messages, mut sample) = (conversation(), Sample::new("messages"));
    sample.dialect.cache = Cache::None;
    let earlier = sample.text(&messages[..5], &tools());
    sample.tool_choice = ToolChoice::None;
    let later = sample.text(&messages, &tools());
    let common = earlier.bytes().zip(later.bytes()).take_while(|(a, b)| a == b).count();
    assert!(common > earlier.find("no JSON").unwrap(), "all of the earlier messages are a common prefix");
    assert!(later.contains(r#""tool_choice":{"type":"none"}"#) && later.contains(r#""list_dir""#));
}

#[test]
fn a_turn_goes_back_as_it_was_said_to_its_own_endpoint_alone() {
    let mut sample = Sample::new("messages");
    let mut messages = conversation();
    // Byte for byte: the order of keys, blanks and numbers are those of the endpoint.
    let value = r#"[{"type":"thinking","thinking":"h\u00e9","signature":"c2ln"},{"id":"a1","type":"tool_use","input":{"b": 1.0, "a":2}, "name":"read_file"},{"type":"of_tomorrow","x":1},{"type":"tool_use","id":"a2","name":"read_file","input":{}}]"#;
    messages[2].native = sample.native(&json!([]));
    messages[2].native.as_mut().unwrap().value = value.into();
    assert!(sample.text(&messages, &[]).contains(value));
    sample.origin.model = "another".into();
    let neutral = json!([
        {"type": "tool_use", "id": "a1", "name": "read_file", "input": {"path": "x"}},
        {"type": "tool_use", "id": "a2", "name": "read_file", "input": {"invalid_json": "{\"path\": "}},
    ]);
    assert_eq!(contents(&sample, &messages)[1], neutral);
}

#[test]
fn calls_that_were_not_allowed_do_not_go_back() {
    let sample = Sample::new("messages");
    let mut messages = conversation();
    let call = json!({"type": "tool_use", "id": "g1", "name": "read_file", "input": {}});
    messages[5].native = sample.native(&json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "Done."}, call,
    ]));
    assert_eq!(contents(&sample, &messages)[3], json!([{"type": "text", "text": "Done."}]));
    messages[2].native = sample.native(&json!([said()[3], said()[1]]));
    let ids: Vec<Value> =
        contents(&sample, &messages)[1].as_array().unwrap().iter().map(|block| block["id"].clone()).collect();
    assert_eq!(ids, ["a1", "a2"], "nor in another order");
}

#[test]
fn a_turn_neither_holds_empty_texts_nor_ends_with_thinking() {
    let sample = Sample::new("messages");
    let mut messages = conversation();
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    let text = |text: &str| json!({"type": "text", "text": text});
    messages[5].native = sample.native(&json!([text(" \n"), thinking, text("Done."), thinking, text("")]));
    assert_eq!(contents(&sample, &messages)[3], json!([thinking, text("Done.")]));
    messages[5].native = sample.native(&json!([thinking]));
    assert_eq!(contents(&sample, &messages)[3], json!([text("Done.")]));
}

#[test]
fn results_stand_first_in_one_message_in_the_order_of_their_calls() {
    let sample = Sample { tool_choice: ToolChoice::None, ..Sample::new("messages") };
    let mut messages = conversation();
    messages.swap(3, 4);
    messages[4].content = String::new();
    messages.insert(5, Message::text(Speaker::User, MessageKind::Warning, "Hurry."));
    messages.insert(6, Message::text(Speaker::User, MessageKind::Nudge, "Please."));
    let content = &contents(&sample, &messages)[2];
    let expected = json!([
        {"type": "tool_result", "tool_use_id": "a1"},
        {"type": "tool_result", "tool_use_id": "a2", "content": "no JSON"},
        {"type": "text", "text": "Hurry."},
        {"type": "text", "text": "Please.", "cache_control": {"type": "ephemeral"}},
    ]);
    assert_eq!(content, &expected);
}

#[test]
fn turns_of_one_speaker_are_merged_and_empty_ones_left_out() {
    let sample = Sample::new("messages");
    let say = |role, text: &str| Message::text(role, MessageKind::Turn, text);
    let messages = [
        say(Speaker::User, "a"),
        say(Speaker::Assistant, "b"),
        say(Speaker::User, " \n"),
        say(Speaker::Assistant, "c"),
        say(Speaker::User, "d"),
        say(Speaker::Assistant, ""),
        say(Speaker::User, "e"),
    ];
    let body = sample.body(&messages, &[]);
    let turns: Vec<(&Value, usize)> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| (&turn["role"], turn["content"].as_array().unwrap().len()))
        .collect();
    assert_eq!(turns, [(&json!("user"), 1), (&json!("assistant"), 2), (&json!("user"), 2)]);
}

#[test]
fn ids_fit_in_the_call_and_in_its_result() {
    let mut messages = conversation();
    messages[2].tool_calls[0].id = "functions.read_file:0".into();
    messages[2].tool_calls[0].name = "functions.read_file".into();
    messages[3].tool_call_id = Some("functions.read_file:0".into());
    let sample = Sample::new("generic");
    let sample = Sample { dialect: Dialect { wire: Wire::Messages, ..sample.dialect.clone() }, ..sample };
    let contents = self::contents(&sample, &messages);
    let id = contents[1][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && contents[2][0]["tool_use_id"] == id, "{id}");
    assert_eq!(contents[1][0]["name"], "functions_read_file");
    let origin = sample.origin.clone();
    let value = json!([
        {"type": "tool_use", "id": "functions.read_file:0", "name": "functions.read_file", "input": {}}, said()[3],
    ]);
    messages[2].native = Some(Native { origin, value: value.to_string(), prefix_changed: false });
    let contents = self::contents(&sample, &messages);
    assert_eq!((&contents[1], &contents[2][0]["tool_use_id"]), (&value, &value[0]["id"]), "its own ids stay");
}

#[test]
fn the_root_of_a_schema_holds_what_is_taken() {
    let schema = json!({"type": "object", "properties": {"a": {"anyOf": []}}, "anyOf": [], "additionalProperties": false,
        "$defs": {"x": {}}, "definitions": {}, "title": "t"});
    let declared = |parameters| {
        let tool = ToolDeclaration { name: "t".into(), description: "d".into(), parameters };
        let body = Sample::new("messages").body(&conversation(), &[tool]);
        body["tools"][0]["input_schema"].clone()
    };
    let kept = json!({"type": "object", "properties": {"a": {"anyOf": []}}, "required": [], "$defs": {"x": {}}, "definitions": {}});
    assert_eq!(declared(schema), kept);
    let empty = json!({"type": "object", "properties": {}, "required": []});
    assert_eq!([declared(Value::Null), declared(json!({}))], [empty.clone(), empty]);
}

/// The texts, ids and names that are marked, in order.
fn marked_ones(body: &Value) -> Vec<&str> {
    let blocks =
        body["messages"].as_array().unwrap().iter().flat_map(|turn| turn["content"].as_array().unwrap());
    let all =
        body["tools"].as_array().into_iter().flatten().chain(body["system"].as_array().into_iter().flatten());
    let marked = all.chain(blocks).filter(|block| block.get("cache_control").is_some());
    let name = |block: &'_ Value| {
        ["name", "text", "tool_use_id"].into_iter().find_map(|key| block.get(key)).cloned()
    };
    marked
        .map(|block| name(block).unwrap())
        .map(|name| name.as_str().unwrap().to_owned().leak() as &str)
        .collect()
}

#[test]
fn marks_stand_where_the_prompt_is_to_be_cached() {
    let mut sample = Sample::new("messages");
    let mut messages = conversation();
    let body = sample.body(&messages, &tools());
    assert_eq!(marked_ones(&body), ["list_dir", "You review.", "a2", "Go on."]);
    assert_eq!(body.to_string().matches(r#"{"type":"ephemeral"}"#).count(), 4);
    messages[4].content = String::new();
    let body = sample.body(&messages[..5], &tools());
    assert_eq!(
        marked_ones(&body),
        ["list_dir", "You review.", "Review.", "a1"],
        "nothing to mark in an empty one"
    );
    sample.dialect.cache = Cache::None;
    assert!(!sample.text(&messages, &tools()).contains("cache_control"));
}

fn thinking(sample: &Sample) -> [Value; 3] {
    let body = sample.body(&conversation()[..2], &[]);
    ["thinking", "output_config", "temperature"].map(|name| body[name].clone())
}

#[test]
fn thinking_is_asked_for_as_the_model_takes_it() {
    let null = || Value::Null;
    let budget = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let adaptive = || json!({"type": "adaptive", "display": "summarized"});
    let effort = |effort: &str| json!({"effort": effort});
    assert_eq!(thinking(&claude("claude-sonnet-4-5")), [null(), null(), null()]);
    for (word, tokens) in
        [("minimal", 1024), ("low", 4096), ("medium", 10_000), ("high", 24_000), ("max", 24_000)]
    {
        assert_eq!(thinking(&with_effort("claude-sonnet-4-5", word)), [budget(tokens), null(), null()]);
    }
    assert_eq!(thinking(&with_effort("claude-sonnet-4-5", "none"))[0], json!({"type": "disabled"}));
    assert_eq!(thinking(&claude("claude-opus-4-6")), [adaptive(), null(), null()]);
    assert_eq!(thinking(&with_effort("claude-opus-4-6", "xhigh")), [adaptive(), effort("xhigh"), null()]);
    assert_eq!(thinking(&with_effort("claude-opus-4-6", "minimal"))[1], effort("low"));
    assert_eq!(thinking(&with_effort("claude-opus-5", "off"))[0], json!({"type": "disabled"}));
    let mut bound = adaptive();
    bound["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    assert_eq!(thinking(&claude("claude-opus-5-5")), [bound.clone(), null(), null()]);
    assert_eq!(
        thinking(&with_effort("claude-opus-5-5", "none")),
        [bound, effort("low"), null()],
        "it cannot be kept from it"
    );
    let mut elsewhere = with_effort("claude-opus-5-5", "max");
    elsewhere.dialect.drops_unbound = false;
    assert_eq!(thinking(&elsewhere)[0], adaptive());
}

#[test]
fn a_budget_leaves_room_for_the_answer() {
    let budget = |limit: u64| {
        let mut sample = with_effort("claude-sonnet-4-5", "high");
        sample.model.output_limit = Some(limit);
        thinking(&sample)[0]["budget_tokens"].as_u64()
    };
    assert_eq!([budget(64_000), budget(8192), budget(1200)], [Some(24_000), Some(6144), None]);
}

#[test]
fn a_temperature_and_thinking_do_not_go_together() {
    let temperature = |mut sample: Sample| {
        sample.sampling.temperature = Some(0.5);
        thinking(&sample)
    };
    let said = |sample| {
        let [thinking, _, temperature] = temperature(sample);
        (thinking["type"].as_str().map(str::to_owned), temperature.as_f64())
    };
    assert_eq!(said(claude("claude-sonnet-4-5")), (None, Some(0.5)));
    assert_eq!(said(with_effort("claude-sonnet-4-5", "low")), (Some("enabled".into()), None));
    assert_eq!(said(with_effort("claude-sonnet-4-5", "none")), (Some("disabled".into()), Some(0.5)));
    assert_eq!(said(claude("claude-opus-4-6")), (None, Some(0.5)), "what was set wins over a default");
    assert_eq!(said(claude("claude-opus-4-7")), (Some("adaptive".into()), None), "it takes none at all");
}

#[test]
fn betas_are_named_with_what_needs_them() {
    let messages = conversation();
    let beta = |sample: &Sample| headers(sample, &messages[..2]);
    let named = |beta: &str| vec![("anthropic-beta".to_owned(), beta.to_owned())];
    assert_eq!(beta(&claude("claude-sonnet-4-5")), []);
    assert_eq!(beta(&claude("claude-opus-4-6")), []);
    assert_eq!(beta(&with_effort("claude-sonnet-4-5", "low")), named("interleaved-thinking-2025-05-14"));
    assert_eq!(beta(&claude("claude-opus-5-5")), named("thinking-binding-controls-2026-08-01"));
    let mut sample = with_effort("claude-sonnet-4-5", "low");
    sample.dialect.session_header = Some("x-session-id".into());
    let names: Vec<String> = beta(&sample).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["x-session-id", "anthropic-beta"]);
}

#[test]
fn a_budget_is_not_asked_for_in_a_turn_that_began_without_thinking() {
    let sample = with_effort("claude-sonnet-4-5", "low");
    let mut messages = conversation();
    let asks = |messages: &[Message]| sample.body(messages, &[]).get("thinking").is_some();
    assert!(asks(&messages[..2]), "nothing is under way");
    assert!(!asks(&messages[..5]), "another model made these calls");
    assert!(asks(&messages), "the last words are ours");
    messages[2].native = sample.native(&said());
    assert!(asks(&messages[..5]));
    messages[2].native = sample.native(&json!([said()[1], said()[3]]));
    assert!(!asks(&messages[..5]));
}

#[test]
fn thinking_behind_a_changed_prefix_is_left_out_where_the_endpoint_does_not_drop_it() {
    let types = |sample: &Sample, prefix_changed| {
        let mut messages = conversation();
        let native = sample.native(&said()).unwrap();
        messages[2].native = Some(Native { prefix_changed, ..native });
        let contents = contents(sample, &messages);
        let types =
            contents[1].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap().to_owned());
        types.collect::<Vec<_>>()
    };
    let all = ["thinking", "tool_use", "redacted_thinking", "tool_use"];
    let mut sample = claude("claude-opus-5-5");
    assert_eq!(types(&sample, true), all, "the endpoint drops it");
    sample.dialect.drops_unbound = false;
    assert_eq!(types(&sample, false), all);
    assert_eq!(types(&sample, true), ["tool_use", "tool_use"]);
    sample.model.binds_prefix = false;
    assert_eq!(types(&sample, true), all);
}

#[test]
fn what_was_written_is_what_would_be_written() {
    let mut messages = conversation();
    let mut written = Written::default();
    let (plain, mut other) = (Sample::new("messages"), with_effort("claude-sonnet-4-5", "low"));
    other.dialect.cache = Cache::None;
    messages[2].native = plain.native(&said());
    let mut check = |messages: &[Message], sample: &Sample| {
        let request = Request {
            messages,
            tools: &[],
            tool_choice: ToolChoice::Auto,
            model: "m",
            sampling: &sample.sampling,
        };
        let kept = write(&request, &sample.target(), &mut written).fields;
        assert_eq!(serde_json::to_string(&kept).unwrap(), sample.text(messages, &[]));
    };
    check(&messages[..3], &plain);
    check(&messages, &plain);
    messages[4].content = "[left out]".into();
    check(&messages, &plain);
    messages[2].native.as_mut().unwrap().prefix_changed = true;
    check(&messages, &plain);
    check(&messages, &other);
    messages.remove(2);
    check(&messages, &other);
    check(&messages[..1], &other);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever was said and by whom: speakers take turns, no text is empty, each turn of calls has its results first in
    /// the next one, in order, and what was kept of the last request is what would be written.
    #[test]
    fn every_conversation_is_taken(
        turns in proptest::collection::vec((" {0,1}[a-z]{0,2}", 0usize..4, any::<bool>(), " {0,1}[a-z]{0,2}"), 0..6),
        seen in 0usize..20,
    ) {
        let sample = Sample::new("messages");
        let mut messages = vec![Message::text(Speaker::User, MessageKind::Opening, "task")];
        for (at, (text, calls, is_native, ours)) in turns.into_iter().enumerate() {
            let mut turn = Message::text(Speaker::Assistant, MessageKind::Turn, text.clone());
            turn.tool_calls = (0..calls).map(|number| call(&format!("c{at}.{number}"), "{}")).collect();
            let uses = turn.tool_calls.iter().map(|call| json!({"type": "tool_use", "id": call.id, "name": "f", "input": {}}));
            let blocks = [json!({"type": "thinking", "thinking": "", "signature": "x"}), json!({"type": "text", "text": text})];
            if is_native {
                turn.native = sample.native(&blocks.into_iter().chain(uses).collect());
            }
            let results: Vec<Message> = turn.tool_calls.iter().rev().map(|call| Message::result(&call.id, ours.clone())).collect();
            messages.push(turn);
            messages.extend(results);
            messages.push(Message::text(Speaker::User, MessageKind::Nudge, ours));
        }
        let mut written = Written::default();
        let sampling = &sample.sampling;
        let request = |messages| Request { messages, tools: &[], tool_choice: ToolChoice::Auto, model: "m", sampling };
        write(&request(&messages[..seen.min(messages.len())]), &sample.target(), &mut written);
        let kept = write(&request(&messages), &sample.target(), &mut written).fields;
        let text = sample.text(&messages, &[]);
        prop_assert_eq!(&serde_json::to_string(&kept).unwrap(), &text);
        let body: Value = serde_json::from_str(&text).unwrap();
        let mut open: Vec<Value> = Vec::new();
        for (at, turn) in body["messages"].as_array().unwrap().iter().enumerate() {
            prop_assert_eq!(&turn["role"], if at % 2 == 0 { "user" } else { "assistant" });
            let blocks = turn["content"].as_array().unwrap();
            prop_assert!(!blocks.is_empty());
            prop_assert!(blocks.iter().all(|block| block["text"].as_str().is_none_or(|text| !text.trim().is_empty())));
            let results: Vec<Value> = blocks.iter().take(open.len()).map(|block| block["tool_use_id"].clone()).collect();
            prop_assert_eq!(results, std::mem::take(&mut open));
            open = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| block["id"].clone()).collect();
        }
    }
}

#[test]
fn no_more_is_asked_for_than_the_window_has_left() {
    let mut sample = claude("claude-sonnet-4-5");
    (sample.model.output_limit, sample.model.window) = (Some(64_000), Some(200_000));
    let asked = |sample: &Sample, bytes: usize| {
        let long = Message::text(Speaker::User, MessageKind::Opening, "x".repeat(bytes));
        sample.body(&[long], &[])["max_tokens"].as_u64().unwrap()
    };
    assert_eq!(asked(&sample, 300_000), 64_000);
    let near = asked(&sample, 450_000);
    assert!((32_000..64_000).contains(&near), "{near}");
    assert_eq!(asked(&sample, 9_000_000), 4096);
    sample.model.window = None;
    assert_eq!(asked(&sample, 9_000_000), 64_000);
}
