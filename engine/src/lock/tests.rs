use std::process::{Child, Command};

use super::*;

fn acquire(home: &Path, thread: &ThreadId) -> Result<ThreadLock, LockError> {
    ThreadLock::acquire(home, thread, &"0123456789ABC".parse().unwrap(), 5)
}

#[test]
fn a_second_holder_is_told_who_the_first_is() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    assert!(!running(home.path(), &thread).is_running());
    let held = acquire(home.path(), &thread).unwrap();
    assert!(running(home.path(), &thread).is_running());
    let refused = acquire(home.path(), &thread).unwrap_err();
    let expected = format!("thread {thread} is already running, in process {}", std::process::id());
    assert_eq!(refused.to_string(), expected);
    assert!(acquire(home.path(), &ThreadId::new(2)).is_ok());
    drop(held);
    assert!(!running(home.path(), &thread).is_running());
    assert!(acquire(home.path(), &thread).is_ok());
}

#[test]
fn the_marker_names_the_run_and_goes_with_it() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    let held = acquire(home.path(), &thread).unwrap();
    let marker = home.path().join(format!("running/{thread}.json"));
    let content: serde_json::Value = serde_json::from_slice(&fs::read(&marker).unwrap()).unwrap();
    let expected = serde_json::json!({
        "thread": thread, "workflow": "0123456789ABC", "pid": std::process::id(), "startedAt": 5,
        "processStart": process_start(std::process::id()), "background": false,
    });
    assert_eq!(content, expected);
    drop(held);
    assert_eq!(fs::read_dir(home.path().join("running")).unwrap().count(), 0);
}

#[test]
fn leftovers_of_a_killed_process_do_not_stand_in_the_way() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    let dir = home.path().join("running");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(format!("{thread}.lock")), "").unwrap();
    let marker = r#"{"thread":"x","workflow":"y","pid":4194305,"startedAt":1}"#;
    fs::write(dir.join(format!("{thread}.json")), marker).unwrap();
    assert!(!running(home.path(), &thread).is_running());
    assert!(acquire(home.path(), &thread).is_ok());
}

#[test]
fn many_at_once_never_hold_it_together() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    let inside = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let Ok(_held) = acquire(home.path(), &thread) else { continue };
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                }
            });
        }
    });
}

/// A lock that is held here with a marker that tells another story.
fn told(home: &Path, thread: &ThreadId, pid: u32, process_start: Option<u64>) -> (ThreadLock, PathBuf) {
    let held = ThreadLock::unannounced(home, thread).unwrap();
    let marker = Marker {
        thread: thread.to_string(),
        workflow: "0123456789ABC".into(),
        pid,
        started_at: 5,
        process_start,
        background: true,
    };
    marker.write(&held.paths.marker).unwrap();
    let path = held.paths.marker.clone();
    (held, path)
}

fn sleeper() -> Child {
    Command::new("sleep").arg("60").spawn().unwrap()
}

#[test]
fn a_process_is_believed_only_if_it_began_when_the_marker_says() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    let mut bystander = sleeper();
    let (pid, began) = (bystander.id(), process_start(bystander.id()));
    assert!(began.is_some());
    for told_start in [None, began.map(|ticks| ticks - 1)] {
        let (held, marker) = told(home.path(), &thread, pid, told_start);
        assert!(LockHolder::of(&marker).is_none());
        assert!(matches!(running(home.path(), &thread), Running::Unnamed));
        let busy = acquire(home.path(), &thread).unwrap_err();
        assert_eq!(busy.to_string(), format!("thread {thread} is already running"));
        assert!(matches!(stop(home.path(), &thread), Err(StopError::Unnamed { .. })));
        drop(held);
    }
    let (held, marker) = told(home.path(), &thread, pid, began);
    assert_eq!(
        LockHolder::of(&marker).map(|holder| (holder.pid(), holder.background())),
        Some((pid, Some(true)))
    );
    drop(held);
    assert!(bystander.try_wait().unwrap().is_none(), "nobody signalled it");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_marker_without_a_lock_says_nothing() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    let mut bystander = sleeper();
    let (held, marker) = told(home.path(), &thread, bystander.id(), process_start(bystander.id()));
    let kept = fs::read(&marker).unwrap();
    drop(held);
    fs::write(&marker, kept).unwrap();
    assert!(!running(home.path(), &thread).is_running());
    assert!(!stop(home.path(), &thread).unwrap());
    assert!(all_running(home.path()).unwrap().is_empty());
    assert!(bystander.try_wait().unwrap().is_none(), "nobody signalled it");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

/// What an engine leaves that takes no lock, and where.
fn foreign_marker(home: &Path, thread: &ThreadId, (pid, started_at): (u32, u64)) -> PathBuf {
    let path = home.join(format!("running/{thread}.json"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let marker = serde_json::json!({
        "thread": thread, "workflow": "0123456789ABC", "pid": pid, "startedAt": started_at,
    });
    fs::write(&path, marker.to_string()).unwrap();
    path
}

fn now() -> u64 {
    u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap()
}

#[test]
fn a_marker_of_an_engine_without_locks_counts_while_its_process_lives() {
    let home = tempfile::tempdir().unwrap();
    let (home, thread) = (home.path(), ThreadId::new(1));
    let mut other = sleeper();
    let marker = foreign_marker(home, &thread, (other.id(), now()));
    assert_eq!(running(home, &thread).background(), None);
    assert_eq!(all_running(home).unwrap(), BTreeSet::from([thread]));
    assert!(oldest_run(home).unwrap().unwrap() > 5);
    let busy = acquire(home, &thread).unwrap_err().to_string();
    assert_eq!(busy, format!("thread {thread} is already running, in process {}", other.id()));
    assert!(ThreadLock::unannounced(home, &thread).is_err());
    assert_eq!(fs::read_dir(home.join("running")).unwrap().count(), 1, "no lock is left");
    assert!(stop(home, &thread).unwrap());
    // It is dead, though nobody has buried it.
    assert!(!running(home, &thread).is_running() && marker.exists());
    assert!(other.try_wait().unwrap().is_some());
    foreign_marker(home, &thread, (sleeper_that_is_gone(), now()));
    drop(acquire(home, &thread).unwrap());
    assert!(!marker.exists(), "what a killed engine left goes with the next run");
}

fn sleeper_that_is_gone() -> u32 {
    let mut gone = sleeper();
    gone.kill().unwrap();
    gone.wait().unwrap();
    gone.id()
}

#[test]
fn a_number_that_another_process_has_by_now_says_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (home, thread) = (home.path(), ThreadId::new(1));
    let mut bystander = sleeper();
    foreign_marker(home, &thread, (bystander.id(), now() - 3_600_000));
    assert!(!running(home, &thread).is_running());
    assert!(!stop(home, &thread).unwrap());
    assert!(acquire(home, &thread).is_ok());
    assert!(bystander.try_wait().unwrap().is_none(), "nobody signalled it");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn the_marker_of_an_engine_that_began_beside_us_outlives_our_lock() {
    let home = tempfile::tempdir().unwrap();
    let (home, thread) = (home.path(), ThreadId::new(1));
    let mut other = sleeper();
    let held = acquire(home, &thread).unwrap();
    let marker = foreign_marker(home, &thread, (other.id(), now()));
    drop(held);
    assert!(marker.exists() && running(home, &thread).is_running());
    let still = stop_and_lock(home, &thread).unwrap();
    assert!(other.try_wait().unwrap().is_some(), "it was stopped");
    drop(still);
    assert!(!marker.exists());
}

#[test]
fn stop_waits_until_the_process_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    let mut holder = sleeper();
    let (held, _) = told(home.path(), &thread, holder.id(), process_start(holder.id()));
    assert_eq!(all_running(home.path()).unwrap(), BTreeSet::from([thread]));
    assert!(stop(home.path(), &thread).unwrap());
    assert!(holder.try_wait().unwrap().is_some(), "it is over when stop returns");
    drop(held);
}

#[test]
fn a_lock_goes_on_in_whoever_adopts_its_file() {
    let home = tempfile::tempdir().unwrap();
    let thread = ThreadId::new(1);
    let workflow = "0123456789ABC".parse().unwrap();
    let first = ThreadLock::unannounced(home.path(), &thread).unwrap();
    let file = first.shared().unwrap();
    first.assign(std::process::id(), &workflow, 6).unwrap();
    assert_eq!(running(home.path(), &thread).background(), Some(true));
    let second = ThreadLock::inherit(home.path(), &thread, file, (&workflow, 7)).unwrap();
    first.release_to_assigned();
    assert_eq!(running(home.path(), &thread).background(), Some(true));
    assert!(acquire(home.path(), &thread).is_err());
    drop(second);
    assert!(!running(home.path(), &thread).is_running());
    assert_eq!(fs::read_dir(home.path().join("running")).unwrap().count(), 0);
    // Some other file, or a lock that somebody else has taken meanwhile.
    let stranger = File::create(home.path().join("running/x")).unwrap();
    assert!(ThreadLock::inherit(home.path(), &thread, stranger, (&workflow, 7)).is_err());
}
