use bytes::Bytes;
use proptest::prelude::*;
use uwf_store::json::sorted;

use super::*;
use crate::provider::CompletionEvent;
use crate::provider::ProviderError;
use crate::provider::http::read_body;
use crate::provider::message::{
    Message, MessageKind, Request, Sampling, Speaker, TokenUsage, ToolCall, ToolChoice,
};
use crate::provider::wire::Wire;
use crate::provider::wires::Assembly as _;

/// What comes of a body, and the progress that was told.
fn read(body: String, said: &[Message]) -> (Result<Completion, AttemptError>, Vec<String>) {
    let sampling = Sampling::default();
    let request = Request {
        messages: said,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        model: "m",
        sampling: &sampling,
    };
    let mut pieces = Vec::new();
    let mut on_event = |piece: CompletionEvent<'_>| match piece {
        CompletionEvent::Text(text) => pieces.push(format!("says {text}")),
        CompletionEvent::Reasoning(text) => pieces.push(format!("thinks {text}")),
        _ => {}
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let completion =
        runtime.block_on(read_body(Wire::Messages, vec![Bytes::from(body)], &request, &mut on_event));
    (completion, pieces)
}

fn stream(events: &[Value]) -> String {
    let event = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

fn streamed(events: &[Value]) -> Result<Completion, AttemptError> {
    read(stream(events), &[]).0
}

fn whole(content: Value, stop_reason: &str) -> Result<Completion, AttemptError> {
    let reply = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 2}});
    read(reply.to_string(), &[]).0
}

fn started() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 1}}})
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, kind: &str, key: &str, piece: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}})
}

fn says(index: u64, piece: &str) -> Value {
    delta(index, "text_delta", "text", piece)
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ended(stop_reason: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    [
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]
}

/// A stream of these events between its start and its end.
fn reply(events: &[Value], stop_reason: &str) -> Result<Completion, AttemptError> {
    streamed(&[&[started()], events, &ended(stop_reason)].concat())
}

fn native(completion: &Completion) -> Value {
    completion.native.as_ref().map(|native| serde_json::from_str(&native.value).unwrap()).unwrap_or_default()
}

fn calls(completion: &Completion) -> Vec<(&str, &str, &str)> {
    completion.tool_calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect()
}

fn tool_use(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": input})
}

const INPUT: &str = "input_json_delta";

#[test]
fn a_turn_of_everything_is_the_same_streamed_and_not() {
    let blocks = sorted(json!([
        {"type": "thinking", "thinking": "hmm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "Let me look."},
        tool_use("a", json!({"x": 1})),
        {"type": "of_tomorrow", "y": [1]},
        {"type": "tool_use", "id": "b", "name": "g", "input": {}, "caller": {"type": "direct"}},
    ]));
    let events = [
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, "thinking_delta", "thinking", "h"),
        delta(0, "thinking_delta", "thinking", "mm"),
        delta(0, "signature_delta", "signature", "c2ln"),
        stop(0),
        start(1, blocks[1].clone()),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        says(2, "Let me "),
        delta(2, "delta_of_tomorrow", "text", "x"),
        says(2, "look."),
        stop(2),
        start(3, tool_use("a", json!({}))),
        delta(3, INPUT, "partial_json", ""),
        delta(3, INPUT, "partial_json", "{\"x\""),
        delta(3, INPUT, "partial_json", ":1}"),
        stop(3),
        start(4, blocks[4].clone()),
        stop(4),
        start(5, blocks[5].clone()),
        stop(5),
    ];
    let [streamed, whole] = [reply(&events, "tool_use").unwrap(), whole(blocks.clone(), "tool_use").unwrap()];
    assert_eq!(native(&streamed), blocks);
    assert_eq!((&streamed.content[..], streamed.reasoning.as_deref()), ("Let me look.", Some("hmm")));
    assert_eq!(calls(&streamed), [("a", "f", "{\"x\":1}"), ("b", "g", "{}")]);
    assert_eq!(streamed.finish_reason.as_deref(), Some("tool_use"));
    assert_eq!(streamed.raw["content"], blocks);
    assert_eq!(
        Completion { raw: Value::Null, ..streamed },
        Completion {
            raw: Value::Null,
            native: whole.native.clone().map(|native| crate::provider::message::Native {
                value: serde_json::to_string(&blocks).unwrap(),
                ..native
            }),
            ..whole
        }
    );
}

#[test]
fn a_stream_tells_its_pieces_as_they_arrive() {
    let events = [
        started(),
        start(0, json!({"type": "thinking", "thinking": ""})),
        delta(0, "thinking_delta", "thinking", "hm"),
        start(1, json!({"type": "text", "text": "O"})),
        says(1, "k"),
    ];
    let (result, pieces) = read(stream(&[&events[..], &ended("end_turn")].concat()), &[]);
    assert_eq!(pieces, ["thinks hm", "says O", "says k"]);
    assert_eq!(result.unwrap().content, "Ok");
}

#[test]
fn a_plain_text_needs_no_other_form() {
    let text = |text: &str| json!({"type": "text", "text": text});
    for plain in [json!([text("a")]), json!([text(""), text("a")]), json!([]), json!("a"), text("a")] {
        let completion = whole(plain, "end_turn").unwrap();
        assert_eq!(completion.native, None);
    }
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "x"});
    let completion = whole(json!([text(""), thinking, text("a"), text("b")]), "end_turn").unwrap();
    assert_eq!(native(&completion), json!([thinking, text("a"), text("b")]), "an empty text is refused");
    assert_eq!(completion.content, "ab");
}

#[test]
fn texts_that_other_blocks_part_are_paragraphs() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "x"});
    let blocks =
        json!([thinking("one"), thinking("two"), text("a"), text("b"), thinking("three"), text("c")]);
    let completion = whole(blocks, "end_turn").unwrap();
    assert_eq!(completion.content, "ab\n\nc");
    assert_eq!(completion.reasoning.as_deref(), Some("one\n\ntwo\n\nthree"));
}

#[test]
fn a_whole_reply_goes_back_byte_for_byte() {
    let block = r#"{"type":"thinking","signature":"c2ln","thinking":"h\u00e9","z":1.0}"#;
    let body = format!(r#"{{"type":"message","content":[ {block} , {{"type":"text","text":"a"}}]}}"#);
    let mut assembly = Box::<MessagesAssembly>::default();
    assembly.push(&body, &Secrets::default(), &mut |_| {}).unwrap();
    let origin =
        crate::provider::message::ModelOrigin { wire: Wire::Messages, host: "h".into(), model: "m".into() };
    let secrets = Secrets::default();
    let completion =
        assembly.finish(&Ending { conversation: &[], origin: &origin, secrets: &secrets }).unwrap();
    assert_eq!(completion.native.unwrap().value, format!(r#"[{block},{{"type":"text","text":"a"}}]"#));
}

#[test]
fn arguments_are_kept_as_they_came() {
    for (pieces, kept, goes_back) in [
        (vec!["{\"a\": ", "1.0}"], "{\"a\": 1.0}", true),
        (vec![], "{}", true),
        (vec!["", " "], "{}", true),
        (vec!["{\"a\": "], "{\"a\": ", false),
        (vec!["[1]"], "[1]", false),
        (vec!["nothing"], "nothing", false),
    ] {
        let mut events = vec![start(0, tool_use("a", json!({})))];
        events.extend(pieces.iter().map(|piece| delta(0, INPUT, "partial_json", piece)));
        let completion = reply(&events, "tool_use").unwrap();
        assert_eq!(calls(&completion), [("a", "f", kept)]);
        assert_eq!(completion.native.is_some(), goes_back, "{kept}");
        let value = completion.native.map(|native| native.value).unwrap_or_default();
        assert_eq!(value.contains(kept), goes_back, "{value}");
    }
    let completion = reply(&[start(0, tool_use("a", json!({"x": 1})))], "tool_use").unwrap();
    assert_eq!(calls(&completion), [("a", "f", "{\"x\":1}")], "some send all of it at once");
    for (input, kept) in [(json!("{\"x\": 1}"), "{\"x\": 1}"), (Value::Null, "{}"), (json!(7), "7")] {
        let completion = whole(json!([tool_use("a", input)]), "tool_use").unwrap();
        assert_eq!((calls(&completion), &completion.native), (vec![("a", "f", kept)], &None));
    }
}

#[test]
fn ids_that_are_missing_or_taken_are_replaced() {
    let mut said = Message::text(Speaker::Assistant, MessageKind::Turn, "");
    said.tool_calls = vec![ToolCall { id: "a".into(), name: "f".into(), arguments: "{}".into() }];
    let content = json!([tool_use("a", json!({})), {"type": "tool_use"}, tool_use("c", json!({}))]);
    let body = json!({"type": "message", "content": content}).to_string();
    let completion = read(body, std::slice::from_ref(&said)).0.unwrap();
    assert_eq!(
        calls(&completion),
        [("call00001", "f", "{}"), ("call00002", "unnamed", "{}"), ("c", "f", "{}")]
    );
}

#[test]
fn usage_is_what_was_told_last_and_counts_the_cache() {
    let usage = |start: Value, end: Value| {
        let mut first = started();
        first["message"]["usage"] = start;
        let [mut last, end_mark] = ended("end_turn");
        last["usage"] = end;
        streamed(&[first, start_of_text(), last, end_mark]).unwrap().usage
    };
    let tokens = |input_tokens, output_tokens, cached_tokens, written_tokens, reasoning_tokens| {
        Some(TokenUsage {
            input_tokens,
            output_tokens,
            cached_tokens,
            written_tokens,
            reasoning_tokens,
            cost_usd: None,
        })
    };
    let full = json!({"input_tokens": 3, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 100, "output_tokens": 1});
    assert_eq!(usage(full.clone(), json!({"output_tokens": 9})), tokens(123, 9, 20, 100, 0));
    let nulls = json!({"input_tokens": null, "cache_read_input_tokens": null, "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4}});
    assert_eq!(usage(full.clone(), nulls), tokens(123, 9, 20, 100, 4));
    assert_eq!(
        usage(full.clone(), json!({"input_tokens": 5, "cache_creation_input_tokens": 0})),
        tokens(25, 1, 20, 0, 0)
    );
    assert_eq!(usage(json!({"input_tokens": "7"}), json!({"output_tokens": 2.0})), tokens(7, 2, 0, 0, 0));
    for none in [Value::Null, json!({}), json!("many"), json!({"input_tokens": null})] {
        assert_eq!(usage(none.clone(), none), None);
    }
    let cost = usage(full, json!({"output_tokens": 1, "cost": 0.5})).unwrap().cost_usd;
    assert_eq!(cost, Some(0.5));
}

fn start_of_text() -> Value {
    start(0, json!({"type": "text", "text": "a"}))
}

#[test]
fn why_it_ended_is_kept_and_some_ends_are_errors() {
    for reason in ["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "weird"] {
        assert_eq!(reply(&[start_of_text()], reason).unwrap().finish_reason.as_deref(), Some(reason));
        assert_eq!(whole(json!("a"), reason).unwrap().finish_reason.as_deref(), Some(reason));
    }
    let too_long = reply(&[start_of_text()], "model_context_window_exceeded").unwrap_err().into_error("u");
    assert!(matches!(too_long, ProviderError::ContextLength { .. }), "{too_long}");
    let filtered = whole(json!([]), "sensitive").unwrap_err().into_error("u");
    assert!(matches!(filtered, ProviderError::Refused { .. }), "{filtered}");
    assert_eq!(whole(json!("a"), "sensitive").unwrap().content, "a");
}

#[test]
fn a_refusal_is_final_and_says_why() {
    let details = json!({"type": "refusal", "category": "cyber", "explanation": "This looks harmful."});
    let [mut last, end] = ended("refusal");
    last["delta"]["stop_details"] = details.clone();
    let whole = json!({"type": "message", "content": [], "stop_reason": "refusal", "stop_details": details});
    for error in [streamed(&[started(), start_of_text(), last, end]), read(whole.to_string(), &[]).0] {
        let error = error.unwrap_err();
        assert_eq!(error.retry_decision(), crate::provider::attempt_error::RetryDecision::Final);
        assert!(error.to_string().ends_with("the model refused to answer: This looks harmful."), "{error}");
    }
    let bare = reply(&[], "refusal").unwrap_err();
    assert!(bare.to_string().ends_with("the model refused to answer"), "{bare}");
}

#[test]
fn errors_are_looked_for_first() {
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "Overloaded"}, "request_id": "req_1"});
    let with_error = json!({"type": "message", "content": [], "error": {"message": "Overloaded"}});
    for event in [
        error("overloaded_error"),
        json!({"error": "Overloaded"}),
        json!({"message": "Overloaded"}),
        with_error,
    ] {
        for error in [read(event.to_string(), &[]).0, streamed(&[started(), start_of_text(), event.clone()])]
        {
            let error = error.unwrap_err();
            let is_told =
                matches!(&error, AttemptError::InBand { api_error } if api_error.message == "Overloaded");
            assert!(is_told, "{event}: {error}");
        }
    }
    let decision = |kind| streamed(&[started(), error(kind)]).unwrap_err().retry_decision();
    for passing in ["overloaded_error", "rate_limit_error", "api_error", "timeout_error"] {
        assert_ne!(decision(passing), crate::provider::attempt_error::RetryDecision::Final, "{passing}");
    }
    for permanent in [
        "authentication_error",
        "invalid_request_error",
        "permission_error",
        "billing_error",
        "request_too_large",
    ] {
        assert_eq!(decision(permanent), crate::provider::attempt_error::RetryDecision::Final, "{permanent}");
    }
    let error = streamed(&[error("api_error")]).unwrap_err();
    assert!(error.to_string().ends_with("Overloaded (request req_1)"), "{error}");
}

#[test]
fn events_that_are_out_of_order_or_missing_break_nothing() {
    let text = |events: &[Value]| reply(events, "end_turn").unwrap().content;
    assert_eq!(text(&[says(7, "a"), says(7, "b")]), "ab", "no start");
    assert_eq!(
        text(&[start_of_text(), says(0, "b"), start_of_text(), says(0, "c")]),
        "abac",
        "the same index"
    );
    assert_eq!(text(&[start(4, json!({"type": "text"})), start_of_text(), says(4, "b")]), "ba");
    assert_eq!(text(&[stop(3), start_of_text(), stop(9), stop(9)]), "a");
    assert_eq!(text(&[start(0, json!({"type": "thinking"})), says(0, "a")]), "a", "a block of another kind");
    assert_eq!(
        text(&[delta(5, INPUT, "partial_json", "{}"), start(0, json!([1])), start(1, json!("x"))]),
        ""
    );
    let signed = [start_of_text(), delta(0, "signature_delta", "signature", "c2ln")];
    assert_eq!(reply(&signed, "end_turn").unwrap().native, None, "a signature of nothing");
    let no_index = json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "b"}});
    assert_eq!(text(&[start_of_text(), no_index]), "ab");
    let odd = json!({"type": "content_block_delta", "index": "0", "delta": ["text_delta"], "message": 7});
    assert_eq!(text(&[start_of_text(), odd, json!({"type": "of_tomorrow", "message": "hello"})]), "a");
    let calls_late = [
        start(1, tool_use("b", json!({}))),
        start(0, tool_use("a", json!({}))),
        delta(1, INPUT, "partial_json", "{\"x\":1}"),
    ];
    let completion = reply(&calls_late, "tool_use").unwrap();
    assert_eq!(calls(&completion), [("b", "f", "{\"x\":1}"), ("a", "f", "{}")]);
    let twice = r#"data: {"type":"content_block_delta","index":0,"delta":{},"delta":{"type":"text_delta","text":"b"}}"#;
    let body = stream(&[started(), start_of_text()]) + twice + "\n\n" + &stream(&ended("end_turn"));
    assert_eq!(read(body, &[]).0.unwrap().content, "ab");
}

#[test]
fn what_is_cut_off_is_never_an_answer_and_nothing_at_all_is_an_error() {
    let events = [&[started(), start_of_text(), stop(0)][..], &ended("end_turn")].concat();
    for end in 1..events.len() {
        for mark in ["", "data: [DONE]\n\n"] {
            let error = read(stream(&events[..end]) + mark, &[]).0.unwrap_err();
            assert!(matches!(error, AttemptError::Cut { .. }), "{end}: {error}");
        }
    }
    for nothing in [json!({}), json!({"type": "message"}), json!({"choices": []}), json!({"usage": {}})] {
        assert_eq!(read(nothing.to_string(), &[]).0, Err(AttemptError::Empty), "{nothing}");
    }
    let in_a_stream = format!("data: {}\n\n", json!({"type": "message", "content": "a"}));
    assert_eq!(read(in_a_stream, &[]).0.unwrap().content, "a");
    let silent = reply(&[], "end_turn").unwrap();
    assert_eq!((silent.content.as_str(), silent.native), ("", None));
}

#[test]
fn an_assembled_stream_is_kept_as_a_reply() {
    let events = [
        start(0, json!({"type": "text", "text": ""})),
        says(0, "Hé"),
        start(1, tool_use("a", json!({}))),
        delta(1, INPUT, "partial_json", "{\"x\""),
    ];
    let completion = reply(&events, "tool_use").unwrap();
    let call = json!({"id": "a", "name": "f", "arguments": "{\"x\""});
    let content = json!([{"type": "text", "text": "Hé"}, call]);
    let expected = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}});
    assert_eq!(completion.raw, expected);
}

#[test]
fn secrets_are_in_no_part_of_a_completion() {
    let mut secrets = Secrets::default();
    secrets.add("sk-secret-key");
    let origin =
        crate::provider::message::ModelOrigin { wire: Wire::Messages, host: "h".into(), model: "m".into() };
    let input = json!({"x": "sk-secret-key"});
    let blocks = json!([{"type": "thinking", "thinking": "sk-secret-key", "signature": "s"}, {"type": "text", "text": "sk-secret-key"}, tool_use("a", input)]);
    let mut assembly = Box::<MessagesAssembly>::default();
    let body = json!({"type": "message", "content": blocks}).to_string();
    assembly.push(&body, &secrets, &mut |_| {}).unwrap();
    let ending = Ending { conversation: &[], origin: &origin, secrets: &secrets };
    let completion = ending.complete(assembly).unwrap();
    assert!(!format!("{completion:?}").contains("sk-secret-key"));
    assert_eq!(completion.native, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The completion does not depend on how the endpoint cuts what the model says into events, nor on what it sends
    /// between them.
    #[test]
    fn deltas_of_any_size_give_the_same_completion(
        texts in proptest::collection::vec((0usize..4, "\\PC{0,20}"), 0..6),
        sizes in proptest::collection::vec(1usize..8, 1..20),
        pings in proptest::collection::vec(any::<bool>(), 1..20),
    ) {
        let mut sizes = sizes.into_iter().cycle();
        let mut pings = pings.into_iter().cycle();
        let mut cut = |text: &str| -> Vec<String> {
            let characters: Vec<char> = text.chars().collect();
            let (mut pieces, mut rest) = (Vec::new(), &characters[..]);
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                pieces.push(piece.iter().collect());
                rest = behind;
            }
            pieces
        };
        let (mut events, mut blocks) = (Vec::new(), Vec::new());
        for (index, (kind, text)) in texts.iter().enumerate() {
            let index = index as u64;
            let id = format!("a{index}");
            let input = json!({"x": text});
            let (block, begun, delta_kind, key, said) = match kind {
                0 => (json!({"type": "text", "text": text}), json!({"type": "text", "text": ""}), "text_delta", "text", text.clone()),
                1 => (json!({"type": "thinking", "thinking": text, "signature": "s"}), json!({"type": "thinking", "thinking": "", "signature": "s"}), "thinking_delta", "thinking", text.clone()),
                2 => (tool_use(&id, input.clone()), tool_use(&id, json!({})), INPUT, "partial_json", input.to_string()),
                _ => (json!({"type": "redacted_thinking", "data": text}), json!({"type": "redacted_thinking", "data": text}), "none", "none", String::new()),
            };
            blocks.push(block);
            events.push(start(index, begun));
            for piece in cut(&said) {
                events.push(delta(index, delta_kind, key, &piece));
                events.extend(pings.next().unwrap().then(|| json!({"type": "ping"})));
            }
            events.push(stop(index));
        }
        let streamed = reply(&events, "end_turn").unwrap();
        let whole = whole(Value::Array(blocks), "end_turn").unwrap();
        prop_assert_eq!(native(&streamed), native(&whole));
        prop_assert_eq!(&streamed.raw["content"], &whole.raw["content"]);
        let plain = |completion: Completion| Completion { native: None, raw: Value::Null, ..completion };
        prop_assert_eq!(plain(streamed), plain(whole));
    }
}
