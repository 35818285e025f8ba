//! The key is in nothing that is shown or kept, wherever an endpoint or a command says it.

use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::site::{Said, Site, find};

const KEY: &str = "kept-key-0123456789";
const WORKFLOW: &str = "name: told\ndescription: d\nroles:\n  worker:\n    goal: g\n    frontmatter: { type: object, properties: { $status: { const: done } }, required: [$status] }\ngraph:\n  $START:\n    new: { role: worker, prompt: Work. }\n  worker:\n    done: { role: $END, prompt: Done. }\n";

/// It prints the key, at once and in two pieces, makes a file of that name, and ends with an error.
const COMMAND: &str =
    "k=$(cat key); echo $k; printf %s ${k%6789}; sleep 0.3; echo 6789; touch $k; ls; cat $k/x";

/// What the model asks for: a command, files of that name, and a tool of that name. Arguments hold the key with an escape too.
fn calls() -> [(&'static str, String); 5] {
    let escaped = format!("{{\"path\": \"\\u006b{}\"}}", &KEY[1..]);
    [
        ("run_command", json!({"command": COMMAND, "description": KEY}).to_string()),
        ("read_file", json!({"path": KEY}).to_string()),
        ("read_file", escaped),
        ("list_dir", "{}".to_owned()),
        (KEY, json!({KEY: KEY}).to_string()),
    ]
}

const DONE: &str = "---\n$status: done\n---\n";

/// A reply that has the key in every field that may hold any text.
fn reply(wire: &str, is_last: bool) -> Value {
    let text = if is_last { format!("{DONE}{KEY}") } else { KEY.to_owned() };
    let calls = if is_last { Vec::new() } else { calls().to_vec() };
    let ids = |at: usize| format!("{KEY}-{at}");
    let calls = calls.into_iter().enumerate();
    match wire {
        "chat" => {
            let calls: Vec<Value> = calls
                .map(|(at, (name, arguments))| json!({"id": ids(at), "type": "function", "function": {"name": name, "arguments": arguments}, "extra_content": KEY}))
                .collect();
            let message = json!({"role": "assistant", "content": text, "reasoning_content": KEY, "reasoning_details": [{"type": "reasoning.encrypted", "data": KEY}], "tool_calls": calls});
            json!({"id": KEY, "model": KEY, "system_fingerprint": KEY, "choices": [{"index": 0, "message": message, "finish_reason": KEY}]})
        }
        "messages" => {
            let mut content = vec![
                json!({"type": "thinking", "thinking": KEY, "signature": KEY}),
                json!({"type": "text", "text": text}),
            ];
            content.extend(calls.map(|(at, (name, arguments))| {
                let input: Value = serde_json::from_str(&arguments).unwrap();
                json!({"type": "tool_use", "id": ids(at), "name": name, "input": input})
            }));
            json!({"id": KEY, "type": "message", "role": "assistant", "model": KEY, "content": content, "stop_reason": KEY, "usage": {"input_tokens": 1, "output_tokens": 1}})
        }
        _ => {
            let part = json!({"type": "output_text", "text": text, "annotations": [KEY]});
            let mut output = vec![
                json!({"type": "reasoning", "id": KEY, "summary": [{"type": "summary_text", "text": KEY}], "encrypted_content": KEY}),
                json!({"type": "message", "id": KEY, "role": "assistant", "status": "completed", "content": [part]}),
            ];
            output.extend(calls.map(|(at, (name, arguments))| {
                json!({"type": "function_call", "id": ids(at), "call_id": ids(at), "name": name, "arguments": arguments, "status": "completed"})
            }));
            json!({"id": KEY, "object": "response", "model": KEY, "status": "completed", "output": output})
        }
    }
}

/// Runs an agent with this endpoint; `done` tells whether it succeeds.
fn run(wire: &str, answer: impl FnMut(usize) -> (u16, Value) + Send + 'static) -> Said {
    let mut answer = answer;
    let endpoint = Endpoint::new(move |number, _| answer(number));
    let site = Site::new();
    let workflow = site.write("w.yaml", WORKFLOW);
    site.write("work/key", KEY);
    let (url, events) = (&endpoint.url, site.write("events/e.jsonl", ""));
    let settings = format!(
        "provider: {{ baseUrl: {url}, wire: {wire}, apiKeyEnv: SOME_KEY, retry: {{ tries: 2, seconds: 1 }} }}\nmodel: m\n"
    );
    site.write("home/.uwf/agents/builtin.yaml", &settings);
    let mut command = site.command(crate::site::AGENT);
    command.args(["run", &workflow, "--role", "worker", "-p", "Work", "--events", &events]);
    let said = Said::of(command.env("SOME_KEY", KEY).output().unwrap());
    assert!(!endpoint.asked().is_empty(), "{}", said.err);
    for text in [&said.out, &said.err] {
        assert!(!text.contains(KEY), "{wire}: {text}");
    }
    let kept = site.home();
    for dir in [kept.join(".uwf"), kept.join(".ocas"), kept.with_file_name("events")] {
        assert_eq!(find(&dir, KEY.as_bytes()), None, "{wire}");
    }
    said
}

#[test]
fn a_key_that_an_endpoint_and_commands_say_is_kept_nowhere() {
    for wire in ["chat", "responses", "messages"] {
        let said = run(wire, move |number| (200, reply(wire, number > 0)));
        assert!(said.err.contains("***") || said.out.contains("***"), "{wire}: {} {}", said.out, said.err);
    }
}

#[test]
fn a_key_that_an_endpoint_says_in_its_errors_is_kept_nowhere() {
    let error = json!({"type": "error", "error": {"type": KEY, "code": KEY, "param": KEY, "message": format!("bad key {KEY}")}, "request_id": KEY});
    for wire in ["chat", "responses", "messages"] {
        for status in [200, 400, 401, 429, 503] {
            let error = error.clone();
            run(wire, move |_| (status, error.clone()));
        }
    }
}
