//! The life of a journal: until its step is recorded and its thread has moved, collecting the store takes nothing of it,
//! however old it is; after that collecting removes it.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{ANSWER, Work, command, journals, of_kind, play};
use crate::process::wait_for;

/// A run that changes its workspace, and is killed in the command after that.
fn cut_off() -> Work {
    let work = Work::new(&play(&[
        command("echo new > made; chmod 700 a.txt; rm b.txt").as_str(),
        &command("echo once >> log; touch began; sleep 1000"),
        ANSWER,
    ]));
    kill(&work);
    work
}

fn kill(work: &Work) {
    let mut child = work.begin();
    wait_for(|| work.site.workspace().join("began").exists());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Makes everything below a directory two hours old.
fn age(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => age(&path),
            false => {
                let then = SystemTime::now() - Duration::from_secs(7200);
                File::open(&path).unwrap().set_modified(then).unwrap();
            }
        }
    }
}

/// Collects the store as it will be in two hours; it is sound then.
pub(super) fn collect(work: &Work) -> Value {
    age(&work.site.home().join(".ocas/nodes"));
    let sessions = work.site.home().join(".uwf/sessions");
    if sessions.is_dir() {
        age(&sessions);
    }
    let would = work.site.uwf(&["cas", "gc", "--dry-run"]).ok().json();
    let done = work.site.uwf(&["cas", "gc"]).ok().json();
    for what in ["removed", "kept", "bytes", "journals", "forks", "caches"] {
        assert_eq!(would[what], done[what], "a dry run tells what is done: {what}");
    }
    work.site.verify();
    done
}

fn trees(work: &Work) -> Vec<String> {
    let lines = work.lines();
    let trees = of_kind(&lines, "snapshot").map(|line| line["snapshot"]["tree"].as_str().unwrap().to_owned());
    trees.collect()
}

#[test]
fn what_an_unfinished_run_has_captured_is_kept_however_old_it_is() {
    let work = cut_off();
    let before = trees(&work);
    assert_eq!(before.len(), 2, "before the run, and after its first command");
    let collected = collect(&work);
    assert_eq!((&collected["journals"]["removed"], work.journals().len()), (&0.into(), 1));
    for tree in &before {
        work.site.uwf(&["cas", "walk", tree]).ok();
    }
    let reply = work.run().ok().reply();
    let step = reply["stepHash"].as_str().unwrap();
    let names = work.site.uwf(&["step", "diff", step, "--name-only"]).ok().out;
    assert_eq!(names, "a.txt\nb.txt\nbegan\nlog\nmade\n");
    assert_eq!(work.file("log"), "once\n");
    work.site.verify();
}

#[test]
fn what_is_recorded_and_not_reached_by_a_head_yet_is_kept() {
    let work = Work::new(&play(&[command("echo new > made; seq 1 6000").as_str(), ANSWER]));
    let reply = work.run().ok().reply();
    let step = reply["stepHash"].as_str().unwrap();
    // The engine died before it moved the head.
    let collected = collect(&work);
    assert_eq!(collected["journals"]["removed"], 0);
    assert!(work.site.uwf(&["cas", "has", step]).out.contains("true"));
    assert_eq!(work.run().ok().reply(), reply);
    let agent = format!("{} --model other", crate::site::AGENT);
    let exec = work.site.uwf(&["thread", "exec", &work.thread, "--agent", &agent]).ok().json();
    assert_eq!((&exec["status"], &exec["head"]), (&"end".into(), &reply["stepHash"]));
    assert!(work.asked().values().all(|times| *times == 1), "nothing is asked again");
    // Now the record is the truth.
    let bytes = fs::metadata(&work.journals()[0]).unwrap().len();
    let collected = collect(&work);
    assert_eq!(collected["journals"], serde_json::json!({"removed": 1, "bytes": bytes}));
    assert_eq!(journals(&work.site).len(), 0);
    let shown = work.site.uwf(&["step", "diff", step, "--name-only"]).ok().out;
    assert_eq!(shown, "made\n");
}

/// The agent was killed when the record was in the store and its journal did not say so yet: nothing names the step, and
/// the journal has all it was made of.
#[test]
fn what_is_recorded_and_named_by_nothing_is_recorded_again() {
    let work = Work::new(&play(&[command("echo new > made").as_str(), ANSWER]));
    let reply = work.run().ok().reply();
    let journal = work.journals().pop().unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    let without_reply = text.trim_end().rfind('\n').unwrap() + 1;
    fs::write(&journal, &text[..without_reply]).unwrap();
    assert!(collect(&work)["removed"].as_u64().unwrap() > 0);
    assert!(work.site.uwf(&["cas", "has", reply["stepHash"].as_str().unwrap()]).out.contains("false"));
    assert_eq!(work.run().ok().reply(), reply);
    assert!(work.asked().values().all(|times| *times == 1));
    work.site.verify();
}

#[test]
fn a_doctor_tells_what_was_cut_off_and_what_to_type() {
    let mut work = cut_off();
    let first = work.thread.clone();
    work.begin_anew();
    kill(&work);
    let url = work.endpoint.url();
    work.site.uwf(&["thread", "cancel", &first]).ok();
    let run = |format: &str| work.site.agent(&["doctor", "--format", format]).out;
    let runs: Value = serde_json::from_str(&run("json")).unwrap();
    let runs = &runs["runs"];
    assert_eq!(runs["unfinished"].as_array().unwrap().len(), 1, "{runs}");
    let unfinished = &runs["unfinished"][0];
    let journal = work.journals()[0].display().to_string();
    let expected: [(&str, Value); 5] = [
        ("thread", work.thread.clone().into()),
        ("role", "worker".into()),
        ("answered", false.into()),
        ("journal", journal.into()),
        ("discard", format!("uwf thread cancel {}", work.thread).into()),
    ];
    for (name, value) in expected {
        assert_eq!(unfinished[name], value, "{runs}");
    }
    assert_eq!((&runs["stale"], unfinished["bytes"].as_u64().unwrap() > 1000), (&1.into(), true));
    let text = run("text");
    let line = format!("! run of worker in thread {} was cut off ", work.thread);
    assert!(text.contains(&line) && text.contains("`uwf cas gc` removes them"), "{text}");
    assert!(work.site.uwf(&["doctor", "--format", "text"]).out.contains(&line), "the engine passes it on");
    assert_eq!(collect(&work)["journals"]["removed"], 1);
    // What it says is what continues the run.
    let go_on = unfinished["continue"].as_str().unwrap().strip_prefix("uwf ").unwrap();
    let agent = format!("{} --base-url {url} --model m", crate::site::AGENT);
    let words: Vec<&str> = go_on.split("  (").next().unwrap().split(' ').chain(["--agent", &agent]).collect();
    assert_eq!(work.site.uwf(&words).ok().json()["status"], "end");
    assert_eq!(work.file("log"), "once\n");
}

#[test]
fn what_was_known_of_a_workspace_goes_with_it() {
    let work = cut_off();
    let caches = work.site.home().join(".uwf/cache/snapshots");
    assert_eq!(fs::read_dir(&caches).unwrap().count(), 1);
    assert_eq!(collect(&work)["caches"]["removed"], 0);
    fs::rename(work.site.workspace(), work.site.home().join("moved")).unwrap();
    let mut gc = work.site.command(crate::site::UWF);
    let told = crate::site::Said::of(
        gc.current_dir(work.site.home()).args(["cas", "gc", "--format", "text"]).output().unwrap(),
    );
    let told = told.ok().out;
    assert!(told.contains("\nremoved caches of workspaces that are gone: 1 ("), "{told}");
    assert_eq!(fs::read_dir(&caches).unwrap().count(), 0);
}
