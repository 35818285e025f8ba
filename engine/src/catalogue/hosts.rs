//! Whose host it is.

/// Hosts and all below them, with the provider whose models and prices are to be found there. Hosts of the same makers
/// that charge otherwise (in another currency, say) are left out.
const HOSTS: [(&str, &str); 21] = [
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "google"),
    ("api.deepseek.com", "deepseek"),
    ("api.moonshot.ai", "moonshot"),
    ("api.z.ai", "zai"),
    ("api.minimax.io", "minimax"),
    ("dashscope.aliyuncs.com", "qwen"),
    ("dashscope-intl.aliyuncs.com", "qwen"),
    ("dashscope-us.aliyuncs.com", "qwen"),
    ("api.x.ai", "xai"),
    ("api.mistral.ai", "mistral"),
    ("openai.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("openrouter.ai", "openrouter"),
    ("api.groq.com", "groq"),
    ("api.cerebras.ai", "cerebras"),
    ("api.fireworks.ai", "fireworks"),
    ("api.together.ai", "together"),
    ("api.together.xyz", "together"),
];

/// The provider in the catalogue that a host belongs to: `api.openai.com` is `openai`'s, `mine.openai.azure.com` is
/// `azure`'s. The host alone, without a port.
pub fn provider_of(host: &str) -> Option<&'static str> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_at = |suffix: &str| {
        host.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    HOSTS.iter().find(|(suffix, _)| is_at(suffix)).map(|(_, provider)| *provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_what_is_below_it_belong_to_its_provider() {
        for (host, provider) in [
            ("api.openai.com", Some("openai")),
            ("eu.API.openai.com.", Some("openai")),
            ("mine.openai.azure.com", Some("azure")),
            ("generativelanguage.googleapis.com", Some("google")),
            ("dashscope-intl.aliyuncs.com", Some("qwen")),
            ("openrouter.ai", Some("openrouter")),
            ("notopenrouter.ai", None),
            ("api.openai.com.example", None),
            ("127.0.0.1", None),
            ("", None),
        ] {
            assert_eq!(provider_of(host), provider, "{host}");
        }
    }

    #[test]
    fn every_provider_of_a_host_is_in_the_catalogue() {
        for (host, provider) in HOSTS {
            assert!(crate::catalogue::models_of(provider).next().is_some(), "{host}: {provider}");
        }
    }
}
