use std::collections::BTreeMap;

use super::super::{Flags, Settings};
use super::*;

const FILE: &str = "\
mcpServers:
  files: { command: server-files, args: [., -v], env: { LOG: debug, API_TOKEN: hush-hush }, envVars: [PASSED], tools: [read] }
  docs: { url: 'https://mcp.example.com/mcp?key=secret', headers: { X-Team: a }, bearerTokenEnv: DOCS_TOKEN, callSeconds: 5 }
roles:
  w/developer: { mcpServers: [files] }
  w/reviewer: { network: false }
";

fn load(file: &str, mcp: &[&str]) -> Result<Settings, SettingsError> {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("agents")).unwrap();
    std::fs::write(home.path().join("agents/builtin.yaml"), file).unwrap();
    let mcp = mcp.iter().map(|name| (*name).to_owned()).collect();
    let flags = Flags { mock: Some("/s.yaml".into()), mcp, ..Flags::default() };
    let env: Env = [("PASSED", "pass-it-on"), ("DOCS_TOKEN", "token-of-docs\n")].into_iter().collect();
    Settings::load(flags, &env, home.path())
}

fn workflow() -> uwf_engine::Workflow {
    let role = json!({
        "description": "", "goal": "", "capabilities": [], "procedure": "", "output": "",
        "frontmatter": uwf_engine::builtin::TEXT,
    });
    let workflow = json!({
        "name": "w", "description": "", "graph": {}, "roles": {"developer": role, "reviewer": role},
    });
    serde_json::from_value(workflow).unwrap()
}

fn of_role(file: &str, mcp: &[&str], role: &str) -> Result<Vec<McpServer>, SettingsError> {
    Ok(load(file, mcp)?.for_role(&workflow(), role)?.mcp)
}

#[test]
fn a_server_is_had_by_whom_it_is_named_for() {
    let names = |mcp: &[&str], role| {
        let servers = of_role(FILE, mcp, role).unwrap();
        servers.into_iter().map(|server| server.name).collect::<Vec<_>>()
    };
    assert_eq!(load(FILE, &[]).unwrap().mcp.len(), 0);
    assert_eq!(names(&[], "developer"), ["files"]);
    assert_eq!(names(&[], "reviewer"), Vec::<String>::new());
    assert_eq!(names(&["docs", "files"], "developer"), ["files", "docs"]);
    assert_eq!(names(&["files"], "reviewer"), ["files"]);
    assert_eq!(names(&["files"], "$COMPACT"), Vec::<String>::new(), "it needs no tool");
}

#[test]
fn what_it_needs_is_looked_up_and_secrets_are_told_to_nobody() {
    let settings = load(FILE, &["docs"]).unwrap().for_role(&workflow(), "developer").unwrap();
    let [files, docs] = &settings.mcp[..] else { panic!("two servers") };
    let McpReach::Stdio { env, args, .. } = &files.reach else { panic!("a program") };
    assert_eq!(env["PASSED"].expose_secret(), "pass-it-on");
    assert_eq!((args.len(), files.start, files.call), (2, START, CALL));
    let McpReach::Http { headers, .. } = &docs.reach else { panic!("an address") };
    assert_eq!(headers["Authorization"].expose_secret(), "Bearer token-of-docs");
    assert_eq!(docs.call, Duration::from_secs(5));
    let told = settings.describe().to_string();
    assert!(told.contains("server-files") && told.contains("API_TOKEN"), "{told}");
    for secret in ["hush", "pass-it-on", "token-of-docs", "key=secret"] {
        assert!(!told.contains(secret), "{told}");
    }
    let hidden = settings.secrets().values();
    assert!(
        ["hush-hush", "token-of-docs", "pass-it-on"]
            .iter()
            .all(|secret| hidden.contains(&(*secret).to_owned()))
    );
    assert!(!hidden.contains(&"debug".to_owned()));
}

#[test]
fn what_cannot_be_used_is_told() {
    let error = |file: &str, mcp: &[&str], role| of_role(file, mcp, role).unwrap_err().to_string();
    let none = error(FILE, &["file"], "developer");
    assert_eq!(none, "there is no MCP server file; agents/builtin.yaml has files, docs");
    assert!(error("model: m\n", &["x"], "developer").ends_with("has none"));
    assert!(error(FILE, &["docs"], "reviewer").contains("no network, and the MCP server docs"));
    let unset = FILE.replace("[PASSED]", "[NOT_SET]");
    assert!(error(&unset, &[], "developer").contains("NOT_SET, which the MCP server files needs"));
    for (server, wrong) in [
        ("{ command: a, url: 'http://b' }", "not both"),
        ("{ args: [a] }", "needs a `command`, or a `url`"),
        ("{ command: a, headers: { a: b } }", "belong to a `url`"),
        ("{ url: 'http://b', args: [a] }", "belong to a `command`"),
        ("{ url: 'file:///etc/passwd' }", "must begin with https://"),
        ("{ url: 'http://u:p@host/' }", "holds no password"),
        ("{ url: 'no url' }", "its `url` is not a URL"),
        ("{ command: ./serve }", "nor an absolute path"),
        ("{ command: node_modules/.bin/serve }", "nor an absolute path"),
    ] {
        let said = error(&format!("mcpServers: {{ s: {server} }}\n"), &[], "developer");
        assert!(said.contains("mcpServers.s: ") && said.contains(wrong), "{said}");
    }
    for name in ["a_b", "1a", "a b", &"a".repeat(25)] {
        let said = error(&format!("mcpServers: {{ '{name}': {{ command: a }} }}\n"), &[], "developer");
        assert!(said.contains("a name has 1 to 24 letters"), "{said}");
    }
    let misspelt: BTreeMap<&str, &str> = BTreeMap::from([("comand", "a")]);
    let said = error(&format!("mcpServers: {{ s: {} }}\n", json!(misspelt)), &[], "developer");
    assert!(said.contains("comand"), "{said}");
}
