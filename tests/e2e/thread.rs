//! A whole thread: three roles, a review loop, one script for all of them.

use crate::site::{AGENT, Site, example};

pub(crate) const TASK: &str = "`sh add.sh 1 2 3` prints 3: let it add three numbers and more.";

/// The thread ended, the project is mended, and the record tells both.
pub(crate) fn assert_solved(site: &Site, thread: &str) {
    let shown = site.uwf(&["thread", "show", thread]).ok().json();
    assert_eq!(shown["status"], "end");
    let tests = site.command("sh").arg("test.sh").output().unwrap();
    assert_eq!(String::from_utf8(tests.stdout).unwrap(), "all passed\n");
    let listed = site.uwf(&["step", "list", thread]).ok().json();
    let steps = listed["steps"].as_array().unwrap();
    let roles: Vec<&str> = steps.iter().filter_map(|step| step["role"].as_str()).collect();
    assert_eq!(roles, ["planner", "developer", "reviewer", "developer", "reviewer"]);
    site.verify();
}

#[test]
fn from_start_to_end_and_a_person_can_read_what_happened() {
    let site = Site::new();
    site.project("solve-issue/project");
    let thread = site.start(&example("solve-issue/workflow.yaml"), TASK);
    let agent = format!("{AGENT} --mock {}", example("solve-issue/mock.yaml"));
    let said = site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).ok();
    let steps = said.json();
    assert_eq!(steps.as_array().unwrap().len(), 5);
    assert_eq!(steps[4]["done"], true);
    assert_solved(&site, &thread);

    let read = site.uwf(&["thread", "read", &thread]).ok().out;
    for part in
        [TASK, "planner", "developer", "reviewer", "add 1 2 3 4 gives 6", "The tests pass", "approved"]
    {
        assert!(read.contains(part), "{part:?} is not in:\n{read}");
    }
}

#[test]
fn step_by_step_is_the_same_as_at_once() {
    let site = Site::new();
    site.project("solve-issue/project");
    let thread = site.start(&example("solve-issue/workflow.yaml"), TASK);
    let agent = format!("{AGENT} --mock {}", example("solve-issue/mock.yaml"));
    let mut roles = Vec::new();
    for _ in 0..5 {
        let said = site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok().json();
        roles.push(said["currentRole"].as_str().unwrap_or("-").to_owned());
    }
    assert_eq!(roles, ["developer", "reviewer", "developer", "reviewer", "-"]);
    assert_solved(&site, &thread);
    site.uwf(&["thread", "exec", &thread, "--agent", &agent]).fails(1, &[&thread, "end"]);
}

#[test]
fn a_later_visit_of_a_role_begins_with_the_bytes_of_the_earlier_one() {
    let site = Site::new();
    site.project("solve-issue/project");
    let thread = site.start(&example("solve-issue/workflow.yaml"), TASK);
    let agent = format!("{AGENT} --mock {}", example("solve-issue/mock.yaml"));
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).ok();
    let listed = site.uwf(&["step", "list", &thread]).ok().json();
    let prompts: Vec<String> = listed["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["role"] == "developer")
        .map(|step| {
            let node = site.uwf(&["cas", "get", step["hash"].as_str().unwrap()]).ok().json();
            let prompt = node["payload"]["assembledPrompt"].as_str().unwrap().to_owned();
            site.uwf(&["cas", "get", &prompt]).ok().json()["payload"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(prompts[1].starts_with(&prompts[0]), "{}\n=====\n{}", prompts[0], prompts[1]);
}
