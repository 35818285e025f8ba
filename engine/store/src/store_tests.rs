//! The store as others use it: opening, putting, getting. Files are in `fs_tests.rs`, variables in `vars_tests.rs`.

use std::path::PathBuf;

use serde_json::json;

use super::*;

/// In the past, whenever this is run: what is written now is never old.
pub(super) const NOW: u64 = 1_600_000_000_121;

pub(super) fn clock() -> u64 {
    NOW
}

pub(super) const START_NODE: Hash = Hash::from_static("44P8EP6N3NXZ5");

/// As that of a program with a type of its own, and variables that others move.
pub(super) const PROFILE: Profile = Profile {
    schemas: &[START_NODE],
    values: || {
        let reference = json!({"type": "string", "format": "ocas_ref"});
        vec![json!({
            "title": "StartNode",
            "type": "object",
            "required": ["workflow", "prompt", "cwd"],
            "properties": {"workflow": reference, "prompt": {"type": "string"}, "cwd": {"type": "string"}},
            "additionalProperties": false,
        })]
    },
    moved: Some("@uwf/thread/"),
};

/// A store in a directory that goes away with it.
pub(super) struct Fixture {
    pub(super) store: Store,
    pub(super) directory: tempfile::TempDir,
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        Fixture { store: Store::open(directory.path(), PROFILE, clock).unwrap(), directory }
    }

    pub(super) fn file(&self, hash: &Hash) -> PathBuf {
        self.directory.path().join(format!("nodes/{hash}.bin"))
    }

    /// The names in `nodes/`, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path().join("nodes")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(super) fn index(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join("_index").join(name)).unwrap_or_default()
    }

    /// A type of `{to: [ref], name: string}`.
    pub(super) fn links(&self) -> Hash {
        let reference = json!({"type": "string", "format": "ocas_ref"});
        let schema = json!({
            "type": "object",
            "properties": {"to": {"type": "array", "items": reference}, "name": {"type": "string"}},
        });
        self.store.put_schema(&schema).unwrap()
    }
}

#[test]
fn a_new_store_has_what_every_store_has() {
    let f = Fixture::new();
    for hash in PROFILE.hashes() {
        assert_eq!(f.store.get(&hash).unwrap().type_, META_SCHEMA);
    }
    assert_eq!(f.names().len(), 33);
    assert_eq!(f.index("_meta"), "CTS5P6RD8HMCS\n");
    assert_eq!(f.index("CTS5P6RD8HMCS").lines().count(), 33);
    for (name, hash) in builtin::ALIASES {
        let variable = f.store.vars().get(name).unwrap().unwrap();
        assert_eq!((variable.schema, variable.value), (META_SCHEMA, hash), "{name}");
    }
    assert_eq!(f.store.vars().list("").unwrap().len(), 33);
}

#[test]
fn opening_again_changes_nothing() {
    let f = Fixture::new();
    let before = (f.names(), f.index("CTS5P6RD8HMCS"));
    let again = Store::open(f.directory.path(), PROFILE, || NOW + 1).unwrap();
    assert_eq!((f.names(), f.index("CTS5P6RD8HMCS")), before);
    assert_eq!(again.get(&META_SCHEMA).unwrap().timestamp, NOW);
    assert_eq!(again.vars().get("@ocas/schema").unwrap().unwrap().updated, NOW);
}

#[test]
fn opening_restores_what_is_missing() {
    let f = Fixture::new();
    std::fs::remove_file(f.file(&START_NODE)).unwrap();
    std::fs::write(f.file(&builtin::TEXT), "").unwrap();
    f.store.vars().apply(&[VarChange::Remove { name: "@ocas/null".to_owned() }]).unwrap();
    let again = Store::open(f.directory.path(), PROFILE, clock).unwrap();
    assert!(again.get(&START_NODE).is_ok());
    assert!(again.get(&builtin::TEXT).is_ok());
    assert!(again.vars().get("@ocas/null").unwrap().is_some());
}

#[test]
fn a_place_where_no_store_can_be_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("file");
    std::fs::write(&root, "").unwrap();
    let error = Store::open(&root, PROFILE, clock).err().unwrap();
    let expected =
        format!("could not create the directory '{}/nodes': Not a directory (os error 20)", root.display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_was_put_is_read_back() {
    let f = Fixture::new();
    let hash = f.store.put_text("hello").unwrap();
    assert_eq!(
        f.store.get(&hash).unwrap(),
        Node { type_: builtin::TEXT, payload: json!("hello"), timestamp: NOW }
    );
    assert_eq!(hash, Hash::of(&builtin::TEXT, &json!("hello")));
    assert!(f.store.has(&hash));
    assert_eq!(f.index("7VQ43ZSJTEWA7"), format!("{hash}\n"));
}

#[test]
fn what_was_never_put_is_not_found() {
    let f = Fixture::new();
    let hash = Hash::of(&builtin::TEXT, &json!("never"));
    assert_eq!(f.store.find(&hash).unwrap(), None);
    assert!(!f.store.has(&hash));
    assert_eq!(f.store.get(&hash).unwrap_err().to_string(), format!("no node {hash} in the store"));
}

#[test]
fn a_payload_must_obey_its_type() {
    let f = Fixture::new();
    let before = f.names();
    let error = f.store.put(&START_NODE, &json!({"workflow": "x", "prompt": 1})).unwrap_err();
    insta::assert_snapshot!(error, @r#"the payload does not obey type 44P8EP6N3NXZ5: "cwd" is a required property; /prompt: 1 is not of type "string"; /workflow: "x" is not the hash of a node (13 characters of 0-9 and A-Z without I, L, O, U)"#);
    let unknown = Hash::from_static("0000000000000");
    let error = f.store.put(&unknown, &json!(1)).unwrap_err();
    assert_eq!(error.to_string(), "type 0000000000000 is not in the store");
    let text = f.store.put_text("no schema").unwrap();
    let error = f.store.put(&text, &json!(1)).unwrap_err();
    assert_eq!(error.to_string(), format!("type {text} is not a schema"));
    std::fs::remove_file(f.file(&text)).unwrap();
    assert_eq!(f.names(), before);
}

#[test]
fn schemas_are_put_by_their_own_rules() {
    let f = Fixture::new();
    let schema = json!({"type": "object", "properties": {"a": {"format": "date"}}});
    let hash = f.store.put_schema(&schema).unwrap();
    assert_eq!(f.store.schema_of(&hash).unwrap(), schema);
    let error = f.store.put(&hash, &json!({"a": "x"})).unwrap_err();
    assert!(matches!(error, StoreError::Schema(schema::SchemaError::Unsupported { .. })), "{error}");
    assert!(error.hint().is_some());
    let error = f.store.put_schema(&json!({"$ref": "#"})).unwrap_err();
    assert_eq!(error.to_string(), r#"schema: the keyword "$ref" is not allowed"#);
    assert_eq!(f.store.validate(&META_SCHEMA, &json!({"items": 1})).unwrap()[0].path, "");
    let meta = f.store.schema_of(&META_SCHEMA).unwrap();
    assert_eq!(f.store.put_schema(&meta).unwrap(), META_SCHEMA, "the meta-schema is its own type, always");
}

#[test]
fn a_batch_is_all_or_nothing() {
    let f = Fixture::new();
    let schema = json!({"type": "integer", "minimum": 7});
    let type_ = Hash::of(&META_SCHEMA, &schema);
    let before = f.names();
    let bad = [(META_SCHEMA, schema.clone()), (builtin::TEXT, json!("x")), (type_, json!(6))];
    assert!(matches!(f.store.put_all(&bad), Err(StoreError::Invalid { .. })));
    assert_eq!(f.names(), before);
    assert!(
        matches!(f.store.put(&type_, &json!(7)), Err(StoreError::UnknownType { .. })),
        "nothing is remembered"
    );
    let good = [(META_SCHEMA, schema), (type_, json!(7)), (builtin::TEXT, json!("x")), (type_, json!(7.0))];
    let hashes = f.store.put_all(&good).unwrap();
    assert_eq!(hashes.len(), 4);
    assert_eq!(hashes[1], hashes[3], "one node, twice");
    assert_eq!(f.names().len(), before.len() + 3);
    for ((type_, payload), hash) in good.iter().zip(&hashes) {
        let node = f.store.get(hash).unwrap();
        assert_eq!((node.type_, node.payload.as_f64()), (*type_, payload.as_f64()));
    }
    assert_eq!(f.store.put_all(&[]).unwrap(), []);
}

#[test]
fn a_payload_that_nobody_could_read_is_refused() {
    let f = Fixture::new();
    let any = f.store.put_schema(&json!({})).unwrap();
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let hash = f.store.put(&any, &nested(node::MAX_DEPTH)).unwrap();
    assert!(f.store.get(&hash).is_ok());
    assert!(matches!(f.store.put(&any, &nested(node::MAX_DEPTH + 1)), Err(StoreError::TooDeep { .. })));
}

#[test]
fn nodes_can_be_listed() {
    let f = Fixture::new();
    let (b, a) = (f.store.put_text("b").unwrap(), f.store.put_text("a").unwrap());
    let path = f.directory.path().join("_index/7VQ43ZSJTEWA7");
    let more = format!("{}\n  \n{b}\nhalf a li", std::fs::read_to_string(&path).unwrap());
    std::fs::write(path, more).unwrap();
    assert_eq!(f.store.indexed(&builtin::TEXT).unwrap(), [b, a]);
    assert_eq!(f.store.indexed(&a).unwrap(), []);
}

#[test]
fn a_database_that_cannot_be_opened_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vars/_store.db");
    std::fs::create_dir_all(&path).unwrap();
    let error = Store::open(directory.path(), PROFILE, clock).err().unwrap();
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("could not open the variable database '{}'", path.display())),
        "{text}"
    );
    assert!(error.hint().unwrap().contains("must be writable"));
}

#[test]
fn threads_share_a_store() {
    let f = Fixture::new();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &f.store;
            scope.spawn(move || {
                (0..20).for_each(|i| assert!(store.put_text(&format!("{}", (thread + i) % 7)).is_ok()))
            });
        }
    });
    for i in 0..7 {
        assert!(f.store.has(&Hash::of(&builtin::TEXT, &json!(i.to_string()))));
    }
}

#[test]
fn hints_say_what_to_do() {
    let hint = |kind: std::io::ErrorKind| {
        StoreError::Io { doing: "write", path: "/s/nodes".into(), source: kind.into() }.hint()
    };
    insta::assert_snapshot!(hint(std::io::ErrorKind::ReadOnlyFilesystem).unwrap(), @r#"the store must be writable: check the owner and mode of '/s/nodes', or use another store"#);
    insta::assert_snapshot!(hint(std::io::ErrorKind::StorageFull).unwrap(), @r#"free space on the file system of '/s/nodes'; nothing was stored"#);
    insta::assert_snapshot!(hint(std::io::ErrorKind::NotADirectory).unwrap(), @r#"OCAS_HOME names the directory of the store; it must be one that can be made"#);
    assert_eq!(hint(std::io::ErrorKind::Interrupted), None);
}
