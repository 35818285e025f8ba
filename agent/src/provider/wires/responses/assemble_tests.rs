//! The tolerance table: what endpoints do, and what becomes of it, streamed and not.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::provider::CompletionEvent;
use crate::provider::attempt_error::{AttemptError, RetryDecision};
use crate::provider::http::read_body;
use crate::provider::message::{
    Completion, Message, MessageKind, Request, Sampling, Speaker, TokenUsage, ToolCall, ToolChoice,
};
use crate::provider::wire::Wire;

/// What came of a body, and what was told of it on the way: text and reasoning.
fn with_events(pieces: Vec<Bytes>, said: &[Message]) -> (Result<Completion, AttemptError>, [String; 2]) {
    let (sampling, tool_choice) = (Sampling::default(), ToolChoice::Auto);
    let request = Request { messages: said, tools: &[], tool_choice, model: "m", sampling: &sampling };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut told = [String::new(), String::new()];
    let mut on_event = |event: CompletionEvent<'_>| match event {
        CompletionEvent::Text(text) => told[0].push_str(text),
        CompletionEvent::Reasoning(text) => told[1].push_str(text),
        _ => {}
    };
    let result = runtime.block_on(read_body(Wire::Responses, pieces, &request, &mut on_event));
    (result, told)
}

fn read(body: impl Into<String>) -> Result<Completion, AttemptError> {
    with_events(vec![Bytes::from(body.into())], &[]).0
}

fn body(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
}

/// A stream of these events.
fn streamed(events: &[Value]) -> Result<Completion, AttemptError> {
    read(body(events))
}

fn delta(kind: &str, at: usize, piece: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": at, "delta": piece})
}

fn added(at: usize, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": at, "item": item})
}

fn done(at: usize, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": at, "item": item})
}

fn completed(output: &Value) -> Value {
    json!({"type": "response.completed", "response": whole(output)})
}

fn whole(output: &Value) -> Value {
    json!({"id": "resp_1", "object": "response", "status": "completed", "output": output})
}

fn message(text: &str) -> Value {
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
}

fn reasoning(summary: &[&str]) -> Value {
    let part = |text: &&str| json!({"type": "summary_text", "text": text});
    let summary: Vec<Value> = summary.iter().map(part).collect();
    json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "ZW5j", "summary": summary})
}

fn call(id: &str, arguments: &str) -> Value {
    let name = "read_file";
    json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": name, "arguments": arguments})
}

fn calls(completion: &Completion) -> Vec<(&str, &str, &str)> {
    completion.tool_calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect()
}

fn native(completion: &Completion) -> Option<Value> {
    completion.native.as_ref().map(|native| serde_json::from_str(&native.value).unwrap())
}

#[test]
fn a_turn_is_the_same_streamed_and_whole() {
    let output =
        json!([reasoning(&["First", "Then"]), message("Look:"), call("call_1", "{\"path\": \"x\"}")]);
    let events = [
        json!({"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}}),
        added(0, &json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "half", "summary": []})),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "First"}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "Th"}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "en"}),
        done(0, &output[0]),
        added(1, &json!({"id": "msg_1", "type": "message", "content": []})),
        delta("output_text", 1, "Loo"),
        delta("output_text", 1, "k:"),
        done(1, &output[1]),
        added(2, &json!({"id": "fc_call_1", "type": "function_call", "arguments": ""})),
        delta("function_call_arguments", 2, "{\"path\": "),
        done(2, &output[2]),
        completed(&output),
    ];
    let (result, told) = with_events(vec![Bytes::from(body(&events))], &[]);
    let completion = result.unwrap();
    assert_eq!((&*completion.content, completion.reasoning.as_deref()), ("Look:", Some("First\n\nThen")));
    assert_eq!(calls(&completion), [("call_1", "read_file", "{\"path\": \"x\"}")]);
    assert_eq!(completion.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(native(&completion), Some(output.clone()));
    assert_eq!(completion.raw, whole(&output));
    assert_eq!(told, ["Look:", "First\n\nThen"]);
    let (unstreamed, told_at_once) = with_events(vec![Bytes::from(whole(&output).to_string())], &[]);
    assert_eq!((unstreamed.unwrap(), told_at_once), (completion, told));
}

#[test]
fn items_go_back_byte_for_byte() {
    let item = r#"{"type": "message", "id":"msg_1" , "content":[{"text":"a\u00e9\/", "type":"output_text"}], "z": 1.50}"#;
    let end = completed(&json!([]));
    let event =
        format!("data: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{item}}}\n\n");
    let completion = read(format!("{event}data: {end}\n\n")).unwrap();
    assert_eq!(completion.content, "aé/");
    assert_eq!(completion.native.unwrap().value, format!("[{item}]"));
    assert_eq!(completion.raw["output"][0]["id"], "msg_1", "the journal has the items, too");
}

#[test]
fn a_whole_item_counts_for_more_than_its_pieces() {
    let item = message("abc");
    for (pieces, told) in [("ab", "abc"), ("", "abc"), ("xy", "xy")] {
        let events = [delta("output_text", 0, pieces), done(0, &item), completed(&json!([]))];
        let (result, heard) = with_events(vec![Bytes::from(body(&events))], &[]);
        assert_eq!((&*result.unwrap().content, &*heard[0]), ("abc", told), "{pieces}");
    }
    let twice = [done(0, &item), done(0, &item), completed(&json!([item]))];
    assert_eq!(with_events(vec![Bytes::from(body(&twice))], &[]).1[0], "abc");
    let bare = json!({"id": "msg_1", "type": "message", "content": []});
    let events = [delta("output_text", 0, "ab"), done(0, &bare), completed(&json!([bare]))];
    let completion = streamed(&events).unwrap();
    assert_eq!((&*completion.content, native(&completion)), ("ab", None), "the item alone does not say it");
}

#[test]
fn pieces_alone_are_a_text_but_no_call() {
    let text = [delta("output_text", 0, "a"), delta("output_text", 0, "b"), completed(&json!([]))];
    let completion = streamed(&text).unwrap();
    assert_eq!((&*completion.content, native(&completion)), ("ab", None));
    let whole =
        json!({"type": "response.function_call_arguments.done", "output_index": 1, "arguments": "{}"});
    let begun = added(1, &json!({"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f"}));
    let half = [delta("output_text", 0, "a"), begun.clone(), whole.clone(), completed(&json!([]))];
    let error = streamed(&half).unwrap_err();
    assert!(matches!(&error, AttemptError::Cut { reason } if reason.contains("tool call")), "{error}");
    let end = completed(&json!([message("a"), call("c", "{}")]));
    let completion = streamed(&[delta("output_text", 0, "a"), begun.clone(), whole, end]).unwrap();
    assert_eq!(calls(&completion), [("c", "read_file", "{}")], "the end has it");
    let incomplete =
        json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []});
    let end = json!({"type": "response.incomplete", "response": incomplete});
    let completion = streamed(&[delta("output_text", 0, "a"), begun, end]).unwrap();
    assert_eq!((calls(&completion), completion.finish_reason.as_deref()), (vec![], Some("length")));
}

#[test]
fn what_only_the_end_knows_is_filled_in() {
    let bare = json!({"id": "rs_1", "type": "reasoning", "summary": []});
    let at_the_end = json!([reasoning(&[]), message("a")]);
    let events = [done(0, &bare), done(1, &message("a")), completed(&at_the_end)];
    assert_eq!(native(&streamed(&events).unwrap()), Some(at_the_end.clone()));
    let other_ids =
        json!([{"id": "rs_2", "type": "reasoning", "encrypted_content": "x", "summary": []}, message("a")]);
    let events = [done(0, &bare), done(1, &message("a")), completed(&other_ids)];
    assert_eq!(native(&streamed(&events).unwrap()), Some(other_ids), "ids that are others each time");
    let events = [done(1, &message("a")), completed(&at_the_end)];
    assert_eq!(native(&streamed(&events).unwrap()), Some(at_the_end), "an item of which nothing came");
}

#[test]
fn only_what_is_taken_back_goes_back() {
    let native_of = |output: Value| native(&read(whole(&output).to_string()).unwrap());
    let open = json!({"id": "rs_1", "type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}], "summary": []});
    let bare = json!({"id": "rs_1", "type": "reasoning", "content": [], "summary": []});
    let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed"});
    let long = json!({"id": "m".repeat(65), "type": "message", "content": "a"});
    for good in [json!([open, message("a")]), json!([search, message("a")])] {
        assert_eq!(native_of(good.clone()), Some(good));
    }
    for bad in [
        json!([bare, message("a")]),
        json!([message("a"), reasoning(&["so"])]),
        json!([long]),
        json!([reasoning(&[]), call("c", "no JSON")]),
        json!([reasoning(&[]), {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}]),
        json!([{"type": "message", "content": "no more than the words"}]),
    ] {
        assert_eq!(native_of(bad.clone()), None, "{bad}");
    }
    let incomplete = json!({"status": "incomplete", "output": [reasoning(&[]), message("a")]});
    assert_eq!(native(&read(incomplete.to_string()).unwrap()), None, "a turn that was cut off");
}

#[test]
fn ids_that_are_taken_are_replaced_and_then_nothing_goes_back_as_it_came() {
    let earlier = ToolCall { id: "call_1".into(), name: "f".into(), arguments: "{}".into() };
    let turn =
        Message { tool_calls: vec![earlier], ..Message::text(Speaker::Assistant, MessageKind::Turn, "") };
    let output = whole(&json!([reasoning(&[]), call("call_1", "{}")]));
    let completion = with_events(vec![Bytes::from(output.to_string())], &[turn]).0.unwrap();
    assert_eq!((calls(&completion), native(&completion)), (vec![("call00001", "read_file", "{}")], None));
}

#[test]
fn errors_are_judged_by_their_codes() {
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "no"});
        json!({"type": "response.failed", "response": {"object": "response", "status": "failed", "error": error}})
    };
    for (event, again) in [
        (failed("server_error"), true),
        (failed("rate_limit_exceeded"), true),
        (failed("context_length_exceeded"), false),
        (failed("insufficient_quota"), false),
        (json!({"type": "error", "code": "server_error", "message": "no", "param": null}), true),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "code": "x", "message": "no"}}),
            false,
        ),
        (json!({"error": {"message": "no"}}), true),
    ] {
        let error = streamed(&[delta("output_text", 0, "a"), event.clone()]).unwrap_err();
        assert!(matches!(&error, AttemptError::InBand { api_error } if api_error.message == "no"), "{error}");
        assert_eq!(matches!(error.retry_decision(), RetryDecision::Retry { .. }), again, "{event}");
    }
    let bare = json!({"type": "response.failed", "response": {"status": "failed", "error": null}});
    assert!(streamed(&[bare]).unwrap_err().to_string().contains("as failed"));
}

#[test]
fn tokens_are_counted_and_costs_are_read() {
    let usage = |usage: Value| {
        let mut whole = whole(&json!([message("a")]));
        whole["usage"] = usage;
        read(whole.to_string()).unwrap().usage
    };
    let all = json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20},
        "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 109,
    });
    let tokens = TokenUsage {
        input_tokens: 100,
        output_tokens: 9,
        cached_tokens: 60,
        written_tokens: 20,
        reasoning_tokens: 4,
        cost_usd: None,
    };
    assert_eq!(usage(all.clone()), Some(tokens));
    let with = |name: &str, value: Value| {
        let mut usage = all.clone();
        usage[name] = value;
        usage
    };
    let ticks = TokenUsage { cost_usd: Some(0.01585), ..tokens };
    assert_eq!(usage(with("cost_in_usd_ticks", json!(158_500_000))), Some(ticks));
    let mut byok = with("cost", json!(0.001));
    byok["is_byok"] = json!(true);
    byok["cost_details"] = json!({"upstream_inference_cost": 0.02});
    assert_eq!(usage(byok), Some(TokenUsage { cost_usd: Some(0.021), ..tokens }));
    assert_eq!([json!(null), json!({}), json!("many")].map(usage), [None; 3]);
}

#[test]
fn a_stream_without_its_last_event_is_cut() {
    let events = [delta("output_text", 0, "a"), done(0, &message("a")), completed(&json!([message("a")]))];
    for mark in ["", "data: [DONE]\n\n"] {
        let cut = read(body(&events[..2]) + mark);
        assert!(matches!(cut, Err(AttemptError::Cut { .. })), "{cut:?}");
        assert_eq!(read(body(&events) + mark).unwrap().content, "a");
    }
    let done = json!({"type": "response.done", "response": whole(&json!([message("a")]))});
    assert_eq!(streamed(&[done]).unwrap().content, "a");
    assert_eq!(read(r#"{"choices": []}"#), Err(AttemptError::Empty));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The completion depends neither on how the endpoint cuts what the model says into events, nor on where the network
    /// cuts these.
    #[test]
    fn cuts_change_nothing(
        thought in "\\PC{1,20}",
        text in "[ -~é漢\n]{0,30}",
        arguments in "[ -~é漢\n]{0,30}",
        sizes in proptest::collection::vec(1usize..8, 1..20),
        cuts in proptest::collection::vec(0usize..4000, 0..40),
        has_items in any::<bool>(),
    ) {
        let mut sizes = sizes.into_iter().cycle();
        let mut cut = |kind: &str, at: usize, text: &str| -> Vec<Value> {
            let characters: Vec<char> = text.chars().collect();
            let (mut events, mut rest) = (Vec::new(), &characters[..]);
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                events.push(delta(kind, at, &piece.iter().collect::<String>()));
                rest = behind;
            }
            events
        };
        let arguments = json!({"path": arguments}).to_string();
        let items = [reasoning(&[thought.as_str()]), message(&text), call("call_1", &arguments)];
        let kinds = ["reasoning_summary_text", "output_text", "function_call_arguments"];
        let mut events = Vec::new();
        for (at, (said, kind)) in [&thought, &text, &arguments].into_iter().zip(kinds).enumerate() {
            events.extend(cut(kind, at, said));
            events.extend(has_items.then(|| done(at, &items[at])));
        }
        let output = json!(items);
        events.push(completed(&output));
        let body = Bytes::from(body(&events));
        let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut % body.len()).collect();
        ends.extend([0, body.len()]);
        ends.sort_unstable();
        let pieces = ends.windows(2).map(|pair| body.slice(pair[0]..pair[1])).collect();
        let (result, told) = with_events(pieces, &[]);
        prop_assert_eq!(told, [text, thought]);
        prop_assert_eq!(result.unwrap(), read(whole(&output).to_string()).unwrap());
    }
}
