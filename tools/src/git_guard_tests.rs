//! Tests of `git_guard`, with the real git.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use serde_json::json;

use crate::Toolbox;
use crate::sandbox::{Policy, Sandbox};
use crate::scratch::{Scratch, config, git as git_program, limits, policy};

/// A workspace that is a git repository.
fn repository() -> Scratch {
    let scratch = Scratch::new();
    git(&scratch, &["init", "-q"]);
    git(&scratch, &["config", "alias.mine", "status"]);
    scratch.put(".git/hooks/pre-push", "#!/bin/sh\n");
    fs::set_permissions(scratch.root().join(".git/hooks/pre-push"), fs::Permissions::from_mode(0o755))
        .unwrap();
    scratch
}

fn git(scratch: &Scratch, args: &[&str]) -> String {
    let output = git_program().args(args).current_dir(scratch.root()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command undid, and that the model is told of it.
fn undone(scratch: &Scratch, command: &str) -> Vec<String> {
    let output = scratch.call("run_command", json!({ "command": command }));
    assert!(output.text.contains("exit code 0"), "{}", output.text);
    output
        .facts
        .undone
        .iter()
        .for_each(|line| assert!(output.text.contains(line.as_str()), "{}", output.text));
    assert_eq!(output.facts.undone.is_empty(), !output.text.contains("[git: "), "{}", output.text);
    output.facts.undone
}

#[test]
fn variables_that_run_programs_are_undone_and_others_stand() {
    let scratch = repository();
    let command = "git config core.hooksPath /tmp/evil; git config user.name me; git config --unset alias.mine; \
                   git remote add origin https://example.org/x; git config --add 'filter.a b.clean' 'sh -c x'";
    assert_eq!(
        undone(&scratch, command),
        ["alias.mine", "core.hookspath", "filter.a b.clean"]
            .map(|key| format!("undone: {key} in .git/config"))
    );
    let list = git(&scratch, &["config", "--local", "--list"]);
    assert!(!list.contains("evil") && !list.contains("filter."), "{list}");
    for line in ["alias.mine=status", "user.name=me", "remote.origin.url=https://example.org/x"] {
        assert!(list.lines().any(|have| have == line), "{line} is not in {list}");
    }
    assert!(undone(&scratch, "true").is_empty(), "once is enough");
}

#[test]
fn nothing_but_the_bytes_of_before_is_left_when_nothing_else_changed() {
    let scratch = repository();
    let before = scratch.get(".git/config");
    assert_eq!(undone(&scratch, "git config alias.x '!sh'; git config core.pager cat").len(), 2);
    assert_eq!(scratch.get(".git/config"), before);
    assert!(undone(&scratch, "echo '[core' >> .git/config")[0].contains("what git cannot read"));
    assert_eq!(scratch.get(".git/config"), before);
}

#[test]
fn hooks_are_as_they_were() {
    let scratch = repository();
    let command = "cd .git/hooks; echo evil > pre-commit; chmod +x pre-commit; echo evil >> pre-push; ln -s /bin/sh post-merge; \
                   touch x.sample";
    let hooks =
        ["post-merge", "pre-commit", "pre-push"].map(|hook| format!("undone: the hook {hook} in .git/hooks"));
    assert_eq!(undone(&scratch, command), hooks);
    assert_eq!(scratch.get(".git/hooks/pre-push"), b"#!/bin/sh\n");
    let mode = fs::metadata(scratch.root().join(".git/hooks/pre-push")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!scratch.root().join(".git/hooks/pre-commit").exists());
    assert_eq!(undone(&scratch, "rm -r .git/hooks").len(), 1);
    assert_eq!(scratch.get(".git/hooks/pre-push"), b"#!/bin/sh\n");
}

#[test]
fn a_directory_of_hooks_cannot_become_a_symlink() {
    let scratch = repository();
    let lines = undone(
        &scratch,
        "mkdir evil; echo x > evil/pre-commit; mv .git/hooks away; ln -s ../evil .git/hooks",
    );
    assert_eq!(lines, ["undone: the symbolic link .git/hooks", "undone: the hook pre-push in .git/hooks"]);
    assert_eq!(scratch.get(".git/hooks/pre-push"), b"#!/bin/sh\n");
    assert!(scratch.root().join("evil/pre-commit").exists(), "the files of the workspace stay");
}

#[test]
fn a_config_cannot_become_a_symlink_and_git_is_not_led_outside() {
    let scratch = repository();
    let before = scratch.get(".git/config");
    assert_eq!(undone(&scratch, "mv .git/config c; ln -s ../c .git/config").len(), 1);
    assert_eq!(scratch.get(".git/config"), before);
    let other = scratch.outside().join("other");
    fs::create_dir_all(other.join("hooks")).unwrap();
    fs::write(other.join("hooks/pre-commit"), "somebody's own").unwrap();
    let lines = undone(&scratch, "mv .git away; ln -s ../other .git");
    assert!(lines[0].starts_with("not undone: a `.git` leads to "), "{lines:?}");
    assert!(other.join("hooks/pre-commit").exists());
}

#[test]
fn worktrees_and_nested_repositories_are_watched_too() {
    let scratch = repository();
    git(&scratch, &["init", "-q", "sub"]);
    git(&scratch, &["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "m", "--allow-empty"]);
    git(&scratch, &["config", "extensions.worktreeConfig", "true"]);
    git(&scratch, &["worktree", "add", "-q", "../linked"]);
    let lines = undone(&scratch, "git -C sub config core.editor x");
    assert_eq!(lines, ["undone: core.editor in sub/.git/config"]);
    drop(scratch.toolbox.close());

    let linked = scratch.outside().join("linked");
    let policy = crate::scratch::policy(scratch.outside());
    let sandbox = Sandbox::prepare(Policy { workspace: linked.clone(), ..policy });
    let toolbox = Toolbox::open(crate::ToolboxConfig {
        root: linked,
        sandbox: std::sync::Arc::new(sandbox),
        ..config(scratch.outside(), limits())
    });
    let call = json!({"command": "git config --worktree core.pager y; git config core.editor x"}).to_string();
    let toolbox = toolbox.unwrap();
    let run = |call: &str| toolbox.call("run_command", call, &crate::Cancel::default()).facts.undone;
    let lines = run(&call);
    assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("undone: ")), "{lines:?}");
    assert!(!git(&scratch, &["config", "--list"]).contains("core.editor"));
    // What the worktrees share is not below this one, and all of it can be written.
    let hidden =
        "n=$(git rev-parse --git-common-dir)/objects/zz.git; git init -q --bare $n; echo x > $n/hooks/update";
    let lines = run(&json!({"command": hidden}).to_string());
    assert!(
        !lines.is_empty() && !scratch.root().join(".git/objects/zz.git/hooks/update").exists(),
        "{lines:?}"
    );
}

#[test]
fn included_files_of_the_workspace_are_watched() {
    let scratch = repository();
    scratch.put("team.gitconfig", "[alias]\n\tours = log\n");
    git(&scratch, &["config", "include.path", "../team.gitconfig"]);
    let lines = undone(&scratch, "git config -f team.gitconfig alias.ours '!evil'");
    assert_eq!(lines, ["undone: alias.ours in team.gitconfig"]);
    assert_eq!(scratch.get("team.gitconfig"), b"[alias]\n\tours = log\n");
}

#[test]
fn included_files_that_appear_or_are_swapped_are_watched() {
    let scratch = repository();
    scratch.put("team/config", "[alias]\n\tours = log\n");
    git(&scratch, &["config", "--add", "include.path", "../team/config"]);
    git(&scratch, &["config", "--add", "includeIf.onbranch:x.path", "../later"]);
    let lines = undone(&scratch, "git config -f later core.pager evil");
    assert_eq!(lines, ["undone: core.pager in later"]);
    let lines = undone(
        &scratch,
        "cp -r team other; git config -f other/config core.pager x; mv team away; ln -s other team",
    );
    // What it held before is unknown under this name.
    assert_eq!(lines, ["undone: alias.ours in other/config", "undone: core.pager in other/config"]);
}

/// In the repository of a linked worktree, what another worktree shares is led into the workspace.
#[test]
fn another_worktree_is_not_led_to_other_settings() {
    let scratch = repository();
    git(&scratch, &["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "m", "--allow-empty"]);
    git(&scratch, &["worktree", "add", "-q", "../linked"]);
    git(&scratch, &["worktree", "add", "-q", "../other"]);
    let root = scratch.outside().join("linked");
    let policy = Policy { workspace: root.clone(), ..policy(scratch.outside()) };
    let sandbox = Arc::new(Sandbox::prepare(policy));
    let toolbox =
        Toolbox::open(crate::ToolboxConfig { root, sandbox, ..config(scratch.outside(), limits()) });
    let command = "git init -q --bare evil; git -C evil config core.fsmonitor evil; \
                   echo $PWD/evil > $(git rev-parse --git-common-dir)/worktrees/other/commondir";
    let call = json!({ "command": command }).to_string();
    let output = toolbox.unwrap().call("run_command", &call, &crate::Cancel::default());
    assert_eq!(output.facts.undone, ["undone: core.fsmonitor in evil/config"], "{}", output.text);
}

#[test]
fn what_is_new_is_found_at_the_end_and_what_was_moved_is_left() {
    let scratch = repository();
    git(&scratch, &["init", "-q", "sub"]);
    git(&scratch, &["-C", "sub", "config", "alias.old", "status"]);
    scratch.put("sub/.git/hooks/commit-msg", "old");
    let command =
        "mv sub moved; git init -q new; git -C new config core.sshCommand x; echo x > new/.git/hooks/update";
    assert!(undone(&scratch, command).is_empty());
    let lines = scratch.toolbox.close().undone;
    assert_eq!(
        lines,
        ["undone: the hook update in new/.git/hooks", "undone: core.sshcommand in new/.git/config"]
    );
    assert_eq!(scratch.get("moved/.git/hooks/commit-msg"), b"old");
    assert!(String::from_utf8(scratch.get("moved/.git/config")).unwrap().contains("old = status"));
    assert!(scratch.toolbox.close().undone.is_empty());
}

#[test]
fn a_run_that_is_cut_off_is_looked_at_too() {
    let scratch = repository();
    let (root, dir) = (scratch.root(), scratch.outside().to_owned());
    let Scratch { toolbox, .. } = &scratch;
    toolbox.close();
    let toolbox = Toolbox::open(config(&dir, limits())).unwrap();
    let call = r#"{"command": "(sleep 0.3; echo x > .git/hooks/late) & git init -q new; echo x > new/.git/hooks/late"}"#;
    toolbox.call("run_command", call, &crate::Cancel::default());
    drop(toolbox);
    assert!(!root.join(".git/hooks/late").exists() && !root.join("new/.git/hooks/late").exists());
}

#[test]
fn it_can_be_allowed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("ws")).unwrap();
    let toolbox =
        Toolbox::open(crate::ToolboxConfig { allow_git_programs: true, ..config(dir.path(), limits()) })
            .unwrap();
    let call = r#"{"command": "git init -q; echo x > .git/hooks/update"}"#;
    assert!(toolbox.call("run_command", call, &crate::Cancel::default()).facts.undone.is_empty());
    toolbox.close();
    assert!(dir.path().join("ws/.git/hooks/update").exists());
}

/// Neither the memory of the agent nor the answer is filled.
#[test]
fn a_flood_of_hooks_is_undone_in_few_words() {
    let scratch = repository();
    let lines = undone(&scratch, "cd .git/hooks && for n in $(seq 300); do truncate -s 16M h$n; done");
    // And pre-push, which was not looked at any more and is put back as it was.
    assert_eq!((lines.len(), lines.last().unwrap().as_str()), (21, "and 281 more"));
    assert_eq!(fs::read_dir(scratch.root().join(".git/hooks")).unwrap().count(), 1 + samples(&scratch));
}

fn samples(scratch: &Scratch) -> usize {
    let names = fs::read_dir(scratch.root().join(".git/hooks")).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|end| end == "sample")).count()
}

/// A server is started before any command, and may do what it likes between two calls.
#[test]
fn what_a_server_does_is_undone_after_a_call_and_at_the_end() {
    let scratch = repository();
    let script = "while read line; do $line; echo done; done";
    let command = crate::ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        ..crate::ServerCommand::default()
    };
    let mut server = scratch.toolbox.start_server(&command, &crate::Cancel::default()).unwrap();
    let mut has_done = |line: &str| {
        use std::io::{BufRead, BufReader, Write};
        writeln!(server.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n");
    };
    has_done("git config core.pager evil");
    let output = scratch.toolbox.answered("an answer\n");
    assert_eq!(output.facts.undone, ["undone: core.pager in .git/config"]);
    assert!(output.text.starts_with("an answer\n[git: undone: core.pager"), "{}", output.text);
    assert!(output.text.contains("Servers may not change which programs git runs"), "{}", output.text);
    assert!(!git(&scratch, &["config", "--local", "--list"]).contains("evil"));
    assert_eq!(scratch.toolbox.answered("a").text, "a");
    has_done("cp .git/config .git/hooks/post-merge");
    has_done("chmod +x .git/hooks/post-merge");
    assert_eq!(scratch.toolbox.close().undone, ["undone: the hook post-merge in .git/hooks"]);
    assert!(!scratch.root().join(".git/hooks/post-merge").exists());
}

/// A program that is no command of a model's.
#[test]
fn what_a_program_of_its_own_does_is_undone_when_it_has_ended() {
    let scratch = repository();
    let sandbox = Sandbox::prepare(policy(scratch.outside()));
    let input = sandbox.policy().temporary().join("input");
    fs::write(&input, "").unwrap();
    let script = "git config core.pager evil; git config user.name me; git init -q new; echo x > new/.git/hooks/pre-commit; \
                  chmod +x new/.git/hooks/pre-commit; exit 7";
    let args = ["-c".to_owned(), script.to_owned()];
    let env = std::env::vars_os().filter(|(name, _)| name == "PATH");
    let ran = sandbox.run(("sh", &args), &input, env, &|| None).unwrap();
    let undone = ["undone: core.pager in .git/config", "undone: the hook pre-commit in new/.git/hooks"];
    assert_eq!((ran.code, ran.undone, ran.standing), (7, undone.map(str::to_owned).to_vec(), Vec::new()));
    let list = git(&scratch, &["config", "--local", "--list"]);
    assert!(list.contains("user.name=me") && !list.contains("evil"), "{list}");
}
