//! The journals themselves: two processes at one, one that is damaged, one that is over, one that nobody needs.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::{ANSWER, Work, command, journals, lines, of_kind, play, script};
use crate::process::wait_for;
use crate::site::Said;

const PROSE: &str = "{ content: I would rather not. }";

/// Runs until the command has begun, and kills it there.
fn cut_off(work: &Work) {
    let mut child = work.begin();
    wait_for(|| work.site.workspace().join("began").exists());
    child.kill().unwrap();
    child.wait().unwrap();
}

fn one_command() -> String {
    play(&[command("echo once >> log; touch began; sleep 1000").as_str(), ANSWER])
}

fn edit(journal: &Path, change: impl FnOnce(String) -> String) {
    fs::write(journal, change(fs::read_to_string(journal).unwrap())).unwrap();
}

/// The journal without its last line.
fn unfinished(text: String) -> String {
    let end = text.trim_end().rfind('\n').unwrap();
    text[..=end].to_owned()
}

#[test]
fn two_at_once_are_one_and_a_refusal() {
    let work = Work::new(&one_command());
    let mut first = work.begin();
    wait_for(|| work.site.workspace().join("began").exists());
    work.run()
        .fails(1, &["is being played by another process", ".jsonl", "hint: wait for it or end it; --fresh"]);
    first.kill().unwrap();
    first.wait().unwrap();
    // And two that continue: whoever is second is refused, or comes so late that the reply is given again.
    let both = [work.begin(), work.begin()].map(|child| Said::of(child.wait_with_output().unwrap()));
    assert!(both.iter().any(|said| said.code == 0), "{both:?}");
    for said in both {
        assert!(said.code == 0 || said.err.contains("another process"), "{said:?}");
    }
    assert_eq!((work.file("log"), work.journals().len()), ("once\n".to_owned(), 1));
    assert_eq!(work.asked().values().copied().collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn in_another_directory_it_is_another_run() {
    let work = Work::new(&play(&[
        &command("pwd > where; touch began; until [ -e go ]; do sleep 0.02; done"),
        ANSWER,
    ]));
    cut_off(&work);
    let other = work.site.home().with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("go"), "").unwrap();
    let said = Said::of(work.agent().current_dir(&other).output().unwrap()).ok();
    let told = format!(
        "is of a run in {}, and this one is in {}. The run starts over",
        work.site.workspace().display(),
        other.display()
    );
    assert!(said.err.contains(&told), "{}", said.err);
    assert_eq!(fs::read_to_string(other.join("where")).unwrap().trim(), other.to_str().unwrap());
}

#[test]
fn a_directory_that_is_gone_is_told_with_a_way_out() {
    let work = Work::new(&one_command());
    cut_off(&work);
    let moved = work.site.home().with_file_name("moved");
    fs::rename(work.site.workspace(), &moved).unwrap();
    let by_hand = |more: &[&str]| {
        let mut agent = work.site.command(crate::site::AGENT);
        agent.args([&work.thread, "worker", "--base-url", &work.endpoint.url(), "--model", "m"]).args(more);
        Said::of(agent.current_dir(&moved).output().unwrap())
    };
    by_hand(&[]).fails(1, &["which cannot be used any more", "hint: put it back", "--fresh"]);
    fs::rename(&moved, work.site.workspace()).unwrap();
    work.run().ok();
}

#[test]
fn fresh_starts_over_beside_the_living_and_instead_of_the_dead() {
    let work = Work::new(&one_command());
    cut_off(&work);
    let before = work.journals();
    fs::remove_file(work.site.workspace().join("began")).unwrap();
    let mut living = work.agent().arg("--fresh").spawn().unwrap();
    wait_for(|| work.site.workspace().join("began").exists());
    let now = work.journals();
    assert!(now.len() == 1 && now != before, "the interrupted run is discarded");
    assert_eq!(work.file("log"), "once\nonce\n");
    let mut other = work.agent().arg("--fresh").spawn().unwrap();
    wait_for(|| work.file("log") == "once\n".repeat(3));
    assert_eq!(work.journals().len(), 2, "the living one is left alone");
    for child in [&mut living, &mut other] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let reply = work.run().ok().reply();
    let again = Said::of(
        work.agent()
            .arg("--fresh")
            .spawn()
            .and_then(|mut child| {
                wait_for(|| work.file("log") == "once\n".repeat(4));
                child.kill()?;
                child.wait_with_output()
            })
            .unwrap(),
    );
    assert_eq!(again.code, -1);
    let anew = work.run().ok().reply();
    assert_ne!(anew["stepHash"], reply["stepHash"], "a finished run is discarded as well");
}

#[test]
fn a_finished_visit_gives_its_reply_again_and_asks_nobody() {
    let mut work = Work::new(&script());
    let first = work.run().ok();
    work.endpoint.server.kill().unwrap();
    let again = work.run().ok();
    assert_eq!(again.reply(), first.reply());
    assert!(again.err.contains("its reply is given again"), "{}", again.err);
    let hash = Said::of(work.agent().args(["--reply", "hash"]).output().unwrap()).ok();
    assert_eq!(hash.out.trim(), first.reply()["stepHash"].as_str().unwrap());
    // The engine takes it up as if it had been there.
    let agent = format!("{} --model other", crate::site::AGENT);
    let exec = work.site.uwf(&["thread", "exec", &work.thread, "--agent", &agent]).ok().json();
    assert_eq!((&exec["status"], &exec["head"]), (&"end".into(), &first.reply()["stepHash"]));
    work.site.verify();
}

#[test]
fn what_was_decided_is_recorded_once_whatever_happened_after() {
    let work = Work::new(&play(&[command("echo x > x").as_str(), ANSWER]));
    let reply = work.run().ok().reply();
    let journal = work.journals().pop().unwrap();
    edit(&journal, unfinished);
    let nodes = work.site.home().join(".ocas/nodes");
    let count = || walk(&nodes);
    let before = count();
    assert_eq!(work.run().ok().reply(), reply, "the reply was lost, and is the same");
    assert_eq!(count(), before, "no node more");
    edit(&journal, |text| unfinished(unfinished(text)));
    let anew = work.run().ok().reply();
    assert_eq!(
        (&anew["frontmatter"], &anew["usage"]["turns"]),
        (&reply["frontmatter"], &reply["usage"]["turns"])
    );
    assert!(work.asked().values().all(|times| *times == 1));
    work.site.verify();
}

#[test]
fn a_record_that_is_gone_from_the_store_is_made_again() {
    let work = Work::new(&script());
    let reply = work.run().ok().reply();
    let step = reply["stepHash"].as_str().unwrap();
    let nodes = work.site.home().join(".ocas/nodes");
    let lost = crate::site::named(&nodes, step).unwrap();
    fs::remove_file(lost).unwrap();
    let anew = work.run().ok().reply();
    assert_eq!((&anew["body"], &anew["completedAtMs"]), (&reply["body"], &reply["completedAtMs"]));
    assert!(work.asked().values().all(|times| *times == 1));
    work.site.verify();
}

/// How many files there are.
fn walk(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn a_failed_visit_is_counted_once_and_the_next_one_is_a_new_attempt() {
    let work = Work::by_arrival(&play(&[PROSE, PROSE, PROSE, ANSWER]));
    let failed = work.run().ok().reply();
    assert_eq!(failed["isError"], true);
    edit(&work.journals()[0], unfinished);
    assert_eq!(work.run().ok().reply(), failed, "it died after the attempt was noted, and before it said so");
    let (vars, kept) = (work.site.home().join(".ocas/vars"), work.site.home().join("kept"));
    copy(&vars, &kept);
    let done = work.run().ok().reply();
    assert_eq!((&done["isError"], work.journals().len()), (&false.into(), 2), "a new attempt");
    let step = work.site.uwf(&["cas", "get", done["stepHash"].as_str().unwrap()]).ok().json();
    assert_eq!(step["payload"]["previousAttempts"], serde_json::json!([failed["stepHash"]]), "one, not two");
    // It died after the reply was journalled, and before the attempts were settled.
    copy(&kept, &vars);
    assert_eq!(work.run().ok().reply(), done);
    let fresh = Said::of(work.agent().arg("--fresh").output().unwrap()).code(0).reply();
    assert_eq!(fresh["isError"], true, "the script is over");
    let step = work.site.uwf(&["cas", "get", fresh["stepHash"].as_str().unwrap()]).ok().json();
    assert!(
        opening(&work, &step).contains("Work.") && !opening(&work, &step).contains("attempt"),
        "they are settled"
    );
    work.site.verify();
}

/// The opening of a step, as it was sent.
fn opening(work: &Work, step: &serde_json::Value) -> String {
    let hash = step["payload"]["assembledPrompt"].as_str().unwrap();
    work.site.uwf(&["cas", "get", hash]).ok().json()["payload"].as_str().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::remove_dir_all(to).ok();
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_torn_line_is_cut_off() {
    let work = Work::new(&one_command());
    cut_off(&work);
    edit(&work.journals()[0], |text| text + "{\"entry\":\"finished\",\"mess");
    assert_eq!(work.run().ok().reply()["usage"]["turns"], 2);
    assert_eq!(work.file("log"), "once\n");
    let finished = of_kind(&work.lines(), "finished").count();
    assert_eq!(finished, 1);
}

/// What happens to a journal's text.
type Damage = fn(String) -> String;

#[test]
fn a_journal_that_cannot_be_continued_is_told_of_and_kept() {
    let cases: [(&str, Damage); 3] = [
        ("it is of version 99 of the format", |text| text.replacen("\"version\":5", "\"version\":99", 1)),
        ("line 1 cannot be read", |text| format!("\u{0}garbage\n{text}")),
        ("line 2 cannot be read", |text| text.replacen('\n', "\n{\n", 1)),
    ];
    let mut work = Work::new(&one_command());
    for (words, damage) in cases {
        work.begin_anew();
        cut_off(&work);
        let journal = work.journals().pop().unwrap();
        edit(&journal, damage);
        let damaged = fs::read(&journal).unwrap();
        fs::remove_file(work.site.workspace().join("began")).unwrap();
        let mut child = work.begin();
        wait_for(|| work.site.workspace().join("began").exists());
        child.kill().unwrap();
        let said = Said::of(child.wait_with_output().unwrap());
        assert!(said.err.contains("warning: the journal ") && said.err.contains(words), "{}", said.err);
        assert!(said.err.contains("The run starts over"), "{}", said.err);
        assert_eq!(fs::read(&journal).unwrap(), damaged);
        assert_eq!((work.file("log"), work.journals().len()), ("once\n".repeat(2), 2));
    }
}

#[test]
fn journals_go_once_the_head_has_moved_on() {
    let mut work = Work::new(&play(&[command("touch began; sleep 1000").as_str(), ANSWER]));
    cut_off(&work);
    let exec = |work: &Work| work.site.uwf(&["thread", "exec", &work.thread]).ok().json();
    assert_eq!(exec(&work)["status"], "end");
    assert_eq!(journals(&work.site).len(), 1, "its head has moved, but nobody has looked");
    let outputs = work.journals()[0].with_extension("");
    fs::create_dir(&outputs).unwrap();
    fs::write(outputs.join("output-x.part"), "what a killed run could leave").unwrap();
    work.begin_anew();
    cut_off(&work);
    assert_eq!((journals(&work.site).len(), work.journals().len()), (1, 1), "the first is gone");
    assert!(!outputs.exists(), "with its outputs");
    assert_eq!(exec(&work)["status"], "end", "and the other goes on");
}

#[test]
fn the_full_output_of_an_earlier_command_is_still_there() {
    let output = format!(
        "{{ tool_calls: [{{ name: tool_output, arguments: {{ hash: {}, offset: 3000, limit: 2 }} }}] }}",
        super::SEQUENCE
    );
    let seq = command("seq 1 6000");
    let work = Work::new(&play(&[seq.as_str(), &command("touch began; sleep 1000"), &output, ANSWER]));
    cut_off(&work);
    work.run().ok();
    let lines = work.lines();
    let shown = of_kind(&lines, "finished").last().unwrap()["message"]["content"].as_str().unwrap();
    assert!(shown.starts_with("3000\t3000\n") || shown.contains("3000"), "{shown}");
    assert!(shown.contains("3001") && !shown.contains("there is no output"), "{shown}");
}

#[test]
fn what_cannot_be_recorded_is_recorded_by_the_next_run() {
    let work = Work::new(&play(&[&command("touch began; until [ -e go ]; do sleep 0.02; done"), ANSWER]));
    let (nodes, away) = (work.site.home().join(".ocas/nodes"), work.site.home().join(".ocas/away"));
    let events = work.site.write("events.jsonl", "");
    let mut agent = work.agent();
    agent.args(["--events", &events]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = agent.spawn().unwrap();
    wait_for(|| work.site.workspace().join("began").exists());
    fs::rename(&nodes, &away).unwrap();
    fs::write(work.site.workspace().join("go"), "").unwrap();
    Said::of(child.wait_with_output().unwrap())
        .fails(1, &["the run of worker is over but not recorded; its journal is", ".jsonl"]);
    let last = lines(&events.into()).pop().unwrap();
    assert_eq!((&last["event"], &last["status"]), (&"run.finished".into(), &"error".into()), "{last}");
    fs::rename(&away, &nodes).unwrap();
    assert_eq!(work.run().ok().reply()["frontmatter"]["files"], 1);
    assert_eq!(work.asked().values().copied().collect::<Vec<_>>(), [1, 1], "nothing is asked again");
    work.site.verify();
}

/// The agent was killed when a tool had written a file and the journal did not say so yet. A command before that, which
/// changed nothing, has not made it.
#[test]
fn what_a_call_left_that_was_cut_off_is_told_of_it() {
    let write = "{ tool_calls: [{ name: write_file, arguments: { path: made.txt, content: x } }] }";
    let sleep = command("touch began; sleep 1000");
    let work = Work::new(&play(&[command("true").as_str(), write, &sleep, ANSWER]));
    cut_off(&work);
    edit(&work.journals()[0], |text| {
        let (before, _) = text.rsplit_once("{\"entry\":\"finished\"").unwrap();
        before.to_owned()
    });
    fs::remove_file(work.site.workspace().join("began")).unwrap();
    let mut child = work.begin();
    wait_for(|| work.site.workspace().join("began").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let reply = work.run().ok().reply();
    let step = reply["stepHash"].as_str().unwrap();
    let told = work.site.uwf(&["step", "diff", step]).ok().out;
    let of = |path: &str| {
        let (before, _) = told.split_once(&format!("diff --git a/{path} ")).unwrap();
        before.rsplit("# ").next().unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(of("made.txt"), "changed by editing tools", "{told}");
    assert!(of("began").ends_with(": touch began; sleep 1000"), "{told}");
}

#[test]
fn a_thread_that_is_removed_leaves_none() {
    let work = Work::new(&one_command());
    cut_off(&work);
    assert_eq!(work.journals().len(), 1);
    work.site.uwf(&["thread", "rm", &work.thread]).ok();
    let sessions = work.site.home().join(".uwf/sessions");
    assert_eq!(fs::read_dir(sessions).unwrap().count(), 0, "nor the outputs beside them");
    work.run().fails(1, &[work.thread.as_str()]);
}
