//! Verdicts against vectors of another implementation; and the words, which models and people act on.

use serde_json::json;

use super::*;
use crate::schema::variants::TOLD;

#[test]
fn payloads_are_judged_as_by_others() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../testdata/schema_validation.json")).unwrap();
    assert!(!cases.is_empty());
    for case in &cases {
        let verdict = match validate(&case["schema"], &case["payload"]) {
            Err(_) => "error",
            Ok(violations) if violations.is_empty() => "valid",
            Ok(_) => "invalid",
        };
        if case["verdict"] != "free" {
            assert_eq!(verdict, case["verdict"], "{case}");
        }
    }
}

#[test]
fn what_cannot_be_enforced_is_named() {
    let text = |schema: Value| validate(&schema, &json!("x")).unwrap_err().to_string();
    insta::assert_snapshot!(text(json!({"properties": {"d": {"format": "date"}}})), @r#"schema at /properties/d: cannot validate against "format": "date""#);
    insta::assert_snapshot!(text(json!({"prefixItems": [{}]})), @r#"schema: cannot validate against "prefixItems": [{}]"#);
    insta::assert_snapshot!(text(json!({"pattern": "("})), @r#"schema at /pattern: "(" is not a "regex""#);
    insta::assert_snapshot!(text(json!({"minLength": -1})), @r#"schema at /minLength: -1 is less than the minimum of 0"#);
    insta::assert_snapshot!(text(json!({"$ref": "#"})), @r#"schema: the keyword "$ref" is not allowed"#);
}

/// One violation a line.
fn verdict(schema: &Value, payload: &Value) -> String {
    let violations = validate(schema, payload).unwrap();
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("\n")
}

fn report() -> Value {
    json!({
        "type": "object",
        "required": ["title", "count"],
        "properties": {
            "title": {"type": "string", "minLength": 3},
            "count": {"type": "integer", "minimum": 1},
            "level": {"enum": ["low", "high", 3]},
            "kind": {"const": "report"},
            "node": {"type": "string", "format": "ocas_ref"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
            "many": {"type": ["array", "null"], "items": {"type": "string", "pattern": "^a+$"}, "uniqueItems": true},
            "a/b": {"type": "boolean"},
        },
        "additionalProperties": false,
    })
}

#[test]
fn a_violation_names_the_place_the_value_and_the_rule() {
    let payload = json!({
        "count": "three", "level": "middle", "kind": "essay", "node": "short", "note": 5, "either": "long",
        "many": ["aa", "b", "b"], "a/b": 1, "extra": true, "more": 1,
    });
    insta::assert_snapshot!(verdict(&report(), &payload), @r#"
    "title" is a required property
    /a~1b: 1 is not of type "boolean"
    /count: "three" is not of type "integer"
    /either: "long" fits none of the alternatives: (1) "long" is not of type "integer", (2) "long" is longer than 2 characters
    /kind: "essay" is not the one allowed value "report"
    /level: "middle" is not one of "low", "high", 3
    /many: ["aa","b","b"] has non-unique elements
    /many/1: "b" does not match "^a+$"
    /many/2: "b" does not match "^a+$"
    /node: "short" is not the hash of a node (13 characters of 0-9 and A-Z without I, L, O, U)
    /note: 5 is not any of the types "string", "null"
    unexpected properties "extra", "more"; allowed: "a/b", "count", "either", "kind", "level", "many", "node", "note", "title"
    "#);
    insta::assert_snapshot!(verdict(&report(), &json!({"title": "ab", "count": 0})), @r#"
    /count: 0 is less than the minimum of 1
    /title: "ab" is shorter than 3 characters
    "#);
    insta::assert_snapshot!(verdict(&report(), &json!([1])), @r#"[1] is not of type "object""#);
}

#[test]
fn the_parts_of_a_violation_can_be_had_alone() {
    let violations = validate(&report(), &json!({"title": "abc", "count": "three"})).unwrap();
    let expected = Violation {
        path: "/count".to_owned(),
        message: r#""three" is not of type "integer""#.to_owned(),
        expected: Some(r#""integer""#.to_owned()),
        got: Some(json!("three")),
    };
    assert_eq!(violations, [expected]);
    let violations = validate(&report(), &json!({"count": 1})).unwrap();
    assert_eq!(violations[0].path, "");
    assert_eq!(violations[0].message, r#""title" is a required property"#);
    assert_eq!(violations[0].got, None);
}

fn choice(keyword: &str) -> Value {
    json!({ keyword: [
        {
            "properties": {"$status": {"const": "done"}, "summary": {"type": "string"}},
            "required": ["$status", "summary"],
        },
        {
            "properties": {"$status": {"enum": ["failed", "blocked"]}, "reason": {"type": "string"}},
            "required": ["$status", "reason"],
        },
    ]})
}

#[test]
fn of_named_variants_the_one_meant_is_explained() {
    for keyword in ["oneOf", "anyOf"] {
        let verdict = |payload| verdict(&choice(keyword), &payload);
        assert_eq!(verdict(json!({"$status": "done"})), r#""summary" is a required property"#);
        assert_eq!(
            verdict(json!({"$status": "blocked", "reason": 1})),
            r#"/reason: 1 is not of type "string""#
        );
        assert_eq!(
            verdict(json!({"$status": "finished"})),
            r#"/$status: `$status` must be one of "done", "failed", "blocked", got "finished""#
        );
        assert_eq!(
            verdict(json!({"summary": "x"})),
            r#"/$status: `$status` must be one of "done", "failed", "blocked", but it is missing"#
        );
    }
}

#[test]
fn a_choice_deeper_down_is_explained_as_well() {
    let schema = json!({"properties": {"items": {"items": choice("oneOf")}}});
    assert_eq!(
        verdict(&schema, &json!({"items": [{"$status": "done", "summary": "x"}, {"$status": "done"}]})),
        r#"/items/1: "summary" is a required property"#
    );
}

#[test]
fn unnamed_alternatives_each_give_their_reason() {
    let schema = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    insta::assert_snapshot!(verdict(&schema, &json!({"c": 1})), @r#"{"c":1} fits none of the alternatives: (1) "a" is a required property, (2) "b" is a required property"#);
    insta::assert_snapshot!(verdict(&schema, &json!({"a": 1, "b": 1})), @r#"{"a":1,"b":1} fits more than one of the alternatives, must fit exactly one"#);
    insta::assert_snapshot!(verdict(&json!({"not": {"type": "null"}}), &json!(null)), @r#"null is what it must not be: {"type":"null"}"#);
    insta::assert_snapshot!(verdict(&json!({"propertyNames": {"maxLength": 1}}), &json!({"ab": 1})), @r#"the property name "ab" is longer than 1 character"#);
    insta::assert_snapshot!(verdict(&json!({"contains": {"type": "string"}}), &json!([1])), @r#"no item of [1] is as required: {"type":"string"}"#);
}

#[test]
fn a_long_value_is_cut_in_the_message_only() {
    let violations = validate(&json!({"type": "integer"}), &json!("ü".repeat(5000))).unwrap();
    assert!(violations[0].message.len() < 500, "{}", violations[0].message);
    assert!(violations[0].message.contains("… (10002 bytes)"));
    assert_eq!(violations[0].got, Some(json!("ü".repeat(5000))));
    let violations = validate(&json!({"maxLength": 1}), &json!("line\n".repeat(500))).unwrap();
    assert!(violations[0].message.len() < 500 && !violations[0].message.contains('\n'));
}

#[test]
fn a_pattern_that_would_take_forever_is_a_violation() {
    let schema = json!({"pattern": r"^(a+)+\1$"});
    let payload = json!(format!("{}b", "a".repeat(40)));
    assert!(!validate(&schema, &payload).unwrap().is_empty());
}

/// An answer of 20,000 wrong values against 5,000 allowed ones was told in gigabytes of words.
#[test]
fn what_is_told_is_bounded_in_number_and_in_length() {
    let values: Vec<Value> = (0..5_000).map(|n| json!(format!("value {n}"))).collect();
    let schema = json!({"properties": {"list": {"items": {"enum": values}}}});
    let violations = validate(&schema, &json!({"list": vec!["x"; 20_000]})).unwrap();
    assert_eq!(violations.len(), TOLD + 1);
    assert!(violations[0].message.ends_with("\"value 49\" and 4950 more"), "{}", violations[0].message);
    assert_eq!(violations[TOLD].message, "19950 more things are wrong, of the same kinds or others");

    let any = json!({"anyOf": values[..100].iter().map(|value| json!({"const": value})).collect::<Vec<_>>()});
    let choices =
        json!({"items": {"oneOf": [{"properties": {"$status": {"const": "a"}, "b": {"items": any}}}]}});
    let violations =
        validate(&choices, &json!([{"$status": "a", "b": vec!["x"; 200]}, {"$status": "b"}])).unwrap();
    assert_eq!(violations.len(), TOLD + 1);
    let names: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("name {n}"), Value::Null)).collect();
    let closed = json!({"items": {"properties": {"a": {}}, "additionalProperties": false}});
    let violations = validate(&closed, &json!([names])).unwrap();
    assert!(violations[0].message.contains(" and 19950 more; allowed: \"a\""), "{}", violations[0].message);
    let text = crate::schema::sentence(&violations);
    assert!(text.len() < 20_000, "{}", text.len());
}
