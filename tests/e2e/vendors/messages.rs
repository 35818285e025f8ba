//! Anthropic's Messages, there and at other hosts.

#[path = "messages/blocks.rs"]
mod blocks;
#[path = "messages/check.rs"]
mod check;
#[path = "messages/reply.rs"]
mod reply;
#[path = "messages/signed.rs"]
mod signed;

use serde_json::{Value, json};

use super::cache::{self, Block};
use super::http::{Answer, Head};
use super::mode::{Kind, Mode};
use super::script::{Seen, Turn, text_of};
use super::{Issued, Refusal, Shared, State, Usage, blob, tokens};

/// A turn as content blocks.
struct Reply<'a> {
    id: &'a str,
    model: &'a str,
    content: Vec<Value>,
    stop: String,
    usage: Usage,
    /// What was left out of the request.
    dropped: Vec<Value>,
}

pub(super) fn answer(shared: &Shared, head: &Head, body: &Value) -> Result<Answer, Refusal> {
    let mode = head.mode;
    let state = &mut *shared.state();
    check::request(mode, head.asked, body)?;
    let messages = body["messages"].as_array().unwrap();
    blocks::check(mode, messages)?;
    let dropped = signed::check(mode, body, state)?;
    let mut blocks = cached(body);
    let whole = blocks.iter().map(Block::tokens).sum();
    if let Some(window) = mode.window.filter(|window| whole > *window) {
        return Err(Refusal::too_long(mode, whole, window));
    }
    if body["cache_control"].is_object() {
        let last = blocks.pop().unwrap();
        blocks.push(last.marked());
    }
    let seen = seen(state, messages, body);
    let turn = (shared.script)(&seen);
    let mut usage = cache::with_marks(state, &blocks, mode.cache_min);
    usage.output = tokens(&turn.generated()).max(1);
    usage.thought = turn.thinking.as_deref().map_or(0, tokens);
    shared.charge(state, usage);
    let usual = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
    let stop = turn.finish.clone().unwrap_or_else(|| usual.to_owned());
    let content = issue(state, head, body, (seen.turn, &turn));
    let reply = Reply { id: head.id, model: &mode.model, content, stop, usage, dropped };
    Ok(if body["stream"] == true { Answer::stream(reply.events()) } else { Answer::json(&reply.whole()) })
}

/// The blocks of a content, which may be a text.
fn content(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn is_thought(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

/// The prompt in the order in which it is cached: tools, system, messages. How the model thinks and chooses tools
/// belongs before the messages.
fn cached(body: &Value) -> Vec<Block> {
    let tools = body["tools"].as_array().into_iter().flatten().map(Block::new);
    let system = content(&json!({"content": body["system"]}));
    let setting =
        json!([body["tool_choice"]["type"], body["thinking"]["type"], body["output_config"]]).to_string();
    let messages = body["messages"].as_array().into_iter().flatten().enumerate();
    let messages = messages.flat_map(|(at, message)| {
        let under = if at == 0 { setting.as_str() } else { message["role"].as_str().unwrap_or("") };
        content(message).iter().map(|block| Block::new(block).under(under)).collect::<Vec<_>>()
    });
    tools.chain(system.iter().map(Block::new)).chain(messages).collect()
}

fn seen(state: &State, messages: &[Value], body: &Value) -> Seen {
    let replies = messages.iter().filter(|message| message["role"] == "assistant");
    let ids = |message: &Value| {
        content(message).iter().filter_map(|block| block["id"].as_str().map(str::to_owned)).collect()
    };
    let last = text_of(&messages.last().unwrap()["content"]);
    Seen::new(state, &replies.map(ids).collect::<Vec<_>>(), last, body)
}

/// Whether the model thinks, and whether it does so between calls.
fn thinks(mode: &Mode, head: &Head, body: &Value) -> (bool, bool) {
    let kind = body["thinking"]["type"].as_str();
    match mode.kind {
        Kind::AnthropicEnabled => {
            let beta = head
                .asked
                .header("anthropic-beta")
                .is_some_and(|beta| beta.contains("interleaved-thinking-2025-05-14"));
            (kind == Some("enabled"), beta)
        }
        _ => (kind != Some("disabled"), true),
    }
}

/// Makes the blocks of a turn, with signatures that are bound to what stands before them.
fn issue(state: &mut State, head: &Head, body: &Value, (number, turn): (usize, &Turn)) -> Vec<Value> {
    let (thinks, interleaves) = thinks(head.mode, head, body);
    // DeepSeek always has a thought, if only an empty one.
    let always = (head.mode.kind == Kind::DeepSeekMessages).then_some("");
    let thinking = turn.thinking.as_deref().or(always).filter(|_| thinks);
    let mut content = Vec::new();
    // Claude 5.x keeps its thoughts to itself unless it is asked for them; the blocks come back all the same.
    let told = head.mode.kind == Kind::AnthropicEnabled || !head.mode.kind.is_claude();
    let told = told || body["thinking"]["display"] == "summarized";
    let thought = |text: &str| json!({"type": "thinking", "thinking": if told { text } else { "" }});
    if let Some(thinking) = thinking {
        content.push(thought(thinking));
        if turn.redacted {
            content.push(json!({"type": "redacted_thinking"}));
        }
    }
    if !turn.text.is_empty() {
        content.push(json!({"type": "text", "text": turn.text}));
    }
    for (n, (name, arguments)) in turn.calls.iter().enumerate() {
        if n > 0 && thinking.is_some() && turn.interleaved && interleaves {
            content.push(thought(&format!("And then {name}.")));
        }
        let id = format!("toolu_01{}", blob::id(&["call", &number.to_string(), &n.to_string()], 22));
        state.minted.insert(id.clone(), number);
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": arguments}));
    }
    signed::sign(state, body, &mut content);
    content
}
