//! Settings that a program makes by itself: no file, no variable and no flag is read.
//!
//! Apart because [`Settings::load`] is about precedence, and here nobody else has a say.

use std::path::PathBuf;

use uwf_engine::Env;

use super::{
    Endpoint, Flags, Limits, LoadedFrom, ProviderSettings, Sampling, SandboxSettings, SettingSource,
    Settings, SettingsError, WindowSize,
};
use crate::additions::{Additions, OwnProvider};
use crate::permissions::{PermissionsByRole, RolePermissions};

/// What a program says of a run; the rest is as it is without any file.
#[derive(Clone, Debug)]
pub(crate) struct ProgramSettings {
    pub provider: ProviderSettings,
    pub extract: Option<Endpoint>,
    pub sampling: Sampling,
    pub limits: Limits,
    /// The built-in tools it has.
    pub tools: Vec<String>,
    pub sandbox: SandboxSettings,
    pub added: Additions,
}

impl Settings {
    /// The settings that a program makes.
    ///
    /// # Errors
    /// [`SettingsError::NoPrice`].
    pub(crate) fn in_code(code: ProgramSettings) -> Result<Settings, SettingsError> {
        let ProgramSettings { provider, extract, sampling, limits, tools, sandbox, added } = code;
        let known = provider.known();
        let window = WindowSize::of(provider.window().0, known.as_ref());
        let model = match &provider {
            ProviderSettings::Http(endpoint) => endpoint.model.clone(),
            ProviderSettings::Own(OwnProvider::Model(model)) => model.name().to_owned(),
            ProviderSettings::Mock(_) | ProviderSettings::Own(OwnProvider::Script(_)) => "mock".to_owned(),
        };
        let (prices, _) = provider.prices(((None, SettingSource::Default), known), (&limits, &model))?;
        Ok(Settings {
            provider,
            model,
            extract,
            sampling,
            limits,
            prices,
            own_prices: false,
            window,
            tools: Some(tools),
            roles: PermissionsByRole::default(),
            permissions: RolePermissions::default(),
            sandbox,
            provenance: Vec::new(),
            added,
            loaded_from: LoadedFrom { flags: Flags::default(), env: Env::default(), home: PathBuf::new() },
        })
    }
}
