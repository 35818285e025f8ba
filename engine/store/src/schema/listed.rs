//! The values that a schema lists. Apart because both who tells variants by their `$status` and who analyses a role's
//! schema need the same reading of it.

use serde_json::Value;

/// The values that `const` or `enum` admits; `None` when the schema lists none. `const` decides where both are given.
pub fn listed(schema: &Value) -> Option<&[Value]> {
    match schema.get("const") {
        Some(value) => Some(std::slice::from_ref(value)),
        None => schema.get("enum").and_then(Value::as_array).map(Vec::as_slice),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::listed;

    #[test]
    fn const_is_a_list_of_one_and_decides() {
        assert_eq!(listed(&json!({"const": "a", "enum": ["b"]})), Some(&[json!("a")][..]));
        assert_eq!(listed(&json!({"enum": ["a", 1]})), Some(&[json!("a"), json!(1)][..]));
        assert_eq!(listed(&json!({"type": "string"})), None);
    }
}
