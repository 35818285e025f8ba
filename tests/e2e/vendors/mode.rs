//! The vendors, as data: where they listen, what they take, and how they say it.

/// A vendor's dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// OpenAI, gpt-5.6 and later: Responses, and Chat Completions without reasoning.
    OpenAi,
    Azure,
    Xai,
    /// Claude 5.1 and later: adaptive thinking, bound to its prefix.
    AnthropicAdaptive,
    /// Claude 4.5: thinking with a budget.
    AnthropicEnabled,
    /// Claude at Bedrock: no beta fields, turns alternate strictly.
    Bedrock,
    MiniMaxMessages,
    DeepSeekMessages,
    Gemini,
    /// Claude 4.5, whose thoughts must come back within a turn.
    OpenRouterClaude,
    OpenRouterGemini,
    DeepSeek,
    Moonshot,
    Zai,
    MiniMax,
    Qwen,
    Mistral,
    Groq,
    Cerebras,
    Ollama,
    Vllm,
    /// Nothing but the oldest fields of Chat Completions.
    Generic,
}

/// Where thoughts stand in a chat message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thought {
    /// Nowhere.
    Hidden,
    /// In this field.
    Field(&'static str),
    /// In `reasoning` and `reasoning_details`, signed or encrypted.
    Details,
    /// In `content`, between tags, unless `reasoning_split` is set.
    Tags,
    /// In parts of `content`.
    Parts,
    /// In a signature on the first call, or on the message.
    Signature,
}

/// Fields that may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fields {
    Any,
    /// These, beside the ones that everybody takes.
    Only(&'static [&'static str]),
}

/// What tells one vendor of Chat Completions from another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) base: &'static str,
    pub(super) model: &'static str,
    pub(super) body: Fields,
    /// On messages of the model.
    pub(super) message: Fields,
    pub(super) thought: Thought,
    /// What call ids begin with, and how many letters follow.
    pub(super) ids: (&'static str, usize),
    /// The refusal of a prompt that is too long; `{n}` tokens, `{window}` allowed.
    pub(super) overflow: &'static str,
}

const PLAIN: Facts = Facts {
    base: "/v1",
    model: "some-model",
    body: Fields::Any,
    message: Fields::Any,
    thought: Thought::Field("reasoning_content"),
    ids: ("call_", 24),
    overflow: "This model's maximum context length is {window} tokens. However, your messages resulted in {n} tokens. Please reduce the length of the messages.",
};

const OPENAI_BODY: &[&str] = &[
    "reasoning_effort",
    "max_completion_tokens",
    "stream_options",
    "response_format",
    "parallel_tool_calls",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "metadata",
    "store",
    "seed",
    "verbosity",
    "modalities",
    "logprobs",
    "top_logprobs",
    "logit_bias",
];
const MISTRAL_BODY: &[&str] = &[
    "random_seed",
    "safe_prompt",
    "response_format",
    "parallel_tool_calls",
    "prompt_mode",
    "reasoning_effort",
    "prediction",
    "prompt_cache_key",
    "guardrails",
    "metadata",
];
const GROQ_BODY: &[&str] = &[
    "reasoning_effort",
    "reasoning_format",
    "include_reasoning",
    "max_completion_tokens",
    "stream_options",
    "response_format",
    "parallel_tool_calls",
    "seed",
    "service_tier",
    "metadata",
];
const CEREBRAS_BODY: &[&str] = &[
    "reasoning_effort",
    "reasoning_format",
    "max_completion_tokens",
    "stream_options",
    "response_format",
    "parallel_tool_calls",
    "seed",
    "service_tier",
    "clear_thinking",
];
const ANTHROPIC_TOO_LONG: &str = "prompt is too long: {n} tokens > {window} maximum";

impl Kind {
    pub(super) fn facts(self) -> Facts {
        match self {
            Kind::Gemini | Kind::OpenRouterClaude | Kind::OpenRouterGemini => self.signed(),
            Kind::OpenAi | Kind::Azure | Kind::Xai => self.responding(),
            Kind::Mistral | Kind::Groq | Kind::Cerebras | Kind::Generic => self.strict(),
            kind if kind.sends_messages() => {
                let (base, model) = match kind {
                    Kind::AnthropicAdaptive => ("/v1", "claude-opus-5-5"),
                    Kind::AnthropicEnabled => ("/v1", "claude-sonnet-4-5"),
                    Kind::MiniMaxMessages => ("/anthropic", "MiniMax-M3"),
                    Kind::DeepSeekMessages => ("/anthropic", "deepseek-flash"),
                    _ => ("/anthropic", "anthropic.claude-opus-5-5"),
                };
                Facts { base, model, overflow: ANTHROPIC_TOO_LONG, ids: ("toolu_", 24), ..PLAIN }
            }
            kind => kind.lenient(),
        }
    }

    /// Vendors that give out signatures on Chat Completions.
    fn signed(self) -> Facts {
        match self {
            Kind::Gemini => Facts {
                base: "/v1beta/openai",
                model: "gemini-3.5-pro",
                thought: Thought::Signature,
                ids: ("function-call-", 18),
                overflow: "The input token count ({n}) exceeds the maximum number of tokens allowed ({window}).",
                ..PLAIN
            },
            kind => Facts {
                base: "/api/v1",
                model: if kind == Kind::OpenRouterClaude {
                    "anthropic/claude-sonnet-4.5"
                } else {
                    "google/gemini-3.5-pro"
                },
                thought: Thought::Details,
                ids: if kind == Kind::OpenRouterClaude { ("toolu_bdrk_01", 22) } else { ("tool_", 20) },
                overflow: "This endpoint's maximum context length is {window} tokens. However, you requested about {n} tokens ({n} of text input). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.",
                ..PLAIN
            },
        }
    }

    /// Vendors of Responses.
    fn responding(self) -> Facts {
        let overflow =
            "Your input exceeds the context window of this model. Please adjust your input and try again.";
        match self {
            Kind::Xai => Facts {
                model: "grok-4.5",
                ids: ("call_", 8),
                overflow: "This model's maximum prompt length is {window} but the request contains {n} tokens.",
                ..PLAIN
            },
            kind => Facts {
                base: if kind == Kind::Azure { "/openai/v1" } else { "/v1" },
                model: "gpt-6-sol",
                body: Fields::Only(OPENAI_BODY),
                message: Fields::Only(&["refusal", "annotations", "audio"]),
                thought: Thought::Hidden,
                overflow,
                ..PLAIN
            },
        }
    }

    /// Vendors that refuse what they do not know.
    fn strict(self) -> Facts {
        match self {
            Kind::Mistral => Facts {
                model: "magistral-medium-latest",
                body: Fields::Only(MISTRAL_BODY),
                message: Fields::Only(&["prefix"]),
                thought: Thought::Parts,
                ids: ("", 9),
                overflow: "Prompt contains {n} tokens and 0 draft tokens, too large for model with {window} maximum context length",
                ..PLAIN
            },
            Kind::Groq => Facts {
                base: "/openai/v1",
                model: "openai/gpt-oss-120b",
                body: Fields::Only(GROQ_BODY),
                message: Fields::Only(&["reasoning"]),
                thought: Thought::Field("reasoning"),
                ids: ("fc_", 28),
                overflow: "Please reduce the length of the messages or completion.",
            },
            Kind::Cerebras => Facts {
                model: "gpt-oss-120b",
                body: Fields::Only(CEREBRAS_BODY),
                message: Fields::Only(&["reasoning"]),
                thought: Thought::Field("reasoning"),
                ids: ("", 9),
                overflow: "",
                ..PLAIN
            },
            _ => Facts {
                body: Fields::Only(&[]),
                message: Fields::Only(&[]),
                thought: Thought::Hidden,
                ..PLAIN
            },
        }
    }

    /// Vendors that take whatever is sent and look at some of it.
    fn lenient(self) -> Facts {
        match self {
            Kind::DeepSeek => Facts {
                model: "deepseek-flash",
                ids: ("call_00_", 24),
                overflow: "This model's maximum context length is {window} tokens. However, you requested {n} tokens ({n} in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
                ..PLAIN
            },
            Kind::Moonshot => Facts {
                model: "kimi-k3",
                ids: ("", 0),
                overflow: "Invalid request: Your request exceeded model token limit: {window} (requested: {n})",
                ..PLAIN
            },
            Kind::Zai => Facts {
                base: "/api/paas/v4",
                model: "glm-5.2",
                overflow: "Prompt exceeds max length",
                ..PLAIN
            },
            Kind::MiniMax => Facts {
                model: "MiniMax-M3",
                thought: Thought::Tags,
                ids: ("call_function_", 12),
                overflow: "invalid params, context window exceeds limit (2013)",
                ..PLAIN
            },
            Kind::Qwen => Facts {
                base: "/compatible-mode/v1",
                model: "qwen3.7-max",
                overflow: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {window}]",
                ..PLAIN
            },
            Kind::Ollama => Facts {
                model: "qwen3.5:27b",
                thought: Thought::Field("reasoning"),
                ids: ("call_", 8),
                ..PLAIN
            },
            _ => Facts { model: "Qwen/Qwen3.5-27B", ids: ("chatcmpl-tool-", 32), ..PLAIN },
        }
    }

    pub(super) fn base(self) -> &'static str {
        self.facts().base
    }

    pub(super) fn responds(self) -> bool {
        matches!(self, Kind::OpenAi | Kind::Azure | Kind::Xai)
    }

    pub(super) fn sends_messages(self) -> bool {
        self.is_anthropic() || matches!(self, Kind::Bedrock | Kind::MiniMaxMessages | Kind::DeepSeekMessages)
    }

    pub(super) fn chats(self) -> bool {
        !self.sends_messages()
    }

    pub(super) fn is_anthropic(self) -> bool {
        matches!(self, Kind::AnthropicAdaptive | Kind::AnthropicEnabled)
    }

    /// Claude behind Messages, wherever it is served: its rules of thinking and caching hold.
    pub(super) fn is_claude(self) -> bool {
        self.is_anthropic() || self == Kind::Bedrock
    }

    pub(super) fn routes(self) -> bool {
        matches!(self, Kind::OpenRouterClaude | Kind::OpenRouterGemini)
    }

    /// The headers that name a request.
    pub(super) fn request_ids(self, id: &str) -> Vec<(&'static str, String)> {
        match self {
            Kind::AnthropicAdaptive | Kind::AnthropicEnabled => vec![("request-id", format!("req_01{id}"))],
            Kind::Bedrock => vec![("x-amzn-requestid", id.to_owned())],
            Kind::Azure => vec![("x-request-id", id.to_owned()), ("apim-request-id", id.to_owned())],
            Kind::OpenAi | Kind::Groq => vec![("x-request-id", format!("req_{id}"))],
            Kind::DeepSeek | Kind::DeepSeekMessages => vec![("x-ds-trace-id", id.to_owned())],
            Kind::Mistral => vec![("mistral-correlation-id", id.to_owned())],
            Kind::Ollama | Kind::Generic | Kind::Gemini | Kind::OpenRouterClaude | Kind::OpenRouterGemini => {
                Vec::new()
            }
            _ => vec![("x-request-id", id.to_owned())],
        }
    }
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prices {
    pub(crate) input: f64,
    pub(crate) cached: f64,
    pub(crate) written: f64,
    pub(crate) written_1h: f64,
    pub(crate) output: f64,
}

impl Prices {
    /// Claude Opus 5.5.
    pub(crate) const OPUS: Prices =
        Prices { input: 4.0, cached: 0.2, written: 5.0, written_1h: 8.0, output: 20.0 };
}

/// Something that goes wrong with one completion, whatever was asked.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// This status, with these headers, in the vendor's shape.
    Status { status: u16, headers: Vec<(String, String)>, message: String, code: Option<String> },
    /// The answer ends after so many events, or in the middle of its body.
    Cut { events: usize },
    /// An error comes in the stream after so many events.
    InStream { events: usize },
}

/// A dialect with everything that can be chosen.
#[derive(Clone, Debug)]
pub(crate) struct Mode {
    pub(crate) kind: Kind,
    pub(crate) model: String,
    /// Prompts with more tokens are refused, or cut (Ollama).
    pub(crate) window: Option<u64>,
    pub(crate) max_output: u64,
    /// Prefixes with fewer tokens are not cached.
    pub(crate) cache_min: u64,
    pub(crate) prices: Prices,
    /// What happens to the first completions, one after the other.
    pub(crate) faults: Vec<Fault>,
    /// Where a thought must be sent back, an empty one is taken for none: only a space is enough (DeepSeek, Moonshot).
    pub(crate) space: bool,
    /// `tool_choice` may be `auto` alone (z.ai, some vLLM).
    pub(crate) only_auto: bool,
    /// No user message may follow a tool's (Mistral).
    pub(crate) ordered: bool,
    /// Names of fields that are taken although the dialect does not know them.
    pub(crate) also: Vec<String>,
    /// Another refusal of prompts that are too long.
    pub(crate) too_long: Option<String>,
}

impl Mode {
    pub(crate) fn new(kind: Kind) -> Mode {
        Mode {
            kind,
            model: kind.facts().model.to_owned(),
            window: None,
            max_output: 64_000,
            cache_min: 1024,
            prices: Prices::OPUS,
            faults: Vec::new(),
            space: false,
            only_auto: false,
            ordered: false,
            also: Vec::new(),
            too_long: None,
        }
    }

    pub(crate) fn window(self, tokens: u64) -> Mode {
        Mode { window: Some(tokens), ..self }
    }

    pub(crate) fn max_output(self, tokens: u64) -> Mode {
        Mode { max_output: tokens, ..self }
    }

    pub(crate) fn cache_min(self, tokens: u64) -> Mode {
        Mode { cache_min: tokens, ..self }
    }

    /// `{n}` and `{window}` stand for the numbers of tokens.
    pub(crate) fn too_long(self, words: &str) -> Mode {
        Mode { too_long: Some(words.to_owned()), ..self }
    }

    pub(crate) fn only_a_space(self) -> Mode {
        Mode { space: true, ..self }
    }

    pub(crate) fn only_auto(self) -> Mode {
        Mode { only_auto: true, ..self }
    }

    pub(crate) fn ordered(self) -> Mode {
        Mode { ordered: true, ..self }
    }

    pub(crate) fn also(mut self, field: &str) -> Mode {
        self.also.push(field.to_owned());
        self
    }

    pub(crate) fn fault(mut self, fault: Fault) -> Mode {
        self.faults.push(fault);
        self
    }

    /// The next `count` completions fail so.
    pub(crate) fn fails(self, count: usize, status: u16, headers: &[(&str, &str)], message: &str) -> Mode {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let fault = Fault::Status { status, headers, message: message.to_owned(), code: None };
        (0..count).fold(self, |mode, _| mode.fault(fault.clone()))
    }

    /// The vendor's code for the faults so far.
    pub(crate) fn coded(mut self, with: &str) -> Mode {
        for fault in &mut self.faults {
            if let Fault::Status { code, .. } = fault {
                *code = Some(with.to_owned());
            }
        }
        self
    }
}
