//! `uwf-builtin doctor --online`: whether the endpoint answers, knows the model, and takes what a run sends.
//!
//! Apart because it is the only finding that sends something: the list of models is asked for, then a small conversation
//! of two turns with one tool. The second turn holds what the endpoint said in the first, since that is where many refuse.

use std::time::Duration;

use crate::shell::CliError;
use serde_json::{Value, json};
use tokio::time::timeout;
use uwf_engine::catalogue;

use uwf_agent::context_window::{WIDEN, WORKABLE};
use uwf_agent::provider::message::TokenUsage;
use uwf_agent::provider::{HttpProvider, ProviderError, Served, Trial, trial};
use uwf_agent::settings::{Endpoint, Settings, SettingsError, WindowSource};

/// How long the two requests may take together.
const TRIAL: Duration = Duration::from_secs(120);

/// What came of it; null where the model is a script.
pub(super) fn report(found: &Result<Settings, SettingsError>) -> Result<Value, CliError> {
    let settings = match found {
        Ok(settings) => settings,
        Err(error) => return Ok(failed(&error.to_string(), error.hint())),
    };
    let Some(endpoint) = settings.provider.endpoint() else { return Ok(Value::Null) };
    let mut config = endpoint.config();
    config.cache_key = "doctor".to_owned();
    let mut provider = match HttpProvider::new(config) {
        Ok(provider) => provider,
        Err(error) => return Ok(refused(&error)),
    };
    let runtime = crate::builtin::run::runtime()?;
    Ok(runtime.block_on(ask(&mut provider, settings, endpoint)))
}

fn failed(error: &str, hint: Option<&str>) -> Value {
    json!({"reachable": false, "error": error, "hint": hint})
}

fn refused(error: &ProviderError) -> Value {
    failed(&error.to_string(), error.hint())
}

async fn ask(provider: &mut HttpProvider, settings: &Settings, endpoint: &Endpoint) -> Value {
    let model = &settings.model;
    let models = match provider.models().await {
        Ok(models) => models,
        Err(error) => return refused(&error),
    };
    let count = models.as_ref().map(Vec::len);
    // Some list less than they serve: the trial tells.
    let unlisted = models.filter(|models| !models.iter().any(|served| served.is(model)));
    let trying = timeout(TRIAL, trial(provider, model, &settings.sampling)).await;
    let url = endpoint.base_url.split('?').next().unwrap_or_default().to_owned();
    let late = || ProviderError::Unreachable {
        url,
        reason: format!("no whole answer within {} s", TRIAL.as_secs()),
    };
    let tried = match (trying.unwrap_or_else(|_| Err(late())), unlisted.clone()) {
        (Ok(tried), _) => tried,
        (Err(error), Some(models)) => {
            let hint = format!("its list has no model {model}; {}", nearest(model, models));
            return json!({"reachable": true, "models": count, "error": error.to_string(), "hint": hint});
        }
        (Err(error), None) => {
            let mut report = refused(&error);
            report["reachable"] = json!(!matches!(error, ProviderError::Unreachable { .. }));
            return report;
        }
    };
    let served = match settings.window.from {
        WindowSource::Set => None,
        WindowSource::Catalogue | WindowSource::Assumed => provider.served_window().await,
    };
    let window = match (settings.window.from, served) {
        (WindowSource::Set, _) => (settings.window.size, "settings"),
        (_, Some(served)) => (served, "server"),
        (WindowSource::Catalogue, None) => (settings.window.size, "catalogue"),
        (WindowSource::Assumed, None) => (settings.window.size, "assumed"),
    };
    let prices = settings
        .prices
        .as_ref()
        .map(|prices| json!({"perMillion": prices, "asOf": (!settings.own_prices).then(catalogue::date)}));
    json!({
        "reachable": true, "models": count, "model": model, "error": null,
        "wire": provider.wire(), "dialect": endpoint.dialect_name(),
        "toolCalled": tried.tool_called, "changes": tried.changes,
        "window": {"tokens": window.0, "from": window.1},
        "prices": prices, "usage": tried.usage, "warnings": warnings(&tried, window, unlisted.is_some()),
    })
}

/// What a run would suffer from.
fn warnings(tried: &Trial, (tokens, from): (u64, &str), unlisted: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if unlisted {
        warnings.push("the endpoint's list of models does not name it, though it answers".to_owned());
    }
    if !tried.tool_called {
        warnings.push(
            "the model did not call the tool it was asked to: a run needs that (vLLM: --enable-auto-tool-choice \
             --tool-call-parser; llama.cpp: --jinja)"
                .to_owned(),
        );
    }
    if from == "assumed" {
        warnings.push(format!(
            "nobody says how large the model's window is; {tokens} tokens are assumed: set contextWindow"
        ));
    }
    if tokens < WORKABLE {
        warnings.push(format!(
            "a window of {tokens} tokens is small for an agent, and some servers cut silently what is longer: {WIDEN}"
        ));
    }
    warnings
}

/// Some names like it.
fn nearest(model: &str, models: Vec<Served>) -> String {
    let mut models = uwf_workflow::suggest::sorted(model, models.into_iter().map(|served| served.id));
    models.truncate(5);
    format!("it serves {}", models.join(", "))
}

/// The report as lines for people: a mark (✓, ✗, or ! for what a run would suffer from) and what it says.
pub(super) fn lines(online: &Value) -> Vec<(char, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if online.is_null() {
        return Vec::new();
    }
    if let Some(error) = online["error"].as_str() {
        let hint = online["hint"].as_str().map(|hint| format!("; {hint}")).unwrap_or_default();
        return vec![('✗', format!("model: {error}{hint}"))];
    }
    let listed = if online["models"].is_null() { "; it lists no models" } else { "" };
    let mut lines = vec![
        ('✓', format!("model: the endpoint answers and serves {}{listed}", word(&online["model"]))),
        (
            '✓',
            format!(
                "wire: {} (dialect {}), a tool called and its result read",
                word(&online["wire"]),
                word(&online["dialect"])
            ),
        ),
    ];
    if online["toolCalled"] != true {
        lines.pop();
    }
    let texts = |name: &str| online[name].as_array().into_iter().flatten().map(word).collect::<Vec<_>>();
    lines.extend(
        texts("changes").into_iter().map(|change| ('!', format!("the endpoint refused something: {change}"))),
    );
    let window = &online["window"];
    lines.push(('✓', format!("window: {} tokens ({})", window["tokens"], word(&window["from"]))));
    let known = if online["prices"].is_null() { '!' } else { '✓' };
    lines.push((known, format!("prices: {}", prices(&online["prices"]))));
    lines.push(('✓', format!("cache: {}", cache(&online["usage"]))));
    lines.extend(texts("warnings").into_iter().map(|warning| ('!', warning)));
    lines
}

/// `$4 in, $0.20 cached, $5 written, $20 out per million tokens (as of 2026-10-30)`.
fn prices(prices: &Value) -> String {
    let of = &prices["perMillion"];
    let price = |name: &str, word: &str| of[name].as_f64().map(|price| format!("${price} {word}"));
    let names = [("input", "in"), ("cachedInput", "cached"), ("cacheWrite", "written"), ("output", "out")];
    let parts: Vec<String> = names.iter().filter_map(|(name, word)| price(name, word)).collect();
    match (parts.is_empty(), prices["asOf"].as_str()) {
        (true, _) => {
            "not known; --max-cost needs them in agents/builtin.yaml, or an endpoint that tells".to_owned()
        }
        (false, Some(date)) => format!("{} per million tokens (as of {date})", parts.join(", ")),
        (false, None) => format!("{} per million tokens (agents/builtin.yaml)", parts.join(", ")),
    }
}

/// What the second turn read from the endpoint's cache.
fn cache(usage: &Value) -> String {
    let Ok(usage) = serde_json::from_value::<TokenUsage>(usage.clone()) else {
        return "the endpoint counts no tokens".to_owned();
    };
    let TokenUsage { input_tokens, cached_tokens, written_tokens, .. } = usage;
    match (cached_tokens, written_tokens) {
        (0, 0) => format!("nothing of the second request's {input_tokens} tokens was read from a cache"),
        (cached, 0) => format!("{cached} of the second request's {input_tokens} tokens were read from it"),
        (cached, written) => {
            format!(
                "{cached} of the second request's {input_tokens} tokens were read from it, {written} written"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_what_was_found() {
        let online = json!({
            "reachable": true, "models": 3, "model": "m", "error": null, "wire": "messages", "dialect": "anthropic",
            "toolCalled": true, "changes": ["`temperature` is left out from here on"],
            "window": {"tokens": 4096, "from": "server"},
            "prices": {"perMillion": {"input": 4.0, "output": 20.0, "cachedInput": 0.2}, "asOf": "2026-10-30"},
            "usage": {"inputTokens": 1700, "outputTokens": 9, "cachedTokens": 1600, "writtenTokens": 90},
            "warnings": ["small"],
        });
        let text: Vec<String> = lines(&online).iter().map(|(mark, line)| format!("{mark} {line}")).collect();
        assert_eq!(
            text,
            [
                "✓ model: the endpoint answers and serves m",
                "✓ wire: messages (dialect anthropic), a tool called and its result read",
                "! the endpoint refused something: `temperature` is left out from here on",
                "✓ window: 4096 tokens (server)",
                "✓ prices: $4 in, $0.2 cached, $20 out per million tokens (as of 2026-10-30)",
                "✓ cache: 1600 of the second request's 1700 tokens were read from it, 90 written",
                "! small",
            ]
        );
        assert!(lines(&Value::Null).is_empty());
    }
}
