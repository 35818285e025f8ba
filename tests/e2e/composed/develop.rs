//! The example: solve-issue, whose developer is the workflow `develop`.

use std::process::Command;

use serde_json::{Value, json};

use super::file;
use crate::site::{AGENT, Site, example};

fn git(site: &Site, args: &[&str]) -> String {
    let mut command = Command::new("git");
    let done = command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
    let done = done.current_dir(site.workspace()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn solved() -> (Site, String) {
    let site = Site::new();
    site.project("solve-issue/project");
    git(&site, &["init", "-q"]);
    git(&site, &["add", "-A"]);
    git(&site, &["commit", "-qm", "first"]);
    let mock = |name: &str| example(&format!("{name}/mock.yaml"));
    let reviewer = site.write(
        "reviewer.yaml",
        "roles:\n  reviewer:\n    - turns:\n        - content: \"---\\n$status: approved\\n---\\nIt is right.\\n\"\n          expect: { last_contains: adds every argument }\n",
    );
    let config = json!({
        "agents": {
            "develop": {"workflow": example("develop/workflow.yaml")},
            "planner": {"command": AGENT, "args": ["--mock", mock("solve-issue")]},
            "reviewer": {"command": AGENT, "args": ["--mock", reviewer]},
            "small": {"command": AGENT, "args": ["--mock", mock("develop")]},
        },
        "defaultAgent": "small",
        "agentOverrides": {"solve-issue": {"planner": "planner", "developer": "develop", "reviewer": "reviewer"}},
    });
    site.write("home/.uwf/config.yaml", &config.to_string());
    let thread =
        site.start(&example("solve-issue/workflow.yaml"), "`add.sh` must add three numbers and more.");
    let ended = site.uwf(&["thread", "exec", &thread, "--until-end"]).ok().json();
    assert_eq!(ended.as_array().unwrap().last().unwrap()["status"], "end");
    (site, thread)
}

fn roles(site: &Site, thread: &str) -> Vec<String> {
    let listed = site.uwf(&["step", "list", thread]).ok().json();
    let steps = listed["steps"].as_array().unwrap()[1..].iter();
    steps.map(|step| step["role"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_workflow_plays_the_developer() {
    let (site, thread) = solved();
    assert_eq!(roles(&site, &thread), ["planner", "developer", "reviewer"]);
    assert!(file(&site, "add.sh").contains("for n in \"$@\"; do"));
    assert_eq!(git(&site, &["log", "--format=%s"]), "add.sh - add every argument\nfirst\n");

    let show = |thread: &str| site.uwf(&["thread", "show", thread]).ok().json();
    let child = show(&thread)["child"].clone();
    assert_eq!((&child["role"], &child["status"]), (&json!("developer"), &json!("end")));
    let called = child["thread"].as_str().unwrap();
    assert_eq!(
        roles(&site, called),
        ["planner", "coder", "reviewer", "coder", "reviewer", "tester", "committer"]
    );
    let parent = show(called)["parent"].clone();
    assert_eq!(
        (&parent["thread"], &parent["depth"], &parent["stack"]),
        (&json!(thread), &json!(1), &json!(["solve-issue"]))
    );

    let listed = site.uwf(&["step", "list", &thread]).ok().json();
    let developer = &listed["steps"][2];
    let get =
        |hash: &Value| site.uwf(&["cas", "get", hash.as_str().unwrap(), "--format", "json"]).ok().json();
    let step = get(&developer["hash"])["payload"].clone();
    assert_eq!(step["childThread"], child["head"]);
    assert_eq!(step["detail"], child["head"]);
    assert_eq!(developer["output"]["summary"], "add.sh adds every argument it is given.");
    assert!(developer["output"].get("files").is_some(), "{developer}");
    let start = get(&get(&child["head"])["payload"]["start"])["payload"].clone();
    assert_eq!(start["parentState"], listed["steps"][1]["hash"]);
    site.verify();
}

#[test]
fn what_it_did_is_told_and_taken_along() {
    let (site, thread) = solved();
    let read = site.uwf(&["thread", "read", &thread]).ok().out;
    for told in
        ["Played by workflow `develop`", "### Step 2.7: committer → done", "## Step 3: reviewer → approved"]
    {
        assert!(read.contains(told), "{told}: {read}");
    }
    let called =
        site.uwf(&["thread", "show", &thread]).ok().json()["child"]["thread"].as_str().unwrap().to_owned();
    let read = site.uwf(&["thread", "read", &called]).ok().out;
    assert!(read.contains("**Called by:** `solve-issue` for role `developer`"), "{read}");
    let diff = site.uwf(&["step", "diff", &format!("{thread}:2"), "--stat"]).ok().out;
    assert!(diff.contains("add.sh"), "{diff}");

    site.uwf(&["cas", "gc", "--force"]).ok();
    site.verify();
    let file = site.write("t.jsonl", "");
    std::fs::remove_file(&file).unwrap();
    site.uwf(&["thread", "export", &thread, "-o", &file]).ok();
    let other = Site::new();
    other.uwf(&["thread", "import", &file]).ok();
    other.verify();
    assert_eq!(other.uwf(&["thread", "read", &thread]).ok().out.matches("### Step 2.").count(), 7);
    let step = format!("{thread}:2");
    let undone = site.uwf(&["undo", &step, "--partial"]).ok();
    assert!(undone.out.contains("add.sh") && file_has_two(&site), "{undone:?}");
}

fn file_has_two(site: &Site) -> bool {
    file(site, "add.sh").contains("for n in \"$1\" \"$2\"; do")
}
