use super::*;
use crate::provider::message::{MessageKind, ToolChoice};
use crate::provider::wires::samples::{Sample, call, conversation, tools};

#[test]
fn the_whole_body() {
    let mut sample = Sample::new("openai");
    sample.sampling.temperature = Some(0.5);
    sample.sampling.reasoning_effort = Some("low".into());
    sample.sampling.json_object = true;
    let text = sample.text(&conversation(), &tools());
    insta::assert_snapshot!(text.replace(",\"", ",\n\"").replace(",{", ",\n{"));
}

#[test]
fn only_what_is_set_is_sent() {
    let mut sample = Sample { stream: false, ..Sample::new("xai") };
    let messages = [Message::text(Speaker::User, MessageKind::Opening, "hi")];
    let text = sample.text(&messages, &[]);
    let part = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#;
    let rest = r#""include":["reasoning.encrypted_content"],"store":false"#;
    assert_eq!(text, format!(r#"{{"model":"m",{rest},"input":[{part}],"stream":false}}"#));
    sample.model.refuses_temperature = true;
    sample.sampling.temperature = Some(1.0);
    assert_eq!(sample.text(&messages, &[]), text);
    sample.sampling.reasoning_effort = Some("off".into());
    assert_eq!(sample.body(&messages, &[])["reasoning"], json!({"effort": "none"}));
}

#[test]
fn two_requests_of_a_run_begin_alike() {
    let (messages, mut sample) = (conversation(), Sample::new("openai"));
    let earlier = sample.text(&messages[..5], &tools());
    sample.tool_choice = ToolChoice::None;
    let later = sample.text(&messages, &tools());
    let common = earlier.bytes().zip(later.bytes()).take_while(|(a, b)| a == b).count();
    assert!(common > earlier.find("no JSON").unwrap(), "all of the earlier messages are a common prefix");
    assert!(later.contains(r#""tool_choice":"none""#) && later.contains(r#""list_dir""#));
}

#[test]
fn a_run_is_kept_on_one_server() {
    let headers = |name: &str| {
        let mut sample = Sample::new(name);
        sample.dialect.wire = crate::provider::wire::Wire::Responses;
        let request = Request {
            messages: &[],
            tools: &[],
            tool_choice: ToolChoice::Auto,
            model: "m",
            sampling: &sample.sampling,
        };
        write(&request, &sample.target(), &mut Written::default()).headers
    };
    assert_eq!(headers("openrouter"), [("x-session-id".to_owned(), "thread-role".to_owned())]);
    assert_eq!(headers("openai"), []);
}

#[test]
fn rules_are_told_as_the_endpoint_hears_them() {
    let mut sample = Sample::new("openai");
    let role = |sample: &Sample| sample.body(&conversation(), &[])["input"][0]["role"].clone();
    assert_eq!(role(&sample), "developer");
    sample.dialect.developer_role = false;
    assert_eq!(role(&sample), "system");
}

/// The conversation with the items of its first turn as they came: a reasoning, and the calls by these ids.
fn with_native(sample: &Sample, ids: [&str; 2]) -> (Vec<Message>, Value) {
    let mut messages = conversation();
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "ZW5j", "summary": []});
    let item = |id: &str| json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "f", "arguments": "{}"});
    let items = json!([reasoning, item(ids[0]), item(ids[1])]);
    messages[2].native = sample.native(&items);
    (messages, items)
}

#[test]
fn what_an_endpoint_said_goes_back_to_it_alone_as_it_came() {
    let mut sample = Sample::new("openai");
    let (mut messages, _) = with_native(&sample, ["a1", "a2"]);
    let source = r#"[{"type":"reasoning" ,"id":"rs_1","z":1.50},{"type":"function_call","call_id":"a1"},{"type":"function_call","call_id":"a2"}]"#;
    messages[2].native.as_mut().unwrap().value = source.to_owned();
    let text = sample.text(&messages, &[]);
    assert!(text.contains(source.trim_matches(['[', ']'])), "{text}");
    assert!(!text.contains("invalid_json"), "the items are said once");
    for change in [0, 1] {
        match change {
            0 => sample.dialect.echoes_native = false,
            _ => (sample.dialect.echoes_native, sample.origin.model) = (true, "another".into()),
        }
        let body = sample.body(&messages, &[]);
        let call = json!({"type": "function_call", "call_id": "a1", "name": "read_file", "arguments": "{\"path\": \"x\"}"});
        assert_eq!(body["input"][2], call);
        assert!(!body.to_string().contains("rs_1"));
    }
}

#[test]
fn calls_that_were_not_run_or_have_another_id_are_not_said_as_they_came() {
    let sample = Sample::new("openai");
    for ids in [["a1", "a3"], ["a2", "a1"], ["a1", "a1"]] {
        let (messages, _) = with_native(&sample, ids);
        assert!(!sample.text(&messages, &[]).contains("rs_1"), "{ids:?}");
    }
    let (mut messages, _) = with_native(&sample, ["a1", "a2"]);
    messages[2].tool_calls.clear();
    messages[2].content = "I stop here.".into();
    messages.drain(3..5);
    let body = sample.body(&messages, &[]);
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I stop here."}]});
    assert_eq!((&body["input"][2], body.to_string().contains("function_call")), (&said, false));
}

#[test]
fn a_call_and_its_output_have_one_id() {
    let mut sample = Sample::new("openai");
    let (mut messages, _) = with_native(&sample, ["call.1", "a2"]);
    messages[2].tool_calls[0].id = "call.1".into();
    messages[3].tool_call_id = Some("call.1".into());
    let ids = |sample: &Sample| {
        let body = sample.body(&messages, &[]);
        let items = body["input"].as_array().unwrap().clone();
        items.iter().filter_map(|item| item.get("call_id")?.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&sample), ["call.1", "a2", "call.1", "a2"], "it came from there");
    sample.origin.host = "other.example".into();
    let other = ids(&sample);
    assert!(other[0] == other[2] && other[0].chars().all(char::is_alphanumeric), "{other:?}");
}

#[test]
fn nothing_empty_is_sent() {
    let sample = Sample::new("openai");
    let messages = [
        Message::text(Speaker::System, MessageKind::Opening, ""),
        Message::text(Speaker::User, MessageKind::Opening, ""),
        Message::text(Speaker::Assistant, MessageKind::Turn, ""),
        Message {
            tool_calls: vec![call("a", "x")],
            native: sample.native(&json!([])),
            ..Message::text(Speaker::Assistant, MessageKind::Turn, "")
        },
        Message::result("a", ""),
    ];
    let call = json!({"type": "function_call", "call_id": "a", "name": "read_file", "arguments": "{\"invalid_json\":\"x\"}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": ""});
    assert_eq!(sample.body(&messages, &[])["input"], json!([call, output]));
}
