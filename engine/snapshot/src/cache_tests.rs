//! What is read again and what is not; what a damaged cache is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uwf_store::{Collect, Profile};

use super::*;
use crate::capture::{CaptureWork, capture};
use crate::fixture::{Fixture, later};

const NOTHING: CaptureWork = CaptureWork { files_read: 0, trees_put: 0 };

fn work(f: &mut Fixture) -> (u64, u64) {
    let CaptureWork { files_read, trees_put } = f.capture().work;
    (files_read, trees_put)
}

fn filled() -> Fixture {
    let f = Fixture::new();
    for path in ["a", "d/b", "d/e/c", "z/y"] {
        f.write(path, path);
    }
    std::os::unix::fs::symlink("a", f.path("d/link")).unwrap();
    f
}

#[test]
fn only_what_has_changed_is_read_and_put() {
    let mut f = filled();
    assert_eq!(work(&mut f), (4, 4));
    let first = f.capture();
    assert_eq!(first.work, NOTHING);
    f.write("d/e/c", "changed");
    assert_eq!(work(&mut f), (1, 3));
    fs::set_permissions(f.path("z/y"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(work(&mut f), (1, 2));
    fs::remove_file(f.path("a")).unwrap();
    assert_eq!(work(&mut f), (0, 1));
    f.write("a", "a");
    fs::set_permissions(f.path("z/y"), fs::Permissions::from_mode(0o644)).unwrap();
    f.write("d/e/c", "d/e/c");
    assert_eq!(f.tree(), first.tree);
    assert_eq!(work(&mut f), (0, 0));
}

/// Same size, same times where a program can set them, another content: the time of change tells.
#[test]
fn a_change_that_hides_is_found() {
    let mut f = filled();
    let first = f.tree();
    let modified = fs::metadata(f.path("a")).unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    f.write("a", "b");
    fs::File::options().write(true).open(f.path("a")).unwrap().set_modified(modified).unwrap();
    assert_ne!(f.tree(), first);
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A file that was written just before it was read can be written again without another time.
#[test]
fn a_file_as_young_as_its_snapshot_is_read_again() {
    let mut f = filled();
    f.store = Store::in_memory(Profile::PLAIN, now).unwrap();
    assert_eq!(work(&mut f), (4, 4));
    assert_eq!(work(&mut f), (4, 0), "read, found to be the same, and not put");
    f.store = Store::in_memory(Profile::PLAIN, || now() + 60_000).unwrap();
    assert_eq!(work(&mut f), (4, 4), "another store");
    assert_eq!(work(&mut f), (0, 0));
}

#[test]
fn it_comes_back_from_its_file() {
    let mut f = filled();
    let path = f.place.path().join("below/cache");
    f.cache = CaptureCache::open(&path);
    let first = f.capture();
    f.cache.save().unwrap();
    let saved = fs::metadata(&path).unwrap().modified().unwrap();
    f.cache = CaptureCache::open(&path);
    let second = f.capture();
    assert_eq!((second.tree, second.work), (first.tree, NOTHING));
    f.cache.save().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), saved, "written for nothing");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_damaged_file_is_an_empty_cache() {
    let mut f = filled();
    let path = f.place.path().join("cache");
    f.cache = CaptureCache::open(&path);
    let first = f.tree();
    f.cache.save().unwrap();
    let whole = fs::read(&path).unwrap();
    assert!(CaptureCache::open(&path).root.is_some());
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(CaptureCache::open(&path).root.is_none(), "{length} bytes");
    }
    for at in 0..whole.len() {
        let mut torn = whole.clone();
        torn[at] ^= 0x41;
        fs::write(&path, &torn).unwrap();
        assert!(CaptureCache::open(&path).root.is_none(), "byte {at}");
    }
    f.cache = CaptureCache::open(&path);
    let again = f.capture();
    assert_eq!((again.tree, again.work.files_read), (first, 4));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(CaptureCache::open(&path).root.is_none());
    assert!(f.cache.save().unwrap_err().to_string().contains("could not write"));
}

/// What has a right sum and is wrong all the same is no cache, and takes no memory to find out.
#[test]
fn numbers_that_cannot_be_are_refused() {
    let sealed = |content: &[u8]| {
        let sum = xxhash_rust::xxh64::xxh64(content, 0);
        format::decode(&[content, &sum.to_le_bytes()].concat())
    };
    let f = filled();
    let mut cache = CaptureCache::open(&f.place.path().join("cache"));
    capture(&f.dir(), &f.options, &mut cache, &f.store).unwrap();
    let whole = format::encode(&cache.workspace, cache.root.as_ref().unwrap());
    let content = &whole[..whole.len() - 8];
    assert_eq!(sealed(content), Some((f.dir(), cache.root.clone().unwrap())));
    for length in 0..content.len() {
        assert_eq!(sealed(&content[..length]), None);
    }
    for at in 0..content.len() {
        let huge = [&content[..at], &[0xff; 9], &[0x01], &content[at..]].concat();
        let _terminates = sealed(&huge);
    }
}

#[test]
fn a_store_that_has_lost_the_snapshot_gets_it_anew() {
    let mut f = filled();
    let first = f.tree();
    let old = f.store.clone();
    f.store = Store::in_memory(Profile::PLAIN, later).unwrap();
    let again = f.capture();
    assert_eq!((again.tree, again.work.files_read), (first, 4));
    assert_eq!(f.store.closure(&[first]).unwrap(), old.closure(&[first]).unwrap());
}

/// What nothing refers to yet is kept while it is young, and a snapshot makes it young though it puts nothing.
#[test]
fn what_the_cache_knows_is_kept_from_the_collector() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NOW: AtomicU64 = AtomicU64::new(4_000_000_000_000);
    let clock = || NOW.load(Ordering::Relaxed);
    let mut f = filled();
    f.store = Store::in_memory(Profile::PLAIN, clock).unwrap();
    let first = f.tree();
    NOW.fetch_add(7_200_000, Ordering::Relaxed);
    assert_eq!(f.capture().work, NOTHING);
    f.store.gc(&Collect::default()).unwrap();
    assert!(f.store.closure(&[first]).is_ok());
    NOW.fetch_add(7_200_000, Ordering::Relaxed);
    f.store.gc(&Collect::default()).unwrap();
    assert!(!f.store.has(&first));
    let again = f.capture();
    assert_eq!((again.tree, again.work.files_read), (first, 4));
    assert!(f.store.closure(&[first]).is_ok());
}

#[test]
fn a_cache_goes_with_its_workspace() {
    let mut f = filled();
    let caches = f.place.path().join("caches");
    let (here, elsewhere) = (caches.join("here"), caches.join("elsewhere"));
    f.cache = CaptureCache::open(&here);
    f.capture();
    f.cache.save().unwrap();
    let other = Fixture::new();
    other.write("a", "a");
    let mut cache = CaptureCache::open(&elsewhere);
    capture(&other.dir(), &other.options, &mut cache, &f.store).unwrap();
    cache.save().unwrap();
    // What an older version wrote, and what somebody is writing.
    let (older, partial) = (caches.join("older"), caches.join(".tmpX"));
    fs::write(&older, b"uwf workspace cache 1\n").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    fs::File::options().write(true).open(&older).unwrap().set_modified(long_ago).unwrap();
    fs::write(&partial, b"uwf").unwrap();

    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let (bytes, old_bytes) = (size(&elsewhere), size(&older));
    assert_eq!(remove_gone_caches(&caches, now(), true), [old_bytes], "nothing is removed");
    assert!(older.exists());
    drop(other);
    assert_eq!(remove_gone_caches(&caches, now(), false).iter().sum::<u64>(), bytes + old_bytes);
    assert!(here.exists() && partial.exists() && !elsewhere.exists() && !older.exists());
    assert_eq!(remove_gone_caches(&caches.join("none"), now(), false), Vec::<u64>::new());
}
