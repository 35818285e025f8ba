//! Directories as nodes.

use uwf_store::schema::builtin::META_SCHEMA;
use uwf_store::{Profile, schema};

use super::*;
use crate::fixture::later;

const CONTENT: Hash = Hash::from_static("0000000000000");

fn store() -> Store {
    Store::in_memory(Profile::PLAIN, later).unwrap()
}

fn put_payload(store: &Store, entries: &Value) -> Hash {
    let mut batch = store.batch();
    batch.put_type(&TREE, schema).unwrap();
    let tree = batch.put(&TREE, &json!({"entries": entries})).unwrap();
    batch.commit().unwrap();
    tree
}

#[test]
fn the_type_is_pinned() {
    assert_eq!(schema::check(&schema()), Ok(()));
    assert_eq!(Hash::of(&META_SCHEMA, &schema()), TREE);
}

#[test]
fn a_tree_reads_as_it_was_put() {
    let store = store();
    let mut batch = store.batch();
    let content = batch.put_blob(&mut &b"content"[..]).unwrap();
    let empty = put(&mut batch, std::iter::empty()).unwrap();
    let entries = Tree::from([
        ("a\\b".into(), SnapshotEntry::File { content: content.hash, size: 7, mode: 0o644 }),
        (
            OsStr::from_bytes(b"\xff").into(),
            SnapshotEntry::Symlink { target: OsStr::from_bytes(b"../\xfe").into() },
        ),
        ("dir".into(), SnapshotEntry::Directory { tree: empty, mode: 0o7 }),
        (".git".into(), SnapshotEntry::File { content: content.hash, size: 7, mode: 0 }),
    ]);
    let tree = put(&mut batch, entries.iter().map(|(name, entry)| (name.as_os_str(), entry))).unwrap();
    batch.commit().unwrap();
    assert_eq!(read(&store, &tree).unwrap(), entries);
    assert_eq!(store.get(&tree).unwrap().payload["entries"]["dir"], json!({"tree": empty, "mode": "007"}));
    assert!(read(&store, &empty).unwrap().is_empty());
}

#[test]
fn references_lead_from_trees_to_contents() {
    let store = store();
    let mut batch = store.batch();
    let kept = batch.put_blob(&mut &b"kept"[..]).unwrap().hash;
    let file = SnapshotEntry::File { content: kept, size: 4, mode: 0o644 };
    let inner = put(&mut batch, [(OsStr::new("f"), &file)].into_iter()).unwrap();
    let directory = SnapshotEntry::Directory { tree: inner, mode: 0o755 };
    let outer = put(&mut batch, [(OsStr::new("d"), &directory)].into_iter()).unwrap();
    batch.commit().unwrap();
    assert_eq!(store.refs(&outer).unwrap(), [inner]);
    assert_eq!(store.refs(&inner).unwrap(), [kept]);
    assert!(store.closure(&[outer]).unwrap().contains(&kept));
}

#[test]
fn what_is_no_directory_is_refused() {
    let store = store();
    let file = json!({"file": CONTENT, "size": 1, "mode": "644"});
    let directory = json!({"tree": CONTENT, "mode": "755"});
    for entries in [
        json!({"..": file}),
        json!({".": directory}),
        json!({"": file}),
        json!({"a/b": file}),
        json!({"a\u{0}b": file}),
        json!({r"\x2e\x2e": file}),
        json!({".git": directory}),
        json!({"x": {"file": CONTENT, "size": 1}}),
        json!({"x": {"file": CONTENT, "mode": "644"}}),
        json!({"x": {"tree": CONTENT}}),
        json!({"x": {"symlink": ""}}),
        json!({"x": {"symlink": "a\u{0}"}}),
        json!({"x": {}}),
    ] {
        let tree = put_payload(&store, &entries);
        let error = read(&store, &tree).unwrap_err();
        assert!(matches!(error, SnapshotError::Damaged { .. }), "{entries}: {error}");
    }
    assert!(matches!(read(&store, &META_SCHEMA), Err(SnapshotError::Damaged { .. })));
    assert!(matches!(read(&store, &CONTENT), Err(SnapshotError::Store(StoreError::NotFound { .. }))));
    assert!(read(&store, &put_payload(&store, &json!({"x": file, "y": directory}))).is_ok());
}

#[test]
fn a_path_leads_to_what_is_there() {
    let mut fixture = crate::fixture::Fixture::new();
    fixture.write("a/b/c", "x");
    fixture.write("d", "y");
    let tree = fixture.tree();
    let found = |path: &str| find(&fixture.store, &tree, Path::new(path)).unwrap();
    assert!(matches!(found("a/b/c"), Some(SnapshotEntry::File { size: 1, .. })));
    assert!(found("a/b").unwrap().is_directory());
    for nothing in ["a/x", "d/x", "x", "a/b/c/d"] {
        assert_eq!(found(nothing), None, "{nothing}");
    }
}
