//! How the reply of an agent is read: as text, as one JSON value, or as JSON lines whose events are mapped by rules.
//!
//! Pure, and in two parts: `rules` says what one event tells, `turns` makes turns of what was told. A JSON value that is all of
//! the reply is one event.

mod rules;
mod turns;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

pub(super) use self::rules::{Told, told};
pub(super) use self::turns::{Act, ToldResult, ToldTurn, Turns, UsedBefore};
use crate::provider::message::TokenUsage;

/// How a reply is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reply {
    /// What is on stdout.
    pub format: Format,
    /// What a line of stdout or stderr begins with that tells the session's id; it is no part of the answer.
    #[serde(default)]
    pub session_line: Option<String>,
    /// What the line of a text begins with by which the agent says that it has done: a text without it is no answer.
    #[serde(default)]
    pub end_line: Option<String>,
    /// What lines of stdout begin with that say nothing.
    #[serde(default)]
    pub skip: Vec<String>,
    /// What the events of a JSON reply tell. All that fit to an event are followed.
    #[serde(default)]
    pub events: Vec<Rule>,
}

/// What is on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The answer.
    Text,
    /// One JSON value.
    Json,
    /// A JSON value a line; what is none is passed over.
    Jsonl,
}

/// What an event tells. Places in it are JSON pointers, from an event or, within `each`, from an element; a text that does not
/// begin with `/` stands for itself, and an empty one for the whole.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rule {
    /// To which events it fits: by pointer the value that must be there, or a list of which it must be one.
    pub when: BTreeMap<String, Value>,
    /// The session's id.
    pub session: Option<Place>,
    /// The model's name.
    pub model: Option<Place>,
    /// The id of the turn that it belongs to: another id begins another turn.
    pub turn: Option<Place>,
    /// What the model thought aloud.
    pub reasoning: Option<Place>,
    /// A piece of text of its own.
    pub text: Option<Place>,
    /// A piece of text that goes on where the last one ended.
    pub delta: Option<Place>,
    /// A call of a tool.
    pub call: Option<CallRule>,
    /// What a tool answered.
    pub result: Option<ResultRule>,
    /// What was used.
    pub usage: Option<UsageRule>,
    /// The whole answer, where it is told apart.
    pub answer: Option<Place>,
    /// The agent says that it has done: where a definition has such a rule, a reply without it is none. What failed before it was
    /// tried again.
    pub done: bool,
    /// What went wrong. It counts where the agent fails.
    pub error: Option<Place>,
    /// The agent has failed, whatever its exit code.
    pub fails: bool,
    /// The elements of a list, each with rules of its own.
    pub each: Option<Each>,
}

/// The elements of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Each {
    /// The list.
    pub of: Place,
    /// What its elements tell.
    pub events: Vec<Rule>,
}

/// Where something is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Place(pub String);

/// A call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRule {
    /// Its id; without one, it is the result's next to it.
    pub id: Option<Place>,
    /// The tool.
    pub name: Place,
    /// Its arguments: where they are, or by name where each is.
    pub args: Args,
}

/// The arguments of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Args {
    /// All of them.
    Whole(Place),
    /// Each by name.
    Named(BTreeMap<String, Place>),
}

/// What a tool answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResultRule {
    /// The id of the call.
    pub id: Option<Place>,
    /// Its output.
    pub output: Place,
    /// By pointer what tells that it failed, as `when` does.
    #[serde(default)]
    pub failed: BTreeMap<String, Value>,
    /// Its exit code.
    #[serde(default)]
    pub exit_code: Option<Place>,
}

/// What was used, in tokens and USD. Each number is the sum of what is at its places.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UsageRule {
    /// Sent, with what came from a cache and what was written to one.
    pub input: Vec<Place>,
    /// Received, with what was thought.
    pub output: Vec<Place>,
    /// Sent tokens that came from a cache.
    pub cached: Vec<Place>,
    /// Sent tokens that were written to a cache.
    pub written: Vec<Place>,
    /// Received tokens spent on reasoning.
    pub reasoning: Vec<Place>,
    /// USD.
    pub cost: Vec<Place>,
    /// What the tokens are of.
    pub of: Span,
    /// What the cost is of, where that is something else.
    pub cost_of: Option<Span>,
}

/// What a number is the sum of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Span {
    /// A turn.
    #[default]
    Turn,
    /// This call of the agent.
    Call,
    /// The session from its beginning.
    Session,
}

impl Reply {
    /// Whether something in it tells the session's id.
    pub(super) fn tells_session(&self) -> bool {
        fn any(rules: &[Rule]) -> bool {
            rules.iter().any(|rule| {
                rule.session.is_some() || rule.each.as_ref().is_some_and(|each| any(&each.events))
            })
        }
        self.session_line.is_some() || any(&self.events)
    }

    /// Whether anything in it tells what it cost.
    pub(super) fn tells_cost(&self) -> bool {
        self.events.iter().filter_map(|rule| rule.usage.as_ref()).any(|usage| !usage.cost.is_empty())
    }

    /// Whether what it cost is told as a sum, and so not of each turn.
    pub(super) fn sums_cost(&self) -> bool {
        let usages = self.events.iter().filter_map(|rule| rule.usage.as_ref());
        let mut sums =
            usages.map(|usage| !usage.cost.is_empty() && usage.cost_of.unwrap_or(usage.of) != Span::Turn);
        sums.any(|sums| sums)
    }

    /// The usage of a turn: where a sum is told later, nothing of it is this turn's.
    pub(super) fn priced(&self, usage: Option<TokenUsage>) -> Option<TokenUsage> {
        if !self.sums_cost() {
            return usage;
        }
        let usage = usage.unwrap_or_default();
        Some(TokenUsage { cost_usd: usage.cost_usd.or(Some(0.0)), ..usage })
    }

    /// Whether the agent says when it has done.
    pub(super) fn tells_end(&self) -> bool {
        self.end_line.is_some() || self.events.iter().any(|rule| rule.done)
    }

    /// The session's id where the line tells it; empty where it tells none.
    pub(super) fn session_in<'l>(&self, line: &'l str) -> Option<&'l str> {
        let told = line.trim_start().strip_prefix(self.session_line.as_deref()?)?;
        Some(told.split_whitespace().next().unwrap_or_default())
    }

    /// Whether the line says nothing.
    pub(super) fn skips(&self, line: &str) -> bool {
        self.skip.iter().any(|start| line.starts_with(start.as_str()))
    }

    /// Whether this line of a text says that the agent has done.
    pub(super) fn ends(&self, line: &str) -> bool {
        self.end_line.as_ref().is_some_and(|end| line.starts_with(end.as_str()))
    }

    /// What fits together, in words where it does not.
    pub(super) fn check(&self) -> Result<(), String> {
        match (self.format, self.events.is_empty()) {
            (Format::Text, false) => Err("reply.events: a text has no events".to_owned()),
            (Format::Json | Format::Jsonl, true) => {
                Err("reply.events is missing: nothing says what the reply tells".to_owned())
            }
            _ => check_pointers(&self.events),
        }
    }
}

/// What must be a pointer is one.
fn check_pointers(rules: &[Rule]) -> Result<(), String> {
    for rule in rules {
        let failed = rule.result.iter().flat_map(|result| result.failed.keys());
        if let Some(key) = rule.when.keys().chain(failed).find(|key| !key.starts_with('/')) {
            return Err(format!("reply.events: {key:?} is no JSON pointer: one begins with /"));
        }
        check_pointers(rule.each.as_ref().map_or(&[], |each| &each.events))?;
    }
    Ok(())
}

/// The JSON value that a text is, or ends with: some say other things before it.
pub(super) fn value_in(text: &str) -> Option<Value> {
    let whole = serde_json::from_str(text.trim()).ok();
    whole
        .or_else(|| {
            text.lines()
                .rev()
                .find_map(|line| serde_json::from_str(line.trim()).ok().filter(Value::is_object))
        })
        .or_else(|| serde_json::from_str(text.get(text.find('{')?..)?.trim()).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_behind_what_is_said_before_it() {
        assert_eq!(value_in(" {\"a\": 1}\n"), Some(json!({"a": 1})));
        assert_eq!(value_in("Loading…\n{\"a\": 1}\n"), Some(json!({"a": 1})));
        assert_eq!(value_in("Loading…\n{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"), Some(json!({"a": {"b": 1}})));
        assert_eq!(value_in("nothing"), None);
    }
}
