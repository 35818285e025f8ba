//! What is collected and what is not, in which order, and while others write.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;

use super::*;
use crate::schema::builtin::TEXT;
use crate::tests::{Fixture, NOW, PROFILE, START_NODE, clock};
use crate::{Expect, VarChange};

/// Set in a child of a test: the test's own program, run again for that one test.
const CHILD: &str = "UWF_GC_TEST_ROOT";

fn age(f: &Fixture, hash: &Hash, ago: Duration) {
    let file = File::options().write(true).open(f.file(hash)).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_millis(NOW) - ago).unwrap();
}

const OLD: Duration = Duration::from_secs(7200);

fn old_text(f: &Fixture, text: &str) -> Hash {
    let hash = f.store.put_text(text).unwrap();
    age(f, &hash, OLD);
    hash
}

fn name(f: &Fixture, name: &str, value: Hash) {
    let schema = f.store.get(&value).unwrap().type_;
    let (name, tags) = (name.to_owned(), BTreeMap::new());
    f.store.vars().apply(&[VarChange::Set { name, schema, value, tags, expect: Expect::Any }]).unwrap();
}

fn link(f: &Fixture, type_: &Hash, to: &[Hash], name: &str) -> Hash {
    let hash = f.store.put(type_, &json!({"to": to, "name": name})).unwrap();
    age(f, &hash, OLD);
    hash
}

fn gc(f: &Fixture) -> GcReport {
    f.store.gc(&Collect::default()).unwrap()
}

fn assert_sound(f: &Fixture) {
    f.store.verify(&mut |finding| panic!("{finding}")).unwrap();
}

#[test]
fn what_variables_lead_to_stays_and_the_rest_goes() {
    let f = Fixture::new();
    let links = f.links();
    age(&f, &links, OLD);
    let leaf = old_text(&f, "leaf");
    let root = link(&f, &links, &[leaf], "root");
    name(&f, "@me/root", root);
    let unused = f.store.put_schema(&json!({"type": "number", "title": "unused"})).unwrap();
    let n = f.store.put(&unused, &json!(7)).unwrap();
    let lost = link(&f, &links, &[leaf, old_text(&f, "lost leaf")], "lost");
    age(&f, &unused, OLD);
    age(&f, &n, OLD);
    let size = |hash: &Hash| std::fs::metadata(f.file(hash)).unwrap().len();
    let bytes = size(&unused) + size(&n) + size(&lost) + size(&Hash::of(&TEXT, &json!("lost leaf")));

    let would = f.store.gc(&Collect { dry_run: true, ..Collect::default() }).unwrap();
    assert!(f.store.has(&lost), "nothing was changed");
    let report = gc(&f);
    assert_eq!(report, GcReport { removed: 4, kept: 33 + 3, temporary: 0, bytes });
    assert_eq!(would, report);
    for stays in [root, leaf, links] {
        assert!(f.store.has(&stays));
    }
    assert_eq!(f.index(links.as_str()).trim_matches('\n'), root.as_str());
    assert_eq!(f.store.indexed(&TEXT).unwrap(), [leaf]);
    assert!(!f.directory.path().join("_index").join(unused.as_str()).exists());
    assert!(matches!(f.store.put(&unused, &json!(8)), Err(StoreError::UnknownType { .. })));
    assert_sound(&f);
    assert_eq!(gc(&f).removed, 0);
}

#[test]
fn what_can_be_gone_back_to_or_has_tags_or_is_asked_for_stays() {
    let f = Fixture::new();
    let texts = ["first", "second", "tagged", "asked", "lost"].map(|text| old_text(&f, text));
    let [first, second, tagged, asked, lost] = texts;
    name(&f, "@me/x", first);
    name(&f, "@me/x", second);
    let database = Connection::open(f.directory.path().join("vars/_store.db")).unwrap();
    database.execute("INSERT INTO tags VALUES (?1, 'k', NULL, 1)", [tagged.as_str()]).unwrap();
    let gone = Hash::from_static("0000000000000");
    let report = f.store.gc(&Collect { roots: vec![asked, gone], ..Collect::default() }).unwrap();
    assert_eq!(report.removed, 1);
    assert_eq!(texts.map(|hash| f.store.has(&hash)), [true, true, true, true, false]);
    assert!(!f.store.has(&lost));
}

#[test]
fn what_was_put_lately_stays_with_all_it_refers_to() {
    let f = Fixture::new();
    let links = f.links();
    let leaf = old_text(&f, "leaf");
    let young = link(&f, &links, &[leaf], "young");
    age(&f, &young, Duration::from_secs(3500));
    assert_eq!(gc(&f).removed, 0);
    age(&f, &young, Duration::from_secs(3700));
    age(&f, &links, OLD);
    let since = |ago_ms: u64| Collect { since: Some(NOW - ago_ms), ..Collect::default() };
    assert_eq!(f.store.gc(&since(120_000)).unwrap().removed, 0, "a run goes on since then");
    assert_eq!(gc(&f).removed, 3);
}

#[test]
fn putting_an_old_node_again_makes_it_young() {
    let f = Fixture::new();
    let (alone, batched) = (old_text(&f, "alone"), old_text(&f, "batched"));
    f.store.put_text("alone").unwrap();
    f.store.put_all(&[(TEXT, json!("batched")), (TEXT, json!("new"))]).unwrap();
    assert_eq!(gc(&f).removed, 0);
    assert!(f.store.has(&alone) && f.store.has(&batched));
}

#[test]
fn nothing_is_removed_from_a_damaged_store() {
    let f = Fixture::new();
    let links = f.links();
    let leaf = old_text(&f, "leaf");
    let middle = link(&f, &links, &[leaf], "middle");
    let root = link(&f, &links, &[middle], "root");
    name(&f, "@me/root", root);
    let lost = old_text(&f, "lost");
    std::fs::write(f.file(&middle), "").unwrap();
    let error = f.store.gc(&Collect::default()).unwrap_err();
    assert!(error.to_string().contains(&format!("node {middle} is corrupt")), "{error}");
    std::fs::remove_file(f.file(&middle)).unwrap();
    let error = f.store.gc(&Collect::default()).unwrap_err();
    let expected = format!("the store is damaged: node {middle} is missing (referred to by node {root})");
    assert_eq!(error.to_string(), expected);
    assert!(error.hint().unwrap().contains("cas verify") && f.store.has(&leaf) && f.store.has(&lost));
    let forced = f.store.gc(&Collect { force: true, ..Collect::default() }).unwrap();
    assert_eq!(forced.removed, 2);
}

#[test]
fn a_collection_that_fails_half_way_leaves_no_type_that_is_gone() {
    let f = Fixture::new();
    let unused = f.store.put_schema(&json!({"type": "number", "title": "unused"})).unwrap();
    f.store.put(&unused, &json!(7)).unwrap();
    age(&f, &unused, OLD);
    age(&f, &Hash::of(&unused, &json!(7)), OLD);
    // Refers to nothing and has the first of all names: it is the last to be removed, and no file.
    let stuck = f.file(&Hash::from_static("0000000000000"));
    std::fs::create_dir(&stuck).unwrap();
    File::open(&stuck).unwrap().set_modified(UNIX_EPOCH).unwrap();
    assert!(matches!(f.store.gc(&Collect::default()), Err(StoreError::Io { doing: "remove", .. })));
    assert!(!f.store.has(&unused));
    assert!(matches!(f.store.put(&unused, &json!(8)), Err(StoreError::UnknownType { exists: false, .. })));
}

/// Without its type, what a node refers to is not known.
#[test]
fn nothing_is_removed_while_a_type_cannot_be_read() {
    let f = Fixture::new();
    let links = f.links();
    age(&f, &links, OLD);
    let leaf = old_text(&f, "leaf");
    name(&f, "@me/root", link(&f, &links, &[leaf], "root"));
    let began = f.store.put(&START_NODE, &json!({"workflow": leaf, "prompt": "p", "cwd": "/"})).unwrap();
    age(&f, &began, OLD);
    name(&f, "@me/began", began);
    // A file that cannot be read just now, and one that every store has and that is corrupt.
    for (type_, spoil) in [(links, true), (START_NODE, false)] {
        let (file, aside) = (f.file(&type_), f.directory.path().join("aside"));
        std::fs::rename(&file, &aside).unwrap();
        if spoil { std::fs::create_dir(&file) } else { std::fs::write(&file, "no CBOR") }.unwrap();
        let store = Store::open(f.directory.path(), PROFILE, clock).unwrap();
        assert!(store.gc(&Collect::default()).is_err(), "{type_}");
        assert!(store.has(&leaf));
        if spoil { std::fs::remove_dir(&file) } else { std::fs::remove_file(&file) }.unwrap();
        std::fs::rename(&aside, &file).unwrap();
    }
    assert_sound(&f);
}

#[test]
fn a_corrupt_node_that_nobody_needs_goes() {
    let f = Fixture::new();
    let lost = old_text(&f, "lost");
    std::fs::write(f.file(&lost), "").unwrap();
    age(&f, &lost, OLD);
    assert_eq!(gc(&f).removed, 1);
}

#[test]
fn only_temp_files_of_ours_that_are_old_are_swept() {
    let f = Fixture::new();
    let nodes = f.directory.path().join("nodes");
    for (file, ago) in [(".put-a.tmp", OLD), (".put-b.tmp", Duration::ZERO), ("notes.txt", OLD)] {
        std::fs::write(nodes.join(file), "12345").unwrap();
        let file = File::options().write(true).open(nodes.join(file)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_millis(NOW) - ago).unwrap();
    }
    let report = gc(&f);
    assert_eq!((report.temporary, report.bytes, report.removed), (1, 5, 0));
    assert!(!nodes.join(".put-a.tmp").exists() && nodes.join(".put-b.tmp").exists());
    assert!(nodes.join("notes.txt").exists());
}

/// Nodes in a graph: each refers to some of those before it.
fn graph(f: &Fixture, edges: &[Vec<usize>]) -> Vec<Hash> {
    let links = f.links();
    let (mut nodes, mut batch): (Vec<Hash>, _) = (Vec::new(), f.store.batch());
    for (at, to) in edges.iter().enumerate() {
        let to: Vec<Hash> = to.iter().filter(|_| at > 0).map(|to| nodes[to % at]).collect();
        nodes.push(batch.put(&links, &json!({"to": to, "name": at.to_string()})).unwrap());
    }
    batch.commit().unwrap();
    nodes.iter().for_each(|hash| age(f, hash, OLD));
    nodes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn referrers_go_first(edges in prop::collection::vec(prop::collection::vec(0..40_usize, 0..4), 1..40)) {
        let f = Fixture::new();
        let nodes = graph(&f, &edges);
        let garbage: BTreeSet<Hash> = nodes.iter().copied().collect();
        let order = f.store.referrers_first(&garbage);
        prop_assert_eq!(order.len(), nodes.len());
        let place: BTreeMap<&Hash, usize> = order.iter().enumerate().map(|(at, hash)| (hash, at)).collect();
        for hash in &nodes {
            for to in f.store.refs(hash).unwrap() {
                prop_assert!(place[hash] < place[&to], "{} goes after {}", hash, to);
            }
        }
    }
}

#[test]
fn a_killed_collector_leaves_a_store_that_verifies() {
    if let Some(root) = std::env::var_os(CHILD) {
        let store = Store::open(root.as_ref(), PROFILE, clock).unwrap();
        store.gc(&Collect::default()).unwrap();
        return;
    }
    // The path of these tests, as the test program knows them: without the crate.
    let module = module_path!().split_once("::").unwrap().1;
    let f = Fixture::new();
    let edges: Vec<Vec<usize>> = (0..1500_usize).map(|at| vec![at.wrapping_sub(1), at / 2, at / 3]).collect();
    let nodes = graph(&f, &edges);
    name(&f, "@me/root", nodes[20]);
    let mut left = nodes.len();
    for pause in (0..).map(|round| 40 + 15 * round) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::a_killed_collector_leaves_a_store_that_verifies")])
            .env(CHILD, f.directory.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_sound(&f);
        left = nodes.iter().filter(|hash| f.store.has(hash)).count();
        if left == 21 {
            break;
        }
    }
    assert_eq!(left, 21);
}

#[test]
fn a_node_that_is_put_and_named_while_others_collect_is_there() {
    let f = Fixture::new();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = Store::open(f.directory.path(), PROFILE, clock).unwrap();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                other.gc(&Collect::default()).unwrap();
            }
        });
        for round in 0..150 {
            let hash = f.store.put_text("again and again").unwrap();
            if round % 2 == 0 {
                name(&f, "@me/x", hash);
            }
            assert_eq!(f.store.get(&hash).unwrap().payload, json!("again and again"));
            f.store.vars().apply(&[VarChange::Remove { name: "@me/x".to_owned() }]).unwrap();
            if let Ok(file) = File::options().write(true).open(f.file(&hash)) {
                file.set_modified(UNIX_EPOCH).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
