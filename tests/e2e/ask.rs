//! Questions about finished steps, and what they leave as it was.

use std::fs;

use serde_json::Value;

use crate::rounds::{says, start};
use crate::site::{AGENT, Site, example};
use crate::thread::TASK;

/// Every file of the store and of the workspace, with its content; the index of a database that was read may grow.
fn everything(site: &Site) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut dirs = vec![site.home().join(".ocas/nodes"), site.home().join(".ocas/_index"), site.workspace()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => files.push((path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    files.sort();
    files
}

/// The solved example, and its first developer's step.
fn solved() -> (Site, String, String) {
    let site = Site::new();
    site.project("solve-issue/project");
    let thread = site.start(&example("solve-issue/workflow.yaml"), TASK);
    let agent = format!("{AGENT} --mock {}", example("solve-issue/mock.yaml"));
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).ok();
    let steps = site.uwf(&["step", "list", &thread]).ok().json();
    let step = steps["steps"][2]["hash"].as_str().unwrap().to_owned();
    (site, thread, step)
}

const SCRIPT: &str = "\
roles:
  ask:
    - turns:
        - expect: { last_contains: Why three?, lacks: Because the task, tools: [read_file, list_dir, grep, glob, tool_output] }
          tool_calls:
            - { name: read_file, arguments: { path: add.sh } }
            - { name: write_file, arguments: { path: add.sh, content: gone } }
            - { name: run_command, arguments: { command: rm add.sh } }
        - content: Because the task says three.
    - turns:
        - expect: { last_contains: And four?, contains: Because the task says three. }
          content: That came later.
";

#[test]
fn a_step_answers_from_its_record_and_nothing_changes() {
    let (site, thread, step) = solved();
    let before = everything(&site);
    let shown = site.uwf(&["thread", "show", &thread]).ok().json();
    let agent = format!("{AGENT} --mock {}", site.write("ask.yaml", SCRIPT));
    let ask = |words: &[&str]| site.uwf(&[&["step", "ask", &step, "--agent", &agent], words].concat());

    let first = ask(&["-p", "Why three?"]).ok();
    assert_eq!(first.out, "Because the task says three.\n");
    let second = ask(&["-p", "And four?", "--format", "json"]).ok().json();
    assert_eq!(second["answer"], "That came later.");
    let session = second["session"].as_str().unwrap();
    let dir = site.home().join(".uwf/cache/asks").join(session);
    let journals = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let first_question = journals.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).min();
    let journal = fs::read_to_string(first_question.unwrap()).unwrap();
    assert_eq!(
        journal.matches("\"is_error\":true").count() + journal.matches("\"isError\":true").count(),
        2,
        "{journal}"
    );

    let again = site.uwf(&["replay", "--asked", &step]).ok();
    let told = |question: &str, requests: &str| {
        format!("{step}, \"{question}\": {requests} the same, byte for byte")
    };
    for told in [told("Why three?", "2 requests are"), told("And four?", "1 request is")] {
        assert!(again.out.contains(&told), "{}", again.out);
    }
    assert_eq!(site.agent(&["replay", "--asked", &step]).ok().out, again.out);
    let earlier = site.uwf(&["step", "list", &thread]).ok().json();
    let earlier = earlier["steps"][1]["hash"].as_str().unwrap().to_owned();
    site.uwf(&["replay", "--asked", &earlier]).fails(1, &["no question", "uwf step ask", "-p TEXT"]);

    // Another session does not know the first question, and the step's own remembers none.
    assert_eq!(ask(&["-p", "Why three?", "--fresh"]).ok().out, first.out);
    assert_eq!(ask(&["-p", "Why three?", "--no-fork"]).ok().out, first.out);
    assert_eq!(ask(&["-p", "Why three?", "--no-fork"]).ok().out, first.out);
    assert_eq!(fs::read_dir(site.home().join(".uwf/cache/asks")).unwrap().count(), 2);

    assert_eq!(everything(&site), before);
    assert_eq!(site.uwf(&["thread", "show", &thread]).ok().json(), shown);
    site.verify();
}

#[test]
fn the_conversation_of_the_step_is_what_the_model_sees() {
    let (site, _, step) = solved();
    let expect = "turns:\n  - content: Seen.\n    expect: { contains: [Loop over all arguments, Added `$3`], last_contains: Well? }\n";
    let agent = format!("{AGENT} --mock {}", site.write("ask.yaml", expect));
    assert_eq!(site.uwf(&["step", "ask", &step, "-p", "Well?", "--agent", &agent]).ok().out, "Seen.\n");
}

#[test]
fn the_protocol_by_hand() {
    let (site, _, step) = solved();
    let node = site.uwf(&["cas", "get", &step]).ok().json();
    let detail = node["payload"]["detail"].as_str().unwrap();
    let record = site.uwf(&["cas", "get", detail]).ok().json();
    let own = record["payload"]["sessionId"].as_str().unwrap();
    let fork = site.agent(&["--mode", "fork", "--session", own]).ok().out;
    assert_eq!((fork.lines().count(), fork.trim().len()), (1, 26));
    let mock = site.write("m.yaml", "turns: [{ content: \"  Plain\\n\\ntext.\\n\" }]\n");
    let ask = |session: &[&str]| {
        let args = ["--mode", "ask", "--prompt", "- why?", "--detail", detail, "--mock", &mock];
        site.agent(&[&args, session].concat())
    };
    for session in [&[][..], &["--session", own], &["--session", fork.trim()]] {
        assert_eq!(ask(session).ok().out, "Plain\n\ntext.\n");
    }
    ask(&["--session", "../asks"]).fails(1, &["no session ../asks", "hint: "]);
    let foreign = site.agent(&["--mode", "fork", "--session", "another"]).ok().out;
    ask(&["--session", foreign.trim()]).fails(1, &["no session"]);
    for args in [
        &["--mode", "ask", "--prompt", "x"][..],
        &["--mode", "fork"],
        &["--session", "s"],
        &["--mode", "ask", "--detail", detail, "--prompt", " "],
        &["--mode", "ask", "--thread", "01KAZZZZZZZZZZZZZZZZZZZZZZ", "--detail", detail],
    ] {
        site.agent(args).code(2);
    }
    let text = site.write("text.json", "\"text\"");
    let text = site.uwf(&["cas", "put", "--type", "string", &text]).ok().out;
    let args = ["--mode", "ask", "--prompt", "x", "--detail", text.trim(), "--mock", &mock];
    site.agent(&args).fails(1, &["is no record of uwf-builtin"]);
}

#[test]
fn a_step_shows_what_it_changed() {
    let (site, solved, step) = solved();
    let shown = site.uwf(&["step", "diff", &step]).ok();
    assert_eq!(shown.err, "");
    let patch = shown.out;
    assert!(patch.starts_with("diff --git a/add.sh b/add.sh\nindex "), "{patch}");
    assert!(patch.contains(" 100644\n--- a/add.sh\n+++ b/add.sh\n@@ "), "{patch}");
    assert!(patch.contains("\n-for n in \"$1\" \"$2\"; do\n+for n in \"$1\" \"$2\" \"$3\"; do\n"), "{patch}");
    let steps = site.uwf(&["step", "list", &solved]).ok().json();
    let tested = site.uwf(&["step", "diff", steps["steps"][4]["hash"].as_str().unwrap()]).ok();
    assert_eq!(tested.err, "", "its commands are known to have changed nothing");
    assert!(
        tested.out.contains("+for n in \"$@\"; do\n") && !tested.out.contains("# changed by"),
        "{}",
        tested.out
    );
    let value = site.uwf(&["step", "diff", &step, "--format", "json"]).ok().json();
    assert_eq!(
        (&value["step"], &value["changes"][0]["path"]),
        (&Value::from(step.as_str()), &Value::from("add.sh"))
    );
    // A patch is a patch.
    let file = site.write("step.patch", &patch);
    let check = site.command("git").args(["apply", "--check", "-R", "--recount", &file]).output().unwrap();
    let later = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(!later.contains("corrupt patch"), "{later}");

    let thread = start(&site);
    let said = site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, "$status: more")]).ok().json();
    let none = site.uwf(&["-v", "step", "diff", said["head"].as_str().unwrap()]).ok();
    assert_eq!((none.out.as_str(), none.err.as_str()), ("", "the step changed no file\n"));
}

#[test]
fn the_older_names_still_work() {
    let (site, thread, step) = solved();
    let same = |one: &[&str], other: &[&str]| assert_eq!(site.uwf(one).ok().out, site.uwf(other).ok().out);
    same(&["thread", "steps", &thread], &["step", "list", &thread]);
    same(&["thread", "step-details", &step], &["step", "show", &step]);
    let forked = site.uwf(&["thread", "fork", &step]).ok().json();
    assert_eq!(forked["forkedFrom"]["step"], step.as_str());
    let forked = forked["thread"].as_str().unwrap();
    assert_eq!(site.uwf(&["thread", "show", forked]).ok().json()["currentRole"], "reviewer");
    let killed = site.uwf(&["thread", "kill", forked]).ok().json();
    assert_eq!(killed["cancelled"], true);
    // A fork from where a thread stands.
    let forked = site.uwf(&["thread", "fork", &thread]).ok().json();
    assert_eq!(forked["forkedFrom"]["step"], site.uwf(&["thread", "show", &thread]).ok().json()["head"]);
}
