//! Each kind of damage is found, and who is hurt by it.

use serde_json::json;

use super::*;
use crate::node::Encoded;
use crate::schema::builtin::{META_SCHEMA, TEXT};
use crate::tests::{Fixture, PROFILE, START_NODE, clock};
use crate::{Expect, VarChange};

fn findings(f: &Fixture) -> (Vec<Finding>, VerifyReport) {
    // A store of its own: the other one remembers the types it has seen.
    let store = Store::open(f.directory.path(), PROFILE, clock).unwrap();
    let mut findings = Vec::new();
    let report = store.verify(&mut |finding| findings.push(finding)).unwrap();
    assert_eq!(report.findings, findings.len() as u64);
    (findings, report)
}

fn name(f: &Fixture, name: &str, hash: Hash) {
    let schema = f.store.get(&hash).unwrap().type_;
    let (name, tags) = (name.to_owned(), std::collections::BTreeMap::new());
    f.store.vars().apply(&[VarChange::Set { name, schema, value: hash, tags, expect: Expect::Any }]).unwrap();
}

/// Writes a node that the store would have refused, as a careless program might.
fn smuggle(f: &Fixture, type_: Hash, payload: &serde_json::Value) -> Hash {
    let node = Encoded::new(type_, payload);
    std::fs::write(f.file(&node.hash), node.to_bytes(1)).unwrap();
    node.hash
}

#[test]
fn a_sound_store_has_no_findings() {
    let f = Fixture::new();
    let links = f.links();
    let text = f.store.put_text("x").unwrap();
    f.store.put(&links, &json!({"to": [text]})).unwrap();
    assert_eq!(findings(&f), (vec![], VerifyReport { nodes: 36, variables: 33, findings: 0 }));
}

#[test]
fn a_missing_node_is_reported_with_all_who_refer_to_it() {
    let f = Fixture::new();
    let links = f.links();
    let hash = f.store.put_text("gone").unwrap();
    let one = f.store.put(&links, &json!({"to": [hash], "name": "one"})).unwrap();
    let two = f.store.put(&links, &json!({"to": [hash], "name": "two"})).unwrap();
    name(&f, "@t/gone", hash);
    std::fs::remove_file(f.file(&hash)).unwrap();
    let mut referred_by =
        vec![Referrer::Node(one), Referrer::Node(two), Referrer::Variable("@t/gone".to_owned())];
    referred_by.sort();
    let (findings, _) = findings(&f);
    let text = findings[0].to_string();
    assert!(text.starts_with(&format!("node {hash} is missing (referred to by node ")), "{text}");
    assert_eq!(findings, [Finding::Missing { hash, referred_by }]);
}

#[test]
fn a_corrupt_node_is_reported_with_all_who_refer_to_it() {
    let f = Fixture::new();
    let links = f.links();
    let hash = f.store.put_text("broken").unwrap();
    let one = f.store.put(&links, &json!({"to": [hash]})).unwrap();
    name(&f, "@t/broken", hash);
    std::fs::write(f.file(&hash), "").unwrap();
    let referred_by = vec![Referrer::Node(one), Referrer::Variable("@t/broken".to_owned())];
    assert_eq!(findings(&f).0, [Finding::Corrupt { hash, why: "the file is empty".to_owned(), referred_by }]);
}

#[test]
fn a_node_that_does_not_obey_its_type_is_reported() {
    let f = Fixture::new();
    let hash = smuggle(&f, TEXT, &json!(5));
    let schema = smuggle(&f, META_SCHEMA, &json!({"$ref": "#"}));
    let foreign = f.store.put_schema(&json!({"format": "date"})).unwrap();
    let unchecked = smuggle(&f, foreign, &json!("2026-01-01"));
    let text = f.store.put_text("no type").unwrap();
    let typed_by_text = smuggle(&f, text, &json!(1));
    let mut lines: Vec<_> = findings(&f).0.iter().map(Finding::to_string).collect();
    lines.sort();
    let mut expected = vec![
        format!(r#"node {hash} does not obey its type {TEXT}; 5 is not of type "string""#),
        format!(
            r#"node {schema} does not obey its type {META_SCHEMA}; schema: the keyword "$ref" is not allowed"#
        ),
        format!(
            r#"node {unchecked} does not obey its type {foreign}; schema: cannot validate against "format": "date""#
        ),
        format!("node {typed_by_text} does not obey its type {text}; type {text} is not a schema"),
    ];
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn a_missing_type_is_one_finding_whoever_has_it() {
    let f = Fixture::new();
    let type_ = f.store.put_schema(&json!({"type": "integer", "minimum": 0})).unwrap();
    let mut referred_by: Vec<_> =
        (0..3).map(|n| Referrer::Node(f.store.put(&type_, &json!(n)).unwrap())).collect();
    referred_by.sort();
    std::fs::remove_file(f.file(&type_)).unwrap();
    assert_eq!(findings(&f).0, [Finding::Missing { hash: type_, referred_by: referred_by.clone() }]);
    std::fs::write(f.file(&type_), "x").unwrap();
    assert!(matches!(&findings(&f).0[..], [Finding::Corrupt { hash, referred_by: by, .. }]
        if *hash == type_ && *by == referred_by));
}

#[test]
fn what_cannot_be_read_does_not_end_the_search() {
    let f = Fixture::new();
    let type_ = f.links();
    let node = f.store.put(&type_, &json!({})).unwrap();
    std::fs::remove_file(f.file(&type_)).unwrap();
    std::fs::create_dir(f.file(&type_)).unwrap();
    let other = smuggle(&f, TEXT, &json!(5));
    let findings = findings(&f).0;
    assert_eq!(findings.len(), 2);
    assert!(
        findings.iter().any(|finding| matches!(finding, Finding::Invalid { hash, .. } if *hash == other))
    );
    let why = "it cannot be read: Is a directory (os error 21)".to_owned();
    assert!(findings.contains(&Finding::Corrupt {
        hash: type_,
        why,
        referred_by: vec![Referrer::Node(node)]
    }));
}

#[test]
fn what_a_dead_writer_left_is_a_stray() {
    let f = Fixture::new();
    let path = f.directory.path().join("nodes/.put-x.tmp");
    std::fs::write(&path, "half").unwrap();
    let later = Store::open(f.directory.path(), PROFILE, || u64::MAX / 1_000_000).unwrap();
    let mut findings = Vec::new();
    later.verify(&mut |finding| findings.push(finding)).unwrap();
    assert_eq!(findings, [Finding::Stray { path }]);
}

#[test]
fn builtin_nodes_count_like_any_other() {
    let f = Fixture::new();
    std::fs::write(f.file(&START_NODE), "damaged").unwrap();
    assert!(matches!(&findings(&f).0[..], [Finding::Corrupt { hash, .. }] if *hash == START_NODE));
}
