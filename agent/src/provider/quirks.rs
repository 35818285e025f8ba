//! Quirks of endpoints, learnt from their refusals: what to leave out, to add, or where to ask instead.
//!
//! Apart because it is the safety net under the table of dialects: hundreds of endpoints are in no table. Each quirk is
//! learnt once and remembered for the thread, so that its next step does not pay for it again. Never the model or the
//! messages: what is left out changes how the endpoint is asked, not what.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::api_error::ApiError;
use super::attempt_error::AttemptError;
use super::dialect::{Cache, Dialect, Echo, ReasoningField};
use super::fields::Fields;
use super::model_facts::ModelFacts;
use super::wire::Wire;

/// What was learnt of one model at one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learnt {
    /// Host and port.
    pub host: String,
    /// The model's name.
    pub model: String,
    /// The quirks, in order, as words. One that another version of this program wrote may be unknown: it is learnt anew.
    #[serde(rename = "lessons")]
    pub quirks: Vec<String>,
}

impl Learnt {
    /// The quirks that this version knows.
    pub(crate) fn quirks(&self) -> Vec<Quirk> {
        self.quirks.iter().filter_map(|quirk| quirk.parse().ok()).collect()
    }
}

/// One thing in which an endpoint, or a model there, is not as the table says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quirk {
    /// The model is served on another wire.
    Wire(Wire),
    /// It does not stream.
    Whole,
    /// This field is refused.
    Omit(String),
    /// Reasoning must go back, in this field,
    Echo(ReasoningField),
    /// and cannot be the empty text.
    Blank,
    /// Reasoning must not go back.
    NoEcho,
    /// `extra_content` and `reasoning_details` must not go back.
    NoNative,
    /// Calls need signatures.
    Signatures,
    /// Cache marks are refused.
    NoMarks,
    /// No more tokens than this can be asked for.
    OutputLimit(u64),
    /// Thinking is adaptive.
    Adaptive,
    /// Thinking needs a budget.
    Budget,
    /// Thinking that stands behind a changed prefix cannot be sent, nor the wish to have it dropped.
    Bound,
    /// The system message is no developer's.
    SystemRole,
}

/// Fields that are left out when a refusal names them, and they were sent.
const OPTIONAL: &[&str] = &[
    "temperature",
    "reasoning.summary",
    "reasoning.effort",
    "reasoning_effort",
    "reasoning_split",
    "reasoning",
    "response_format",
    "text.format",
    "tool_choice",
    "tool_stream",
    "prompt_cache_key",
    "stream_options",
    "enable_thinking",
    "thinking.clear_thinking",
    "thinking.block_binding",
    "thinking.display",
    "thinking",
    "output_config",
    "include",
    "store",
];

/// Of these, the ones that are words of plain English, too: they must stand in quotes, or at the beginning.
const WORDS: [&str; 4] = ["thinking", "reasoning", "include", "store"];

/// Words for what goes back verbatim, where an endpoint does not take it.
const NATIVE: [&str; 9] = [
    "extra_content",
    "reasoning_details",
    "encrypted_content",
    "encrypted content",
    "corrupted thought signature",
    "invalid `signature` in `thinking` block",
    "required following item",
    "required 'reasoning' item",
    "must start with a thinking block",
];

/// What gateways call a field of another wire.
const RENAMED: [(&str, &str); 2] = [("reasoning_effort", "reasoning"), ("reasoning_effort", "output_config")];

/// What a refusal says of a field that the endpoint does not know.
const UNKNOWN: &[&str] = &[
    "unsupported",
    "not support",
    "unknown",
    "unrecognized",
    "not permitted",
    "not allowed",
    "unexpected",
    "extra",
];

/// Where things stand when a refusal comes.
pub(crate) struct RefusedRequest<'a> {
    /// The wire that was spoken, and whether a setting says that it must be.
    pub(crate) wire: Wire,
    pub(crate) wire_is_set: bool,
    pub(crate) dialect: &'a Dialect,
    pub(crate) model: &'a ModelFacts,
    /// Whether a stream was asked for.
    pub(crate) streamed: bool,
    /// What was sent.
    pub(in crate::provider) fields: &'a Fields,
}

impl RefusedRequest<'_> {
    /// What the error teaches, if anything.
    pub(crate) fn quirk(&self, error: &AttemptError) -> Option<Quirk> {
        let AttemptError::Status { status, api_error, .. } = error else { return None };
        if error.is_too_long() || api_error.is_about_money() {
            return None;
        }
        let lower = api_error.message.to_lowercase();
        match status {
            404 | 405 => self.other_wire(&lower).or_else(|| self.no_such_path(api_error)),
            400 | 422 => self
                .other_wire(&lower)
                .or_else(|| self.about_messages(&lower))
                .or_else(|| self.about_thinking(api_error, &lower))
                .or_else(|| self.about_fields(api_error, &lower)),
            _ => None,
        }
    }

    fn other_wire(&self, lower: &str) -> Option<Quirk> {
        let named = |path: &str| lower.contains(&format!("v1{path}"));
        let others =
            [Wire::Responses, Wire::Messages, Wire::Chat].into_iter().filter(|wire| *wire != self.wire);
        others.into_iter().find(|wire| !self.wire_is_set && named(wire.path())).map(Quirk::Wire)
    }

    /// The wire of the table is not there: a gateway that knows chat alone. A model that is not there is another matter.
    fn no_such_path(&self, api_error: &ApiError) -> Option<Quirk> {
        let is_about_model = api_error.message.to_lowercase().contains("model")
            || api_error.code.as_deref().is_some_and(|code| code.contains("model"));
        (self.wire == Wire::Responses && !self.wire_is_set && !is_about_model)
            .then_some(Quirk::Wire(Wire::Chat))
    }

    /// What goes back of earlier turns.
    fn about_messages(&self, lower: &str) -> Option<Quirk> {
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let refuses = has(UNKNOWN);
        match () {
            () if has(&["thought_signature", "thoughtsignature"]) && !self.dialect.signatures => {
                Some(Quirk::Signatures)
            }
            () if has(&["cache_control"]) && self.dialect.cache == Cache::Marks => Some(Quirk::NoMarks),
            () if has(&NATIVE) && self.dialect.echoes_native => Some(Quirk::NoNative),
            () if has(&["reasoning_content", "`reasoning`", "'reasoning'", "thinking_blocks"])
                && self.wire == Wire::Chat =>
            {
                match (self.dialect.echo, refuses) {
                    (Echo::Never, false) => {
                        Some(Quirk::Echo(match has(&["reasoning_content", "thinking_blocks"]) {
                            true => ReasoningField::ReasoningContent,
                            false => ReasoningField::Reasoning,
                        }))
                    }
                    (Echo::Never, true) => None,
                    (_, true) => Some(Quirk::NoEcho),
                    (_, false) => self.dialect.blank.is_empty().then_some(Quirk::Blank),
                }
            }
            () if has(&["developer"]) && self.wire == Wire::Responses && self.dialect.developer_role => {
                Some(Quirk::SystemRole)
            }
            () => None,
        }
    }

    /// What Messages says of thinking and of how much may be answered.
    fn about_thinking(&self, api_error: &ApiError, lower: &str) -> Option<Quirk> {
        if self.wire != Wire::Messages {
            return None;
        }
        let has = |word: &str| lower.contains(word);
        let refused = lower.split("not supported").next().unwrap_or_default();
        let binding = has("block_binding") || (has("prefix") && (has("thinking") || has("signature")));
        match () {
            () if binding && self.dialect.drops_unbound => Some(Quirk::Bound),
            () if binding && !self.model.binds_prefix => Some(Quirk::Bound),
            () if refused.contains("adaptive") && self.model.adaptive_thinking => Some(Quirk::Budget),
            () if has("adaptive") && !self.model.adaptive_thinking => Some(Quirk::Adaptive),
            () if has("max_tokens") => {
                let sent = self.fields.number("max_tokens")?;
                output_limit(&api_error.message, sent).map(Quirk::OutputLimit)
            }
            () => None,
        }
    }

    fn about_fields(&self, api_error: &ApiError, lower: &str) -> Option<Quirk> {
        let param = api_error.param.as_deref().unwrap_or_default();
        if NATIVE.iter().any(|words| lower.contains(words)) {
            return None;
        }
        let in_quotes =
            |field: &str| ['\'', '"', '`'].iter().any(|quote| lower.contains(&format!("{quote}{field}")));
        let is_word = |field: &str| !WORDS.contains(&field) || in_quotes(field) || lower.starts_with(field);
        let named = |field: &&&str| param == **field || (names(lower, field) && is_word(field));
        let field = OPTIONAL.iter().find(|field| named(field) && self.fields.has(field));
        // Gateways name a field as chat completions do, whatever was sent.
        let renamed = RENAMED.iter().find(|(named, sent)| names(lower, named) && self.fields.has(sent));
        let field = field.or(renamed.map(|(_, sent)| sent));
        // `stream_options` holds the word, too: streaming comes behind the fields.
        let streaming = || (self.streamed && api_error.is_about_streaming()).then_some(Quirk::Whole);
        field.map(|field| Quirk::Omit((**field).to_owned())).or_else(streaming)
    }
}

/// Whether the text names the field as a word of its own.
fn names(text: &str, field: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(field)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + field.len()..].starts_with(goes_on))
}

/// The limit in a text such as `max_tokens: 64001 > 64000, which is the maximum`: beside what was sent, and less.
fn output_limit(text: &str, sent: u64) -> Option<u64> {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.collect();
    let limits = numbers.iter().copied().filter(|number| (1024..sent).contains(number));
    limits.max().filter(|_| numbers.contains(&sent))
}

impl Quirk {
    /// Applies it.
    pub(crate) fn apply(&self, dialect: &mut Dialect, model: &mut ModelFacts) {
        match self {
            Quirk::Wire(wire) => *dialect = dialect.clone().on(*wire),
            Quirk::Echo(field) => (dialect.echo, dialect.reasoning_field) = (Echo::Always, *field),
            Quirk::Blank => dialect.blank = " ",
            Quirk::NoEcho => dialect.echo = Echo::Never,
            Quirk::NoNative => dialect.echoes_native = false,
            Quirk::Signatures => dialect.signatures = true,
            Quirk::NoMarks => dialect.cache = Cache::None,
            Quirk::OutputLimit(limit) => model.output_limit = Some(*limit),
            Quirk::Adaptive => model.adaptive_thinking = true,
            Quirk::Budget => model.adaptive_thinking = false,
            Quirk::Bound => (dialect.drops_unbound, model.binds_prefix) = (false, true),
            Quirk::SystemRole => dialect.developer_role = false,
            // These are no part of a dialect: the provider keeps them.
            Quirk::Whole | Quirk::Omit(_) => {}
        }
    }

    /// What it means, for people.
    pub(crate) fn meaning(&self) -> String {
        match self {
            Quirk::Wire(wire) => format!("the model is asked on the {wire} wire from here on"),
            Quirk::Whole => "replies are not streamed from here on".to_owned(),
            Quirk::Omit(field) => format!("`{field}` is left out from here on"),
            Quirk::Echo(_) | Quirk::Blank => "reasoning is sent back from here on".to_owned(),
            Quirk::NoEcho | Quirk::NoNative => "reasoning is not sent back from here on".to_owned(),
            Quirk::Signatures => "calls are sent back with their signatures from here on".to_owned(),
            Quirk::NoMarks => "the prompt is sent without cache marks from here on".to_owned(),
            Quirk::OutputLimit(limit) => format!("no more than {limit} tokens are asked for from here on"),
            Quirk::Adaptive => "thinking is adaptive from here on".to_owned(),
            Quirk::Budget => "thinking has a budget of tokens from here on".to_owned(),
            Quirk::Bound => "thinking behind a changed prefix is left out from here on".to_owned(),
            Quirk::SystemRole => "the system message has the role `system` from here on".to_owned(),
        }
    }
}

impl fmt::Display for Quirk {
    /// As the journal and the record keep it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quirk::Wire(wire) => write!(f, "wire={wire}"),
            Quirk::Whole => f.write_str("whole"),
            Quirk::Omit(field) => write!(f, "omit={field}"),
            Quirk::Echo(field) => write!(f, "echo={}", field.as_str()),
            Quirk::Blank => f.write_str("blank"),
            Quirk::NoEcho => f.write_str("no-echo"),
            Quirk::NoNative => f.write_str("no-native"),
            Quirk::Signatures => f.write_str("signatures"),
            Quirk::NoMarks => f.write_str("no-marks"),
            Quirk::OutputLimit(limit) => write!(f, "output-limit={limit}"),
            Quirk::Adaptive => f.write_str("adaptive"),
            Quirk::Budget => f.write_str("budget"),
            Quirk::Bound => f.write_str("bound"),
            Quirk::SystemRole => f.write_str("system-role"),
        }
    }
}

impl FromStr for Quirk {
    type Err = ();

    fn from_str(text: &str) -> Result<Quirk, ()> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(match name {
            "wire" => Quirk::Wire(value.parse()?),
            "whole" => Quirk::Whole,
            "omit" if OPTIONAL.contains(&value) => Quirk::Omit(value.to_owned()),
            "echo" => Quirk::Echo(ReasoningField::named(value).ok_or(())?),
            "blank" => Quirk::Blank,
            "no-echo" => Quirk::NoEcho,
            "no-native" => Quirk::NoNative,
            "signatures" => Quirk::Signatures,
            "no-marks" => Quirk::NoMarks,
            "output-limit" => Quirk::OutputLimit(value.parse().map_err(|_| ())?),
            "adaptive" => Quirk::Adaptive,
            "budget" => Quirk::Budget,
            "bound" => Quirk::Bound,
            "system-role" => Quirk::SystemRole,
            _ => return Err(()),
        })
    }
}

#[cfg(test)]
#[path = "quirks_tests.rs"]
mod tests;
