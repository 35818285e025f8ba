//! The reference servers, from their packages, and who may have their tools.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{ANSWER, call, call_after, is_here, journal, plan, reference, results, server, tools};
use crate::site::{AGENT, Said, Site, example};

fn everything(more: &str) -> String {
    server("everything", &[&reference("server-everything")], more)
}

#[test]
fn the_server_everything_is_called_and_the_run_is_played_again() {
    if !is_here(true) {
        return;
    }
    let site = Site::new();
    let turns = [
        call("everything__echo", "message: hello"),
        call_after("Echo: hello", "everything__get-sum", "a: 2, b: 3"),
        call_after("The sum of 2 and 3 is 5", "everything__get-sum", "a: two"),
        call_after("expected number", "everything__get-tiny-image", ""),
        call_after("[image, image/png, ", "everything__get-resource-links", "count: 1"),
        call_after("[resource ", "everything__get-structured-content", "location: Chicago"),
        call_after("temperature", "everything__trigger-long-running-operation", "duration: 1, steps: 2"),
        call_after("completed", "everything__nothing", ""),
        call_after("there is no tool `everything__nothing`", "read_file", "path: none"),
    ];
    let said = plan(&site, &everything(""), &turns.concat(), &["--mcp", "everything"]).ok();
    assert_eq!(said.json()["frontmatter"]["plan"], "p");
    let settings = &journal(&site)[0]["settings"];
    assert_eq!(settings["mcp"][0]["name"], "everything");
    site.verify();
}

#[test]
fn the_file_server_works_in_the_workspace_and_what_it_changes_is_captured() {
    if !is_here(true) {
        return;
    }
    let site = Site::new();
    let settings =
        server("files", &[&reference("server-filesystem"), "."], ", tools: [write_file, read_text_file]");
    let turns = [
        call("files__write_file", "path: made.txt, content: by a server"),
        call_after("Successfully wrote", "files__read_text_file", "path: made.txt"),
        call_after("by a server", "files__read_text_file", "path: /etc/passwd"),
        call_after("denied", "read_file", "path: made.txt"),
    ];
    plan(&site, &settings, &turns.concat(), &["--mcp", "files"]).ok();
    let names: Vec<String> =
        tools(&site).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let offered: Vec<&String> = names.iter().filter(|name| name.starts_with("files__")).collect();
    assert_eq!(offered, ["files__read_text_file", "files__write_file"], "{names:?}");
    let threads = site.uwf(&["thread", "list", "--all", "--format", "json"]).ok().json();
    let last = format!("{}:last", threads[0]["thread"].as_str().unwrap());
    let diff = site.uwf(&["step", "diff", &last, "--name-only"]).ok();
    assert!(diff.out.contains("made.txt"), "{}", diff.out);
}

#[test]
fn a_role_has_the_servers_that_it_names_and_a_reading_one_what_only_reads() {
    if !is_here(true) {
        return;
    }
    let offered = |roles: &str, args: &[&str]| {
        let site = Site::new();
        plan(&site, &format!("{}{roles}", everything("")), "", args).ok();
        let all = tools(&site);
        let names = all.iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("everything__")).collect::<Vec<_>>()
    };
    assert_eq!(offered("", &[]), Vec::<String>::new());
    assert_eq!(offered("roles: { solve-issue/developer: { mcpServers: [everything] } }\n", &[]).len(), 0);
    let all = offered("roles: { solve-issue/planner: { mcpServers: [everything] } }\n", &[]);
    assert!(all.len() > 8 && all.contains(&"everything__toggle-simulated-logging".to_owned()), "{all:?}");
    let reading = offered("roles: { solve-issue/planner: { readOnly: true } }\n", &["--mcp", "everything"]);
    assert!(reading.contains(&"everything__echo".to_owned()), "{reading:?}");
    assert!(!reading.contains(&"everything__toggle-simulated-logging".to_owned()), "{reading:?}");
}

#[test]
fn an_interrupted_run_goes_on_with_the_tools_it_was_told_of() {
    if !is_here(true) {
        return;
    }
    let site = Site::new();
    site.write("home/.uwf/agents/builtin.yaml", &everything(""));
    let turns = [
        call("everything__echo", "message: one"),
        call("everything__trigger-long-running-operation", "duration: 60, steps: 60"),
        call("everything__echo", "message: two"),
    ];
    let mock = site.write("m.yaml", &format!("turns:\n{}{ANSWER}", turns.concat()));
    let workflow = example("solve-issue/workflow.yaml");
    let run = ["run", &workflow, "--role", "planner", "-p", "p", "--mock", &mock, "--mcp", "everything"];
    let mut child =
        site.command(AGENT).args(run).args(["--events", "-"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let is_begun = |line: &String| line.contains("tool.started") && line.contains("long-running");
    assert!(lines.any(|line| is_begun(&line)));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(143), "{rest:?}");
    let thread = journal(&site)[0]["thread"].as_str().unwrap().to_owned();
    let on = Said::of(
        site.command(AGENT).args(["run", "--continue", &thread, "--mcp", "everything"]).output().unwrap(),
    );
    on.ok();
    let results = results(&site);
    assert!(
        results[0].contains("Echo: one") && results[1].contains("may or may not have taken effect"),
        "{results:?}"
    );
    assert!(results[2].contains("Echo: two"), "{results:?}");
}

/// The server everything at an address; it ends with the test.
struct AtAnAddress(Child, u16);

impl Drop for AtAnAddress {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn at_an_address() -> AtAnAddress {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let child = Command::new("node")
        .args([&reference("server-everything"), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    AtAnAddress(child, port)
}

#[test]
fn a_server_at_an_address_is_called() {
    if !is_here(true) {
        return;
    }
    let server = at_an_address();
    let site = Site::new();
    let settings = format!(
        "mcpServers:\n  web: {{ url: 'http://127.0.0.1:{}/mcp', headers: {{ X-Team: a }}, callSeconds: 20 }}\n",
        server.1
    );
    let turns = [
        call("web__echo", "message: hello"),
        call_after("Echo: hello", "web__trigger-long-running-operation", "duration: 1, steps: 2"),
        call_after("completed", "web__get-sum", "a: 1, b: 1"),
    ];
    plan(&site, &settings, &turns.concat(), &["--mcp", "web"]).ok();
    assert!(results(&site)[2].contains("is 2"));
    drop(server);
}

#[test]
fn a_role_without_a_network_has_no_server_at_an_address() {
    let site = Site::new();
    let settings = "mcpServers: { web: { url: 'http://127.0.0.1:9/mcp' } }\nroles: { solve-issue/planner: { network: false } }\n";
    let said = plan(&site, settings, "", &["--mcp", "web"]);
    said.fails(1, &["the role has no network", "web"]);
}

#[test]
fn a_script_plays_servers_that_are_not_started() {
    let site = Site::new();
    let turns = [
        call("docs__search", "query: a"),
        call_after("found one", "docs__search", "query: b"),
        call_after("the index is gone", "docs__search", "query: c"),
    ];
    let settings = "mcpServers: { docs: { command: no-such-program } }\n";
    site.write("home/.uwf/agents/builtin.yaml", settings);
    let served = "mcp:\n  docs:\n    - { name: search, description: Finds pages, read_only: true, results: [found one, { error: the index is gone }] }\n";
    let mock = site.write("m.yaml", &format!("turns:\n{}{ANSWER}{served}", turns.concat()));
    let workflow = example("solve-issue/workflow.yaml");
    let run = ["run", &workflow, "--role", "planner", "-p", "p", "--mock", &mock, "--mcp", "docs"];
    site.agent(&run).ok();
    assert_eq!(results(&site), ["found one", "the index is gone", "the index is gone"]);
}
