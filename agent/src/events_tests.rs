//! The lines, pinned whole: programs read them.

use std::time::Duration;

use super::*;
use crate::provider::message::ToolCall;

fn lines(events: &[Event<'_>]) -> String {
    let mut told = Events::default();
    events.iter().filter_map(|event| told.line(event, 1_700_000_000_000)).collect()
}

const TOOK: Duration = Duration::from_millis(1500);

fn finished(step: Option<&'static str>, phase: Option<&'static str>) -> Event<'static> {
    let (status, error) = match phase {
        None => ("approved", None),
        Some(_) => ("error", Some("interrupted by SIGINT")),
    };
    let cost = step.map(|_| Usd::dollars(0.0021));
    Event::RunFinished { step, status, phase, error, turns: 2, tokens: 1280, cost }
}

#[test]
fn every_event_has_its_line() {
    let call = ToolCall { id: "call00001".into(), name: "run_command".into(), arguments: "{}".into() };
    let took = TOOK;
    let usage = TokenUsage {
        input_tokens: 1200,
        output_tokens: 80,
        cached_tokens: 1000,
        reasoning_tokens: 60,
        ..TokenUsage::default()
    };
    let near = |unit, used, total| Event::Near(Use { unit, used, total });
    let text = lines(&[
        Event::RunStarted {
            session: "01S",
            thread: "01T",
            role: "reviewer",
            model: "m",
            trace: Some("4bf92f3577b34da6a3ce929d0e0e4736"),
        },
        Event::NoEdgePrompt,
        Event::Continued { turns: 0 },
        Event::Said(Kind::Opening),
        Event::TurnStarted { number: 1 },
        Event::Progress(Progress::Retry { attempt: 1, wait: took, reason: "429: busy" }),
        Event::Progress(Progress::Learnt {
            change: "`temperature` is left out from here on",
            reason: "400: no",
        }),
        Event::Progress(Progress::Reasoning("hm")),
        Event::Progress(Progress::Text("line\n\"two\"")),
        Event::Tick,
        Event::Turn {
            number: 1,
            took,
            calls: std::slice::from_ref(&call),
            usage: Some(usage),
            cost: Some(Usd::dollars(0.0021)),
            finish_reason: Some("tool_calls"),
        },
        Event::ToolStarted { call: &call, arguments: "{}" },
        Event::Tool { call: &call, title: "run make (exit code 2)", failed: true, exit_code: Some(2), took },
        near(Unit::Turns, 48, 60),
        near(Unit::Usd, 400_000_000, 500_000_000),
        Event::Said(Kind::Warning),
        Event::LeftOut { results: 12 },
        Event::Warned("the window is small"),
        Event::TurnStarted { number: 2 },
        Event::Turn { number: 2, took, calls: &[], usage: None, cost: None, finish_reason: None },
        finished(Some("7VQ43ZSJTEWA7"), None),
        finished(None, Some("cancelled")),
    ]);
    insta::assert_snapshot!("lines", text);
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(value["event"].is_string() && value["at"].is_u64(), "{line}");
    }
}
