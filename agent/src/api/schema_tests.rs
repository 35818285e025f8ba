//! Any type becomes a schema that the store takes, and its values come back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Line {
    text: String,
    cents: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Invoice {
    number: String,
    lines: Vec<Line>,
    note: Option<String>,
    at: (f64, f64),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "$status", rename_all = "lowercase")]
enum Verdict {
    Fine,
    Poor { why: String },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Other(String),
}

/// The schema, which must take `answer`; the value comes back.
fn round<T: JsonSchema + DeserializeOwned + PartialEq + std::fmt::Debug>(
    answer: Value,
    value: T,
) -> AnswerSchema {
    let schema = AnswerSchema::of::<T>();
    uwf_store::schema::check(&schema.schema).unwrap();
    let violations = uwf_store::schema::validate(&schema.schema, &answer).unwrap();
    assert!(violations.is_empty(), "{violations:?}");
    assert_eq!(serde_json::from_value::<T>(schema.value(answer)).unwrap(), value);
    schema
}

#[test]
fn a_struct_is_fields_beside_the_status() {
    let line = || Line { text: "Tea".into(), cents: 250 };
    let answer =
        json!({"$status": "done", "number": "7", "lines": [{"text": "Tea", "cents": 250}], "at": [1.5, 2.0]});
    let invoice = Invoice { number: "7".into(), lines: vec![line()], note: None, at: (1.5, 2.0) };
    let schema = round(answer, invoice);
    assert_eq!((schema.form, schema.statuses.as_slice()), (ValuePlace::Fields, &["done".to_owned()][..]));
    let wrong = json!({"$status": "done", "number": "7", "lines": [{"text": "Tea"}], "at": [1, 2]});
    assert_eq!(uwf_store::schema::validate(&schema.schema, &wrong).unwrap()[0].path, "/lines/0");
}

#[test]
fn what_is_no_struct_is_one_field() {
    round(json!({"$status": "done", "answer": 7}), 7_u8);
    round(json!({"$status": "done", "answer": ["a"]}), vec!["a".to_owned()]);
    round(json!({"$status": "done", "answer": {"a": 1}}), BTreeMap::from([("a".to_owned(), 1)]));
    round(json!({"$status": "done", "answer": "Red"}), Colour::Red);
    round(json!({"$status": "done", "answer": {"Other": "teal"}}), Colour::Other("teal".into()));
    round(json!({"$status": "done", "answer": [true, {}]}), json!([true, {}]));
    round(json!({"$status": "done", "answer": null}), ());
}

#[test]
fn an_enum_may_be_tagged_by_the_status_itself() {
    let schema =
        round(json!({"$status": "poor", "why": "It is late."}), Verdict::Poor { why: "It is late.".into() });
    assert_eq!(schema.statuses, ["fine", "poor"]);
    round(json!({"$status": "fine"}), Verdict::Fine);
}

#[test]
fn a_type_within_itself_is_written_out_so_deep_and_judged_by_the_type_below() {
    let tree = |depth: usize, last: Value| {
        (0..depth).fold(last, |inner, _| json!({"name": "n", "children": [inner]}))
    };
    let leaf = json!({"name": "n", "children": []});
    let with_status = |mut tree: Value| {
        tree["$status"] = json!("done");
        tree
    };
    let schema = AnswerSchema::of::<Tree>();
    let deep = with_status(tree(8, leaf));
    assert!(uwf_store::schema::validate(&schema.schema, &deep).unwrap().is_empty());
    assert!(serde_json::from_value::<Tree>(schema.value(deep)).is_ok());
    let near = with_status(tree(1, json!({"name": 1, "children": []})));
    assert!(!uwf_store::schema::validate(&schema.schema, &near).unwrap().is_empty());
    let far = with_status(tree(8, json!({"name": 1, "children": []})));
    assert!(uwf_store::schema::validate(&schema.schema, &far).unwrap().is_empty());
    assert!(serde_json::from_value::<Tree>(schema.value(far)).is_err());
    uwf_store::schema::check(&schema.schema).unwrap();
}
