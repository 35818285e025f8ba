//! What becomes of a workflow's last output as the output of the role that it played. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use uwf_store::schema;
use uwf_workflow::{OutputField, schema_analysis};

/// What a called thread comes to for its caller.
#[derive(Debug, PartialEq)]
pub(super) enum Fit {
    /// An output of the role.
    Output(Value),
    /// It asks a person.
    Asks(String),
    /// It did not come to an end, or to one that is no output of the role.
    Unfit(String),
}

/// The fields that the role's schema keeps, as `fields` says where they are from; a field that it says nothing of is the one
/// of the same name.
pub(super) fn fit(
    output: &Value,
    schema: &Value,
    fields: Option<&BTreeMap<String, OutputField>>,
    (role, workflow): (&str, &str),
) -> Fit {
    let mut fitted = Map::new();
    for name in schema_analysis::kept_fields(schema) {
        let found = match fields.and_then(|fields| fields.get(name)) {
            Some(field) => mapped(output, field),
            None => output.get(name).cloned(),
        };
        if let Some(value) = found {
            fitted.insert(name.to_owned(), value);
        }
    }
    let fitted = Value::Object(fitted);
    match schema::validate(schema, &fitted) {
        Ok(violations) if violations.is_empty() => Fit::Output(fitted),
        Ok(violations) => Fit::Unfit(format!(
            "workflow `{workflow}` ended with an output that is none of role `{role}`: {}; map its fields with `output:` in the \
             workflow of a new thread, or change the last role of `{workflow}`",
            schema::sentence(&violations)
        )),
        Err(error) => Fit::Unfit(format!("the schema of role `{role}` cannot be used: {error}")),
    }
}

/// What a field says, a text of it replaced by what stands for that.
fn mapped(output: &Value, field: &OutputField) -> Option<Value> {
    let found = output.pointer(&field.from)?;
    let replaced = found.as_str().and_then(|text| field.values.get(text));
    Some(replaced.unwrap_or(found).clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_taken_by_name_or_from_where_they_are_said_to_be() {
        let schema = json!({
            "type": "object", "required": ["$status", "commit"],
            "properties": {"$status": {"enum": ["done", "failed"]}, "commit": {"type": "string"}},
        });
        let of = |output: Value, fields: Value| {
            let fields: BTreeMap<String, OutputField> = serde_json::from_value(fields).unwrap();
            fit(&output, &schema, Some(&fields), ("developer", "develop"))
        };
        let whole = json!({"$status": "done", "commit": "c", "more": 1});
        assert_eq!(of(whole, json!({})), Fit::Output(json!({"$status": "done", "commit": "c"})));
        let told = json!({"$status": "committed", "result": {"id": "c"}});
        let fields = json!({
            "$status": {"from": "/$status", "values": {"committed": "done"}}, "commit": {"from": "/result/id"},
        });
        assert_eq!(of(told.clone(), fields), Fit::Output(json!({"$status": "done", "commit": "c"})));
        let Fit::Unfit(why) = of(told, json!({})) else { panic!("it has no commit") };
        assert!(
            why.contains("workflow `develop`") && why.contains("commit") && why.contains("`output:`"),
            "{why}"
        );
    }
}
