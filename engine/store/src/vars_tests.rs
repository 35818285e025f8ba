//! Variables: names, history, compare-and-set, and other programs at the same file.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, params};
use serde_json::json;

use super::*;
use crate::expect::Expect;
use crate::schema::builtin;
use crate::sqlite::{BUSY_TIMEOUT, Sqlite};
use crate::tests::{Fixture, PROFILE, clock};
use crate::{Node, Store};

/// A clock that goes on by one each time it is read.
fn ticking() -> u64 {
    static TICKS: AtomicU64 = AtomicU64::new(1000);
    TICKS.fetch_add(1, Ordering::Relaxed)
}

fn set_to(name: &str, node: (Hash, Hash), expect: Expect) -> VarChange {
    VarChange::Set { name: name.to_owned(), schema: node.0, value: node.1, tags: BTreeMap::new(), expect }
}

fn text(store: &Store, text: &str) -> (Hash, Hash) {
    (builtin::TEXT, store.put_text(text).unwrap())
}

fn number(store: &Store, n: u64) -> (Hash, Hash) {
    let type_ = store.put_schema(&json!({"type": "integer"})).unwrap();
    (type_, store.put(&type_, &json!(n)).unwrap())
}

/// The database as another program sees it.
fn other(f: &Fixture) -> Connection {
    let connection = Connection::open(f.directory.path().join("vars/_store.db")).unwrap();
    connection.busy_timeout(BUSY_TIMEOUT).unwrap();
    connection
}

fn history(f: &Fixture, name: &str) -> Vec<(i64, String)> {
    let connection = other(f);
    let mut query = connection
        .prepare("SELECT position, value FROM var_history WHERE name = ?1 ORDER BY position")
        .unwrap();
    let rows = query.query_map([name], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn tables_and_indexes_are_those_of_the_format() {
    let f = Fixture::new();
    let connection = other(&f);
    let mut query = connection
        .prepare("SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema WHERE sql NOT NULL ORDER BY 1")
        .unwrap();
    let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let lines: Vec<_> =
        rows.map(|row| row.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    index idx_tags_key CREATE INDEX idx_tags_key ON tags(key)
    index idx_tags_key_value CREATE INDEX idx_tags_key_value ON tags(key, value)
    index idx_var_history_pos_desc CREATE INDEX idx_var_history_pos_desc ON var_history(name, schema, position DESC)
    index idx_vars_created CREATE INDEX idx_vars_created ON vars(created)
    index idx_vars_name CREATE INDEX idx_vars_name ON vars(name)
    index idx_vars_updated CREATE INDEX idx_vars_updated ON vars(updated)
    table tags CREATE TABLE tags ( target TEXT NOT NULL, key TEXT NOT NULL, value TEXT, created INTEGER NOT NULL, PRIMARY KEY (target, key) )
    table var_history CREATE TABLE var_history ( name TEXT NOT NULL, schema TEXT NOT NULL, value TEXT NOT NULL, position INTEGER NOT NULL, set_at INTEGER NOT NULL, PRIMARY KEY (name, schema, position), FOREIGN KEY (name, schema) REFERENCES vars(name, schema) ON DELETE CASCADE )
    table vars CREATE TABLE vars ( name TEXT NOT NULL, schema TEXT NOT NULL, value TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL, tags TEXT NOT NULL DEFAULT '{}', labels TEXT NOT NULL DEFAULT '[]', PRIMARY KEY (name, schema) )
    "#);
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn every_connection_is_set_up_alike() {
    let directory = tempfile::tempdir().unwrap();
    let names = Sqlite::open(directory.path()).unwrap();
    let connection = names.connection();
    let pragma = |name: &str| -> i64 { connection.pragma_query_value(None, name, |row| row.get(0)).unwrap() };
    assert_eq!((pragma("foreign_keys"), pragma("synchronous"), pragma("busy_timeout")), (1, 2, 10_000));
}

#[test]
fn where_nothing_can_be_written_it_is_read_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let [database, log] = ["vars/_store.db", "vars/_store.db-wal"].map(|name| directory.path().join(name));
    drop(Store::open(directory.path(), PROFILE, clock).unwrap());
    // Clears the log and removes it.
    drop(Connection::open(&database).map(|other| other.execute_batch("SELECT count(*) FROM vars")));
    // Where a log cannot be made.
    std::fs::create_dir(&log).unwrap();
    let store = Store::open(directory.path(), PROFILE, clock).unwrap();
    assert!(store.vars().get("@ocas/string").unwrap().is_some());
    let alias = (builtin::META_SCHEMA, builtin::TEXT);
    let error = store.vars().apply(&[set_to("@me/x", alias, Expect::Any)]).unwrap_err();
    assert!(error.hint().unwrap().contains("must be writable"), "{error}");
}

/// Opens the store of this directory, sets a variable to that text, and closes it.
fn set_once(directory: &Path, round: &str) {
    let store = Store::open(directory, PROFILE, clock).unwrap();
    let node = text(&store, round);
    store.vars().apply(&[set_to("@me/x", node, Expect::Any)]).unwrap();
}

fn log_of(directory: &Path) -> u64 {
    std::fs::metadata(directory.join("vars/_store.db-wal")).map_or(0, |log| log.len())
}

#[test]
fn what_was_set_is_there_without_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join("vars").join(name);
    for round in ["one", "two", "three"] {
        set_once(directory.path(), round);
        assert_eq!(log_of(directory.path()), 0, "a program that comes later has nothing to read");
        for name in ["_store.db-wal", "_store.db-shm"] {
            std::fs::remove_file(at(name)).ok();
        }
        let store = Store::open(directory.path(), PROFILE, clock).unwrap();
        let found = store.vars().get("@me/x").unwrap().unwrap().value;
        assert_eq!(found, Hash::of(&builtin::TEXT, &json!(round)));
    }
}

#[test]
fn who_reads_at_that_moment_is_not_waited_for_and_the_next_one_does_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    set_once(directory.path(), "one");
    let reader = Connection::open(directory.path().join("vars/_store.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let value = || reader.query_row("SELECT value FROM vars WHERE name = '@me/x'", [], |row| row.get(0));
    let before: String = value().unwrap();
    let begun = Instant::now();
    for round in 0..10 {
        set_once(directory.path(), &format!("round {round}"));
    }
    assert!(begun.elapsed() < BUSY_TIMEOUT * 5, "each would have waited for {BUSY_TIMEOUT:?}");
    assert!(log_of(directory.path()) > 0);
    assert_eq!(value().unwrap(), before, "a reader sees what it has begun with");
    reader.execute_batch("COMMIT").unwrap();
    drop(Store::open(directory.path(), PROFILE, clock).unwrap());
    assert_eq!(log_of(directory.path()), 0);
    assert_eq!(value().unwrap(), Hash::of(&builtin::TEXT, &json!("round 9")).as_str());
}

#[test]
fn a_variable_is_what_it_was_set_to() {
    let f = Fixture::new();
    let vars = f.store.vars();
    assert_eq!(vars.get("@t/a").unwrap(), None);
    let (schema, value) = text(&f.store, "one");
    let tags = BTreeMap::from([("status".to_owned(), "end".to_owned())]);
    let set =
        VarChange::Set { name: "@t/a".to_owned(), schema, value, tags: tags.clone(), expect: Expect::Absent };
    vars.apply(&[set]).unwrap();
    let (created, updated) = (clock(), clock());
    let expected =
        Variable { name: "@t/a".to_owned(), schema, value, created, updated, tags, labels: Vec::new() };
    assert_eq!(vars.get("@t/a").unwrap(), Some(expected.clone()));
    assert_eq!(vars.list("@t/").unwrap(), [expected]);
    let raw: String =
        other(&f).query_row("SELECT tags FROM vars WHERE name = '@t/a'", [], |row| row.get(0)).unwrap();
    assert_eq!(raw, r#"{"status":"end"}"#);
}

#[test]
fn a_variable_names_a_node_of_its_schema() {
    let f = Fixture::new();
    let (schema, value) = text(&f.store, "one");
    let absent = Hash::from_static("0000000000000");
    let error = f.store.vars().apply(&[set_to("@t/a", (schema, absent), Expect::Any)]).unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    let error =
        f.store.vars().apply(&[set_to("@t/a", (builtin::META_SCHEMA, value), Expect::Any)]).unwrap_err();
    assert!(error.to_string().ends_with("has type 7VQ43ZSJTEWA7, not CTS5P6RD8HMCS"), "{error}");
    assert_eq!(f.store.vars().get("@t/a").unwrap(), None);
}

#[test]
fn a_set_replaces_every_row_of_the_name() {
    let f = Fixture::new();
    let vars = f.store.vars();
    vars.apply(&[set_to("@t/a", number(&f.store, 1), Expect::Any)]).unwrap();
    let (schema, value) = text(&f.store, "one");
    other(&f)
        .execute(
            "INSERT INTO vars VALUES ('@t/a', ?1, ?2, 5, ?3, '{}', '[\"kept\"]')",
            params![schema.as_str(), value.as_str(), clock() as i64 + 5],
        )
        .unwrap();
    assert_eq!(vars.get("@t/a").unwrap().unwrap().value, value, "the newest row counts");
    assert_eq!(vars.list("@t/").unwrap().len(), 1);
    let next = number(&f.store, 2);
    vars.apply(&[set_to("@t/a", next, Expect::Value(value))]).unwrap();
    let rows: i64 =
        other(&f).query_row("SELECT count(*) FROM vars WHERE name = '@t/a'", [], |row| row.get(0)).unwrap();
    let variable = vars.get("@t/a").unwrap().unwrap();
    assert_eq!((rows, variable.value, variable.created), (1, next.1, 5));
    assert_eq!(variable.labels, ["kept"]);
}

#[test]
fn the_ten_newest_values_are_remembered() {
    let f = Fixture::new();
    let vars = f.store.vars();
    let nodes: Vec<_> = (0..13).map(|n| number(&f.store, n)).collect();
    for node in &nodes {
        vars.apply(&[set_to("@t/a", *node, Expect::Any)]).unwrap();
        vars.apply(&[set_to("@t/a", *node, Expect::Any)]).unwrap();
    }
    let expected: Vec<_> = (3..13).map(|n| (n, nodes[usize::try_from(n).unwrap()].1.to_string())).collect();
    assert_eq!(history(&f, "@t/a"), expected);
    let values: Vec<_> = vars.history("@t/a").unwrap().into_iter().map(|(value, _)| value).collect();
    assert_eq!(values, nodes[3..].iter().rev().map(|node| node.1).collect::<Vec<_>>());
    vars.apply(&[set_to("@t/a", text(&f.store, "other type"), Expect::Any)]).unwrap();
    assert_eq!(history(&f, "@t/a").len(), 1, "history goes with its row");
    vars.apply(&[set_to("@t/a", nodes[0], Expect::Any)]).unwrap();
    assert_eq!(history(&f, "@t/a"), [(0, nodes[0].1.to_string())]);
}

#[test]
fn changes_are_made_together_or_not_at_all() {
    let f = Fixture::new();
    let vars = f.store.vars();
    let (one, two) = (text(&f.store, "one"), text(&f.store, "two"));
    vars.apply(&[set_to("@t/a", one, Expect::Absent), set_to("@t/b/c", one, Expect::Absent)]).unwrap();
    let changes =
        [VarChange::RemovePrefix { prefix: "@t/b/".to_owned() }, set_to("@t/a", two, Expect::Value(two.1))];
    let error = vars.apply(&changes).unwrap_err();
    let expected = format!("variable @t/a was expected to be {} but is {}", two.1, one.1);
    assert_eq!(error.to_string(), expected);
    assert!(vars.get("@t/b/c").unwrap().is_some(), "rolled back");
    let error = vars.apply(&[set_to("@t/a", two, Expect::Absent)]).unwrap_err();
    assert!(matches!(error, StoreError::Conflict { found: Some(_), .. }), "{error}");
    let error = vars.apply(&[set_to("@t/z", two, Expect::Value(one.1))]).unwrap_err();
    assert!(error.to_string().ends_with("but does not exist"), "{error}");
}

#[test]
fn names_are_removed_alone_or_by_prefix() {
    let f = Fixture::new();
    let vars = f.store.vars();
    let node = text(&f.store, "x");
    let names = ["@t/a", "@t/a/b", "@t/a/c", "@t/ab", "@u/a/b"];
    vars.apply(&names.map(|name| set_to(name, node, Expect::Any))).unwrap();
    vars.apply(&[VarChange::RemovePrefix { prefix: "@t/a/".to_owned() }]).unwrap();
    let left = |prefix| vars.list(prefix).unwrap().into_iter().map(|v| v.name).collect::<Vec<_>>();
    assert_eq!(left("@t"), ["@t/a", "@t/ab"]);
    vars.apply(&[
        VarChange::Remove { name: "@t/a".to_owned() },
        VarChange::Remove { name: "@t/no".to_owned() },
    ])
    .unwrap();
    assert_eq!(left("@t/"), ["@t/ab"]);
    assert_eq!(left("@u/a/b"), ["@u/a/b"]);
    assert_eq!(history(&f, "@t/a"), []);
}

#[test]
fn only_names_of_the_format_are_taken() {
    for name in ["@uwf/thread/06H001", "@ocas/output/list-meta", "@a1/._-", "@A/b.c/D_e"] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    for name in [
        "", "@", "uwf/a", "@uwf", "@uwf/", "@/a", "@1a/b", "@a-b/c", "@a/b//c", "@a/b/", "@a/b c", "@a/ü",
        "@a/b%",
    ] {
        assert!(check_name(name).is_err(), "{name}");
    }
    let f = Fixture::new();
    for prefix in ["", "@", "@uwf", "uwf/"] {
        let error =
            f.store.vars().apply(&[VarChange::RemovePrefix { prefix: prefix.to_owned() }]).unwrap_err();
        assert!(matches!(error, StoreError::BadName { .. }), "{prefix}");
    }
    assert_eq!(f.store.vars().list("@ocas/").unwrap().len(), 33);
}

#[test]
fn a_row_that_makes_no_sense_is_named() {
    let f = Fixture::new();
    let (schema, value) = text(&f.store, "x");
    for (column, bad) in [("value", "nonsense"), ("tags", "{"), ("labels", "{}"), ("schema", "")] {
        f.store.vars().apply(&[set_to("@t/a", (schema, value), Expect::Any)]).unwrap();
        let connection = other(&f);
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        connection.execute(&format!("UPDATE vars SET {column} = ?1 WHERE name = '@t/a'"), [bad]).unwrap();
        let error = f.store.vars().get("@t/a").unwrap_err();
        assert!(error.to_string().starts_with("variable @t/a is damaged: "), "{error}");
        connection.execute("DELETE FROM var_history WHERE name = '@t/a'", []).unwrap();
        connection.execute("DELETE FROM vars WHERE name = '@t/a'", []).unwrap();
    }
}

#[test]
fn a_damaged_row_spoils_no_other() {
    let f = Fixture::new();
    let node = text(&f.store, "x");
    let names = ["@t/broken", "@t/good", "@t/list", "@t/number", "@t/valueless"];
    f.store.vars().apply(&names.map(|name| set_to(name, node, Expect::Any))).unwrap();
    let connection = other(&f);
    let damage = |name: &str, column: &str, bad: &str| {
        connection.execute(&format!("UPDATE vars SET {column} = ?1 WHERE name = ?2"), [bad, name]).unwrap();
    };
    damage("@t/broken", "tags", "{");
    damage("@t/list", "tags", r#"{"completedAt":[5]}"#);
    damage("@t/number", "tags", r#"{"completedAt":5,"sure":true}"#);
    damage("@t/valueless", "value", "nonsense");
    let told = |variables: Vec<Variable>| -> Vec<(String, String)> {
        let tags = |tags| serde_json::to_string(&tags).unwrap();
        variables.into_iter().map(|variable| (variable.name, tags(variable.tags))).collect()
    };
    let listed = told(f.store.vars().list("@t/").unwrap());
    let expected = [
        ("@t/broken", r#"{"status":"{"}"#),
        ("@t/good", "{}"),
        ("@t/list", r#"{"status":"{\"completedAt\":[5]}"}"#),
        ("@t/number", r#"{"completedAt":"5","sure":"true"}"#),
    ];
    assert_eq!(listed, expected.map(|(name, tags)| (name.to_owned(), tags.to_owned())));
    assert_eq!(told(f.store.vars().rows("@t/").unwrap()), listed);
    let mut backwards = told(f.store.vars().backwards("@t/", "@u", 9).unwrap().0);
    backwards.reverse();
    assert_eq!(backwards, listed);
    assert_eq!(f.store.vars().get("@t/number").unwrap().unwrap().tags["completedAt"], "5");
    assert!(matches!(f.store.vars().get("@t/list"), Err(StoreError::DamagedVariable { .. })));
}

#[test]
fn a_head_that_another_program_is_moving_is_found() {
    let f = Fixture::new();
    let name = "@uwf/thread/06H001PNXXPGZ8DNTP4JWJVFJC";
    let (one, two) = (text(&f.store, "one"), text(&f.store, "two"));
    f.store.vars().apply(&[set_to(name, one, Expect::Any)]).unwrap();
    let connection = other(&f);
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    // How long the disk takes is not what this is about.
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    connection.execute("DELETE FROM vars WHERE name = ?1", [name]).unwrap();
    std::thread::scope(|scope| {
        let found = scope.spawn(|| f.store.vars().get(name).unwrap());
        std::thread::sleep(LOOK * 2);
        let row = params![name, two.0.as_str(), two.1.as_str()];
        connection.execute("INSERT INTO vars VALUES (?1, ?2, ?3, 1, 1, '{}', '[]')", row).unwrap();
        assert_eq!(found.join().unwrap().unwrap().value, two.1);
    });
}

/// Eight threads, each with a store of its own, count to fifty on one variable.
#[test]
fn no_update_is_lost_and_nobody_is_locked_out() {
    const THREADS: u64 = 8;
    const EACH: u64 = 50;
    let f = Fixture::new();
    let zero = number(&f.store, 0);
    f.store.vars().apply(&[set_to("@t/count", zero, Expect::Absent)]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let root = f.directory.path();
            scope.spawn(move || {
                let store = Store::open(root, PROFILE, ticking).unwrap();
                (0..EACH).for_each(|_| increment(&store));
            });
        }
    });
    let last = f.store.vars().get("@t/count").unwrap().unwrap();
    assert_eq!(f.store.get(&last.value).unwrap().payload, json!(THREADS * EACH));
    assert_eq!(history(&f, "@t/count").last().unwrap().0, (THREADS * EACH).cast_signed());
}

fn increment(store: &Store) {
    loop {
        let before = store.vars().get("@t/count").unwrap().unwrap();
        let Node { payload, .. } = store.get(&before.value).unwrap();
        let after = number(store, payload.as_u64().unwrap() + 1);
        match store.vars().apply(&[set_to("@t/count", after, Expect::Value(before.value))]) {
            Ok(()) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
