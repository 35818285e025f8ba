//! A turn as a chat message, whole and in pieces.

use serde_json::{Value, json};

use super::super::blob::pieces;
use super::super::http::event;
use super::super::mode::{Kind, Thought};
use super::Reply;

const CREATED: u64 = 1_790_000_000;

impl Reply<'_> {
    fn thinking(&self) -> Option<&str> {
        self.turn.thinking.as_deref()
    }

    fn thought(&self) -> Thought {
        self.kind.facts().thought
    }

    fn finish(&self) -> String {
        let usual = if self.ids.is_empty() { "stop" } else { "tool_calls" };
        self.turn.finish.clone().unwrap_or_else(|| usual.to_owned())
    }

    /// The text, with what was thought where both stand together.
    fn text(&self) -> String {
        match (self.thought(), self.thinking()) {
            (Thought::Tags, Some(thinking)) if !self.split => {
                format!("<think>\n{thinking}\n</think>\n\n{}", self.turn.text)
            }
            _ => self.turn.text.clone(),
        }
    }

    fn call(&self, n: usize, streamed: bool) -> Value {
        let (name, arguments) = &self.turn.calls[n];
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let mut call = json!({"id": self.ids[n], "type": "function", "function": function});
        if let Some(signature) = self.signature.as_ref().filter(|_| n == 0) {
            call["extra_content"] = json!({"google": {"thought_signature": signature}});
        }
        // Gemini streams its calls in one piece, without an index.
        if streamed && self.kind != Kind::Gemini || self.kind.routes() {
            call["index"] = json!(n);
        }
        call
    }

    /// The fields beside content and calls.
    fn extras(&self) -> Vec<(&'static str, Value)> {
        let thinking = || self.thinking().map(|text| json!(text));
        let signature = self.signature.as_ref().filter(|_| self.ids.is_empty());
        match self.thought() {
            Thought::Field(name) => thinking().map(|text| (name, text)).into_iter().collect(),
            Thought::Details => vec![
                ("reasoning", thinking().unwrap_or(Value::Null)),
                ("reasoning_details", self.details.clone()),
            ],
            Thought::Tags if self.split => thinking().map_or_else(Vec::new, |text| {
                vec![("reasoning_content", text), ("reasoning_details", self.details.clone())]
            }),
            Thought::Signature => signature
                .map(|signature| ("extra_content", json!({"google": {"thought_signature": signature}})))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    fn message(&self) -> Value {
        let text = self.text();
        let content = match (self.thought(), self.thinking()) {
            (Thought::Parts, Some(thinking)) => {
                json!([{"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}, {"type": "text", "text": text}])
            }
            _ if text.is_empty() && !self.ids.is_empty() => Value::Null,
            _ => json!(text),
        };
        let mut message = json!({"role": "assistant", "content": content});
        if !self.ids.is_empty() {
            message["tool_calls"] = (0..self.ids.len()).map(|n| self.call(n, false)).collect();
        }
        for (name, value) in self.extras().into_iter().filter(|(_, value)| !value.is_null()) {
            message[name] = value;
        }
        message
    }

    pub(super) fn whole(&self) -> Value {
        let choice = json!({"index": 0, "message": self.message(), "finish_reason": self.finish()});
        let mut body = json!({"id": format!("chatcmpl-{}", self.id), "object": "chat.completion", "created": CREATED, "model": self.model, "choices": [choice], "usage": self.usage()});
        if self.kind == Kind::Groq {
            body["x_groq"] = json!({"id": format!("req_{}", self.id)});
        }
        body
    }

    pub(super) fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": format!("chatcmpl-{}", self.id), "object": "chat.completion.chunk", "created": CREATED, "model": self.model, "choices": [choice]})
    }

    /// The deltas of what was thought.
    fn thoughts(&self) -> Vec<Value> {
        let text = pieces(self.thinking().unwrap_or(""));
        let texts = |to: &dyn Fn(&String) -> Value| text.iter().map(to).collect::<Vec<_>>();
        match self.thought() {
            Thought::Field(name) => texts(&|piece| json!({name: piece})),
            Thought::Parts => texts(
                &|piece| json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]}),
            ),
            Thought::Details if self.kind == Kind::OpenRouterClaude => {
                let entry = |name: &str, value: &str| json!({"type": "reasoning.text", name: value, "format": "anthropic-claude-v1", "index": 0});
                let mut deltas = texts(
                    &|piece| json!({"content": "", "reasoning": piece, "reasoning_details": [entry("text", piece)]}),
                );
                if let Some(signature) = self.details[0]["signature"].as_str() {
                    deltas.push(json!({"content": "", "reasoning_details": [entry("signature", signature)]}));
                }
                deltas
            }
            Thought::Details => {
                let mut deltas = texts(&|piece| json!({"content": "", "reasoning": piece}));
                deltas.push(json!({"content": "", "reasoning_details": self.details}));
                deltas
            }
            Thought::Tags if self.split => {
                let rest = &self.details[0];
                texts(&|piece| {
                    let mut entry = rest.clone();
                    entry["text"] = json!(piece);
                    json!({"reasoning_content": piece, "reasoning_details": [entry]})
                })
            }
            _ => Vec::new(),
        }
    }

    /// The deltas of the calls.
    fn calls(&self) -> Vec<Value> {
        let whole = matches!(self.kind, Kind::Gemini | Kind::Xai | Kind::Zai | Kind::Mistral | Kind::Ollama);
        let mut deltas = Vec::new();
        for n in 0..self.ids.len() {
            let mut call = self.call(n, true);
            if whole {
                deltas.push(json!({"tool_calls": [call]}));
                continue;
            }
            let arguments = pieces(call["function"]["arguments"].as_str().unwrap());
            call["function"]["arguments"] = json!("");
            deltas.push(json!({"tool_calls": [call]}));
            let piece = |piece| json!({"tool_calls": [{"index": n, "function": {"arguments": piece}}]});
            deltas.extend(arguments.iter().map(piece));
        }
        deltas
    }

    /// The events of a stream; `told` says whether usage was asked for.
    pub(super) fn events(&self, told: bool) -> Vec<String> {
        let text = self.text();
        let mut texts: Vec<Value> = pieces(&text).iter().map(|piece| json!({"content": piece})).collect();
        if let (Some((name, value)), true) = (self.extras().into_iter().next(), self.kind == Kind::Gemini)
            && let Some(first) = texts.first_mut()
        {
            first[name] = value;
        }
        let deltas =
            [vec![json!({"role": "assistant", "content": ""})], self.thoughts(), texts, self.calls()]
                .concat();
        let mut chunks: Vec<Value> = deltas.iter().map(|delta| self.chunk(delta, None)).collect();
        // xAI calls tools with an empty reason.
        let finish =
            if self.kind == Kind::Xai && !self.ids.is_empty() { String::new() } else { self.finish() };
        chunks.push(self.chunk(&json!({}), Some(&finish)));
        self.told_usage(&mut chunks, told);
        let mut events: Vec<String> = chunks.iter().map(|chunk| event(None, chunk)).collect();
        if self.kind.routes() {
            for at in [0, 0, events.len() / 2] {
                events.insert(at, ": OPENROUTER PROCESSING\n\n".to_owned());
            }
        }
        events.push("data: [DONE]\n\n".to_owned());
        events
    }
}
