//! What lies on the disk at a moment: nodes by type, journals, caches.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::bench_home::BenchHome;

/// See the module. Bytes of files, not of what they take.
pub(crate) struct Kept {
    /// Nodes and bytes, by the name of their type.
    types: BTreeMap<String, (u64, u64)>,
    pub(crate) journals: u64,
    pub(crate) caches: u64,
}

impl Kept {
    pub(crate) fn of(home: &BenchHome) -> Kept {
        let output = home.uwf(&["cas", "stats", "--format", "json"].map(str::to_owned)).output().unwrap();
        let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
        let row = |row: &Value| {
            let name = row["name"].as_str().or(row["type"].as_str()).unwrap().to_owned();
            (name, (row["nodes"].as_u64().unwrap(), row["bytes"].as_u64().unwrap()))
        };
        let mut types = BTreeMap::new();
        for (name, (nodes, bytes)) in stats["types"].as_array().unwrap().iter().map(row) {
            let sum: &mut (u64, u64) = types.entry(name).or_default();
            *sum = (sum.0 + nodes, sum.1 + bytes);
        }
        let below = |name: &str| size(&home.dir().join(".uwf").join(name));
        Kept { types, journals: below("sessions"), caches: below("cache/snapshots") }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str)
    }

    /// Nodes and bytes of one type.
    pub(crate) fn of_type(&self, name: &str) -> (u64, u64) {
        self.types.get(name).copied().unwrap_or_default()
    }

    /// How many bytes of nodes it is more than `before`.
    pub(crate) fn bytes_since(&self, before: &Kept) -> u64 {
        let more = |name: &str| self.of_type(name).1.saturating_sub(before.of_type(name).1);
        self.names().map(more).sum()
    }
}

fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(
            |entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() },
        )
        .sum()
}

/// Makes every file in a directory, and below, two hours old: what is younger than one is not collected.
pub(crate) fn age(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            age(&path);
        } else {
            let then = SystemTime::now() - Duration::from_secs(7200);
            File::open(path).unwrap().set_modified(then).unwrap();
        }
    }
}
