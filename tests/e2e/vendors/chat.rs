//! Chat Completions: what is checked stands in `rules`, this is what is answered.

#[path = "chat/reply.rs"]
mod reply;
#[path = "chat/usage.rs"]
mod usage;

use serde_json::{Value, json};

use super::cache::{self, Block};
use super::http::{Answer, Head};
use super::mode::{Kind, Thought};
use super::script::{Seen, Turn, text_of};
use super::{Issued, Refusal, Shared, State, Usage, blob, rules, tokens};

/// A turn, with everything that the vendor adds to it.
struct Reply<'a> {
    kind: Kind,
    model: &'a str,
    /// Of the request, in lower case letters and digits.
    id: &'a str,
    turn: Turn,
    /// The ids of the calls.
    ids: Vec<String>,
    /// What the model thought, in an array, where the vendor has that.
    details: Value,
    signature: Option<String>,
    /// MiniMax: thoughts stand apart.
    split: bool,
    usage: Usage,
    cost: f64,
}

pub(super) fn answer(shared: &Shared, head: &Head, body: &Value) -> Result<Answer, Refusal> {
    let mode = head.mode;
    let state = &mut *shared.state();
    let messages = rules::check(head, body, state)?;
    let whole = tokens(&prompt(body));
    if let Some(window) = mode.window.filter(|window| whole > *window && mode.kind != Kind::Ollama) {
        return Err(Refusal::too_long(mode, whole, window));
    }
    let seen = seen(state, messages, body);
    let turn = (shared.script)(&seen);
    if let Some(text) = turn.malformed.as_ref().filter(|_| state.failed.insert(seen.turn)) {
        let words =
            "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.";
        return Err(Refusal::new(400, words).code("tool_use_failed").more("failed_generation", json!(text)));
    }
    let mut used = used(state, head, body);
    used.output = tokens(&turn.generated()).max(1);
    used.thought = turn.thinking.as_deref().map_or(0, tokens);
    if let Some(window) = mode.window.filter(|_| mode.kind == Kind::Ollama) {
        used = Usage { input: used.prompt().min(window), cached: 0, written: 0, ..used };
    }
    shared.charge(state, used);
    let reply = issue(state, head, body, (seen.turn, turn, used));
    let stream = body["stream"] == true;
    let told = body["stream_options"]["include_usage"] == true;
    Ok(if stream { Answer::stream(reply.events(told)) } else { Answer::json(&reply.whole()) })
}

fn seen(state: &State, messages: &[Value], body: &Value) -> Seen {
    let replies = messages.iter().filter(|message| rules::role(message) == "assistant");
    let ids = |message: &Value| rules::calls(message).iter().map(|call| rules::id(call).to_owned()).collect();
    let last = text_of(&messages.last().unwrap()["content"]);
    Seen::new(state, &replies.map(ids).collect::<Vec<_>>(), last, body)
}

/// The prompt as it is counted.
fn prompt(body: &Value) -> String {
    let lines = ["tools", "messages"].into_iter().filter_map(|part| body[part].as_array()).flatten();
    lines.map(|line| cache::unmarked(line).to_string()).collect::<Vec<_>>().join("\n")
}

fn used(state: &mut State, head: &Head, body: &Value) -> Usage {
    let mode = head.mode;
    let marked = body.to_string().contains("\"cache_control\":{");
    match mode.kind {
        Kind::OpenRouterClaude => cache::with_marks(state, &blocks(body), mode.cache_min),
        Kind::Qwen if marked => cache::with_marks(state, &blocks(body), mode.cache_min),
        kind => {
            let key = body["prompt_cache_key"].as_str().unwrap_or("");
            let min = if matches!(kind, Kind::OpenAi | Kind::Azure) && key.is_empty() {
                u64::MAX
            } else {
                mode.cache_min
            };
            let writes = matches!(kind, Kind::OpenAi | Kind::Azure);
            cache::by_beginning(state, key, prompt(body), min, writes)
        }
    }
}

/// Tools and parts of messages, in the order in which they are cached.
fn blocks(body: &Value) -> Vec<Block> {
    let tools = body["tools"].as_array().into_iter().flatten().map(Block::new);
    let parts = |message: &Value| -> Vec<Block> {
        let mut rest = message.clone();
        match message["content"].as_array() {
            Some(parts) => {
                rest["content"] = Value::Null;
                let mut parts: Vec<Block> = parts.iter().map(Block::new).collect();
                if !parts.is_empty() {
                    let first = parts.remove(0).after(&cache::unmarked(&rest).to_string());
                    parts.insert(0, first);
                }
                parts
            }
            None => vec![Block::new(message)],
        }
    };
    tools.chain(body["messages"].as_array().into_iter().flatten().flat_map(parts)).collect()
}

/// Gives out what has to come back.
fn issue<'a>(
    state: &mut State,
    head: &Head<'a>,
    body: &Value,
    (number, turn, usage): (usize, Turn, Usage),
) -> Reply<'a> {
    let kind = head.mode.kind;
    let (begin, letters) = kind.facts().ids;
    let id = |(n, (name, _)): (usize, &(String, Value))| match kind {
        Kind::Moonshot => format!("functions.{name}:{}", 10 * number + n),
        _ => format!("{begin}{}", blob::id(&["call", &number.to_string(), &n.to_string()], letters)),
    };
    let ids: Vec<String> = turn.calls.iter().enumerate().map(id).collect();
    for id in &ids {
        state.minted.insert(id.clone(), number);
    }
    let seed = [number.to_string(), turn.generated()];
    let signature = blob::base64(&["signature", &seed[0], &seed[1]], 180);
    let split = body["reasoning_split"] == true;
    let thinking = turn.thinking.clone();
    let details = match (kind, &thinking) {
        (Kind::OpenRouterClaude, Some(text)) => {
            json!([{"type": "reasoning.text", "text": text, "signature": signature, "format": "anthropic-claude-v1", "index": 0}])
        }
        (Kind::OpenRouterGemini, _) => {
            let mut entry = json!({"type": "reasoning.encrypted", "data": signature, "format": "google-gemini-v1", "index": 0});
            if let Some(id) = ids.first() {
                entry["id"] = json!(id);
            }
            json!([entry])
        }
        (Kind::MiniMax, Some(text)) if split => {
            json!([{"type": "reasoning.text", "text": text, "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0}])
        }
        _ => Value::Null,
    };
    if let Some(first) = ids.first() {
        if !details.is_null() {
            state.issued.insert(first.clone(), Issued { whole: details.clone(), ..Issued::default() });
        }
        state.issued.insert(signature.clone(), Issued { whole: json!(first), ..Issued::default() });
    }
    let signature = (kind.facts().thought == Thought::Signature).then_some(signature);
    let cost = usage.usd(head.mode.prices);
    Reply { kind, model: &head.mode.model, id: head.id, turn, ids, details, signature, split, usage, cost }
}
