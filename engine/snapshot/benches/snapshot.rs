//! The figures we claim of snapshots, each beside a floor measured in the same run: `cargo bench -p uwf-snapshot`.
//!
//! Not a test: machines are noisy. What is measured and `git status` on the same tree take turns, and the median of each
//! counts. Everything is in the page cache. A snapshot is measured as a program makes one: the store and the cache are
//! opened for it.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement that cannot be made says so by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use uwf_snapshot::{CaptureCache, Options, Snapshot, capture};
use uwf_store::{Profile, Store};

const DIRECTORIES: usize = 2_500;
const FILES: usize = 20;
const TURNS: usize = 21;

fn main() {
    let place = tempfile::tempdir().unwrap();
    let tree = tree(place.path());
    let capture = || timed(|| snapshot(place.path(), &tree));
    let status = || timed(|| git(&tree, &["status", "--porcelain"]));
    println!("{:<48} {:>10} {:>10} {:>10}", "figure", "measured", "floor", "allowed");
    let add = timed(|| git(&tree, &["add", "."]));
    let first = capture();
    row("the first snapshot (floor: git add)", first, add, add * 3);
    git(&tree, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    // What was written a moment ago is read once more.
    std::thread::sleep(Duration::from_secs(3));
    capture();
    status();
    let (measured, floor) = take_turns(capture, status);
    row("50,000 files, nothing changed (git status)", measured, floor, floor * 3 / 2);
    assert_eq!(snapshot(place.path(), &tree).work.files_read, 0, "nothing is read again");
    let mut turn = 0;
    let changed = || {
        turn += 1;
        fs::write(tree.join(format!("d{turn}/f0.txt")), format!("changed {turn}")).unwrap();
        timed(|| snapshot(place.path(), &tree))
    };
    let (measured, floor) = take_turns(changed, status);
    row("50,000 files, one changed each time (git status)", measured, floor, floor * 2);
}

fn tree(place: &Path) -> PathBuf {
    let tree = place.join("tree");
    for directory in 0..DIRECTORIES {
        let directory = tree.join(format!("d{directory}"));
        fs::create_dir_all(&directory).unwrap();
        for file in 0..FILES {
            let text = format!("{}: file {file}\n", directory.display()).repeat(20);
            fs::write(directory.join(format!("f{file}.txt")), text).unwrap();
        }
    }
    fs::write(tree.join(".gitignore"), "*.o\n/build/\n*.tmp\n!keep.tmp\n").unwrap();
    git(&tree, &["init", "-q"]);
    tree
}

fn snapshot(place: &Path, tree: &Path) -> Snapshot {
    let store = Store::open(&place.join("store"), Profile::PLAIN, now).unwrap();
    let mut cache = CaptureCache::open(&place.join("cache"));
    let snapshot = capture(tree, &Options::default(), &mut cache, &store).unwrap();
    cache.save().unwrap();
    snapshot
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

fn git(tree: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(tree).args(arguments).stdout(Stdio::null());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    assert!(git.status().unwrap().success());
}

fn timed<T>(act: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    act();
    begun.elapsed()
}

/// The median of each.
fn take_turns(mut one: impl FnMut() -> Duration, other: impl Fn() -> Duration) -> (Duration, Duration) {
    let (mut ones, mut others): (Vec<_>, Vec<_>) = (0..TURNS).map(|_| (one(), other())).unzip();
    ones.sort_unstable();
    others.sort_unstable();
    (ones[TURNS / 2], others[TURNS / 2])
}

fn row(figure: &str, measured: Duration, floor: Duration, allowed: Duration) {
    let mark = if measured > allowed { "  too slow" } else { "" };
    let [measured, floor, allowed] =
        [measured, floor, allowed].map(|time| format!("{:.1} ms", time.as_secs_f64() * 1e3));
    println!("{figure:<48} {measured:>10} {floor:>10} {allowed:>10}{mark}");
}
