//! What commands leave in git's directories so that somebody else's git would run it.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::field::{Answers, Call, Field, by_everybody, command};

/// Name, command (in the workspace), and what the model is told.
const ATTACKS: &[(&str, &str, &str)] = &[
    ("a hook", "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", "the hook pre-commit"),
    ("a changed hook", "echo evil >> .git/hooks/pre-push", "the hook pre-push"),
    (
        "a hook too large to look at",
        "{ echo evil; head -c 17000000 /dev/zero; } > .git/hooks/update",
        "the hook update",
    ),
    (
        "a hook that may not be read",
        "echo evil > .git/hooks/update; chmod 111 .git/hooks/update",
        "the hook update",
    ),
    (
        "hooks that may not be listed",
        "echo evil > .git/hooks/update; chmod 111 .git/hooks .git",
        "the hook update",
    ),
    ("a hook by a link", "ln -s /bin/sh .git/hooks/post-merge", "the hook post-merge"),
    (
        "hooks by a link",
        "mkdir evil; mv .git/hooks evil/away; ln -s ../evil .git/hooks",
        "the symbolic link .git/hooks",
    ),
    (
        "a nested repository's hook",
        "echo evil > sub/.git/hooks/post-checkout",
        "the hook post-checkout in sub/.git/hooks",
    ),
    ("core.fsmonitor", "git config core.fsmonitor evil", "core.fsmonitor"),
    ("core.hooksPath", "git config core.hooksPath evil", "core.hookspath"),
    ("core.sshCommand", "git config core.sshCommand evil", "core.sshcommand"),
    ("a filter", "git config filter.x.clean evil; echo '* filter=x' > .gitattributes", "filter.x.clean"),
    ("an alias", "git config alias.co '!evil'", "alias.co"),
    ("a credential helper", "git config credential.helper '!evil'", "credential.helper"),
    (
        "an included file",
        "printf '[alias]\\n\\tst = !evil\\n' > i; git config include.path ../i",
        "include.path",
    ),
    (
        "a config too large to look at",
        "git config core.pager evil; head -c 17000000 /dev/zero | tr '\\0' '#' >> .git/config",
        "config",
    ),
    ("a tree elsewhere", "git config core.worktree ~", "core.worktree"),
    (
        "a submodule's hook, out of sight",
        "rm part/.git; echo evil > .git/modules/part/hooks/update",
        "the hook update in .git/modules/part/hooks",
    ),
    (
        "a submodule's hook, before it is there",
        "git init -q --bare .git/modules/new/part; echo evil > .git/modules/new/part/hooks/update",
        "the hook update in .git/modules/new/part/hooks",
    ),
    (
        "another worktree's config",
        "git config --file .git/worktrees/other/config.worktree core.pager evil",
        "core.pager in .git/worktrees/other/config.worktree",
    ),
    ("a config by a link", "mv .git/config c; ln -s ../c .git/config", "undone"),
    (
        "a nested repository's config",
        "git -C sub config core.fsmonitor evil",
        "core.fsmonitor in sub/.git/config",
    ),
];

/// In a linked worktree, of the repository it belongs to.
const IN_A_WORKTREE: &[(&str, &str, &str)] = &[
    (
        "the common hooks",
        "echo evil > $(git rev-parse --git-common-dir)/hooks/pre-commit",
        "the hook pre-commit",
    ),
    ("the common config", "git config core.fsmonitor evil", "core.fsmonitor"),
    ("the worktree's config", "git config --worktree core.pager evil", "core.pager"),
];

fn git(field: &Field, dir: &Path, args: &str) {
    let mut git = field.site.command("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(args.split(' ')).current_dir(dir);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn run(field: &Field, attacks: &[(&str, &str, &str)], options: &[&str]) -> Answers {
    let calls: Vec<Call> = attacks.iter().map(|(name, text, _)| command(name, text)).collect();
    field.run(&calls, options)
}

#[track_caller]
fn assert_undone(answers: &Answers, attacks: &[(&str, &str, &str)]) {
    for (name, _, told) in attacks {
        let text = &answers.texts[*name].text;
        assert!(text.contains("[git: ") && text.contains(told), "{name}: {text}");
    }
}

/// Nothing of an attack is left that git would run.
fn is_evil(git_dir: &Path) -> bool {
    let config =
        ["config", "config.worktree"].map(|name| fs::read_to_string(git_dir.join(name)).unwrap_or_default());
    let hooks = fs::read_dir(git_dir.join("hooks")).unwrap().map(|entry| entry.unwrap().path());
    let mut hooks = hooks.filter(|path| path.extension().is_none_or(|end| end != "sample"));
    let is_evil =
        |path: std::path::PathBuf| path.is_symlink() || fs::read_to_string(path).unwrap().contains("evil");
    config.iter().any(|text| text.contains("evil")) || hooks.any(is_evil)
}

#[test]
fn hooks_and_settings_that_run_programs_are_undone_and_told() {
    by_everybody(|who| {
        let field = Field::new(who);
        let work = field.site.workspace();
        git(&field, &work, "init -q");
        git(&field, &work, "init -q sub");
        fs::create_dir(work.join(".git/modules")).unwrap();
        git(&field, &work, "init -q --separate-git-dir .git/modules/part part");
        git(&field, &work, "commit -qm m --allow-empty");
        git(&field, &work, "worktree add -q ../other");
        fs::write(work.join(".git/hooks/pre-push"), "#!/bin/sh\n").unwrap();
        assert_undone(&run(&field, ATTACKS, &[]), ATTACKS);
        for dir in [".git", "sub/.git", ".git/modules/part", ".git/modules/new/part"] {
            assert!(!is_evil(&work.join(dir)), "{dir}");
        }
        assert_eq!(fs::read_to_string(work.join(".git/hooks/pre-push")).unwrap(), "#!/bin/sh\n");
    });
}

#[test]
fn a_worktree_s_repository_is_watched() {
    let field = Field::new(super::field::Who::Me);
    let (main, linked) = (field.dir().join("main"), field.site.workspace().join("linked"));
    fs::create_dir(&main).unwrap();
    git(&field, &main, "init -q");
    git(&field, &main, "config extensions.worktreeConfig true");
    git(&field, &main, "commit -qm m --allow-empty");
    git(&field, &main, &format!("worktree add -q {}", linked.display()));
    let linked = linked.display().to_string();
    assert_undone(&run(&field, IN_A_WORKTREE, &["--cwd", &linked]), IN_A_WORKTREE);
    assert!(!is_evil(&main.join(".git")));
    let own = fs::read_to_string(main.join(".git/worktrees/linked/config.worktree")).unwrap_or_default();
    assert!(!own.contains("evil"), "{own}");
}

/// Repositories that git finds without the name `.git`, made by commands and by file tools; looked for at the end.
#[test]
fn no_repository_is_left_that_runs_programs() {
    let config = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = evil\n";
    let write = |path: &str, content: &str| Call {
        id: path.to_owned(),
        tool: "write_file",
        arguments: json!({"path": path, "content": content}),
    };
    let bare = |dir: &str| {
        let files =
            [("HEAD", "ref: refs/heads/main\n"), ("config", config), ("objects/x", ""), ("refs/x", "")];
        files.map(|(name, content)| write(&format!("{dir}/{name}"), content))
    };
    let by_command = "git init -q --bare b; git -C b config core.fsmonitor evil; echo evil > b/hooks/update";
    let led = [
        (
            "by a name with a zero",
            r"mkdir -p d/.git; mv b d/.git/b; printf 'gitdir: ../d/.git/b\0x' > s/.git",
        ),
        (
            "by a name that is no text",
            r"mkdir -p d/.git; mv b $'d/.git/\xff'; printf 'gitdir: ../d/.git/\xff\n' > s/.git",
        ),
        (
            "by a link elsewhere",
            "mkdir -p d/.git c/c; mv b d/.git/b; echo 'gitdir: ../d/.git/b' > c/c/f; ln -s ../c/c/f s/.git",
        ),
    ]
    .map(|(name, text)| command(name, &format!("mkdir s; {by_command}; {text}")));
    let mut all: Vec<Vec<Call>> = led.into_iter().map(|call| vec![call]).collect();
    all.extend([bare("plain").into(), vec![command("a bare one", by_command)]]);
    for calls in all {
        let field = Field::new(super::field::Who::Me);
        let answers = field.run(&calls, &[]);
        assert!(answers.texts.values().all(|answer| answer.facts["isError"] != true), "{answers:?}");
        let found = crate::site::find(&field.site.workspace(), b"evil");
        assert_eq!(found, None, "{}", calls[0].id);
    }
}

/// The `.git` of a worktree that belongs to somebody else opens nothing, though it points back to itself.
#[test]
fn a_link_to_somebody_else_s_worktree_opens_no_repository() {
    by_everybody(|who| {
        let field = Field::new(who);
        let main = field.dir().join("main");
        fs::create_dir(&main).unwrap();
        git(&field, &main, "init -q");
        git(&field, &main, "commit -qm m --allow-empty");
        git(&field, &main, "worktree add -q ../linked");
        field.run(&[command("a link", "ln -s ../linked/.git .git")], &[]);
        let text = "echo evil > $(git rev-parse --git-common-dir)/description";
        let answers = field.run(&[command("the next run", text)], &[]);
        assert!(!answers.texts["the next run"].succeeded(), "{answers:?}");
        assert!(!fs::read_to_string(main.join(".git/description")).unwrap().contains("evil"));
    });
}
