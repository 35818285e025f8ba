//! The tools of `uwf mcp`: names, words and schemas, and what is read of a call's arguments.
//!
//! Pure but for the list of workflows, which a client is told with the tools.

use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::workflow::{self, WorkflowError};
use uwf_store::{Hash, Store};

/// The longest task or answer, in bytes.
pub(super) const LONGEST: usize = 100_000;
/// How long a client waits for a result where it does not say.
const WAIT: u64 = 50;
/// The longest time that it may wait.
const MOST: u64 = 3_600;

/// A registered workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offered {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) hash: Hash,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Workflows,
    Start(Start),
    Status { thread: String },
    Answer { thread: String, text: String },
    Result { thread: String, wait_seconds: u64 },
    Stop { thread: String },
}

/// What begins.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    pub(super) workflow: String,
    pub(super) prompt: String,
    pub(super) cwd: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfThread {
    thread: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfAnswer {
    thread: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfResult {
    thread: String,
    wait_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Call {
    /// What a call of the tool `name` asks for.
    ///
    /// # Errors
    /// There is no such tool, or its arguments are others, in words.
    pub(super) fn read(name: &str, arguments: Value) -> Result<Call, String> {
        fn read<T: for<'de> Deserialize<'de>>(arguments: Value) -> Result<T, String> {
            serde_json::from_value(arguments).map_err(|error| format!("wrong arguments: {error}"))
        }
        let call = match name {
            "uwf_workflows" => read(arguments).map(|Nothing {}| Call::Workflows)?,
            "uwf_start" => Call::Start(read(arguments)?),
            "uwf_status" => read(arguments).map(|OfThread { thread }| Call::Status { thread })?,
            "uwf_stop" => read(arguments).map(|OfThread { thread }| Call::Stop { thread })?,
            "uwf_answer" => read(arguments).map(|OfAnswer { thread, text }| Call::Answer { thread, text })?,
            "uwf_result" => read(arguments).map(|OfResult { thread, wait_seconds }| {
                let wait_seconds = wait_seconds.unwrap_or(WAIT).min(MOST);
                Call::Result { thread, wait_seconds }
            })?,
            _ => return Err(format!("there is no tool {name}")),
        };
        let text = match &call {
            Call::Start(Start { prompt: text, .. }) | Call::Answer { text, .. } => text.as_str(),
            _ => return Ok(call),
        };
        match text.len() {
            0 => Err("the text is empty".to_owned()),
            length if length > LONGEST => Err(format!("a text has {LONGEST} bytes at most, not {length}")),
            _ => Ok(call),
        }
    }
}

/// The registered workflows, by name; one that cannot be read has no description.
pub(super) fn registered(store: &Store) -> Result<Vec<Offered>, WorkflowError> {
    // Nothing of a directory hides them.
    let listed = workflow::list(store, std::path::Path::new("/"))?;
    let offered = listed.into_iter().filter_map(|workflow| {
        let hash = workflow.hash?;
        let description = workflow::get(store, &hash).map(|of| of.description).unwrap_or_default();
        Some(Offered { name: workflow.name, description, hash })
    });
    Ok(offered.collect())
}

/// The tools as the protocol lists them.
pub(super) fn listed(workflows: &[Offered]) -> Value {
    let thread = json!({"type": "string", "description": "The thread, as uwf_start gave it"});
    let of_thread = |name: &str, description: &str, reads: bool| {
        tool((name, description, reads), json!({"thread": thread}), &["thread"])
    };
    let wait = json!({
        "type": "integer", "minimum": 0, "maximum": MOST,
        "description": format!("How long to wait for it; {WAIT} unless said"),
    });
    let text = json!({"type": "string", "description": "The answer"});
    let list = "List the workflows that can be started, with what they are for.";
    json!([
        tool(("uwf_workflows", list, true), json!({}), &[]),
        start(workflows),
        of_thread("uwf_status", STATUS, true),
        tool(("uwf_answer", ANSWER, false), json!({"thread": thread, "text": text}), &["thread", "text"]),
        tool(("uwf_result", RESULT, true), json!({"thread": thread, "wait_seconds": wait}), &["thread"]),
        of_thread("uwf_stop", "Stop the run of a thread.", false),
    ])
}

const STATUS: &str = "Tell where a thread stands: running, suspended (it asks something: answer with uwf_answer), idle (stopped \
                      or failed), or end.";
const ANSWER: &str = "Answer what a suspended thread asks, and let it go on in the background.";
const RESULT: &str = "Wait until a thread ends, asks or fails, and give its result. While it still runs after that time, this \
                      says so: call it again.";

/// The tool that begins a thread, with the workflows that there are.
fn start(workflows: &[Offered]) -> Value {
    let names: Vec<&str> = workflows.iter().map(|workflow| workflow.name.as_str()).collect();
    let lines = workflows.iter().map(|workflow| {
        let description = uwf_store::excerpt(workflow.description.trim(), 200).replace('\n', " ");
        format!("\n- {}: {description}", workflow.name)
    });
    let description = format!(
        "Start a workflow on a task. It runs in the background, in several steps by several agents; this returns its \
         thread at once. Workflows:{}",
        lines.collect::<String>()
    );
    let properties = json!({
        "workflow": {"type": "string", "enum": names, "description": "Which one"},
        "prompt": {"type": "string", "description": "The task, in full: it sees nothing of this conversation"},
        "cwd": {"type": "string", "description": "The directory to work in; the first one that is allowed unless said"},
    });
    tool(("uwf_start", &description, false), properties, &["workflow", "prompt"])
}

/// A tool, which `reads` alone or not.
fn tool((name, description, reads): (&str, &str, bool), properties: Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": reads, "openWorldHint": !reads},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_or_told_what_is_wrong() {
        let read = |name: &str, arguments: Value| Call::read(name, arguments);
        let start = Start { workflow: "w".into(), prompt: "p".into(), cwd: None };
        assert_eq!(read("uwf_start", json!({"workflow": "w", "prompt": "p"})), Ok(Call::Start(start)));
        let result = |wait_seconds| Ok(Call::Result { thread: "T".into(), wait_seconds });
        assert_eq!(read("uwf_result", json!({"thread": "T"})), result(WAIT));
        assert_eq!(read("uwf_result", json!({"thread": "T", "wait_seconds": 99_999})), result(MOST));
        assert_eq!(read("uwf_workflows", json!({})), Ok(Call::Workflows));
        let wrong = |name: &str, arguments: Value| read(name, arguments).unwrap_err();
        assert_eq!(wrong("uwf_end", json!({})), "there is no tool uwf_end");
        assert!(wrong("uwf_start", json!({"workflow": "w"})).contains("missing field `prompt`"));
        assert!(wrong("uwf_status", json!({"thread": "T", "more": 1})).contains("unknown field `more`"));
        assert!(wrong("uwf_answer", json!({"thread": "T", "text": ""})).contains("empty"));
        let long = "x".repeat(LONGEST + 1);
        assert!(wrong("uwf_answer", json!({"thread": "T", "text": long})).contains("100000 bytes at most"));
    }

    #[test]
    fn each_tool_that_is_listed_is_read() {
        let hash = "1Z781TDN4X2P5".parse().unwrap();
        let offered = Offered { name: "w".to_owned(), description: "Does\nthings".to_owned(), hash };
        let listed = listed(&[offered]);
        for tool in listed.as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            let read = Call::read(name, json!({})).map(|_| String::new()).unwrap_or_else(|error| error);
            assert!(!read.contains("no tool"), "{name}");
        }
        assert!(listed[1]["description"].as_str().unwrap().ends_with("Workflows:\n- w: Does things"));
        assert_eq!(listed[1]["inputSchema"]["properties"]["workflow"]["enum"], json!(["w"]));
    }
}
