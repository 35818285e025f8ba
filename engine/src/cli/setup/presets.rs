//! The providers that `setup` knows by name. Any other one is a name and a base URL.

/// A provider's endpoint as it is usually reached.
pub(super) struct Preset {
    /// The name it is typed and stored by.
    pub(super) name: &'static str,
    /// Its OpenAI-compatible endpoint.
    pub(super) base_url: &'static str,
    /// The variable its key is usually in; none needs no key.
    pub(super) key: Option<&'static str>,
    /// A model to offer when a person is asked.
    pub(super) model: &'static str,
}

const fn preset(
    name: &'static str,
    base_url: &'static str,
    key: Option<&'static str>,
    model: &'static str,
) -> Preset {
    Preset { name, base_url, key, model }
}

/// In the order in which they are offered.
pub(super) const PRESETS: [Preset; 6] = [
    preset("openai", "https://api.openai.com/v1", Some("OPENAI_API_KEY"), "gpt-5-mini"),
    preset("anthropic", "https://api.anthropic.com/v1", Some("ANTHROPIC_API_KEY"), "claude-sonnet-4-5"),
    preset("openrouter", "https://openrouter.ai/api/v1", Some("OPENROUTER_API_KEY"), "openai/gpt-5-mini"),
    preset("deepseek", "https://api.deepseek.com/v1", Some("DEEPSEEK_API_KEY"), "deepseek-chat"),
    preset("ollama", "http://127.0.0.1:11434/v1", None, "qwen3"),
    preset("vllm", "http://127.0.0.1:8000/v1", None, ""),
];

/// The preset of that name.
pub(super) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
