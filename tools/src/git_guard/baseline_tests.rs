//! Tests of `baseline`.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::cancel::Cancel;

const LONG: Duration = Duration::from_secs(600);
/// Longer than a clock's step, so that a file is not taken for one that was changed just now.
const STEP: Duration = Duration::from_millis(120);

fn workspace() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    (dir, root)
}

fn repository(path: &Path) {
    for dir in ["objects", "refs", "hooks"] {
        fs::create_dir_all(path.join(dir)).unwrap();
    }
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(path.join("config"), "[core]\n\tpager = mine\n").unwrap();
    fs::write(path.join("hooks/mine"), "mine").unwrap();
}

fn baseline(root: &Path, limit: Duration) -> Baseline {
    Baseline::new(root, &[], &CheckDeadline::new(limit, &Cancel::default()))
}

fn check(baseline: &mut Baseline) -> Vec<String> {
    baseline.check(&CheckDeadline::new(LONG, &Cancel::default())).lines()
}

fn check_all(baseline: &mut Baseline) -> GitReport {
    baseline.check_all(&CheckDeadline::new(LONG, &Cancel::default()))
}

/// What could not be noted in time is left as it was, and what is new is not.
#[test]
fn a_beginning_without_time_costs_nobody_his_hooks() {
    let (_dir, root) = workspace();
    repository(&root.join("sub/.git"));
    std::thread::sleep(STEP);
    let mut baseline = baseline(&root, Duration::ZERO);
    std::thread::sleep(STEP);
    fs::write(root.join("sub/.git/hooks/new"), "evil").unwrap();
    let report = check_all(&mut baseline);
    assert!(report.standing().is_empty(), "{report:?}");
    assert_eq!(report.lines(), ["undone: the hook new in sub/.git/hooks"]);
    assert!(root.join("sub/.git/hooks/mine").exists());
    assert!(fs::read_to_string(root.join("sub/.git/config")).unwrap().contains("mine"));
}

#[test]
fn an_end_without_time_says_what_was_not_looked_at() {
    let (_dir, root) = workspace();
    repository(&root.join(".git"));
    let mut baseline = baseline(&root, LONG);
    let report = baseline.check_all(&CheckDeadline::new(Duration::ZERO, &Cancel::default()));
    let standing = report.standing();
    assert!(standing[0].starts_with("not looked at: what is below /"), "{standing:?}");
    assert_eq!(standing[1], "not looked at: 1 git directories: 0 s were not enough");
}

/// Neither its length nor the time of its last change tells of a change: only the time that nobody can set.
#[test]
fn what_looks_as_before_is_not_read_and_what_was_made_to_is() {
    let (_dir, root) = workspace();
    repository(&root.join(".git"));
    let config = root.join(".git/config");
    let (text, modified) = (fs::read_to_string(&config).unwrap(), fs::metadata(&config).unwrap().modified());
    let mut baseline = baseline(&root, LONG);
    std::thread::sleep(STEP);
    assert!(check(&mut baseline).is_empty());
    assert_eq!(baseline.same.len(), 1, "it is known from now on");
    fs::write(&config, text.replace("mine", "evil")).unwrap();
    fs::File::options().write(true).open(&config).unwrap().set_modified(modified.unwrap()).unwrap();
    assert_eq!(check(&mut baseline), ["undone: core.pager in .git/config"]);
    fs::write(root.join(".git/hooks/mine"), "evil").unwrap();
    assert_eq!(check(&mut baseline), ["undone: the hook mine in .git/hooks"]);
}

/// Where a file system can be mounted: first there is no room for what was there, and in the end there is.
#[test]
fn what_could_not_be_put_back_is_pending() {
    let (_dir, root) = workspace();
    let size = ["-t", "tmpfs", "-o", "size=256k", "uwf"];
    if !Command::new("mount").args(size).arg(&root).output().is_ok_and(|output| output.status.success()) {
        return;
    }
    repository(&root.join(".git"));
    let config = root.join(".git/config");
    let text = format!("[core]\n\tpager = mine\n{}", "# much\n".repeat(8000));
    fs::write(&config, &text).unwrap();
    let mut baseline = baseline(&root, LONG);
    fs::write(&config, "[core]\n\tpager = evil\n").unwrap();
    let _ = fs::write(root.join("full"), vec![0; 1 << 20]);
    let full = baseline.check(&CheckDeadline::new(LONG, &Cancel::default()));
    let left = config.exists();
    fs::remove_file(root.join("full")).unwrap();
    let report = check_all(&mut baseline);
    let restored = fs::read_to_string(&config);
    // A process that another test is starting has its files open until it executes.
    let is_unmounted = |_| {
        let is_done = Command::new("umount").arg(&root).status().unwrap().success();
        is_done || {
            std::thread::sleep(STEP);
            false
        }
    };
    assert!((0..100).any(is_unmounted));
    assert!(!left && full.standing()[0].starts_with("not undone: core.pager in .git/config: "), "{full:?}");
    assert_eq!(report.lines(), ["undone: that .git/config was taken away"]);
    assert_eq!(restored.unwrap(), text);
}

/// Each of a few small files names thousands of others: to follow all of them would take for ever.
#[test]
fn a_flood_of_includes_ends_with_the_time_for_it() {
    let (_dir, root) = workspace();
    repository(&root.join(".git"));
    let mut baseline = baseline(&root, LONG);
    let includes: String =
        (0..60).map(|n| format!("[include]\n\tpath = {}/i{n}\n", root.display())).collect();
    let many: String = (0..20_000).map(|n| format!("\tpath = ./missing/{n}\n")).collect();
    (0..60).for_each(|n| fs::write(root.join(format!("i{n}")), format!("{includes}{many}")).unwrap());
    fs::write(root.join(".git/config"), &includes).unwrap();
    let begun = std::time::Instant::now();
    let report = baseline.check(&CheckDeadline::new(Duration::from_millis(300), &Cancel::default()));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert!(!report.lines().is_empty());
}
