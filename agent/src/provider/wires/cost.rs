//! What an endpoint says that a completion cost, in the fields of several vendors.
//!
//! Apart because two wires read it. It wins over any list of prices.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::lenient::number;
use crate::usd::Usd;

/// xAI counts in these: so many make a dollar.
const TICKS: f64 = 1e10;

/// The fields of a usage that tell of money.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::provider) struct Cost {
    #[serde(deserialize_with = "number")]
    cost: Option<f64>,
    #[serde(deserialize_with = "flat")]
    is_byok: bool,
    #[serde(deserialize_with = "flat")]
    cost_details: CostDetails,
    #[serde(deserialize_with = "number")]
    cost_in_usd_ticks: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CostDetails {
    #[serde(deserialize_with = "number")]
    upstream_inference_cost: Option<f64>,
}

/// As [`super::lenient::lenient`], in fields that are flattened into others: there are no raw values to read there.
fn flat<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

impl Cost {
    /// All that is charged, in dollars, to the billionth: with a key of the user's own at the vendor behind a gateway, that vendor's bill, too.
    pub(in crate::provider) fn usd(&self) -> Option<f64> {
        let upstream = self.cost_details.upstream_inference_cost.filter(|_| self.is_byok).unwrap_or(0.0);
        let told = self.cost.map(|cost| cost + upstream);
        let dollars = told.or(self.cost_in_usd_ticks.map(|ticks| ticks / TICKS));
        let dollars = dollars.filter(|dollars| *dollars >= 0.0)?;
        Some(Usd::dollars(dollars).in_dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_stands_among_the_tokens() {
        #[derive(Deserialize)]
        struct Usage {
            tokens: u64,
            #[serde(flatten)]
            cost: Cost,
        }
        for (odd, dollars) in [("{\"upstream_inference_cost\": 0.02}", 0.021), ("null", 0.001), ("[]", 0.001)]
        {
            let json = format!(r#"{{"tokens": 3, "cost": 0.001, "is_byok": true, "cost_details": {odd}}}"#);
            let usage: Usage = serde_json::from_str(&json).unwrap();
            assert_eq!((usage.tokens, usage.cost.usd()), (3, Some(dollars)));
        }
    }

    #[test]
    fn a_cost_is_told_in_dollars_or_in_ticks() {
        let usd = |json: &str| serde_json::from_str::<Cost>(json).unwrap().usd();
        assert_eq!(usd(r#"{"cost": 0.0123}"#), Some(0.0123));
        let byok = r#"{"cost": 0.001, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.02}}"#;
        assert_eq!(usd(byok), Some(0.021));
        assert_eq!(usd(&byok.replace("true", "false")), Some(0.001));
        assert_eq!(usd(r#"{"cost_in_usd_ticks": 158500000}"#), Some(0.01585));
        for none in ["{}", r#"{"cost": null}"#, r#"{"cost": -1}"#, r#"{"cost": "much"}"#, r#"{"cost": {}}"#] {
            assert_eq!(usd(none), None, "{none}");
        }
    }
}
