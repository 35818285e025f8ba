//! A thread whose steps changed files, for the tests of what can be done with that.

use std::fs;
use std::path::Path;

use serde_json::Value;
use uwf_engine::ThreadId;
use uwf_store::Hash;

use super::command_line::{CommandLine, Ran};
use super::workspace::{Workspace, detail};

/// A thread of two steps: the first adds `a` and edits `both`, the second edits `both` and removes `gone`.
pub(super) struct Played {
    pub(super) at: Workspace,
    pub(super) thread: ThreadId,
    pub(super) steps: [Hash; 2],
}

impl Played {
    pub(super) fn new() -> Played {
        let mut at = Workspace::new();
        at.write("both", b"0\n");
        at.write("gone", b"gone\n");
        let before = at.now();
        at.write("a", b"a\n");
        at.write("both", b"1\n");
        let between = at.now();
        at.write("both", b"2\n");
        fs::remove_file(at.dir().join("gone")).unwrap();
        let after = at.now();
        let thread = at.thread();
        let steps = [[before, between], [between, after]]
            .map(|pair| at.step(&thread, &detail(&[], Vec::new(), pair)));
        Played { at, thread, steps }
    }

    pub(super) fn uwf(&self, args: &[&str]) -> Ran {
        self.at.place.uwf(args)
    }

    /// The n-th step as it is typed.
    pub(super) fn nth(&self, number: usize) -> String {
        format!("{}:{number}", self.thread)
    }

    /// What is said of each step in a list.
    pub(super) fn marks(&self) -> Vec<Value> {
        let listed = self.uwf(&["step", "list", self.thread.as_str()]).json();
        listed["steps"].as_array().unwrap()[1..].iter().map(|step| step["undone"].clone()).collect()
    }

    pub(super) fn files(&self) -> Vec<(String, String)> {
        files_in(&self.at.dir())
    }
}

pub(super) fn files_in(dir: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

pub(super) fn files(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, text)| ((*name).to_owned(), format!("{text}\n"))).collect()
}

pub(super) fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.exit, 0, "{ran:?}");
    ran
}

pub(super) fn refused(ran: Ran) -> String {
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{ran:?}");
    ran.err
}
