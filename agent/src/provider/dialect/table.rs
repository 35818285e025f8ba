//! The table: which vendor speaks which dialect.
//!
//! Each row is a fact about a vendor, found in its documentation or measured by a maintained client.

use std::borrow::Cow;

use super::{Cache, Dialect, Echo, Effort, KeyHeader, ReasoningField};
use crate::provider::call_ids::CallIds;
use crate::provider::wire::Wire;

/// A dialect, and where it is spoken.
pub(super) struct DialectRow {
    /// Hosts, with what is below them; with a leading `.` or `-` what they end in.
    hosts: &'static [&'static str],
    /// What the model's name begins with; empty is any.
    models: &'static [&'static str],
    pub(super) dialect: Dialect,
}

/// What an endpoint of which nothing is known is taken for.
pub(super) const GENERIC: Dialect = Dialect {
    name: "generic",
    wire: Wire::Chat,
    key: KeyHeader::Bearer,
    echo: Echo::Never,
    reasoning_field: ReasoningField::ReasoningContent,
    blank: "",
    call_ids: CallIds::Any,
    cache: Cache::None,
    session_header: None,
    effort: Effort::Plain,
    signatures: false,
    echoes_native: true,
    answers_results: false,
    tells_cost: false,
    overflows_silently: false,
    drops_unbound: false,
    developer_role: true,
    fields: "{}",
};

/// Any server that speaks Anthropic's wire.
pub(super) const MESSAGES: Dialect = Dialect {
    name: "messages",
    wire: Wire::Messages,
    key: KeyHeader::Both,
    cache: Cache::Marks,
    call_ids: CallIds::Words,
    ..GENERIC
};

const OPENROUTER: Dialect = Dialect {
    name: "openrouter",
    session_header: Some(Cow::Borrowed("x-session-id")),
    effort: Effort::Reasoning,
    tells_cost: true,
    ..GENERIC
};

/// The first row that fits counts.
pub(super) const ROWS: &[DialectRow] = &[
    row(
        &["api.openai.com"],
        &[],
        Dialect { name: "openai", wire: Wire::Responses, cache: Cache::Key, ..GENERIC },
    ),
    row(
        &[".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"],
        &[],
        Dialect {
            name: "azure",
            wire: Wire::Responses,
            key: KeyHeader::ApiKey,
            cache: Cache::Key,
            ..GENERIC
        },
    ),
    row(&["api.x.ai"], &[], Dialect { name: "xai", wire: Wire::Responses, tells_cost: true, ..GENERIC }),
    row(
        &["api.anthropic.com"],
        &[],
        Dialect { name: "anthropic", key: KeyHeader::XApiKey, drops_unbound: true, ..MESSAGES },
    ),
    row(
        &["generativelanguage.googleapis.com", "-aiplatform.googleapis.com", "aiplatform.googleapis.com"],
        &[],
        Dialect { name: "google", signatures: true, ..GENERIC },
    ),
    row(
        &["openrouter.ai"],
        &["anthropic/", "qwen/"],
        Dialect { name: "openrouter-marks", cache: Cache::Marks, ..OPENROUTER },
    ),
    row(&["openrouter.ai"], &[], OPENROUTER),
    row(
        &["api.deepseek.com"],
        &[],
        Dialect { name: "deepseek", echo: Echo::Always, effort: Effort::Thinking, ..GENERIC },
    ),
    row(
        &["api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"],
        &[],
        Dialect { name: "moonshot", echo: Echo::Always, effort: Effort::Thinking, ..GENERIC },
    ),
    row(
        &["api.z.ai", "open.bigmodel.cn"],
        &[],
        Dialect {
            name: "zai",
            echo: Echo::Always,
            effort: Effort::Thinking,
            fields: r#"{"thinking":{"type":"enabled","clear_thinking":false},"tool_stream":true}"#,
            ..GENERIC
        },
    ),
    row(
        &["api.minimax.io", "api.minimaxi.com"],
        &[],
        Dialect { name: "minimax", fields: r#"{"reasoning_split":true}"#, ..GENERIC },
    ),
    row(
        &[
            ".dashscope.aliyuncs.com",
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "dashscope-us.aliyuncs.com",
        ],
        &["qwen", "qwq"],
        Dialect { name: "qwen", cache: Cache::Marks, effort: Effort::EnableThinking, ..GENERIC },
    ),
    row(
        &["api.mistral.ai"],
        &[],
        Dialect {
            name: "mistral",
            call_ids: CallIds::Nine,
            cache: Cache::Key,
            answers_results: true,
            fields: r#"{"stream_options":null}"#,
            ..GENERIC
        },
    ),
    row(&["api.groq.com"], &[], Dialect { name: "groq", echoes_native: false, ..GENERIC }),
    row(
        &["api.cerebras.ai"],
        &[],
        Dialect { name: "cerebras", echoes_native: false, overflows_silently: true, ..GENERIC },
    ),
    row(
        &["api.fireworks.ai"],
        &[],
        Dialect { name: "fireworks", session_header: Some(Cow::Borrowed("x-session-affinity")), ..GENERIC },
    ),
    row(&[], &[], MESSAGES),
    row(&[], &[], GENERIC),
];

const fn row(
    hosts: &'static [&'static str],
    models: &'static [&'static str],
    dialect: Dialect,
) -> DialectRow {
    DialectRow { hosts, models, dialect }
}

impl DialectRow {
    /// Whether the dialect is spoken by this host for this model.
    pub(super) fn fits(&self, host: &str, model: &str) -> bool {
        let is_host = |known: &&str| match known.starts_with(['.', '-']) {
            true => host.ends_with(*known),
            false => host == *known || host.strip_suffix(*known).is_some_and(|sub| sub.ends_with('.')),
        };
        self.hosts.iter().any(is_host)
            && (self.models.is_empty() || self.models.iter().any(|prefix| model.starts_with(prefix)))
    }
}
