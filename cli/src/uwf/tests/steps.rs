//! `thread start`, `exec`, `resume`: what is printed and how the program exits.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use uwf_store::Hash;

use super::command_line::CommandLine;
use uwf_engine::fixture::{Place, reply};
use uwf_engine::spawn::StopSignal;
use uwf_engine::thread::{self, Status, failed_attempts, head};

#[test]
fn start_prints_workflow_and_thread_and_takes_any_text() {
    let place = Place::new();
    for task in ["- fix", "-1", "--- a", "--cwd"] {
        let ran = place.uwf(&["thread", "start", "flow", "-p", task, "--cwd", ".workflows"]);
        assert_eq!(ran.exit, 0, "{ran:?}");
        let thread = ran.json()["thread"].as_str().unwrap().parse().unwrap();
        let start = head(&place.store(), &thread).unwrap().start(&place.store()).unwrap();
        assert_eq!(start.prompt, task);
        assert!(start.cwd.ends_with("project/.workflows"));
        assert_eq!(ran.json()["workflow"], json!(start.workflow));
    }
    let text = place.on_terminal(&["thread", "start", "flow", "-p", "x"]);
    assert_eq!(text.out.trim().len(), 26);
}

#[test]
fn start_refuses_what_cannot_work() {
    let place = Place::new();
    let blank = place.uwf(&["thread", "start", "flow", "-p", "  "]);
    assert_eq!((blank.exit, blank.out.as_str()), (1, ""));
    assert!(blank.err.starts_with("error: the task is empty\n  hint: "));
    let nowhere = place.uwf(&["thread", "start", "flow", "-p", "x", "--cwd", "no/where"]);
    assert!(nowhere.err.contains("project/no/where\n  caused by: No such file"), "{}", nowhere.err);
    let unknown = place.uwf(&["thread", "start", "flaw", "-p", "x"]);
    assert!(unknown.err.starts_with("error: no workflow `flaw`\n  hint: "), "{}", unknown.err);
}

#[test]
fn one_step_is_one_object_in_the_documented_shape() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let agent = place.agent(&[step.to_string()]);
    let ran = place.uwf(&["thread", "exec", &thread.to_string(), "--agent", &agent]);
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    let workflow = place.uwf(&["thread", "show", thread.as_str()]).json()["workflow"].clone();
    let expected = json!({
        "workflow": workflow, "thread": thread, "head": step, "status": "idle", "currentRole": "checker",
        "suspendedRole": null, "suspendMessage": null, "done": false, "background": null, "error": null, "hint": null,
    });
    assert_eq!(ran.json(), expected);
}

/// Other engines store no state for a fork of a step that asks, nor for one that was poked.
#[test]
fn a_thread_whose_last_step_asks_is_suspended_though_nothing_says_so() {
    for output in [json!({"$status": "$SUSPEND", "reason": "What now?"}), json!({"$status": "waits"})] {
        let place = Place::new();
        let (store, thread) = (place.store(), place.flow_thread());
        let fresh = place.flow_thread();
        let start = head(&store, &thread).unwrap().hash;
        let asks = place.step(&thread, None, "writer", &output);
        thread::advance(&store, &thread, &start, &asks, &Status::Idle).unwrap();
        let uwf = |args: &[&str]| place.uwf(&[&["thread"], args, &[thread.as_str()]].concat());

        let shown = uwf(&["show"]).json();
        for (field, expected) in
            [("status", "suspended"), ("suspendedRole", "writer"), ("suspendMessage", "What now?")]
        {
            assert_eq!(shown[field], expected, "{shown}");
        }
        let listed = |args: &[&str]| {
            let rows = place.uwf(&[&["thread", "list"], args].concat()).json();
            let told = |row: &Value| format!("{} {}", row["thread"], row["status"]).replace('"', "");
            rows.as_array().unwrap().iter().map(told).collect::<Vec<_>>()
        };
        let [idle, suspended] = [format!("{fresh} idle"), format!("{thread} suspended")];
        assert_eq!(listed(&[]), [idle.as_str()]);
        assert_eq!(listed(&["--status", "suspended"]), [suspended.as_str()]);
        assert_eq!(listed(&["--status", "suspended", "--skip", "1"]), [""; 0]);
        let mut all = listed(&["--all"]);
        all.sort();
        let mut both = [idle, suspended];
        both.sort();
        assert_eq!(all, both);
        assert!(uwf(&["read"]).out.contains("**Suspended:** writer asks:\n\n> What now?"));
        assert!(
            place.uwf(&["workflow", "graph", "--thread", thread.as_str()]).out.contains("class n2 current")
        );

        for how in [&["exec"][..], &["exec", "--background"]] {
            let told = uwf(&[how, &["--agent", "/no/such/agent"]].concat());
            assert_eq!((told.exit, told.json()["status"].as_str()), (10, Some("suspended")), "{told:?}");
        }
        let next = place.step(&thread, Some(asks), "writer", &json!({"$status": "done"}));
        let agent = place.agent(&[next.to_string()]);
        let resumed = place.uwf(&["thread", "resume", thread.as_str(), "-p", "This.", "--agent", &agent]);
        assert_eq!((resumed.exit, resumed.json()["status"].as_str()), (0, Some("end")), "{resumed:?}");
        assert!(place.calls().join("\n").ends_with("--role writer --prompt What now?\n\nThis."));
    }
}

#[test]
fn programs_read_both_streams_as_one() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let talks = |end: &str| {
        place.script(&format!(
            "echo 'turn 1' >&2; printf 'warning: no sandbox\\n  hint: none\\nturn 2' >&2; {end}"
        ))
    };
    let exec = |options: &[&str], agent: &str| {
        place.uwf(&[options, &["thread", "exec", thread.as_str(), "--agent", agent]].concat())
    };
    let next = place.step(&thread, Some(step), "writer", &json!({"$status": "again"}));
    let makes = |step: Hash| place.script(&format!("echo 'turn 1' >&2; echo {step}"));
    let dies = talks("exit 7");
    let broken = exec(&[], &dies);
    let (warned, failed) = broken.err.split_once("error: ").unwrap();
    assert_eq!((broken.exit, warned), (1, "warning: no sandbox\n  hint: none\n"));
    assert!(failed.contains("; its last words:\n    turn 1\n    turn 2\n"), "{failed}");
    let broken = exec(&["-v"], &dies).err;
    assert!(broken.contains("turn 1\nwarning: no sandbox\n") && !broken.contains("last words"), "{broken}");
    let broken = exec(&["-q"], &dies).err;
    assert!(broken.starts_with("error: ") && broken.contains("warning: no sandbox\n"), "{broken}");

    let ran = exec(&["-v"], &makes(step));
    assert!(ran.exit == 0 && ran.err.ends_with("turn 1\n"), "{}", ran.err);
    let ran = exec(&[], &makes(next));
    assert_eq!((ran.exit, ran.err.as_str(), ran.json()["head"].as_str()), (0, "", Some(next.as_str())));
}

#[test]
fn a_suspended_thread_exits_10_and_resume_answers_it() {
    let place = Place::new();
    let thread = place.flow_thread();
    let asks = place.step(&thread, None, "writer", &json!({"$status": "$SUSPEND", "reason": "Which one?"}));
    let done = place.step(&thread, Some(asks), "writer", &json!({"$status": "done"}));
    let agent = place.agent(&[asks.to_string(), done.to_string()]);
    let first = place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent, "--until-end"]);
    assert_eq!(first.exit, 10);
    let told = &first.json()[0];
    assert_eq!(
        (told["suspendedRole"].as_str(), told["suspendMessage"].as_str()),
        (Some("writer"), Some("Which one?"))
    );
    let again = place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]);
    assert_eq!((again.exit, place.calls().len()), (10, 1));
    assert!(again.json()["hint"].as_str().unwrap().contains("uwf thread resume"));
    let resumed = place.uwf(&["thread", "resume", thread.as_str(), "-p", "- the first", "--agent", &agent]);
    assert_eq!((resumed.exit, resumed.json()["status"].as_str()), (0, Some("end")));
    assert!(place.calls().join("\n").ends_with("Which one?\n\n- the first"));
}

#[test]
fn a_failed_step_exits_3_and_stops_the_run() {
    let place = Place::new();
    let thread = place.flow_thread();
    let failed = place.step(&thread, None, "writer", &json!({"$status": "error", "error": "no fence"}));
    let agent = place.agent(&[reply(&failed, "writer", Some("no fence")), "unused".into()]);
    let ran = place.uwf(&["thread", "step", thread.as_str(), "-c", "5", "--agent", &agent]);
    assert_eq!((ran.exit, place.calls().len()), (3, 1));
    assert_eq!(ran.json().as_array().unwrap().len(), 1);
    let error = json!({"stepHash": failed, "message": "no fence"});
    assert_eq!((&ran.json()[0]["error"], &ran.json()[0]["status"]), (&error, &json!("idle")));
    assert!(ran.json()[0]["hint"].as_str().unwrap().contains(failed.as_str()));
    // Whoever looks later is told, too.
    let shown = place.uwf(&["thread", "show", thread.as_str()]).json();
    assert_eq!((&shown["status"], &shown["error"]), (&json!("idle"), &error));
    assert!(shown["hint"].as_str().unwrap().contains(failed.as_str()));
    let text = place.uwf(&["thread", "show", thread.as_str(), "--format", "text"]).out;
    assert!(text.contains("failed     no fence\n"), "{text}");
    let listed = place.uwf(&["step", "list", thread.as_str()]).json();
    assert_eq!(
        (listed["steps"].as_array().unwrap().len(), &listed["failed"][0]["hash"]),
        (1, &json!(failed))
    );
    let text = place.uwf(&["step", "list", thread.as_str(), "--format", "text"]).out;
    assert!(text.contains(failed.as_str()) && text.contains("error"), "{text}");
    // The agent has not listed it; whoever collects finds it all the same, until the role succeeds.
    let attempts = || failed_attempts(&place.store(), &thread, "writer").unwrap();
    assert_eq!(attempts(), [failed]);
    let good = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let agent = place.agent(&[reply(&good, "writer", None)]);
    let ran = place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]);
    assert_eq!((ran.exit, attempts()), (0, vec![]), "{}", ran.err);
}

#[test]
fn what_came_of_steps_can_be_left_out_of_the_exit_status() {
    let place = Place::new();
    let thread = place.flow_thread();
    let error = json!({"$status": "error", "error": "no fence"});
    let asks = place.step(&thread, None, "writer", &json!({"$status": "$SUSPEND", "reason": "Which?"}));
    let failed = place.step(&thread, Some(asks), "writer", &error);
    let failed = reply(&failed, "writer", Some("no fence"));
    let agent = place.agent(&[asks.to_string(), failed, "no reply".into()]);
    fs::create_dir_all(place.homes().uwf).unwrap();
    fs::write(place.homes().uwf.join(".env"), "UWF_EXIT=0\n").unwrap();
    let run = |verb: &[&str]| {
        let ran = place.uwf(&[&["thread"], verb, &[thread.as_str(), "--agent", &agent]].concat());
        let told = if ran.out.is_empty() { Default::default() } else { ran.json() };
        (ran.exit, told["status"].clone(), told["error"]["message"].clone())
    };
    assert_eq!(run(&["exec"]), (0, json!("suspended"), json!(null)));
    assert_eq!(run(&["resume", "-p", "x"]), (0, json!("suspended"), json!("no fence")));
    assert_eq!(run(&["resume", "-p", "x"]).0, 1, "that there is no step stays an error");
    fs::write(place.homes().uwf.join(".env"), "UWF_EXIT=1\n").unwrap();
    assert_eq!(run(&["exec"]), (10, json!("suspended"), json!(null)), "only 0 asks for it");
}

#[test]
fn a_run_stops_after_its_limit_and_prints_what_was_done_before_an_error() {
    let place = Place::new();
    let thread = place.flow_thread();
    let again = json!({"$status": "again"});
    let first = place.step(&thread, None, "writer", &again);
    let second = place.step(&thread, Some(first), "writer", &again);
    let agent = place.agent(&[first.to_string(), second.to_string(), "no reply".into()]);
    let limited = place.uwf(&[
        "-v",
        "thread",
        "exec",
        thread.as_str(),
        "--until-end",
        "--max-steps",
        "1",
        "--agent",
        &agent,
    ]);
    let stopped = format!(
        "\nwarning: stopped after 1 step, as --max-steps says; the thread has not ended\n  hint: go on with: uwf thread exec \
         {thread} --until-end --max-steps 1\n"
    );
    assert_eq!((limited.exit, limited.err.ends_with(&stopped)), (0, true), "{}", limited.err);
    let broken = place.uwf(&["thread", "exec", thread.as_str(), "-c", "3", "--agent", &agent]);
    assert_eq!((broken.exit, broken.json()[0]["head"].as_str()), (1, Some(second.as_str())));
    assert!(
        broken
            .err
            .starts_with("error: the agent `sh` gave no reply: it ended with exit status 0\n  caused by: ")
    );
}

#[test]
fn text_tells_each_step_in_words() {
    let place = Place::new();
    let thread = place.flow_thread();
    let first = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let second = place.step(&thread, Some(first), "checker", &json!({"$status": "fine"}));
    let agent = place.agent(&[first.to_string(), second.to_string()]);
    let ran = place.on_terminal(&["thread", "exec", thread.as_str(), "--until-end", "--agent", &agent]);
    let expected =
        format!("writer → checked  1.5 s  {first}\nnext: checker\nchecker → fine  1.5 s  {second}\nend\n");
    assert_eq!((ran.exit, ran.out), (0, expected));
}

#[test]
fn what_steers_a_terminal_is_shown_to_people_and_left_to_programs() {
    let place = Place::new();
    let steering = "a\x1b]52;c;eA==\x07b";
    let started = place.uwf(&["thread", "start", "flow", "-p", steering]).json();
    let args = ["thread", "read", started["thread"].as_str().unwrap(), "--format", "text"];
    let (seen, piped) = (place.on_terminal(&args).out, place.uwf(&args).out);
    assert!(seen.contains("a\\u001b]52;c;eA==\\u0007b") && !seen.contains('\x1b'), "{seen}");
    assert!(piped.contains(steering), "{piped}");
    let failed = place.uwf(&["thread", "start", "a\x1b[2Jb", "-p", "x"]).err;
    assert!(failed.contains("a\\u001b[2Jb") && !failed.contains('\x1b'), "{failed}");
}

#[test]
fn the_configuration_says_who_plays_and_the_agent_is_told_where_everything_is() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let script =
        place.script(&format!("echo \"$UWF_HOME|$OCAS_HOME|$FROM_FILE\" > \"$D/env\"; echo {step}\n"));
    let file = script.strip_prefix("sh ").unwrap();
    fs::create_dir_all(place.homes().uwf).unwrap();
    fs::write(place.homes().uwf.join(".env"), "FROM_FILE=yes\n").unwrap();
    assert_eq!(
        place.uwf(&["config", "set", "agents.mine", &format!("{{command: sh, args: [{file}]}}")]).exit,
        0
    );
    assert_eq!(place.uwf(&["config", "set", "agentOverrides.flow.writer", "mine"]).exit, 0);
    assert_eq!(place.uwf(&["thread", "exec", thread.as_str()]).exit, 0);
    let env = fs::read_to_string(std::path::Path::new(file).with_file_name("env")).unwrap();
    let homes = place.homes();
    assert_eq!(env, format!("{}|{}|yes\n", homes.uwf.display(), homes.ocas.display()));
    // The next role has no override and no builtin agent is beside this test.
    let missing = place.uwf(&["thread", "exec", thread.as_str()]);
    assert!(missing.err.contains("cannot start the agent `uwf-builtin`\n  caused by: "), "{}", missing.err);
}

#[test]
fn agents_words_go_to_stderr_as_they_come() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let agent = place.script(&format!("echo working >&2; echo {step}\n"));
    let ran = place.uwf(&["thread", "exec", thread.as_str(), "-v", "--agent", &agent]);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!((lines.len(), lines[1]), (2, "working"), "{}", ran.err);
    assert!(lines[0].starts_with("writer: sh "), "{}", lines[0]);
}

#[test]
fn where_there_is_no_way_to_go_is_told_again() {
    let place = Place::new();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "lost"}));
    let agent = place.agent(&[reply(&step, "writer", None)]);
    let ran = place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]);
    let shown = place.uwf(&["thread", "show", thread.as_str()]).json();
    assert!(shown["hint"].as_str().is_some_and(|hint| hint.contains("no way to go")), "{shown} {}", ran.err);
}

#[test]
fn an_agent_may_be_given_longer_than_any_clock_goes() {
    let place = Place::new();
    let thread = place.flow_thread();
    let agent = place.agent(&["nothing".into()]);
    let exec = ["thread", "exec", thread.as_str(), "--agent", &agent, "--timeout", "9999999999999999999s"];
    assert_eq!(place.uwf(&exec).exit, 1);
}

#[test]
fn an_agent_that_takes_too_long_is_ended() {
    let place = Place::new();
    let thread = place.flow_thread();
    let agent = place.script("exec sleep 60\n");
    let ran = place.uwf(&["thread", "exec", thread.as_str(), "--timeout", "200ms", "--agent", &agent]);
    let again = format!("continue with: uwf thread exec {thread} --timeout 200ms");
    let hint = format!("{again}; a longer --timeout gives it more time");
    assert_eq!(
        (ran.exit, ran.err),
        (1, format!("error: the agent `sh` was ended: it took longer than 200ms\n  hint: {hint}\n"))
    );
}

#[test]
fn a_signal_stops_the_agent_and_is_the_exit_status() {
    let place = Place::new();
    let thread = place.flow_thread();
    let agent = place.script("touch \"$D/up\"; while :; do sleep 0.05; done\n");
    let up = std::path::Path::new(agent.strip_prefix("sh ").unwrap()).with_file_name("up");
    let stop = StopSignal::default();
    let args = ["thread", "exec", thread.as_str(), "--agent", &agent];
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| place.until(&args, "", false, stop.clone()));
        while !up.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.cell().store(15, Ordering::SeqCst);
        run.join().unwrap()
    });
    let hint = format!("nothing is lost; continue with: uwf thread exec {thread}");
    assert_eq!((ran.exit, ran.err), (143, format!("error: stopped by signal 15\n  hint: {hint}\n")));
    // What is stopped already starts nothing more.
    let again = place.until(&args, "", false, stop);
    assert_eq!((again.exit, place.calls().len()), (143, 1));
}

#[test]
fn a_node_that_is_gone_is_told_with_what_leads_to_it() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    let first = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    let second = place.step(&thread, Some(first), "writer", &json!({"$status": "again"}));
    for step in [first, second] {
        let agent = place.agent(&[step.to_string()]);
        assert_eq!(place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]).exit, 0);
    }
    let away = place.path().join("away.bin");
    let told = |gone: &uwf_store::Hash, command: &[&str], words: &str| {
        let file = place.homes().ocas.join(format!("nodes/{gone}.bin"));
        fs::rename(&file, &away).unwrap();
        let ran = place.uwf(&[command, &[thread.as_str()]].concat());
        fs::rename(&away, &file).unwrap();
        let expected = format!(
            "error: {words} cannot be read\n  caused by: no node {gone} in the store\n  hint: `uwf cas verify`"
        );
        assert!(ran.exit == 1 && ran.err.starts_with(&expected), "{command:?}: {}", ran.err);
    };
    for command in [&["step", "list"][..], &["thread", "read"]] {
        told(&first, command, &format!("the step before step {second}"));
        told(&start, command, &format!("the start of step {second}"));
        told(&second, command, &format!("the head of thread {thread}"));
    }
    told(&start, &["thread", "show"], &format!("the start of step {second}"));
    told(&second, &["thread", "export"], &format!("the head of thread {thread}"));
}

#[test]
fn a_long_task_is_cut_to_the_quota() {
    let place = Place::new();
    let task = format!("Ä{}", "x".repeat(5000));
    let started = place.uwf(&["thread", "start", "flow", "-p", &task]).json();
    let thread = started["thread"].as_str().unwrap();
    let start = head(&place.store(), &thread.parse().unwrap()).unwrap().hash;
    let read = place.uwf(&["thread", "read", thread, "--quota", "1000"]).out;
    assert!(read.len() < 1500 && read.contains("\nÄxxx"), "{read}");
    let rest = format!("x…\n\n*(4001 more characters of the task, load with `uwf cas get {start}`)*");
    assert!(read.contains(&rest), "{read}");
    assert!(place.uwf(&["thread", "read", thread]).out.contains(&task));
}

#[test]
fn a_failure_is_told_wherever_the_thread_stands() {
    for (status, word) in [("again", "exec"), ("waits", "resume"), ("done", "resume")] {
        let place = Place::new();
        let thread = place.flow_thread();
        let first = place.step(&thread, None, "writer", &json!({"$status": status}));
        let agent = place.agent(&[first.to_string()]);
        place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]);
        let error = json!({"$status": "error", "error": "It broke.", "phase": "answer"});
        let failed = place.step(&thread, Some(first), "writer", &error);
        let agent = place.agent(&[reply(&failed, "writer", Some("It broke."))]);
        let resume = ["thread", "resume", thread.as_str(), "-p", "x", "--agent", &agent];
        let exec = ["thread", "exec", thread.as_str(), "--agent", &agent];
        assert_eq!(place.uwf(if word == "exec" { &exec } else { &resume }).exit, 3, "{status}");
        let shown = place.uwf(&["thread", "show", thread.as_str()]).json();
        assert_eq!(shown["error"], json!({"stepHash": failed, "message": "It broke."}), "{status}");
        let hint = format!("the failed step is {failed}; try again with `uwf thread {word} {thread}");
        assert!(shown["hint"].as_str().unwrap().starts_with(&hint), "{status}: {shown}");
        let read = place.uwf(&["thread", "read", thread.as_str()]).out;
        assert!(read.contains("**Failed attempts so far:**") && read.contains("It broke."), "{read}");
    }
}

#[test]
fn the_default_agent_takes_the_place_of_one_that_is_not_configured_and_is_named() {
    let place = Place::new();
    let (thread, store) = (place.flow_thread(), place.store());
    let start = head(&store, &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    thread::advance(&store, &thread, &start, &step, &Status::Idle).unwrap();
    let behind = place.step(&thread, Some(step), "writer", &json!({"$status": "checked"}));
    configure(&place, &place.agent(&[behind.to_string()]));
    let poked = place.uwf(&["thread", "poke", thread.as_str(), "-p", "again"]);
    assert_eq!(poked.exit, 0, "by the configured one");
    let said = "the step was made by `scripted`, which is no configured agent: `sh` takes its place";
    assert!(poked.err.contains(said), "{poked:?}");
    let head = poked.json()["head"].as_str().unwrap().to_owned();
    let asked = place.uwf(&["step", "ask", &head, "-p", "Why?"]);
    assert!(asked.err.contains(said), "{asked:?}");
}

/// Makes that command line the default agent.
fn configure(place: &Place, agent: &str) {
    let (program, file) = agent.split_once(' ').unwrap();
    place.uwf(&["config", "set", "agents.mine.command", program]);
    place.uwf(&["config", "set", "agents.mine.args", &format!("[{file}]")]);
    place.uwf(&["config", "set", "defaultAgent", "mine"]);
}

#[test]
fn after_a_failed_poke_the_next_role_is_the_one_after_the_head() {
    let place = Place::new();
    let thread = place.flow_thread();
    let first = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let agent = place.agent(&[first.to_string()]);
    assert_eq!(place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]).exit, 0);
    let failed = place.step(&thread, Some(first), "writer", &json!({"$status": "error", "error": "no"}));
    let agent = place.agent(&[reply(&failed, "writer", Some("no"))]);
    let ran = place.uwf(&["thread", "poke", thread.as_str(), "-p", "again", "--agent", &agent]);
    let value = ran.json();
    assert_eq!((&value["head"], &value["currentRole"]), (&json!(first), &json!("checker")));
    let hint = value["hint"].as_str().unwrap();
    assert!(hint.ends_with(&format!("`uwf thread poke {thread} -p TEXT`")), "{hint}");
}
