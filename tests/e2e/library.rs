//! The library's examples run to their ends, and one of them against the mock server as well.

use std::path::PathBuf;
use std::process::Command;

use crate::site::{MockServer, Site};

const MANIFEST_DIR: &str = env!("CARGO_MANIFEST_DIR");

/// Runs an example, which cargo builds where that is not done; what it prints.
fn run(name: &str, argument: Option<&str>) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "-q", "--offline", "-p", "uwf-agent", "--example", name, "--"]).args(argument);
    let output = command.current_dir(MANIFEST_DIR).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_example_of_the_library_comes_to_its_end() {
    let said = run("extract", None);
    assert!(said.starts_with("refused: ") && said.ends_with("A-7: 1250 cents, after 2 turns\n"), "{said}");
    assert!(run("own_tool", None).starts_with("order 38 of T-100\n2 turns"));
    assert_eq!(run("two_roles", None), "4 steps, end\n");
}

#[test]
fn an_example_has_its_answer_from_an_endpoint_too() {
    let script = PathBuf::from(MANIFEST_DIR).join("agent/examples/extract.yaml");
    let site = Site::new();
    let server = MockServer::start(&site, script.to_str().unwrap());
    let said = run("extract", Some(&server.url));
    assert!(said.ends_with("A-7: 1250 cents, after 2 turns\n"), "{said}");
}
