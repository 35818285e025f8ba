//! A run is told once: what listeners hear is in the journal, and the journal alone says what the run has come to.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::budget::Budget;
use crate::context_window::ContextWindow;
use crate::provider::any_order::RunFixture;
use crate::settings::Settings;

fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

fn read(lines: usize) -> Vec<Value> {
    (0..lines).map(|n| call("read_file", json!({"path": "long", "offset": n + 1}))).collect()
}

fn answer(text: &str) -> Value {
    json!({ "content": text, "usage": {"input_tokens": 400, "output_tokens": 20} })
}

const FINE: &str = "---\n$status: done\n---\nFine.";

/// How the settings differ.
pub(crate) type Change = fn(&mut Settings);

/// Runs that go through everything that a state is made of.
pub(crate) fn scripts() -> Vec<(&'static str, Change, Vec<Value>)> {
    let write = call("write_file", json!({"path": "long", "content": "a long line of text\n".repeat(100)}));
    let two = json!({"tool_calls": [{"name": "list_dir"}, {"name": "glob", "arguments": {"pattern": "*"}}]});
    let small: Change = |settings| settings.window.size = 2000;
    let few: Change = |settings| settings.limits.turns = 3;
    let circle = std::iter::repeat_n(call("list_dir", json!({})), 6);
    let refused = json!({"error": {"status": 400, "code": "context_length_exceeded"}});
    vec![
        ("tools", |_| (), vec![write.clone(), two.clone(), answer(FINE)]),
        ("corrections", |_| (), vec![answer(""), answer("It is fine."), answer(""), answer(FINE)]),
        ("a failure", |_| (), vec![answer("No."), answer("No."), answer("No.")]),
        (
            "compaction",
            small,
            [vec![write.clone()], read(3), vec![answer("I read it."); 3], vec![answer(FINE)]].concat(),
        ),
        ("a refusal", |_| (), [vec![write], read(2), vec![refused, answer(FINE)]].concat()),
        ("a grace turn", few, vec![two.clone(), call("list_dir", json!({})), two, answer(FINE)]),
        ("a circle", |_| (), circle.chain([answer(FINE)]).collect()),
    ]
}

/// A listener that compares what it is told with the journal.
struct Reader {
    dir: PathBuf,
    journal: Option<PathBuf>,
    /// What the run had come to after each entry that was told.
    states: Vec<String>,
    kinds: Vec<String>,
}

impl Reader {
    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.journal.as_ref().unwrap()).unwrap();
        assert!(text.ends_with('\n'), "its last line is complete");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn on_notice(&mut self, notice: &Notice<'_>) {
        match notice {
            Notice::Opened { session, .. } => {
                let paths = std::fs::read_dir(&self.dir).unwrap().map(|entry| entry.unwrap().path());
                self.journal = paths
                    .into_iter()
                    .find(|path| path.to_string_lossy().ends_with(&format!("{session}.jsonl")));
            }
            Notice::Entry(entry, state) => {
                let (mut last, told) = (self.lines().pop().unwrap(), json!(entry));
                if last["entry"] == "answered" {
                    last["raw"] = Value::Null;
                }
                assert_eq!(last, told, "it is the last line of the journal");
                self.kinds.push(told["entry"].as_str().unwrap().to_owned());
                self.states.push(format!("{state:?}"));
            }
            Notice::Progress(_) | Notice::Stopped { .. } => {}
        }
    }
}

/// The state after each of these lines, under the settings of the run.
fn states(lines: Vec<Value>, settings: &Settings) -> Vec<String> {
    let declared = lines[0]["tools"].as_array().unwrap().iter();
    let bytes =
        |tool: &Value| tool["description"].as_str().unwrap().len() + tool["parameters"].to_string().len();
    let window = ContextWindow::new(settings.window.size, declared.map(bytes).sum());
    let mut state = RunState::new(Budget::new(settings.limits), window, settings.prices.clone());
    let read = |line: Value| {
        state.apply(&serde_json::from_value(line).unwrap()).unwrap();
        format!("{state:?}")
    };
    lines.into_iter().map(read).collect()
}

#[test]
fn what_is_told_is_on_disk_and_what_is_on_disk_says_what_the_run_has_come_to() {
    let mut seen = Vec::new();
    for (name, change, turns) in scripts() {
        let fixture = RunFixture::new();
        let (dir, settings) = (fixture.journals(), std::cell::RefCell::new(None));
        let mut reader = Reader { dir, journal: None, states: Vec::new(), kinds: Vec::new() };
        let keep = |set: &mut Settings| {
            change(set);
            *settings.borrow_mut() = Some(set.clone());
        };
        fixture.run_with(&turns, &keep, &mut |notice| reader.on_notice(&notice)).unwrap();
        let again = states(reader.lines(), settings.borrow().as_ref().unwrap());
        let ([.., last], [.., told]) = (again.as_slice(), reader.states.as_slice()) else { panic!("{name}") };
        assert_eq!(told, last, "{name}");
        assert_eq!(reader.states, again[again.len() - reader.states.len()..], "{name}");
        seen.extend(reader.kinds);
    }
    for kind in [
        "said",
        "asked",
        "answered",
        "started",
        "finished",
        "window",
        "left-out",
        "summed-up",
        "ended",
        "replied",
    ] {
        assert!(seen.iter().any(|seen| seen == kind), "no run has come to {kind}: {seen:?}");
    }
}
