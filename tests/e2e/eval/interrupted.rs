//! An interruption does not change what comes of a case: it goes on where that is the same, and begins anew where it is not.

use std::process::Child;

use super::*;

/// A task whose model makes these turns, and then says that it is done.
fn task(site: &Site, turns: &str) {
    double(site);
    let answer = "---\\n$status: mended\\nfile: double.sh\\n---\\nDone.";
    let mock = format!("turns:\n{turns}  - {{ content: \"{answer}\" }}\n");
    fs::write(site.workspace().join("double/mock.yaml"), mock).unwrap();
}

fn case(site: &Site) -> Value {
    eval(site, &["show", "n"]).ok().json()["cases"][0].clone()
}

fn threads(site: &Site) -> Vec<Value> {
    site.uwf(&["thread", "list", "--all"]).ok().json().as_array().unwrap().clone()
}

fn begin(site: &Site, more: &[&str]) -> Child {
    let args = [&["run", "double", "--offline", "--name", "n"], more].concat();
    command(site, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the evaluation as soon as its first thread is seen so.
fn killed_when(site: &Site, is_there: &dyn Fn(&Value) -> bool) -> Value {
    let mut child = begin(site, &[]);
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "it never came there");
        if let Some(thread) = threads(site).into_iter().next()
            && is_there(&site.uwf(&["thread", "show", thread["thread"].as_str().unwrap()]).ok().json())
        {
            child.kill().unwrap();
            child.wait().unwrap();
            return thread["thread"].clone();
        }
        sleep(Duration::from_millis(50));
    }
}

fn running_tool(shown: &Value) -> Option<&str> {
    shown["running"]["tool"]["name"].as_str()
}

#[test]
fn a_case_whose_tool_call_was_cut_off_begins_anew() {
    let site = Site::new();
    // What was cut off is half done.
    let command = "echo half >> double.sh; sleep 2; sed -i -e '/half/d' -e 's/ + 1))/))/' double.sh";
    let call = serde_json::json!({"name": "run_command", "arguments": {"command": command}});
    task(&site, &format!("  - {{ tool_calls: [{call}] }}\n"));
    let before = killed_when(&site, &|shown| running_tool(shown) == Some("run_command"));
    let on = eval(&site, &["run", "--resume", "n"]).ok();
    assert!(on.err.contains("double/1 begins anew: a call of run_command was cut off\n"), "{}", on.err);
    let case = case(&site);
    assert_eq!((case["outcome"].as_str(), &case["judges"][0]["score"]), (Some("scored"), &Value::from(1.0)));
    assert_eq!(case["givenUp"], serde_json::json!({"threads": 1}), "{case}");
    assert!(threads(&site).len() == 1 && case["thread"] != before, "no case has two threads: {case}");
    let shown = eval(&site, &["show", "n/double/1", "--format", "text"]).ok().out;
    assert!(shown.contains("given up before: 1 begun and interrupted\n"), "{shown}");
    site.verify();
}

#[test]
fn a_case_that_waited_for_its_model_goes_on_without_losing_a_turn() {
    let site = Site::new();
    task(
        &site,
        "  - { tool_calls: [{ name: read_file, arguments: { path: double.sh } }] }\n  - delay_ms: 3000\n    \
         tool_calls: [{ name: read_file, arguments: { path: test.sh } }]\n",
    );
    let before = killed_when(&site, &|shown| shown["running"]["turn"] == 2);
    let on = eval(&site, &["run", "--resume", "n"]).ok();
    assert!(!on.err.contains("begins anew"), "{}", on.err);
    let case = case(&site);
    assert_eq!((&case["thread"], &case["tokens"]["turns"]), (&before, &Value::from(3)), "{case}");
    assert!(case["givenUp"].is_null(), "{case}");
    // Whose workspace is not there any more has nothing that could be gone on with.
    let site = Site::new();
    task(
        &site,
        "  - { delay_ms: 3000, tool_calls: [{ name: read_file, arguments: { path: double.sh } }] }\n",
    );
    killed_when(&site, &|shown| shown["running"]["turn"] == 1);
    let until = Instant::now() + Duration::from_secs(60);
    while threads(&site)[0]["status"] == "running" {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(50));
    }
    fs::remove_dir_all(workspaces(&site).join("n/double/1")).unwrap();
    let on = eval(&site, &["run", "--resume", "n"]).ok();
    assert!(on.err.contains("double/1 begins anew: its workspace is gone\n"), "{}", on.err);
    assert_eq!(
        (threads(&site).len(), eval(&site, &["show", "n"]).ok().json()["cases"][0]["steps"].as_u64()),
        (1, Some(1))
    );
    site.verify();
}

#[test]
fn an_attempt_that_failed_below_the_workflow_leaves_nothing_for_the_next() {
    let site = Site::new();
    double(&site);
    let write = "{ name: write_file, arguments: { path: new.txt, content: new } }";
    let broken = "  - { error: { status: 401, message: no key } }\n";
    let mock = site.write("broken.yaml", &format!("turns:\n  - {{ tool_calls: [{write}] }}\n{broken}"));
    let args = ["run", "double", "--name", "n", "--retries", "1", "--mock"];
    let ran = eval(&site, &[&args[..], &[&mock]].concat());
    assert_eq!(ran.code, 3, "{}", ran.err);
    let why = "double/1 begins anew: an attempt failed that had changed something by write_file\n";
    assert!(ran.err.contains(why), "{}", ran.err);
    let of = case(&site);
    assert_eq!((of["outcome"].as_str(), &of["givenUp"]["threads"]), (Some("error"), &Value::from(1)), "{of}");
    assert_eq!(threads(&site).len(), 1);
    // One that has changed nothing is tried again in its place, and no role is told of it.
    let mock = site.write("reads.yaml", &format!("turns:\n{broken}"));
    let args = ["run", "double", "--name", "m", "--retries", "1", "--mock"];
    let ran = eval(&site, &[&args[..], &[&mock]].concat());
    assert!(!ran.err.contains("begins anew"), "{}", ran.err);
    let thread = eval(&site, &["show", "m"]).ok().json()["cases"][0]["thread"].as_str().unwrap().to_owned();
    let spent = site.uwf(&["cost", &thread]).ok().json();
    assert_eq!(spent["total"]["failedRuns"], 1, "the first is not told any more: {spent}");
    site.verify();
}

#[test]
fn what_was_begun_fresh_goes_on_fresh() {
    let site = Site::new();
    task(&site, "  - { delay_ms: 300, tool_calls: [{ name: read_file, arguments: { path: test.sh } }] }\n");
    eval(&site, &["run", "double", "--offline", "--count", "5", "--name", "earlier"]).ok();
    let mut child = begin(&site, &["--count", "5", "--fresh", "-j", "1"]);
    let until = Instant::now() + Duration::from_secs(60);
    while threads(&site).len() < 6 {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let on = eval(&site, &["run", "--resume", "n"]).ok().json();
    assert_eq!((on["cases"].as_u64(), on["cached"].as_u64()), (Some(5), Some(0)), "{on}");
    assert_eq!(threads(&site).len(), 10);
    site.verify();
}
