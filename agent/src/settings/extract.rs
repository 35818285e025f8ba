//! The model that is asked for the fields of an answer that is none.
//!
//! The first that `config.yaml` has of `modelOverrides.extract`, `models.extract`, `models.default` and `defaultModel`. It
//! is off unless one of the first two is there, or `agents/builtin.yaml` says `extract: true`; `extract: false` turns it
//! off in any case. Apart because its key is found otherwise: what was set for this run
//! is meant for the run's own endpoint. Patience is the run's.

use uwf_engine::Env;
use uwf_engine::config::Config;

use super::SettingsError;
use super::endpoint::{Endpoint, add_fields, check_dialect, configured_key, host, provided};

/// The alias of the model, and the setting that gives it.
fn alias(config: &Config, on: Option<bool>) -> Option<(&'static str, &str)> {
    let named = |alias: &'static str| config.models.contains_key(alias).then_some(alias);
    let for_this =
        config.model_overrides.get("extract").map(|alias| ("modelOverrides.extract", alias.as_str()));
    let for_this = for_this.or_else(|| Some(("models.extract", named("extract")?)));
    let usual = || named("default").map(|alias| ("models.default", alias));
    let default = || config.default_model.as_deref().map(|alias| ("defaultModel", alias));
    match on {
        Some(false) => None,
        Some(true) => for_this.or_else(usual).or_else(default),
        None => for_this,
    }
}

/// The endpoint and the model's name, where one is named. `run` is the endpoint of the run.
pub(super) fn endpoint(
    (config, on): (&Config, Option<bool>),
    env: &Env,
    run: &Endpoint,
) -> Result<Option<Endpoint>, SettingsError> {
    let Some((key, alias)) = alias(config, on) else { return Ok(None) };
    let unknown = || SettingsError::NoSuchModel { key, alias: alias.to_owned() };
    let model = config.models.get(alias).ok_or_else(unknown)?;
    let provider = provided(config.providers.get(&model.provider).ok_or_else(unknown)?);
    check_dialect(&provider.dialect, provider.file)?;
    let place = host(&provider.base_url)?;
    let key = configured_key(env, &place, Some(&provider));
    let (key_from, api_key) = match host(&run.base_url)? == place {
        true => (run.key_from.clone(), run.api_key.clone()),
        false => key?.map(|key| (key.place(), key.secret)).unzip(),
    };
    let mut request_body = provider.request_body;
    add_fields(&mut request_body, &model.request_body);
    Ok(Some(Endpoint {
        base_url: provider.base_url,
        model: model.name.clone(),
        api_key,
        key_from,
        wire: provider.wire.set(),
        dialect: provider.dialect,
        request_body,
        context_window: None,
        headers: provider.headers,
        stream: false,
        echo_reasoning: provider.echo_reasoning,
        idle: run.idle,
        retry: run.retry.clone(),
    }))
}
