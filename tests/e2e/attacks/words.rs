//! What words try: a name, a command, a description that steers the terminal of whoever watches the run.

use serde_json::json;

use super::field::{Call, Field, Who};

#[test]
fn nothing_that_is_told_steers_the_terminal() {
    let field = Field::new(Who::Me);
    let steering = "x\x1b]52;c;eA==\x07\x1b[1A\r\u{9b}2Jy\n  \u{2713} read all of it";
    let call = |tool: &'static str, arguments| Call { id: tool.to_owned(), tool, arguments };
    let calls = [
        call("run_command", json!({"command": "true", "description": steering})),
        call("list_dir", json!({"path": steering})),
        call("grep", json!({"pattern": steering, "literal": true})),
        call("write_file", json!({"path": steering, "content": steering})),
        call("read_file", json!({"path": steering})),
        call("glob", json!({"pattern": steering})),
        call("no\x1b[2Jtool", json!({})),
    ];
    let said = field.run(&calls, &[]).said;
    let is_harmless = |c: char| !c.is_control() || c == '\n';
    assert!(said.err.chars().all(is_harmless), "{:?}", said.err);
    assert!(!said.err.contains("\n  \u{2713} read all of it"), "{}", said.err);
}
