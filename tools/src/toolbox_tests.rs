//! Tests of `toolbox`, and of what holds for every tool.

use serde_json::json;

use crate::scratch::{self, Scratch};
use crate::{Cancel, ToolLimits, Toolbox, ToolboxConfig};

#[test]
fn a_toolbox_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Toolbox>();
}

#[test]
fn every_tool_is_described_within_bounds() {
    let scratch = Scratch::new();
    for spec in scratch.toolbox.specs() {
        assert!(
            spec.description.chars().count() <= 350,
            "{} has {}",
            spec.name,
            spec.description.chars().count()
        );
        assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        assert!(spec.parameters["properties"].is_object() && spec.parameters["required"].is_array());
        let noise = ["$schema", "\"title\"", "format", "null", "$ref", "$defs"];
        let text = spec.parameters.to_string();
        assert!(noise.iter().all(|word| !text.contains(word)), "{text}");
    }
}

#[test]
fn the_descriptions_state_the_limits_there_are() {
    let scratch = Scratch::new();
    let limits = ToolLimits::default();
    let says = |tool: &str, number: String| {
        let specs = scratch.toolbox.specs();
        let spec = specs.iter().find(|spec| spec.name == tool).unwrap();
        let all = format!("{} {}", spec.description, spec.parameters);
        assert!(all.contains(&number), "{tool} does not say {number}");
    };
    says("read_file", format!("{} lines", crate::limits::thousands(limits.read_lines)));
    says("read_file", format!("{} characters", crate::limits::thousands(limits.line_chars as u64)));
    says("read_file", format!("{} KB", limits.read_bytes / 1024));
    says("write_file", format!("{} MB", limits.whole_file_bytes >> 20));
    says("edit_file", format!("{} MB", limits.whole_file_bytes >> 20));
    says("list_dir", format!("{} entries", limits.list_entries));
    says("glob", format!("{} files", limits.glob_files));
    says("tool_output", format!("{} lines", crate::limits::thousands(limits.read_lines)));
    says("tool_output", format!("{} MB", limits.spool_bytes >> 20));
    says("grep", format!("{} matching lines", limits.grep_matches));
    says("grep", format!("{} characters", limits.grep_line_chars));
    says("run_command", format!("{} KB", limits.command_bytes / 1024));
    says("run_command", format!("{} s", limits.command_timeout.as_secs()));
}

#[test]
fn an_unknown_tool_is_answered_with_the_tools_nearest_first() {
    let output = Scratch::new().call("readfile", json!({}));
    assert!(output.is_error);
    insta::assert_snapshot!(output.text, @"there is no tool `readfile`; nothing was done. Tools: read_file, write_file, edit_file, list_dir, grep, glob, run_command, tool_output");
}

#[test]
fn wrong_arguments_are_answered_with_the_shape_and_nothing_happens() {
    let scratch = Scratch::new();
    let text = scratch.refused("write_file", json!({"path": "a", "contents": "x"}));
    insta::assert_snapshot!(text, @r#"
    write_file was not run: there is no parameter `contents` (did you mean `content`?); `content` is missing
    Expected: {"content": string, "path": string}
    "#);
    assert!(!scratch.root().join("a").exists());
    let output =
        scratch.toolbox.call("write_file", "{\"path\": \"a\", \"content\": \"cut", &Cancel::default());
    assert!(output.is_error && output.text.contains("not valid JSON"));
    assert!(!scratch.root().join("a").exists());
    assert!(!scratch.toolbox.call("list_dir", "", &Cancel::default()).is_error);
}

#[test]
fn only_allowed_tools_are_there() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("ws")).unwrap();
    let config = |names: &[&str]| ToolboxConfig {
        allow: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..scratch::config(dir.path(), ToolLimits::default())
    };
    let toolbox = Toolbox::open(config(&["grep", "read_file"])).unwrap();
    let names: Vec<_> = toolbox.specs().iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["read_file", "grep"]);
    assert!(toolbox.call("run_command", r#"{"command": "true"}"#, &Cancel::default()).is_error);
    let error = Toolbox::open(config(&["grepp"])).unwrap_err();
    assert!(error.to_string().starts_with("there is no tool 'grepp'; there are read_file"), "{error}");
}

#[test]
fn a_root_that_is_no_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Toolbox::open(scratch::config(dir.path(), ToolLimits::default())).is_err());
    std::fs::write(dir.path().join("ws"), "").unwrap();
    let error = Toolbox::open(scratch::config(dir.path(), ToolLimits::default())).unwrap_err();
    assert!(error.to_string().contains("could not open the workspace"), "{error}");
}
