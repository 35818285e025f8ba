//! Reading what somebody else may have written: a part that is not as it should be is none, and spoils no other part.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// A payload as a record; one that is no object at all is an empty record, and a field that is something else than it
/// should be is none.
pub(super) fn object<T: DeserializeOwned + Default>(payload: Value) -> T {
    // A list would be read as the fields in their order.
    if !payload.is_object() {
        return T::default();
    }
    T::deserialize(&payload).unwrap_or_else(|_| {
        let Value::Object(mut fields) = payload else { return T::default() };
        fields.retain(|name, value| T::deserialize(json!({name: value})).is_ok());
        T::deserialize(Value::Object(fields)).unwrap_or_default()
    })
}

/// A field of what is not read by [`object`]; the default where it is something else.
pub(super) fn field<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    Value::deserialize(deserializer).map(|value| serde_json::from_value(value).unwrap_or_default())
}

/// A field that is a record of its own.
pub(super) fn record<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(value.is_object().then(|| object(value)))
}

/// A field that is a list of records: as many as it has, whatever they are.
pub(super) fn records<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    match Value::deserialize(deserializer)? {
        Value::Array(items) => Ok(Some(items.into_iter().map(object).collect())),
        _ => Ok(None),
    }
}
