//! Statuses and names of schemas as authors write them.

use crate::template;
use serde_json::{Value, json};

use super::{Answers, Impossible, Statuses, impossible, kept_fields, statuses};

fn listed(schema: Value) -> Option<Vec<String>> {
    match statuses(&schema) {
        Statuses::Listed(statuses) => Some(statuses.into_iter().collect()),
        _ => None,
    }
}

#[test]
fn statuses_of_every_way_to_list_them() {
    let constant = |status: &str| json!({"properties": {"$status": {"const": status}}});
    let one = |status: &str| Some(vec![status.to_owned()]);
    assert_eq!(listed(constant("a")), one("a"));
    assert_eq!(listed(json!({"properties": {"$status": {"enum": ["a", 1]}}})), one("a"));
    assert_eq!(listed(json!({"properties": {"$status": {"const": true}}})), Some(vec![]));
    let both = Some(vec!["a".to_owned(), "b".to_owned()]);
    for keyword in ["oneOf", "anyOf"] {
        assert_eq!(listed(json!({keyword: [constant("a"), constant("b")]})), both);
        assert_eq!(
            listed(json!({"properties": {"$status": {keyword: [{"const": "a"}, {"const": "b"}]}}})),
            both
        );
    }
    assert_eq!(listed(json!({"allOf": [constant("a"), {"properties": {"x": {}}}]})), one("a"));
    let narrowed = json!({
        "properties": {"$status": {"enum": ["a", "b", "c"]}},
        "oneOf": [constant("a"), constant("b")],
    });
    assert_eq!(listed(narrowed), both);
}

#[test]
fn statuses_that_are_not_listed() {
    assert_eq!(statuses(&json!({"type": "object"})), Statuses::Undeclared);
    assert_eq!(statuses(&json!({"properties": {"$status": {"type": "string"}}})), Statuses::Any);
    let half = json!({"oneOf": [{"properties": {"$status": {"const": "a"}}}, {"properties": {"x": {}}}]});
    assert_eq!(statuses(&half), Statuses::Undeclared);
}

#[test]
fn names_that_a_template_may_use() {
    let schema = json!({
        "properties": {
            "title": {"type": "string"},
            "open": {"type": "object"},
            "closed": {"properties": {"x": {}}},
            "extra": {"properties": {"x": {}}, "additionalProperties": true},
            "items": {"type": "array", "items": {"properties": {"file": {"type": "string"}}}},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "oneOf": [{"properties": {"why": {"type": "string"}}}, {"if": {}, "then": {"properties": {"how": {}}}}],
    });
    let unknown = |text: &str| unknown(&schema, "done", text);
    for fine in [
        "{{$status}}{{title}}{{why}}{{how}}",
        "{{title.length}}{{tags.length}}{{tags.0}}{{items.0.file}}",
        "{{open.anything.below}}{{closed.x}}{{extra.y}}",
        "{{#items}}{{file}}{{title}}{{.}}{{/items}}",
        "{{#tags}}{{.}}{{#.}}{{/.}}{{/tags}}{{^why}}{{title}}{{/why}}",
        "{{#open}}{{anything}}{{/open}}",
    ] {
        assert_eq!(unknown(fine), Vec::<String>::new(), "{fine}");
    }
    for (text, name) in [
        ("{{titel}}", "titel"),
        ("{{closed.y}}", "closed.y"),
        ("{{title.x}}", "title.x"),
        ("{{items.0.line}}", "items.0.line"),
        ("{{#items}}{{line}}{{/items}}", "line"),
        ("{{#why}}{{typo}}{{/why}}", "typo"),
        ("{{#nowhere}}{{anything}}{{/nowhere}}", "nowhere"),
        ("{{length}}", "length"),
    ] {
        assert_eq!(unknown(text), [name], "{text}");
    }
    let names: Vec<&str> = kept_fields(&schema).into_iter().collect();
    assert_eq!(names, ["closed", "extra", "how", "items", "open", "tags", "title", "why"]);
}

/// The names in a template to which nothing can stand in an answer with that status.
fn unknown(schema: &Value, status: &str, text: &str) -> Vec<String> {
    let (answers, names) = (Answers::of(schema), template::names(text).unwrap());
    names.into_iter().filter(|name| !answers.has(status, name)).map(|name| name.name).collect()
}

#[test]
fn a_variant_has_no_say_in_answers_of_another_status() {
    let variant = |status: Value, field: &str| json!({"properties": {"$status": status, (field): {"properties": {"x": {}}}}, "required": ["$status"]});
    let schema = json!({
        "properties": {"common": {}},
        "oneOf": [
            variant(json!({"const": "a"}), "of_a"),
            variant(json!({"enum": ["b", "c"]}), "of_b"),
            {"properties": {"$status": {"const": "c"}}, "allOf": [{"properties": {"deep_c": {}}}]},
            {
                "properties": {"$status": {"enum": ["a", "d"]}},
                "anyOf": [variant(json!({"const": "d"}), "of_d"), {"properties": {"of_ad": {}}}],
            },
        ],
    });
    let all = "{{common}}{{of_a}}{{of_b.x}}{{deep_c}}{{#of_d}}{{x}}{{/of_d}}{{of_ad}}{{$status}}";
    assert_eq!(unknown(&schema, "a", all), ["of_b.x", "deep_c", "of_d"]);
    assert_eq!(unknown(&schema, "b", all), ["of_a", "deep_c", "of_d", "of_ad"]);
    assert_eq!(unknown(&schema, "c", all), ["of_a", "of_d", "of_ad"]);
    assert_eq!(unknown(&schema, "d", all), ["of_a", "of_b.x", "deep_c"]);
    assert_eq!(unknown(&schema, "nobody's", all), [""; 0], "a wrong status is one problem");
    // What does not list its statuses holds for all.
    let open = json!({"oneOf": [{"properties": {"x": {}}}, variant(json!({"type": "string"}), "y")]});
    assert_eq!(unknown(&open, "any", "{{x}}{{y}}{{z}}"), ["z"]);
}

#[test]
fn what_no_answer_can_give() {
    let found = |schema: Value| {
        let mut found = impossible(&schema);
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    };
    let field = |pointer: &str, name: &str| (pointer.to_owned(), Impossible::Field(name.to_owned()));
    let declared = json!({"$status": {}, "a": {}});
    let fine = json!({
        "type": ["object", "null"],
        "required": ["$status", "b"],
        "properties": declared,
        "minProperties": 3,
        "not": {"required": ["x"]},
        "if": {"required": ["x"]},
        "then": {"properties": {"b": {"required": ["deeper"]}, "why": {}}, "required": ["b", "why"], "minProperties": 9},
        "anyOf": [{"type": "object", "properties": {"b": {}}, "required": ["a"]}, {"type": "null"}],
    });
    assert_eq!(found(fine), []);
    let wrong = json!({
        "properties": declared,
        "required": ["a", "y"],
        "oneOf": [{"properties": {"a": {}}}, {"required": ["z"]}],
        "allOf": [{"type": "string", "minProperties": 3}],
        "then": {"required": ["nobody asks"]},
        "patternProperties": {"^x": {}},
    });
    let expected = [
        ("/allOf/0/minProperties".to_owned(), Impossible::Fields(3)),
        ("/allOf/0/type".to_owned(), Impossible::Type),
        field("/oneOf/1/required/0", "z"),
        field("/required/1", "y"),
    ];
    assert_eq!(found(wrong), expected);
}
