//! `uwf models`: text, JSON, and nothing found.

use serde_json::json;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;

#[test]
fn a_table_shows_prices_with_their_date() {
    let place = Place::new();
    insta::assert_snapshot!(place.uwf(&["models", "deepseek/*", "--format", "text"]).out);
    let out = place.uwf(&["models", "openai/gpt-6-sol", "--format", "text"]).out;
    assert!(out.contains("2+") && out.contains("long prompts cost more"), "{out}");
    assert!(!place.homes().uwf.exists() && !place.homes().ocas.exists(), "nothing is read or written");
}

#[test]
fn programs_get_everything() {
    let place = Place::new();
    let ran = place.uwf(&["models", "OpenAI/gpt-6-s*"]);
    let expected = json!([{
        "provider": "openai", "id": "gpt-6-sol", "window": 1_050_000, "input": 922_000, "output": 128_000,
        "prices": {
            "input": 2.0, "output": 10.0, "cachedInput": 0.2, "cacheWrite": 2.5,
            "tiers": [{"above": 272_000, "input": 4.0, "output": 15.0, "cachedInput": 0.4, "cacheWrite": 5.0}],
        },
        "pricesAsOf": uwf_engine::catalogue::date(), "efforts": ["none", "low", "medium", "high", "xhigh", "max"],
        "reasoning": true, "temperature": false, "wire": "responses", "adaptiveThinking": false,
        "thinkingBudget": false, "echo": null, "deprecated": false,
    }]);
    assert_eq!((ran.exit, ran.json(), ran.err.as_str()), (0, expected, ""));
    let all = place.uwf(&["models"]).json().as_array().unwrap().len();
    assert_eq!(all, uwf_engine::catalogue::models().count());
}

#[test]
fn what_is_not_there_names_what_is_near() {
    let place = Place::new();
    for (pattern, near) in [
        ("gpt-6-sool", "gpt-6-sol"),
        ("GPT6.1", "gpt-6.1-"),
        ("anthropic/claude-opus-5-5x", "anthropic/claude-opus-5-5"),
    ] {
        let ran = place.uwf(&["models", pattern]);
        assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{ran:?}");
        assert!(ran.err.contains(&format!("is like {pattern}\n")), "{}", ran.err);
        assert!(ran.err.contains(&format!("the nearest are {near}")), "{}", ran.err);
    }
    assert_eq!(place.uwf(&["models", "a", "b"]).exit, 2);
}
