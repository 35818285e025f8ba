//! `uwf-builtin doctor --online`: whether the endpoint answers, knows the model, and takes what a run sends.
//!
//! Apart because it is the only finding that sends something: the list of models is asked for, then a small conversation
//! of two turns with one tool. The second turn holds what the endpoint said in the first, since that is where many refuse.

use std::time::Duration;

use crate::shell::CliError;
use serde::Serialize;
use tokio::time::timeout;
use uwf_engine::catalogue::{self, Prices};

use uwf_agent::context_window::{WIDEN, WORKABLE};
use uwf_agent::provider::message::TokenUsage;
use uwf_agent::provider::{HttpProvider, ProviderError, Served, Trial, Wire, trial};
use uwf_agent::settings::{Endpoint, Settings, SettingsError, WindowSource};

/// How long the two requests may take together.
const TRIAL: Duration = Duration::from_secs(120);

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OnlineCheck {
    /// A run would fail.
    Fails(EndpointError),
    /// A run would find what it needs.
    Answers(Box<EndpointCheck>),
}

/// Why a run would fail.
#[derive(Debug, Serialize)]
pub(super) struct EndpointError {
    reachable: bool,
    /// How many models the endpoint lists, where that tells something.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<usize>,
    error: String,
    hint: Option<String>,
}

/// What a run would find.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EndpointCheck {
    reachable: bool,
    /// How many models it lists; null where it lists none.
    models: Option<usize>,
    model: String,
    /// Always null.
    error: Option<String>,
    wire: Wire,
    dialect: &'static str,
    tool_called: bool,
    /// What had to be asked otherwise.
    changes: Vec<String>,
    window: WindowCheck,
    prices: Option<PricesCheck>,
    /// The tokens of the second turn.
    usage: Option<TokenUsage>,
    /// What a run would suffer from.
    warnings: Vec<String>,
}

/// The context window, and who says so.
#[derive(Clone, Copy, Debug, Serialize)]
struct WindowCheck {
    tokens: u64,
    from: &'static str,
}

/// What tokens cost.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PricesCheck {
    per_million: Prices,
    /// The day of the catalogue that says so; null where they are configured.
    as_of: Option<&'static str>,
}

/// Asks the endpoint; there is none where the model is a script.
pub(super) fn report(found: &Result<Settings, SettingsError>) -> Result<Option<OnlineCheck>, CliError> {
    let settings = match found {
        Ok(settings) => settings,
        Err(error) => return Ok(Some(failed(error.to_string(), error.hint()))),
    };
    let Some(endpoint) = settings.provider.endpoint() else { return Ok(None) };
    let mut config = endpoint.config();
    config.cache_key = "doctor".to_owned();
    let mut provider = match HttpProvider::new(config) {
        Ok(provider) => provider,
        Err(error) => return Ok(Some(refused(&error))),
    };
    let runtime = crate::builtin::host::runtime()?;
    Ok(Some(runtime.block_on(ask(&mut provider, settings, endpoint))))
}

fn failed(error: String, hint: Option<&str>) -> OnlineCheck {
    let hint = hint.map(str::to_owned);
    OnlineCheck::Fails(EndpointError { reachable: false, models: None, error, hint })
}

fn refused(error: &ProviderError) -> OnlineCheck {
    failed(error.to_string(), error.hint())
}

async fn ask(provider: &mut HttpProvider, settings: &Settings, endpoint: &Endpoint) -> OnlineCheck {
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
            let hint = Some(format!("its list has no model {model}; {}", nearest(model, models)));
            let error = error.to_string();
            return OnlineCheck::Fails(EndpointError { reachable: true, models: count, error, hint });
        }
        (Err(error), None) => {
            let reachable = !matches!(error, ProviderError::Unreachable { .. });
            let hint = error.hint().map(str::to_owned);
            let error = error.to_string();
            return OnlineCheck::Fails(EndpointError { reachable, models: None, error, hint });
        }
    };
    let window = window(provider, settings).await;
    let as_of = (!settings.own_prices).then(catalogue::date);
    OnlineCheck::Answers(Box::new(EndpointCheck {
        reachable: true,
        models: count,
        model: model.clone(),
        error: None,
        wire: provider.wire(),
        dialect: endpoint.dialect_name(),
        tool_called: tried.tool_called,
        warnings: warnings(&tried, window, unlisted.is_some()),
        changes: tried.changes,
        window,
        prices: settings.prices.clone().map(|per_million| PricesCheck { per_million, as_of }),
        usage: tried.usage,
    }))
}

async fn window(provider: &mut HttpProvider, settings: &Settings) -> WindowCheck {
    let tokens = settings.window.size;
    let from = match settings.window.from {
        WindowSource::Set => return WindowCheck { tokens, from: "settings" },
        WindowSource::Catalogue => "catalogue",
        WindowSource::Assumed => "assumed",
    };
    match provider.served_window().await {
        Some(tokens) => WindowCheck { tokens, from: "server" },
        None => WindowCheck { tokens, from },
    }
}

/// What a run would suffer from.
fn warnings(tried: &Trial, WindowCheck { tokens, from }: WindowCheck, unlisted: bool) -> Vec<String> {
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
    let mut models = uwf_store::suggest::sorted(model, models.into_iter().map(|served| served.id));
    models.truncate(5);
    format!("it serves {}", models.join(", "))
}

impl OnlineCheck {
    /// Whether a run would find what it needs.
    pub(super) fn is_well(&self) -> bool {
        matches!(self, OnlineCheck::Answers(_))
    }

    /// For people: a mark (✓, ✗, or ! for what a run would suffer from) and what it says.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            OnlineCheck::Fails(EndpointError { error, hint, .. }) => {
                let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
                vec![format!("✗ model: {error}{hint}")]
            }
            OnlineCheck::Answers(check) => check.lines(),
        }
    }
}

impl EndpointCheck {
    fn lines(&self) -> Vec<String> {
        let listed = if self.models.is_none() { "; it lists no models" } else { "" };
        let mut lines = vec![format!("✓ model: the endpoint answers and serves {}{listed}", self.model)];
        if self.tool_called {
            let (wire, dialect) = (self.wire.as_str(), self.dialect);
            lines.push(format!("✓ wire: {wire} (dialect {dialect}), a tool called and its result read"));
        }
        let refused = self.changes.iter();
        lines.extend(refused.map(|change| format!("! the endpoint refused something: {change}")));
        lines.push(format!("✓ window: {} tokens ({})", self.window.tokens, self.window.from));
        lines.push(match &self.prices {
            Some(known) => format!("✓ prices: {}", prices(known)),
            None => {
                "! prices: not known; --max-cost needs them in agents/builtin.yaml, or an endpoint that tells"
                    .to_owned()
            }
        });
        lines.push(format!("✓ cache: {}", cache(self.usage)));
        lines.extend(self.warnings.iter().map(|warning| format!("! {warning}")));
        lines
    }
}

/// `$4 in, $0.20 cached, $5 written, $20 out per million tokens (as of 2026-10-30)`.
fn prices(PricesCheck { per_million, as_of }: &PricesCheck) -> String {
    let Prices { input, output, cached_input, cache_write, .. } = per_million;
    let known =
        [(Some(*input), "in"), (*cached_input, "cached"), (*cache_write, "written"), (Some(*output), "out")];
    let parts = known.iter().filter_map(|(price, word)| Some(format!("${} {word}", (*price)?)));
    let parts = parts.collect::<Vec<_>>().join(", ");
    match as_of {
        Some(date) => format!("{parts} per million tokens (as of {date})"),
        None => format!("{parts} per million tokens (agents/builtin.yaml)"),
    }
}

/// What the second turn read from the endpoint's cache.
fn cache(usage: Option<TokenUsage>) -> String {
    let Some(usage) = usage else { return "the endpoint counts no tokens".to_owned() };
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
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn people_read_what_was_found() {
        let tiers = Vec::new();
        let per_million =
            Prices { input: 4.0, output: 20.0, cached_input: Some(0.2), cache_write: None, tiers };
        let usage =
            json!({"inputTokens": 1700, "outputTokens": 9, "cachedTokens": 1600, "writtenTokens": 90});
        let mut check = EndpointCheck {
            reachable: true,
            models: Some(3),
            model: "m".to_owned(),
            error: None,
            wire: Wire::Messages,
            dialect: "anthropic",
            tool_called: true,
            changes: vec!["`temperature` is left out from here on".to_owned()],
            window: WindowCheck { tokens: 4096, from: "server" },
            prices: Some(PricesCheck { per_million, as_of: Some("2026-10-30") }),
            usage: serde_json::from_value(usage).unwrap(),
            warnings: vec!["small".to_owned()],
        };
        let text = check.lines();
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
        let printed = serde_json::to_value(&check).unwrap();
        assert_eq!(
            (&printed["error"], &printed["toolCalled"], &printed["wire"]),
            (&Value::Null, &json!(true), &json!("messages"))
        );
        assert_eq!(
            printed["prices"]["perMillion"],
            json!({"input": 4.0, "output": 20.0, "cachedInput": 0.2})
        );
        (check.tool_called, check.prices, check.usage, check.models) = (false, None, None, None);
        let text = check.lines();
        assert!(
            text[0].ends_with("; it lists no models") && text[3].starts_with("! prices: not known"),
            "{text:?}"
        );
        assert_eq!((text.len(), text[4].as_str()), (6, "✓ cache: the endpoint counts no tokens"));
        let failed = OnlineCheck::Fails(EndpointError {
            reachable: false,
            models: None,
            error: "no".to_owned(),
            hint: Some("why".to_owned()),
        });
        assert_eq!(failed.lines(), ["✗ model: no; why"]);
        let expected = json!({"reachable": false, "error": "no", "hint": "why"});
        assert_eq!((serde_json::to_value(&failed).unwrap(), failed.is_well()), (expected, false));
    }
}
