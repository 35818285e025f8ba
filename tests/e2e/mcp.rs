//! Servers of the Model Context Protocol: their tools in a run, with reference servers that nobody here wrote and with one
//! that does all that it should not; and `uwf mcp`, driven by the official client.
//!
//! Skipped, and said so, without Node.js; what needs packages (`npm ci --prefix tests/mcp`) without these; unless
//! UWF_REQUIRE_MCP is set.

#[path = "mcp/bounded.rs"]
mod bounded;
#[path = "mcp/hostile.rs"]
mod hostile;
#[path = "mcp/offered.rs"]
mod offered;
#[path = "mcp/reference.rs"]
mod reference;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::site::{Said, Site, example};

const ANSWER: &str =
    "  - content: |\n      ---\n      $status: planned\n      files: [a]\n      plan: p\n      ---\n";

/// The directory of the servers and the client.
fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mcp")
}

/// Whether there is Node.js, and where `packages` are wanted, these.
fn is_here(packages: bool) -> bool {
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has_packages = !packages || here().join("node_modules/@modelcontextprotocol/sdk").is_dir();
    if node.is_ok_and(|status| status.success()) && has_packages {
        return true;
    }
    assert!(std::env::var_os("UWF_REQUIRE_MCP").is_none(), "Node.js, or its packages, are required");
    // Not by eprintln!: what a passing test prints is shown to nobody.
    let skipped = "skipped: Node.js with MCP servers is not here (npm ci --prefix tests/mcp)";
    let mut past_the_runner = std::io::stderr();
    writeln!(past_the_runner, "{skipped}").unwrap();
    false
}

/// The program of a reference server.
fn reference(name: &str) -> String {
    format!("{}/node_modules/@modelcontextprotocol/{name}/dist/index.js", here().display())
}

/// The settings of one server, `name`, that node runs.
fn server(name: &str, args: &[&str], more: &str) -> String {
    // The sandbox has a `/tmp` of its own, and the repository may lie in the other one.
    let readable = here();
    format!(
        "sandbox: {{ readable: [{readable:?}] }}\nmcpServers:\n  {name}: {{ command: node, args: {args:?}{more} }}\n"
    )
}

/// The server that does what it should not.
fn hostile(how: &str, more: &str) -> String {
    server("h", &[&here().join("hostile.mjs").display().to_string(), how], more)
}

/// A planner with these settings, who makes these turns and then answers.
fn plan(site: &Site, settings: &str, turns: &str, args: &[&str]) -> Said {
    site.write("home/.uwf/agents/builtin.yaml", settings);
    let mock = site.write("m.yaml", &format!("turns:\n{turns}{ANSWER}"));
    let workflow = example("solve-issue/workflow.yaml");
    let run = ["run", &workflow, "--role", "planner", "-p", "plan", "--mock", &mock];
    site.agent(&[&run, args].concat())
}

/// A turn that calls one tool.
fn call(tool: &str, arguments: &str) -> String {
    format!("  - tool_calls: [{{ name: {tool}, arguments: {{ {arguments} }} }}]\n")
}

/// The same, of a model that was told this before.
fn call_after(told: &str, tool: &str, arguments: &str) -> String {
    format!("{}    expect: {{ last_contains: {} }}\n", call(tool, arguments), Value::from(told))
}

/// The entries of the only journal.
fn journal(site: &Site) -> Vec<Value> {
    let sessions = std::fs::read_dir(site.home().join(".uwf/sessions")).unwrap();
    let path = sessions.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the calls of the only journal were answered.
fn results(site: &Site) -> Vec<String> {
    let entries = journal(site);
    let finished = entries.iter().filter(|entry| entry["entry"] == "finished");
    finished.map(|entry| entry["message"]["content"].as_str().unwrap().to_owned()).collect()
}

/// The tools that the only journal's run had.
fn tools(site: &Site) -> Vec<Value> {
    journal(site)[0]["tools"].as_array().unwrap().clone()
}

/// Whether a process lives whose command line holds this.
fn lives(mark: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.contains(mark) && line.starts_with("node")
    })
}
