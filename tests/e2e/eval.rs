//! Evaluations, as somebody makes them: by scripts in the place of models, interrupted, with judges that go wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::site::{EVAL, Said, Site, example, search_path};

#[path = "eval/again.rs"]
mod again;
#[path = "eval/claims.rs"]
mod claims;
#[path = "eval/drawn.rs"]
mod drawn;
#[path = "eval/foreign.rs"]
mod foreign;
#[path = "eval/infrastructure.rs"]
mod infrastructure;
#[path = "eval/interrupted.rs"]
mod interrupted;

#[path = "eval/travel.rs"]
mod travel;

#[path = "eval/refused.rs"]
mod refused;

/// `uwf-eval` in a site, with the other programs beside it.
fn command(site: &Site, args: &[&str]) -> Command {
    let mut command = site.command(EVAL);
    command.args(args).env("PATH", search_path());
    command
}

fn eval(site: &Site, args: &[&str]) -> Said {
    Said::of(command(site, args).output().unwrap())
}

/// Where the cases of the site's store work.
fn workspaces(site: &Site) -> PathBuf {
    let all = fs::read_dir(site.home().join(".local/share/uwf/eval")).unwrap();
    let stores: Vec<PathBuf> = all.map(|store| store.unwrap().path()).collect();
    let [store] = &stores[..] else { panic!("one store has one directory: {stores:?}") };
    store.clone()
}

/// The first task of everybody, in the workspace.
fn double(site: &Site) {
    eval(site, &["init", "double"]).ok();
}

/// What a report says, without what differs from one run to the next.
fn told(site: &Site, name: &str) -> Vec<(String, u64, String, Value, u64)> {
    let shown = eval(site, &["show", name]).ok().json();
    let cases = shown["cases"].as_array().unwrap().iter();
    cases
        .map(|case| {
            let text = |field: &str| case[field].as_str().unwrap().to_owned();
            let scores = case["judges"].as_array().unwrap().iter().map(|judge| judge["score"].clone());
            let scores = Value::from(scores.collect::<Vec<_>>());
            (
                text("task"),
                case["repeat"].as_u64().unwrap(),
                text("outcome"),
                scores,
                case["steps"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn an_evaluation_runs_is_shown_and_is_not_run_twice() {
    let site = Site::new();
    double(&site);
    let ran = eval(&site, &["run", "double", "--offline", "--count", "6", "--seed", "6"]).ok();
    let view = ran.json();
    assert_eq!((view["name"].as_str(), view["done"].as_bool()), (Some("double-1"), Some(true)));
    assert_eq!(
        (view["cases"].as_u64(), view["scored"].as_u64(), view["cached"].as_u64()),
        (Some(6), Some(6), Some(0))
    );
    assert!(ran.err.contains("[6/6] double/"), "{}", ran.err);
    // Both behaviours of its script were drawn.
    let cases = told(&site, "double-1");
    let tests: Vec<f64> = cases.iter().map(|case| case.3[0].as_f64().unwrap()).collect();
    assert!(tests.contains(&1.0) && tests.contains(&0.0), "{tests:?}");
    let wrong = 1 + tests.iter().position(|score| *score == 0.0).unwrap();
    let case = eval(&site, &["show", &format!("double-1/double/{wrong}")]).ok().json();
    let found = case["found"].as_array().unwrap();
    assert_eq!(found[1]["data"]["perStep"][0]["hallucinations"][0], "never ran: sh test.sh", "{case}");
    assert_eq!(case["judges"][3]["score"], 1.0, "the script's score");

    let threads = || site.uwf(&["thread", "list", "--all"]).ok().json().as_array().unwrap().len();
    assert_eq!(threads(), 6);
    // The same again runs nothing, more of it runs the rest, and another evaluation takes the threads.
    eval(&site, &["run", "double", "--offline", "--count", "6", "--seed", "6", "--name", "double-1"]).ok();
    eval(&site, &["run", "double", "--offline", "--count", "7", "--seed", "6", "--name", "double-1"]).ok();
    assert_eq!(threads(), 7);
    let taken = eval(&site, &["run", "double", "--offline", "--count", "6", "--seed", "6"]).ok().json();
    assert_eq!((taken["cached"].as_u64(), threads()), (Some(6), 7));
    assert_eq!(told(&site, "double-2"), told(&site, "double-1")[..6]);
    eval(&site, &["run", "double", "--offline", "--seed", "6", "--fresh"]).ok();
    assert_eq!(threads(), 8);
    // Otherwise it is another evaluation.
    let other =
        eval(&site, &["run", "double", "--offline", "--seed", "2", "--count", "7", "--name", "double-1"]);
    assert_eq!((other.code, other.out.as_str()), (1, ""));
    assert!(other.err.contains("error: evaluation double-1 was begun with another seed\n"), "{}", other.err);

    let listed = eval(&site, &["list"]).ok().json();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    // What is kept is kept by a collection, and can be judged again without the workspaces.
    site.uwf(&["cas", "gc"]).ok();
    assert!(!workspaces(&site).join("double-1").exists());
    let before = told(&site, "double-1");
    let judged = eval(&site, &["judge", "double-1", "--min", "0.99", "--all"]);
    assert_eq!(judged.code, 1, "{}", judged.err);
    assert_eq!(judged.err.matches("double/").count(), 7, "{}", judged.err);
    let judged = eval(&site, &["judge", "double-1"]).ok();
    assert!(judged.err.contains("no case was judged"), "{}", judged.err);
    assert_eq!((told(&site, "double-1"), threads()), (before, 8));
    site.verify();
}

#[test]
fn tasks_and_scripts_may_lie_in_a_home() {
    // What lies in a directory for temporary files is seen by everybody.
    let site = Site::in_memory();
    let task = site.home().join("tasks/double");
    fs::create_dir(site.home().join("tasks")).unwrap();
    let task = task.to_str().unwrap();
    eval(&site, &["init", task]).ok();
    let ran = eval(&site, &["run", task, "--offline"]).ok().json();
    assert_eq!((ran["scored"].as_u64(), ran["errors"].as_u64()), (Some(1), Some(0)), "{ran}");
    let mock = format!("{task}/mock.yaml");
    let ran = eval(&site, &["run", task, "--mock", &mock, "--name", "typed"]).ok().json();
    assert_eq!((ran["scored"].as_u64(), ran["errors"].as_u64()), (Some(1), Some(0)), "{ran}");
}

#[test]
fn what_is_killed_again_and_again_comes_to_the_same() {
    let args =
        ["run", "double", "--offline", "--count", "12", "--seed", "5", "--name", "n", "-j", "2", "--fresh"];
    let whole = Site::new();
    double(&whole);
    eval(&whole, &args).ok();
    let site = Site::new();
    double(&site);
    for round in 1..=10 {
        let mut child = command(&site, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_millis(150 * round);
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(10));
        }
        child.kill().ok();
        child.wait().unwrap();
        // What it had started ends by itself.
        sleep(Duration::from_millis(100));
    }
    // Where the last one left it, by name alone.
    eval(&site, &["run", "--resume", "n"]).ok();
    assert_eq!(told(&site, "n"), told(&whole, "n"));
    let threads = site.uwf(&["thread", "list", "--all"]).ok().json();
    assert_eq!(threads.as_array().unwrap().len(), 12, "no case has two threads");
    site.verify();
}

#[test]
fn a_signal_ends_it_and_says_how_to_go_on() {
    let site = Site::new();
    double(&site);
    let args = ["run", "double", "--offline", "--count", "500", "--name", "long"];
    let child = command(&site, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(1500));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 143, "{}", said.err);
    assert!(
        said.err.contains("hint: nothing is lost; go on with: uwf-eval run --resume long\n"),
        "{}",
        said.err
    );
    let listed = eval(&site, &["list"]).ok().json();
    assert_eq!(
        (listed[0]["status"].as_str(), listed[0]["planned"].as_u64()),
        (Some("unfinished"), Some(500))
    );
    let judged = eval(&site, &["judge", "long"]);
    assert!(judged.code == 1 && judged.err.contains("is not finished"), "{}", judged.err);
    site.verify();
}

/// A task whose judge is this script; its model is right at once.
fn judged_by(site: &Site, name: &str, script: &str, more: &str) -> String {
    double(site);
    fs::rename(site.workspace().join("double"), site.workspace().join(name)).unwrap();
    let task = site.workspace().join(name);
    fs::write(task.join("judges/small.sh"), script).unwrap();
    fs::set_permissions(task.join("judges/small.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "name: {name}\nworkflow: ./workflow.yaml\nprompt: Double it.\njudges:\n  - {{ name: j, entry: judges/small.sh{more} }}\n"
    );
    fs::write(task.join("task.yaml"), text).unwrap();
    name.to_owned()
}

#[test]
fn a_judge_that_goes_wrong_is_told_and_is_no_low_score() {
    let site = Site::new();
    let schema = ", schema: schemas/small.json";
    let cases = [
        ("status", "#!/bin/sh\necho why >&2; exit 3\n", "", "exit status 3; its last words: why"),
        ("silent", "#!/bin/sh\n", "", "it printed nothing"),
        ("garbage", "#!/bin/sh\necho hello\n", "", "is no JSON"),
        ("two", "#!/bin/sh\necho '{\"score\":1}{\"score\":1}'\n", "", "is no JSON"),
        ("list", "#!/bin/sh\necho '[1]'\n", "", "is no object: [1]"),
        ("none", "#!/bin/sh\necho '{\"data\": 1}'\n", "", "has no `score`"),
        ("seven", "#!/bin/sh\necho '{\"score\": 7}'\n", "", "its score must be from 0 to 1, not 7"),
        ("text", "#!/bin/sh\necho '{\"score\": \"1\"}'\n", "", "its score must be from 0 to 1, not \"1\""),
        (
            "schema",
            "#!/bin/sh\necho '{\"score\": 1, \"data\": {\"lines\": \"x\"}}'\n",
            schema,
            "does not obey its schema",
        ),
        ("hangs", "#!/bin/sh\nsleep 600 & sleep 600\n", ", timeoutSeconds: 1", "it took longer than 1 s"),
        ("floods", "#!/bin/sh\nyes\n", ", timeoutSeconds: 20", "it printed more than 1 MiB"),
        ("kills", "#!/bin/sh\nkill -9 $PPID; sleep 60\n", "", "exit status 137"),
        ("interpreter", "#!/no/such/program\n", "", "exit status 12"),
    ];
    for (name, script, more, expected) in cases {
        let task = judged_by(&site, name, script, more);
        let ran = eval(&site, &["run", &task, "--offline", "--name", name]);
        assert_eq!(ran.code, 3, "{name}: {}", ran.err);
        assert!(ran.err.contains("error: no result: 1 of 1 cases have no score\n"), "{name}: {}", ran.err);
        let shown = eval(&site, &["show", name]).ok().json();
        let (case, judge) = (&shown["cases"][0], &shown["cases"][0]["judges"][0]);
        assert_eq!(
            (case["outcome"].as_str(), case["score"].is_null()),
            (Some("unscored"), true),
            "{name}: {case}"
        );
        assert!(judge["error"].as_str().unwrap().contains(expected), "{name}: {judge}");
    }
    // Those that try to do more than judge: nothing of the home, the store or the next judge's workspace is in reach.
    let reaches = "#!/bin/sh\nrm -rf \"$HOME\" \"$1\"/* \"$0\" 2>/dev/null\n\
                   [ -z \"$(ls -A ~/.ocas 2>/dev/null)\" ] && [ -s \"$UWF_EVAL_THREAD\" ] && echo '{\"score\": 1}'\n";
    let task = judged_by(&site, "reaches", reaches, "");
    eval(&site, &["run", &task, "--offline", "--name", "reaches", "--keep"]).ok();
    assert!(site.workspace().join("reaches/judges/small.sh").exists());
    let work = workspaces(&site).join("reaches/reaches/1/double.sh");
    assert!(work.exists(), "a judge works on a copy");
    site.verify();
}

#[test]
fn a_workflow_that_fails_and_an_infrastructure_that_does_are_two_things() {
    let site = Site::new();
    double(&site);
    let failing = "turns: [{ content: nothing that is an answer }, { content: no }, { content: no }, { content: no }]\n";
    let mock = site.write("failing.yaml", failing);
    let ran = eval(&site, &["run", "double", "--mock", &mock, "--name", "fails"]).ok().json();
    assert_eq!((ran["failed"].as_u64(), ran["errors"].as_u64()), (Some(1), Some(0)));
    // What failed took its time, too.
    assert!(ran["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{ran}");
    let broken = "turns: [{ error: { status: 401, message: no key } }]\n";
    let mock = site.write("broken.yaml", broken);
    let ran = eval(&site, &["run", "double", "--mock", &mock, "--name", "breaks", "--retries", "1"]);
    assert_eq!((ran.code, ran.json()["errors"].as_u64()), (3, Some(1)), "{}", ran.err);
    assert!(ran.err.contains("double/1 is tried again: developer failed: "), "{}", ran.err);
    let shown = eval(&site, &["show", "breaks"]).ok().json();
    assert_eq!(
        (shown["cases"][0]["outcome"].as_str(), shown["cases"][0]["score"].is_null()),
        (Some("error"), true)
    );
    // A limit is the workflow's.
    let task = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&task).unwrap().replace("timeoutMinutes: 10", "timeoutMinutes: 0.01");
    fs::write(&task, text).unwrap();
    let mock = site.write("slow.yaml", "turns: [{ delay_ms: 60000, content: late }]\n");
    let ran = eval(&site, &["run", "double", "--mock", &mock, "--name", "slow"]);
    assert!(
        ran.code == 0 && ran.err.contains("failed 0.") && ran.err.contains("it took longer than 0.6 s"),
        "{}",
        ran.err
    );
    site.verify();
}

#[test]
fn judges_that_are_models_vote() {
    let site = Site::new();
    double(&site);
    let task = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&task).unwrap()
        + "  - { name: asked, model: judge, rubric: Is it small?, weight: 1, votes: 3 }\n";
    fs::write(&task, text).unwrap();
    let vote = "---\\n$status: done\\nscore: 0.5\\nreason: It is.\\n---\\nSo.";
    let mock = site.write("judge.yaml", &format!("turns: [{{ content: \"{vote}\" }}]\n"));
    eval(&site, &["run", "double", "--offline", "--name", "voted", "--judge-mock", &mock]).ok();
    let shown = eval(&site, &["show", "voted"]).ok().json();
    let judge = &shown["cases"][0]["judges"][5];
    assert_eq!(
        (judge["score"].as_f64(), judge["votes"].as_array().unwrap().len()),
        (Some(0.5), 3),
        "{judge}"
    );
    // Another script is another judge, and what is judged by it says so.
    let other =
        site.write("other.yaml", &format!("turns: [{{ content: \"{}\" }}]\n", vote.replace("0.5", "0.25")));
    let judged = eval(&site, &["judge", "voted", "--judge-mock", &other]).ok();
    assert_eq!(judged.err.matches("double/1").count(), 1, "{}", judged.err);
    let shown = eval(&site, &["show", "voted"]).ok().json();
    assert_eq!(shown["cases"][0]["judges"][5]["score"].as_f64(), Some(0.25), "{shown}");
    for script in [None, Some(&other)] {
        let args = script.map(|script| ["--judge-mock", script]).into_iter().flatten();
        let again = eval(&site, &["judge", "voted"].into_iter().chain(args).collect::<Vec<_>>()).ok();
        assert!(again.err.contains("no case was judged"), "{}", again.err);
    }
    site.verify();
}

#[test]
fn two_that_begin_at_once_have_a_name_each() {
    let site = Site::new();
    double(&site);
    let args = ["run", "double", "--offline", "--fresh", "-q"];
    let begin = || command(&site, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun: Vec<_> = (0..4).map(|_| begin()).collect();
    let said = begun.into_iter().map(|child| Said::of(child.wait_with_output().unwrap()).ok().json());
    let mut names: Vec<String> = said.map(|view| view["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["double-1", "double-2", "double-3", "double-4"]);
    site.verify();
}

#[test]
fn workspaces_that_are_to_stay_stay_whoever_goes_on() {
    let site = Site::new();
    double(&site);
    eval(&site, &["run", "double", "--offline", "--keep", "--name", "n"]).ok();
    eval(&site, &["run", "--resume", "n"]).ok();
    eval(&site, &["run", "double", "--offline", "--name", "n", "--count", "2"]).ok();
    assert!([1, 2].iter().all(|case| workspaces(&site).join(format!("n/double/{case}")).is_dir()));
    site.verify();
}

#[test]
fn the_examples_are_evaluated_without_a_model() {
    let site = Site::new();
    let task = example("eval/fix-off-by-one");
    let workflow = example("eval/solve-issue-unreviewed.yaml");
    let ran = eval(&site, &["run", &task, "--workflow", &workflow, "--offline", "--count", "2"]).ok().json();
    assert_eq!(
        (ran["cases"].as_u64(), ran["unscored"].as_u64(), ran["errors"].as_u64()),
        (Some(2), Some(0), Some(0))
    );
    site.verify();
}
