//! What the tests of this crate share: a workspace, a store and a cache, and what a directory holds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use uwf_store::{Hash, Profile, Store};

use crate::{CaptureCache, Options, Snapshot, capture};

/// Later than everything that the tests write, so that stamps are trusted.
pub(crate) fn later() -> u64 {
    4_000_000_000_000
}

pub(crate) struct Fixture {
    pub(crate) place: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) cache: CaptureCache,
    pub(crate) options: Options,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("w")).unwrap();
        let store = Store::in_memory(Profile::PLAIN, later).unwrap();
        Fixture { place, store, cache: CaptureCache::in_memory(), options: Options::default() }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.place.path().join("w")
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    pub(crate) fn capture(&mut self) -> Snapshot {
        capture(&self.dir(), &self.options, &mut self.cache, &self.store).unwrap()
    }

    pub(crate) fn tree(&mut self) -> Hash {
        self.capture().tree
    }
}

/// Everything in a directory but `.git`: type, mode and content, as text.
pub(crate) fn listing(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    list(dir, dir, &mut all);
    all
}

fn list(root: &Path, dir: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        let shown = if metadata.is_symlink() {
            [b"symlink ".to_vec(), fs::read_link(&path).unwrap().into_os_string().into_vec()].concat()
        } else if metadata.is_dir() {
            if path.ends_with(".git") {
                continue;
            }
            list(root, &path, all);
            format!("directory {mode:o}").into_bytes()
        } else {
            [format!("file {mode:o} ").into_bytes(), fs::read(&path).unwrap()].concat()
        };
        all.insert(path.strip_prefix(root).unwrap().to_owned(), shown);
    }
}
