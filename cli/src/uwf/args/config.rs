//! What can be typed after `uwf config`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum ConfigCommand {
    /// Print the whole configuration; keys and headers are masked
    #[command(after_long_help = "Examples:\n  uwf config list")]
    List {
        /// Print API keys and headers in clear
        #[arg(long)]
        show_secrets: bool,
    },
    /// Print one value; as JSON it is {"value": …}
    #[command(
        after_long_help = "Examples:\n  uwf config get defaultModel\n  uwf config get providers.openai.baseUrl"
    )]
    Get {
        /// Names joined by dots
        key: String,
        /// Print API keys and headers in clear
        #[arg(long)]
        show_secrets: bool,
    },
    /// Print where the configuration is
    #[command(
        after_long_help = "Examples:\n  uwf config path\n  cp \"$(uwf config path --format text)\" backup.yaml"
    )]
    Path,
    /// Open the configuration in an editor; it is checked before it counts
    #[command(
        long_about = "Open the configuration in an editor: $VISUAL, else $EDITOR, else vi. What is written is checked before it \
                      counts. Where it is not valid, every problem is told with its line, config.yaml stays as it was, and the \
                      text is kept beside it: the same command takes it up again.",
        after_long_help = "Examples:\n  uwf config edit\n  EDITOR=\"code --wait\" uwf config edit"
    )]
    Edit,
    /// Set one value; the file is checked before it is written
    #[command(
        after_long_help = "Examples:\n  uwf config set agents.mine.command \"$PWD/my-agent\"\n  uwf config set agents.mine.args '[--fast]'\n  uwf config set providers.openai.apiKeyEnv OPENAI_API_KEY\n  uwf config set models.large.contextWindow 64000"
    )]
    Set {
        /// Names joined by dots
        key: String,
        /// The value, as YAML
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Take one setting away, with all below it; the file is checked before it is written
    #[command(
        after_long_help = "Examples:\n  uwf config unset defaultModel\n  uwf config unset agentOverrides.flow.reviewer"
    )]
    Unset {
        /// Names joined by dots
        key: String,
    },
}
