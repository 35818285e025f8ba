//! What a wire must know of a model beyond its name.
//!
//! Apart because it is asked for in two ways: the catalogue where it knows the model, the name's version where not.

use uwf_engine::catalogue;

use super::message::Sampling;

/// Facts of a model that change what is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelFacts {
    /// Tokens that it can answer with, where known.
    pub output_limit: Option<u64>,
    /// Tokens of prompt and answer together, where known.
    pub window: Option<u64>,
    /// Whether a temperature is refused whatever else is sent.
    pub refuses_temperature: bool,
    /// Whether thinking is `adaptive`; else it needs a budget of tokens.
    pub adaptive_thinking: bool,
    /// Whether its thinking is bound to all that was sent before it.
    pub binds_prefix: bool,
}

impl ModelFacts {
    /// The facts of the model of that name at a host; behind a gateway it is what it is at its maker.
    pub(crate) fn of(host: &str, model: &str) -> ModelFacts {
        let facts = ModelFacts::of_name(model);
        let at_host = catalogue::provider_of(host).and_then(|provider| catalogue::find(provider, model));
        // Behind another host a name may mean another model: only what is harmless then is taken over.
        let refuses_temperature = at_host.as_ref().is_some_and(|known| !known.temperature);
        let Some(known) = at_host.or_else(|| catalogue::find_any(model)) else { return facts };
        ModelFacts {
            // Where an answer may fill the window there is no limit worth saying.
            output_limit: Some(known.output).filter(|output| output.saturating_mul(2) <= known.window),
            window: Some(known.window),
            refuses_temperature: facts.refuses_temperature || refuses_temperature,
            adaptive_thinking: facts.adaptive_thinking || known.adaptive_thinking,
            ..facts
        }
    }

    /// Whether a temperature may be sent: some models take one only while they do not reason.
    pub(in crate::provider) fn takes_temperature(&self, sampling: &Sampling) -> bool {
        let reasons = !matches!(sampling.reasoning_effort.as_deref(), Some("none" | "off"));
        !(self.refuses_temperature && reasons)
    }

    /// What the name of a Claude tells: its version.
    pub(in crate::provider) fn of_name(model: &str) -> ModelFacts {
        let Some(version) = claude_version(model) else { return ModelFacts::default() };
        ModelFacts {
            output_limit: None,
            window: None,
            refuses_temperature: version >= (4, 7),
            adaptive_thinking: version >= (4, 6),
            binds_prefix: version >= (5, 1),
        }
    }
}

/// The version in `claude-opus-5-5`, `anthropic/claude-opus-5.5`, `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet`.
fn claude_version(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.split_once("claude-")?;
    // A date is no version.
    let mut numbers = name
        .split(['-', '.', ':', '@'])
        .filter_map(|part| part.parse::<u32>().ok().filter(|_| part.len() <= 2));
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_knows_more_than_a_name() {
        let facts = ModelFacts::of("api.anthropic.com", "claude-opus-5-5");
        assert!(
            facts.output_limit.is_some_and(|limit| limit >= 64_000) && facts.adaptive_thinking,
            "{facts:?}"
        );
        assert_eq!(ModelFacts::of("gateway.example", "claude-opus-5-5"), facts);
        assert!(
            !ModelFacts::of("gateway.example", "gpt-6-sol").refuses_temperature,
            "it may be another model"
        );
        assert!(ModelFacts::of("api.openai.com", "gpt-6-sol").refuses_temperature);
        assert_eq!(ModelFacts::of("127.0.0.1:8000", "my-own"), ModelFacts::default());
    }

    #[test]
    fn a_claude_tells_its_version() {
        for (name, version) in [
            ("claude-opus-5-5", Some((5, 5))),
            ("anthropic/claude-opus-5.5", Some((5, 5))),
            ("claude-sonnet-4-5-20250929", Some((4, 5))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("us.anthropic.claude-fable-5-v1:0", Some((5, 0))),
            ("gpt-6-sol", None),
        ] {
            assert_eq!(claude_version(name), version, "{name}");
        }
        let facts = ModelFacts::of_name("claude-sonnet-5-1");
        assert!(facts.adaptive_thinking && facts.refuses_temperature && facts.binds_prefix);
        let facts = ModelFacts::of_name("claude-sonnet-4-5");
        assert!(!facts.adaptive_thinking && !facts.refuses_temperature && !facts.binds_prefix);
    }
}
