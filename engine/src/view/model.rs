//! A model of the catalogue.

use serde::Serialize;

use crate::catalogue::{self, CatalogueModel};

/// A model as a row of `models`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRow {
    /// What is known of it.
    #[serde(flatten)]
    pub model: CatalogueModel,
    /// The day of its prices.
    pub prices_as_of: &'static str,
}

impl From<CatalogueModel> for ModelRow {
    fn from(model: CatalogueModel) -> ModelRow {
        ModelRow { model, prices_as_of: catalogue::date() }
    }
}
