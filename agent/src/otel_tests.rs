//! The spans of a run, whole.

use super::*;
use crate::journal::ToolFacts;
use crate::provider::message::{Message, MessageKind, Speaker};

fn run() -> Spans {
    let env = [("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")];
    let trace = Trace::of(&env.into_iter().collect(), 0xab).unwrap();
    Spans::new(trace, "openai", || 0xcd, 1_000)
}

const OPENED: Notice<'static> = Notice::Opened {
    session: "01S",
    thread: "01T",
    role: "reviewer",
    model: "m",
    trace: None,
    resumed: None,
};

#[test]
fn a_run_is_an_agent_its_turns_and_its_tools() {
    let (mut spans, mut state) = (run(), RunState::default());
    let call = ToolCall { id: "c1".into(), name: "grep".into(), arguments: "{}".into() };
    let usage = Some(TokenUsage {
        input_tokens: 100,
        output_tokens: 10,
        cached_tokens: 80,
        reasoning_tokens: 4,
        ..TokenUsage::default()
    });
    let (finish_reason, raw) = (Some("tool_calls".to_owned()), Value::Null);
    let message =
        Message { tool_calls: vec![call], ..Message::text(Speaker::Assistant, MessageKind::Turn, "") };
    let (facts, result) = (ToolFacts::default(), Message::result("c1", "x"));
    let reply = json!({"stepHash": "7VQ43ZSJTEWA7", "frontmatter": {"$status": "x"}, "isError": false});
    spans.on_notice(&OPENED, 1_000);
    for entry in [
        Entry::Asked { at: 1_001 },
        Entry::Answered { message, at: 1_100, duration_ms: 5, usage, finish_reason, raw },
        Entry::Started { call_id: "c1".into(), shown: None, at: 1_101 },
        Entry::Finished { message: result, at: 1_200, duration_ms: 5, facts },
        Entry::Replied { reply, at: 1_300 },
    ] {
        state.apply(&entry).unwrap();
        spans.on_notice(&Notice::Entry(&entry, &state), 0);
    }
    insta::assert_snapshot!("run", serde_json::to_string_pretty(&spans.body("uwf-builtin", "")).unwrap());
}

#[test]
fn what_the_environment_says_of_the_resource_is_told() {
    let body =
        run().body("uwf-builtin", "uwf.thread=01K, uwf.attempt=2,place=a%2Cb%,none,service.name=other");
    let told = body["resourceSpans"][0]["resource"]["attributes"].as_array().unwrap();
    let told: Vec<_> =
        told.iter().map(|one| (one["key"].as_str(), one["value"]["stringValue"].as_str())).collect();
    let wanted =
        [("place", "a,b%"), ("service.name", "uwf-builtin"), ("uwf.attempt", "2"), ("uwf.thread", "01K")];
    assert_eq!(told, wanted.map(|(key, value)| (Some(key), Some(value))));
}

#[test]
fn a_turn_that_never_ended_is_an_error_of_its_own() {
    let (mut spans, state) = (run(), RunState::default());
    spans.on_notice(&OPENED, 1_000);
    spans.on_notice(&Notice::Entry(&Entry::Asked { at: 1_001 }, &state), 0);
    spans.on_notice(&Notice::Stopped { state: &state, phase: None, error: "a tool panicked" }, 1_300);
    let names: Vec<(&str, &Value)> =
        spans.done.iter().map(|span| (span["name"].as_str().unwrap(), &span["status"]["code"])).collect();
    assert_eq!(names, [("chat m", &json!(2)), ("invoke_agent reviewer", &json!(2))]);
}
