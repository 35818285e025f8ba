//! The model of `modelOverrides.extract`: asked once, in JSON mode, for the fields of an answer that is none.

use serde_json::{Value, json};

use crate::endpoint::{Endpoint, text};
use crate::site::{Said, Site, example};

const PROSE: &str = "The change is wrong: add.sh drops the third number.";

/// A reviewer who never writes fields, and an extractor that says `fields`.
fn run(site: &Site, configured: bool, fields: &'static str) -> (Said, Vec<Value>) {
    let endpoint = Endpoint::new(move |_, asked| match asked.json()["model"].as_str() {
        Some("small-1") => (200, text(fields)),
        _ => (200, text(PROSE)),
    });
    let url = &endpoint.url;
    let overrides = if configured { "modelOverrides: { extract: small }\n" } else { "" };
    site.write(
        "home/.uwf/config.yaml",
        &format!(
            "providers: {{ p: {{ baseUrl: {url} }} }}\nmodels:\n  small: {{ provider: p, name: small-1 }}\n  big: {{ provider: p, name: big-1 }}\ndefaultModel: big\n{overrides}"
        ),
    );
    let workflow = example("solve-issue/workflow.yaml");
    let said = site.agent(&["run", &workflow, "--role", "reviewer", "-p", "Look", "--format", "json"]);
    let asked = endpoint.asked().iter().map(crate::endpoint::Asked::json).collect();
    (said, asked)
}

#[test]
fn it_is_asked_after_the_corrections_and_recorded_apart() {
    let site = Site::new();
    let (said, asked) =
        run(&site, true, "{\"$status\": \"rejected\", \"why\": \"add.sh drops the third number\"}");
    let reply = said.ok().json();
    assert_eq!(reply["frontmatter"]["why"], "add.sh drops the third number");
    assert_eq!(reply["body"], PROSE);
    assert_eq!(asked.len(), 4, "three answers and one extraction");
    let last = &asked[3];
    assert_eq!(last["response_format"], json!({"type": "json_object"}));
    assert_eq!((last["messages"].as_array().unwrap().len(), last.get("tools")), (2, None));
    assert!(last["messages"][1]["content"].as_str().unwrap().contains(PROSE));
    assert!(asked[..3].iter().all(|asked| asked.get("response_format").is_none()));
    let node =
        |hash: &Value| site.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json()["payload"].clone();
    let detail = node(&reply["detailHash"]);
    let kinds: Vec<Value> =
        detail["messages"].as_array().unwrap().iter().map(|hash| node(hash)["kind"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "extract").count(), 3, "{kinds:?}");
    assert_eq!(detail["settings"]["extract"], "small-1");
    site.verify();
}

#[test]
fn what_it_says_is_judged_like_any_answer() {
    let site = Site::new();
    let (said, asked) = run(&site, true, "{\"$status\": \"rejected\", \"why\": 7}");
    assert_eq!(asked.len(), 4);
    let reply = said.code(3).json();
    assert!(reply["errorMessage"].as_str().unwrap().contains("no frontmatter"), "{reply}");
}

#[test]
fn it_is_off_unless_it_is_configured() {
    let site = Site::new();
    let (said, asked) = run(&site, false, "{\"$status\": \"approved\"}");
    said.code(3);
    assert_eq!(asked.len(), 3);
}
