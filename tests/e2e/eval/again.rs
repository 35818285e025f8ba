//! What is judged again, taken from another evaluation, or told of one: it is what was run, as a whole.

use super::*;

/// A task whose model runs this command, and says that it is done.
fn task_that_runs(site: &Site, name: &str, command: &str) {
    eval(site, &["init", name]).ok();
    let call = serde_json::json!({"name": "run_command", "arguments": {"command": command}});
    let answer = "---\\n$status: mended\\nfile: double.sh\\n---\\nDone.";
    let mock = format!("turns:\n  - {{ tool_calls: [{call}] }}\n  - {{ content: \"{answer}\" }}\n");
    fs::write(site.workspace().join(name).join("mock.yaml"), mock).unwrap();
}

fn case(site: &Site, name: &str) -> Value {
    eval(site, &["show", name]).ok().json()["cases"][0].clone()
}

/// The task has this judge alone.
fn judged(site: &Site, name: &str, judges: &str) {
    let file = site.workspace().join(name).join("task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let (start, _) = text.split_once("judges:").unwrap();
    fs::write(&file, format!("{start}judges:\n{judges}")).unwrap();
}

#[test]
fn a_workspace_with_links_to_anywhere_git_and_sockets_is_judged_and_taken_as_it_is() {
    let site = Site::new();
    let made = "ln -s /usr/bin/env python && mkfifo pipe && mkdir -p node_modules/m .git/refs && echo x > node_modules/m/x \
                && echo 'ref: refs/heads/main' > .git/HEAD && printf 'made\\n' > .gitignore && mkdir made && echo 1 > made/out";
    task_that_runs(&site, "venv", made);
    let look =
        "test -L python && test -d .git/refs && grep -q main .git/HEAD && cat node_modules/m/x made/out";
    judged(&site, "venv", &format!("  - {{ name: tests, builtin: true, command: \"{look}\" }}\n"));
    eval(&site, &["run", "venv", "--offline", "--name", "one"]).ok();
    let first = case(&site, "one");
    assert_eq!(first["score"].as_f64(), Some(1.0), "{first}");
    // The same of the thread that another evaluation takes, and of what is judged again, though no workspace is left.
    assert!(!workspaces(&site).join("one").exists());
    eval(&site, &["run", "venv", "--offline", "--name", "two"]).ok();
    let second = case(&site, "two");
    assert_eq!((second["cached"].as_bool(), second["score"].as_f64()), (Some(true), Some(1.0)), "{second}");
    eval(&site, &["judge", "one", "--all", "--min", "1"]).ok();
    site.verify();
}

#[test]
fn what_was_judged_before_an_interruption_stays_judged() {
    let site = Site::new();
    let slow = "#!/bin/sh\n[ -e \"$(dirname \"$0\")/../slow\" ] && sleep 1\necho '{\"score\": 1}'\n";
    let task = judged_by(&site, "slowly", slow, "");
    eval(&site, &["run", &task, "--offline", "--name", "n", "--count", "5"]).ok();
    // The task has another judge now: by default all that were judged by another one are judged.
    fs::write(site.workspace().join("slowly/slow"), "").unwrap();
    let mut child = command(&site, &["judge", "n", "-j", "1"]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    sleep(Duration::from_millis(3500));
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = eval(&site, &["judge", "n", "-j", "1"]).ok();
    let judged = rest.err.matches("slowly/").count();
    assert!((1..5).contains(&judged), "{}", rest.err);
    let again = eval(&site, &["judge", "n"]).ok();
    assert!(again.err.contains("no case was judged"), "{}", again.err);
    site.verify();
}

#[test]
fn nobody_is_judged_by_a_task_that_asks_for_something_else() {
    let site = Site::new();
    double(&site);
    eval(&site, &["run", "double", "--offline", "--name", "n"]).ok();
    let before = eval(&site, &["show", "n"]).ok().out;
    let file = site.workspace().join("double/fixture/double.sh");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}# More.\n")).unwrap();
    let other = eval(&site, &["judge", "n", "--all"]);
    let expected = "error: task double has another fixture than the threads that would be judged by it\n";
    assert!(other.code == 1 && other.err.contains(expected), "{}", other.err);
    fs::write(&file, text).unwrap();
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("prints 7", "prints 8")).unwrap();
    let other = eval(&site, &["judge", "n"]);
    assert!(other.code == 1 && other.err.contains("has another prompt than"), "{}", other.err);
    assert_eq!(eval(&site, &["show", "n"]).ok().out, before);
}

#[test]
fn a_setting_that_is_not_typed_makes_another_sample_and_is_told() {
    let site = Site::new();
    double(&site);
    let args = ["run", "double", "--offline", "--name"];
    eval(&site, &[&args[..], &["one"]].concat()).ok();
    fs::create_dir_all(site.home().join(".uwf/agents")).unwrap();
    fs::write(site.home().join(".uwf/agents/builtin.yaml"), "budget: { turns: 7 }\n").unwrap();
    let ran = eval(&site, &[&args[..], &["two"]].concat()).ok().json();
    assert_eq!(ran["cached"].as_u64(), Some(0), "{ran}");
    let differ = eval(&site, &["diff", "one", "two"]).json();
    let differs = differ["differs"].as_array().unwrap();
    assert!(differs.iter().any(|row| row["what"] == "configuration"), "{differ}");
    let other = eval(&site, &["run", "--resume", "one"]);
    assert!(
        other.code == 1 && other.err.contains("was begun with another") && other.err.contains("budget.turns"),
        "{}",
        other.err
    );
}

#[test]
fn judges_run_at_the_level_that_is_configured_and_a_sandbox_that_fails_is_no_low_score() {
    let site = Site::new();
    let sees = "#!/bin/sh\n[ -n \"$(ls -A \"$HOME/.ocas\" 2>/dev/null)\" ] && echo '{\"score\": 1}' || echo '{\"score\": 0}'\n";
    let task = judged_by(&site, "sees", sees, "");
    let tests = "  - { name: tests, weight: 0.5, builtin: true, command: 'true' }\n";
    let file = site.workspace().join("sees/task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + tests).unwrap();
    eval(&site, &["run", &task, "--offline", "--name", "n"]).ok();
    let scores = |site: &Site| case(site, "n")["judges"].clone();
    assert_eq!(scores(&site)[0]["score"].as_f64(), Some(0.0), "a strict sandbox is the usual one");
    let off = Said::of(
        command(&site, &["judge", "n", "--all"]).env("UWF_BUILTIN_SANDBOX", "off").output().unwrap(),
    );
    assert_eq!((off.code, scores(&site)[0]["score"].as_f64()), (0, Some(1.0)), "{}", off.err);
    // There is nowhere to make the sandbox in.
    let none = Said::of(command(&site, &["judge", "n", "--all"]).env("TMPDIR", "/no/such").output().unwrap());
    assert_eq!(none.code, 3, "{}", none.err);
    for judge in scores(&site).as_array().unwrap() {
        let error = judge["error"].as_str().unwrap();
        assert!(judge["score"].is_null() && error.starts_with("it cannot be confined"), "{judge}");
    }
    let asked = site.uwf(&["run-confined", "{", "true"]);
    assert!(asked.code == 125 && asked.err.contains("does not read"), "{}", asked.err);
}

#[test]
fn a_signal_is_heard_while_a_model_judges_or_a_script_never_pauses() {
    let site = Site::new();
    double(&site);
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let asked = "  - { name: asked, model: judge, rubric: Is it small?, weight: 1, votes: 3 }\n";
    fs::write(&file, text + asked).unwrap();
    let mock = site.write("judge.yaml", "turns: [{ delay_ms: 120000, content: late }]\n");
    ends_by_a_signal(&site, &["run", "double", "--offline", "--judge-mock", &mock]);
    fs::remove_dir_all(site.workspace().join("double")).unwrap();
    let task = judged_by(&site, "floods", "#!/bin/sh\nyes >&2\n", ", timeoutSeconds: 120");
    ends_by_a_signal(&site, &["run", &task, "--offline"]);
}

fn ends_by_a_signal(site: &Site, args: &[&str]) {
    let child = command(site, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(3));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let begun = Instant::now();
    let said = Said::of(child.wait_with_output().unwrap());
    assert!(said.code == 143 && begun.elapsed() < Duration::from_secs(20), "{}", said.err);
}

#[test]
fn a_workspace_that_nobody_can_copy_or_keep_is_the_trouble_of_its_case_alone() {
    let site = Site::new();
    for (levels, outcome, why) in
        [(140, "unscored", "no score of tests"), (300, "error", "the workspace cannot be kept: ")]
    {
        let name = format!("deep-{levels}");
        let made =
            format!("i=0; while [ $i -lt {levels} ]; do mkdir d && cd d || exit 1; i=$((i + 1)); done");
        task_that_runs(&site, &name, &made);
        judged(&site, &name, "  - { name: tests, builtin: true, command: 'true' }\n");
        let ran = eval(&site, &["run", &name, "--offline", "--count", "2", "--name", &name]);
        assert_eq!(ran.code, 3, "{}", ran.err);
        for case in eval(&site, &["show", &name]).ok().json()["cases"].as_array().unwrap() {
            let reason = case["reason"].as_str().unwrap();
            assert!(case["outcome"] == outcome && reason.contains(why), "{case}");
        }
    }
    site.verify();
}

#[test]
fn tests_that_a_workflow_has_removed_fail_and_those_that_were_never_there_say_nothing() {
    let site = Site::new();
    task_that_runs(&site, "removes", "rm test.sh");
    let tests = |command: &str| format!("  - {{ name: tests, builtin: true, command: '{command}' }}\n");
    judged(&site, "removes", &tests("sh test.sh"));
    eval(&site, &["run", "removes", "--offline", "--name", "n"]).ok();
    let scored = |site: &Site| {
        let case = case(site, "n");
        (case["outcome"].as_str().unwrap().to_owned(), case["score"].as_f64())
    };
    assert_eq!(scored(&site), ("scored".to_owned(), Some(0.0)));
    judged(&site, "removes", &tests("./test.sh || exec no-such-program"));
    let none = eval(&site, &["judge", "n"]);
    assert_eq!((none.code, scored(&site)), (3, ("unscored".to_owned(), None)), "{}", none.err);
    judged(&site, "removes", &tests("kill -9 $$"));
    for sandbox in ["strict", "off"] {
        let judge = ["judge", "n", "--all"];
        let ran = command(&site, &judge).env("UWF_BUILTIN_SANDBOX", sandbox).output().unwrap();
        assert_eq!((Said::of(ran).code, scored(&site)), (0, ("scored".to_owned(), Some(0.0))), "{sandbox}");
    }
}

#[test]
fn who_cannot_judge_all_again_does_not_say_that_these_judges_did() {
    let site = Site::new();
    let key = "sk-123456789";
    task_that_runs(&site, "leaks", &format!("echo {key} > left"));
    judged(&site, "leaks", "  - { name: tests, builtin: true, command: 'true' }\n");
    let ran = command(&site, &["run", "leaks", "--offline", "--name", "n"]).env("MY_API_KEY", key).output();
    Said::of(ran.unwrap()).ok();
    let known = |site: &Site| eval(site, &["report", "n"]).ok().json()["tasks"][0]["hash"].clone();
    let before = known(&site);
    judged(&site, "leaks", "  - { name: tests, builtin: true, command: 'false' }\n");
    let kept = eval(&site, &["judge", "n"]);
    assert_eq!(kept.code, 3, "{}", kept.err);
    assert!(kept.err.contains("error: no result: 1 of 1 cases cannot be judged again\n"), "{}", kept.err);
    assert_eq!((known(&site), case(&site, "n")["score"].as_f64()), (before, Some(1.0)));
}
