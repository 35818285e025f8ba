//! What can be typed after `uwf setup`.

use std::path::PathBuf;

use clap::Args;

/// What to connect, and who plays; on a terminal, what is missing is asked.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  uwf setup\n  uwf setup --provider openai --model gpt-6.1-terra\n  uwf setup --provider ollama --model qwen3\n  uwf setup --provider azure --base-url https://RESOURCE.openai.azure.com/openai/v1 --model mine\n  uwf setup --provider mine --base-url https://llm.example/v1 --model m --api-key-env MY_KEY\n  pass show llm | uwf setup --provider anthropic --model claude-sonnet-5-5 --api-key-file -\n  uwf setup --agent claude-code"
)]
pub(in crate::uwf) struct Setup {
    /// Who serves the model: openai, anthropic, google, openrouter, deepseek, moonshot, zai, minimax, qwen, xai, mistral,
    /// groq, azure, ollama, vllm, lmstudio, llama.cpp, or a name of your own with --base-url
    #[arg(long, value_name = "NAME")]
    pub(in crate::uwf) provider: Option<String>,
    /// The model as the provider calls it; `uwf models` lists what is known
    #[arg(long, value_name = "MODEL")]
    pub(in crate::uwf) model: Option<String>,
    /// The endpoint, up to /chat/completions, /responses or /messages [default: the provider's]
    #[arg(long, value_name = "URL")]
    pub(in crate::uwf) base_url: Option<String>,
    /// The environment variable that holds the key [default: the provider's, such as OPENAI_API_KEY]
    #[arg(long, value_name = "VAR")]
    pub(in crate::uwf) api_key_env: Option<String>,
    /// Take the key from this file, `-` is stdin, and keep it in config.yaml
    #[arg(long, value_name = "FILE", conflicts_with = "api_key_env")]
    pub(in crate::uwf) api_key_file: Option<PathBuf>,
    /// The default agent: one that the configuration knows or `uwf agents` lists, builtin, or `mine` for the program uwf-mine; alone it
    /// changes nothing else
    #[arg(long, value_name = "NAME")]
    pub(in crate::uwf) agent: Option<String>,
}
