use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::*;

/// How old the catalogue may become.
const SIX_MONTHS: Duration = Duration::from_hours(183 * 24);

/// This test fails by the mere passing of time, and is meant to: prices and defaults that nobody has looked at for half a
/// year are wrong. To refresh them, take the newest rig-core and pi-ai and follow the header of `update.py`; then see
/// whether the presets of `uwf setup` still name current models.
#[test]
fn the_catalogue_is_not_older_than_six_months() {
    let day = humantime::parse_rfc3339(&format!("{}T00:00:00Z", date())).unwrap();
    let age = SystemTime::now().duration_since(day).unwrap();
    assert!(age < SIX_MONTHS, "the catalogue is of {}: refresh it with catalogue/update.py", date());
}

#[test]
fn every_line_is_a_model_and_none_is_there_twice() {
    let (mut seen, mut providers) = (BTreeSet::new(), Vec::new());
    for row in rows() {
        let model = row.model().unwrap_or_else(|| panic!("{}: {}", row.provider, row.line));
        let name = format!("{}/{}", model.provider, model.id);
        assert!(!model.id.is_empty() && !model.id.contains(char::is_whitespace), "{name}");
        assert!(model.window >= 1000 && model.output <= model.window, "{name}");
        assert!(model.input.is_none_or(|input| input < model.window), "{name}");
        assert!(model.wire.is_none_or(|wire| ["chat", "responses", "messages"].contains(&wire)), "{name}");
        if let Some(prices) = &model.prices {
            let rates = [Some(prices.input), Some(prices.output), prices.cached_input, prices.cache_write];
            assert!(rates.into_iter().flatten().all(|rate| (0.0..1000.0).contains(&rate)), "{name}");
            assert!(prices.tiers.is_sorted_by_key(|tier| tier.above), "{name}");
        }
        if providers.last() != Some(&model.provider) {
            providers.push(model.provider);
        }
        assert!(seen.insert(name.clone()), "{name} is there twice");
    }
    assert!(seen.len() > 500, "{}", seen.len());
    assert_eq!(seen.len(), models().count());
    let expected = "openai anthropic google deepseek moonshot zai minimax qwen xai mistral azure openrouter groq \
                    cerebras fireworks together";
    assert_eq!(providers, expected.split_whitespace().collect::<Vec<_>>());
    assert!(TABLE.len() < 100_000, "{} bytes go into the binary", TABLE.len());
}

#[test]
fn a_model_is_found_by_its_provider_and_name() {
    let sol = find("openai", "gpt-6-sol").unwrap();
    assert_eq!(
        (sol.window, sol.input, sol.output, sol.wire),
        (1_050_000, Some(922_000), 128_000, Some("responses"))
    );
    assert_eq!(sol.prices.unwrap().tiers[0].above, 272_000);
    assert!(sol.efforts.contains(&"none") && !sol.temperature);
    let opus = find("anthropic", "claude-opus-5-5").unwrap();
    assert!(opus.adaptive_thinking && !opus.efforts.contains(&"none") && opus.wire == Some("messages"));
    assert_eq!(find("deepseek", "deepseek-flash").unwrap().echo, Some("reasoning_content"));
    assert_eq!(find("openai", "claude-opus-5-5"), None);
    assert_eq!(find("nobody", "gpt-6-sol"), None);
}

#[test]
fn a_dated_name_is_the_model_it_is_a_version_of() {
    assert_eq!(find("openai", "gpt-6-sol-2026-09-22").unwrap().id, "gpt-6-sol");
    assert_eq!(find("anthropic", "claude-opus-5-5-20260922").unwrap().id, "claude-opus-5-5");
    assert_eq!(find("anthropic", "claude-haiku-4-5-20251001").unwrap().id, "claude-haiku-4-5-20251001");
    for id in ["gpt-6-sol-2026-9-22", "gpt-6-sol-20260922x", "-", "", "é-20260922"] {
        assert_eq!(find("openai", id), None, "{id}");
    }
}

#[test]
fn the_makers_entry_comes_before_a_gateways() {
    let any = |id: &str| find_any(id).map(|model| (model.provider, model.id));
    assert_eq!(any("openai/gpt-6-sol"), Some(("openai", "gpt-6-sol")));
    assert_eq!(any("gpt-6-sol-2026-09-22"), Some(("openai", "gpt-6-sol")));
    assert_eq!(any("anthropic/claude-opus-5.5"), Some(("openrouter", "anthropic/claude-opus-5.5")));
    assert_eq!(any("no-such-model"), None);
}

#[test]
fn prices_are_read_and_written_as_in_settings() {
    let value = json!({
        "input": 1.0, "output": 2.0, "cachedInput": 0.1, "cacheWrite": 1.25,
        "tiers": [{"above": 200_000, "input": 2.0, "output": 3.0}],
    });
    let prices: Prices = serde_json::from_value(value.clone()).unwrap();
    assert_eq!((prices.cached_input, prices.tiers[0].cached_input), (Some(0.1), None));
    assert_eq!(serde_json::to_value(&prices).unwrap(), value);
    for unknown in [json!({"input": 1, "output": 2, "cached": 1}), json!({"input": 1})] {
        assert!(serde_json::from_value::<Prices>(unknown).is_err());
    }
}
