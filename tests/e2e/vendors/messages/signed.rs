//! Thoughts are signed, and from Claude 5.1 on a signature holds only behind the prefix that it was made behind.

use serde_json::{Value, json};

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

/// A chain over system, tools and the blocks of all messages but the thoughts.
struct Prefix(u64);

impl Prefix {
    fn new(body: &Value) -> Prefix {
        let system = content(&json!({"content": body["system"]}));
        Prefix(hash(&[&unmarked(&json!(system)).to_string(), &unmarked(&body["tools"]).to_string()]))
    }

    fn add(&mut self, role: &Value, block: &Value) {
        if !is_thought(block) {
            self.0 = hash(&[&self.0.to_string(), role.as_str().unwrap_or(""), &unmarked(block).to_string()]);
        }
    }
}

/// What stands in a turn before a thought, but for thoughts.
fn place(blocks: &[Value]) -> u64 {
    let blocks: Vec<Value> = blocks.iter().filter(|block| !is_thought(block)).map(unmarked).collect();
    hash(&[&json!(blocks).to_string()])
}

/// Signs the thoughts of a new turn.
pub(super) fn sign(state: &mut State, body: &Value, turn: &mut [Value]) {
    let mut prefix = Prefix::new(body);
    let mut before: Option<String> = None;
    let messages = body["messages"].as_array().unwrap();
    for message in messages {
        for block in content(message) {
            prefix.add(&message["role"], &block);
            before = if is_thought(&block) { Some(signature(&block).to_owned()) } else { before };
        }
    }
    let role = json!("assistant");
    for n in 0..turn.len() {
        let place = place(&turn[..n]);
        let block = &mut turn[n];
        if is_thought(block) {
            let text = block["thinking"].clone();
            let signature =
                base64(&["thought", &prefix.0.to_string(), &text.to_string(), &n.to_string()], 240);
            let name = if text.is_string() { "signature" } else { "data" };
            block[name] = json!(signature);
            let issued = Issued {
                whole: block.clone(),
                prefix: prefix.0,
                place,
                before: before.replace(signature.clone()),
                after: None,
            };
            state.issued.insert(signature, issued);
        }
        prefix.add(&role, &turn[n]);
    }
}

/// Checks the thoughts that come back; gives the ones that are left out instead of being refused.
pub(super) fn check(mode: &Mode, body: &Value, state: &State) -> Result<Vec<Value>, Refusal> {
    if !mode.kind.is_claude() {
        return Ok(Vec::new());
    }
    let drops = body["thinking"]["block_binding"]["prefix_mismatch_behavior"] == "drop_block";
    let mut prefix = Prefix::new(body);
    let mut before: Option<String> = None;
    let mut dropped = Vec::new();
    let messages = body["messages"].as_array().unwrap();
    for (at, message) in messages.iter().enumerate() {
        for (n, block) in content(message).iter().enumerate() {
            prefix.add(&message["role"], block);
            if !is_thought(block) {
                continue;
            }
            let place = format!("messages.{at}.content.{n}");
            let issued = state
                .issued
                .get(signature(block))
                .filter(|issued| unmarked(&issued.whole) == unmarked(block));
            let Some(issued) = issued else {
                return Err(refuse(format!(
                    "{place}: Invalid `signature` in `{}` block",
                    block["type"].as_str().unwrap()
                )));
            };
            let moved = before.as_ref().is_some_and(|before| issued.before.as_ref() != Some(before));
            if mode.kind != Kind::AnthropicEnabled
                && (issued.prefix != prefix.0 || moved || !dropped.is_empty())
            {
                if !drops {
                    return Err(refuse(format!(
                        "{place}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
                    )));
                }
                dropped.push(json!({"type": "thinking_block_dropped", "message_index": at, "content_index": n, "reason": "prefix_binding_mismatch"}));
            }
            before = Some(signature(block).to_owned());
        }
    }
    unmodified(messages, state)?;
    if mode.kind == Kind::AnthropicEnabled && body["thinking"]["type"] == "enabled" {
        begins_with_thought(messages)?;
    }
    Ok(dropped)
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
