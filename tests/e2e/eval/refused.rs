//! Tasks and scripts that cannot be used: each is refused in words, before anything is run, and nothing of the store changes.

use std::os::unix::fs::symlink;

use super::*;

/// Every node and every name of a store.
fn all(site: &Site) -> (String, String) {
    let names = site.uwf(&["var", "list", "--format", "json"]).out;
    (names, site.uwf(&["cas", "stats", "--format", "json"]).out)
}

#[test]
fn bad_tasks_and_scripts_are_refused_and_nothing_is_changed() {
    let site = Site::new();
    double(&site);
    eval(&site, &["run", "double", "--offline", "--name", "kept"]).ok();
    let before = all(&site);
    let pipe = |name: &str| {
        let path = site.workspace().join(name);
        fs::remove_file(&path).ok();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path.display().to_string()
    };
    let refused = |args: &[&str], words: &[&str]| {
        // Who opened a pipe would wait for ever.
        let args = [&["60", EVAL, "run"], args, &["--offline"]].concat();
        let mut command = site.command("timeout");
        Said::of(command.args(&args).env("PATH", search_path()).output().unwrap()).fails(1, words);
        assert_eq!(all(&site), before, "{args:?}");
    };
    let task = |name: &str| {
        eval(&site, &["init", name]).ok();
        site.workspace().join(name)
    };
    // Names: of one task twice, of two tasks, and whatever else is wrong with others.
    fs::create_dir(site.workspace().join("other")).unwrap();
    eval(&site, &["init", "other/double"]).ok();
    let twice = "give one of them another `name` in its task.yaml";
    refused(&["double", "other/double"], &["two tasks are called double: ", "/other/double", twice]);
    refused(&["double", "double"], &["two tasks are called double: ", twice]);

    task("piped");
    pipe("piped/judges/small.sh");
    refused(&["piped"], &["`judges/small.sh` is no file", "line 12"]);
    task("fixture");
    pipe("fixture/fixture/pipe");
    refused(&["fixture"], &["fixture/pipe is no file, directory or link"]);
    refused(&["double", "fixture", "piped"], &["2 tasks cannot be run", "fixture/pipe", "`judges/small.sh`"]);
    let circle = task("circle").join("fixture/circle");
    symlink("circle", circle).unwrap();
    refused(&["circle"], &["fixture/circle", "Too many levels of symbolic links"]);
    let script = pipe("script.yaml");
    refused(&["double", "--judge-mock", &script], &["cannot read the mock script", "it is no regular file"]);
    refused(&[&pipe("task.tgz")], &["task.tgz", "it is no regular file"]);
    task("workflow");
    pipe("workflow/workflow.yaml");
    refused(&["workflow"], &["`./workflow.yaml` is no file"]);
    site.verify();
}
