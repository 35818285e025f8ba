//! The spans of a run, whole.

use super::*;
use crate::provider::message::ToolCall;

fn run() -> Spans {
    let env = [("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")];
    let trace = Trace::of(&env.into_iter().collect(), 0xab).unwrap();
    Spans::new(trace, "openai", || 0xcd, 1_000)
}

const STARTED: Event<'static> =
    Event::RunStarted { session: "01S", thread: "01T", role: "reviewer", model: "m", trace: None };

fn finished(error: Option<&'static str>) -> Event<'static> {
    let phase = error.map(|_| "provider");
    Event::RunFinished { step: None, status: "x", phase, error, turns: 1, tokens: 110, cost: None }
}

#[test]
fn a_run_is_an_agent_its_turns_and_its_tools() {
    let mut spans = run();
    let call = ToolCall { id: "c1".into(), name: "grep".into(), arguments: "{}".into() };
    let took = Duration::from_millis(5);
    let usage = Some(TokenUsage {
        input_tokens: 100,
        output_tokens: 10,
        cached_tokens: 80,
        reasoning_tokens: 4,
        ..TokenUsage::default()
    });
    let (calls, finish_reason) = (std::slice::from_ref(&call), Some("tool_calls"));
    for (event, at) in [
        (STARTED, 1_000),
        (Event::TurnStarted { number: 1 }, 1_001),
        (Event::Turn { number: 1, took, calls, usage, cost: None, finish_reason }, 1_100),
        (Event::ToolStarted { call: &call, arguments: "{}" }, 1_101),
        (Event::Tool { call: &call, title: "grep", failed: false, exit_code: None, took }, 1_200),
        (finished(None), 1_300),
    ] {
        spans.tell(&event, at);
    }
    insta::assert_snapshot!("run", serde_json::to_string_pretty(&spans.body("uwf-builtin")).unwrap());
}

#[test]
fn a_turn_that_never_ended_is_an_error_of_its_own() {
    let mut spans = run();
    spans.tell(&STARTED, 1_000);
    spans.tell(&Event::TurnStarted { number: 1 }, 1_001);
    spans.tell(&finished(Some("the endpoint answered 401")), 1_300);
    let names: Vec<(&str, &Value)> =
        spans.done.iter().map(|span| (span["name"].as_str().unwrap(), &span["status"]["code"])).collect();
    assert_eq!(names, [("chat m", &json!(2)), ("invoke_agent reviewer", &json!(2))]);
}
