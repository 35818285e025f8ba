//! What one event tells: rules applied to a JSON value. It remembers nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use uwf_store::json;

use super::{Args, CallRule, Place, ResultRule, Rule, Span, UsageRule};
use crate::provider::message::TokenUsage;

/// Something that an event tells.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::external) enum Told {
    /// The session's id.
    Session(String),
    /// The model's name.
    Model(String),
    /// What follows belongs to this turn.
    Turn(String),
    /// What the model thought aloud.
    Reasoning(String),
    /// A text, or a piece of one that goes on where the last one ended.
    Text {
        /// The text.
        text: String,
        /// Whether it goes on.
        joins: bool,
    },
    /// A tool is called.
    Call {
        /// Its id, if it has one.
        id: Option<String>,
        /// The tool.
        name: String,
        /// JSON text.
        args: String,
    },
    /// A tool has answered.
    Result {
        /// Of which call.
        id: Option<String>,
        /// What.
        output: String,
        /// Whether it failed.
        failed: bool,
        /// Its exit code.
        exit_code: Option<i32>,
    },
    /// What was used.
    Usage {
        /// Tokens.
        tokens: TokenUsage,
        /// What the tokens are of.
        of: Span,
        /// USD.
        cost: Option<f64>,
        /// What that is of.
        cost_of: Span,
    },
    /// The whole answer.
    Answer(String),
    /// The agent has done.
    Done,
    /// What went wrong.
    Error(String),
    /// The agent has failed.
    Fails,
}

/// What the rules that fit to an event tell of it, in order.
pub(in crate::external) fn told(rules: &[Rule], event: &Value) -> Vec<Told> {
    let mut all = Vec::new();
    for rule in rules.iter().filter(|rule| fits(&rule.when, event)) {
        of_rule(rule, event, &mut all);
    }
    all
}

fn of_rule(rule: &Rule, event: &Value, all: &mut Vec<Told>) {
    let text = |place: &Option<Place>| place.as_ref().and_then(|place| place.text(event));
    all.extend(text(&rule.session).filter(|id| !id.is_empty()).map(Told::Session));
    all.extend(text(&rule.model).map(Told::Model));
    all.extend(text(&rule.turn).map(Told::Turn));
    all.extend(text(&rule.reasoning).map(Told::Reasoning));
    all.extend(text(&rule.text).map(|text| Told::Text { text, joins: false }));
    all.extend(text(&rule.delta).map(|text| Told::Text { text, joins: true }));
    all.extend(rule.call.as_ref().and_then(|call| of_call(call, event)));
    all.extend(rule.result.as_ref().and_then(|result| of_result(result, event)));
    all.extend(rule.usage.as_ref().and_then(|usage| of_usage(usage, event)));
    all.extend(text(&rule.answer).map(Told::Answer));
    all.extend(text(&rule.error).map(Told::Error));
    all.extend(rule.done.then_some(Told::Done));
    all.extend(rule.fails.then_some(Told::Fails));
    if let Some(each) = &rule.each
        && let Some(Value::Array(items)) = each.of.value(event)
    {
        items.iter().for_each(|item| all.extend(told(&each.events, item)));
    }
}

/// Whether each of these values is where it must be; what is not there is null.
fn fits(when: &BTreeMap<String, Value>, event: &Value) -> bool {
    when.iter().all(|(pointer, wanted)| {
        let found = event.pointer(pointer).unwrap_or(&Value::Null);
        match wanted {
            Value::Array(any) => any.contains(found),
            wanted => wanted == found,
        }
    })
}

fn of_call(rule: &CallRule, event: &Value) -> Option<Told> {
    let args = match &rule.args {
        Args::Whole(place) => place.value(event).cloned().unwrap_or(Value::Null),
        Args::Named(places) => {
            let found = places.iter().filter_map(|(name, place)| Some((name, place.owned(event)?)));
            Value::Object(found.map(|(name, value)| (name.clone(), value)).collect::<Map<_, _>>())
        }
    };
    let args = match args {
        // Some tell them as the text that the model wrote.
        Value::String(text) if serde_json::from_str::<Value>(&text).is_ok() => text,
        Value::Null => "{}".to_owned(),
        args => json::line(&args),
    };
    let id = rule.id.as_ref().and_then(|place| place.text(event));
    Some(Told::Call { id, name: rule.name.text(event)?, args })
}

fn of_result(rule: &ResultRule, event: &Value) -> Option<Told> {
    let exit_code = rule.exit_code.as_ref().and_then(|place| place.value(event)?.as_i64());
    let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
    let id = rule.id.as_ref().and_then(|place| place.text(event));
    let output = rule.output.text(event).unwrap_or_default();
    let failed = !rule.failed.is_empty() && fits(&rule.failed, event);
    Some(Told::Result { id, output, failed, exit_code })
}

fn of_usage(rule: &UsageRule, event: &Value) -> Option<Told> {
    let number = |places: &[Place]| {
        let found = places.iter().filter_map(|place| place.value(event)?.as_f64());
        found.reduce(|sum, number| sum + number)
    };
    // What is below 0 is 0, and what is too much the most there is.
    let tokens = |places: &[Place]| number(places).unwrap_or_default() as u64;
    let used = TokenUsage {
        input_tokens: tokens(&rule.input),
        output_tokens: tokens(&rule.output),
        cached_tokens: tokens(&rule.cached),
        written_tokens: tokens(&rule.written),
        reasoning_tokens: tokens(&rule.reasoning),
        cost_usd: None,
    };
    let cost = number(&rule.cost).filter(|cost| cost.is_finite() && *cost >= 0.0);
    let is_told = cost.is_some() || number(&rule.input).is_some() || number(&rule.output).is_some();
    let cost_of = rule.cost_of.unwrap_or(rule.of);
    is_told.then_some(Told::Usage { tokens: used, of: rule.of, cost, cost_of })
}

impl Place {
    /// What is there; a text that stands for itself is nowhere.
    fn value<'e>(&self, event: &'e Value) -> Option<&'e Value> {
        event.pointer(&self.0).filter(|value| !value.is_null())
    }

    fn is_pointer(&self) -> bool {
        self.0.is_empty() || self.0.starts_with('/')
    }

    fn owned(&self, event: &Value) -> Option<Value> {
        if self.is_pointer() { self.value(event).cloned() } else { Some(Value::from(self.0.as_str())) }
    }

    /// What is there as a text: the texts of a list of pieces one after the other, anything else as JSON.
    fn text(&self, event: &Value) -> Option<String> {
        self.owned(event).map(|value| text_of(&value))
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() && items.iter().all(is_piece) => {
            items.iter().filter_map(piece).collect::<Vec<_>>().join("\n")
        }
        value => json::line(value),
    }
}

/// A text, or an object of the kind that models and tools speak in.
fn is_piece(item: &Value) -> bool {
    item.is_string() || item["type"].is_string()
}

fn piece(item: &Value) -> Option<&str> {
    item.as_str().or_else(|| item["text"].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(yaml: &str) -> Vec<Rule> {
        serde_json::from_value(uwf_workflow::yaml::parse_value(yaml).unwrap()).unwrap()
    }

    #[test]
    fn every_rule_that_fits_is_followed_and_elements_have_their_own() {
        let rules = rules(
            "- when: { /type: [assistant, model] }
  session: /session_id
  turn: /message/id
  each:
    of: /message/content
    events:
      - { when: { /type: text }, text: /text }
      - { when: { /type: tool_use }, call: { id: /id, name: /name, args: /input } }
- { when: { /type: assistant }, usage: { input: [/in, /cached], cost: [/usd], of: call, costOf: session } }
",
        );
        let content = json!([
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
            {"type": "image"},
        ]);
        let event = json!({"type": "assistant", "session_id": "s", "in": 3, "cached": 4, "usd": 0.5,
            "message": {"id": "m", "content": content}});
        let (of, cost_of) = (Span::Call, Span::Session);
        let tokens = TokenUsage { input_tokens: 7, ..TokenUsage::default() };
        let expected = [
            Told::Session("s".into()),
            Told::Turn("m".into()),
            Told::Text { text: "I look.".into(), joins: false },
            Told::Call { id: Some("a".into()), name: "Bash".into(), args: r#"{"command":"ls"}"#.into() },
            Told::Usage { tokens, of, cost: Some(0.5), cost_of },
        ];
        assert_eq!(told(&rules, &event), expected);
        assert_eq!(told(&rules, &json!({"type": "user"})), []);
    }

    #[test]
    fn arguments_results_and_texts_come_in_many_shapes() {
        let rules = rules(
            "- call: { name: shell, args: { command: /item/command, kind: command } }
  result: { output: /item/out, failed: { /item/status: failed }, exitCode: /item/code }
  error: /errors/0
",
        );
        let told_of = |event: Value| told(&rules, &event);
        let event = json!({"item": {"command": "ls", "out": [{"type": "text", "text": "a"}, "b"], "code": 2, "status": "failed"}});
        let expected = [
            Told::Call {
                id: None,
                name: "shell".into(),
                args: r#"{"command":"ls","kind":"command"}"#.into(),
            },
            Told::Result { id: None, output: "a\nb".into(), failed: true, exit_code: Some(2) },
        ];
        assert_eq!(told_of(event), expected);
        let other = told_of(json!({"item": {"out": {"k": [1]}}, "errors": [{"code": 1}]}));
        assert_eq!(
            other[1],
            Told::Result { id: None, output: r#"{"k":[1]}"#.into(), failed: false, exit_code: None }
        );
        assert_eq!(other[2], Told::Error(r#"{"code":1}"#.into()));
    }

    #[test]
    fn numbers_that_are_none_are_not_used() {
        let rules = rules("- usage: { input: [/in], output: [/out], cost: [/usd] }");
        assert_eq!(told(&rules, &json!({"in": "3", "usd": -1})), []);
        let Some(Told::Usage { tokens, .. }) = told(&rules, &json!({"in": -3.5, "out": 1e300})).pop() else {
            panic!("no usage")
        };
        assert_eq!((tokens.input_tokens, tokens.output_tokens), (0, u64::MAX));
    }
}
