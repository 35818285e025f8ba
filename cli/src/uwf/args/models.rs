//! What can be typed after `uwf models`.

use clap::Args;

/// Which models to list.
#[derive(Debug, Args)]
#[command(after_long_help = "As JSON, a list of objects:
  provider, id, deprecated
  window, input, output   tokens: in all, of a prompt (null: no less than the window), of an answer
  prices, pricesAsOf      input, output, cachedInput, cacheWrite, tiers; null where nobody says
  efforts, reasoning, adaptiveThinking, thinkingBudget, temperature
  wire, echo              the API it is asked over and the field that must come back, or null

Examples:
  uwf models --format text
  uwf models claude
  uwf models 'openai/gpt-6*'
  uwf models 'openrouter/*' | jq -r '.[] | \"\\(.id) \\(.prices.input)\"'")]
pub(in crate::uwf) struct Models {
    /// Only those whose PROVIDER/MODEL holds this text, or is like this pattern with * and ?
    pub(in crate::uwf) pattern: Option<String>,
}
