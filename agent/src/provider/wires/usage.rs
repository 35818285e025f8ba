//! What a completion took, in tokens and money, in the fields of several vendors.
//!
//! Apart because all wires read it, and gateways mix the vendors' words. What an endpoint says that a completion cost
//! wins over any list of prices.

use serde::Deserialize;

use super::lenient::{count, lenient, number};
use crate::provider::message::TokenUsage;
use crate::usd::Usd;

/// xAI counts in these: so many make a dollar.
const TICKS: f64 = 1e10;

/// A usage as it comes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::provider) struct WireUsage {
    #[serde(deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    prompt_tokens_details: WireUsageDetails,
    #[serde(deserialize_with = "lenient")]
    input_tokens_details: WireUsageDetails,
    #[serde(deserialize_with = "lenient")]
    completion_tokens_details: WireUsageDetails,
    #[serde(deserialize_with = "lenient")]
    output_tokens_details: WireUsageDetails,
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "number")]
    cost: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    is_byok: bool,
    #[serde(deserialize_with = "lenient")]
    cost_details: CostDetails,
    #[serde(deserialize_with = "number")]
    cost_in_usd_ticks: Option<f64>,
}

/// Which of the tokens were of a kind of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsageDetails {
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    thinking_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CostDetails {
    #[serde(deserialize_with = "number")]
    upstream_inference_cost: Option<f64>,
}

impl WireUsage {
    /// The tokens as Chat Completions counts them: what was read from the cache, or written to it, is part of the input.
    /// `None` where none are counted.
    pub(in crate::provider) fn prompt_and_completion(&self) -> Option<TokenUsage> {
        let (prompt, completion) = (self.prompt_tokens, self.completion_tokens);
        self.tokens(prompt.or(self.input_tokens), completion.or(self.output_tokens))
    }

    /// The tokens as Responses counts them: the same, in words of its own. Gateways send the others beside them, as zeros.
    pub(in crate::provider) fn input_and_output(&self) -> Option<TokenUsage> {
        let (input, output) = (self.input_tokens, self.output_tokens);
        self.tokens(input.or(self.prompt_tokens), output.or(self.completion_tokens))
    }

    fn tokens(&self, input: Option<u64>, output: Option<u64>) -> Option<TokenUsage> {
        let of_input = [&self.prompt_tokens_details, &self.input_tokens_details];
        let of_output = [&self.completion_tokens_details, &self.output_tokens_details];
        let cached = of_input.iter().find_map(|details| details.cached_tokens);
        let cached = cached.or(self.cached_tokens).or(self.prompt_cache_hit_tokens);
        let written = |of: &&WireUsageDetails| of.cache_write_tokens.or(of.cache_creation_input_tokens);
        let reasoning = |of: &&WireUsageDetails| of.reasoning_tokens.or(of.thinking_tokens);
        (input.is_some() || output.is_some()).then(|| TokenUsage {
            input_tokens: input.unwrap_or(0),
            output_tokens: output.unwrap_or(0),
            cached_tokens: cached.unwrap_or(0),
            written_tokens: of_input.iter().find_map(written).unwrap_or(0),
            reasoning_tokens: of_output.iter().find_map(reasoning).unwrap_or(0),
            cost_usd: self.cost_usd(),
        })
    }

    /// The tokens as Anthropic counts them: what was read from the cache, or written to it, is no part of the input.
    pub(in crate::provider) fn tokens_beside_cache(&self) -> Option<TokenUsage> {
        let cached_tokens = self.cache_read_input_tokens.unwrap_or(0);
        let written_tokens = self.cache_creation_input_tokens.unwrap_or(0);
        let usage = self.tokens(self.input_tokens, self.output_tokens)?;
        let input_tokens = usage.input_tokens + cached_tokens + written_tokens;
        Some(TokenUsage { input_tokens, cached_tokens, written_tokens, ..usage })
    }

    /// All that is charged, in dollars, to the billionth: with a key of the user's own at the vendor behind a gateway,
    /// that vendor's bill, too.
    fn cost_usd(&self) -> Option<f64> {
        let upstream = self.cost_details.upstream_inference_cost.filter(|_| self.is_byok).unwrap_or(0.0);
        let charged = self.cost.map(|cost| cost + upstream);
        let dollars = charged.or(self.cost_in_usd_ticks.map(|ticks| ticks / TICKS));
        dollars.filter(|dollars| *dollars >= 0.0).map(|dollars| Usd::dollars(dollars).in_dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_stands_among_the_tokens() {
        for (odd, dollars) in [("{\"upstream_inference_cost\": 0.02}", 0.021), ("null", 0.001), ("[]", 0.001)]
        {
            let json = format!(
                r#"{{"input_tokens": 3, "cost": 0.001, "is_byok": true, "cost_details": {odd}, "x": {{}}}}"#
            );
            let usage: WireUsage = serde_json::from_str(&json).unwrap();
            let expected = TokenUsage { input_tokens: 3, cost_usd: Some(dollars), ..TokenUsage::default() };
            assert_eq!(usage.prompt_and_completion(), Some(expected));
        }
    }

    #[test]
    fn each_wire_reads_its_own_words_before_those_of_others() {
        let usage: WireUsage = serde_json::from_str(
            r#"{"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 7, "output_tokens": 2}"#,
        )
        .unwrap();
        let counted =
            |usage: Option<TokenUsage>| usage.map(|usage| (usage.input_tokens, usage.output_tokens));
        assert_eq!(counted(usage.prompt_and_completion()), Some((0, 0)));
        assert_eq!(counted(usage.input_and_output()), Some((7, 2)));
        assert_eq!(counted(usage.tokens_beside_cache()), Some((7, 2)));
        let other: WireUsage =
            serde_json::from_str(r#"{"prompt_tokens": 3, "cache_read_input_tokens": 2}"#).unwrap();
        assert_eq!(counted(other.input_and_output()), Some((3, 0)));
        assert_eq!(other.tokens_beside_cache(), None);
    }

    #[test]
    fn a_cost_is_told_in_dollars_or_in_ticks() {
        let usd = |json: &str| serde_json::from_str::<WireUsage>(json).unwrap().cost_usd();
        assert_eq!(usd(r#"{"cost": 0.0123}"#), Some(0.0123));
        let byok = r#"{"cost": 0.001, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.02}}"#;
        assert_eq!(usd(byok), Some(0.021));
        assert_eq!(usd(&byok.replace("true", "false")), Some(0.001));
        assert_eq!(usd(&byok.replace("true", "\"yes\"")), Some(0.001));
        assert_eq!(usd(r#"{"cost_in_usd_ticks": 158500000}"#), Some(0.01585));
        assert_eq!(usd(r#"{"cost": 1e-10}"#), Some(0.0), "a billionth is the smallest amount");
        for none in ["{}", r#"{"cost": null}"#, r#"{"cost": -1}"#, r#"{"cost": "much"}"#, r#"{"cost": {}}"#] {
            assert_eq!(usd(none), None, "{none}");
        }
    }

    #[test]
    fn the_cache_is_part_of_the_input_or_stands_beside_it() {
        let usage: WireUsage = serde_json::from_str(
            r#"{"input_tokens": "7", "output_tokens": 2.0, "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 3, "output_tokens_details": {"thinking_tokens": 1}}"#,
        )
        .unwrap();
        let expected =
            TokenUsage { input_tokens: 7, output_tokens: 2, reasoning_tokens: 1, ..TokenUsage::default() };
        assert_eq!(usage.input_and_output(), Some(expected));
        let beside = TokenUsage { input_tokens: 15, cached_tokens: 5, written_tokens: 3, ..expected };
        assert_eq!(usage.tokens_beside_cache(), Some(beside));
    }
}
