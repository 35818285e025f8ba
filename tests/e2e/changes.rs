//! What runs changed in their workspace: by their tools, by their commands, as patches that git takes.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::process::{signal, wait_for};
use crate::site::{AGENT, Said, Site};

/// A role that can be played again and again.
pub(crate) const WORKFLOW: &str = "
name: w
description: d
roles:
  worker:
    goal: Work.
    frontmatter: { type: object, properties: { $status: { enum: [more, done] } }, required: [$status] }
graph:
  $START: { new: { role: worker, prompt: Work. } }
  worker:
    more: { role: worker, prompt: Go on. }
    done: { role: $END, prompt: Done. }
";

/// A tool writes one file, commands another, a binary one and a mode, and move a third.
const MOCK: &str = r#"
roles:
  worker:
    - turns:
        - { tool_calls: [{ name: write_file, arguments: { path: by tool.txt, content: "tool\n" } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "echo more >> old.txt; printf '\\000\\001' > data.bin; chmod 755 run" } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "cat old.txt" } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "mkdir sub && mv name.txt sub/name.txt" } }] }
        - { content: "---\n$status: more\n---\n" }
    - turns:
        - { tool_calls: [{ name: edit_file, arguments: { path: by tool.txt, old_string: tool, new_string: tool again } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "rm data.bin; echo x > later.txt" } }] }
        - { content: "---\n$status: done\n---\n" }
"#;

fn site() -> Site {
    let site = Site::new();
    for (name, text) in [("old.txt", "old\n"), ("run", "#!/bin/sh\n"), ("name.txt", "a name\n")] {
        site.write(&format!("work/{name}"), text);
    }
    site.command("git").args(["init", "-q"]).status().unwrap();
    site
}

/// A thread of that workflow, played to its end, and its steps.
fn played(site: &Site, mock: &str, more: &str) -> (String, Vec<String>) {
    let (workflow, mock) = (site.write("w.yaml", WORKFLOW), site.write("mock.yaml", mock));
    let thread = site.start(&workflow, "Work.");
    let agent = format!("{AGENT} --mock {mock} {more}");
    site.uwf(&["thread", "exec", &thread, "--until-end", "--agent", &agent]).ok();
    let listed = site.uwf(&["step", "list", &thread]).ok().json();
    let steps = listed["steps"].as_array().unwrap().iter().skip(1);
    (thread, steps.map(|step| step["hash"].as_str().unwrap().to_owned()).collect())
}

fn diff(site: &Site, what: [&str; 2], more: &[&str]) -> Said {
    site.uwf(&[&[what[0], "diff", what[1]], more].concat()).ok()
}

fn git_apply(site: &Site, args: &[&str], patch: &str) {
    let file = site.write("the.patch", patch);
    let args = [&["apply", "--whitespace=nowarn"], args, &[&file]].concat();
    let said = Said::of(site.command("git").args(args).output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{patch}");
}

#[test]
fn a_step_tells_what_its_tools_did_and_what_each_command_did() {
    let site = site();
    let (_, steps) = played(&site, MOCK, "");
    let said = diff(&site, ["step", &steps[0]], &[]);
    assert_eq!(said.err, "");
    let headings: Vec<&str> = said.out.lines().filter(|line| line.starts_with("# ")).collect();
    assert_eq!(headings.len(), 3, "{}", said.out);
    assert_eq!(headings[0], "# changed by editing tools");
    assert!(
        headings[1].starts_with("# changed by the command of turn ") && headings[1].contains(": echo more")
    );
    assert!(headings[2].ends_with(": mkdir sub && mv name.txt sub/name.txt"), "{headings:?}");
    let (tools, commands) = said.out.split_once(headings[1]).unwrap();
    assert!(tools.contains("+tool\n") && !tools.contains("old.txt"), "{tools}");
    for part in
        ["Binary file data.bin differs: 0 -> 2 bytes\n", "+more\n", "old mode 100644\nnew mode 100755\n"]
    {
        assert!(commands.contains(part), "{part:?}: {commands}");
    }
    assert!(commands.contains("rename from name.txt\nrename to sub/name.txt\n"), "{commands}");

    let stat = diff(&site, ["step", &steps[0]], &["--stat"]).out;
    assert!(
        stat.contains(" 1 file changed, 1 insertion(+)\n") && stat.contains("Bin 0 -> 2 bytes"),
        "{stat}"
    );
    let names = diff(&site, ["step", &steps[0]], &["--name-only"]).out;
    assert_eq!(names, "by tool.txt\ndata.bin\nold.txt\nrun\nsub/name.txt\n");
    site.uwf(&["step", "diff", &steps[0], "--stat", "--patch"]).code(2);
}

#[test]
fn programs_are_told_the_same() {
    let site = site();
    let (_, steps) = played(&site, MOCK, "");
    let value = diff(&site, ["step", &steps[0]], &["--format", "json"]).json();
    let of = |path: &str| -> Value {
        let changes = value["changes"].as_array().unwrap();
        changes.iter().find(|change| change["path"] == path).unwrap().clone()
    };
    assert_eq!(
        (of("by tool.txt")["by"].as_str(), of("by tool.txt")["kind"].as_str()),
        (Some("tool"), Some("added"))
    );
    assert_eq!(
        (of("old.txt")["by"].as_str(), of("old.txt")["insertions"].as_u64()),
        (Some("command"), Some(1))
    );
    assert_eq!(
        (of("data.bin")["binary"].as_bool(), of("data.bin")["before"].clone()),
        (Some(true), Value::Null)
    );
    assert_eq!(of("sub/name.txt")["renamedFrom"], "name.txt");
    let turn = of("sub/name.txt")["turn"].as_u64().unwrap();
    let read = site.uwf(&["step", "read", &steps[0]]).ok().out;
    let section = read.split(&format!("\n## {turn}. ")).nth(1).unwrap();
    assert!(section.starts_with("tool (result): `run_command`"), "{section}");
    let detail = site.uwf(&["step", "show", &steps[0]]).ok().json();
    assert_eq!(
        detail["snapshots"]["before"]["tree"], value["snapshots"]["before"],
        "a tree is named, not shown"
    );
}

#[test]
fn git_makes_the_workspace_from_a_patch_and_takes_it_back() {
    let site = site();
    let before = listing(&site.workspace());
    let (thread, steps) = played(&site, MOCK, "");
    let after = listing(&site.workspace());
    let [first, second] = [&steps[0], &steps[1]].map(|step| diff(&site, ["step", step], &["--patch"]).out);
    git_apply(&site, &["-R"], &second);
    git_apply(&site, &["-R"], &first);
    assert_eq!(listing(&site.workspace()), before);
    let whole = diff(&site, ["thread", &thread], &["--patch"]).out;
    git_apply(&site, &[], &whole);
    assert_eq!(listing(&site.workspace()), after);
    // Headings and binary files that are only named do not keep git from the rest.
    let shown = diff(&site, ["thread", &thread], &[]).out;
    assert!(shown.contains("# changed in step 2, ") && shown.contains(": worker\n"), "{shown}");
    git_apply(&site, &["-R"], &shown);
    assert_eq!(listing(&site.workspace()), before, "data.bin came and went");
    site.verify();
}

/// Every file, and whether it may be run.
fn listing(dir: &Path) -> Vec<(String, bool, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt;
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() && name != ".git" {
            all.extend(
                listing(&path)
                    .into_iter()
                    .map(|(below, runs, bytes)| (format!("{name}/{below}"), runs, bytes)),
            );
        } else if path.is_file() {
            let runs = fs::metadata(&path).unwrap().permissions().mode() & 0o100 != 0;
            all.push((name, runs, fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn without_snapshots_the_tools_alone_are_told_and_why() {
    let site = site();
    let (thread, steps) = played(&site, MOCK, "--no-snapshots");
    let said = diff(&site, ["step", &steps[0]], &[]);
    assert!(said.out.starts_with("diff --git a/by tool.txt b/by tool.txt\nnew file mode"), "{}", said.out);
    assert_eq!(
        said.err,
        "warning: changes made by commands are not part of it: its run was to keep no snapshots of the workspace \
         (`snapshots.enabled`, --no-snapshots)\n"
    );
    let value = diff(&site, ["step", &steps[0]], &["--format", "json"]).json();
    assert!(value.get("snapshots").is_none() && value["unknown"].is_string(), "{value}");
    assert_eq!(diff(&site, ["step", &steps[0]], &["--name-only"]).out, "by tool.txt\n");
    site.uwf(&["thread", "diff", &thread]).fails(1, &["no step of the thread", "uwf step diff STEP"]);
    let settings = site.uwf(&["step", "show", &steps[0]]).ok().json()["settings"].clone();
    assert_eq!(settings["snapshots"]["enabled"], false);
}

#[test]
fn a_workspace_that_is_too_large_is_told_of_and_the_run_succeeds() {
    let site = site();
    site.write("home/.uwf/agents/builtin.yaml", "snapshots: { maxFiles: 2 }\n");
    let (workflow, mock) = (site.write("w.yaml", WORKFLOW), site.write("mock.yaml", MOCK));
    let run = ["run", &workflow, "--role", "worker", "-p", "x", "--mock", &mock, "--format", "json"];
    let said = site.agent(&run).ok();
    let told = said.err.matches("raise `snapshots.maxFiles` in agents/builtin.yaml").count();
    assert_eq!(told, 1, "{}", said.err);
    let step = said.json()["stepHash"].as_str().unwrap().to_owned();
    let shown = diff(&site, ["step", &step], &[]);
    assert!(shown.err.contains("are not part of it: the workspace cannot be captured"), "{}", shown.err);
    let doctor = site.agent(&["doctor", "--format", "json"]).out;
    let doctor: Value = serde_json::from_str(&doctor).unwrap();
    let row =
        doctor["config"]["values"].as_array().unwrap().iter().find(|row| row["name"] == "snapshots.maxFiles");
    let row = row.unwrap();
    assert!(row["value"] == "2" && row["from"].as_str().unwrap().ends_with("agents/builtin.yaml"), "{row}");
}

/// The store of a person may lie in the directory that he has a run work in.
#[test]
fn a_store_within_the_workspace_is_no_part_of_it() {
    let site = site();
    let (workflow, mock) = (site.write("w.yaml", WORKFLOW), site.write("mock.yaml", MOCK));
    let run = ["run", &workflow, "--role", "worker", "-p", "x", "--mock", &mock, "--format", "json"];
    let mut command = site.command(AGENT);
    command
        .env("UWF_HOME", site.workspace().join("a [home]"))
        .env("OCAS_HOME", site.workspace().join("ocas"));
    let said = Said::of(command.args(run).args(["--sandbox", "best-effort"]).output().unwrap()).ok();
    let mut command = site.command(crate::site::UWF);
    command.env("OCAS_HOME", site.workspace().join("ocas"));
    let step = said.json()["stepHash"].as_str().unwrap().to_owned();
    let names = Said::of(command.args(["step", "diff", &step, "--name-only"]).output().unwrap()).ok();
    assert_eq!(names.out, "by tool.txt\ndata.bin\nold.txt\nrun\nsub/name.txt\n");
}

/// A run that another process goes on with is one step: what it changed counts from before its first request.
#[test]
fn a_run_that_goes_on_is_told_from_its_beginning() {
    let call = |command: &str| {
        format!(
            "        - {{ tool_calls: [{{ name: run_command, arguments: {{ command: {command} }} }}] }}\n"
        )
    };
    let turns = ["echo 1 > first.txt", "touch began; sleep 1000", "echo 2 > second.txt"].map(call).concat();
    let answer = "        - { content: \"---\\n$status: done\\n---\\n\" }\n";
    let site = site();
    let (workflow, mock) = (
        site.write("w.yaml", WORKFLOW),
        site.write("mock.yaml", &format!("roles:\n  worker:\n    - turns:\n{turns}{answer}")),
    );
    let mut command = site.command(AGENT);
    command.args(["run", &workflow, "--role", "worker", "-p", "x", "--mock", &mock]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| site.workspace().join("began").exists());
    signal("-INT", child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(130);
    let thread = said.err.lines().find_map(|line| line.strip_prefix("thread ")).unwrap();
    let reply = site.agent(&["run", "--continue", thread, "--format", "json"]).ok().json();
    let step = reply["stepHash"].as_str().unwrap();
    assert_eq!(diff(&site, ["step", step], &["--name-only"]).out, "began\nfirst.txt\nsecond.txt\n");
    let shown = diff(&site, ["step", step], &[]).out;
    let cut_off = shown.split(": touch began; sleep 1000\n").nth(1).unwrap();
    assert!(cut_off.starts_with("diff --git a/began b/began\n"), "{shown}");
    let detail = site.uwf(&["step", "show", step]).ok().json();
    assert_eq!(
        (detail["snapshots"]["before"]["files"].as_u64(), detail["snapshots"]["after"]["files"].as_u64()),
        (Some(3), Some(6))
    );
    site.verify();
}
