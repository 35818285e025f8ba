//! What an endpoint's refusal teaches: what to leave out, to add, or where to ask instead.
//!
//! Apart because it is the safety net under the table of dialects: hundreds of endpoints are in no table. Each lesson is
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
    /// The lessons, in order, as words. One that another version of this program wrote may be unknown: it is learnt anew.
    pub lessons: Vec<String>,
}

impl Learnt {
    /// The lessons that this version knows.
    pub(crate) fn lessons(&self) -> Vec<Lesson> {
        self.lessons.iter().filter_map(|lesson| lesson.parse().ok()).collect()
    }
}

/// One thing that was learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lesson {
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
    pub(crate) fn lesson(&self, error: &AttemptError) -> Option<Lesson> {
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

    fn other_wire(&self, lower: &str) -> Option<Lesson> {
        let named = |path: &str| lower.contains(&format!("v1{path}"));
        let others =
            [Wire::Responses, Wire::Messages, Wire::Chat].into_iter().filter(|wire| *wire != self.wire);
        others.into_iter().find(|wire| !self.wire_is_set && named(wire.path())).map(Lesson::Wire)
    }

    /// The wire of the table is not there: a gateway that knows chat alone. A model that is not there is another matter.
    fn no_such_path(&self, api_error: &ApiError) -> Option<Lesson> {
        let is_about_model = api_error.message.to_lowercase().contains("model")
            || api_error.code.as_deref().is_some_and(|code| code.contains("model"));
        (self.wire == Wire::Responses && !self.wire_is_set && !is_about_model)
            .then_some(Lesson::Wire(Wire::Chat))
    }

    /// What goes back of earlier turns.
    fn about_messages(&self, lower: &str) -> Option<Lesson> {
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let refuses = has(UNKNOWN);
        match () {
            () if has(&["thought_signature", "thoughtsignature"]) && !self.dialect.signatures => {
                Some(Lesson::Signatures)
            }
            () if has(&["cache_control"]) && self.dialect.cache == Cache::Marks => Some(Lesson::NoMarks),
            () if has(&NATIVE) && self.dialect.echoes_native => Some(Lesson::NoNative),
            () if has(&["reasoning_content", "`reasoning`", "'reasoning'", "thinking_blocks"])
                && self.wire == Wire::Chat =>
            {
                match (self.dialect.echo, refuses) {
                    (Echo::Never, false) => {
                        Some(Lesson::Echo(match has(&["reasoning_content", "thinking_blocks"]) {
                            true => ReasoningField::ReasoningContent,
                            false => ReasoningField::Reasoning,
                        }))
                    }
                    (Echo::Never, true) => None,
                    (_, true) => Some(Lesson::NoEcho),
                    (_, false) => self.dialect.blank.is_empty().then_some(Lesson::Blank),
                }
            }
            () if has(&["developer"]) && self.wire == Wire::Responses && self.dialect.developer_role => {
                Some(Lesson::SystemRole)
            }
            () => None,
        }
    }

    /// What Messages says of thinking and of how much may be answered.
    fn about_thinking(&self, api_error: &ApiError, lower: &str) -> Option<Lesson> {
        if self.wire != Wire::Messages {
            return None;
        }
        let has = |word: &str| lower.contains(word);
        let refused = lower.split("not supported").next().unwrap_or_default();
        let binding = has("block_binding") || (has("prefix") && (has("thinking") || has("signature")));
        match () {
            () if binding && self.dialect.drops_unbound => Some(Lesson::Bound),
            () if binding && !self.model.binds_prefix => Some(Lesson::Bound),
            () if refused.contains("adaptive") && self.model.adaptive_thinking => Some(Lesson::Budget),
            () if has("adaptive") && !self.model.adaptive_thinking => Some(Lesson::Adaptive),
            () if has("max_tokens") => {
                let sent = self.fields.number("max_tokens")?;
                output_limit(&api_error.message, sent).map(Lesson::OutputLimit)
            }
            () => None,
        }
    }

    fn about_fields(&self, api_error: &ApiError, lower: &str) -> Option<Lesson> {
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
        let streaming = || (self.streamed && api_error.is_about_streaming()).then_some(Lesson::Whole);
        field.map(|field| Lesson::Omit((**field).to_owned())).or_else(streaming)
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

impl Lesson {
    /// Applies it.
    pub(crate) fn apply(&self, dialect: &mut Dialect, model: &mut ModelFacts) {
        match self {
            Lesson::Wire(wire) => *dialect = dialect.clone().on(*wire),
            Lesson::Echo(field) => (dialect.echo, dialect.reasoning_field) = (Echo::Always, *field),
            Lesson::Blank => dialect.blank = " ",
            Lesson::NoEcho => dialect.echo = Echo::Never,
            Lesson::NoNative => dialect.echoes_native = false,
            Lesson::Signatures => dialect.signatures = true,
            Lesson::NoMarks => dialect.cache = Cache::None,
            Lesson::OutputLimit(limit) => model.output_limit = Some(*limit),
            Lesson::Adaptive => model.adaptive_thinking = true,
            Lesson::Budget => model.adaptive_thinking = false,
            Lesson::Bound => (dialect.drops_unbound, model.binds_prefix) = (false, true),
            Lesson::SystemRole => dialect.developer_role = false,
            // These are no part of a dialect: the provider keeps them.
            Lesson::Whole | Lesson::Omit(_) => {}
        }
    }

    /// What it means, for people.
    pub(crate) fn meaning(&self) -> String {
        match self {
            Lesson::Wire(wire) => format!("the model is asked on the {wire} wire from here on"),
            Lesson::Whole => "replies are not streamed from here on".to_owned(),
            Lesson::Omit(field) => format!("`{field}` is left out from here on"),
            Lesson::Echo(_) | Lesson::Blank => "reasoning is sent back from here on".to_owned(),
            Lesson::NoEcho | Lesson::NoNative => "reasoning is not sent back from here on".to_owned(),
            Lesson::Signatures => "calls are sent back with their signatures from here on".to_owned(),
            Lesson::NoMarks => "the prompt is sent without cache marks from here on".to_owned(),
            Lesson::OutputLimit(limit) => format!("no more than {limit} tokens are asked for from here on"),
            Lesson::Adaptive => "thinking is adaptive from here on".to_owned(),
            Lesson::Budget => "thinking has a budget of tokens from here on".to_owned(),
            Lesson::Bound => "thinking behind a changed prefix is left out from here on".to_owned(),
            Lesson::SystemRole => "the system message has the role `system` from here on".to_owned(),
        }
    }
}

impl fmt::Display for Lesson {
    /// As the journal and the record keep it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lesson::Wire(wire) => write!(f, "wire={wire}"),
            Lesson::Whole => f.write_str("whole"),
            Lesson::Omit(field) => write!(f, "omit={field}"),
            Lesson::Echo(field) => write!(f, "echo={}", field.as_str()),
            Lesson::Blank => f.write_str("blank"),
            Lesson::NoEcho => f.write_str("no-echo"),
            Lesson::NoNative => f.write_str("no-native"),
            Lesson::Signatures => f.write_str("signatures"),
            Lesson::NoMarks => f.write_str("no-marks"),
            Lesson::OutputLimit(limit) => write!(f, "output-limit={limit}"),
            Lesson::Adaptive => f.write_str("adaptive"),
            Lesson::Budget => f.write_str("budget"),
            Lesson::Bound => f.write_str("bound"),
            Lesson::SystemRole => f.write_str("system-role"),
        }
    }
}

impl FromStr for Lesson {
    type Err = ();

    fn from_str(text: &str) -> Result<Lesson, ()> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(match name {
            "wire" => Lesson::Wire(value.parse()?),
            "whole" => Lesson::Whole,
            "omit" if OPTIONAL.contains(&value) => Lesson::Omit(value.to_owned()),
            "echo" => Lesson::Echo(ReasoningField::named(value).ok_or(())?),
            "blank" => Lesson::Blank,
            "no-echo" => Lesson::NoEcho,
            "no-native" => Lesson::NoNative,
            "signatures" => Lesson::Signatures,
            "no-marks" => Lesson::NoMarks,
            "output-limit" => Lesson::OutputLimit(value.parse().map_err(|_| ())?),
            "adaptive" => Lesson::Adaptive,
            "budget" => Lesson::Budget,
            "bound" => Lesson::Bound,
            "system-role" => Lesson::SystemRole,
            _ => return Err(()),
        })
    }
}

#[cfg(test)]
#[path = "lessons_tests.rs"]
mod tests;
