//! What is registered, named and configured, seen and given up.

use std::fs;

use serde_json::json;

use super::command_line::CommandLine;
use uwf_engine::fixture::{FLOW, Place};

#[test]
fn workflows_are_listed_with_their_files_and_given_up_by_name() {
    let place = Place::new();
    fs::create_dir(place.project().join("below")).unwrap();
    fs::write(place.project().join("other.yaml"), FLOW.replace("name: flow", "name: other")).unwrap();
    let hash = place.uwf(&["workflow", "add", "other.yaml"]).json()["hash"].clone();
    let file = place.project().join(".workflows/flow.yaml").display().to_string();
    assert_eq!(
        place.uwf(&["workflow", "list"]).json(),
        json!([
            {"name": "flow", "hash": "(local)", "origin": "local", "path": file},
            {"name": "other", "hash": hash, "origin": "registry"},
        ])
    );
    let text = place.on_terminal(&["workflow", "list"]).out;
    assert!(text.contains("flow   (local)        .workflows/flow.yaml\n"), "{text}");

    let removed = place.uwf(&["workflow", "rm", "other"]);
    assert_eq!(removed.json(), json!({"name": "other", "hash": hash, "removed": true}));
    let again = place.uwf(&["workflow", "rm", "other"]);
    assert!(again.exit == 1 && again.err.starts_with("error: no workflow `other`"), "{again:?}");
    let local = place.uwf(&["workflow", "rm", "flow"]);
    assert!(
        local.err.contains("`flow` is a file, and not registered\n  hint: remove the file: rm /"),
        "{local:?}"
    );
}

#[test]
fn what_is_shown_is_a_workflow_file_again() {
    let place = Place::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    for name in ["solve-issue", "develop", "report", "plan-and-review", "debate"] {
        let file = format!("{examples}/{name}/workflow.yaml");
        let shown = place.on_terminal(&["workflow", "show", &file]).out;
        assert!(shown.contains(&format!(", from {file}\n")) && !shown.contains("null"), "{shown}");
        let hash = place.uwf(&["workflow", "show", &file]).json()["hash"].clone();
        let read = place.run(&["workflow", "validate", "-"], &shown, false);
        assert_eq!(read.json()["hash"], hash, "{name}: {}\n{shown}", read.err);
        place.uwf(&["workflow", "add", &file]);
        let registered = place.on_terminal(&["workflow", "show", name]).out;
        assert_eq!(registered.split_once('\n').unwrap().1, shown.split_once('\n').unwrap().1, "{name}");
    }
}

#[test]
fn a_variable_is_given_up() {
    let place = Place::new();
    let node = place.uwf(&["workflow", "add", ".workflows/flow.yaml"]).json()["hash"].clone();
    place.uwf(&["var", "set", "@me/x", node.as_str().unwrap()]);
    let removed = place.uwf(&["var", "rm", "@me/x"]);
    assert_eq!(removed.json(), json!({"name": "@me/x", "values": [node], "removed": true}));
    assert!(place.uwf(&["var", "rm", "@me/x"]).err.starts_with("error: no such variable: @me/x"));
    let thread = place.flow_thread();
    let head = format!("@uwf/thread/{thread}");
    let kept = place.uwf(&["var", "rm", &head]);
    assert!(
        kept.exit == 1 && kept.err.contains("is kept by the engine\n  hint: `uwf thread rm`"),
        "{kept:?}"
    );
    assert_eq!(place.uwf(&["thread", "show", thread.as_str()]).exit, 0);
}

#[test]
fn the_configuration_is_edited_and_nothing_bad_counts() {
    let place = Place::new();
    let home = place.homes().uwf;
    let file = home.join("config.yaml");
    let path = place.uwf(&["config", "path"]).json();
    assert_eq!(path, json!({"path": file.display().to_string(), "exists": false}));
    let nobody = place.uwf(&["config", "edit"]);
    assert!(nobody.exit == 1 && nobody.err.contains("neither VISUAL nor EDITOR"), "{nobody:?}");
    assert!(!home.join("config.edited.yaml").exists(), "what nobody wrote is not kept");

    let edited = |script: &str| place.with_variable("EDITOR", script, &["config", "edit"]);
    assert_eq!(edited("true").json()["changed"], false);
    assert!(!file.exists());
    let good = edited("f() { echo 'maxDepth: 2 # mine' > \"$1\"; }; f");
    assert_eq!(good.json()["changed"], true, "{good:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "maxDepth: 2 # mine\n");

    let bad = edited("f() { echo 'maxDepth: many' > \"$1\"; }; f");
    let draft = home.join("config.edited.yaml");
    assert!(bad.exit == 1 && bad.err.contains(&format!("{}:1:11: ", draft.display())), "{bad:?}");
    assert!(bad.err.contains("goes on with it"), "{bad:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "maxDepth: 2 # mine\n");
    let failed = edited("false");
    assert!(failed.exit == 1 && failed.err.contains("the editor `false` failed"), "{failed:?}");
    let mended = edited("sed -i s/many/3/");
    assert_eq!(
        (mended.exit, fs::read_to_string(&file).unwrap().as_str()),
        (0, "maxDepth: 3\n"),
        "{mended:?}"
    );
    assert!(!draft.exists());
}
