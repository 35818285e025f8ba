//! The agent's own records and the provider's key: where the store lies within the workspace, and where a key would be
//! found in an environment.

use std::process::Stdio;

use serde_json::json;

use super::field::{Call, Field, KEY, Who, command};
use crate::site::{AGENT, Said};

const PRIVATE: &str = "the agent's own records";

fn call(tool: &'static str, arguments: serde_json::Value) -> Call {
    Call { id: format!("{tool} {arguments}"), tool, arguments }
}

/// Strict runs no command there (`--tools`: it would refuse the run); the file tools see nothing of it.
#[test]
fn a_store_within_the_workspace_is_neither_shown_nor_changed() {
    let field = Field::new(Who::Me);
    let home = field.site.home().display().to_string();
    let before = std::fs::read(field.site.home().join(".uwf/notes")).unwrap();
    let paths = [".uwf/notes", ".ocas/notes", ".uwf/../.ocas/notes", "./.uwf//notes"];
    let mut calls: Vec<Call> = Vec::new();
    for path in paths {
        calls.push(call("read_file", json!({"path": path})));
        calls.push(call("write_file", json!({"path": path, "content": "changed"})));
        calls.push(call("edit_file", json!({"path": path, "old_string": "secret", "new_string": "x"})));
        calls.push(call("grep", json!({"path": path, "pattern": "secret"})));
    }
    for path in [".uwf", ".ocas"] {
        calls.push(call("list_dir", json!({"path": path, "ignored": true})));
        calls.push(call("glob", json!({"path": path, "pattern": "**"})));
    }
    let tools = "read_file,write_file,edit_file,grep,list_dir,glob";
    let answers = field.run(&calls, &["--cwd", &home, "--tools", tools]);
    for (id, answer) in &answers.texts {
        assert!(answer.text.contains(PRIVATE), "{id}: {}", answer.text);
    }
    assert_eq!(std::fs::read(field.site.home().join(".uwf/notes")).unwrap(), before);
    let whole = [
        call("grep", json!({"pattern": "innermost", "glob": "**/notes"})),
        call("list_dir", json!({"ignored": true, "depth": 3})),
        call("glob", json!({"pattern": "**/notes"})),
    ];
    for (id, answer) in field.run(&whole, &["--cwd", &home, "--tools", tools]).texts {
        assert!(
            !answer.text.contains("notes:") && !answer.text.contains(".uwf/notes"),
            "{id}: {}",
            answer.text
        );
    }
}

/// The key is known by its value, whatever the variable's name; with a real client, since a script needs no key.
#[test]
fn the_provider_s_key_is_in_no_environment() {
    use std::io::BufRead;
    let field = Field::new(Who::Me);
    let prints = [
        command("print", "env"),
        command("set", "set; export -p; declare -x"),
        command("python", "python3 -c 'import os; print(os.environ)' || true"),
        command("all of /proc", "cat /proc/[0-9]*/environ 2>&1 | tr '\\0' '\\n' | grep -a '^INNOCE' || true"),
    ];
    let calls: Vec<_> = prints
        .iter()
        .map(|call| json!({"id": call.id, "name": call.tool, "arguments": call.arguments}))
        .collect();
    let script = json!({"turns": [{"tool_calls": calls}, {"content": "---\n$status: done\n---\n"}]});
    let mock = field.site.write("m.yaml", &script.to_string());
    let mut server =
        field.site.command(AGENT).args(["mock-server", &mock]).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    std::io::BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let workflow = field.dir().join("w.yaml").display().to_string();
    let run = ["run", &workflow, "--role", "worker", "-p", "t", "--base-url", url.trim(), "--model", "m"];
    let env = [("UWF_API_KEY", KEY.to_owned()), ("INNOCENT", format!("a-{KEY}-b"))];
    let said = Said::of(field.agent().args(run).envs(env).output().unwrap());
    server.kill().unwrap();
    server.wait().unwrap();
    let said = said.ok();
    let texts = super::field::answers(&field.site.home().join(".uwf/sessions"));
    assert_eq!(texts.len(), 4);
    for (id, answer) in &texts {
        // A key that is shown is blotted out; here it is not even there.
        assert!(
            !answer.text.contains("INNOCENT") && !answer.text.contains("UWF_API_KEY"),
            "{id}: {}",
            answer.text
        );
    }
    field.assert_kept_secret(&super::field::Answers { texts, said });
}
