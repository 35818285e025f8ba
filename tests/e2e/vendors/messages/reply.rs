//! A turn as a message, whole and in events.

use serde_json::{Value, json};

use super::super::blob::pieces;
use super::super::http::event;
use super::Reply;

impl Reply<'_> {
    fn usage(&self, output: u64) -> Value {
        let used = self.usage;
        json!({
            "input_tokens": used.input,
            "cache_creation_input_tokens": used.written,
            "cache_read_input_tokens": used.cached,
            "cache_creation": {"ephemeral_5m_input_tokens": used.written - used.written_1h, "ephemeral_1h_input_tokens": used.written_1h},
            "output_tokens": output,
            "service_tier": "standard",
        })
    }

    fn message(&self, content: &[Value], stop: &Value, output: u64) -> Value {
        let mut message = json!({
            "model": self.model, "id": format!("msg_01{}", self.id), "type": "message", "role": "assistant",
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": self.usage(output),
        });
        if !self.dropped.is_empty() {
            message["input_transformations"] = json!(self.dropped);
        }
        message
    }

    pub(super) fn whole(&self) -> Value {
        let mut message = self.message(&self.content, &json!(self.stop), self.usage.output);
        if self.stop == "refusal" {
            message["stop_details"] = json!({"type": "refusal", "explanation": "This request was declined."});
        }
        message
    }

    pub(super) fn events(&self) -> Vec<String> {
        let mut events =
            vec![json!({"type": "message_start", "message": self.message(&[], &Value::Null, 1)})];
        for (n, block) in self.content.iter().enumerate() {
            let (start, deltas) = parts(block);
            events.push(json!({"type": "content_block_start", "index": n, "content_block": start}));
            if n == 0 {
                events.push(json!({"type": "ping"}));
            }
            events.extend(
                deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": n, "delta": delta})),
            );
            events.push(json!({"type": "content_block_stop", "index": n}));
        }
        let mut delta = json!({"stop_reason": self.stop, "stop_sequence": null});
        if self.stop == "refusal" {
            delta["stop_details"] = json!({"type": "refusal", "explanation": "This request was declined."});
        }
        // What the beginning has told already is null here.
        let usage = json!({"input_tokens": null, "cache_creation_input_tokens": null, "cache_read_input_tokens": null, "output_tokens": self.usage.output, "output_tokens_details": {"thinking_tokens": self.usage.thought}});
        events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
        events.push(json!({"type": "message_stop"}));
        events.iter().map(|data| event(data["type"].as_str(), data)).collect()
    }
}

/// A block as it begins, and what is added to it.
fn parts(block: &Value) -> (Value, Vec<Value>) {
    let text = |name: &str| block[name].as_str().unwrap_or("").to_owned();
    match block["type"].as_str().unwrap() {
        "thinking" => {
            let mut deltas: Vec<Value> = pieces(&text("thinking"))
                .iter()
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .collect();
            deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        "text" => {
            let deltas = pieces(&text("text"))
                .iter()
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        "tool_use" => {
            let mut start = block.clone();
            start["input"] = json!({});
            let whole = block["input"].to_string();
            let filled = if whole == "{}" { Vec::new() } else { pieces(&whole) };
            let deltas = [String::new()].into_iter().chain(filled);
            (start, deltas.map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect())
        }
        _ => (block.clone(), Vec::new()),
    }
}
