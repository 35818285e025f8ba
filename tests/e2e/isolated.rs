//! Runs in a copy of the workspace: what they leave alone, what they give back, and what stays of the copy.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{signal, wait_for};
use crate::site::{AGENT, Said, Site};

const WORKFLOW: &str = "
name: w
description: d
roles:
  worker:
    goal: Work.
    frontmatter: { type: object, properties: { $status: { enum: [done] } }, required: [$status] }
graph:
  $START: { new: { role: worker, prompt: Work. } }
  worker:
    done: { role: $END, prompt: Done. }
";

/// A repository with a file that git ignores, and a directory for what is temporary.
fn site() -> Site {
    let site = Site::new();
    for (name, text) in [("old.txt", "old\n"), (".gitignore", "ignored\n"), ("ignored", "secret\n")] {
        site.write(&format!("work/{name}"), text);
    }
    site.command("git").args(["init", "-q"]).status().unwrap();
    fs::create_dir(temporary(&site)).unwrap();
    site.write("w.yaml", WORKFLOW);
    site
}

fn temporary(site: &Site) -> PathBuf {
    site.home().parent().unwrap().join("tmp")
}

/// The copies that there are.
fn copies(site: &Site) -> Vec<PathBuf> {
    let names = fs::read_dir(temporary(site)).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("uwf-isolated-")).collect()
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect()
}

/// A script of commands, each a call, and an answer.
fn mock(site: &Site, commands: &[&str]) -> String {
    let call = |command: &&str| {
        format!(
            "        - {{ tool_calls: [{{ name: run_command, arguments: {{ command: \"{command}\" }} }}] }}\n"
        )
    };
    let calls: String = commands.iter().map(call).collect();
    let answer = "        - { content: \"---\\n$status: done\\n---\\n\" }\n";
    site.write("mock.yaml", &format!("roles:\n  worker:\n    - turns:\n{calls}{answer}"))
}

fn run(site: &Site, mock: &str, more: &[&str]) -> Command {
    let workflow = site.home().parent().unwrap().join("w.yaml").display().to_string();
    let mut command = site.command(AGENT);
    command.env("TMPDIR", temporary(site));
    command
        .args(["run", &workflow, "--role", "worker", "-p", "x", "--mock", mock, "--format", "json"])
        .args(more);
    command
}

const WORK: [&str; 2] =
    ["test ! -e ignored && echo new >> old.txt", "printf '\\\\000' > data.bin; pwd > where"];

#[test]
fn the_workspace_stays_as_it_is_and_a_patch_tells_what_the_run_changed() {
    let site = site();
    let (before, script) = (files(&site.workspace()), mock(&site, &WORK));
    let patch = site.write("the.patch", "");
    let said = Said::of(run(&site, &script, &["--isolated", "--patch", &patch]).output().unwrap()).ok();
    assert_eq!((files(&site.workspace()), copies(&site)), (before, Vec::new()));
    assert!(said.err.contains(&format!("apply {patch} there\n")), "{}", said.err);
    let step = said.json()["stepHash"].as_str().unwrap().to_owned();
    let shown = site.uwf(&["step", "diff", &step, "--patch"]).ok().out;
    assert_eq!(fs::read_to_string(&patch).unwrap(), shown);
    assert!(site.command("git").args(["apply", &patch]).status().unwrap().success());
    let after = files(&site.workspace());
    assert_eq!((after["old.txt"].as_slice(), after["data.bin"].as_slice()), (&b"old\nnew\n"[..], &b"\0"[..]));
    let place = String::from_utf8(after["where"].clone()).unwrap();
    assert!(place.contains("/tmp/uwf-isolated-"), "{place}");
    site.verify();
    // It worked where nothing is any more.
    let undone = site.uwf(&["undo", &step]);
    undone.fails(1, &["cannot use the directory", "--cwd DIR"]);
    site.uwf(&["undo", &step, "--cwd", site.workspace().to_str().unwrap()]).ok();
    assert_eq!(files(&site.workspace())["old.txt"], b"old\n");
}

#[test]
fn the_copy_is_kept_where_that_is_wanted_or_the_run_failed() {
    let site = site();
    let script = mock(&site, &WORK);
    let said = Said::of(run(&site, &script, &["--isolated", "--keep"]).output().unwrap()).ok();
    let [copy] = &copies(&site)[..] else { panic!("{:?}", copies(&site)) };
    let told = format!("the copy of {} stays in {}\n", site.workspace().display(), copy.display());
    assert!(said.err.contains(&told) && said.err.contains("--patch | git apply\n"), "{}", said.err);
    assert_eq!(files(copy)["old.txt"], b"old\nnew\n");
    fs::remove_dir_all(copy).unwrap();

    let failing =
        site.write("failing.yaml", "roles:\n  worker:\n    - turns:\n        - { error: { status: 401 } }\n");
    let said = Said::of(run(&site, &failing, &["--isolated"]).output().unwrap()).code(5);
    assert_eq!(copies(&site).len(), 1, "{}", said.err);
    assert!(said.err.contains(" stays in "), "{}", said.err);
    fs::remove_dir_all(&copies(&site)[0]).unwrap();

    for wrong in [&["--patch", "x"][..], &["--keep"], &["--isolated", "--no-snapshots"]] {
        Said::of(run(&site, &script, wrong).output().unwrap()).code(2);
    }
    let said = Said::of(run(&site, &script, &["--isolated", "--role", "nobody"]).output().unwrap());
    assert!(said.code != 0 && copies(&site).is_empty(), "{said:?}");
    site.write("home/.uwf/agents/builtin.yaml", "snapshots: { maxFiles: 1 }\n");
    let said = Said::of(run(&site, &script, &["--isolated"]).output().unwrap()).code(1);
    assert!(
        said.err.contains("cannot be copied: ") && said.err.contains("snapshots.maxFiles"),
        "{}",
        said.err
    );
    assert_eq!(copies(&site), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupted_run_goes_on_in_its_copy() {
    let site = site();
    let script = mock(&site, &["echo 1 > first", "touch began; sleep 1000", "echo 2 > second"]);
    let mut command = run(&site, &script, &["--isolated"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| copies(&site).first().is_some_and(|copy| copy.join("began").exists()));
    signal("-INT", child.id());
    let said = Said::of(child.wait_with_output().unwrap()).code(130);
    let [copy] = &copies(&site)[..] else { panic!("{:?}", copies(&site)) };
    assert!(said.err.contains(&format!(" stays in {}\n", copy.display())), "{}", said.err);
    let thread = said.err.lines().find_map(|line| line.strip_prefix("thread ")).unwrap();
    let patch = site.write("the.patch", "");
    site.agent(&["run", "--continue", thread, "--format", "json", "--patch", &patch]).ok();
    let text = fs::read_to_string(&patch).unwrap();
    assert!(
        ["first", "began", "second"]
            .iter()
            .all(|name| text.contains(&format!("+++ b/{name}\n")) || *name == "began")
    );
    assert_eq!(copies(&site), Vec::<PathBuf>::new());
    assert!(!site.workspace().join("first").exists());
}
