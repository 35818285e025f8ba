//! A run as OpenTelemetry spans, by the semantic conventions for generative AI (v1.41): one `invoke_agent`, below it a
//! `chat` for each turn of the model and an `execute_tool` for each call.
//!
//! Apart, and behind the feature `otel`, because few want it. Written by hand as OTLP/JSON over the HTTP client that is
//! here anyway: the OpenTelemetry crates would bring some thirty more for what is one request at the end of a run. No
//! text of the conversation is in it. It reads no environment and knows no clock: times come in, in ms.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Client, redirect};
use serde_json::{Map, Value, json};
use uwf_store::json::sorted;

use crate::journal::Entry;
use crate::provider::http::Resolver;
use crate::provider::message::{TokenUsage, ToolCall};
use crate::react::{Notice, RunEnd};
use crate::run_state::RunState;
use crate::trace::Trace;

/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kinds of spans that there are here (`SpanKind` of the protocol).
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;

/// `Status` of the protocol.
const ERROR: u8 = 2;

/// The spans of one run.
pub struct Spans {
    trace: Trace,
    /// A span's id, never 0.
    next_id: fn() -> u64,
    /// `gen_ai.provider.name`.
    provider: &'static str,
    /// What holds for the run: its attributes, and those that every turn repeats.
    run: Map<String, Value>,
    model: String,
    begun: u64,
    /// When the turn began that runs.
    turn: Option<u64>,
    /// When each call began that runs.
    tools: BTreeMap<String, u64>,
    usage: TokenUsage,
    done: Vec<Value>,
}

/// A span that is over.
struct Span<'a> {
    name: String,
    kind: u8,
    /// From and to, in ms since the epoch.
    time: (u64, u64),
    attributes: Map<String, Value>,
    error: Option<&'a str>,
}

impl Spans {
    /// A run that begins at `at`.
    pub fn new(trace: Trace, provider: &'static str, next_id: fn() -> u64, at: u64) -> Spans {
        let (run, tools, done) = (Map::new(), BTreeMap::new(), Vec::new());
        let (model, usage) = (String::new(), TokenUsage::default());
        Spans { trace, next_id, provider, run, model, begun: at, turn: None, tools, usage, done }
    }

    /// What happens; `now` is in ms since the epoch, for what tells no time of its own.
    pub fn on_notice(&mut self, notice: &Notice<'_>, now: u64) {
        match *notice {
            Notice::Opened { thread, role, model, .. } => {
                self.model = model.to_owned();
                let run = json!({
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.provider.name": self.provider,
                    "gen_ai.agent.name": role,
                    "gen_ai.conversation.id": thread,
                    "gen_ai.request.model": model,
                });
                self.run = object(run);
            }
            Notice::Entry(entry, state) => self.on_entry(entry, state),
            Notice::Stopped { .. } | Notice::Progress(_) => {}
        }
        if let Some(RunEnd { error, phase, .. }) = RunEnd::of(notice) {
            let at = if let Notice::Entry(entry, _) = notice { entry.at() } else { now };
            if error.is_some() {
                self.chat(at, (None, None), Some(phase.unwrap_or("_OTHER")));
            }
            self.root(at, error.map(|_| phase.unwrap_or("_OTHER")));
        }
    }

    fn on_entry(&mut self, entry: &Entry, state: &RunState) {
        match entry {
            Entry::Asked { at } => self.turn = Some(*at),
            Entry::Answered { usage, finish_reason, at, .. } => {
                self.chat(*at, (*usage, finish_reason.as_deref()), None);
            }
            Entry::Started { call_id, at, .. } => {
                self.tools.insert(call_id.clone(), *at);
            }
            Entry::Finished { message, facts, at, .. } => {
                let call = message.tool_call_id.as_deref().and_then(|id| state.call(id));
                call.into_iter().for_each(|call| self.tool(call, facts.failed(), *at));
            }
            _ => {}
        }
    }

    /// A tool has run.
    fn tool(&mut self, call: &ToolCall, failed: bool, at: u64) {
        let begun = self.tools.remove(&call.id).unwrap_or(at);
        let attributes = object(json!({
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
        }));
        let (name, error) = (format!("execute_tool {}", call.name), failed.then_some("tool_error"));
        self.end(Span { name, kind: INTERNAL, time: (begun, at), attributes, error });
    }

    /// The turn that runs, if any, is over.
    fn chat(&mut self, at: u64, reported: (Option<TokenUsage>, Option<&str>), error: Option<&str>) {
        let Some(begun) = self.turn.take() else { return };
        let (usage, finish_reason) = reported;
        let mut attributes = object(json!({
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.provider,
            "gen_ai.request.model": self.model,
            "gen_ai.conversation.id": self.run.get("gen_ai.conversation.id"),
        }));
        if let Some(reason) = finish_reason {
            attributes.insert("gen_ai.response.finish_reasons".into(), json!([reason]));
        }
        if let Some(usage) = usage {
            counts(&mut attributes, usage);
            self.usage.input_tokens += usage.input_tokens;
            self.usage.output_tokens += usage.output_tokens;
            self.usage.cached_tokens += usage.cached_tokens;
            self.usage.reasoning_tokens += usage.reasoning_tokens;
        }
        let name = format!("chat {}", self.model);
        self.end(Span { name, kind: CLIENT, time: (begun, at), attributes, error });
    }

    fn root(&mut self, at: u64, error: Option<&str>) {
        let mut attributes = std::mem::take(&mut self.run);
        counts(&mut attributes, self.usage);
        let name = attributes.get("gen_ai.agent.name").and_then(Value::as_str).unwrap_or_default();
        let name = format!("invoke_agent {name}");
        let span = Span { name, kind: INTERNAL, time: (self.begun, at), attributes, error };
        let span = self.written(span, self.trace.span(), self.trace.parent().map(str::to_owned));
        self.done.push(span);
    }

    fn end(&mut self, span: Span<'_>) {
        let parent = format!("{:016x}", self.trace.span());
        let span = self.written(span, (self.next_id)(), Some(parent));
        self.done.push(span);
    }

    fn written(&self, span: Span<'_>, id: u64, parent: Option<String>) -> Value {
        let Span { name, kind, time: (from, to), mut attributes, error } = span;
        if let Some(error) = error {
            attributes.insert("error.type".into(), json!(error));
        }
        let nanos = |ms: u64| format!("{ms}000000");
        json!({
            "traceId": self.trace.id(),
            "spanId": format!("{id:016x}"),
            "parentSpanId": parent.unwrap_or_default(),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": nanos(from),
            "endTimeUnixNano": nanos(to),
            "attributes": written_attributes(attributes),
            "status": error.map_or_else(|| json!({}), |error| json!({"code": ERROR, "message": error})),
        })
    }

    /// The request for a collector. `resource` is what else is said of where the run was, as OpenTelemetry's variable has
    /// it: `name=value,…`, values in percent-encoding; what has no such form is left out.
    pub fn body(&self, service: &str, resource: &str) -> Value {
        let pairs = resource.split(',').filter_map(|pair| pair.split_once('='));
        let mut resource: Map<String, Value> =
            pairs.map(|(name, value)| (name.trim().to_owned(), json!(decoded(value.trim())))).collect();
        resource.insert("service.name".to_owned(), json!(service));
        let scope = json!({"name": "uwf-builtin", "version": env!("CARGO_PKG_VERSION")});
        sorted(json!({"resourceSpans": [{
            "resource": {"attributes": written_attributes(resource)},
            "scopeSpans": [{"scope": scope, "spans": self.done}],
        }]}))
    }
}

/// `%2C` as a comma and so on; what is no such code stays.
fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        match piece.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&piece.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(piece.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn counts(attributes: &mut Map<String, Value>, usage: TokenUsage) {
    let counts = [
        ("gen_ai.usage.input_tokens", usage.input_tokens),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens),
    ];
    attributes.extend(counts.map(|(name, count)| (name.to_owned(), json!(count))));
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Attributes as the protocol's JSON has them, by name: 64-bit numbers are text.
fn written_attributes(attributes: Map<String, Value>) -> Vec<Value> {
    let attributes: BTreeMap<String, Value> = attributes.into_iter().collect();
    let value = |value: Value| match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().map(|item| json!({"stringValue": item})).collect();
            json!({"arrayValue": {"values": items}})
        }
        text => json!({"stringValue": text}),
    };
    let written = |(key, one): (String, Value)| json!({"key": key, "value": value(one)});
    attributes.into_iter().filter(|(_, one)| !one.is_null()).map(written).collect()
}

/// Sends the spans.
///
/// # Errors
/// Why they did not get there, in words.
pub async fn export(url: &str, body: &Value) -> Result<(), String> {
    // Fails only when one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .timeout(PATIENCE)
        .dns_resolver(Resolver::new())
        .redirect(redirect::Policy::none())
        .build();
    let sent = client.map_err(|error| error.to_string())?.post(url).json(body).send().await;
    let reply = sent.map_err(|error| error.without_url().to_string())?;
    if reply.status().is_success() { Ok(()) } else { Err(format!("it answered {}", reply.status().as_u16())) }
}

#[cfg(test)]
#[path = "otel_tests.rs"]
mod tests;
