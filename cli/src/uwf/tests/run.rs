//! `uwf run`, what is kept with a thread of what was typed, and where prompts come from.

use std::fs;

use serde_json::json;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, ThreadId};

/// An agent that makes the steps of a thread that has just begun: it is told which by its arguments.
fn agent(place: &Place, outputs: &[&str]) -> String {
    // The first run finds out which steps a thread of this task would have: their hashes depend on it alone.
    let thread = place.thread("A text, please.");
    let mut prev = None;
    let roles = ["writer", "checker"];
    let steps = outputs.iter().enumerate().map(|(at, output)| {
        let step = place.step(&thread, prev, roles[at % 2], &serde_json::from_str(output).unwrap());
        prev = Some(step);
        step.to_string()
    });
    let steps: Vec<String> = steps.collect();
    thread::remove(&place.store(), &thread).unwrap();
    place.agent(&steps)
}

fn only_thread(place: &Place) -> ThreadId {
    let threads: Vec<_> = thread::entries(&place.store()).map(|entry| entry.unwrap().thread).collect();
    assert_eq!(threads.len(), 1);
    threads[0]
}

#[test]
fn a_run_prints_its_last_answer_alone_and_tells_the_rest_on_stderr() {
    let place = Place::new();
    let agent = agent(&place, &[r#"{"$status": "checked"}"#, r#"{"$status": "fine"}"#]);
    let ran = place.uwf(&["run", "flow", "-p", "A text, please.", "--agent", &agent]);
    assert_eq!((ran.exit, ran.out.as_str()), (0, "$status: fine\n"), "{}", ran.err);
    let thread = only_thread(&place);
    assert!(ran.err.starts_with(&format!("thread {thread} of flow\nwriter → checked")), "{}", ran.err);
    assert!(ran.err.contains("\nend\n2 steps; what happened: uwf thread read "), "{}", ran.err);
}

#[test]
fn a_run_is_an_object_for_programs() {
    let place = Place::new();
    for form in [&["--json"][..], &["--format", "json"]] {
        let agent = agent(&place, &[r#"{"$status": "checked"}"#, r#"{"$status": "fine"}"#]);
        let args = [&["run", "flow", "-p", "A text, please.", "--agent", &agent][..], form].concat();
        let ran = place.uwf(&args);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
        let told = ran.json();
        assert_eq!((&told["status"], &told["output"]), (&json!("end"), &json!({"$status": "fine"})));
        assert_eq!(
            (&told["body"], &told["cost"], &told["usage"]),
            (&json!(null), &json!(null), &json!(null))
        );
        let roles: Vec<_> = told["steps"].as_array().unwrap().iter().map(|step| &step["role"]).collect();
        assert_eq!(roles, ["writer", "checker"]);
    }
    assert_eq!(place.uwf(&["run", "flow", "-p", "x", "--json", "--format", "yaml"]).exit, 2);
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let place = Place::new();
    fs::write(place.project().join("odd.yaml"), "turns: 3\n").unwrap();
    for (args, exit, words) in [
        (&["run", "flow"][..], 2, "no task is given\n  hint: say it with -p TEXT, or read it with -f FILE"),
        (&["run", "flow", "-p", " "], 1, "the task is empty"),
        (&["run", "flaw", "-p", "x"], 1, "no workflow `flaw`"),
        (&["run", "flow", "-p", "x", "--mock", "none.yaml"], 1, "cannot read the mock script none.yaml"),
        (&["run", "flow", "-p", "x", "--mock", "odd.yaml"], 1, "odd.yaml"),
        (
            &["run", "flow", "-p", "x", "--base-url", "https://me:hush@host"],
            1,
            "the base URL holds a password",
        ),
        (&["run", "flow", "-f", "none.md"], 1, "cannot read none.md"),
        (&["run", "flow", "-p", "x", "-f", "y"], 2, "cannot be used with"),
        (&["run", "flow", "-p", "x", "--cwd", "none"], 1, "cannot use the directory"),
    ] {
        let ran = place.uwf(args);
        assert!(ran.exit == exit && ran.err.contains(words), "{args:?}: {ran:?}");
        assert!(ran.out.is_empty() && !ran.err.contains("hush"), "{ran:?}");
    }
    assert_eq!(thread::entries(&place.store()).count(), 0);
}

#[test]
fn a_task_comes_from_a_file_or_from_stdin() {
    let place = Place::new();
    fs::write(place.project().join("task.md"), "# Fix\n\nthe parser\n\n").unwrap();
    let task = |args: &[&str], stdin: &str| {
        let ran = place.run(&[&["thread", "start", "-q", "flow"], args].concat(), stdin, false);
        assert_eq!((ran.exit, ran.err.as_str(), ran.out.len()), (0, "", 27), "{ran:?}");
        let thread: ThreadId = ran.out.trim().parse().unwrap();
        thread::head(&place.store(), &thread).unwrap().start(&place.store()).unwrap().prompt
    };
    assert_eq!(task(&["-f", "task.md"], ""), "# Fix\n\nthe parser");
    assert_eq!(task(&["-f", "-"], "from stdin\n"), "from stdin");
    assert_eq!(task(&["-p", "-"], "two\nlines"), "two\nlines");
    assert_eq!(task(&["-p", "- a list"], "not read"), "- a list");
    let started = place.uwf(&["thread", "start", "-q", "--format", "json", "flow", "-p", "x"]);
    assert!(started.json()["thread"].is_string(), "a format that was asked for wins");
}

#[test]
fn what_was_chosen_is_kept_shown_and_replaced() {
    let place = Place::new();
    let thread = place.flow_thread();
    let thread = thread.as_str();
    fs::write(place.project().join("script.yaml"), "roles: {}\n").unwrap();
    let again = place.step(&thread.parse().unwrap(), None, "writer", &json!({"$status": "again"}));
    let second = place.step(&thread.parse().unwrap(), Some(again), "writer", &json!({"$status": "again"}));
    let third = place.step(&thread.parse().unwrap(), Some(second), "writer", &json!({"$status": "again"}));
    let agent = place.agent(&[again.to_string(), second.to_string(), third.to_string()]);
    let options = || place.uwf(&["thread", "show", thread]).json()["options"].clone();
    assert_eq!(options(), json!(null));
    let chosen = [
        "--model",
        "m",
        "--max-cost",
        "0.5",
        "--sandbox",
        "off",
        "--tools",
        "grep,glob",
        "--mock",
        "script.yaml",
        "--mock-seed",
        "9007199254740991",
    ];
    let ran = place.uwf(&[&["thread", "exec", thread, "--agent", &agent], &chosen[..]].concat());
    assert_eq!(ran.exit, 0, "{ran:?}");
    let warned = "warning: the agent `sh` is not uwf-builtin: --mock, --mock-seed, --max-cost, --tools say nothing to it\n";
    assert_eq!(ran.err, warned);
    let words: Vec<&str> = agent.split(' ').collect();
    let script = place.project().canonicalize().unwrap().join("script.yaml");
    let expected = json!({
        "agent": {"command": words[0], "args": [words[1]]}, "model": "m", "maxCost": 0.5, "sandbox": "off",
        "tools": ["grep", "glob"], "mock": script, "mockSeed": 9_007_199_254_740_991_u64,
    });
    assert_eq!(options(), expected);
    let shown = place.on_terminal(&["thread", "show", thread]).out;
    let typed = format!("options    --agent '{agent}' --sandbox off --model m --mock ");
    assert!(shown.contains(&typed), "{shown}");
    // The agent that is kept plays, and what is typed takes the place of what is kept.
    assert_eq!(place.uwf(&["thread", "exec", thread, "--model", "n"]).exit, 0);
    assert_eq!((&options()["model"], &options()["maxCost"]), (&json!("n"), &json!(0.5)));
    let reset = place.uwf(&["thread", "exec", thread, "--reset-options", "--agent", &agent, "--model", "o"]);
    assert_eq!((reset.exit, reset.err.as_str()), (0, ""));
    assert_eq!(options(), json!({"agent": expected["agent"], "model": "o"}));
    // A fork has them, too; an agent whose words hold a secret is not kept.
    let fork = place.uwf(&["step", "fork", "-q", third.as_str()]).out;
    assert_eq!(place.uwf(&["thread", "show", fork.trim()]).json()["options"]["model"], "o");
    let secret = format!("{agent} --api-key sk-hush");
    let told = place.uwf(&["thread", "exec", fork.trim(), "--reset-options", "--agent", &secret]);
    assert!(told.err.contains("seems to hold a secret"), "{told:?}");
    assert_eq!(place.uwf(&["thread", "show", fork.trim()]).json()["options"], json!(null));
}

#[test]
fn a_thread_that_is_imported_names_no_program_of_its_own() {
    let (here, there) = (Place::new(), Place::new());
    let thread = here.flow_thread();
    let step = here.step(&thread, None, "writer", &json!({"$status": "again"}));
    let agent = here.agent(&[step.to_string()]);
    let args = [
        "thread",
        "exec",
        thread.as_str(),
        "--agent",
        &agent,
        "--model",
        "m",
        "--sandbox",
        "off",
        "--max-rounds",
        "9",
    ];
    assert_eq!(here.uwf(&args).exit, 0);
    let file = here.uwf(&["thread", "export", thread.as_str()]).out;
    let imported = there.run(&["thread", "import", "-"], &file, false);
    assert_eq!(imported.exit, 0, "{imported:?}");
    assert!(imported.err.contains("warning: not taken over: agent, model, sandbox"), "{imported:?}");
    let options = there.uwf(&["thread", "show", thread.as_str()]).json()["options"].clone();
    assert_eq!(options, json!({"maxRounds": 9}));
}
