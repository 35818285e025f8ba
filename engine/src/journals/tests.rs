//! What each journal is to its thread, and which go.

use std::time::SystemTime;

use serde_json::json;
use uwf_store::Hash;

use super::*;
use crate::fixture::{Place, clock};
use crate::thread;
use JournalStanding::{Answered, Live, Stale, Unfinished, Unknown};

const SAID: &str = "{\"entry\":\"said\"}\n";

/// Puts a journal of two openings there, with these lines after its first; it was written two hours ago.
fn put(place: &Place, thread: ThreadId, head: Hash, lines: &str) -> PathBuf {
    let dir = directory(&place.homes().uwf);
    fs::create_dir_all(&dir).unwrap();
    let session = ThreadId::new(clock() + fs::read_dir(&dir).unwrap().count() as u64);
    let path = dir.join(JournalName { thread, head, session }.to_string());
    let first = json!({
        "entry": "run", "role": "writer", "prompt": "p", "standAlone": false, "workspace": "/w", "at": 1,
        "opening": 2
    });
    fs::write(&path, format!("{first}\n{lines}")).unwrap();
    written(&path, Duration::from_secs(7200));
    path
}

fn written(path: &Path, ago: Duration) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(clock()) - ago;
    File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
}

fn replied(is_error: bool) -> String {
    format!("{SAID}{SAID}{}\n", json!({"entry": "replied", "reply": {"isError": is_error}}))
}

fn standings(place: &Place) -> Vec<(PathBuf, JournalStanding)> {
    let found = survey(&place.store(), &place.homes().uwf).unwrap();
    found.into_iter().map(|journal| (journal.path, journal.standing)).collect()
}

fn standing_of(place: &Place, path: &Path) -> JournalStanding {
    standings(place).into_iter().find(|(found, _)| found == path).unwrap().1
}

/// A thread, and the node it stands at.
fn idle(place: &Place, task: &str) -> (ThreadId, Hash) {
    let thread = place.thread(task);
    (thread, thread::head(&place.store(), &thread).unwrap().hash)
}

fn advance(place: &Place, thread: &ThreadId, from: &Hash) {
    let step = place.step(thread, None, "writer", &json!({"$status": "checked"}));
    thread::advance(&place.store(), thread, from, &step, &thread::Status::Idle).unwrap();
}

#[test]
fn a_journal_is_stale_once_its_thread_has_moved_on_and_not_before() {
    let place = Place::new();
    let (thread, head) = idle(&place, "a");
    let cut_off = put(&place, thread, head, &SAID.repeat(3));
    assert_eq!(standing_of(&place, &cut_off), Unfinished, "however old it is");
    let (other, at) = idle(&place, "b");
    let answered = put(&place, other, at, &replied(false));
    assert_eq!(standing_of(&place, &answered), Answered, "nobody has made use of it");
    advance(&place, &other, &at);
    assert_eq!((standing_of(&place, &answered), standing_of(&place, &cut_off)), (Stale, Unfinished));
    let held = File::open(&answered).unwrap();
    held.lock().unwrap();
    assert_eq!(standing_of(&place, &answered), Live);
    drop(held);
    thread::cancel(&place.store(), &thread).unwrap();
    assert_eq!(standing_of(&place, &cut_off), Stale, "a thread that was given up is never played again");
}

#[test]
fn what_never_began_goes_when_it_is_old_and_what_cannot_be_read_stays() {
    let place = Place::new();
    let (thread, head) = idle(&place, "a");
    let opening = put(&place, thread, head, &format!("{SAID}{{\"entry\":\"sa"));
    assert_eq!(standing_of(&place, &opening), Stale);
    written(&opening, Duration::from_secs(60));
    assert_eq!(standing_of(&place, &opening), Live, "its process may be about to lock it");
    let garbage = put(&place, thread, head, "");
    fs::write(&garbage, "garbage\n").unwrap();
    assert_eq!(standing_of(&place, &garbage), Unfinished);
}

#[test]
fn a_failed_attempt_goes_unless_an_older_run_would_be_found_then() {
    let place = Place::new();
    let (thread, head) = idle(&place, "a");
    let first = put(&place, thread, head, &replied(true));
    assert_eq!(standing_of(&place, &first), Stale);
    let cut_off = put(&place, thread, head, &SAID.repeat(3));
    let last = put(&place, thread, head, &replied(true));
    let expected = [(first, Stale), (cut_off, Unfinished), (last, Answered)];
    assert_eq!(standings(&place), expected);
}

#[test]
fn a_thread_of_another_store_keeps_its_journal_and_a_removed_one_does_not() {
    let place = Place::new();
    let (thread, head) = idle(&place, "a");
    let (twin, _) = idle(&place, "a");
    let elsewhere = put(&place, ThreadId::new(7), head, &SAID.repeat(3));
    let removed = put(&place, thread, head, &SAID.repeat(3));
    for gone in [&thread, &twin] {
        thread::remove(&place.store(), gone).unwrap();
    }
    assert_eq!((standing_of(&place, &elsewhere), standing_of(&place, &removed)), (Unknown, Stale));
}

#[test]
fn the_stale_ones_go_with_their_outputs_and_a_dry_run_tells_the_same() {
    let place = Place::new();
    let (thread, head) = idle(&place, "a");
    let stale = put(&place, thread, head, &SAID.repeat(3));
    advance(&place, &thread, &head);
    let kept = put(&place, thread, thread::head(&place.store(), &thread).unwrap().hash, &SAID.repeat(3));
    fs::create_dir(spool_dir(&stale)).unwrap();
    fs::write(spool_dir(&stale).join("output"), "12345").unwrap();
    // Outputs whose journal is gone, of a process that was killed in the midst of removing it.
    let orphan = put(&place, thread, head, "");
    fs::create_dir(spool_dir(&orphan)).unwrap();
    fs::remove_file(&orphan).unwrap();
    let touch = |then: SystemTime| File::open(spool_dir(&orphan)).unwrap().set_modified(then).unwrap();
    touch(SystemTime::UNIX_EPOCH + Duration::from_millis(clock()));
    assert_eq!(standing_of(&place, &orphan), Live, "a run makes this directory before its journal");
    touch(SystemTime::UNIX_EPOCH);

    let found = survey(&place.store(), &place.homes().uwf).unwrap();
    let bytes = fs::metadata(&stale).unwrap().len() + 5;
    let expected = LeftoversRemoved { removed: 2, bytes };
    assert_eq!(remove_stale(&found, true), expected);
    assert!(stale.exists() && spool_dir(&orphan).exists());
    assert_eq!(remove_stale(&found, false), expected);
    assert!(!stale.exists() && !spool_dir(&stale).exists() && !spool_dir(&orphan).exists() && kept.exists());
    assert_eq!(standings(&place), [(kept, Unfinished)]);
}

#[test]
fn the_first_line_tells_whose_run_it_is() {
    let place = Place::new();
    let (thread, head) = idle(&place, "a");
    let path = put(&place, thread, head, "");
    let told = header(&path).unwrap();
    assert_eq!((told.role.as_str(), told.workspace.as_str(), told.at), ("writer", "/w", 1));
    fs::write(&path, "{}\n").unwrap();
    assert_eq!(header(&path), None);
}

#[test]
fn a_fork_that_nobody_asked_for_long_goes_unless_somebody_asks_it_now() {
    let place = Place::new();
    let home = place.homes().uwf;
    let day = Duration::from_secs(24 * 3600);
    let put = |name: &str, ago: Duration| {
        let dir = forks(&home).join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(FORK_FILE), "12345").unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_millis(clock()) - ago;
        File::open(&dir).unwrap().set_modified(then).unwrap();
        dir
    };
    let [old, young, asked] =
        [("old", 31), ("young", 29), ("asked", 31)].map(|(name, days)| put(name, day * days));
    let held = File::open(asked.join(FORK_FILE)).unwrap();
    held.lock().unwrap();
    let expected = LeftoversRemoved { removed: 1, bytes: 5 };
    assert_eq!(remove_forgotten_forks(&home, clock(), true), expected);
    assert_eq!(remove_forgotten_forks(&home, clock(), false), expected);
    assert_eq!([old, young, asked].map(|dir| dir.exists()), [false, true, true]);
}

#[test]
fn a_model_that_was_asked_and_never_answered_is_one() {
    let place = Place::new();
    let home = place.homes().uwf;
    let (thread, head) = idle(&place, "a");
    let (sent, answered) = ("{\"entry\":\"sent\"}\n", "{\"entry\":\"answered\"}\n");
    let is_unanswered = || is_unanswered(&home, (&thread, &head));
    assert!(!is_unanswered());
    let journal = put(&place, thread, head, &SAID.repeat(2));
    assert!(!is_unanswered(), "it was not asked yet");
    fs::write(&journal, fs::read_to_string(&journal).unwrap() + sent).unwrap();
    assert!(is_unanswered());
    fs::write(&journal, fs::read_to_string(&journal).unwrap() + answered + sent).unwrap();
    assert!(!is_unanswered());
}
