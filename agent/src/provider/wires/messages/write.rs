//! A neutral request → the body of a request.
//!
//! Apart because it is pure and its bytes matter: two consecutive requests of a run have all but their end in common, so
//! that the endpoint's prompt cache hits, and so that thinking that is bound to what was sent before it stays valid.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uwf_store::json::sorted;

use super::blocks::{marked, text};
use super::thinking::Thinking;
use super::{blocks, turns};
use crate::provider::dialect::Cache;
use crate::provider::fields::{Fields, raw};
use crate::provider::message::{Message, Request, Speaker, ToolDeclaration};
use crate::provider::wires::written::{Written, WrittenParts};
use crate::provider::wires::{Outgoing, RequestTarget, tool_choice};

/// Tokens to answer with, where the model's limit is not known: the field must be there.
const MAX_TOKENS: u64 = 32_000;

/// So few bytes of a prompt may be a token.
const BYTES: u64 = 3;

/// Kept free beside prompt and answer, for the tools and what the guess is wrong by, in tokens.
const RESERVE: u64 = 8192;

/// Fewer are not worth an answer.
const LEAST: u64 = 4096;

/// What the root of a tool's schema may hold: `anyOf` and the like are refused there.
const SCHEMA_FIELDS: [&str; 5] = ["type", "properties", "required", "$defs", "definitions"];

#[derive(Serialize)]
struct WireTool<'r> {
    name: &'r str,
    description: &'r str,
    input_schema: Value,
}

/// The request as an endpoint of Messages takes it.
pub(in crate::provider) fn write(
    request: &Request<'_>,
    target: &RequestTarget<'_>,
    written: &mut Written,
) -> Outgoing {
    let messages = request.messages;
    let parts = written.of(messages, target, |message| blocks::blocks(message, messages, target));
    let max_tokens = max_tokens(target, parts);
    let thinking = Thinking::of(request, target, parts, max_tokens);
    let marks = target.dialect.cache == Cache::Marks;

    let mut fields = Fields::default();
    fields.push("model", request.model);
    fields.push("max_tokens", &max_tokens);
    let temperature = target.temperature(request).filter(|_| !thinking.is_on());
    fields.push_some("temperature", temperature.as_ref());
    thinking.write(&mut fields);
    fields.merge(&target.fields());
    let tools = tools(request.tools, marks);
    fields.push_some("tools", (!tools.is_empty()).then_some(&tools));
    fields.push_some("system", system(messages, marks).as_ref());
    fields.push("messages", &turns::turns(messages, parts, marks));
    fields.push_some("tool_choice", tool_choice(request).map(|choice| json!({ "type": choice })).as_ref());
    fields.push("stream", &target.stream);
    Outgoing { fields, headers: headers(target, &thinking) }
}

/// How many tokens may be answered with: what the model can, and no more than its window has left, by a guess that is
/// rather too high of what the prompt takes. Only near its end does it change from turn to turn.
fn max_tokens(target: &RequestTarget<'_>, parts: &[WrittenParts]) -> u64 {
    let limit = target.model.output_limit.unwrap_or(MAX_TOKENS);
    let bytes: usize = parts.iter().flatten().map(|part| part.get().len()).sum();
    let taken = bytes as u64 / BYTES + RESERVE;
    let left = target.model.window.map_or(u64::MAX, |window| window.saturating_sub(taken));
    limit.min(left.max(LEAST))
}

/// The headers of this very request: what keeps the run on one server, and the betas that its fields belong to.
fn headers(target: &RequestTarget<'_>, thinking: &Thinking<'_>) -> Vec<(String, String)> {
    let betas = thinking.betas().join(",");
    let betas = (!betas.is_empty()).then(|| ("anthropic-beta".to_owned(), betas));
    target.headers().into_iter().chain(betas).collect()
}

/// The tools as they are declared; the last one has the mark.
fn tools(tools: &[ToolDeclaration], marks: bool) -> Vec<Box<RawValue>> {
    let mut list: Vec<Box<RawValue>> = tools.iter().map(tool).collect();
    if let Some(last) = list.last_mut().filter(|_| marks) {
        *last = marked(last);
    }
    list
}

fn tool(tool: &ToolDeclaration) -> Box<RawValue> {
    let schema = match tool.schema() {
        Value::Object(mut schema) => {
            schema.retain(|name, _| SCHEMA_FIELDS.contains(&name.as_str()));
            Value::Object(schema)
        }
        _ => sorted(json!({ "type": "object", "properties": {}, "required": [] })),
    };
    raw(&WireTool { name: &tool.name, description: &tool.description, input_schema: schema })
}

/// The rules of the role, a field of its own here.
fn system(messages: &[Message], marks: bool) -> Option<[Box<RawValue>; 1]> {
    let system = messages.iter().find(|message| message.role == Speaker::System)?;
    let block = text(&system.content)?;
    Some([if marks { marked(&block) } else { block }])
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
