//! The store as programs and people keep it up: collecting, counting, moving threads, in the real binaries.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::site::{AGENT, Said, Site, UWF, example};
use crate::thread::{TASK, assert_solved};

fn nodes(site: &Site) -> Vec<PathBuf> {
    let entries = fs::read_dir(site.home().join(".ocas/nodes")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Makes every node two hours old.
pub(crate) fn age(site: &Site) {
    let then = SystemTime::now() - Duration::from_secs(7200);
    for path in nodes(site) {
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }
}

fn solved(site: &Site) -> String {
    site.project("solve-issue/project");
    let thread = site.start(&example("solve-issue/workflow.yaml"), TASK);
    let agent = format!("{AGENT} --mock {}", example("solve-issue/mock.yaml"));
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).ok();
    thread
}

#[test]
fn a_collection_keeps_the_whole_record_of_a_thread_and_nothing_else() {
    let site = Site::new();
    let thread = solved(&site);
    let before = site.uwf(&["thread", "read", &thread]).ok().out;
    let lost = site.write("lost.json", "\"lost\"");
    let lost = site.uwf(&["cas", "put", "--type", "string", &lost]).ok().out;
    assert_eq!(site.uwf(&["cas", "gc"]).ok().json()["removed"], 0, "everything is young");
    age(&site);
    let needed = nodes(&site).len() as u64 - 1;
    let report = site.uwf(&["cas", "gc"]).ok().json();
    assert_eq!((report["removed"].as_u64(), report["kept"].as_u64()), (Some(1), Some(needed)));
    site.uwf(&["cas", "has", lost.trim()]).code(1);
    assert_eq!(site.uwf(&["thread", "read", &thread]).ok().out, before);
    assert_solved(&site, &thread);
}

#[test]
fn a_thread_travels_through_a_pipe_and_reads_the_same() {
    let (here, there) = (Site::new(), Site::new());
    let thread = solved(&here);
    let exported = here.uwf(&["thread", "export", &thread]).ok().out;
    let mut import = there
        .command(UWF)
        .args(["thread", "import", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(exported.as_bytes()).unwrap();
    let said = Said::of(import.wait_with_output().unwrap()).ok().json();
    assert_eq!((&said["thread"], &said["imported"]), (&thread.as_str().into(), &true.into()));
    let read = |site: &Site| site.uwf(&["thread", "read", &thread]).ok().out;
    assert_eq!(read(&here), read(&there));
    there.verify();
    // Cut off within a line, and after one.
    let line_end = exported.len() / 2 + exported[exported.len() / 2..].find('\n').unwrap();
    for (end, told) in [(line_end - 3, "damaged"), (line_end + 1, "the file is not whole")] {
        let file = there.write("cut.jsonl", &exported[..end]);
        Site::new().uwf(&["thread", "import", &file]).fails(1, &[told]);
    }
}

#[test]
fn a_thread_survives_the_loss_of_the_databases_log() {
    let site = Site::new();
    let thread = solved(&site);
    let before = site.uwf(&["thread", "read", &thread]).ok().out;
    for name in ["_store.db-wal", "_store.db-shm"] {
        fs::remove_file(site.home().join(".ocas/vars").join(name)).ok();
    }
    assert_eq!(site.uwf(&["thread", "read", &thread]).ok().out, before);
    assert_solved(&site, &thread);
    site.verify();
}

#[test]
fn a_store_whose_names_are_lost_is_not_collected_and_says_so() {
    let site = Site::new();
    let thread = solved(&site);
    let database = site.home().join(".ocas/vars/_store.db");
    let copy = fs::read(&database).unwrap();
    let last = site.uwf(&["thread", "show", &thread]).ok().json()["head"].as_str().unwrap().to_owned();
    age(&site);
    let all = nodes(&site).len();
    fs::write(&database, "").unwrap();
    let words = "steps of 1 threads are in the store that no variable leads to";

    let listed = site.uwf(&["thread", "list", "--all"]).ok();
    assert!(
        listed.err.contains(words) && listed.err.contains(&format!("uwf step fork {last}")),
        "{listed:?}"
    );
    assert_eq!(listed.json(), json!([]));
    let verified = site.uwf(&["cas", "verify"]).code(1);
    let found = &verified.json()["findings"][0];
    assert_eq!((&found["kind"], &found["lastStep"]), (&json!("lost"), &json!(last)));
    for args in [&["cas", "gc"][..], &["cas", "gc", "--dry-run"]] {
        site.uwf(args)
            .fails(1, &[words, "nodes would have been removed", "hint: nothing was removed", "--force"]);
    }
    // One thread more does not explain what became of the other.
    site.start(&example("solve-issue/workflow.yaml"), "Another task.");
    assert_eq!(nodes(&site).len(), all + 1);
    site.uwf(&["cas", "gc"]).fails(1, &[words]);

    // Either way out is one.
    let fork = site.uwf(&["step", "fork", &last]).ok().json();
    site.uwf(&["thread", "read", fork["thread"].as_str().unwrap()]).ok();
    site.verify();
    site.uwf(&["cas", "gc"]).ok();
    fs::write(&database, copy).unwrap();
    assert_solved(&site, &thread);
    site.verify();
    site.uwf(&["cas", "gc"]).ok();

    // Who removes every thread has lost nothing.
    site.uwf(&["thread", "rm", &thread]).ok();
    age(&site);
    assert_eq!(site.uwf(&["thread", "list", "--all"]).ok().err, "");
    site.verify();
    assert!(site.uwf(&["cas", "gc"]).ok().json()["removed"].as_u64().unwrap() > 20);
    assert_eq!(site.uwf(&["var", "list", "@uwf/removed/"]).ok().json(), json!([]));
}

#[test]
fn a_collector_killed_at_any_moment_leaves_a_store_that_verifies() {
    let site = Site::new();
    solved(&site);
    // Without its variable the whole thread is garbage, if one says so: steps, turns, outputs, in chains.
    fs::remove_dir_all(site.home().join(".ocas/vars")).unwrap();
    assert!(nodes(&site).len() > 60);
    age(&site);
    for pause in (0..).step_by(6) {
        let mut gc = site
            .command(UWF)
            .args(["cas", "gc", "--force"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(4 + pause));
        gc.kill().ok();
        let whole = gc.wait().unwrap().success();
        // That the thread has lost its name is all there is to say.
        for finding in site.uwf(&["cas", "verify"]).json()["findings"].as_array().unwrap() {
            assert_eq!(finding["kind"], "lost", "{finding}");
        }
        if whole {
            break;
        }
    }
    assert_eq!(nodes(&site).len(), 45, "what every store holds");
}
