//! What programs are answered, byte by byte: fields may be added, none is removed or renamed.

use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;

use serde_json::json;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status, head};

/// The ids in a text by the order in which they were met first: most hold the name of a directory that changes.
struct Ids(HashMap<String, String>);

impl Ids {
    fn replaced(&mut self, text: &str) -> String {
        let is_id = |word: &&str| {
            let upper = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
            matches!(word.len(), 13 | 26) && word.bytes().all(upper)
        };
        let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_id);
        let mut shown = text.to_owned();
        for word in words {
            let next = format!("<{}>", self.0.len() + 1);
            let name = self.0.entry(word.to_owned()).or_insert(next);
            shown = shown.replace(word, name);
        }
        shown
    }
}

/// How many bytes there are depends on the length of a directory's name, too.
fn without_sizes(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(": ") {
        Some((name, _)) if name.ends_with("\"bytes\"") || name.ends_with("\"size\"") => {
            format!("{name}: …\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Runs command lines and keeps what they print.
struct Transcript<'a> {
    place: &'a Place,
    ids: Ids,
    text: String,
}

impl Transcript<'_> {
    fn uwf(&mut self, args: &[&str]) {
        self.ends(0, args);
    }

    fn ends(&mut self, exit: u8, args: &[&str]) {
        let ran = self.place.uwf(args);
        assert_eq!(ran.exit, exit, "{args:?}: {ran:?}");
        let dir = self.place.project().display().to_string();
        let home = self.place.homes().uwf.display().to_string();
        let text = format!("$ uwf {}\n{}", args.join(" "), ran.out).replace(&dir, "<project>");
        self.text += &self.ids.replaced(&without_sizes(&text.replace(&home, "<home>")));
    }
}

#[test]
fn the_replies_of_the_transcript_have_the_fields_they_always_had() {
    let place = Place::new();
    let mut seen = Transcript { place: &place, ids: Ids(HashMap::new()), text: String::new() };
    std::fs::write(place.project().join("flow.yaml"), uwf_engine::fixture::FLOW).unwrap();
    seen.uwf(&["workflow", "validate", "flow.yaml"]);
    seen.uwf(&["workflow", "add", "flow.yaml"]);
    let other = uwf_engine::fixture::FLOW.replace("For tests", "changed");
    std::fs::write(place.project().join("flow.yaml"), other).unwrap();
    seen.uwf(&["workflow", "add", "flow.yaml"]);
    seen.uwf(&["workflow", "rollback", "flow"]);
    seen.uwf(&["workflow", "history", "flow"]);
    seen.uwf(&["workflow", "list"]);
    seen.uwf(&["workflow", "graph", "flow", "--format", "json"]);
    seen.uwf(&["thread", "start", "flow", "-p", "Do it."]);
    let (store, thread) = (place.store(), place.flow_thread());
    let thread_ = thread.as_str();
    let start = head(&store, &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    thread::advance(&store, &thread, &start, &step, &Status::Idle).unwrap();
    seen.uwf(&["thread", "show", thread_]);
    seen.uwf(&["step", "list", thread_]);
    seen.uwf(&["thread", "read", thread_, "--format", "json"]);
    seen.uwf(&["step", "read", step.as_str(), "--format", "json"]);
    seen.uwf(&["step", "read", step.as_str(), "--prompt", "--format", "json"]);
    seen.uwf(&["step", "fork", step.as_str()]);
    seen.uwf(&["thread", "stop", thread_]);
    seen.uwf(&["thread", "export", thread_, "-o", "t.jsonl"]);
    seen.uwf(&["thread", "import", "t.jsonl"]);
    seen.uwf(&["thread", "cancel", thread_]);
    seen.uwf(&["thread", "rm", thread_]);
    seen.uwf(&["var", "get", "@uwf/registry/flow"]);
    seen.uwf(&["var", "history", "@uwf/registry/flow"]);
    seen.uwf(&["cas", "get", step.as_str()]);
    seen.uwf(&["cas", "verify"]);
    seen.uwf(&["cas", "stats"]);
    seen.uwf(&["cas", "reindex"]);
    seen.uwf(&["cas", "gc", "--dry-run"]);
    seen.uwf(&["config", "set", "defaultAgent", "mine"]);
    seen.uwf(&["config", "get", "defaultAgent"]);
    seen.uwf(&["config", "unset", "defaultAgent"]);
    seen.uwf(&["setup", "--provider", "ollama", "--model", "m", "--agent", "hermes"]);
    seen.uwf(&["log", "list"]);
    seen.uwf(&["log", "clean", "--before", "2030-01-01"]);
    seen.uwf(&["prompt", "list"]);
    seen.uwf(&["models", "openai/gpt-6-sol"]);
    seen.uwf(&["cas", "schema", "list"]);
    std::fs::write(place.homes().ocas.join(format!("nodes/{step}.bin")), "damage").unwrap();
    seen.ends(1, &["cas", "verify"]);
    insta::assert_snapshot!("replies", seen.text);
}

#[test]
fn a_file_whose_name_is_no_text_is_named_as_well_as_may_be() {
    let place = Place::new();
    let thread = place.flow_thread();
    let odd = std::ffi::OsString::from_vec(b"t\xff.jsonl".to_vec());
    let ran =
        place.typed(&["thread".into(), "export".into(), thread.as_str().into(), "-o".into(), odd.clone()]);
    assert_eq!((ran.exit, &ran.json()["file"]), (0, &json!("t\u{fffd}.jsonl")), "{ran:?}");
    assert!(place.project().join(odd).is_file());
}
