//! What is known of models without asking anybody: windows, prices, what they can be asked for.
//!
//! A table cut out of published data (see `catalogue/update.py` for how, and for how to refresh it), with a date: prices
//! change, so whoever shows one shows [`date`] beside it, and settings and what an endpoint says of itself win. The table
//! is text in the binary, read line by line when somebody asks; nothing happens at the start. No step depends on it: the
//! command lines and the agent look things up here. That a model is not here says nothing against it.

mod hosts;
mod row;

use serde::{Deserialize, Serialize};

pub use self::hosts::provider_of;

/// A line `date`, then for every provider a line with its name and one line a model, the newest first. Makers come
/// before those who serve what others have made.
const TABLE: &str = include_str!("catalogue/models.tsv");

/// A model as one provider serves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogueModel {
    /// Who serves it: `openai`, `openrouter`, …
    pub provider: &'static str,
    /// What it is called there.
    pub id: &'static str,
    /// The context window in tokens: prompt and answer together.
    pub window: u64,
    /// The most tokens of a prompt, where that is less than the window.
    pub input: Option<u64>,
    /// The most tokens of an answer, reasoning included; it may be the whole window.
    pub output: u64,
    /// What it costs; `None` where nobody says.
    pub prices: Option<Prices>,
    /// How much it can be told to reason, least first; `none` where it can be told not to, however that is said on its
    /// wire. Empty for a model that takes no such word.
    pub efforts: Vec<&'static str>,
    /// Whether it reasons before it answers.
    pub reasoning: bool,
    /// Whether it takes a temperature without being told not to reason.
    pub temperature: bool,
    /// The API it is best asked over: `chat`, `responses` or `messages`.
    pub wire: Option<&'static str>,
    /// Whether it decides itself how long it thinks (`thinking: {type: adaptive}` on the wire `messages`).
    pub adaptive_thinking: bool,
    /// Whether it takes a budget of thinking tokens.
    pub thinking_budget: bool,
    /// The field of its answers that must come back with them, such as `reasoning_content`.
    pub echo: Option<&'static str>,
    /// Whether its provider will end it.
    pub deprecated: bool,
}

/// What tokens of a model cost, in USD per million.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prices {
    /// Prompt tokens.
    pub input: f64,
    /// Answer tokens, reasoning included.
    pub output: f64,
    /// Prompt tokens that came from a cache; as `input` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Prompt tokens that were written to a cache; as `input` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// What long prompts cost, the shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
}

/// What all tokens of a request cost whose prompt has more than so many, in USD per million.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// For prompts of more tokens than this.
    pub above: u64,
    /// Prompt tokens.
    pub input: f64,
    /// Answer tokens, reasoning included.
    pub output: f64,
    /// Prompt tokens that came from a cache; as `input` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Prompt tokens that were written to a cache; as `input` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// The day the prices are of, such as `2026-10-30`.
pub fn date() -> &'static str {
    let first = TABLE.lines().next().unwrap_or_default();
    first.strip_prefix("date\t").unwrap_or_default()
}

/// That model of that provider; a dated name (`gpt-5-2026-01-31`, `claude-opus-5-20260131`) that is not here itself is
/// the model it is a version of.
pub fn find(provider: &str, id: &str) -> Option<CatalogueModel> {
    let exact = |id: &str| rows().find(|row| row.provider == provider && row.id() == id)?.model();
    exact(id).or_else(|| exact(undated(id)?))
}

/// A model of that name, whoever serves it: the entry of its maker where there is one, also for a gateway's
/// `maker/model`. Good for what the model can do; it costs what its provider says, not what is said here.
pub fn find_any(id: &str) -> Option<CatalogueModel> {
    let named = |id: &str| {
        let bare = id.rsplit('/').next().unwrap_or(id);
        rows().find(|row| row.id() == id || row.id() == bare)?.model()
    };
    named(id).or_else(|| named(undated(id)?))
}

/// Every model, by provider, the newest of each first.
pub fn models() -> impl Iterator<Item = CatalogueModel> {
    rows().filter_map(row::CatalogueRow::model)
}

/// Every model of one provider, the newest first.
pub fn models_of(provider: &str) -> impl Iterator<Item = CatalogueModel> {
    rows().filter(move |row| row.provider == provider).filter_map(row::CatalogueRow::model)
}

fn rows() -> impl Iterator<Item = row::CatalogueRow> {
    let mut provider = "";
    let row = move |line: &'static str| match line.strip_prefix("provider\t") {
        Some(name) => {
            provider = name;
            None
        }
        None => Some(row::CatalogueRow { provider, line }),
    };
    TABLE.lines().skip(1).filter_map(row)
}

/// The name without its date at the end; `None` if it has none.
fn undated(id: &str) -> Option<&str> {
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let (head, last) = id.rsplit_once('-')?;
    if digits(last, 8) {
        return Some(head);
    }
    let (head, month) = head.rsplit_once('-')?;
    let (head, year) = head.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(head)
}

#[cfg(test)]
mod tests;
