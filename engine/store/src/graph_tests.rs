//! Edges under every keyword that can hold one, and walks over stores with holes.

use serde_json::json;

use super::*;
use crate::schema::builtin::{META_SCHEMA, TEXT};
use crate::tests::{Fixture, PROFILE};

const A: &str = "AAAAAAAAAAAAA";
const B: &str = "BBBBBBBBBBBBB";

fn refs(schema: &Value, payload: &Value) -> Vec<String> {
    let mut refs = BTreeSet::new();
    collect(schema, payload, &mut refs);
    refs.iter().map(Hash::to_string).collect()
}

#[test]
fn an_edge_is_found_wherever_a_schema_can_put_it() {
    let edge = json!({"type": "string", "format": "ocas_ref"});
    let nullable = json!({"anyOf": [edge, {"type": "null"}]});
    let cases = [
        (edge.clone(), json!(A), vec![A]),
        (nullable.clone(), json!(A), vec![A]),
        (nullable, json!(null), vec![]),
        (json!({"oneOf": [{}, edge]}), json!(A), vec![A]),
        (json!({"allOf": [edge]}), json!(A), vec![A]),
        (json!({"if": {}, "then": edge, "else": {}}), json!(A), vec![A]),
        (json!({"items": edge}), json!([B, A, B]), vec![A, B]),
        (json!({"contains": edge}), json!([A]), vec![A]),
        (json!({"prefixItems": [{}, edge]}), json!([A, B]), vec![B]),
        (json!({"properties": {"x": edge}}), json!({"x": A, "y": B}), vec![A]),
        (json!({"additionalProperties": edge}), json!({"x": A, "y": B}), vec![A, B]),
        (json!({"properties": {"x": {}}, "additionalProperties": edge}), json!({"x": A, "y": B}), vec![B]),
        (json!({"patternProperties": {"^x": edge}}), json!({"x": A}), vec![A]),
        (
            json!({"properties": {"x": {"items": {"properties": {"y": edge}}}}}),
            json!({"x": [{"y": A}]}),
            vec![A],
        ),
        (json!({"additionalProperties": false}), json!({"x": A}), vec![]),
        (json!({"type": "string"}), json!(A), vec![]),
        (json!({"not": edge}), json!(A), vec![]),
        (edge.clone(), json!("no hash"), vec![]),
        (edge, json!([A]), vec![]),
    ];
    for (schema, payload, expected) in cases {
        assert_eq!(refs(&schema, &payload), expected, "{schema} {payload}");
    }
}

#[test]
fn refs_of_a_node_are_its_payloads() {
    let f = Fixture::new();
    let links = f.links();
    let (a, b) = (f.store.put_text("a").unwrap(), f.store.put_text("b").unwrap());
    let hash = f.store.put(&links, &json!({"to": [b, a, b]})).unwrap();
    let mut expected = vec![a, b];
    expected.sort();
    assert_eq!(f.store.refs(&hash).unwrap(), expected);
    assert_eq!(f.store.refs(&a).unwrap(), []);
    assert_eq!(f.store.refs(&META_SCHEMA).unwrap(), []);
    assert!(matches!(f.store.refs(&Hash::from_static(A)), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_walk_sees_everything_once() {
    let f = Fixture::new();
    let links = f.links();
    let text = f.store.put_text("leaf").unwrap();
    let left = f.store.put(&links, &json!({"to": [text], "name": "left"})).unwrap();
    let right = f.store.put(&links, &json!({"to": [text], "name": "right"})).unwrap();
    let root = f.store.put(&links, &json!({"to": [left, right]})).unwrap();
    let walk = f.store.walk(&root).unwrap();
    let mut children = [left, right];
    children.sort();
    assert_eq!(walk.nodes, [root, children[0], children[1], links, text, META_SCHEMA, TEXT]);
    assert_eq!((walk.missing, walk.corrupt), (vec![], vec![]));
    assert!(matches!(f.store.walk(&Hash::from_static(A)), Err(StoreError::NotFound { .. })));
}

#[test]
fn a_walk_goes_on_past_holes() {
    let f = Fixture::new();
    let links = f.links();
    let broken = f.store.put_text("broken").unwrap();
    std::fs::write(f.file(&broken), "").unwrap();
    let root = f.store.put(&links, &json!({"to": [A, broken]})).unwrap();
    let walk = f.store.walk(&root).unwrap();
    assert_eq!(walk.nodes, [root, links, META_SCHEMA]);
    assert_eq!(walk.missing, [(Hash::from_static(A), root)]);
    assert_eq!(walk.corrupt, [(broken, root, "the file is empty".to_owned())]);
}

#[test]
fn a_node_without_its_type_has_that_edge_alone() {
    let f = Fixture::new();
    let links = f.links();
    let text = f.store.put_text("leaf").unwrap();
    let root = f.store.put(&links, &json!({"to": [text]})).unwrap();
    std::fs::remove_file(f.file(&links)).unwrap();
    let fresh = Store::open(f.directory.path(), PROFILE, crate::tests::clock).unwrap();
    let walk = fresh.walk(&root).unwrap();
    assert_eq!((walk.nodes, walk.missing), (vec![root], vec![(links, root)]));
}
