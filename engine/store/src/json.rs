//! JSON values with their fields in the order of their names.
//!
//! Apart because a map of `serde_json` is in that order in some builds and in the order in which it was filled in others:
//! which one is decided for a whole program, by what any of its libraries asks for. Nothing that we write may depend on
//! that. Whoever reads a value from a text, or makes a text or a list of one, has it put in order here.

use serde::Serialize;
use serde_json::Value;

/// The value with the fields of every object in the order of their names.
#[must_use]
pub fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// The value as JSON on one line, with the fields of every object in the order of their names.
pub fn line(value: &Value) -> String {
    sorted(value.clone()).to_string()
}

/// Anything that is JSON as a value, with the fields of every object in the order of their names.
///
/// # Errors
/// It is no JSON: a map has keys that are no text, or serialising it fails.
pub fn tree(value: &(impl Serialize + ?Sized)) -> Result<Value, serde_json::Error> {
    serde_json::to_value(value).map(sorted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_in_the_order_of_their_names_at_every_depth() {
        let value = json!({"b": [{"z": 1, "a": {"y": 0, "x": 0}}], "a": null});
        let expected = r#"{"a":null,"b":[{"a":{"x":0,"y":0},"z":1}]}"#;
        assert_eq!(line(&value), expected);
        assert_eq!(sorted(value.clone()).to_string(), expected);
        assert_eq!(tree(&value).unwrap().to_string(), expected);
    }
}
