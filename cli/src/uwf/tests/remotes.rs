//! `uwf remote …` against a Postgres of the test's own.

use std::fs;

use serde_json::json;
use uwf_engine::fixture::Place;
use uwf_fleet::fixture::Postgres;

use super::command_line::CommandLine;

#[test]
fn a_remote_is_added_listed_and_removed() {
    let place = Place::new();
    let added = place.uwf(&["remote", "add", "team", "postgres://anna@db.example.org/uwf", "--offline"]);
    assert_eq!((added.exit, added.err.as_str()), (0, ""));
    let url = "postgres://anna@db.example.org/uwf";
    assert_eq!(added.json(), json!({"name": "team", "url": url, "added": true, "schema": null}));
    let again = place.uwf(&["remote", "add", "team", url, "--offline"]);
    assert_eq!((again.exit, again.json()["added"].as_bool()), (0, Some(false)));
    let other = place.uwf(&["remote", "add", "team", "postgres://h/d", "--offline"]);
    assert_eq!(
        (other.exit, other.err.as_str()),
        (
            1,
            "error: there is a remote `team` already, postgres://anna@db.example.org/uwf\n  hint: another name, or \
             `uwf remote rm team` first\n"
        )
    );
    assert_eq!(place.uwf(&["remote", "list"]).json(), json!([{"name": "team", "url": url}]));
    assert_eq!(place.uwf(&["remote", "list", "--json", "name", "--jq", ".[].name"]).out, "team\n");
    assert_eq!(place.completing(&["remote", "rm", "t"]), ["team"]);
    let unknown = place.uwf(&["remote", "rm", "taem"]);
    assert_eq!(unknown.err, "error: there is no remote `taem`\n  hint: did you mean `team`?\n");
    assert_eq!(place.uwf(&["remote", "rm", "team"]).json(), json!({"name": "team", "removed": true}));
    assert_eq!(place.uwf(&["remote", "list"]).json(), json!([]));
}

#[test]
fn an_address_with_a_password_is_refused_and_not_told() {
    let place = Place::new();
    let ran = place.uwf(&["remote", "add", "team", "postgres://anna:s3cret@h/d"]);
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("PGPASSWORD") && !format!("{ran:?}").contains("s3cret"), "{ran:?}");
    assert!(!place.homes().uwf.join("remotes.json").exists());
}

#[test]
fn what_does_not_answer_is_not_added() {
    let place = Place::new();
    let ran = place.uwf(&["remote", "add", "team", "postgres://anna@127.0.0.1:1/uwf"]);
    assert!(ran.exit == 1 && ran.err.contains("cannot connect to 127.0.0.1/uwf"), "{ran:?}");
    assert!(ran.err.contains("--offline adds it without a try"), "{ran:?}");
    assert_eq!(place.uwf(&["remote", "list"]).json(), json!([]));
}

#[test]
fn tables_are_made_when_somebody_says_so() {
    let Some(postgres) = Postgres::start() else { return };
    let place = Place::new();
    let url = postgres.url();
    let added = place.uwf(&["remote", "add", "team", &url]);
    assert_eq!((added.exit, &added.json()["schema"]), (0, &json!(null)));
    assert!(added.err.contains("uwf remote migrate team"), "{added:?}");
    let made = place.uwf(&["remote", "migrate"]);
    assert_eq!((made.exit, made.json()), (0, json!({"name": "team", "from": 0, "to": 1})), "{made:?}");
    assert_eq!(place.uwf(&["remote", "migrate", "team"]).json()["from"], 1);
    let again = place.uwf(&["remote", "add", "other", &url, "--create"]);
    assert_eq!((again.exit, &again.json()["schema"], again.err.as_str()), (0, &json!(1), ""));
    let known = fs::read_to_string(place.homes().uwf.join("remotes.json")).unwrap();
    assert!(known.contains("\"other\""), "{known}");
}

#[test]
fn who_may_not_make_tables_is_told_who_does() {
    let Some(postgres) = Postgres::start() else { return };
    postgres.client().batch_execute("CREATE ROLE anna LOGIN").unwrap();
    let place = Place::new();
    let ran = place.uwf(&["remote", "add", "team", &postgres.url_of("anna"), "--create"]);
    assert_eq!(ran.exit, 1);
    assert!(
        ran.err.contains("permission denied") && ran.err.contains("whoever owns the database"),
        "{ran:?}"
    );
    assert_eq!(place.uwf(&["remote", "list"]).json(), json!([]));
}
