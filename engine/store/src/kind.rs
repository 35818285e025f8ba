//! What a JSON value is, in words, for errors that must not repeat the value itself: it may be a secret, or long.
//!
//! JSON's own words, for settings files and the arguments of tools. Workflow files and mock scripts are refused in those of
//! `uwf_workflow::yaml::kind`.

use serde_json::Value;

/// `a boolean`, `an array`, `an empty string`.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(text) if text.is_empty() => "an empty string",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn each_kind_has_its_word() {
        let values = [json!(null), json!(true), json!(1), json!(""), json!("x"), json!([]), json!({})];
        let words = ["null", "a boolean", "a number", "an empty string", "a string", "an array", "an object"];
        assert_eq!(values.each_ref().map(super::kind), words);
    }
}
