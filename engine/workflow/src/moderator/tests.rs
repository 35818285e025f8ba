//! The cases of the format, then what is ours: error texts and the two reserved targets.

use serde_json::{Value, json};

use super::{END, Edges, Graph, Route, RouteError, START, SUSPEND, Target, route};

fn graph() -> Graph {
    serde_json::from_value(json!({
        "$START": {"new": {"role": "finder", "prompt": "Find it."}},
        "finder": {
            "found": {"role": "fixer", "prompt": "Mend {{cause}}", "location": "{{dir}}"},
            "unclear": {"role": "$SUSPEND", "prompt": "Which {{what}}?"},
            "nothing": {"role": "$END", "prompt": "{{why}}"},
            "broken": {"role": "fixer", "prompt": "{{#a}}x"},
        },
    }))
    .unwrap()
}

fn told(role: &str, output: &Value) -> String {
    let error = route(&graph(), role, output).unwrap_err();
    format!("{error}\n  {}", error.hint())
}

/// A case says `"free"` where the format leaves the answer open; then anything but a panic will do.
#[test]
fn the_cases_of_the_format() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../testdata/moderator.json")).unwrap();
    for case in &cases {
        let note = &case["note"];
        let graph: Graph = serde_json::from_value(case["graph"].clone()).unwrap();
        let result = route(&graph, case["last"]["role"].as_str().unwrap(), &case["last"]["output"]);
        match &case["expect"] {
            Value::String(free) if free == "free" => {}
            Value::String(_) => assert!(result.is_err(), "{note}: {result:?}"),
            expected => {
                let Route { target, prompt, location } = result.unwrap_or_else(|e| panic!("{note}: {e}"));
                let role = match &target {
                    Target::Role(role) => role.as_str(),
                    Target::End => END,
                    Target::Suspend => SUSPEND,
                };
                let got = json!({"role": role, "prompt": prompt, "location": location});
                assert_eq!(&got, expected, "{note}");
            }
        }
    }
    assert!(cases.len() >= 46, "only {} cases", cases.len());
}

#[test]
fn targets() {
    let to = |role: &str, output: Value| route(&graph(), role, &output).unwrap();
    assert_eq!(to(START, json!({"$status": "new"})).target, Target::Role("finder".to_owned()));
    let suspended = to("finder", json!({"$status": "unclear", "what": "branch"}));
    assert_eq!((suspended.target, suspended.prompt.as_str()), (Target::Suspend, "Which branch?"));
    let ended = to("finder", json!({"$status": "nothing", "why": "No bug."}));
    assert_eq!((ended.target, ended.prompt.as_str(), ended.location), (Target::End, "No bug.", None));
    let located = to("finder", json!({"$status": "found", "cause": "it", "dir": "sub/x"}));
    assert_eq!(located.location.as_deref(), Some("sub/x"));
}

#[test]
fn errors_name_what_there_is() {
    let told = [
        told("findr", &json!({"$status": "found"})),
        told("finder", &json!({"$status": "fond"})),
        told("finder", &json!({"$status": 3})),
        told("finder", &json!({})),
        told("finder", &json!({"$status": "nothing", "why": " \n"})),
        told("finder", &json!({"$status": "broken"})),
        told(START, &json!({"$status": "resume"})),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_location_that_does_not_render_is_named() {
    let mut graph = graph();
    let Edges::ByStatus(edges) = graph.get_mut("finder").unwrap() else { unreachable!("as written above") };
    edges.get_mut("found").unwrap().0[0].location = Some("{{dir".to_owned());
    let error = route(&graph, "finder", &json!({"$status": "found"})).unwrap_err();
    assert!(matches!(error, RouteError::Template { field: "location", .. }), "{error}");
}
