//! Which schemas are taken, against vectors of another implementation and keyword by keyword.

use serde_json::json;

use super::*;
use crate::Hash;
use crate::schema::builtin::META_SCHEMA;

#[test]
fn schemas_are_taken_and_refused_as_by_others() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../testdata/schema_acceptance.json")).unwrap();
    assert!(!cases.is_empty());
    for case in &cases {
        match case["hash"].as_str() {
            None => assert!(check(&case["schema"]).is_err(), "{}", case["schema"]),
            Some(hash) => {
                assert_eq!(check(&case["schema"]), Ok(()), "{}", case["schema"]);
                assert_eq!(Hash::of(&META_SCHEMA, &case["schema"]).as_str(), hash, "{}", case["schema"]);
            }
        }
    }
}

#[test]
fn schemas_are_called_what_others_call_them() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../testdata/schemas.json")).unwrap();
    for case in &cases {
        let schema = &case["schema"];
        let is_meta = case["hash"] == META_SCHEMA.as_str();
        let hash = if is_meta { Hash::of_self(schema) } else { Hash::of(&META_SCHEMA, schema) };
        assert_eq!(hash.as_str(), case["hash"], "{}", case["name"]);
        assert_eq!(check(schema), Ok(()), "{}", case["name"]);
        let alias = crate::schema::builtin::ALIASES.iter().find(|(name, _)| case["name"] == *name);
        assert_eq!(
            alias.map(|(_, hash)| *hash),
            case["alias"].as_bool().unwrap().then_some(hash),
            "{}",
            case["name"]
        );
    }
}

/// Every allowed keyword, with a value it may have and one it may not.
#[test]
fn every_keyword_has_a_shape() {
    let schema = json!({"type": "string"});
    let cases = [
        (&["title", "format", "description", "pattern", "$comment"][..], json!("x"), json!(1)),
        (
            &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
            json!(0.5),
            json!("1"),
        ),
        (
            &["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"],
            json!(1),
            json!([]),
        ),
        (&["uniqueItems", "readOnly", "writeOnly", "deprecated"], json!(true), json!("yes")),
        (&["items", "if", "then", "else", "not", "contains", "propertyNames"], schema.clone(), json!(true)),
        (&["anyOf", "oneOf", "allOf", "prefixItems"], json!([schema]), json!([])),
        (&["properties", "patternProperties"], json!({"a": schema}), json!([schema])),
        (&["enum"], json!([null]), json!([])),
        (&["examples"], json!([]), json!({})),
        (&["required"], json!([]), json!([1])),
        (&["type"], json!(["null", "array"]), json!([])),
        (&["additionalProperties"], json!(false), json!("x")),
    ];
    let mut count = 2;
    for keyword in ["const", "default"] {
        assert_eq!(check(&json!({keyword: {"foo": 1}})), Ok(()));
    }
    for (keywords, good, bad) in cases {
        for keyword in keywords {
            count += 1;
            assert_eq!(check(&json!({*keyword: good})), Ok(()), "{keyword}");
            assert!(
                matches!(check(&json!({*keyword: bad})), Err(SchemaError::BadKeyword { .. })),
                "{keyword}"
            );
        }
    }
    assert_eq!(count, 40);
    for keyword in
        ["$ref", "$schema", "$id", "$defs", "definitions", "dependencies", "additionalItems", "foo"]
    {
        assert!(matches!(check(&json!({keyword: {}})), Err(SchemaError::UnknownKeyword { .. })), "{keyword}");
    }
}

#[test]
fn a_bad_schema_is_found_at_any_depth_and_named() {
    let bad = json!({"foo": 1});
    let cases = [
        (json!({"items": {"items": bad}}), "/items/items"),
        (json!({"properties": {"a/b~": bad}}), "/properties/a~1b~0"),
        (json!({"anyOf": [{}, bad]}), "/anyOf/1"),
        (json!({"additionalProperties": bad}), "/additionalProperties"),
        (json!({"patternProperties": {"^x": {"not": bad}}}), "/patternProperties/^x/not"),
    ];
    for (schema, path) in cases {
        assert_eq!(check(&schema).unwrap_err().path(), path);
    }
    let error = check(&json!({"properties": {"n": {"minimum": "1"}}})).unwrap_err();
    assert_eq!(error.to_string(), r#"schema at /properties/n: "minimum" must be a number, got "1""#);
    let error = check(&json!({"anyOf": [true]})).unwrap_err();
    assert_eq!(error.to_string(), "schema at /anyOf/0: expected an object, got true");
    let error = check(&json!({"$ref": "#"})).unwrap_err();
    assert_eq!(error.to_string(), r#"schema: the keyword "$ref" is not allowed"#);
}

#[test]
fn only_schemas_are_searched_for_keywords() {
    let schema = json!({
        "properties": {"format": {"type": "string"}, "foo": {}},
        "const": {"format": "date"}, "default": {"foo": 1}, "enum": [{"prefixItems": 1}], "examples": [{"format": "x"}],
    });
    assert_eq!(check(&schema), Ok(()));
    assert_eq!(check_usable(&schema), Ok(()));
    let deep = json!({"properties": {"a": {"oneOf": [{"format": "date"}]}}});
    assert_eq!(check(&deep), Ok(()));
    assert_eq!(check_usable(&deep).unwrap_err().path(), "/properties/a/oneOf/0");
}
