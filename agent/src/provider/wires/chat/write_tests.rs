use super::*;
use crate::provider::message::{Kind, Sampling};

const PLAIN: Dialect = Dialect {
    stream: true,
    stream_usage: true,
    echo: Echo::Never,
    reasoning_field: ReasoningField::ReasoningContent,
};

fn conversation() -> Vec<Message> {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: "read_file".into(),
        arguments: arguments.into(),
    };
    let mut turn = Message::text(Speaker::Assistant, Kind::Turn, "");
    turn.tool_calls = vec![call("a1", r#"{"path": "x"}"#), call("a2", r#"{"path": "#)];
    turn.reasoning = Some("hm".into());
    let mut answer = Message::text(Speaker::Assistant, Kind::Turn, "Done.");
    answer.reasoning = Some("so".into());
    vec![
        Message::text(Speaker::System, Kind::Opening, "You review."),
        Message::text(Speaker::User, Kind::Opening, "Review."),
        turn,
        Message::result("a1", "text"),
        Message::result("a2", "no JSON"),
        answer,
        Message::text(Speaker::User, Kind::Nudge, "Go on."),
    ]
}

fn body(
    messages: &[Message],
    tools: &[ToolDeclaration],
    tool_choice: ToolChoice,
    dialect: Dialect,
) -> String {
    let sampling =
        Sampling { temperature: Some(0.5), reasoning_effort: Some("low".into()), ..Sampling::default() };
    let request = Request { messages, tools, tool_choice, model: "m", sampling: &sampling };
    let mut written = Written::default();
    let body = Body::new(&request, dialect, written.of(messages, dialect));
    serde_json::to_string_pretty(&body).unwrap()
}

fn tools() -> [ToolDeclaration; 2] {
    let tool =
        |name: &str, parameters| ToolDeclaration { name: name.into(), description: "d".into(), parameters };
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    [tool("read_file", schema), tool("list_dir", json!({}))]
}

#[test]
fn the_whole_body() {
    insta::assert_snapshot!(body(&conversation(), &tools(), ToolChoice::Auto, PLAIN));
}

#[test]
fn only_what_is_set_is_sent() {
    let sampling = Sampling::default();
    let messages = [Message::text(Speaker::User, Kind::Opening, "hi")];
    let request = Request {
        messages: &messages,
        tools: &[],
        tool_choice: ToolChoice::None,
        model: "m",
        sampling: &sampling,
    };
    let (dialect, mut written) = (Dialect { stream: false, ..PLAIN }, Written::default());
    let body = Body::new(&request, dialect, written.of(&messages, dialect));
    let text = serde_json::to_string(&body).unwrap();
    assert_eq!(text, r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}"#);
}

#[test]
fn two_requests_of_a_run_begin_alike() {
    let messages = conversation();
    let earlier = body(&messages[..5], &tools(), ToolChoice::Auto, PLAIN);
    let later = body(&messages, &tools(), ToolChoice::None, PLAIN);
    let common = earlier.bytes().zip(later.bytes()).take_while(|(a, b)| a == b).count();
    assert!(common > earlier.find("no JSON").unwrap(), "all of the earlier messages are a common prefix");
    assert!(later.contains(r#""tool_choice": "none""#) && later.contains(r#""list_dir""#));
}

#[test]
fn what_was_written_is_what_would_be_written() {
    let mut messages = conversation();
    let mut written = Written::default();
    let other = Dialect { echo: Echo::Always, ..PLAIN };
    let mut check = |messages: &[Message], dialect| {
        let fresh =
            Written::default().of(messages, dialect).iter().map(ToString::to_string).collect::<Vec<_>>();
        let kept = written.of(messages, dialect).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(kept, fresh);
    };
    check(&messages[..3], PLAIN);
    check(&messages, PLAIN);
    messages[4].content = "[left out]".into();
    check(&messages, PLAIN);
    check(&messages, other);
    messages.remove(2);
    check(&messages, other);
    check(&messages[..1], other);
}

#[test]
fn reasoning_goes_back_as_the_endpoint_wants_it() {
    let echoed = |echo, field| {
        let text =
            body(&conversation(), &[], ToolChoice::Auto, Dialect { echo, reasoning_field: field, ..PLAIN });
        let value: Value = serde_json::from_str(&text).unwrap();
        let messages = value["messages"].as_array().unwrap().clone();
        ["reasoning_content", "reasoning"].map(|key| {
            messages
                .iter()
                .filter_map(|message| message.get(key)?.as_str().map(str::to_owned))
                .collect::<String>()
        })
    };
    let content = ReasoningField::ReasoningContent;
    assert_eq!(echoed(Echo::Never, content), ["", ""]);
    assert_eq!(echoed(Echo::WithToolCalls, content), ["hm", ""]);
    assert_eq!(echoed(Echo::Always, content), ["hmso", ""]);
    assert_eq!(echoed(Echo::Always, ReasoningField::Reasoning), ["", "hmso"]);
}
