//! What a run changed, undone and done again: byte for byte, from a store that was collected, in another store, and after
//! every kill.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::changes::WORKFLOW;
use crate::site::{AGENT, Site, UWF};

/// Tools and commands that do everything a file can undergo.
const MOCK: &str = r#"
roles:
  worker:
    - turns:
        - { tool_calls: [{ name: write_file, arguments: { path: by tool.txt, content: "tool\n" } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "echo more >> old.txt; printf '\\000\\001' > data.bin; chmod 755 run; ln -s old.txt link" } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "head -c 1500000 /dev/zero | tr '\\000' 'x' > large; printf n > \"$(printf 'no\\377text')\"" } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "mkdir -p sub/deep && mv name.txt sub/deep/name.txt && chmod 711 sub" } }] }
        - { content: "---\n$status: more\n---\n" }
    - turns:
        - { tool_calls: [{ name: edit_file, arguments: { path: by tool.txt, old_string: tool, new_string: tool again } }] }
        - { tool_calls: [{ name: run_command, arguments: { command: "rm data.bin link; mkdir link; echo x > link/below; truncate -s 9 large; rm -r sub" } }] }
        - { content: "---\n$status: done\n---\n" }
"#;

/// Everything in a workspace: what it is, its permissions and its content.
type Listing = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn listing(dir: &Path) -> Listing {
    let (mut all, mut open) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_vec()
            } else if metadata.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            let relative = path.strip_prefix(dir).unwrap().to_owned();
            all.insert(relative, (metadata.permissions().mode(), content));
        }
    }
    all
}

/// A thread of that workflow in which so many steps were played, and the workspace before each and after the last.
fn played(site: &Site, mock: &str, steps: usize) -> (String, Vec<Listing>) {
    let (workflow, mock) = (site.write("w.yaml", WORKFLOW), site.write("mock.yaml", mock));
    let thread = site.start(&workflow, "Work.");
    let agent = format!("{AGENT} --mock {mock}");
    let mut states = vec![listing(&site.workspace())];
    for _ in 0..steps {
        site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok();
        states.push(listing(&site.workspace()));
    }
    (thread, states)
}

#[test]
fn what_a_run_did_is_undone_and_done_again_byte_for_byte() {
    let site = Site::new();
    for (name, text) in [("old.txt", "old\n"), ("run", "#!/bin/sh\n"), ("name.txt", "a name\n")] {
        site.write(&format!("work/{name}"), text);
    }
    let (thread, states) = played(&site, MOCK, 2);
    site.uwf(&["undo", &format!("{thread}:2")]).ok();
    assert_eq!(listing(&site.workspace()), states[1]);
    site.uwf(&["undo", &format!("{thread}:1")]).ok();
    assert_eq!(listing(&site.workspace()), states[0]);
    site.verify();
    let said = site.uwf(&["step", "list", &thread, "--format", "text"]).ok();
    assert_eq!(said.out.matches(" (undone)").count(), 2, "{}", said.out);
    // The log is a part of the thread.
    let file = site.write("thread.jsonl", "");
    site.uwf(&["thread", "export", &thread, "-o", &file]).ok();
    let elsewhere = site.home().join("elsewhere");
    let there = |args: &[&str]| {
        let mut command = site.command(UWF);
        crate::site::Said::of(command.env("OCAS_HOME", &elsewhere).args(args).output().unwrap())
    };
    there(&["thread", "import", &file]).ok();
    there(&["redo"]).ok();
    assert_eq!(listing(&site.workspace()), states[1]);
    there(&["redo", &format!("{thread}:2")]).ok();
    assert_eq!(listing(&site.workspace()), states[2]);
    there(&["undo", &format!("{thread}:2")]).ok();
    there(&["cas", "verify"]).ok();
}

/// How often an undo or a redo is killed.
const KILLS: u32 = 100;

#[test]
fn one_that_was_killed_is_finished_or_taken_back_by_the_next() {
    let site = Site::new();
    for n in 0..20 {
        site.write(&format!("work/kept/{n}"), &format!("{n} before\n"));
        site.write(&format!("work/gone{n}/deep/file"), "gone\n");
        site.write(&format!("work/retyped{n}"), "a file\n");
    }
    let work = "for n in $(seq 0 19); do head -c 50000 /dev/zero > kept/$n; mv gone$n/deep/file moved$n; rm -r gone$n; \
                rm retyped$n; mkdir retyped$n; echo x > retyped$n/below; ln -s nowhere new$n; done";
    let mock = format!(
        "roles:\n  worker:\n    - turns:\n        - {{ tool_calls: [{{ name: run_command, arguments: {{ command: \"{work}\" }} }}] }}\n        \
         - {{ content: \"---\\n$status: done\\n---\\n\" }}\n"
    );
    let (thread, states) = played(&site, &mock, 1);
    // Where a sync costs nothing: what ends here are processes, not machines.
    let memory = Site::in_memory();
    for (from, to) in [(site.home(), memory.home()), (site.workspace(), memory.workspace())] {
        let (from, to) = (from.join("."), to.display().to_string());
        assert!(site.command("cp").args(["-a", from.to_str().unwrap(), &to]).status().unwrap().success());
    }
    let (site, step) = (memory, format!("{thread}:1"));
    let workspace = site.workspace().display().to_string();
    let begun = Instant::now();
    site.uwf(&["undo", &step, "--cwd", &workspace]).ok();
    let whole = begun.elapsed();
    site.uwf(&["redo", &step, "--cwd", &workspace]).ok();
    for round in 0..KILLS {
        // What is killed, and what comes then: it is finished, or it is taken back.
        let (verb, then) = [
            ("undo", "undo"),
            ("redo", "redo"),
            ("undo", "redo"),
            ("undo", "undo"),
            ("redo", "undo"),
            ("redo", "redo"),
        ][round as usize % 6];
        let (done, wanted) = match then {
            "undo" => ("is undone already", &states[0]),
            _ => ("is undone\n", &states[1]),
        };
        killed(&site, &[verb, &step, "--cwd", &workspace], whole * round / KILLS);
        for (path, found) in listing(&site.workspace()) {
            let is_staged = path.file_name().unwrap().to_string_lossy().starts_with(".uwf-restore-");
            let is_known = |state: &Listing| state.get(&path) == Some(&found);
            assert!(is_staged || states.iter().any(is_known), "round {round}: {path:?}");
        }
        let said = site.uwf(&[then, &step, "--cwd", &workspace]);
        assert!(said.code == 0 || said.code == 1 && said.err.contains(done), "round {round}: {said:?}");
        let found = listing(&site.workspace());
        let differs = |path: &&PathBuf| found.get(*path) != wanted.get(*path);
        let other: Vec<_> = found.keys().chain(wanted.keys()).filter(differs).collect();
        assert!(other.is_empty(), "round {round}: {other:?}");
    }
    site.verify();
}

/// Starts a command and kills it so long after.
fn killed(site: &Site, args: &[&str], after: Duration) {
    let mut command = site.command(UWF);
    let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    // It may have finished.
    child.kill().ok();
    child.wait().unwrap();
}
