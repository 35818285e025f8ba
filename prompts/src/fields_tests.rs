use super::*;
use crate::samples;
use serde_json::json;

fn described(schema: &Value) -> String {
    let mut text = String::new();
    for form in fields(schema) {
        text.push_str(&format!("form {:?} {:?} {:?}\n", form.statuses, form.description, form.rules));
        for field in form.fields {
            let Field { depth, label, kind, required, rules, description } = field;
            text.push_str(&format!(
                "{:depth$}{label} | {kind} | {required:?} | {rules:?} | {description}\n",
                ""
            ));
        }
    }
    text
}

#[test]
fn fields_of_each_kind_of_schema() {
    for (name, schema) in [
        ("flat", samples::flat()),
        ("variants", samples::variants()),
        ("choice", samples::choice()),
        ("nested", samples::nested()),
        ("nothing", samples::nothing()),
    ] {
        insta::assert_snapshot!(name, described(&schema));
    }
}

#[test]
fn nothing_a_schema_says_is_lost() {
    let schema = json!({
        "properties": {"a": {
            "type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": true, "contains": {"const": 1},
            "items": {"type": "number", "multipleOf": 0.5, "exclusiveMaximum": 7},
        }, "b": {"type": "string", "minLength": 1, "maxLength": 9, "format": "date", "examples": ["x"], "default": "y", "deprecated": true}},
        "if": {"required": ["a"]}, "then": {"required": ["b"]}, "minProperties": 1,
    });
    insta::assert_snapshot!("every_keyword", described(&schema));
}

#[test]
fn fields_do_not_depend_on_the_order_of_a_map() {
    let one: Value = serde_json::from_str(
        r#"{"required":["z","$status"],"properties":{"b":{},"z":{},"a":{},"$status":{}}}"#,
    )
    .unwrap();
    let labels: Vec<String> = fields(&one)[0].fields.iter().map(|field| field.label.clone()).collect();
    assert_eq!(labels, ["`$status`", "`z`", "`a`", "`b`"]);
}
