//! What a value is, to whoever wrote it down. Apart because workflow files and mock scripts are refused in the same words.
//! Settings files and the arguments of tools are refused in others, those of JSON: [`uwf_store::kind`].

use serde_json::Value;

/// `nothing`, `text`, `a list`, `a mapping`; a number or a truth value as it stands there.
pub fn kind(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}
