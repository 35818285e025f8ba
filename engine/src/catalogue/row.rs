//! One line of the table, and what it says.
//!
//! The columns are described in `update.py`, which writes them. A line that cannot be read is no model; a test reads all
//! of them.

use super::{CatalogueModel, Prices, Tier};

/// A line, and the provider it stands below.
#[derive(Clone, Copy)]
pub(super) struct CatalogueRow {
    pub(super) provider: &'static str,
    pub(super) line: &'static str,
}

impl CatalogueRow {
    /// The model's name, without reading the rest.
    pub(super) fn id(self) -> &'static str {
        self.line.split('\t').next().unwrap_or_default()
    }

    pub(super) fn model(self) -> Option<CatalogueModel> {
        let mut columns = self.line.split('\t');
        // Empty columns at the end are not written.
        let mut next = || columns.next().unwrap_or_default();
        let (id, window, input, output, prices) = (next(), next(), next(), next(), next());
        let (efforts, flags, wire, echo) = (next(), next(), next(), next());
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        Some(CatalogueModel {
            provider: self.provider,
            id,
            window: window.parse().ok()?,
            input: some(input).map(str::parse).transpose().ok()?,
            output: output.parse().ok()?,
            prices: match some(prices) {
                Some(text) => Some(self::prices(text)?),
                None => None,
            },
            efforts: efforts.split(',').filter_map(some).collect(),
            reasoning: flags.contains('r'),
            temperature: flags.contains('t'),
            wire: some(wire),
            adaptive_thinking: flags.contains('a'),
            thinking_budget: flags.contains('b'),
            echo: some(echo),
            deprecated: flags.contains('d'),
        })
    }
}

/// `input/output/cached/written`, then `;ABOVE:` and the same.
fn prices(text: &str) -> Option<Prices> {
    let mut parts = text.split(';');
    let [input, output, cached_input, cache_write] = rates(parts.next()?)?;
    let tier = |text: &str| {
        let (above, prices) = text.split_once(':')?;
        let [input, output, cached_input, cache_write] = rates(prices)?;
        let (input, output) = (input?, output?);
        Some(Tier { above: above.parse().ok()?, input, output, cached_input, cache_write })
    };
    let tiers = parts.map(tier).collect::<Option<Vec<_>>>()?;
    Some(Prices { input: input?, output: output?, cached_input, cache_write, tiers })
}

/// Four rates, those at the end perhaps missing.
fn rates(text: &str) -> Option<[Option<f64>; 4]> {
    let mut rates = [None; 4];
    for (at, text) in text.split('/').enumerate() {
        let rate = if text.is_empty() { None } else { Some(text.parse().ok()?) };
        *rates.get_mut(at)? = rate;
    }
    Some(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_all_there_is_to_know() {
        let line = "m-1\t1000\t900\t100\t1/2/0.1/1.25;500:2/3//\tnone,high\trtabd\tmessages\techoed";
        let model = CatalogueRow { provider: "p", line }.model().unwrap();
        let tier = Tier { above: 500, input: 2.0, output: 3.0, cached_input: None, cache_write: None };
        let prices = Prices {
            input: 1.0,
            output: 2.0,
            cached_input: Some(0.1),
            cache_write: Some(1.25),
            tiers: vec![tier],
        };
        let expected = CatalogueModel {
            provider: "p",
            id: "m-1",
            window: 1000,
            input: Some(900),
            output: 100,
            prices: Some(prices),
            efforts: vec!["none", "high"],
            reasoning: true,
            temperature: true,
            wire: Some("messages"),
            adaptive_thinking: true,
            thinking_budget: true,
            echo: Some("echoed"),
            deprecated: true,
        };
        assert_eq!(model, expected);
    }

    #[test]
    fn what_is_not_said_is_not_known_and_what_cannot_be_read_is_no_model() {
        let model = |line| CatalogueRow { provider: "p", line }.model();
        let least = model("m\t1000\t\t100").unwrap();
        assert_eq!((least.prices, least.efforts, least.wire, least.input), (None, vec![], None, None));
        assert_eq!(model("m\t1\t\t1\t1/2//0.5").unwrap().prices.unwrap().cached_input, None);
        for line in
            ["", "m", "m\tx\t\t1", "m\t1\tx\t1", "m\t1\t\t1\t1", "m\t1\t\t1\t1/2;3", "m\t1\t\t1\t1/2/3/4/5"]
        {
            assert_eq!(model(line), None, "{line}");
        }
    }
}
