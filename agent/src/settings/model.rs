//! What is known of the model: how large its window is and what it costs, as it is set, else as the catalogue has it.
//!
//! Apart because it is looked up once the endpoint is known, by files and by programs alike.

use uwf_engine::catalogue::{self, Prices};

use super::provenance::{Provenance, SettingSource, Sourced, first};
use super::{Limits, ProviderSettings, SettingsError};
use crate::additions::OwnProvider;
use crate::provider::http::host_and_path;

/// A model's window, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// In tokens.
    pub size: u64,
    /// Who says so.
    pub from: WindowSource,
}

/// Who says how large a window is: what is set wins over the server, the server over the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSource {
    /// A setting.
    Set,
    /// The catalogue of models.
    Catalogue,
    /// Nobody.
    Assumed,
}

impl WindowSource {
    /// The word that the record keeps.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            WindowSource::Set => "set",
            WindowSource::Catalogue => "catalogue",
            WindowSource::Assumed => "assumed",
        }
    }

    /// The source of that name.
    pub(crate) fn named(name: &str) -> Option<WindowSource> {
        let all = [WindowSource::Set, WindowSource::Catalogue, WindowSource::Assumed];
        all.into_iter().find(|source| source.as_str() == name)
    }
}

/// What a script costs.
const FREE: Prices =
    Prices { input: 0.0, output: 0.0, cached_input: None, cache_write: None, tiers: Vec::new() };

/// The window of a model of which nothing is said, in tokens.
const ASSUMED_WINDOW: u64 = 128_000;

impl ProviderSettings {
    /// The window that is set for the model, and who says so.
    pub(super) fn window(&self) -> Sourced<u64> {
        let set = self.endpoint().and_then(|endpoint| endpoint.context_window.clone());
        set.map_or((None, SettingSource::Default), |(size, from)| (Some(size), from))
    }

    /// What the model costs, as it is set, else as the catalogue has it.
    ///
    /// # Errors
    /// [`SettingsError::NoPrice`] where a limit in money needs one and there is none.
    pub(super) fn prices(
        &self,
        (own, known): (Sourced<Prices>, Option<catalogue::CatalogueModel>),
        (limits, model): (&Limits, &str),
    ) -> Result<Sourced<Prices>, SettingsError> {
        let listed = (known.and_then(|model| model.prices), SettingSource::Catalogue);
        let (prices, from) = first([own, listed]);
        match (limits.usd, prices, self.endpoint()) {
            // It tells what a completion costs, or nobody knows.
            (_, prices, None) if matches!(self, ProviderSettings::Own(OwnProvider::Model(_))) => {
                Ok((prices, from))
            }
            // A script costs nothing.
            (Some(_), None, None) => Ok((Some(FREE), from)),
            (Some(limit), None, Some(endpoint)) if !endpoint.dialect().tells_cost => {
                Err(SettingsError::NoPrice { limit, model: model.to_owned() })
            }
            (_, prices, _) => Ok((prices, from)),
        }
    }

    /// What the catalogue says of the model at this very endpoint.
    pub(super) fn known(&self) -> Option<catalogue::CatalogueModel> {
        let endpoint = self.endpoint()?;
        let (host, _) = host_and_path(&endpoint.base_url)?;
        catalogue::find(catalogue::provider_of(&host)?, &endpoint.model)
    }
}

impl WindowSize {
    /// The window that is set, else that of the catalogue, else a guess.
    pub(super) fn of(set: Option<u64>, known: Option<&catalogue::CatalogueModel>) -> WindowSize {
        match (set, known) {
            (Some(size), _) => WindowSize { size, from: WindowSource::Set },
            (None, Some(model)) => {
                let size = model.input.unwrap_or(model.window);
                WindowSize { size, from: WindowSource::Catalogue }
            }
            (None, None) => WindowSize { size: ASSUMED_WINDOW, from: WindowSource::Assumed },
        }
    }
}

/// What a million tokens cost.
pub(super) fn prices_row(prices: Option<&Prices>, from: SettingSource) -> Provenance {
    let told = prices.map(|Prices { input, output, .. }| format!("${input} in, ${output} out"));
    Provenance::limit("prices", told, from)
}
