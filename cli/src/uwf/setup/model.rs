//! Which model: what the catalogue offers to a person, and what it says of the one that was chosen.
//!
//! Never more than advice: a provider has models that the catalogue does not.

use uwf_store::suggest;

use super::presets::Preset;
use crate::shell::{CliError, Session};
use uwf_engine::catalogue::{self, CatalogueModel};

/// How many models a person is shown.
const SHOWN: usize = 8;

/// Asks for the model, after telling some that there are. `catalogued` is the provider's name in the catalogue, if it
/// is there.
pub(super) fn ask(
    session: &mut Session<'_>,
    catalogued: Option<&str>,
    preset: Option<&Preset>,
) -> Result<String, CliError> {
    let default = preset.map_or("", |preset| preset.model);
    if let Some(provider) = catalogued {
        offer(session, provider, default);
    }
    session.ask("Model", default)
}

/// The usual one first, then the newest.
fn offer(session: &mut Session<'_>, provider: &str, default: &str) {
    let mut models: Vec<CatalogueModel> =
        catalogue::models_of(provider).filter(|model| !model.deprecated).collect();
    let count = models.len();
    models.sort_by_key(|model| model.id != default);
    models.truncate(SHOWN);
    let date = catalogue::date();
    session.ui.note(&format!("Models of {provider}, USD per million tokens in and out, as of {date}:"));
    let width = models.iter().map(|model| model.id.chars().count()).max().unwrap_or(0);
    for CatalogueModel { id, prices, .. } in &models {
        let prices = prices.as_ref().map(|prices| format!("{} in, {} out", prices.input, prices.output));
        let line = format!("  {id:<width$}  {}", prices.unwrap_or_default());
        session.ui.note(line.trim_end());
    }
    if count > models.len() {
        session.ui.note(&format!("  … and {} more: `uwf models '{provider}/*'`", count - models.len()));
    }
}

/// Warns of a model that the catalogue does not know there, or knows to end. What is deployed on Azure has the names
/// that people gave it.
pub(super) fn advise(session: &mut Session<'_>, catalogued: Option<&str>, id: &str) {
    let Some(provider) = catalogued.filter(|provider| *provider != "azure") else { return };
    let date = catalogue::date();
    match catalogue::find(provider, id) {
        Some(model) if model.deprecated => {
            session.ui.warn(&format!("{id} is deprecated, says the catalogue of {date}"));
        }
        Some(_) => {}
        None => {
            let known = suggest::sorted(id, catalogue::models_of(provider).map(|model| model.id));
            let near = known.into_iter().take(3).collect::<Vec<_>>().join(", ");
            session.ui.warn(&format!(
                "the catalogue of {date} has no model {id} of {provider}; the nearest are {near}"
            ));
        }
    }
}
