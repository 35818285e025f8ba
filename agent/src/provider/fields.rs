//! The body of a request as a list of fields, in the order in which they are sent.
//!
//! Apart because all wires build one, and because what an endpoint refuses is left out of it, and what a user adds is
//! merged into it, by name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use uwf_store::json::sorted;

use crate::secrets::Secrets;

/// The fields of a JSON object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(Cow<'static, str>, Box<RawValue>)>);

impl Fields {
    /// Adds a field at the end.
    pub(in crate::provider) fn push(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) {
        self.0.push((Cow::Borrowed(name), raw(value)));
    }

    /// Adds a field at the end, if it has a value.
    pub(in crate::provider) fn push_some(
        &mut self,
        name: &'static str,
        value: Option<&(impl Serialize + ?Sized)>,
    ) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// The fields in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Merges fields in: an object into an object, field by field; anything else takes the place of what is there; null
    /// removes it.
    pub(in crate::provider) fn merge(&mut self, fields: &Map<String, Value>) {
        for (name, value) in by_name(fields) {
            let Some(at) = self.0.iter().position(|(known, _)| known == name) else {
                let mut new = Map::new();
                merge_into(&mut new, &Map::from_iter([(name.clone(), value.clone())]));
                self.0.extend(new.into_iter().map(|(name, value)| (Cow::Owned(name), raw_value(value))));
                continue;
            };
            match (value, serde_json::from_str(self.0[at].1.get())) {
                (Value::Null, _) => drop(self.0.remove(at)),
                (Value::Object(new), Ok(Value::Object(mut there))) => {
                    merge_into(&mut there, new);
                    self.0[at].1 = raw_value(Value::Object(there));
                }
                _ => self.0[at].1 = raw_value(value.clone()),
            }
        }
    }

    /// The same without the secrets in the fields that these were merged into; none where there is none in them.
    pub(in crate::provider) fn cleaned(
        &self,
        merged: &Map<String, Value>,
        secrets: &Secrets,
    ) -> Option<Fields> {
        let mut cleaned = None;
        for (at, (_, value)) in
            self.0.iter().enumerate().filter(|(_, (name, _))| merged.contains_key(&**name))
        {
            let value: Value = serde_json::from_str(value.get()).expect("a raw value is JSON");
            let clean = secrets.clean_value(value.clone());
            if clean != value {
                cleaned.get_or_insert_with(|| self.clone()).0[at].1 = raw_value(clean);
            }
        }
        cleaned
    }

    /// Whether there is a field of that name: `temperature`, or one within an object, `reasoning.summary`.
    pub(in crate::provider) fn has(&self, path: &str) -> bool {
        let (name, within) = path.split_once('.').map_or((path, None), |(name, within)| (name, Some(within)));
        let there = self.0.iter().find(|(known, _)| known == name);
        there.is_some_and(|(_, value)| match within {
            None => true,
            Some(within) => serde_json::from_str::<Map<String, Value>>(value.get())
                .is_ok_and(|object| object.contains_key(within)),
        })
    }

    /// The whole number in a field.
    pub(in crate::provider) fn number(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(known, _)| known == name)?.1.get().parse().ok()
    }

    /// Leaves a field out: `temperature`, or one within an object, `reasoning.summary`. Whether it was there.
    pub(in crate::provider) fn omit(&mut self, path: &str) -> bool {
        let (name, within) = path.split_once('.').map_or((path, None), |(name, within)| (name, Some(within)));
        let Some(at) = self.0.iter().position(|(known, _)| known == name) else { return false };
        let Some(within) = within else {
            self.0.remove(at);
            return true;
        };
        let Ok(Value::Object(mut object)) = serde_json::from_str(self.0[at].1.get()) else { return false };
        let was_there = object.remove(within).is_some();
        match object.is_empty() {
            true => drop(self.0.remove(at)),
            false => self.0[at].1 = raw_value(Value::Object(object)),
        }
        was_there
    }
}

/// Merges one object into another, as [`Fields::merge`] does.
pub(crate) fn merge_into(there: &mut Map<String, Value>, new: &Map<String, Value>) {
    for (name, value) in new {
        match (value, there.get_mut(name)) {
            (Value::Null, _) => drop(there.remove(name)),
            (Value::Object(new), Some(Value::Object(there))) => merge_into(there, new),
            (Value::Object(new), _) => {
                let mut object = Map::new();
                merge_into(&mut object, new);
                there.insert(name.clone(), Value::Object(object));
            }
            _ => drop(there.insert(name.clone(), value.clone())),
        }
    }
}

/// The fields in the order of their names, in which new ones are added.
fn by_name(fields: &Map<String, Value>) -> BTreeMap<&String, &Value> {
    fields.iter().collect()
}

/// A value as JSON text, its fields in the order of their names.
pub(in crate::provider) fn raw_value(value: Value) -> Box<RawValue> {
    raw(&sorted(value))
}

/// What has an order of its own as JSON text.
pub(in crate::provider) fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    to_raw_value(value).expect("texts, numbers and maps with text keys are always JSON")
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields() -> Fields {
        let mut fields = Fields::default();
        fields.push("model", "m");
        fields.push("reasoning", &json!({"effort": "low", "summary": "auto"}));
        fields.push_some("temperature", Some(&0.5));
        fields.push_some("stop", None::<&str>);
        fields
    }

    fn text(fields: &Fields) -> String {
        serde_json::to_string(fields).unwrap()
    }

    fn merged(with: Value) -> String {
        let mut fields = fields();
        fields.merge(with.as_object().unwrap());
        text(&fields)
    }

    #[test]
    fn the_order_is_that_of_the_writer() {
        let whole = r#"{"model":"m","reasoning":{"effort":"low","summary":"auto"},"temperature":0.5}"#;
        assert_eq!(text(&fields()), whole);
    }

    #[test]
    fn what_a_user_adds_is_merged_last() {
        assert_eq!(merged(json!({})), text(&fields()));
        assert_eq!(
            merged(json!({"new": {"a": null, "b": {"c": null}}})),
            text(&fields()).replace("0.5}", r#"0.5,"new":{"b":{}}}"#)
        );
        assert_eq!(
            merged(
                json!({"temperature": null, "top_k": 3, "nothing": null, "reasoning": {"summary": null, "exclude": true}})
            ),
            r#"{"model":"m","reasoning":{"effort":"low","exclude":true},"top_k":3}"#
        );
        assert_eq!(
            merged(json!({"reasoning": 1, "temperature": 1})),
            r#"{"model":"m","reasoning":1,"temperature":1}"#
        );
    }

    #[test]
    fn what_is_refused_is_left_out() {
        let mut fields = fields();
        assert!(
            fields.omit("reasoning.summary") && !fields.omit("reasoning.summary") && !fields.omit("tools")
        );
        assert_eq!(text(&fields), r#"{"model":"m","reasoning":{"effort":"low"},"temperature":0.5}"#);
        assert!(fields.omit("reasoning.effort") && fields.omit("temperature"));
        assert_eq!(text(&fields), r#"{"model":"m"}"#);
    }
}
