//! A run that is killed at any moment, and the next one that finishes it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

use uwf_store::Profile;

use super::*;
use crate::diff::diff;
use crate::fixture::{Fixture, later, listing};

/// Tells the child where it works and from which tree to which.
const CHILD: &str = "UWF_TEST_RESTORE";

/// How often a run is killed.
const ROUNDS: u64 = 12;

fn open(place: &Path) -> Store {
    Store::open(&place.join("store"), Profile::PLAIN, later).unwrap()
}

/// Nothing but where it is started by the test below.
#[test]
fn as_a_child_restores_until_it_is_killed() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let [from, to, place] = told.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let store = open(Path::new(place));
    let changes = diff(&store, &from.parse().unwrap(), &to.parse().unwrap()).unwrap();
    fs::write(Path::new(place).join("begun"), "").unwrap();
    restore(&store, &changes, &Path::new(place).join("w"), false).unwrap();
}

/// Starts a run and kills it so long after it has begun.
fn killed(f: &Fixture, (from, to): (&Hash, &Hash), after: Duration) {
    let begun = f.place.path().join("begun");
    let _ = fs::remove_file(&begun);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "restore::killed_tests::as_a_child_restores_until_it_is_killed"])
        .env(CHILD, format!("{from} {to} {}", f.place.path().display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !begun.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(after);
    // It may have finished.
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn the_next_run_finishes_one_that_was_killed() {
    let mut f = Fixture::new();
    f.store = open(f.place.path());
    for n in 0..20 {
        f.write(&format!("kept/{n}"), format!("{n} before"));
        f.write(&format!("gone{n}/deep/file"), "gone");
        f.write(&format!("retyped{n}"), "a file");
    }
    let before = (f.tree(), listing(&f.dir()));
    for n in 0..20 {
        f.write(&format!("kept/{n}"), vec![n; 40_000]);
        fs::rename(f.path(&format!("gone{n}/deep/file")), f.path(&format!("moved{n}"))).unwrap();
        fs::remove_dir_all(f.path(&format!("gone{n}"))).unwrap();
        fs::remove_file(f.path(&format!("retyped{n}"))).unwrap();
        f.write(&format!("retyped{n}/below"), "x");
        symlink("nowhere", f.path(&format!("new{n}"))).unwrap();
    }
    let after = (f.tree(), listing(&f.dir()));
    for round in 0..ROUNDS {
        let (from, to) = if round % 2 == 0 { (&after, &before) } else { (&before, &after) };
        killed(&f, (&from.0, &to.0), Duration::from_micros(800 * round));
        let changes = diff(&f.store, &from.0, &to.0).unwrap();
        let restored = restore(&f.store, &changes, &f.dir(), false).unwrap();
        assert_eq!(restored.conflicts, [], "round {round}");
        assert_eq!(listing(&f.dir()), to.1, "round {round}");
    }
}
