//! Responses: fields, items, and what belongs together.

use serde_json::{Value, json};

use super::{Case, Kind, Mode, Vendor, all_refused, ask, keys, schema, send, started};

pub(super) fn first(vendor: &Vendor) -> Value {
    let tool = |name| json!({"type": "function", "name": name, "description": "d", "parameters": schema(), "strict": false});
    let input = json!([{"role": "developer", "content": "You work."}, {"role": "user", "content": [{"type": "input_text", "text": "Look."}]}]);
    json!({"model": vendor.shared.mode.model, "input": input, "tools": [tool("read_file"), tool("list_dir")], "tool_choice": "auto", "store": false,
        "include": ["reasoning.encrypted_content"], "prompt_cache_key": "run", "reasoning": {"effort": "medium", "summary": "auto"}})
}

/// Adds the items of a response as they came, and results of its calls.
pub(super) fn add(body: &mut Value, output: &Value) {
    let input = body["input"].as_array_mut().unwrap();
    let items = output.as_array().unwrap();
    input.extend(items.clone());
    for call in items.iter().filter(|item| item["type"] == "function_call") {
        input.push(json!({"type": "function_call_output", "call_id": call["call_id"], "output": "a result"}));
    }
}

/// Items: 2 thought, 3 call, 4 result, 5 message, 6 and 7 calls, 8 and 9 results.
pub(super) fn played(vendor: &Vendor) -> Value {
    let mut body = first(vendor);
    for _ in 0..2 {
        let got = ask(vendor, &body).ok().json();
        add(&mut body, &got["output"]);
    }
    body
}

fn mode() -> Mode {
    Mode::new(Kind::OpenAi)
}

fn remove(body: &mut Value, at: usize) {
    body["input"].as_array_mut().unwrap().remove(at);
}

#[test]
fn a_good_conversation_passes() {
    for kind in [Kind::OpenAi, Kind::Azure, Kind::Xai] {
        let vendor = started(Mode::new(kind));
        let body = played(&vendor);
        assert_eq!(body["input"][2]["type"], "reasoning");
        assert!(body["input"][2]["encrypted_content"].as_str().unwrap().starts_with("gAAAAAB"));
        assert_eq!(body["input"][5]["phase"] == "commentary", kind != Kind::Xai);
        let last = ask(&vendor, &body).ok().json();
        assert_eq!(last["output"][1]["content"][0]["text"], "Done.");
        assert_eq!(last["status"], "completed");
        assert_eq!(vendor.refusals(), Vec::<String>::new());
    }
}

const ITEMS: &[Case] = &[
    (
        mode,
        |body| remove(body, 2),
        400,
        "of type 'function_call' was provided without its required 'reasoning' item: 'rs_0",
    ),
    (
        mode,
        |body| {
            remove(body, 3);
            remove(body, 3)
        },
        400,
        "of type 'reasoning' was provided without its required following item.",
    ),
    (mode, |body| remove(body, 4), 400, "No tool output found for function call call_"),
    (
        mode,
        |body| {
            remove(body, 5);
            remove(body, 5)
        },
        400,
        "No tool call found for function call output with call_id call_",
    ),
    (mode, |body| body["input"][2]["encrypted_content"] = json!("gAAAAABx"), 400, "could not be verified"),
    (
        mode,
        |body| {
            body["input"][2].as_object_mut().unwrap().remove("encrypted_content");
        },
        404,
        "Items are not persisted when `store` is set to false.",
    ),
    (mode, |body| body["input"][3]["id"] = json!("fc_else"), 404, "Item with id 'fc_else' not found."),
    (mode, |body| body["input"][3]["id"] = json!("call_1"), 400, "Expected an ID that begins with 'fc'."),
    (mode, |body| body["input"][3]["native"] = json!(1), 400, "Unknown parameter: 'input[3].native'."),
    (
        mode,
        |body| body["input"][1]["content"][0]["type"] = json!("text"),
        400,
        "Invalid value: 'text'. Supported values are: 'input_text'",
    ),
    (
        mode,
        |body| {
            let item = body["input"][5].clone();
            body["input"].as_array_mut().unwrap().push(item)
        },
        400,
        "Duplicate item found with id msg_0",
    ),
    (
        || Mode::new(Kind::Xai),
        |body| body["input"][2]["encrypted_content"] = json!("x"),
        400,
        "could not be verified",
    ),
];

#[test]
fn items_that_belong_together_come_together() {
    all_refused(ITEMS, played);
    // Without ids an item stands for itself, but for its thought.
    let vendor = started(mode());
    let mut body = played(&vendor);
    for item in body["input"].as_array_mut().unwrap() {
        item.as_object_mut().unwrap().remove("id");
    }
    remove(&mut body, 2);
    ask(&vendor, &body).ok();
}

const FIELDS: &[Case] = &[
    (mode, |body| body["messages"] = json!([]), 400, "Unknown parameter: 'messages'."),
    (
        mode,
        |body| body["temperature"] = json!(1),
        400,
        "Unsupported parameter: 'temperature' is not supported with this model.",
    ),
    (
        mode,
        |body| body["max_output_tokens"] = json!(10),
        400,
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
    ),
    (
        mode,
        |body| {
            body["prompt_cache_retention"] = json!("24h");
            body["prompt_cache_options"] = json!({"ttl": "30m"})
        },
        400,
        "'prompt_cache_retention' and 'prompt_cache_options'",
    ),
    (
        mode,
        |body| body["prompt_cache_key"] = json!("k".repeat(65)),
        400,
        "string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
    ),
    (
        mode,
        |body| body["tools"][0] = json!({"type": "function", "function": {"name": "x"}}),
        400,
        "Missing required parameter: 'tools[0].name'.",
    ),
    (mode, |body| body["tools"][0]["parameters"]["anyOf"] = json!([]), 400, "at the top level"),
    (mode, |body| body["reasoning"]["effort"] = json!("huge"), 400, "Invalid value: 'huge'."),
    (mode, |body| body["reasoning"]["budget"] = json!(1), 400, "Unknown parameter: 'reasoning.budget'."),
];

#[test]
fn fields_are_known_and_suit_the_model() {
    all_refused(FIELDS, played);
    let vendor = started(mode());
    let body = first(&vendor).to_string();
    let got = send(&vendor, "POST", "/responses", &[], &body);
    got.refused(401, "You didn't provide an API key.");
    assert!(
        got.head.contains("x-request-id: req_") && got.head.contains("x-should-retry: false"),
        "{}",
        got.head
    );
    let azure = started(Mode::new(Kind::Azure));
    send(&azure, "POST", "/responses", keys(Kind::Azure), &body).ok();
    send(&azure, "POST", "/responses", keys(Kind::OpenAi), &body).ok();
}

#[test]
fn events_come_in_the_true_order_and_the_last_one_has_it_all() {
    for kind in [Kind::OpenAi, Kind::Azure, Kind::Xai] {
        let vendor = started(Mode::new(kind));
        let mut body = first(&vendor);
        body["stream"] = json!(true);
        let got = ask(&vendor, &body).ok();
        assert!(got.body.starts_with("event: response.created\ndata: "));
        assert!(!got.body.contains("[DONE]"));
        let events = got.events();
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        let numbers: Vec<Value> = events.iter().map(|event| event["sequence_number"].clone()).collect();
        assert_eq!(numbers, (0..events.len()).map(|n| json!(n)).collect::<Vec<_>>());
        let mut different = kinds.clone();
        different.dedup();
        let order = "response.created response.in_progress response.output_item.added response.reasoning_summary_part.added response.reasoning_summary_text.delta response.reasoning_summary_text.done response.reasoning_summary_part.done response.output_item.done response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed";
        assert_eq!(different.join(" "), order);
        let done = events.iter().find(|event| event["type"] == "response.output_item.done").unwrap();
        let last = &events.last().unwrap()["response"];
        assert!(last["output"][0]["encrypted_content"].is_string());
        assert_eq!(
            done["item"]["encrypted_content"].is_null(),
            kind == Kind::Azure,
            "Azure has it in the end only"
        );
        assert!(last["usage"]["output_tokens"].as_u64().unwrap() > 0);
        // What is played whole is the same.
        body["stream"] = json!(false);
        assert_eq!(ask(&vendor, &body).ok().json()["output"], last["output"]);
    }
}
