//! What an endpoint wants to see or not to see, as data: by a table of hosts and models.
//!
//! What the table does not know is learnt from refusals (`quirks`); what it knows wastes no request. A setting wins over
//! both.

mod table;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::table::{GENERIC, MESSAGES, ROWS};
use super::call_ids::CallIds;
use super::wire::Wire;

/// How to talk to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// What settings call it.
    pub name: &'static str,
    /// The wire that is spoken unless a setting or a refusal says otherwise.
    pub wire: Wire,
    /// How the key is sent.
    pub key: KeyHeader,
    /// Which of the model's reasoning goes back to it, on the chat wire.
    pub echo: Echo,
    /// The field it goes back in, unless it came in another.
    pub reasoning_field: ReasoningField,
    /// What stands in the place of reasoning that must be there and is not.
    pub blank: &'static str,
    /// What it takes for the id of a call.
    pub call_ids: CallIds,
    /// How the endpoint's prompt cache is used.
    pub cache: Cache,
    /// The header that keeps a run on one server, so that its cache is found again.
    pub session_header: Option<Cow<'static, str>>,
    /// How the effort is said, on the chat wire.
    pub effort: Effort,
    /// Whether each step's first call needs a signature, or the dummy that stands for one.
    pub signatures: bool,
    /// Whether `extra_content` and `reasoning_details` go back.
    pub echoes_native: bool,
    /// Whether the model must speak between the results of its calls and our side's next words.
    pub answers_results: bool,
    /// Whether usage tells what a completion cost.
    pub tells_cost: bool,
    /// Whether a refusal without words means that the conversation is too long.
    pub overflows_silently: bool,
    /// Whether thinking that stands behind a changed prefix is dropped by the endpoint itself, if it is asked to.
    pub drops_unbound: bool,
    /// Whether the system message is told as the developer's, on the responses wire.
    pub developer_role: bool,
    /// Fields that every request has, as a JSON object; null is one that none has.
    pub fields: &'static str,
}

/// The header that carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization: Bearer …`.
    Bearer,
    /// `x-api-key`.
    XApiKey,
    /// `api-key`.
    ApiKey,
    /// `authorization` and `x-api-key`: servers that imitate another's format take one or the other.
    Both,
}

/// Which of the model's reasoning goes back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Echo {
    /// None.
    Never,
    /// On turns with tool calls, empty where nothing was thought.
    WithToolCalls,
    /// On all turns, empty where nothing was thought.
    Always,
}

/// The field of a chat message that holds reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningField {
    /// `reasoning_content`.
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
    /// A part of the content: `{"type": "thinking"}`.
    ContentPart,
}

impl ReasoningField {
    /// The word that settings and quirks use.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ReasoningField::ReasoningContent => "reasoning_content",
            ReasoningField::Reasoning => "reasoning",
            ReasoningField::ContentPart => "content_part",
        }
    }

    /// The field of that name.
    pub(crate) fn named(name: &str) -> Option<ReasoningField> {
        let all = [ReasoningField::ReasoningContent, ReasoningField::Reasoning, ReasoningField::ContentPart];
        all.into_iter().find(|field| field.as_str() == name)
    }
}

/// How the endpoint's prompt cache is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cache {
    /// It caches by itself, or not at all.
    None,
    /// `prompt_cache_key`.
    Key,
    /// `cache_control` marks.
    Marks,
}

/// How the effort is said on the chat wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// `reasoning_effort: low`.
    Plain,
    /// `reasoning: {effort: low}`.
    Reasoning,
    /// `reasoning_effort: low`; no reasoning is `thinking: {type: disabled}`.
    Thinking,
    /// `enable_thinking`: reasoning or none.
    EnableThinking,
}

impl Dialect {
    /// The dialect of an endpoint: by its host and the model's name, else by the path of its base URL.
    pub(crate) fn of(host: &str, path: &str, model: &str) -> Dialect {
        let path = path.trim_end_matches('/').trim_end_matches("/v1");
        let found = ROWS.iter().find(|row| row.fits(host, model)).map(|row| row.dialect.clone());
        match found {
            // Azure's older URLs name a deployment and know chat alone.
            Some(dialect) if path.contains("/deployments/") => dialect.on(Wire::Chat),
            found if path.ends_with("/anthropic") => match found {
                Some(dialect) if dialect.wire == Wire::Messages => dialect,
                _ => MESSAGES,
            },
            found => found.unwrap_or(GENERIC),
        }
    }

    /// The same on another wire: what belongs to a wire is that wire's.
    pub(crate) fn on(self, wire: Wire) -> Dialect {
        let was_messages = self.wire == Wire::Messages;
        match wire {
            _ if wire == self.wire => self,
            Wire::Messages => Dialect {
                wire,
                key: if self.key == KeyHeader::Bearer { MESSAGES.key } else { self.key },
                cache: MESSAGES.cache,
                call_ids: MESSAGES.call_ids,
                ..self
            },
            _ if was_messages => {
                Dialect { wire, key: GENERIC.key, cache: GENERIC.cache, call_ids: GENERIC.call_ids, ..self }
            }
            _ => Dialect { wire, ..self },
        }
    }

    /// The dialect that settings call so.
    pub(crate) fn named(name: &str) -> Option<Dialect> {
        ROWS.iter().map(|row| &row.dialect).find(|dialect| dialect.name == name).cloned()
    }

    /// The names there are.
    pub(crate) fn names() -> Vec<&'static str> {
        ROWS.iter().map(|row| row.dialect.name).collect()
    }
}

/// What a setting changes about a dialect: `dialect: deepseek`, or `dialect: {like: generic, echo: always}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct DialectSettings {
    /// The dialect to begin with; else that of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// Which reasoning goes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo: Option<Echo>,
    /// How the prompt cache is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// The header that keeps a run on one server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_header: Option<String>,
}

impl DialectSettings {
    /// A dialect by its name.
    pub(crate) fn like(name: &str) -> DialectSettings {
        DialectSettings { like: Some(name.to_owned()), ..DialectSettings::default() }
    }

    /// The dialect that is set; `of_host` where none is named. A name that is none is checked where it is read.
    pub(crate) fn over(&self, of_host: Dialect) -> Dialect {
        let like = self.like.as_deref().and_then(Dialect::named).unwrap_or(of_host);
        Dialect {
            echo: self.echo.unwrap_or(like.echo),
            cache: self.cache.unwrap_or(like.cache),
            session_header: self.session_header.clone().map(Cow::Owned).or(like.session_header),
            ..like
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_model_have_a_dialect() {
        for (host, path, model, name, wire) in [
            ("api.openai.com", "/v1", "gpt-6-sol", "openai", Wire::Responses),
            ("r.openai.azure.com", "/openai/v1", "gpt-6", "azure", Wire::Responses),
            ("r.openai.azure.com", "/openai/deployments/d", "gpt-6", "azure", Wire::Chat),
            ("api.x.ai", "/v1", "grok-4", "xai", Wire::Responses),
            ("api.anthropic.com", "/v1", "claude-opus-5-5", "anthropic", Wire::Messages),
            ("api.minimax.io", "/anthropic", "MiniMax-M3", "messages", Wire::Messages),
            ("api.minimax.io", "/v1", "MiniMax-M3", "minimax", Wire::Chat),
            ("api.deepseek.com", "/anthropic/v1/", "deepseek-flash", "messages", Wire::Messages),
            ("api.deepseek.com", "/v1", "deepseek-flash", "deepseek", Wire::Chat),
            ("us-central1-aiplatform.googleapis.com", "/v1", "google/gemini-3", "google", Wire::Chat),
            ("openrouter.ai", "/api/v1", "anthropic/claude-opus-5.5", "openrouter-marks", Wire::Chat),
            ("openrouter.ai", "/api/v1", "openai/gpt-6", "openrouter", Wire::Chat),
            ("eu.api.openai.com", "/v1", "gpt-6", "openai", Wire::Responses),
            ("myapi.openai.com", "/v1", "gpt-6", "generic", Wire::Chat),
            ("dashscope-intl.aliyuncs.com", "/compatible-mode/v1", "qwen3-max", "qwen", Wire::Chat),
            ("openai.azure.com.example.org", "/v1", "m", "generic", Wire::Chat),
            ("127.0.0.1", "/v1", "m", "generic", Wire::Chat),
        ] {
            let dialect = Dialect::of(host, path, model);
            assert_eq!((dialect.name, dialect.wire), (name, wire), "{host}{path} {model}");
        }
    }

    #[test]
    fn what_belongs_to_a_wire_goes_with_it() {
        let there = GENERIC.on(Wire::Messages);
        assert_eq!((there.key, there.cache, there.call_ids), (KeyHeader::Both, Cache::Marks, CallIds::Words));
        let back = Dialect::named("anthropic").unwrap().on(Wire::Chat);
        assert_eq!((back.key, back.cache, back.call_ids), (KeyHeader::Bearer, Cache::None, CallIds::Any));
        let openai = Dialect::named("openai").unwrap();
        assert_eq!(openai.clone().on(Wire::Chat).cache, openai.cache);
    }

    #[test]
    fn a_setting_wins_over_the_host() {
        let settings = DialectSettings {
            echo: Some(Echo::WithToolCalls),
            session_header: Some("x-mine".into()),
            ..DialectSettings::like("deepseek")
        };
        let dialect = settings.over(GENERIC);
        assert_eq!((dialect.name, dialect.echo), ("deepseek", Echo::WithToolCalls));
        assert_eq!(dialect.session_header.as_deref(), Some("x-mine"));
        assert_eq!(DialectSettings::default().over(MESSAGES), MESSAGES);
        assert_eq!(Dialect::named("klingon"), None);
    }

    #[test]
    fn names_are_unique_and_fields_are_objects() {
        let mut names = Dialect::names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            let fields =
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(row.dialect.fields);
            assert!(fields.is_ok(), "{}", row.dialect.name);
        }
    }
}
