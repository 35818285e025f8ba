//! What is asked of the model's thinking.
//!
//! Apart because models differ here most: older ones want a budget of tokens and refuse it where the turn under way began
//! without thinking, newer ones decide by themselves, and the newest bind what they thought to all that was said before.

use serde_json::json;
use uwf_store::json::sorted;

use super::event::BlockFields;
use crate::provider::fields::Fields;
use crate::provider::message::{Message, Request, Speaker};
use crate::provider::wires::RequestTarget;
use crate::provider::wires::written::WrittenParts;

/// The beta that lets a model with a budget think between its calls, too. Adaptive thinking does so by itself.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

/// The beta that the field `block_binding` belongs to.
const BINDING: &str = "thinking-binding-controls-2026-08-01";

/// The smallest budget there is.
const LEAST: u64 = 1024;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Thinking<'r> {
    /// Nothing: the model does as it always does.
    Unsaid,
    /// That it does not think.
    Off,
    /// That it thinks as much as it needs, and that the endpoint drops what is bound to another prefix.
    Adaptive { effort: Option<&'r str>, drops_unbound: bool },
    /// That it thinks with so many tokens.
    Budget(u64),
}

impl<'r> Thinking<'r> {
    /// What this request asks. `parts` are its messages as they are sent.
    pub(super) fn of(
        request: &Request<'r>,
        target: &RequestTarget<'_>,
        parts: &[WrittenParts],
        max_tokens: u64,
    ) -> Thinking<'r> {
        let (sampling, model) = (request.sampling, target.model);
        let effort = sampling.reasoning_effort.as_deref();
        let is_none = matches!(effort, Some("none" | "off"));
        // The models that bind their thinking think always.
        let always = model.adaptive_thinking && model.binds_prefix;
        let drops_unbound = model.binds_prefix && target.dialect.drops_unbound;
        // Both together are refused; a wish that was said wins over a default.
        let has_temperature = sampling.temperature.is_some() && !model.refuses_temperature;
        match effort {
            Some(_) if is_none && !always => Thinking::Off,
            Some(_) if is_none => Thinking::Adaptive { effort: Some("low"), drops_unbound },
            Some(effort) if model.adaptive_thinking => {
                Thinking::Adaptive { effort: Some(known(effort)), drops_unbound }
            }
            None if model.adaptive_thinking && !has_temperature => {
                Thinking::Adaptive { effort: None, drops_unbound }
            }
            Some(effort) if began_with_thinking(request.messages, parts) => {
                budget(effort, max_tokens).map_or(Thinking::Unsaid, Thinking::Budget)
            }
            _ => Thinking::Unsaid,
        }
    }

    /// Whether the model is asked to think.
    pub(super) fn is_on(self) -> bool {
        matches!(self, Thinking::Adaptive { .. } | Thinking::Budget(_))
    }

    /// The fields of the body that say so.
    pub(super) fn write(self, fields: &mut Fields) {
        match self {
            Thinking::Unsaid => {}
            Thinking::Off => fields.push("thinking", &json!({ "type": "disabled" })),
            Thinking::Adaptive { effort, drops_unbound } => {
                // Newer models tell none of their thinking unless they are asked to, and put what they say between
                // calls into it.
                let mut thinking = json!({ "type": "adaptive", "display": "summarized" });
                if drops_unbound {
                    thinking["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
                }
                fields.push("thinking", &sorted(thinking));
                let config = effort.map(|effort| json!({ "effort": effort }));
                fields.push_some("output_config", config.as_ref());
            }
            Thinking::Budget(tokens) => {
                fields.push("thinking", &sorted(json!({ "type": "enabled", "budget_tokens": tokens })));
            }
        }
    }

    /// The betas that these fields belong to.
    pub(super) fn betas(self) -> Vec<&'static str> {
        match self {
            Thinking::Budget(_) => vec![INTERLEAVED],
            Thinking::Adaptive { drops_unbound: true, .. } => vec![BINDING],
            _ => Vec::new(),
        }
    }
}

/// An effort as this wire calls it.
fn known(effort: &str) -> &str {
    if effort == "minimal" { "low" } else { effort }
}

/// The budget for an effort, a quarter of `max_tokens` being left for the answer; `None` where nothing fits.
fn budget(effort: &str, max_tokens: u64) -> Option<u64> {
    let wanted = match effort {
        "minimal" => LEAST,
        "low" => 4096,
        "medium" => 10_000,
        "high" => 24_000,
        _ => u64::MAX,
    };
    Some(wanted.min(max_tokens / 4 * 3)).filter(|tokens| *tokens >= LEAST)
}

/// Whether each turn with calls behind the last words of ours begins with thinking, as it must where a budget is given.
/// One that another model made does not, nor one whose thinking could not be kept.
fn began_with_thinking(messages: &[Message], parts: &[WrittenParts]) -> bool {
    let under_way = messages.iter().zip(parts).rev().take_while(|(message, _)| message.role != Speaker::User);
    let mut with_calls = under_way.filter(|(message, _)| !message.tool_calls.is_empty());
    with_calls.all(|(_, blocks)| blocks.first().is_some_and(|block| BlockFields::read(block).is_thinking()))
}
