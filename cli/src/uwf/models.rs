//! `uwf models`: what is known of models, without asking any provider and without a home.

use uwf_store::suggest;

use super::args::Models;
use crate::shell::{CliError, Column, Session, render};
use uwf_engine::catalogue::{self, CatalogueModel};
use uwf_engine::view::ModelRow;

/// Characters shown of a pattern that nothing is like.
const SHOWN: usize = 100;

const HEADINGS: [Column; 9] = [
    Column::new("MODEL"),
    Column::new("WINDOW").rank(3),
    Column::new("OUTPUT").rank(4),
    Column::new("$ IN").rank(1),
    Column::new("$ CACHED").rank(5),
    Column::new("$ WRITTEN").rank(6),
    Column::new("$ OUT").rank(2),
    Column::new("EFFORTS").rank(8),
    Column::new("WIRE").rank(7),
];

pub(super) fn run(session: &mut Session<'_>, args: &Models) -> Result<u8, CliError> {
    let pattern = args.pattern.as_deref().unwrap_or_default();
    let models: Vec<CatalogueModel> =
        catalogue::models().filter(|model| fits(pattern, &name(model))).collect();
    if models.is_empty() {
        return Err(unknown(pattern));
    }
    let rows: Vec<ModelRow> = models.iter().cloned().map(ModelRow::from).collect();
    session.ui.result(&rows, || {
        let cells: Vec<_> = models.iter().map(cells).collect();
        render::table(HEADINGS, &cells).then(format!("\n{}", legend(&models)))
    })
}

fn name(model: &CatalogueModel) -> String {
    format!("{}/{}", model.provider, model.id)
}

fn cells(model: &CatalogueModel) -> [String; 9] {
    let prices = model.prices.as_ref();
    let more = if has_tiers(model) { "+" } else { "" };
    let price = |price: Option<f64>| price.map(|price| format!("{price}{more}")).unwrap_or_default();
    let ends = if model.deprecated { " (deprecated)" } else { "" };
    [
        format!("{}{ends}", name(model)),
        model.window.to_string(),
        model.output.to_string(),
        price(prices.map(|prices| prices.input)),
        price(prices.and_then(|prices| prices.cached_input)),
        price(prices.and_then(|prices| prices.cache_write)),
        price(prices.map(|prices| prices.output)),
        model.efforts.join(" "),
        model.wire.unwrap_or_default().to_owned(),
    ]
}

fn has_tiers(model: &CatalogueModel) -> bool {
    model.prices.as_ref().is_some_and(|prices| !prices.tiers.is_empty())
}

fn legend(models: &[CatalogueModel]) -> String {
    let more =
        if models.iter().any(has_tiers) { "; +: long prompts cost more, --format json tells" } else { "" };
    format!("Prices in USD per million tokens as of {}{more}.\n", catalogue::date())
}

/// Whether a name is meant: it holds the text, or is like the pattern when there is a `*` or `?` in it.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    if pattern.contains(['*', '?']) {
        is_like(pattern.as_bytes(), name.as_bytes())
    } else {
        name.contains(&pattern)
    }
}

/// `*` is any text, `?` any character. A `*` is tried shortest first and only the last one is tried again, which is
/// enough and never slow.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut retry = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                retry = Some((at, from));
            }
            Some(b'?') => (at, from) = (at + 1, from + 1),
            Some(byte) if *byte == name[from] => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((after, begun)) = retry else { return false };
                (at, from) = (after, begun + 1);
                retry = Some((after, begun + 1));
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

fn unknown(pattern: &str) -> CliError {
    let pattern = &*pattern.chars().take(SHOWN).collect::<String>();
    let whole = pattern.contains('/');
    let names = catalogue::models().map(|model| if whole { name(&model) } else { model.id.to_owned() });
    let mut near = suggest::sorted(pattern, names);
    near.dedup();
    // Dashes and dots are what people leave out first.
    let bare =
        |text: &str| -> String { text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect() };
    near.sort_by_key(|name| !bare(name).contains(&bare(pattern)));
    near.truncate(3);
    CliError::user(format!("no model of the catalogue of {} is like {pattern}", catalogue::date()))
        .with_hint(format!("the nearest are {}; `uwf models` lists all", near.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_held_and_a_pattern_is_the_whole_name() {
        for (pattern, name, expected) in [
            ("", "openai/gpt-6", true),
            ("GPT", "openai/gpt-6", true),
            ("i/g", "openai/gpt-6", true),
            ("gpt-7", "openai/gpt-6", false),
            ("gpt-*", "openai/gpt-6", false),
            ("*gpt-*", "openai/GPT-6", true),
            ("openai/gpt-?", "openai/gpt-6", true),
            ("openai/gpt-?", "openai/gpt-66", false),
            ("open*/*a*b", "openrouter/x/aab", true),
            ("open*/*a*b", "openrouter/x/aabc", false),
            ("*", "x", true),
            ("**?", "x", true),
            ("?", "", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
