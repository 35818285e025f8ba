//! Workflows after they are registered: what they were, how they look, what editors know.

use serde_json::json;
use uwf_store::Hash;

use super::command_line::CommandLine;
use uwf_engine::fixture::{FLOW, Place};
use uwf_engine::thread::{self, Status, head, record_failure};

fn add(place: &Place, description: &str) -> Hash {
    let text = FLOW.replace("For tests", description);
    std::fs::write(place.project().join("w.yaml"), text).unwrap();
    place.uwf(&["workflow", "add", "w.yaml"]).json()["hash"].as_str().unwrap().parse().unwrap()
}

#[test]
fn a_name_has_a_history_and_a_way_back() {
    let place = Place::new();
    let [a, b, c] = ["first", "second", "third"].map(|description| add(&place, description));
    let told = place.on_terminal(&["workflow", "history", "flow"]).out;
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[1].starts_with(&format!("0  {c}  2027-01-15 08:00:00  third")), "{told}");
    assert!(lines[3].starts_with(&format!("2  {a}")), "{told}");
    let back = place.uwf(&["workflow", "rollback", "flow"]).json();
    assert_eq!(back, json!({"name": "flow", "hash": b, "before": c}));
    let to = place.on_terminal(&["workflow", "rollback", "flow", "--to", a.as_str()]).out;
    assert_eq!(to, format!("flow {a} (was {b})\n"));
    assert_eq!(place.uwf(&["var", "get", "@uwf/registry/flow"]).json()["value"], json!(a));
    assert_eq!(place.uwf(&["workflow", "rollback", "flow", "--to", "2"]).json()["hash"], json!(c));
    let history = place.uwf(&["workflow", "history", "flow"]).json();
    assert_eq!((&history[0]["n"], &history[0]["description"]), (&json!(0), &json!("third")));
    let far = place.uwf(&["workflow", "rollback", "flow", "--to", "99"]);
    assert_eq!(far.exit, 1);
    assert!(
        far.err.contains("does not go back to entry 99\n  hint: `uwf workflow history flow`"),
        "{}",
        far.err
    );
    assert!(place.uwf(&["workflow", "history", "flwo"]).err.contains("hint: there is: flow"));
    assert_eq!(place.uwf(&["workflow", "rollback", "flow", "--to", "soon"]).exit, 1);
}

/// Notes are for people: they change neither what is stored nor the exit status.
#[test]
fn what_is_probably_not_meant_is_told_wherever_a_file_is_taken() {
    let place = Place::new();
    let hash = add(&place, "noted");
    let noted = FLOW.replace("For tests", "noted\nversion: 1").replace("Write it.", "'Write it.{{x}}'");
    std::fs::write(place.project().join("w.yaml"), noted).unwrap();
    let said = "w.yaml:3:1: unknown key `version`, ignored\n  hint: there is: ";
    for command in [vec!["workflow", "validate", "w.yaml"], vec!["workflow", "add", "w.yaml"]] {
        let ran = place.uwf(&command);
        assert!(ran.exit == 0 && ran.err.contains(said) && ran.err.contains("names `x`"), "{ran:?}");
        assert_eq!(ran.err.matches("warning: ").count(), 2, "{ran:?}");
    }
    let ran = place.uwf(&["thread", "start", "w.yaml", "-p", "x", "-q"]);
    assert!(ran.exit == 0 && ran.err.contains(said), "{ran:?}");
    let same = FLOW.replace("For tests", "noted\nversion: 1");
    std::fs::write(place.project().join("w.yaml"), same).unwrap();
    assert_eq!(place.uwf(&["workflow", "add", "w.yaml"]).json()["hash"], json!(hash));
}

#[test]
fn a_graph_is_drawn_with_or_without_a_thread() {
    let place = Place::new();
    insta::assert_snapshot!(place.uwf(&["workflow", "graph", "flow"]).out);
    let json = place.uwf(&["workflow", "graph", "flow", "--as", "dot", "--format", "json"]).json();
    assert!(json["graph"].as_str().unwrap().starts_with("digraph \"flow\" {\n") && json["language"] == "dot");

    let (store, thread) = (place.store(), place.flow_thread());
    let of =
        |args: &[&str]| place.uwf(&[&["workflow", "graph", "--thread", thread.as_str()], args].concat()).out;
    assert!(of(&[]).contains("class n2 current\n") && !of(&[]).contains("done\n"), "{}", of(&[]));
    let start = head(&store, &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    thread::advance(&store, &thread, &start, &step, &Status::Idle).unwrap();
    assert!(of(&[]).contains("class n2 done\n") && of(&[]).contains("class n1 current\n"), "{}", of(&[]));
    record_failure(&store, &thread, "checker", &step).unwrap();
    assert!(of(&[".workflows/flow.yaml"]).contains("class n1 failed\n"));
    thread::advance(&store, &thread, &step, &step, &Status::Ended { completed_at: 1 }).unwrap();
    assert!(of(&[]).contains("class n2,n3 done\n"), "{}", of(&[]));
    assert_eq!(place.uwf(&["workflow", "graph"]).exit, 2);
}

#[test]
fn editors_get_a_schema() {
    let place = Place::new();
    let printed = place.uwf(&["workflow", "schema"]);
    assert_eq!(printed.json(), uwf_workflow::json_schema::schema());
    assert!(place.uwf(&["workflow", "schema", "--format", "yaml"]).out.contains("title: uwf workflow\n"));
}
