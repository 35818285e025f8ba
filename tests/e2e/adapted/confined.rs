//! What holds an agent in: the sandbox that it runs in by default where it can, and what the settings say of roles and projects.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{AGENTS, Stage, WORKFLOW};
use crate::site::{Said, Site, UWF};

const TRIES: &str = "echo out > \"$HOME/out\"; echo in > in; cat > \"$HOME/.agent/told\"
printf -- '---\\n$status: done\\nsummary: it\\n---\\n'
";

/// An agent of one's own that tries to write in and out of the workspace.
fn own(sandbox: &str) -> (Site, String) {
    let site = Site::new();
    let program = site.write("home/bin/agent", &format!("#!/bin/sh\n{TRIES}"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "description: Mine\nprogram: {program}\nprompt: stdin\nargs: {{}}\nreply: {{ format: text }}\nsandbox: {sandbox}\n"
    );
    site.write("home/.uwf/agents/mine.yaml", &text);
    let workflow = site.write("pair.yaml", WORKFLOW);
    let thread = site.start(&workflow, "A text, please.");
    (site, thread)
}

/// What the agent could write: the home, and the workspace.
fn wrote(site: &Site) -> (bool, bool) {
    let wrote = (site.home().join("out"), site.workspace().join("in"));
    let found = (wrote.0.exists(), wrote.1.exists());
    for path in [wrote.0, wrote.1] {
        fs::remove_file(path).ok();
    }
    found
}

/// The sandbox in the record of the last step: what was enforced, and what was set.
fn recorded(site: &Site, thread: &str) -> (Value, Value) {
    let steps = site.uwf(&["step", "list", thread]).ok().json();
    let step = steps["steps"].as_array().unwrap().last().unwrap();
    let detail = site.uwf(&["cas", "get", step["detail"].as_str().unwrap()]).ok().json()["payload"].clone();
    let settings = match &detail["settings"] {
        Value::String(hash) => site.uwf(&["cas", "get", hash]).ok().json()["payload"].clone(),
        settings => settings.clone(),
    };
    (detail["sandbox"].clone(), settings["sandbox"].clone())
}

#[test]
fn an_agent_that_can_live_in_a_sandbox_is_in_one_unless_somebody_says_otherwise() {
    let (site, thread) = own("{ confined: true, writable: [~/.agent] }");
    let exec = ["thread", "poke", &thread, "-p", "Again.", "--agent", "mine"];
    site.uwf(&["thread", "exec", &thread, "--agent", "mine"]).ok();
    assert_eq!(wrote(&site), (false, true));
    let (enforced, set) = recorded(&site, &thread);
    assert_eq!((&enforced["level"], &set["level"]), (&"strict".into(), &"strict".into()));
    assert_eq!(
        (&set["network"], &set["writable"][0]),
        (&false.into(), &site.home().join(".agent").display().to_string().into())
    );
    let with = |word: &str| {
        Said::of(site.command(UWF).env("UWF_BUILTIN_SANDBOX", word).args(exec).output().unwrap())
    };
    with("off").ok();
    assert_eq!(wrote(&site), (true, true));
    let (enforced, set) = recorded(&site, &thread);
    assert_eq!(
        (&enforced["level"], &set["level"], &set["network"]),
        (&"off".into(), &"off".into(), &true.into())
    );
    with("some").fails(1, &["some", "strict"]);
    site.write("home/.uwf/agents/builtin.yaml", "sandbox: { level: best-effort }\n");
    site.uwf(&exec).ok();
    assert_eq!((wrote(&site), &recorded(&site, &thread).0["level"]), ((false, true), &"best-effort".into()));
    site.uwf(&[&exec[..], &["--sandbox", "off"]].concat()).ok();
    assert_eq!(wrote(&site), (true, true));
    let row = site.uwf(&["agents", "mine"]).ok().json()[0].clone();
    assert_eq!(row["confined"], true);
}

#[test]
fn an_agent_that_may_not_be_able_to_live_in_one_is_as_free_as_its_user() {
    let (site, thread) = own("{ writable: [~/.agent] }");
    fs::create_dir(site.home().join(".agent")).unwrap();
    site.uwf(&["thread", "exec", &thread, "--agent", "mine"]).ok();
    assert_eq!(wrote(&site), (true, true));
    assert_eq!(recorded(&site, &thread).1["network"], true, "nothing keeps it off the network");
}

#[test]
fn a_role_that_only_reads_is_held_to_that_or_not_played() {
    let (site, thread) = own("{ confined: true, writable: [~/.agent] }");
    let roles = "roles: { pair/writer: { readOnly: true, tools: [grep], network: false, model: some } }\n";
    site.write("home/.uwf/agents/builtin.yaml", roles);
    let exec = ["thread", "exec", &thread, "--agent", "mine"];
    let why = "nothing holds the agent `mine` to `readOnly` of the role `writer` in agents/builtin.yaml";
    site.uwf(&[&exec[..], &["--sandbox", "off"]].concat()).fails(1, &[why, "--sandbox strict"]);
    assert_eq!(wrote(&site), (false, false));
    let said = site.uwf(&[&exec[..], &["--sandbox", "strict"]].concat()).ok();
    assert_eq!(wrote(&site), (false, false));
    let told =
        "what agents/builtin.yaml says of the role `writer` says nothing to the agent `mine`: model, tools\n";
    assert_eq!(said.err.matches(told).count(), 1, "{}", said.err);
}

/// It is given its prompt in a file, and a file for its history.
#[test]
fn an_agent_with_files_of_ours_can_be_confined() {
    let site = Site::new();
    let body = r#"for arg in "$@"; do
  [ "$previous" = --message-file ] && prompt=$arg
  [ "$previous" = --chat-history-file ] && history=$arg
  previous=$arg
done
ls -a "$(dirname "$history")/.." > seen
cat "$prompt" >> "$history" && wc -l < "$history" >> lines
grep -q 'A text, please.' "$prompt" || exit 1
printf -- 'Aider v0\n---\n$status: done\nsummary: it\n---\nDone.\n\nTokens: 1 sent, 1 received.\n'
"#;
    let program = site.write("home/bin/aider", &format!("#!/bin/sh\n{body}"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let workflow = site.write("pair.yaml", WORKFLOW);
    let path = format!("{}:/usr/bin:/bin", site.home().join("bin").display());
    let uwf = |words: &[&str]| Said::of(site.command(UWF).env("PATH", &path).args(words).output().unwrap());
    let thread = site.start(&workflow, "A text, please.");
    let other = site.start(&workflow, "A text, please.");
    for thread in [&other, &thread] {
        uwf(&["thread", "exec", thread, "--agent", "aider", "--sandbox", "strict"]).ok();
    }
    uwf(&["thread", "poke", &thread, "-p", "A text, please.", "--agent", "aider", "--sandbox", "strict"])
        .ok();
    let lines = fs::read_to_string(site.workspace().join("lines")).unwrap();
    let lines: Vec<u32> = lines.lines().map(|line| line.parse().unwrap()).collect();
    assert!(
        lines.len() == 3 && lines[2] > lines[1],
        "the second visit has the history of the first: {lines:?}"
    );
    let seen = fs::read_to_string(site.workspace().join("seen")).unwrap();
    assert_eq!(seen.lines().count(), 3, "it sees its own session alone: {seen}");
    let left = fs::read_dir(site.home().join(".uwf/cache")).unwrap().flatten();
    assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().starts_with("prompt-")));
}

#[test]
fn no_call_of_aider_leaves_its_history_in_the_workspace() {
    let aider = AGENTS.iter().find(|agent| agent.name == "aider").unwrap();
    let stage = Stage::new(aider, &["empty", "resume", "success"]);
    let thread = stage.start();
    stage.exec(&thread).ok();
    let step = stage.steps(&thread)[0]["hash"].as_str().unwrap().to_owned();
    stage.uwf(&["step", "ask", &step, "-p", "Why so?"]).ok();
    for call in 0..3 {
        assert!(stage.call(call).0.contains("--chat-history-file\n/"), "{}", stage.call(call).0);
    }
}

#[test]
fn an_agent_is_told_of_the_project_what_it_does_not_read_by_itself() {
    for (name, is_told) in [("aider", true), ("codex", false)] {
        let agent = AGENTS.iter().find(|agent| agent.name == name).unwrap();
        let stage = Stage::new(agent, &["success"]);
        stage.site.write("work/AGENTS.md", "Use tabs, always.\n");
        stage.exec(&stage.start()).ok();
        let (_, told) = stage.call(0);
        assert_eq!(told.contains("Use tabs, always."), is_told, "{name}: {told}");
    }
}
