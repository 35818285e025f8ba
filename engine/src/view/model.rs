//! A model of the catalogue.

use serde::Serialize;

use crate::catalogue::{self, Model};

/// A model as a row of `models`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRow {
    /// What is known of it.
    #[serde(flatten)]
    pub model: Model,
    /// The day of its prices.
    pub prices_as_of: &'static str,
}

impl From<Model> for ModelRow {
    fn from(model: Model) -> ModelRow {
        ModelRow { model, prices_as_of: catalogue::date() }
    }
}
