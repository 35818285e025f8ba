//! OpenAI's Responses, and Azure's and xAI's.

#[path = "responses/check.rs"]
mod check;
#[path = "responses/items.rs"]
mod items;
#[path = "responses/reply.rs"]
mod reply;

use serde_json::{Value, json};

use super::cache;
use super::http::{Answer, Head};
use super::mode::Kind;
use super::script::{Seen, Turn, text_of};
use super::{Issued, Refusal, Shared, State, Usage, blob, tokens};

/// A turn as items, each with the id and blob that it has.
struct Reply<'a> {
    kind: Kind,
    body: &'a Value,
    id: &'a str,
    model: &'a str,
    output: Vec<Value>,
    finish: Option<String>,
    usage: Usage,
    cost: f64,
}

pub(super) fn answer(shared: &Shared, head: &Head, body: &Value) -> Result<Answer, Refusal> {
    let mode = head.mode;
    let state = &mut *shared.state();
    check::fields(mode, body)?;
    let input = input(body)?;
    items::check(mode, body, &input, state)?;
    let prompt = prompt(body, &input);
    let whole = tokens(&prompt);
    if let Some(window) = mode.window.filter(|window| whole > *window) {
        return Err(Refusal::too_long(mode, whole, window));
    }
    let seen = seen(state, &input, body);
    let turn = (shared.script)(&seen);
    let key = body["prompt_cache_key"].as_str().unwrap_or("");
    // Without a key requests land on machines that have not seen the one before.
    let min = if key.is_empty() && mode.kind != Kind::Xai { u64::MAX } else { mode.cache_min };
    let mut usage = cache::by_beginning(state, key, prompt, min, mode.kind != Kind::Xai && !key.is_empty());
    usage.output = tokens(&turn.generated()).max(1);
    usage.thought = turn.thinking.as_deref().map_or(0, tokens);
    shared.charge(state, usage);
    let output = issue(state, head, body, (seen.turn, &turn));
    let cost = usage.usd(mode.prices);
    let reply = Reply {
        kind: mode.kind,
        body,
        id: head.id,
        model: &mode.model,
        output,
        finish: turn.finish,
        usage,
        cost,
    };
    Ok(if body["stream"] == true { Answer::stream(reply.events()) } else { Answer::json(&reply.whole()) })
}

/// The items of the input; a text is one message.
fn input(body: &Value) -> Result<Vec<Value>, Refusal> {
    match &body["input"] {
        Value::String(text) => Ok(vec![json!({"role": "user", "content": text})]),
        Value::Array(items) if !items.is_empty() => Ok(items.clone()),
        _ => Err(super::refusal::refuse("Missing required parameter: 'input'.")
            .param("input")
            .code("missing_required_parameter")),
    }
}

/// The prompt as it is counted. Ids are no part of it.
fn prompt(body: &Value, input: &[Value]) -> String {
    let tools = body["tools"].as_array().into_iter().flatten();
    let head = tools.chain([&body["instructions"]]).map(Value::to_string);
    head.chain(input.iter().map(Value::to_string)).collect::<Vec<_>>().join("\n")
}

/// Items of the model that follow each other are one turn of it.
fn seen(state: &State, input: &[Value], body: &Value) -> Seen {
    let of_model = |item: &Value| {
        matches!(item["type"].as_str(), Some("reasoning" | "function_call")) || item["role"] == "assistant"
    };
    let mut replies: Vec<Vec<String>> = Vec::new();
    for (at, item) in input.iter().enumerate().filter(|(_, item)| of_model(item)) {
        if at == 0 || !of_model(&input[at - 1]) {
            replies.push(Vec::new());
        }
        let ids = [&item["call_id"], &item["id"]].into_iter().filter_map(Value::as_str);
        replies.last_mut().unwrap().extend(ids.map(str::to_owned));
    }
    let last = input.last().unwrap();
    let text = text_of(&last["content"]) + &text_of(&last["output"]);
    Seen::new(state, &replies, text, body)
}

/// Makes the items of a turn, and remembers what has to come back, and beside what.
fn issue(state: &mut State, head: &Head, body: &Value, (number, turn): (usize, &Turn)) -> Vec<Value> {
    let seed = [number.to_string(), turn.generated()];
    let id = |begin: &str, n: usize| {
        format!("{begin}_0{}", blob::id(&[begin, &seed[0], &seed[1], &n.to_string()], 49))
    };
    let mut output = Vec::new();
    if let Some(thinking) = &turn.thinking {
        let told = body["reasoning"]["summary"].is_string();
        let summary = if told { json!([{"type": "summary_text", "text": thinking}]) } else { json!([]) };
        let mut item = json!({"id": id("rs", 0), "type": "reasoning", "summary": summary});
        if encrypts(body) {
            item["encrypted_content"] =
                json!(format!("gAAAAAB{}", blob::base64(&["encrypted", &seed[0], &seed[1]], 420)));
        }
        output.push(item);
    }
    if !turn.text.is_empty() {
        let content = json!([{"type": "output_text", "annotations": [], "logprobs": [], "text": turn.text}]);
        let mut item = json!({"id": id("msg", 0), "type": "message", "status": "completed", "role": "assistant", "content": content});
        if head.mode.kind != Kind::Xai {
            item["phase"] = json!(if turn.calls.is_empty() { "final_answer" } else { "commentary" });
        }
        output.push(item);
    }
    for (n, (name, arguments)) in turn.calls.iter().enumerate() {
        let call = format!("call_{}", blob::id(&["call", &seed[0], &n.to_string()], 24));
        state.minted.insert(call.clone(), number);
        output.push(json!({"id": id("fc", n), "type": "function_call", "status": "completed", "arguments": arguments.to_string(), "call_id": call, "name": name}));
    }
    let ids: Vec<String> = output.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    for (n, item) in output.iter().enumerate() {
        let before = ids[0].starts_with("rs_").then(|| ids[0].clone()).filter(|_| n > 0);
        let issued =
            Issued { whole: item.clone(), before, after: ids.get(n + 1).cloned(), ..Issued::default() };
        state.minted.insert(ids[n].clone(), number);
        state.issued.insert(ids[n].clone(), issued);
    }
    output
}

/// Whether thoughts are handed out for the caller to keep.
fn encrypts(body: &Value) -> bool {
    body["include"].as_array().is_some_and(|all| all.contains(&json!("reasoning.encrypted_content")))
}
