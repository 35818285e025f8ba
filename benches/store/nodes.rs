//! Nodes by the thousand, and what their files cost without a store around them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use uwf_engine::builtin::{META_SCHEMA, TEXT};
use uwf_store::Hash;

use crate::bench_home::BenchHome;

/// How many texts one list refers to.
const LIST: usize = 1000;

/// Texts as lines for `cas put --jsonl`.
pub(crate) fn texts(home: &BenchHome, name: &str, count: usize) -> String {
    let line = |n| format!("{}\n", json!({"type": TEXT, "payload": format!("{name} {n}")}));
    write(home, &(0..count).map(line).collect::<String>())
}

/// Half of the texts in lists, the lists in a root; the other half for nothing.
pub(crate) struct Graph {
    file: String,
    leaf: Hash,
    garbage: Hash,
    root: Hash,
}

impl Graph {
    pub(crate) fn of(home: &BenchHome, count: usize) -> Graph {
        let refs = json!({"type": "array", "items": {"type": "string", "format": "ocas_ref"}});
        let list = Hash::of(&META_SCHEMA, &refs);
        let texts: Vec<String> = (0..count).map(|n| format!("node {n}")).collect();
        let hashes: Vec<Hash> = texts.iter().map(|text| Hash::of(&TEXT, &json!(text))).collect();
        let lists: Vec<_> = hashes[..count / 2].chunks(LIST).map(|hashes| json!(hashes)).collect();
        let root = json!(lists.iter().map(|payload| Hash::of(&list, payload)).collect::<Vec<_>>());
        let lines = texts.iter().map(|text| json!({"type": TEXT, "payload": text}));
        let lines = lines.chain([json!({"type": META_SCHEMA, "payload": refs})]);
        let typed = |payload| json!({"type": list, "payload": payload});
        let lines = lines.chain(lists.iter().chain([&root]).map(typed));
        Graph {
            file: write(home, &lines.map(|line| format!("{line}\n")).collect::<String>()),
            leaf: hashes[0],
            garbage: hashes[count - 1],
            root: Hash::of(&list, &root),
        }
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// A text that is needed.
    pub(crate) fn leaf(&self) -> &str {
        self.leaf.as_str()
    }

    /// A text that is not.
    pub(crate) fn garbage(&self) -> &str {
        self.garbage.as_str()
    }

    /// What leads to all that is needed.
    pub(crate) fn root(&self) -> &str {
        self.root.as_str()
    }
}

fn write(home: &BenchHome, text: &str) -> String {
    let path = home.dir().join("nodes.jsonl");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Writes files of a node's size under a temp name and renames them, synced one by one or once in the end.
pub(crate) fn bare(directory: &Path, count: usize, each: bool) -> Duration {
    fs::create_dir(directory).unwrap();
    let begun = Instant::now();
    let open = File::open(directory).unwrap();
    for n in 0..count {
        let temp = directory.join(format!(".{n}.tmp"));
        let mut file = File::create(&temp).unwrap();
        file.write_all(&[b'x'; 60]).unwrap();
        if each {
            file.sync_data().unwrap();
            fs::rename(&temp, directory.join(n.to_string())).unwrap();
            open.sync_all().unwrap();
        }
    }
    if !each {
        // As a store does it: one sync for all files, then the names, then one for the names.
        assert!(std::process::Command::new("sync").arg("-f").arg(directory).status().unwrap().success());
        for n in 0..count {
            fs::rename(directory.join(format!(".{n}.tmp")), directory.join(n.to_string())).unwrap();
        }
        open.sync_all().unwrap();
    }
    begun.elapsed()
}

/// Makes every file two hours old.
pub(crate) fn age(directory: &Path) {
    let then = SystemTime::now() - Duration::from_secs(7200);
    for entry in fs::read_dir(directory).unwrap() {
        File::options().write(true).open(entry.unwrap().path()).unwrap().set_modified(then).unwrap();
    }
}

/// How long it takes to read every file.
pub(crate) fn read_all(directory: &Path) -> Duration {
    let begun = Instant::now();
    for entry in fs::read_dir(directory).unwrap() {
        fs::read(entry.unwrap().path()).unwrap();
    }
    begun.elapsed()
}
