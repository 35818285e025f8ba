//! What tokens cost: prices by model, in USD per million tokens.
//!
//! Apart because whoever sums a run up needs it. Pure; where the prices come from is the settings' business, and a model
//! without a price has no cost rather than a cost of nothing.

use uwf_engine::catalogue::Prices;

use crate::provider::message::TokenUsage;
use crate::usd::Usd;

/// What a turn cost: what the endpoint says, else what its tokens cost by the prices; `None` where neither tells.
pub(crate) fn cost(usage: TokenUsage, prices: Option<&Prices>) -> Option<Usd> {
    usage.cost_usd.map(Usd::dollars).or_else(|| prices.map(|prices| by_prices(usage, prices)))
}

fn by_prices(usage: TokenUsage, prices: &Prices) -> Usd {
    let tiers = prices.tiers.iter().filter(|tier| usage.input_tokens > tier.above);
    let tier = tiers.max_by_key(|tier| tier.above);
    let (input, output, cached_input, cache_write) = match tier {
        Some(tier) => (tier.input, tier.output, tier.cached_input, tier.cache_write),
        None => (prices.input, prices.output, prices.cached_input, prices.cache_write),
    };
    let cached = usage.cached_tokens.min(usage.input_tokens);
    let written = usage.written_tokens.min(usage.input_tokens - cached);
    let millionths = (usage.input_tokens - cached - written) as f64 * input
        + cached as f64 * cached_input.unwrap_or(input)
        + written as f64 * cache_write.unwrap_or(input)
        + usage.output_tokens as f64 * output;
    Usd::dollars(millionths / 1e6)
}

#[cfg(test)]
mod tests {
    use uwf_engine::catalogue::Tier;

    use super::*;

    const MILLION: TokenUsage = TokenUsage {
        input_tokens: 1_000_000,
        output_tokens: 500_000,
        cached_tokens: 400_000,
        written_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: None,
    };

    fn prices() -> Prices {
        Prices { input: 0.25, output: 2.0, cached_input: Some(0.025), cache_write: None, tiers: Vec::new() }
    }

    #[test]
    fn cached_tokens_are_cheaper_and_written_ones_dearer() {
        assert_eq!(cost(MILLION, Some(&prices())), Some(Usd::dollars(0.15 + 0.01 + 1.0)));
        let uncached = Prices { cached_input: None, ..prices() };
        assert_eq!(cost(MILLION, Some(&uncached)), Some(Usd::dollars(1.25)));
        let writes = Prices { cache_write: Some(0.5), ..prices() };
        let written = TokenUsage { written_tokens: 200_000, ..MILLION };
        assert_eq!(cost(written, Some(&writes)), Some(Usd::dollars(0.1 + 0.01 + 0.1 + 1.0)));
        let nonsense = TokenUsage { written_tokens: u64::MAX, cached_tokens: u64::MAX, ..MILLION };
        assert_eq!(cost(nonsense, Some(&writes)), Some(Usd::dollars(0.025 + 1.0)));
    }

    #[test]
    fn a_long_prompt_costs_what_its_tier_says() {
        let tier = |above, input| Tier { above, input, output: 4.0, cached_input: None, cache_write: None };
        let prices = Prices { tiers: vec![tier(1_000_000, 9.0), tier(200_000, 0.5)], ..prices() };
        assert_eq!(cost(MILLION, Some(&prices)), Some(Usd::dollars(0.5 + 2.0)), "above, not from");
        let short = TokenUsage { input_tokens: 200_000, cached_tokens: 0, output_tokens: 0, ..MILLION };
        assert_eq!(cost(short, Some(&prices)), Some(Usd::dollars(0.05)));
    }

    #[test]
    fn what_the_endpoint_says_wins() {
        let told = TokenUsage { cost_usd: Some(0.7), ..MILLION };
        assert_eq!(cost(told, Some(&prices())), Some(Usd::dollars(0.7)));
        assert_eq!((cost(told, None), cost(MILLION, None)), (Some(Usd::dollars(0.7)), None));
    }
}
