//! The providers that `setup` knows by name. Any other one is a name and a base URL.

/// A provider's endpoint as it is usually reached.
pub(super) struct Preset {
    /// The name it is typed and stored by; the catalogue's, where it has models of it.
    pub(super) name: &'static str,
    /// Where it is asked.
    pub(super) base_url: Url,
    /// The variable its key is usually in; none needs no key.
    pub(super) key: Option<&'static str>,
    /// A model to offer when a person is asked; empty where models are what somebody has put there.
    pub(super) model: &'static str,
}

/// A base URL.
#[derive(Clone, Copy)]
pub(super) enum Url {
    /// One URL for everybody.
    Fixed(&'static str),
    /// Everybody has one of his own, such as this.
    Own(&'static str),
}

const fn hosted(
    name: &'static str,
    base_url: &'static str,
    key: &'static str,
    model: &'static str,
) -> Preset {
    Preset { name, base_url: Url::Fixed(base_url), key: Some(key), model }
}

const fn local(name: &'static str, base_url: &'static str) -> Preset {
    Preset { name, base_url: Url::Fixed(base_url), key: None, model: "" }
}

const AZURE: Preset = Preset {
    name: "azure",
    base_url: Url::Own("https://RESOURCE.openai.azure.com/openai/v1"),
    key: Some("AZURE_OPENAI_API_KEY"),
    model: "gpt-6.1-terra",
};

/// In the order in which they are offered.
pub(super) const PRESETS: [Preset; 17] = [
    hosted("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-6.1-terra"),
    hosted("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "claude-sonnet-5-5"),
    hosted(
        "google",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "gemini-3.8-flash",
    ),
    hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "anthropic/claude-sonnet-5.5"),
    hosted("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-flash"),
    hosted("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "kimi-k3.1-pro"),
    hosted("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "glm-5.3"),
    hosted("minimax", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "MiniMax-M3.1-Flash"),
    hosted(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        "qwen3.8-max",
    ),
    hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.7"),
    hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-medium-latest"),
    hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b"),
    AZURE,
    local("ollama", "http://127.0.0.1:11434/v1"),
    local("vllm", "http://127.0.0.1:8000/v1"),
    local("lmstudio", "http://127.0.0.1:1234/v1"),
    local("llama.cpp", "http://127.0.0.1:8080/v1"),
];

/// The preset of that name.
pub(super) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uwf::setup::endpoint;
    use uwf_engine::catalogue;

    #[test]
    fn every_model_that_is_offered_is_in_the_catalogue_and_stays_there() {
        for preset in &PRESETS {
            if preset.key.is_none() {
                assert_eq!(preset.model, "", "{}", preset.name);
                continue;
            }
            let model = catalogue::find(preset.name, preset.model);
            let model = model.unwrap_or_else(|| panic!("{} has no {}", preset.name, preset.model));
            assert!(!model.deprecated, "{} will end {}", preset.name, preset.model);
        }
    }

    #[test]
    fn the_catalogue_knows_the_hosts_of_those_that_need_a_key() {
        for preset in &PRESETS {
            let (Url::Fixed(url) | Url::Own(url)) = preset.base_url;
            let expected = preset.key.map(|_| preset.name);
            assert_eq!(endpoint::catalogued(url), expected, "{url}");
        }
    }
}
