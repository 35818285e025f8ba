//! Thoughts are signed, and from Claude 5.1 on a signature holds only behind the prefix that it was made behind.

use serde_json::{Value, json};
use uwf_store::json::line;

use super::super::blob::{base64, hash};
use super::super::cache::unmarked;
use super::super::mode::{Kind, Mode};
use super::super::refusal::refuse;
use super::{Issued, Refusal, State, content, is_thought};

/// Where the signature of a thought stands.
fn signature(block: &Value) -> &str {
    let name = if block["type"] == "thinking" { "signature" } else { "data" };
    block[name].as_str().unwrap_or("")
}

/// A walk over a request: a chain over system, tools and the blocks of all messages but the thoughts, and the last
/// thought that holds where it stands.
struct Walk {
    prefix: u64,
    before: Option<String>,
}

impl Walk {
    fn new(body: &Value) -> Walk {
        let system = content(&json!({"content": body["system"]}));
        let prefix = hash(&[&unmarked(&json!(system)).to_string(), &unmarked(&body["tools"]).to_string()]);
        Walk { prefix, before: None }
    }

    /// One block further; whether it is a thought that holds here, or none.
    fn holds(&mut self, role: &str, block: &Value, state: &State) -> bool {
        if !is_thought(block) {
            self.prefix = hash(&[&self.prefix.to_string(), role, &unmarked(block).to_string()]);
            return true;
        }
        let Some(issued) = state.issued.get(signature(block)) else { return false };
        // The first ones may be gone, but none between others.
        let follows = self.before.is_none() || issued.before == self.before;
        let holds = issued.prefix == self.prefix && follows;
        if holds {
            self.before = Some(signature(block).to_owned());
        }
        holds
    }
}

/// The blocks of a request with their places, in order.
fn blocks(body: &Value) -> impl Iterator<Item = (usize, usize, &str, Value)> {
    let messages = body["messages"].as_array().into_iter().flatten().enumerate();
    messages.flat_map(|(at, message)| {
        let role = message["role"].as_str().unwrap_or("");
        content(message).into_iter().enumerate().map(move |(n, block)| (at, n, role, block))
    })
}

/// What stands in a turn before a thought, but for thoughts.
fn place(blocks: &[Value]) -> u64 {
    let blocks: Vec<Value> = blocks.iter().filter(|block| !is_thought(block)).map(unmarked).collect();
    hash(&[&line(&json!(blocks))])
}

/// Signs the thoughts of a new turn.
pub(super) fn sign(state: &mut State, body: &Value, turn: &mut [Value]) {
    let mut walk = Walk::new(body);
    for (_, _, role, block) in blocks(body) {
        walk.holds(role, &block, state);
    }
    for n in 0..turn.len() {
        let place = place(&turn[..n]);
        let block = &mut turn[n];
        if is_thought(block) {
            let text = block["thinking"].clone();
            let parts = [walk.prefix.to_string(), text.to_string(), n.to_string()];
            let signature = base64(&["thought", &parts[0], &parts[1], &parts[2]], 240);
            block[if text.is_string() { "signature" } else { "data" }] = json!(signature);
            let (whole, prefix, before) = (block.clone(), walk.prefix, walk.before.clone());
            state.issued.insert(signature, Issued { whole, prefix, place, before, after: None });
        }
        walk.holds("assistant", &turn[n], state);
    }
}

/// Checks the thoughts that come back; gives the ones that are left out instead of being refused.
pub(super) fn check(mode: &Mode, body: &Value, state: &State) -> Result<Vec<Value>, Refusal> {
    if mode.kind == Kind::DeepSeekMessages {
        thought_everywhere(body)?;
    }
    if !mode.kind.is_claude() {
        return Ok(Vec::new());
    }
    let bound = mode.kind != Kind::AnthropicEnabled;
    let drops = body["thinking"]["block_binding"]["prefix_mismatch_behavior"] == "drop_block";
    let mut walk = Walk::new(body);
    let mut dropped = Vec::new();
    for (at, n, role, block) in blocks(body) {
        let issued = state.issued.get(signature(&block)).is_some_and(|issued| issued.whole == block);
        if is_thought(&block) && !issued {
            let kind = block["type"].as_str().unwrap();
            return Err(refuse(format!("messages.{at}.content.{n}: Invalid `signature` in `{kind}` block")));
        }
        if walk.holds(role, &block, state) || !bound {
            continue;
        }
        if !drops {
            return Err(elsewhere(at, n));
        }
        let what = json!({"type": "thinking_block_dropped", "message_index": at, "content_index": n});
        dropped.push(what);
    }
    let messages = body["messages"].as_array().unwrap();
    unmodified(messages, state)?;
    if mode.kind == Kind::AnthropicEnabled && body["thinking"]["type"] == "enabled" {
        begins_with_thought(messages)?;
    }
    Ok(dropped)
}

/// DeepSeek: with tools, every message of the model has its thought.
fn thought_everywhere(body: &Value) -> Result<(), Refusal> {
    let tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let messages = body["messages"].as_array().into_iter().flatten();
    let mut replies = messages.filter(|message| message["role"] == "assistant");
    let thinks = body["thinking"]["type"] != "disabled";
    if tools && thinks && replies.any(|reply| !content(reply).iter().any(is_thought)) {
        let words = "The `content[].thinking` in the thinking mode must be passed back to the API.";
        return Err(refuse(words));
    }
    Ok(())
}

fn elsewhere(at: usize, n: usize) -> Refusal {
    refuse(format!(
        "messages.{at}.content.{n}: Invalid `signature` in `thinking` block. The block is bound to a different \
         conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". \
         That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
    ))
}

/// The thoughts of the last message of the model are all there, each in its place.
fn unmodified(messages: &[Value], state: &State) -> Result<(), Refusal> {
    let Some(at) = messages.iter().rposition(|message| message["role"] == "assistant") else { return Ok(()) };
    let blocks = content(&messages[at]);
    let mut earlier: Option<&str> = None;
    for (n, block) in blocks.iter().enumerate().filter(|(_, block)| is_thought(block)) {
        let issued = &state.issued[signature(block)];
        if earlier.is_some() && issued.before.as_deref() != earlier || issued.place != place(&blocks[..n]) {
            return Err(refuse(format!(
                "messages.{at}.content.{n}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
            )));
        }
        earlier = Some(signature(block));
    }
    Ok(())
}

/// Behind results of tools, the model's message begins with a thought.
fn begins_with_thought(messages: &[Value]) -> Result<(), Refusal> {
    let results = |message: &Value| content(message).iter().any(|block| block["type"] == "tool_result");
    let Some(at) = messages.iter().rposition(|message| message["role"] == "assistant") else { return Ok(()) };
    if !messages[at + 1..].iter().any(results) {
        return Ok(());
    }
    let blocks = content(&messages[at]);
    if is_thought(&blocks[0]) {
        return Ok(());
    }
    let found = blocks[0]["type"].as_str().unwrap_or("");
    Err(refuse(format!(
        "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    )))
}
