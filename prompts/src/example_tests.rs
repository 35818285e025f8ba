use super::*;
use crate::samples;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn each_example_is_yaml_that_obeys_the_schema() {
    for schema in samples::all() {
        let validator = jsonschema::draft7::new(&schema).unwrap();
        for form in forms::of(&schema) {
            let example = samples::read_yaml(&yaml(&form));
            let errors: Vec<String> = validator
                .iter_errors(&example)
                .filter(|error| !stands_for_text(error.instance()))
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{example}: {errors:?}");
        }
    }
}

/// A placeholder may break a `pattern`: it is there to be replaced.
fn stands_for_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('<') && text.ends_with('>'))
}

#[test]
fn placeholders_are_where_the_examples_have_them() {
    let found = placeholders(&samples::variants());
    let expected = [("/files/0", "<files item 1>"), ("/files/1", "<files item 2>"), ("/why", "<why>")];
    assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    for (path, text) in placeholders(&samples::nested()) {
        let example = samples::read_yaml(&yaml(&samples::nested()));
        assert_eq!(example.pointer(&path), Some(&Value::from(text)), "{path}");
    }
}

#[test]
fn a_copied_placeholder_is_found_wherever_it_stands() {
    let schema = samples::nested();
    let example = samples::read_yaml(&yaml(&schema));
    assert_eq!(copied_placeholder(&schema, &example).as_deref(), Some("/a: b"));
    let copied = json!({"$status": "reviewed", "findings": [{"file": "a.rs"}, {"file": " <file> "}]});
    assert_eq!(copied_placeholder(&schema, &copied).as_deref(), Some("/findings/1/file"));
    let suspended = json!({"$status": "$SUSPEND", "reason": SUSPEND_REASON});
    assert_eq!(copied_placeholder(&schema, &suspended).as_deref(), Some("/reason"));
    let written =
        json!({"$status": "reviewed", "findings": [{"file": "<T>.rs"}], "author": {"name": "file"}});
    assert_eq!(copied_placeholder(&schema, &written), None);
}

#[test]
fn numbers_keep_within_simple_bounds() {
    for (schema, expected) in [
        (json!({"minimum": 3}), json!(3)),
        (json!({"maximum": -2}), json!(-2)),
        (json!({"exclusiveMinimum": 0}), json!(1)),
        (json!({"exclusiveMaximum": 0}), json!(-1)),
        (json!({"minimum": 4, "multipleOf": 3}), json!(6)),
        (json!({"minimum": -4, "maximum": 4}), json!(0)),
    ] {
        assert_eq!(number(&schema, true), expected, "{schema}");
    }
    assert_eq!(number(&json!({"exclusiveMinimum": 0, "maximum": 1}), false), json!(0.5));
    assert_eq!(number(&json!({"minimum": 0.25}), false), json!(0.25));
}

/// JSON that looks like a schema often enough to reach every branch, and is wrong often enough.
fn any_schema() -> impl Strategy<Value = Value> {
    let word =
        prop::sample::select(vec!["string", "integer", "null", "object", "array", "$status", "a", "b"]);
    let leaf = prop_oneof![word.prop_map(Value::from), any::<f64>().prop_map(Value::from), Just(json!(true))];
    let keywords = vec![
        "type",
        "properties",
        "required",
        "oneOf",
        "anyOf",
        "allOf",
        "items",
        "enum",
        "const",
        "minimum",
        "maximum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "additionalProperties",
        "not",
        "$status",
        "a",
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let key = prop::sample::select(keywords.clone()).prop_map(str::to_owned);
        let object = prop::collection::btree_map(key, inner.clone(), 0..5);
        prop_oneof![
            3 => object.prop_map(|map| map.into_iter().collect::<Value>()),
            1 => prop::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_schema_there_is_an_example_to_read(schema in any_schema()) {
        let forms = crate::fields(&schema);
        prop_assert!(!forms.is_empty());
        for form in forms {
            prop_assert!(samples::read_yaml(&form.example).is_object());
        }
    }

    #[test]
    fn a_scalar_reads_back_as_itself(text in "\\PC{0,12}|[a-z$~:#'\"\\\\ -]{0,8}|(null|TRUE|1e3|0x1F|\\.inf|No)") {
        let value = Value::from(text);
        let line = format!("key: {}\n", scalar(&value));
        prop_assert_eq!(&samples::read_yaml(&line)["key"], &value);
    }

    #[test]
    fn any_field_name_gives_an_example_that_can_be_read(name in "\\PC{1,12}") {
        let schema = json!({"properties": {name.clone(): {"type": "array", "items": {"properties": {name.clone(): {}}}}}});
        let example = samples::read_yaml(&yaml(&schema));
        prop_assert!(example.get(&name).is_some());
        for (path, text) in placeholders(&schema) {
            prop_assert_eq!(example.pointer(&path), Some(&Value::from(text)));
        }
    }
}
