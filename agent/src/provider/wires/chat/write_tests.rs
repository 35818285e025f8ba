use super::*;
use crate::provider::message::{MessageKind, ToolChoice};
use crate::provider::wires::samples::{Sample, call, conversation, tools};

#[test]
fn the_whole_body() {
    let mut sample = Sample::new("generic");
    sample.sampling.temperature = Some(0.5);
    sample.sampling.reasoning_effort = Some("low".into());
    let text = sample.text(&conversation(), &tools());
    let pretty: Box<RawValue> = serde_json::from_str(&text).unwrap();
    insta::assert_snapshot!(pretty.get().replace(",\"", ",\n\""));
}

#[test]
fn only_what_is_set_is_sent() {
    let sample = Sample { stream: false, ..Sample::new("generic") };
    let messages = [Message::text(Speaker::User, MessageKind::Opening, "hi")];
    let text = sample.text(&messages, &[]);
    assert_eq!(text, r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}"#);
}

#[test]
fn two_requests_of_a_run_begin_alike() {
    let (messages, mut sample) = (conversation(), Sample::new("generic"));
    let earlier = sample.text(&messages[..5], &tools());
    sample.tool_choice = ToolChoice::None;
    let later = sample.text(&messages, &tools());
    let common = earlier.bytes().zip(later.bytes()).take_while(|(a, b)| a == b).count();
    assert!(common > earlier.find("no JSON").unwrap(), "all of the earlier messages are a common prefix");
    assert!(later.contains(r#""tool_choice":"none""#) && later.contains(r#""list_dir""#));
}

#[test]
fn what_was_written_is_what_would_be_written() {
    let mut messages = conversation();
    let mut written = Written::default();
    let (plain, mut other) = (Sample::new("generic"), Sample::new("openrouter-marks"));
    other.dialect.echo = Echo::Always;
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
    check(&messages, &other);
    messages.remove(2);
    check(&messages, &other);
    check(&messages[..1], &other);
}

/// The values of a field of all messages that have it.
fn field(sample: &Sample, name: &str, messages: &[Message]) -> Vec<Value> {
    let body = sample.body(messages, &[]);
    let list = body["messages"].as_array().unwrap();
    list.iter().filter_map(|message| message.get(name).cloned()).collect()
}

#[test]
fn reasoning_goes_back_as_the_endpoint_wants_it_empty_where_there_is_none() {
    let mut messages = conversation();
    messages.insert(1, Message::text(Speaker::Assistant, MessageKind::Opening, "earlier"));
    let echoed = |echo, reasoning_field, blank| {
        let mut sample = Sample::new("generic");
        (sample.dialect.echo, sample.dialect.reasoning_field, sample.dialect.blank) =
            (echo, reasoning_field, blank);
        ["reasoning_content", "reasoning"].map(|name| field(&sample, name, &messages))
    };
    let none: [&str; 0] = [];
    let content = ReasoningField::ReasoningContent;
    assert_eq!(echoed(Echo::Never, content, ""), [none, none].map(Vec::from));
    assert_eq!(echoed(Echo::WithToolCalls, content, ""), [vec!["hm"], vec![]]);
    assert_eq!(echoed(Echo::Always, content, ""), [vec!["", "hm", "so"], vec![]]);
    assert_eq!(echoed(Echo::Always, content, " "), [vec![" ", "hm", "so"], vec![]]);
    assert_eq!(echoed(Echo::Always, ReasoningField::Reasoning, ""), [vec![], vec!["", "hm", "so"]]);
}

#[test]
fn what_an_endpoint_said_beside_the_words_goes_back_to_it_alone() {
    let mut sample = Sample::new("google");
    let signed = json!({"google": {"thought_signature": "c2ln"}});
    let details = json!([{"type": "reasoning.encrypted", "data": "x"}]);
    let mut messages = conversation();
    messages[2].native = sample.native(&json!({"calls": [signed, null]}));
    messages[5].native = sample.native(&json!({"reasoning_details": details, "extra_content": signed}));
    let body = sample.body(&messages, &[]);
    let calls = body["messages"][2]["tool_calls"].as_array().unwrap();
    assert_eq!((&calls[0]["extra_content"], calls[1].get("extra_content")), (&signed, None));
    assert_eq!(
        (&body["messages"][5]["reasoning_details"], &body["messages"][5]["extra_content"]),
        (&details, &signed)
    );
    sample.dialect.echo = Echo::Always;
    assert_eq!(field(&sample, "reasoning_content", &messages), ["hm"], "details take the place of the words");
    sample.origin.model = "another".into();
    let body = sample.body(&messages, &[]);
    let stand_in = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    assert_eq!(body["messages"][2]["tool_calls"][0]["extra_content"], stand_in);
    assert!(!body.to_string().contains("c2ln") && !body.to_string().contains("reasoning_details"));
    let groq = Sample { origin: sample.origin.clone(), ..Sample::new("groq") };
    messages[2].native = groq.native(&json!({"calls": [signed], "extra_content": signed}));
    assert!(
        !groq.body(&messages, &[]).to_string().contains("extra_content"),
        "some refuse what they do not know"
    );
}

#[test]
fn thinking_that_came_as_a_part_goes_back_as_one() {
    let sample = Sample::new("mistral");
    let mut messages = conversation();
    messages[5].native = sample.native(&json!({"reasoning_field": "content_part"}));
    let body = sample.body(&messages, &[]);
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "so"}]});
    assert_eq!(body["messages"][5]["content"], json!([thinking, {"type": "text", "text": "Done."}]));
    let id = body["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && body["messages"][3]["tool_call_id"] == id, "{id}");
    assert_eq!(body["prompt_cache_key"], "thread-role");
}

#[test]
fn the_model_speaks_behind_results_where_it_must() {
    let mut messages = conversation();
    messages.remove(5);
    let roles = |dialect: &str| -> String {
        let body = Sample::new(dialect).body(&messages, &[]);
        let roles =
            body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap());
        roles.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(roles("generic"), "system user assistant tool tool user");
    assert_eq!(roles("mistral"), "system user assistant tool tool assistant user");
}

#[test]
fn marks_stand_where_the_prompt_is_to_be_cached() {
    let sample = Sample::new("openrouter-marks");
    let mut messages = conversation();
    messages[4].content = String::new();
    let body = sample.body(&messages, &tools());
    let mark = json!({"type": "ephemeral"});
    let marked = |at: usize, text: &str| {
        let part = json!([{"type": "text", "text": text, "cache_control": mark}]);
        assert_eq!(body["messages"][at]["content"], part);
    };
    marked(0, "You review.");
    marked(6, "Go on.");
    assert_eq!(body["messages"][4]["content"], "", "nothing to mark");
    assert_eq!((body["tools"][0].get("cache_control"), &body["tools"][1]["cache_control"]), (None, &mark));
    assert_eq!(body.to_string().matches("cache_control").count(), 3);
}

#[test]
fn the_effort_is_said_as_the_endpoint_hears_it() {
    let said = |dialect: &str, effort: &str| {
        let mut sample = Sample::new(dialect);
        sample.sampling.reasoning_effort = Some(effort.into());
        let body = sample.body(&conversation(), &[]);
        ["reasoning_effort", "reasoning", "thinking", "enable_thinking"].map(|name| body[name].clone())
    };
    let null = Value::Null;
    assert_eq!(said("generic", "low"), [json!("low"), null.clone(), null.clone(), null.clone()]);
    assert_eq!(
        said("openrouter", "low"),
        [null.clone(), json!({"effort": "low"}), null.clone(), null.clone()]
    );
    let disabled = json!({"type": "disabled"});
    assert_eq!(said("zai", "none"), [null.clone(), null.clone(), disabled, null.clone()]);
    assert_eq!(said("qwen", "high"), [null.clone(), null.clone(), null, json!(true)]);
    let zai = Sample::new("zai").body(&conversation(), &[]);
    assert_eq!(zai["thinking"], json!({"type": "enabled", "clear_thinking": false}));
}

#[test]
fn a_call_without_arguments_in_json_is_sent_as_json() {
    let turn = Message {
        tool_calls: vec![call("a", "x")],
        ..Message::text(Speaker::Assistant, MessageKind::Turn, "")
    };
    let body = Sample::new("generic").body(&[turn], &[]);
    let arguments = &body["messages"][0]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, r#"{"invalid_json":"x"}"#);
}
