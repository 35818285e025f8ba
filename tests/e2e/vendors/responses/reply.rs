//! A turn as a response, whole and in events.

use serde_json::{Value, json};

use super::super::blob::{self, pieces};
use super::super::http::event;
use super::super::mode::Kind;
use super::Reply;

/// Events so far, numbered as they come.
#[derive(Default)]
struct Events(Vec<Value>);

impl Events {
    fn push(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(self.0.len());
        self.0.push(fields);
    }
}

impl Reply<'_> {
    fn response(&self, status: &str, output: &[Value], usage: Value) -> Value {
        let reason = self.finish.as_ref().filter(|_| status == "incomplete");
        let failed = (status == "failed").then(|| json!({"code": "server_error", "message": self.finish}));
        json!({
            "id": format!("resp_0{}", self.id), "object": "response", "created_at": 1_790_000_000, "status": status,
            "background": false, "error": failed, "incomplete_details": reason.map(|reason| json!({"reason": reason})),
            "instructions": self.body["instructions"], "max_output_tokens": self.body["max_output_tokens"],
            "model": self.model, "output": output, "parallel_tool_calls": true, "previous_response_id": null,
            "prompt_cache_key": self.body["prompt_cache_key"], "reasoning": self.body["reasoning"], "store": self.body["store"],
            "temperature": 1.0, "tool_choice": self.body["tool_choice"], "tools": self.body["tools"], "truncation": "disabled",
            "usage": usage, "user": null, "metadata": {},
        })
    }

    fn usage(&self) -> Value {
        let used = self.usage;
        let prompt = used.prompt();
        let mut usage = json!({
            "input_tokens": prompt, "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.written},
            "output_tokens": used.output, "output_tokens_details": {"reasoning_tokens": used.thought}, "total_tokens": prompt + used.output,
        });
        if self.kind == Kind::Xai {
            usage["input_tokens_details"] = json!({"cached_tokens": used.cached});
            usage["cost_in_usd_ticks"] = json!((self.cost * 1e10).round());
        }
        usage
    }

    /// How it ended: `max_output_tokens` and `content_filter` are incomplete, any other word is a failure.
    fn status(&self) -> &'static str {
        match self.finish.as_deref() {
            None => "completed",
            Some("max_output_tokens" | "content_filter") => "incomplete",
            Some(_) => "failed",
        }
    }

    pub(super) fn whole(&self) -> Value {
        self.response(self.status(), &self.output, self.usage())
    }

    pub(super) fn events(&self) -> Vec<String> {
        let mut events = Events::default();
        for name in ["response.created", "response.in_progress"] {
            events.push(name, json!({"response": self.response("in_progress", &[], Value::Null)}));
        }
        for (n, item) in self.output.iter().enumerate() {
            match item["type"].as_str().unwrap() {
                "reasoning" => self.reasoning(&mut events, n, item),
                "message" => message(&mut events, n, item),
                _ => function_call(&mut events, n, item),
            }
        }
        let status = self.status();
        events.push(&format!("response.{status}"), json!({"response": self.whole()}));
        events.0.iter().map(|data| event(data["type"].as_str(), data)).collect()
    }

    fn reasoning(&self, events: &mut Events, n: usize, item: &Value) {
        let id = &item["id"];
        let mut early = item.clone();
        early["summary"] = json!([]);
        if item["encrypted_content"].is_string() {
            // What stands here is not yet what counts.
            early["encrypted_content"] =
                json!(format!("gAAAAAB{}", blob::base64(&["early", id.as_str().unwrap()], 120)));
        }
        let mut done = item.clone();
        if self.kind == Kind::Azure {
            for item in [&mut early, &mut done] {
                item.as_object_mut().unwrap().remove("encrypted_content");
            }
        }
        events.push("response.output_item.added", json!({"output_index": n, "item": early}));
        for (at, part) in item["summary"].as_array().unwrap().iter().enumerate() {
            let place = |more: Value| {
                let mut fields = json!({"item_id": id, "output_index": n, "summary_index": at});
                fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                fields
            };
            let text = part["text"].as_str().unwrap();
            events.push(
                "response.reasoning_summary_part.added",
                place(json!({"part": {"type": "summary_text", "text": ""}})),
            );
            for piece in pieces(text) {
                events.push(
                    "response.reasoning_summary_text.delta",
                    place(json!({"delta": piece, "obfuscation": "x"})),
                );
            }
            events.push("response.reasoning_summary_text.done", place(json!({"text": text})));
            events.push("response.reasoning_summary_part.done", place(json!({"part": part})));
        }
        events.push("response.output_item.done", json!({"output_index": n, "item": done}));
    }
}

fn message(events: &mut Events, n: usize, item: &Value) {
    let id = &item["id"];
    let mut early = item.clone();
    early["status"] = json!("in_progress");
    early["content"] = json!([]);
    events.push("response.output_item.added", json!({"output_index": n, "item": early}));
    let part = &item["content"][0];
    let empty = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": ""});
    events.push(
        "response.content_part.added",
        json!({"item_id": id, "output_index": n, "content_index": 0, "part": empty}),
    );
    let text = part["text"].as_str().unwrap();
    for piece in pieces(text) {
        events.push("response.output_text.delta", json!({"item_id": id, "output_index": n, "content_index": 0, "delta": piece, "logprobs": [], "obfuscation": "x"}));
    }
    events.push(
        "response.output_text.done",
        json!({"item_id": id, "output_index": n, "content_index": 0, "text": text, "logprobs": []}),
    );
    events.push(
        "response.content_part.done",
        json!({"item_id": id, "output_index": n, "content_index": 0, "part": part}),
    );
    events.push("response.output_item.done", json!({"output_index": n, "item": item}));
}

fn function_call(events: &mut Events, n: usize, item: &Value) {
    let id = &item["id"];
    let mut early = item.clone();
    early["status"] = json!("in_progress");
    early["arguments"] = json!("");
    events.push("response.output_item.added", json!({"output_index": n, "item": early}));
    let arguments = item["arguments"].as_str().unwrap();
    for piece in pieces(arguments) {
        events.push(
            "response.function_call_arguments.delta",
            json!({"item_id": id, "output_index": n, "delta": piece, "obfuscation": "x"}),
        );
    }
    events.push(
        "response.function_call_arguments.done",
        json!({"item_id": id, "output_index": n, "arguments": arguments}),
    );
    events.push("response.output_item.done", json!({"output_index": n, "item": item}));
}
