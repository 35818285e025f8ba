//! A first workflow: written by `uwf init`, and played to its end by the script beside it.

use std::fs;

use crate::site::{AGENT, Site};

#[test]
fn every_template_runs_to_its_end() {
    for (template, steps) in [("single", 1), ("review-loop", 4), ("debate", 6)] {
        let site = Site::new();
        let written = site.uwf(&["init", "--template", template, "first"]).ok().json();
        assert_eq!(written["mock"], ".workflow/first.mock.yaml", "{template}");
        for key in ["workflow", "mock"] {
            let text = fs::read_to_string(site.workspace().join(written[key].as_str().unwrap())).unwrap();
            assert!(!text.contains("NAME"), "{template}: {text}");
        }
        let valid = site.uwf(&["workflow", "validate", ".workflow/first.yaml"]).ok();
        assert_eq!((&valid.json()["name"], valid.err.as_str()), (&"first".into(), ""), "{template}");
        let listed = site.uwf(&["workflow", "list"]).ok().json();
        assert_eq!(listed.as_array().unwrap().len(), 1, "the script is no workflow: {listed}");

        let thread = site.start("first", "Look around.");
        let agent = format!("{AGENT} --mock .workflow/first.mock.yaml");
        let ran = site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).ok().json();
        assert_eq!(ran.as_array().unwrap().last().unwrap()["status"], "end", "{template}: {ran}");
        let read = site.uwf(&["step", "list", &thread]).ok().json();
        assert_eq!(read["steps"].as_array().unwrap().len(), 1 + steps, "{template}");
        site.verify();
    }
}

#[test]
fn nothing_is_written_over_and_no_home_is_needed() {
    let site = Site::new();
    let init = |args: &[&str]| {
        let mut command = site.command(crate::site::UWF);
        command.env_remove("HOME").arg("init").args(args);
        crate::site::Said::of(command.output().unwrap())
    };
    let told = init(&["--format", "text"]).ok().out;
    let run = "  uwf run review-loop -p \"Make the tests pass\" --mock .workflow/review-loop.mock.yaml\n";
    assert!(told.starts_with(".workflow/review-loop.yaml\n") && told.contains(run), "{told}");
    let file = site.workspace().join(".workflow/review-loop.yaml");
    fs::write(&file, "mine").unwrap();
    init(&[]).fails(1, &[".workflow/review-loop.yaml is there already", "uwf init NAME"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    fs::remove_file(&file).unwrap();
    init(&[]).fails(1, &[".workflow/review-loop.mock.yaml is there already"]);
    assert!(!file.exists(), "one is not written where the other cannot be");
    for name in ["a/b", "..", "-x", "x.mock", ".hidden"] {
        assert_ne!(init(&["--", name]).code, 0, "{name}");
    }
    init(&["--template", "odd"]).code(2);
}
