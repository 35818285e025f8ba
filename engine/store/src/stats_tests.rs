//! Counting, and the index made anew.

use serde_json::json;

use super::*;
use crate::schema::builtin::{META_SCHEMA, TEXT};
use crate::tests::Fixture;

fn write_index(f: &Fixture, name: &str, content: &str) {
    std::fs::write(f.directory.path().join("_index").join(name), content).unwrap();
}

#[test]
fn everything_is_counted_by_type() {
    let f = Fixture::new();
    let texts = ["a", "bc"].map(|text| f.store.put_text(text).unwrap());
    let corrupt = f.store.put_text("corrupt").unwrap();
    std::fs::write(f.file(&corrupt), "").unwrap();
    let stats = f.store.stats().unwrap();
    assert_eq!((stats.nodes, stats.unreadable), (33 + 3, 1));
    assert_eq!(stats.types.len(), 2);
    assert_eq!(stats.types[&META_SCHEMA].nodes, 33);
    let bytes = texts.iter().map(|hash| std::fs::metadata(f.file(hash)).unwrap().len()).sum();
    assert_eq!(stats.types[&TEXT], TypeStats { nodes: 2, bytes });
    assert_eq!(stats.bytes, stats.types.values().map(|of_type| of_type.bytes).sum::<u64>());
}

#[test]
fn the_index_of_a_store_can_be_made_from_its_nodes() {
    let f = Fixture::new();
    let (b, a) = (f.store.put_text("b").unwrap(), f.store.put_text("a").unwrap());
    let before: Vec<_> = ["_meta", META_SCHEMA.as_str(), TEXT.as_str()].map(|name| f.index(name)).into();
    assert_eq!(f.store.reindex().unwrap(), ReindexReport { nodes: 35, types: 2, ..ReindexReport::default() });
    for (name, before) in ["_meta", META_SCHEMA.as_str(), TEXT.as_str()].iter().zip(&before) {
        assert_eq!(f.index(name), *before, "what is right stays as it is");
    }

    std::fs::remove_dir_all(f.directory.path().join("_index")).unwrap();
    std::fs::create_dir(f.directory.path().join("_index")).unwrap();
    write_index(&f, TEXT.as_str(), &format!("{META_SCHEMA}\nnonsense\n{a}\n{a}\n00000"));
    write_index(&f, "0000000000000", &format!("{a}\n"));
    let report = f.store.reindex().unwrap();
    assert_eq!(report, ReindexReport { nodes: 35, types: 2, added: 1 + 33 + 1, struck: 4, unreadable: 0 });
    assert_eq!(f.store.indexed(&TEXT).unwrap(), [a, b]);
    assert_eq!(f.store.indexed(&META_SCHEMA).unwrap().len(), 33);
    assert_eq!(f.index("_meta"), before[0]);
    assert!(!f.directory.path().join("_index/0000000000000").exists());
    assert_eq!(f.store.put(&TEXT, &json!("c")).unwrap(), f.store.indexed(&TEXT).unwrap()[2]);
}

#[test]
fn what_is_put_while_the_index_is_mended_stays_in_it() {
    let f = Fixture::new();
    let other = f.store.put_schema(&json!({"type": "integer"})).unwrap();
    let old = f.store.put_text("old").unwrap();
    let (scan, _) = f.store.scan_types().unwrap();
    let (text, number) = (f.store.put_text("new").unwrap(), f.store.put(&other, &json!(1)).unwrap());
    write_index(&f, TEXT.as_str(), &format!("{old}\n{text}\n{text}\n"));
    let report = f.store.nodes.reindex(scan).unwrap();
    assert_eq!((report.added, report.struck), (0, 1), "a repeat is struck all the same");
    assert_eq!(f.store.indexed(&TEXT).unwrap(), [old, text]);
    assert_eq!(f.store.indexed(&other).unwrap(), [number]);
}
