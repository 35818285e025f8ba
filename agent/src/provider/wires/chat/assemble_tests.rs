//! The tolerance table: what endpoints do, and what becomes of it, streamed and not.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::provider::attempt_error::AttemptError;
use crate::provider::http::read_body;
use crate::provider::message::{
    Completion, Message, MessageKind, Request, Sampling, Speaker, TokenUsage, ToolCall, ToolChoice,
};
use crate::provider::wire::Wire;
use crate::provider::{CompletionEvent, ProviderError};

/// Reads a body that arrives in these pieces.
fn read(pieces: Vec<Bytes>, said: &[Message]) -> Result<Completion, AttemptError> {
    let sampling = Sampling::default();
    let request = Request {
        messages: said,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        model: "m",
        sampling: &sampling,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(read_body(Wire::Chat, pieces, &request, &mut |_: CompletionEvent<'_>| {}))
}

fn text(body: impl Into<String>) -> Result<Completion, AttemptError> {
    read(vec![Bytes::from(body.into())], &[])
}

/// A reply that is whole: a message and why it ended.
fn whole(message: Value, finish_reason: Value) -> Result<Completion, AttemptError> {
    text(json!({"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}).to_string())
}

/// A stream of events, with its end mark.
fn streamed(events: &[Value]) -> Result<Completion, AttemptError> {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    text(events + "data: [DONE]\n\n")
}

/// A stream of deltas, then the reason of its end.
fn deltas(deltas: &[Value], finish_reason: Value) -> Result<Completion, AttemptError> {
    let mut events: Vec<Value> = deltas.iter().map(|delta| json!({"choices": [{"delta": delta}]})).collect();
    events.push(json!({"choices": [{"delta": {}, "finish_reason": finish_reason}]}));
    streamed(&events)
}

/// The same message, whole and as the only delta of a stream.
fn both(message: Value, finish_reason: Value) -> [Completion; 2] {
    let whole = whole(message.clone(), finish_reason.clone()).unwrap();
    [whole, deltas(&[message], finish_reason).unwrap()]
}

fn calls(completion: &Completion) -> Vec<(&str, &str, &str)> {
    completion.tool_calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect()
}

#[test]
fn tool_calls_are_trusted_whatever_the_finish_reason_says() {
    let message =
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]});
    for reason in [json!(""), Value::Null, json!("stop"), json!("weird"), json!(7)] {
        for completion in both(message.clone(), reason.clone()) {
            assert_eq!(calls(&completion), [("a", "f", "{}")], "{reason}");
            assert_eq!(completion.finish_reason.as_deref(), reason.as_str());
        }
    }
    let absent = text(json!({"choices": [{"message": message}]}).to_string()).unwrap();
    assert_eq!(absent.tool_calls.len(), 1);
}

#[test]
fn content_is_null_absent_empty_or_parts() {
    for message in [json!({"content": null}), json!({}), json!({"content": ""}), json!({"content": []})] {
        for completion in both(message, json!("stop")) {
            assert_eq!(completion.content, "");
        }
    }
    let parts = json!({"content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "a"}, {"type": "image_url"}, "b",
    ]});
    for completion in both(parts, json!("stop")) {
        assert_eq!((completion.content.as_str(), completion.reasoning.as_deref()), ("ab", Some("hm")));
    }
    for completion in both(json!({"content": null, "refusal": "I will not."}), json!("stop")) {
        assert_eq!(completion.content, "I will not.");
    }
}

#[test]
fn usage_is_optional_and_has_many_names() {
    let usage = |usage: Value| {
        let whole = json!({"choices": [{"message": {"content": "a"}}], "usage": usage}).to_string();
        let last = json!({"choices": [], "usage": usage});
        let stream = streamed(&[json!({"choices": [{"delta": {"content": "a"}}]}), last]).unwrap().usage;
        assert_eq!(text(whole).unwrap().usage, stream);
        stream
    };
    for none in [Value::Null, json!({}), json!("many"), json!({"prompt_tokens": null})] {
        assert_eq!(usage(none), None);
    }
    let tokens = |input_tokens, output_tokens, cached_tokens, reasoning_tokens| {
        Some(TokenUsage {
            input_tokens,
            output_tokens,
            cached_tokens,
            reasoning_tokens,
            ..TokenUsage::default()
        })
    };
    assert_eq!(usage(json!({"prompt_tokens": 3, "completion_tokens": 2})), tokens(3, 2, 0, 0));
    assert_eq!(usage(json!({"input_tokens": 3.0, "output_tokens": "2"})), tokens(3, 2, 0, 0));
    let details = json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 1}});
    assert_eq!(usage(details), tokens(9, 5, 4, 1));
    let null_details = json!({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": null});
    assert_eq!(usage(null_details), tokens(9, 5, 0, 0));
    assert_eq!(usage(json!({"prompt_tokens": 9, "prompt_cache_hit_tokens": 8})), tokens(9, 0, 8, 0));
    let event = json!({"choices": [{"delta": {"content": "a"}, "usage": {"prompt_tokens": 1}}]});
    assert_eq!(streamed(&[event]).unwrap().usage, tokens(1, 0, 0, 0));
    let event = json!({"choices": [{"delta": {"content": "a"}}], "x_groq": {"usage": {"prompt_tokens": 1}}});
    assert_eq!(streamed(&[event]).unwrap().usage, tokens(1, 0, 0, 0));
}

#[test]
fn calls_without_id_or_index_get_ids_of_nine_characters() {
    let function = |name: &str| json!({"function": {"name": name, "arguments": "{\"a\":1}"}});
    for completion in
        both(json!({"tool_calls": [function("f"), function("f"), function("g")]}), json!("stop"))
    {
        let ids: Vec<&str> = completion.tool_calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call00000", "call00001", "call00002"]);
        assert!(ids.iter().all(|id| id.len() == 9));
    }
    let one_each =
        deltas(&[json!({"tool_calls": [function("f")]}), json!({"tool_calls": [function("f")]})], json!(""));
    assert_eq!(one_each.unwrap().tool_calls.len(), 2);
}

#[test]
fn ids_that_are_taken_are_replaced() {
    let mut said = Message::text(Speaker::Assistant, MessageKind::Turn, "");
    said.tool_calls = vec![ToolCall { id: "call_0".into(), name: "f".into(), arguments: "{}".into() }];
    let call = |name: &str| json!({"id": "call_0", "function": {"name": name, "arguments": "{}"}});
    let whole =
        json!({"choices": [{"message": {"tool_calls": [call("f"), call("f"), call("g")]}}]}).to_string();
    let event =
        |name: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": call(name)}}]}));
    let stream = event("f") + &event("f") + &event("g") + "data: [DONE]\n\n";
    for body in [whole, stream] {
        let completion = read(vec![Bytes::from(body)], std::slice::from_ref(&said)).unwrap();
        assert_eq!(
            calls(&completion),
            [("call00001", "f", "{}"), ("call00002", "f", "{}"), ("call00003", "g", "{}")]
        );
    }
}

#[test]
fn fragments_find_their_call() {
    let piece = |index: Value, id: Value, name: Value, arguments: &str| json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]});
    let null = || Value::Null;
    let usual = [
        piece(json!(0), json!("a"), json!("f"), ""),
        piece(json!(0), null(), null(), "{\"x\""),
        piece(json!(1), json!("b"), json!("g"), ""),
        piece(json!(0), null(), null(), ":1}"),
        piece(json!(1), json!(""), json!(""), "{}"),
    ];
    assert_eq!(
        calls(&deltas(&usual, json!("tool_calls")).unwrap()),
        [("a", "f", "{\"x\":1}"), ("b", "g", "{}")]
    );
    let index_always_0 = [
        piece(json!(0), json!("a"), json!("f"), "{}"),
        piece(json!(0), json!("b"), json!("f"), "{"),
        piece(json!(0), json!("b"), null(), "}"),
    ];
    assert_eq!(calls(&deltas(&index_always_0, json!("")).unwrap()), [("a", "f", "{}"), ("b", "f", "{}")]);
    let no_ids = [piece(json!(0), null(), json!("f"), "{}"), piece(json!(0), null(), json!("g"), "{}")];
    let no_ids = deltas(&no_ids, json!("")).unwrap();
    assert_eq!(calls(&no_ids), [("call00000", "f", "{}"), ("call00001", "g", "{}")]);
    let name_repeated = [
        piece(json!(0), json!("a"), json!("f"), "{\"x\""),
        piece(json!(0), json!("a"), json!("f"), ":1}"),
        piece(json!(0), json!("a"), json!("f"), ""),
    ];
    assert_eq!(calls(&deltas(&name_repeated, json!("")).unwrap()), [("a", "f", "{\"x\":1}")]);
    let name_in_pieces = [
        piece(json!(0), json!("a"), json!("read_"), ""),
        piece(json!(0), null(), json!("file"), ""),
        piece(json!(0), null(), null(), "{}"),
    ];
    assert_eq!(calls(&deltas(&name_in_pieces, json!("")).unwrap()), [("a", "read_file", "{}")]);
    let late_name = [piece(json!(0), json!("a"), null(), "{"), piece(json!(0), null(), json!("f"), "}")];
    assert_eq!(calls(&deltas(&late_name, json!("")).unwrap()), [("a", "f", "{}")]);
    let late_id = [piece(json!(0), null(), json!("f"), "{"), piece(json!(0), json!("a"), null(), "}")];
    assert_eq!(calls(&deltas(&late_id, json!("")).unwrap()), [("a", "f", "{}")]);
    let ids_only = [
        piece(null(), json!("a"), json!("f"), "{"),
        piece(null(), json!("b"), json!("g"), "{"),
        piece(null(), json!("a"), null(), "}"),
        piece(null(), json!("b"), null(), "}"),
    ];
    assert_eq!(calls(&deltas(&ids_only, json!("")).unwrap()), [("a", "f", "{}"), ("b", "g", "{}")]);
}

#[test]
fn arguments_are_kept_as_they_came() {
    for (arguments, kept) in [
        (json!({"a": 1}), "{\"a\":1}"),
        (json!(""), "{}"),
        (Value::Null, "{}"),
        (json!("{\"a\": "), "{\"a\": "),
        (json!("not JSON"), "not JSON"),
        (json!("{\"a\":\"\\\\\"}"), "{\"a\":\"\\\\\"}"),
    ] {
        let call = json!({"id": "a", "function": {"name": "f", "arguments": arguments}});
        for completion in both(json!({"tool_calls": [call]}), json!("tool_calls")) {
            assert_eq!(calls(&completion), [("a", "f", kept)]);
        }
    }
    for completion in
        both(json!({"tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]}), json!("stop"))
    {
        assert_eq!(calls(&completion), [("a", "unnamed", "{}")]);
    }
    for completion in both(json!({"content": "x", "tool_calls": [{}]}), json!("stop")) {
        assert_eq!(calls(&completion), []);
    }
    for completion in both(json!({"content": "x", "tool_calls": null}), json!("stop")) {
        assert_eq!(calls(&completion), []);
    }
}

#[test]
fn reasoning_has_two_names_and_is_none_when_empty() {
    for message in [
        json!({"content": "a", "reasoning_content": "hm"}),
        json!({"content": "a", "reasoning": "hm"}),
        json!({"content": "a", "reasoning": "hm", "reasoning_content": "hm"}),
        json!({"content": "a", "reasoning": "hm", "reasoning_content": ""}),
        json!({"content": "a", "reasoning": "hm", "reasoning_content": null}),
    ] {
        for completion in both(message, json!("stop")) {
            assert_eq!(completion.reasoning.as_deref(), Some("hm"));
        }
    }
    for message in [json!({"content": "a", "reasoning": ""}), json!({"content": "a", "reasoning": {"x": 1}})]
    {
        for completion in both(message, json!("stop")) {
            assert_eq!(completion.reasoning, None);
        }
    }
}

#[test]
fn errors_are_looked_for_first() {
    let good = json!({"delta": {"content": "a"}, "message": {"content": "a"}, "finish_reason": "stop"});
    for (event, words) in [
        (json!({"error": {"message": "overloaded", "code": 502}}), "overloaded"),
        (json!({"error": "overloaded", "choices": [good]}), "overloaded"),
        (json!({"object": "error", "message": "overloaded"}), "overloaded"),
        (
            json!({"choices": [{"error": {"message": "overloaded"}, "message": {"content": "a"}}]}),
            "overloaded",
        ),
        (json!({"choices": [{"message": {"content": "a"}, "finish_reason": "error"}]}), "ended the reply"),
    ] {
        let first = json!({"choices": [{"delta": {"content": "half"}}]});
        for error in [text(event.to_string()), streamed(&[first, event.clone()])] {
            let error = error.unwrap_err();
            assert!(
                matches!(&error, AttemptError::InBand { api_error } if api_error.message.contains(words)),
                "{error}"
            );
        }
    }
}

#[test]
fn chunks_that_say_nothing_are_passed_over_and_nothing_at_all_is_an_error() {
    let filter = json!({"choices": [], "prompt_filter_results": [{"content_filter_results": {}}]});
    let empty = json!({"choices": [{"delta": null}]});
    let said = json!({"choices": [{"index": 0, "delta": {"content": "a"}}]});
    let other = json!({"choices": [{"index": 1, "delta": {"content": "b"}}]});
    let done = json!({"choices": [{"finish_reason": "stop"}]});
    assert_eq!(streamed(&[filter.clone(), empty.clone(), said, other, done]).unwrap().content, "a");
    assert_eq!(streamed(&[filter.clone(), empty]), Err(AttemptError::Empty));
    assert_eq!(streamed(&[]), Err(AttemptError::Empty));
    for reply in [filter, json!({"choices": null}), json!({"choices": [{"message": null}]}), json!({})] {
        assert_eq!(text(reply.to_string()), Err(AttemptError::Empty), "{reply}");
    }
}

#[test]
fn fields_that_nobody_needs_may_be_missing_or_odd() {
    let reply = json!({"id": 7, "created": "now", "object": [], "model": null, "choices": {"message": {"content": "a"}}});
    let completion = text(reply.to_string()).unwrap();
    assert_eq!(completion.content, "a");
    assert_eq!(completion.raw, reply);
}

const HELLO: &str = "data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"Hé\"}}]}\n\n\
     data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"llo\"},\"finish_reason\":\"stop\"}]}\n\n";

#[test]
fn event_streams_of_every_style_are_read() {
    let folded = HELLO.replace(",\"choices\"", "\ndata: ,\"choices\"");
    for (style, body) in [
        ("end mark", format!("{HELLO}data: [DONE]\n\n")),
        ("end mark with a blank", format!("{HELLO}data: [DONE] \n\n")),
        ("no end mark", HELLO.to_owned()),
        ("no blank line at the end", HELLO.trim_end().to_owned()),
        ("CRLF", format!("{HELLO}data: [DONE]\n\n").replace('\n', "\r\n")),
        ("comments", format!(": PROCESSING\n\n: \n\n{HELLO}")),
        ("event names and ids", format!("event: message\nid: 1\nretry: 3\n{HELLO}")),
        ("no blank after the colon", HELLO.replace("data: ", "data:")),
        ("several data lines", folded),
        ("byte order mark", format!("\u{feff}{HELLO}")),
        ("blank lines first", format!("\n\n{HELLO}")),
        (
            "a blank line before JSON",
            "\n\n {\"choices\":[{\"message\":{\"content\":\"Héllo\"}}]}\n".to_owned(),
        ),
    ] {
        assert_eq!(text(body).unwrap_or_else(|error| panic!("{style}: {error}")).content, "Héllo", "{style}");
    }
}

#[test]
fn an_assembled_stream_is_kept_as_a_reply() {
    let completion = text(HELLO).unwrap();
    let message = json!({"role": "assistant", "content": "Héllo"});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    assert_eq!(completion.raw, json!({"id": "x", "object": "chat.completion", "choices": [choice]}));
}

#[test]
fn what_is_cut_off_is_never_an_answer() {
    let marks = HELLO.find("\"finish").unwrap();
    for end in [HELLO.len() / 3, HELLO.len() / 2, marks - 1, marks + 5] {
        let mut end = end;
        while !HELLO.is_char_boundary(end) {
            end += 1;
        }
        let error = text(&HELLO[..end]).unwrap_err();
        assert!(matches!(error, AttemptError::Cut { .. }), "{end}: {error}");
    }
    let damaged = HELLO.replace("\"Hé\"}}]}", "\"Hé\"");
    assert!(matches!(text(damaged), Err(AttemptError::Cut { .. })));
    for cut in ["{\"choices\": [{\"message\": {\"content\": \"a", "", "  \n"] {
        assert!(matches!(text(cut), Err(AttemptError::Cut { .. })), "{cut}");
    }
}

#[test]
fn what_is_neither_json_nor_events_is_named() {
    for (body, words) in [
        ("<!DOCTYPE html><title>Sign in</title>", "got an HTML page, \"Sign in\""),
        ("Not a model", "got Not a model"),
        ("{\"choices\": oops}", "got {\"choices\": oops}"),
    ] {
        let error = text(body).unwrap_err();
        assert!(error.to_string().ends_with(words), "{error}");
        assert!(matches!(error.into_error("u"), ProviderError::Malformed { .. }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The completion does not depend on where the network cuts the bytes.
    #[test]
    fn fragmentation_changes_nothing(
        content in "\\PC{0,30}",
        arguments in "[ -~é漢]{0,30}",
        cuts in proptest::collection::vec(0usize..1000, 0..40),
        crlf in any::<bool>(),
        mark in any::<bool>(),
    ) {
        let function = json!({"name": "f", "arguments": arguments});
        let events = [
            json!({"choices": [{"delta": {"content": content}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": function}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}),
        ];
        let mut body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        body.push_str(": done\n\ndata: [DONE]\n\n");
        if crlf {
            body = body.replace('\n', "\r\n");
        }
        if mark {
            body.insert(0, '\u{feff}');
        }
        let body = Bytes::from(body);
        let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut % body.len()).collect();
        ends.extend([0, body.len()]);
        ends.sort_unstable();
        let pieces = ends.windows(2).map(|pair| body.slice(pair[0]..pair[1])).collect();
        let cut = read(pieces, &[]).unwrap();
        prop_assert_eq!(&cut.content, &content);
        prop_assert_eq!(cut, read(vec![body], &[]).unwrap());
    }

    /// Nor on how the endpoint cuts what the model says into events.
    #[test]
    fn deltas_of_any_size_give_the_same_completion(
        reasoning in "\\PC{0,20}",
        content in "\\PC{0,30}",
        arguments in proptest::collection::vec("[ -~é漢\n]{1,30}", 0..3),
        sizes in proptest::collection::vec(1usize..8, 1..20),
    ) {
        let mut sizes = sizes.into_iter().cycle();
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
        let mut events: Vec<Value> = cut(&reasoning).iter().map(|piece| json!({"reasoning": piece})).collect();
        events.extend(cut(&content).iter().map(|piece| json!({"content": piece})));
        for (index, text) in arguments.iter().enumerate() {
            let call = |id: Value, function: Value| json!({"tool_calls": [{"index": index, "id": id, "function": function}]});
            events.push(call(json!(format!("id{index}")), json!({"name": "f"})));
            let pieces = cut(text);
            events.extend(pieces.iter().map(|piece| call(Value::Null, json!({"arguments": piece}))));
        }
        events.push(json!({}));
        let completion = deltas(&events, json!("stop")).unwrap();
        prop_assert_eq!(&completion.content, &content);
        prop_assert_eq!(completion.reasoning.as_deref().unwrap_or_default(), &reasoning);
        let given = arguments.iter().map(|text| if text.trim().is_empty() { "{}" } else { text.as_str() });
        let got = completion.tool_calls.iter().map(|call| call.arguments.as_str());
        prop_assert_eq!(got.collect::<Vec<_>>(), given.collect::<Vec<_>>());
    }
}
