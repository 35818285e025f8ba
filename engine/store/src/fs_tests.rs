//! Files: what is written, what is left alone, and what is left behind when it fails or is killed.

use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::*;
use crate::Store;
use crate::schema::builtin::TEXT;
use crate::tests::{Fixture, PROFILE, clock};

/// Set in a child of a test: the test's own program, run again for that one test.
const CHILD: &str = "UWF_STORE_TEST_ROOT";

fn root_as_child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// The path of these tests, as the test program knows them: without the crate.
fn module() -> &'static str {
    module_path!().split_once("::").unwrap().1
}

/// Runs one test of this program again, as a process of its own, after these shell commands.
fn child(test: &str, root: &Path, before: &str) -> Child {
    Command::new("sh")
        .arg("-c")
        .arg(format!("{before} exec \"$0\" --exact {}::{test}", module()))
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn write(disk: &Disk, nodes: &[Encoded]) -> Result<(), StoreError> {
    let mut batch = disk.batch();
    nodes.iter().try_for_each(|node| batch.add(node, 1, 1))?;
    batch.commit()
}

#[test]
fn a_good_node_is_not_written_again() {
    let f = Fixture::new();
    let hash = f.store.put_text("once").unwrap();
    let before = fs::metadata(f.file(&hash)).unwrap();
    let index = f.index(TEXT.as_str());
    let later = Store::open(f.directory.path(), PROFILE, || clock() + 1000).unwrap();
    assert_eq!(later.put_text("once").unwrap(), hash);
    assert_eq!(later.put_all(&[(TEXT, json!("once")), (TEXT, json!("twice"))]).unwrap()[0], hash);
    use std::os::unix::fs::MetadataExt;
    let after = fs::metadata(f.file(&hash)).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert_eq!(later.get(&hash).unwrap().timestamp, clock());
    assert_eq!(f.index(TEXT.as_str()).lines().count(), index.lines().count() + 1);
}

#[test]
fn nodes_appear_in_the_order_given_so_that_none_comes_before_what_it_refers_to() {
    let f = Fixture::new();
    let nodes: Vec<_> = (0..20).map(|n| (TEXT, json!(format!("node {n}")))).collect();
    let hashes = f.store.put_all(&nodes).unwrap();
    assert!(!hashes.is_sorted(), "the order of the hashes is another one");
    let times: Vec<_> = hashes.iter().map(|hash| changed(&f.file(hash))).collect();
    assert!(times.is_sorted(), "{times:?}");
    let index = f.index(TEXT.as_str());
    assert!(index.ends_with(&hashes.iter().map(|hash| format!("{hash}\n")).collect::<String>()));
}

/// When the file got its name: a rename changes the inode's ctime.
fn changed(path: &Path) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).unwrap();
    (metadata.ctime(), metadata.ctime_nsec())
}

#[test]
fn a_corrupt_node_is_an_error_and_healed_by_putting_it_again() {
    let f = Fixture::new();
    let hash = f.store.put_text("hello").unwrap();
    let good = fs::read(f.file(&hash)).unwrap();
    let mut flipped = good.clone();
    flipped[30] ^= 0x20;
    for damage in [&[], &good[..good.len() / 2], &flipped] {
        fs::write(f.file(&hash), damage).unwrap();
        let error = f.store.find(&hash).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.hint().is_some());
        f.store.put_text("hello").unwrap();
        assert_eq!(fs::read(f.file(&hash)).unwrap(), good);
        fs::write(f.file(&hash), damage).unwrap();
        f.store.put_all(&[(TEXT, json!("hello")), (TEXT, json!("other"))]).unwrap();
        assert_eq!(fs::read(f.file(&hash)).unwrap(), good);
    }
}

#[test]
fn nodes_can_be_read_by_others() {
    use std::os::unix::fs::PermissionsExt;
    let f = Fixture::new();
    let hash = f.store.put_text("x").unwrap();
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(umask);
    let mode = fs::metadata(f.file(&hash)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o666 & !umask.bits());
}

#[test]
fn a_failed_put_leaves_nothing_behind() {
    if let Some(root) = root_as_child() {
        let store = Store::open(&root, PROFILE, clock).unwrap();
        let error = store.put_all(&[(TEXT, json!("small")), (TEXT, json!("x".repeat(1 << 20)))]).unwrap_err();
        assert!(matches!(error, StoreError::Io { doing: "write a node to", .. }), "{error}");
        store.put_text(&"y".repeat(1 << 20)).unwrap_err();
        return;
    }
    let f = Fixture::new();
    let before = (f.names(), f.index(TEXT.as_str()));
    // No file may grow beyond 256 KiB: a write fails half way, as on a full disk.
    let mut child =
        child("a_failed_put_leaves_nothing_behind", f.directory.path(), "trap '' XFSZ; ulimit -f 512;");
    assert!(child.wait().unwrap().success());
    assert_eq!((f.names(), f.index(TEXT.as_str())), before);
}

#[test]
fn a_target_that_cannot_be_replaced_leaves_no_temp_file() {
    let f = Fixture::new();
    let disk = Disk::open(f.directory.path()).unwrap();
    let node = Encoded::new(TEXT, &json!("x"));
    let temp = disk.write_temp(b"x").unwrap().1;
    fs::create_dir(f.file(&node.hash)).unwrap();
    let before = f.names();
    assert!(temp.persist(f.file(&node.hash)).is_err());
    assert!(matches!(write(&disk, &[node]), Err(StoreError::Io { doing: "read", .. })));
    assert_eq!(f.names().len(), before.len() - 1, "only the temp file is gone");
}

#[test]
fn a_killed_writer_leaves_a_store_that_verifies() {
    if let Some(root) = root_as_child() {
        let store = Store::open(&root, PROFILE, clock).unwrap();
        for batch in 0.. {
            let nodes: Vec<_> =
                (0..20).map(|i| (TEXT, json!(format!("{} {batch} {i}", std::process::id())))).collect();
            store.put_all(&nodes).unwrap();
            store.put_text(&format!("{} {batch}", std::process::id())).unwrap();
        }
    }
    let f = Fixture::new();
    // On a slow machine it takes longer until it writes.
    for pause in (150..9000).step_by(20) {
        if pause > 190 && f.names().len() > 33 {
            break;
        }
        let mut child = child("a_killed_writer_leaves_a_store_that_verifies", f.directory.path(), "");
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut findings = Vec::new();
    f.store.verify(&mut |finding| findings.push(finding.to_string())).unwrap();
    assert_eq!(findings, [""; 0]);
    assert!(f.names().len() > 33, "it did write");
}

#[test]
fn many_processes_may_create_a_store_at_once() {
    if let Some(root) = root_as_child() {
        let store = Store::open(&root, PROFILE, clock).unwrap();
        store.put_text(&format!("{}", std::process::id())).unwrap();
        return;
    }
    for _ in 0..3 {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("store");
        let children: Vec<_> =
            (0..16).map(|_| child("many_processes_may_create_a_store_at_once", &root, "")).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let store = Store::open(&root, PROFILE, clock).unwrap();
        let report = store.verify(&mut |finding| panic!("{finding}")).unwrap();
        assert_eq!((report.nodes, report.variables), (33 + 16, 33));
        let index = fs::read_to_string(root.join("_index/CTS5P6RD8HMCS")).unwrap();
        assert_eq!(index.lines().count(), 33, "one process did the work");
    }
}

#[test]
fn another_node_of_the_same_hash_is_not_overwritten() {
    let node = Encoded::new(TEXT, &json!("a"));
    let mut impostor = Encoded::new(TEXT, &json!("a"));
    impostor.hash = Encoded::new(TEXT, &json!("b")).hash;
    let f = Fixture::new();
    f.store.put_text("b").unwrap();
    let disk = Disk::open(f.directory.path()).unwrap();
    assert!(matches!(write(&disk, &[node, impostor]), Err(StoreError::Collision { .. })));
}

#[test]
fn only_old_temp_files_are_strays() {
    let f = Fixture::new();
    let nodes = f.directory.path().join("nodes");
    fs::write(nodes.join(".put-abc.tmp"), "").unwrap();
    fs::write(nodes.join("notes.txt"), "").unwrap();
    let disk = Disk::open(f.directory.path()).unwrap();
    let strays = |now: u64| {
        let entries = disk.entries(now).unwrap().map(Result::unwrap);
        entries.filter(|entry| matches!(entry, NodeEntry::Stray(_))).count()
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    assert_eq!(strays(now), 0);
    assert_eq!(strays(now + 3_700_000), 2);
}

#[test]
fn the_temp_files_of_one_who_takes_long_stay_young() {
    let f = Fixture::new();
    let disk = Disk::open(f.directory.path()).unwrap();
    let mut staged = disk.batch();
    staged.add(&Encoded::new(TEXT, &json!("a")), 1, 1000).unwrap();
    let temp = f.names().into_iter().find(|name| name.starts_with(TEMP_PREFIX)).unwrap();
    let temp = f.directory.path().join("nodes").join(temp);
    let is_old = || fs::metadata(&temp).unwrap().modified().unwrap() == UNIX_EPOCH;
    File::options().write(true).open(&temp).unwrap().set_modified(UNIX_EPOCH).unwrap();
    staged.add(&Encoded::new(TEXT, &json!("b")), 1, 2000).unwrap();
    assert!(is_old(), "not each time");
    staged.add(&Encoded::new(TEXT, &json!("c")), 1, 1000 + 16 * 60_000).unwrap();
    assert!(!is_old());
    staged.commit().unwrap();
}
