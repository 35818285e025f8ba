//! What fails below a workflow, or is ended by a person, says nothing of it: it is told, and tried once more.

use std::net::TcpListener;

use super::*;
use crate::site::MockServer;

fn outcome(site: &Site, name: &str) -> (String, bool) {
    let case = eval(site, &["show", name]).ok().json()["cases"][0].clone();
    (case["outcome"].as_str().unwrap().to_owned(), case["score"].is_null())
}

fn threads(site: &Site) -> Vec<Value> {
    site.uwf(&["thread", "list", "--all"]).ok().json().as_array().unwrap().clone()
}

#[test]
fn an_error_is_tried_once_more_by_whoever_goes_on() {
    let site = Site::new();
    double(&site);
    fs::create_dir_all(site.home().join(".uwf/agents")).unwrap();
    // Nobody listens there yet.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings =
        format!("provider: {{ baseUrl: 'http://127.0.0.1:{port}/v1', retry: {{ tries: 1 }} }}\nmodel: m\n");
    fs::write(site.home().join(".uwf/agents/builtin.yaml"), settings).unwrap();
    let run = ["run", "double", "--name", "n", "--retries", "0"];
    let down = eval(&site, &run);
    assert_eq!(down.code, 3, "{}", down.err);
    assert_eq!((down.code, outcome(&site, "n")), (3, ("error".to_owned(), true)), "{}", down.err);
    let answer = "---\\n$status: mended\\nfile: double.sh\\n---\\nDone.";
    let script = site.write("serves.yaml", &format!("turns: [{{ content: \"{answer}\" }}]\n"));
    let _up = MockServer::on(&site, &script, port);
    let up = eval(&site, &["run", "--resume", "n", "--retries", "0"]).ok();
    assert_eq!(outcome(&site, "n"), ("scored".to_owned(), false), "{}", up.err);
    assert_eq!(threads(&site).len(), 1, "it goes on with the thread that it had begun");
    site.verify();
}

#[test]
fn what_a_limit_or_a_person_ended_stands_for_no_other_case() {
    let site = Site::new();
    double(&site);
    let mock = site.write("slow.yaml", "turns: [{ delay_ms: 60000, content: late }]\n");
    let args = ["run", "double", "--mock", &mock, "--name"];
    let child = command(&site, &[&args[..], &["n"]].concat()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while threads(&site).first().is_none_or(|thread| thread["status"] != "running") {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(100));
    }
    let thread = threads(&site)[0]["thread"].as_str().unwrap().to_owned();
    site.uwf(&["thread", "cancel", &thread]).ok();
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.code, outcome(&site, "n")), (3, ("error".to_owned(), true)), "{}", said.err);
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("timeoutMinutes: 10", "timeoutMinutes: 0.01");
    fs::write(&file, text).unwrap();
    for name in ["late", "later"] {
        let ran = eval(&site, &[&args[..], &[name]].concat()).ok().json();
        assert_eq!((ran["failed"].as_u64(), ran["cached"].as_u64()), (Some(1), Some(0)), "{ran}");
    }
    site.verify();
}

#[test]
fn what_a_kill_left_running_is_waited_for() {
    let site = Site::new();
    double(&site);
    let answer = "---\\n$status: mended\\nfile: double.sh\\n---\\nDone.";
    let mock = site.write("slow.yaml", &format!("turns: [{{ delay_ms: 4000, content: \"{answer}\" }}]\n"));
    let args = ["run", "double", "--mock", &mock, "--name", "n", "--retries", "0"];
    let mut child = command(&site, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while threads(&site).first().is_none_or(|thread| thread["status"] != "running") {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let on = eval(&site, &["run", "--resume", "n", "--retries", "0"]).ok();
    assert_eq!((outcome(&site, "n").0.as_str(), threads(&site).len()), ("scored", 1), "{}", on.err);
    assert!(!on.err.contains("already running"), "{}", on.err);
    site.verify();
}

#[test]
fn a_limit_that_went_into_a_broken_endpoint_is_no_failure_of_the_workflow() {
    let site = Site::new();
    double(&site);
    let endpoint = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = endpoint.local_addr().unwrap().port();
    std::thread::spawn(move || {
        // The first call is hung up, every other one is never answered.
        let mut calls = endpoint.incoming().flatten();
        drop(calls.next());
        calls.collect::<Vec<_>>()
    });
    fs::create_dir_all(site.home().join(".uwf/agents")).unwrap();
    let settings =
        format!("provider: {{ baseUrl: 'http://127.0.0.1:{port}/v1', retry: {{ tries: 1 }} }}\nmodel: m\n");
    fs::write(site.home().join(".uwf/agents/builtin.yaml"), settings).unwrap();
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("timeoutMinutes: 10", "timeoutMinutes: 0.03");
    fs::write(&file, text).unwrap();
    let ran = eval(&site, &["run", "double", "--name", "n", "--retries", "1"]);
    assert_eq!((ran.code, outcome(&site, "n")), (3, ("error".to_owned(), true)), "{}", ran.err);
    let case = eval(&site, &["show", "n"]).ok().json()["cases"][0].clone();
    assert!(ran.err.contains("double/1 is tried again: developer failed: "), "{}", ran.err);
    assert_eq!(case["reason"], "the model never answered; it took longer than 1.8 s", "{case}");
    // Nor is one that never said anything.
    let ran = eval(&site, &["run", "double", "--name", "silent", "--retries", "1"]);
    assert_eq!((ran.code, outcome(&site, "silent")), (3, ("error".to_owned(), true)), "{}", ran.err);
    assert!(ran.err.contains("the model never answered; it took longer than 1.8 s"), "{}", ran.err);
    site.verify();
}
