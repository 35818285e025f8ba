//! What the model thought comes back where it must, byte for byte.

use serde_json::{Value, json};

use super::chat::{add, first, played};
use super::{Case, Kind, Mode, all_refused, ask, started};

fn gone(body: &mut Value, field: &str) {
    for message in body["messages"].as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove(field);
    }
}

fn no_details(body: &mut Value) {
    gone(body, "reasoning_details");
}

fn no_thoughts(body: &mut Value) {
    gone(body, "reasoning_content");
}

fn no_signature(body: &mut Value) {
    body["messages"][2]["tool_calls"][0].as_object_mut().unwrap().remove("extra_content");
}

const MISSING: &[Case] = &[
    (
        || Mode::new(Kind::DeepSeek),
        no_thoughts,
        400,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    (
        || Mode::new(Kind::DeepSeek).only_a_space(),
        |body| body["messages"][4]["reasoning_content"] = json!(""),
        400,
        "must be passed back to the API.",
    ),
    (
        || Mode::new(Kind::Moonshot),
        no_thoughts,
        400,
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ),
    (
        || Mode::new(Kind::Gemini),
        no_signature,
        400,
        "Function call is missing a thought_signature in functionCall parts.",
    ),
    (
        || Mode::new(Kind::Gemini),
        |body| {
            body["messages"][2]["tool_calls"][0]["extra_content"]["google"]["thought_signature"] =
                json!("AAAA")
        },
        400,
        "Corrupted thought signature.",
    ),
    (
        || Mode::new(Kind::Gemini),
        |body| body["messages"][4]["tool_calls"].as_array_mut().unwrap().reverse(),
        400,
        "missing a thought_signature",
    ),
    (
        || Mode::new(Kind::Gemini),
        |body| {
            body["messages"][4]["tool_calls"][1]["extra_content"] =
                body["messages"][2]["tool_calls"][0]["extra_content"].clone()
        },
        400,
        "Corrupted thought signature.",
    ),
    (
        || Mode::new(Kind::OpenRouterClaude),
        no_details,
        400,
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ),
    (
        || Mode::new(Kind::OpenRouterClaude),
        |body| body["messages"][2]["reasoning_details"][0]["text"] = json!("Else."),
        400,
        "Invalid `signature` in `thinking` block",
    ),
    (|| Mode::new(Kind::OpenRouterGemini), no_details, 400, "missing a thought_signature"),
    (
        || Mode::new(Kind::OpenRouterGemini),
        |body| body["messages"][2]["reasoning_details"][0]["data"] = json!("AA"),
        400,
        "Corrupted thought signature.",
    ),
];

#[test]
fn thoughts_and_signatures_are_missed() {
    all_refused(MISSING, played);
}

#[test]
fn deepseek_wants_thoughts_on_messages_without_calls_too() {
    let vendor = started(Mode::new(Kind::DeepSeek));
    let mut body = played(&vendor);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.extend([
        json!({"role": "assistant", "content": "Hm."}),
        json!({"role": "user", "content": "Go on."}),
    ]);
    ask(&vendor, &body).refused(400, "must be passed back");
    body["messages"][7]["reasoning_content"] = json!("");
    ask(&vendor, &body).ok();
    body["messages"][7].as_object_mut().unwrap().remove("reasoning_content");
    body["thinking"] = json!({"type": "disabled"});
    ask(&vendor, &body).ok();
}

#[test]
fn gemini_takes_the_dummy_and_forgets_earlier_turns() {
    let vendor = started(Mode::new(Kind::Gemini));
    let mut body = played(&vendor);
    body["messages"][2]["tool_calls"][0]["extra_content"]["google"]["thought_signature"] =
        json!("skip_thought_signature_validator");
    ask(&vendor, &body).ok();
    no_signature(&mut body);
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "And now?"}));
    ask(&vendor, &body).ok();
    let error = {
        body["messages"].as_array_mut().unwrap().pop();
        ask(&vendor, &body).json()
    };
    assert_eq!(error[0]["error"]["status"], "INVALID_ARGUMENT");
}

#[test]
fn a_refusal_from_behind_a_router_is_wrapped() {
    let vendor = started(Mode::new(Kind::OpenRouterClaude));
    let mut body = played(&vendor);
    no_details(&mut body);
    let error = ask(&vendor, &body).json()["error"].clone();
    assert_eq!(error["message"], "Provider returned error");
    assert_eq!(error["metadata"]["provider_name"], "Anthropic");
}

#[test]
fn the_pieces_of_details_join_to_what_is_said_whole() {
    let vendor = started(Mode::new(Kind::OpenRouterClaude));
    let mut body = first(&vendor);
    let whole = ask(&vendor, &body).ok().json()["choices"][0]["message"]["reasoning_details"].clone();
    body["stream"] = json!(true);
    let events = ask(&vendor, &body).ok().events();
    let entries: Vec<&Value> =
        events.iter().map(|event| &event["choices"][0]["delta"]["reasoning_details"][0]).collect();
    let text: String = entries.iter().filter_map(|entry| entry["text"].as_str()).collect();
    assert_eq!(text, whole[0]["text"]);
    assert_eq!(entries.iter().filter(|entry| entry["signature"] == whole[0]["signature"]).count(), 1);
}

#[test]
fn minimax_splits_when_it_is_told_to() {
    let vendor = started(Mode::new(Kind::MiniMax));
    let mut body = first(&vendor);
    let message = ask(&vendor, &body).ok().json()["choices"][0]["message"].clone();
    assert!(message["content"].as_str().unwrap().starts_with("<think>\n"), "{message}");
    body["reasoning_split"] = json!(true);
    let message = ask(&vendor, &body).ok().json()["choices"][0]["message"].clone();
    assert_eq!(message["reasoning_details"][0]["type"], "reasoning.text");
    add(&vendor, &mut body, &message);
    ask(&vendor, &body).ok();
    body["messages"][2]["reasoning_details"][0]["text"] = json!("Else.");
    assert_eq!(ask(&vendor, &body).status, 400);
}

#[test]
fn mistral_thinks_in_parts() {
    let vendor = started(Mode::new(Kind::Mistral));
    let message = ask(&vendor, &first(&vendor)).ok().json()["choices"][0]["message"].clone();
    assert_eq!(message["content"][0]["type"], "thinking");
    assert_eq!(message["tool_calls"][0]["id"].as_str().unwrap().len(), 9);
}
