//! Settings that a program makes by itself: no file, no variable and no flag is read.
//!
//! Apart because [`Settings::load`] is about precedence, and here nobody else has a say.

use std::path::PathBuf;

use uwf_engine::Env;
use uwf_engine::catalogue::Prices;

use super::{
    FileServers, Flags, Limits, LoadedFrom, ProviderSettings, Sampling, SandboxSettings, SettingSource,
    Settings, SettingsError, SnapshotSettings, WindowSize,
};
use crate::additions::{Additions, OwnProvider};
use crate::permissions::{PermissionsByRole, RolePermissions};
use crate::project::ProjectSettings;

impl Settings {
    /// What a program says of whom it asks and what that costs, what may be spent and what it adds; the rest is as it is
    /// without any file, and there are no built-in tools.
    ///
    /// # Errors
    /// [`SettingsError::NoPrice`].
    pub(crate) fn in_code(
        (provider, own): (ProviderSettings, Option<Prices>),
        limits: Limits,
        added: Additions,
    ) -> Result<Settings, SettingsError> {
        let known = provider.known();
        let window = WindowSize::of(provider.window().0, known.as_ref());
        let model = match &provider {
            ProviderSettings::Http(endpoint) => endpoint.model.clone(),
            ProviderSettings::Own(OwnProvider::Model(model)) => model.name().to_owned(),
            ProviderSettings::Mock(_) | ProviderSettings::Own(OwnProvider::Script(_)) => "mock".to_owned(),
        };
        let own_prices = own.is_some();
        let (prices, _) = provider.prices(((own, SettingSource::Default), known), (&limits, &model))?;
        Ok(Settings {
            provider,
            model,
            extract: None,
            sampling: Sampling::default(),
            limits,
            prices,
            own_prices,
            window,
            tools: Some(Vec::new()),
            fetch: None,
            roles: PermissionsByRole::default(),
            permissions: RolePermissions::default(),
            sandbox: SandboxSettings::default(),
            mcp: Vec::new(),
            mcp_servers: FileServers::new(),
            snapshots: SnapshotSettings { enabled: false, ..SnapshotSettings::default() },
            project: ProjectSettings::default(),
            provenance: Vec::new(),
            added,
            loaded_from: LoadedFrom { flags: Flags::default(), env: Env::default(), home: PathBuf::new() },
        })
    }
}
