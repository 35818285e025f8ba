//! The model that is asked for the fields of an answer that is none: `modelOverrides.extract` of `config.yaml`.
//!
//! Apart because it is off unless it is named there, and because its key is found otherwise: what was set for this run
//! is meant for the run's own endpoint. Patience is the run's.

use uwf_engine::Env;
use uwf_engine::config::Config;

use super::SettingsError;
use super::endpoint::{Endpoint, configured_key, host, provided};

/// The endpoint and the model's name, where one is named. `run` is the endpoint of the run.
pub(super) fn endpoint(
    config: &Config,
    env: &Env,
    run: &Endpoint,
) -> Result<Option<(Endpoint, String)>, SettingsError> {
    let Some(alias) = config.model_overrides.get("extract") else { return Ok(None) };
    let unknown = || SettingsError::NoSuchModel { key: "modelOverrides.extract", alias: alias.clone() };
    let model = config.models.get(alias).ok_or_else(unknown)?;
    let provider = provided(config.providers.get(&model.provider).ok_or_else(unknown)?);
    let place = host(&provider.base_url)?;
    let api_key = if host(&run.base_url)? == place {
        run.api_key.clone()
    } else {
        configured_key(env, &place, Some(&provider))?
    };
    let endpoint = Endpoint {
        base_url: provider.base_url,
        api_key,
        headers: provider.headers,
        stream: false,
        echo_reasoning: provider.echo_reasoning,
        idle: run.idle,
        retry: run.retry.clone(),
    };
    Ok(Some((endpoint, model.name.clone())))
}
