//! Large nodes at a real Postgres and in a directory.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use uwf_engine::fixture::Place;
use uwf_store::Store;

use super::location::Location;
use super::*;
use crate::fixture::Postgres;
use crate::garbage::{Collect, YOUNGEST, collect};
use crate::nodes;

fn text_of(size: usize) -> String {
    "0123456789abcdef".repeat(size / 16)
}

fn put(at: &mut Connection, store: &Store, hash: Hash) -> Result<usize, FleetError> {
    nodes::put(at, store, (&[hash], &mut HashSet::new()))
}

fn get(at: &mut Connection, hash: Hash) -> Result<(Place, Store), FleetError> {
    let place = Place::in_memory();
    let store = place.store();
    let (client, team) = at.parts();
    let there = nodes::closure(client, team, &[hash])?;
    nodes::get(at, &store, &there)?;
    Ok((place, store))
}

/// The files of a directory and those below, by name.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => all.extend(files(&entry)),
            false => all.push(entry),
        }
    }
    all.sort();
    all
}

/// A remote whose large nodes go to a directory.
fn prepared() -> Option<(Postgres, Connection, tempfile::TempDir)> {
    let postgres = Postgres::start()?;
    let mut at = postgres.connection();
    let dir = tempfile::tempdir().unwrap();
    set(&mut at, "default", Some(&format!("file://{}", dir.path().display()))).unwrap();
    Some((postgres, at, dir))
}

#[test]
fn what_is_large_goes_to_the_store_and_comes_back_and_what_is_small_stays() {
    let Some((postgres, mut at, dir)) = prepared() else { return };
    let place = Place::in_memory();
    let store = place.store();
    // The encoding of a text has a few bytes more than the text.
    let small = store.put_text(&text_of(LARGE - 64)).unwrap();
    let large = store.put_text(&text_of(LARGE)).unwrap();
    put(&mut at, &store, small).unwrap();
    assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
    put(&mut at, &store, large).unwrap();
    assert_eq!(files(dir.path()).len(), 1);
    let sql = "SELECT bytes IS NULL, object, size FROM uwf.node WHERE hash = $1";
    let row = postgres.client().query_one(sql, &[&large.as_str()]).unwrap();
    assert!(row.get::<_, bool>(0) && row.get::<_, i32>(2) > i32::try_from(LARGE).unwrap());
    assert!(row.get::<_, &str>(1).starts_with("default/"));
    for hash in [small, large] {
        assert_eq!(get(&mut at, hash).unwrap().1.get(&hash).unwrap(), store.get(&hash).unwrap());
    }
    // Again it is there already.
    assert_eq!(put(&mut at, &store, large).unwrap(), 0);
    assert_eq!(files(dir.path()).len(), 1);
}

#[test]
fn what_is_missing_altered_or_of_another_size_is_not_taken() {
    let Some((_postgres, mut at, dir)) = prepared() else { return };
    let place = Place::in_memory();
    let store = place.store();
    let large = store.put_text(&text_of(LARGE * 2)).unwrap();
    put(&mut at, &store, large).unwrap();
    let file = files(dir.path()).remove(0);
    let bytes = fs::read(&file).unwrap();
    let said = |at: &mut Connection| {
        let error = get(at, large).map(drop).unwrap_err();
        assert!(matches!(error, FleetError::Damaged { hash, .. } if hash == large), "{error}");
        assert!(error.hint().is_some());
        error.to_string()
    };
    let mut altered = bytes.clone();
    altered[1000] ^= 1;
    fs::write(&file, altered).unwrap();
    assert!(said(&mut at).contains("not those of its digest"));
    fs::write(&file, &bytes[1..]).unwrap();
    assert!(said(&mut at).contains("another size"));
    fs::remove_file(&file).unwrap();
    let missing = said(&mut at);
    assert!(missing.contains("default/") && missing.contains("file://"), "{missing}");
    fs::write(&file, bytes).unwrap();
    get(&mut at, large).unwrap();
}

#[test]
fn without_a_store_large_nodes_are_rows_and_what_is_elsewhere_is_told() {
    let Some((postgres, mut at, dir)) = prepared() else { return };
    let place = Place::in_memory();
    let store = place.store();
    let [a, b] = ["a", "b"].map(|end| store.put_text(&(text_of(LARGE) + end)).unwrap());
    put(&mut at, &store, a).unwrap();
    set(&mut at, "default", None).unwrap();
    put(&mut at, &store, b).unwrap();
    assert_eq!(files(dir.path()).len(), 1);
    get(&mut at, b).unwrap();
    let error = get(&mut at, a).map(drop).unwrap_err();
    assert!(error.to_string().contains("its URL is not set"), "{error}");
    assert!(error.hint_at("lab").unwrap().contains("uwf remote set lab objects URL"));
    // A directory that is not there is told before anything is written.
    set(&mut at, "default", Some(&format!("file://{}/gone", dir.path().display()))).unwrap();
    let c = store.put_text(&(text_of(LARGE) + "c")).unwrap();
    let error = put(&mut at, &store, c).unwrap_err();
    assert!(matches!(error, FleetError::Objects { passes: false, .. }), "{error}");
    assert!(error.hint().unwrap().contains("mount"));
    let sql = "SELECT count(*) FROM uwf.node WHERE hash = $1";
    assert_eq!(postgres.client().query_one(sql, &[&c.as_str()]).unwrap().get::<_, i64>(0), 0);
    assert!(set(&mut at, "nobody", Some("file:///srv")).is_err());
}

#[test]
fn garbage_takes_its_objects_along_and_a_node_that_is_put_again_has_another_key() {
    let Some((postgres, mut at, dir)) = prepared() else { return };
    let place = Place::in_memory();
    let store = place.store();
    let large = store.put_text(&text_of(LARGE)).unwrap();
    put(&mut at, &store, large).unwrap();
    let before = files(dir.path());
    postgres.client().execute("UPDATE uwf.node SET put = put - interval '1 day'", &[]).unwrap();
    // Another team names an object, and has no store: that is in nobody's way.
    crate::access::add(&mut at, "a-first").unwrap();
    postgres
        .client()
        .batch_execute(
            "INSERT INTO uwf.node (team, hash, digest, type, made, object, size, put)
             SELECT 'a-first', hash, digest, type, made, 'a-first/none', size, put FROM uwf.node WHERE object IS NOT NULL",
        )
        .unwrap();
    let gc = |at: &mut Connection| {
        let stores = all(at).unwrap();
        let what = Collect { younger: YOUNGEST, dry_run: false, spared: &stores.closed };
        collect(at, what, &mut |team, keys| stores.remove(team, keys)).unwrap()
    };
    // A store that cannot be asked keeps the rows, which have the keys.
    set(&mut at, "default", None).unwrap();
    let kept = gc(&mut at);
    assert!(kept.iter().all(|team| team.objects == 0), "{kept:?}");
    assert!(kept.iter().all(|team| team.left.as_ref().unwrap().contains("URL is not set")), "{kept:?}");
    set(&mut at, "default", Some(&format!("file://{}", dir.path().display()))).unwrap();
    let collected = gc(&mut at);
    assert!(collected[0].left.is_some() && collected[1].left.is_none(), "{collected:?}");
    assert_eq!((collected[0].objects, collected[1].objects), (0, 1));
    assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
    put(&mut at, &store, large).unwrap();
    assert_ne!(files(dir.path()), before);
    get(&mut at, large).unwrap();
}

#[test]
fn what_was_put_in_vain_does_not_stay() {
    let Some((postgres, mut at, dir)) = prepared() else { return };
    let place = Place::in_memory();
    let store = place.store();
    postgres.client().execute("UPDATE uwf.team SET max_bytes = 1000", &[]).unwrap();
    let large = store.put_text(&text_of(LARGE)).unwrap();
    let error = put(&mut at, &store, large).unwrap_err();
    assert!(matches!(error, FleetError::Refused { .. }), "{error}");
    assert_eq!(files(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn urls_say_where_and_never_a_key() {
    let parse = |url: &str| Location::parse(url).map(|(location, _)| location);
    assert_eq!(
        parse("s3://pieces/uwf/lab?endpoint=http://127.0.0.1:9000&region=eu-west-1").unwrap(),
        Location::S3 {
            bucket: "pieces".into(),
            prefix: "uwf/lab".into(),
            endpoint: Some("http://127.0.0.1:9000".into()),
            region: "eu-west-1".into(),
            allow_http: true,
        }
    );
    assert_eq!(parse("file:///mnt/uwf").unwrap(), Location::Directory("/mnt/uwf".into()));
    assert!(parse("s3://pieces?endpoint=http://10.0.0.7:9000&allow_http=true").is_ok());
    for bad in [
        "pieces",
        "s3:///uwf",
        "gs://pieces",
        "file:///",
        "s3://pieces?endpoint=http://10.0.0.7:9000",
        "s3://pieces?endpoint=ftp://10.0.0.7",
        "s3://pieces?colour=red",
    ] {
        let error = parse(bad).unwrap_err();
        assert!(error.hint().is_some(), "{bad}: {error}");
    }
    for keys in [
        "s3://id:s3cret@pieces/uwf",
        "s3://pieces?secret_access_key=s3cret",
        "s3://pieces?endpoint=https://id:s3cret@s3.example.org",
    ] {
        let error = parse(keys).unwrap_err();
        assert!(error.hint().unwrap().contains("AWS_ACCESS_KEY_ID"), "{error}");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }
}

#[test]
fn a_bucket_takes_keys_which_are_never_shown() {
    let url = "s3://pieces/uwf?endpoint=http://127.0.0.1:9";
    let error = Objects::open(url, &Keys::default()).unwrap_err();
    assert!(error.hint().unwrap().contains("AWS_SECRET_ACCESS_KEY"), "{error}");
    let env: Env =
        [("AWS_ACCESS_KEY_ID", "an-id"), ("AWS_SECRET_ACCESS_KEY", "s3cret")].into_iter().collect();
    let keys = Keys::of(&env);
    let store = Objects::open(url, &keys).unwrap();
    let said = format!("{keys:?} {store:?}");
    assert!(!said.contains("s3cret") && !said.contains("an-id"), "{said}");
}
