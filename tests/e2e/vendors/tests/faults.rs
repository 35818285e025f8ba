//! What goes wrong, whatever was asked.

use serde_json::json;

use super::super::{Fault, Seen};
use super::{Kind, Mode, Turn, Vendor, ask, chat, messages, responses, started};

#[test]
fn the_first_requests_fail_as_they_are_told_to() {
    let mode = Mode::new(Kind::OpenAi).fails(
        2,
        429,
        &[("retry-after", "1"), ("x-should-retry", "true")],
        "Rate limit reached",
    );
    let vendor = started(mode);
    let body = responses::first(&vendor);
    for _ in 0..2 {
        let got = ask(&vendor, &body);
        got.refused(429, "Rate limit reached");
        assert!(
            got.head.contains("retry-after: 1") && got.head.contains("x-should-retry: true"),
            "{}",
            got.head
        );
    }
    ask(&vendor, &body).ok();
    assert_eq!(vendor.refusals(), Vec::<String>::new(), "a fault is no refusal");
    assert_eq!(vendor.completions().len(), 3);
    let vendor = started(Mode::new(Kind::AnthropicAdaptive).fails(1, 529, &[], "Overloaded"));
    let got = ask(&vendor, &messages::first(&vendor));
    assert_eq!((got.status, &got.json()["error"]["type"]), (529, &json!("overloaded_error")));
    let vendor = started(Mode::new(Kind::Zai).fails(1, 429, &[], "Usage limit reached").coded("1308"));
    assert_eq!(ask(&vendor, &chat::first(&vendor)).json()["error"]["code"], "1308");
    let vendor = started(Mode::new(Kind::Gemini).fails(1, 429, &[], "Quota"));
    let got = ask(&vendor, &chat::first(&vendor)).json();
    assert_eq!(got[0]["error"]["details"][0]["retryDelay"], "1s");
}

#[test]
fn a_stream_ends_early_or_with_an_error() {
    let faults = || [Fault::Cut { events: 4 }, Fault::InStream { events: 4 }];
    for kind in [Kind::OpenAi, Kind::AnthropicAdaptive, Kind::OpenRouterClaude, Kind::DeepSeek] {
        let [cut, broken] = faults();
        let vendor = started(Mode::new(kind).fault(cut).fault(broken));
        let mut body = match kind {
            Kind::OpenAi => responses::first(&vendor),
            Kind::AnthropicAdaptive => messages::first(&vendor),
            _ => chat::first(&vendor),
        };
        body["stream"] = json!(true);
        assert_eq!(ask(&vendor, &body).ok().body.matches("\n\n").count(), 4, "{kind:?}");
        let got = ask(&vendor, &body).ok();
        assert!(got.events().last().unwrap()["error"].is_object(), "{kind:?}: {}", got.body);
        ask(&vendor, &body).ok();
    }
}

#[test]
fn a_turn_ends_for_the_reason_that_the_script_gives() {
    let ends = |kind, reason: &'static str| {
        let last = move |seen: &Seen| {
            assert_eq!((seen.last.as_str(), seen.body["stream"] == true), ("Look.", true));
            Turn::text("I am").finish(reason)
        };
        Vendor::answering(Mode::new(kind).max_output(100_000), last)
    };
    let vendor = ends(Kind::Zai, "network_error");
    let mut body = chat::first(&vendor);
    body["stream"] = json!(true);
    assert!(ask(&vendor, &body).ok().body.contains("\"finish_reason\":\"network_error\""));
    let vendor = ends(Kind::AnthropicAdaptive, "refusal");
    let mut body = messages::first(&vendor);
    body["stream"] = json!(true);
    body["max_tokens"] = json!(100_000);
    assert!(ask(&vendor, &body).ok().body.contains("\"stop_reason\":\"refusal\""));
    for (reason, event) in [("max_output_tokens", "response.incomplete"), ("Boom", "response.failed")] {
        let vendor = ends(Kind::OpenAi, reason);
        let mut body = responses::first(&vendor);
        body["stream"] = json!(true);
        let got = ask(&vendor, &body).ok();
        assert_eq!(got.events().last().unwrap()["type"], event);
        assert_eq!(vendor.completions()[0].json(), body);
    }
}

#[test]
fn a_summary_is_written_on_request_and_is_no_turn() {
    let vendor = started(Mode::new(Kind::Vllm));
    let mut body = chat::played(&vendor);
    let before = ask(&vendor, &body).ok().json()["choices"][0]["message"].clone();
    let question = json!({"role": "user", "content": "Write a summary of your work so far."});
    body["messages"].as_array_mut().unwrap().push(question);
    let summary = ask(&vendor, &body).ok().json()["choices"][0]["message"]["content"].clone();
    assert_eq!(summary, "- What was done so far, in short.");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.pop();
    messages.splice(2..4, [json!({"role": "user", "content": summary})]);
    assert_eq!(ask(&vendor, &body).ok().json()["choices"][0]["message"], before);
}
