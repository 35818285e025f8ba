//! `roles:` of a script: visits, and the behaviours of a visit.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use uwf_store::schema::pointer;

use super::ScriptReader;
use crate::provider::script::behaviours::{Behaviour, MAX_WEIGHT};
use crate::provider::script::{ScriptVisit, expect};

const VISIT: &[&str] = &["turns", "behaviours"];
const BEHAVIOUR: &[&str] = &["name", "weight", "when", "turns"];

impl<'d> ScriptReader<'d> {
    pub(super) fn roles(
        &mut self,
        pointer: &str,
        value: &'d Value,
    ) -> Option<BTreeMap<String, Vec<ScriptVisit>>> {
        let Value::Object(roles) = value else {
            self.mismatch(pointer, "a mapping of roles", value);
            return None;
        };
        let visits = |(role, visits): (&'d String, &'d Value)| {
            let pointer = format!("{pointer}/{}", pointer::escape(role));
            (role.clone(), self.items(&pointer, visits, Self::visit))
        };
        Some(roles.iter().map(visits).collect())
    }

    fn visit(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptVisit> {
        let visit = self.object(pointer, value, VISIT)?;
        match (visit.get("turns"), visit.get("behaviours")) {
            (Some(turns), None) => {
                Some(vec![Behaviour::only(self.entries(&format!("{pointer}/turns"), turns))])
            }
            (None, Some(behaviours)) => {
                let pointer = format!("{pointer}/behaviours");
                let read = self.items(&pointer, behaviours, Self::behaviour);
                self.names_differ(&pointer, &read);
                Some(read)
            }
            (None, None) => {
                self.problem(pointer, "`turns` is missing, or `behaviours`".to_owned());
                None
            }
            (Some(_), Some(_)) => {
                self.problem(pointer, "`turns` and `behaviours` exclude each other".to_owned());
                None
            }
        }
    }

    fn behaviour(&mut self, pointer: &str, value: &'d Value) -> Option<Behaviour> {
        let map = self.object(pointer, value, BEHAVIOUR)?;
        let name = self.required(pointer, map, "name");
        let weight = self.get(pointer, map, "weight", ("a number from 1 to 1000000", weight));
        let when = self.get(pointer, map, "when", ("a text or a list of texts", expect::texts));
        let Some(turns) = map.get("turns") else {
            self.problem(pointer, "`turns` is missing".to_owned());
            return None;
        };
        let turns = self.entries(&format!("{pointer}/turns"), turns);
        let (weight, when) = (weight.unwrap_or(1), when.unwrap_or_default());
        Some(Behaviour { name: Some(name?), weight, when, turns })
    }

    fn required(&mut self, pointer: &str, map: &'d Map<String, Value>, key: &str) -> Option<String> {
        let text = self.text(pointer, map, key);
        if map.get(key).is_none_or(Value::is_null) {
            self.problem(pointer, format!("`{key}` is missing"));
        }
        text
    }

    fn names_differ(&mut self, pointer: &str, behaviours: &[Behaviour]) {
        for (n, behaviour) in behaviours.iter().enumerate() {
            let name = behaviour.name.as_deref().unwrap_or_default();
            if behaviours[..n].iter().any(|before| before.name == behaviour.name) {
                self.problem(pointer, format!("two behaviours are called {name}"));
            }
        }
    }
}

fn weight(value: &Value) -> Option<u64> {
    value.as_u64().filter(|weight| (1..=MAX_WEIGHT).contains(weight))
}
