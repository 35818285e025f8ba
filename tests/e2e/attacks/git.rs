//! What commands leave in git's directories so that somebody else's git would run it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use super::field::{Answer, Answers, Call, Field, by_everybody, command};
use crate::process::wait_for;

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
    (
        "a hook by a link",
        "chmod 755 .git .git/hooks; ln -s /bin/sh .git/hooks/post-merge",
        "the hook post-merge",
    ),
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
    (
        "a directory in a config's place",
        "mv .git/config c; mkdir .git/config; git -C sub config core.pager evil",
        "what cannot be looked at in .git/config",
    ),
    (
        "a name that the agent might use",
        "mkdir .git/.uwf-$PPID.tmp .git/hooks/.uwf-$PPID.tmp; git config core.pager evil; echo evil > .git/hooks/update",
        "undone: core.pager in .git/config",
    ),
    (
        "a file of a hook",
        "mkdir -p .git/hooks/lib; echo evil > .git/hooks/lib/x",
        "the hook lib/x in .git/hooks",
    ),
    ("a merge tool elsewhere", "git config merge.tool ../../evil", "merge.tool"),
    ("steps by a format", "git config rebase.instructionFormat '%s%nexec evil'", "rebase.instructionformat"),
    (
        "a step",
        "mkdir -p .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo",
        "the step `exec evil` in .git/rebase-merge/git-rebase-todo",
    ),
    (
        "a short step",
        "printf 'pick 1\\n \\tx\\tevil' > .git/rebase-merge/git-rebase-todo",
        "the step `x?evil` in .git/rebase-merge/git-rebase-todo",
    ),
    (
        "a step that is kept beside",
        "echo 'x evil' > .git/rebase-merge/git-rebase-todo.backup",
        "the step `x evil` in .git/rebase-merge/git-rebase-todo.backup",
    ),
    ("a step that was taken", "echo 'x evil' > .git/rebase-merge/done", "the step `x evil`"),
    ("a rebase's strategy", "echo ./evil > .git/rebase-merge/strategy", "the strategy in .git/rebase-merge"),
    (
        "another rebase's strategy",
        "mkdir .git/rebase-apply; echo ./evil > .git/rebase-apply/strategy",
        "the strategy in .git/rebase-apply",
    ),
    (
        "a cherry-pick's step",
        "mkdir .git/sequencer; echo 'exec evil' > .git/sequencer/todo",
        "the step `exec evil` in .git/sequencer/todo",
    ),
    (
        "a cherry-pick's strategy",
        "git config -f .git/sequencer/opts options.strategy ./evil",
        "options.strategy in .git/sequencer/opts",
    ),
    (
        "steps behind a link",
        "mkdir later; ln -sf ../../later .git/rebase-merge/git-rebase-todo",
        "a symbolic link in .git/rebase-merge/git-rebase-todo",
    ),
    (
        "all of a rebase behind a link",
        "rm -r .git/rebase-merge; ln -s ../later .git/rebase-merge",
        "a symbolic link in .git/rebase-merge",
    ),
    (
        "another worktree's step",
        "mkdir .git/worktrees/other/rebase-merge; echo 'x evil' > .git/worktrees/other/rebase-merge/git-rebase-todo",
        "the step `x evil` in .git/worktrees/other/rebase-merge",
    ),
    (
        "a submodule's step",
        "mkdir .git/modules/part/sequencer; echo 'x evil' > .git/modules/part/sequencer/todo",
        "the step `x evil` in .git/modules/part/sequencer",
    ),
    (
        "hooks that may not be written",
        "echo evil > .git/hooks/update; chmod 555 .git/hooks",
        "undone: the hook update",
    ),
    (
        "a directory that may not be written",
        "git config core.pager evil; chmod 500 .git; chmod 555 sub/.git",
        "undone: core.pager",
    ),
    (
        "hooks that may not be entered",
        "chmod 755 .git .git/hooks; echo evil > .git/hooks/update; chmod 000 .git/hooks",
        "undone: the hook update",
    ),
    (
        "directories that may not be entered",
        "git -C sub config core.pager evil || { chmod 755 sub/.git; git -C sub config core.pager evil; }; chmod 000 sub/.git sub",
        "undone: core.pager in sub/.git/config",
    ),
];

/// Made by commands, each in a directory of its own, and looked for at the end; in each a repository `b` like that of
/// [`NEW`].
const NEW_ONES: &[(&str, &str)] = &[
    ("closed", "mkdir c; mv b c; chmod 000 c"),
    ("closed to lists", "mkdir c; mv b c; chmod 111 c"),
    ("closed twice", "mkdir -p c/c; mv b c/c; chmod 000 c/c; chmod 000 c"),
    ("closed itself", "chmod 000 b"),
    ("closed and led to", "mkdir -p c s; mv b c; echo 'gitdir: ../c/b' > s/.git; chmod 000 c"),
    ("deep", "d=$(printf 'd/%.0s' $(seq 1000)); mkdir -p $d; mv b $d"),
    ("with a link for a head", "rm b/HEAD; ln -s refs/heads/main b/HEAD"),
    ("by a link", "mkdir s; ln -s ../b s/.git"),
    ("by links", "mkdir s; ln -s b l; ln -s ../l s/.git"),
    ("shared", "git init -q s; echo ../../b > s/.git/commondir"),
    (
        "shared by one that is led to",
        "git init -q s; mv s/.git g; echo ../b > g/commondir; echo 'gitdir: ../g' > s/.git",
    ),
    ("a submodule's", "git init -q s; mkdir s/.git/modules; mv b s/.git/modules/m"),
    (
        "with a step",
        "rm -r b; git init -q s; mkdir s/.git/rebase-merge; echo 'x evil' > s/.git/rebase-merge/git-rebase-todo",
    ),
    (
        "that is no directory but in names",
        "rm -r b/objects b/refs; touch b/objects b/refs; chmod +x b/objects b/refs",
    ),
    ("that may not be written", "chmod 555 b b/hooks ."),
];

/// A repository that runs programs.
const NEW: &str = "git init -q --bare b; git -C b config core.fsmonitor evil; echo evil > b/hooks/update";

/// What git does later: the agent's command, and how a person goes on.
const GOES_ON: &[(&str, &str, &[&str])] = &[
    (
        "a rebase",
        "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i main~1; echo 'x touch evil' >> .git/rebase-merge/git-rebase-todo",
        &["rebase --continue"],
    ),
    (
        "a rebase by a strategy",
        "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i side; echo ./x > .git/rebase-merge/strategy",
        &["rebase --continue"],
    ),
    (
        "a cherry-pick by a strategy",
        "git checkout -q side; git cherry-pick main~1 main; git config -f .git/sequencer/opts options.strategy ./x",
        &["checkout --theirs f", "add f", "cherry-pick --continue"],
    ),
    (
        "a rebase by a format",
        "git config rebase.instructionFormat '%s%nexec touch evil'",
        &["rebase --keep-base side -f"],
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

/// The names of all.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    let tables = ATTACKS.iter().chain(IN_A_WORKTREE).map(|(name, ..)| *name);
    tables.chain(NEW_ONES.iter().map(|(name, _)| *name)).chain(GOES_ON.iter().map(|(name, ..)| *name))
}

fn git(field: &Field, dir: &Path, args: &str) {
    let mut git = field.site.command("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(args.split(' ')).current_dir(dir);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{args}: {output:?}");
}

/// As a person who goes on where the agent worked, whoever that was.
fn goes_on(field: &Field, args: &str) {
    let mut git = field.site.command("git");
    git.args(["-c", "safe.directory=*", "-c", "user.name=n", "-c", "user.email=e", "-c", "core.editor=true"]);
    // Where the program was not run, the work may stand still all the same.
    git.args(args.split(' ')).current_dir(field.site.workspace()).output().unwrap();
}

fn run(field: &Field, attacks: &[(&str, &str, &str)], options: &[&str]) -> Answers {
    let calls: Vec<Call> = attacks.iter().map(|(name, text, _)| command(name, text)).collect();
    field.run(&calls, options)
}

/// Each was taken back and told, or could not be done in the first place.
#[track_caller]
fn assert_undone(answers: &Answers, attacks: &[(&str, &str, &str)]) {
    for (name, _, told) in attacks {
        let text = &answers.texts[*name].text;
        let refused =
            ["Read-only file system", "Device or resource busy"].iter().any(|word| text.contains(word));
        assert!(refused || (text.contains("[git: ") && text.contains(told)), "{name}: {text}");
    }
}

/// Somebody else's git may look at any moment, and the agent may be killed at any moment.
#[test]
fn what_runs_programs_is_never_in_the_real_configuration() {
    by_everybody(|who| {
        let field = Field::new(who);
        let work = field.site.workspace();
        git(&field, &work, "init -q");
        let before = fs::read_to_string(work.join(".git/config")).unwrap();
        let text = "git config user.name n && git config core.fsmonitor evil && touch set && sleep 1000";
        let turns =
            json!([{"tool_calls": [{"id": "a", "name": "run_command", "arguments": {"command": text}}]}]);
        let mock = field.site.write("m.yaml", &json!({"turns": turns}).to_string());
        let workflow = field.dir().join("w.yaml").display().to_string();
        let mut agent = field.agent();
        agent.args(["run", &workflow, "--role", "worker", "-p", "Set", "--mock", &mock]);
        let mut agent = agent.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(|| {
            assert!(!fs::read_to_string(work.join(".git/config")).unwrap().contains("evil"));
            work.join("set").exists()
        });
        agent.kill().unwrap();
        agent.wait().unwrap();
        assert_eq!(fs::read_to_string(work.join(".git/config")).unwrap(), before);
    });
}

/// Nothing of an attack is left that git would run.
fn is_evil(git_dir: &Path) -> bool {
    let links = ["hooks", "rebase-merge", "rebase-apply", "sequencer"].map(|name| git_dir.join(name));
    let within = |dir: &Path| fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    crate::site::find(git_dir, b"evil").is_some()
        || links.iter().any(|dir| dir.is_symlink() || within(dir).any(|path| path.is_symlink()))
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
        (
            "among the objects of what looks like one",
            "mkdir -p p/objects p/refs; echo x > p/HEAD; mv b p/objects/b",
        ),
        ("among the objects of one", "git init -q r; mkdir r/.git/objects/ab; mv b r/.git/objects/ab/b"),
        ("among the references of one", "git init -q r; mv b r/.git/refs/heads/b"),
    ]
    .map(|(name, text)| command(name, &format!("mkdir s; {NEW}; {text}")));
    let mut all: Vec<Vec<Call>> = led.into_iter().map(|call| vec![call]).collect();
    all.extend([bare("plain").into(), vec![command("a bare one", NEW)]]);
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
        assert_eq!(field.attempt(&[command("a link", "ln -s ../linked/.git .git")], &[]).code, 7);
        let text = "echo evil > $(git rev-parse --git-common-dir)/description";
        let answers = field.run(&[command("the next run", text)], &[]);
        assert!(!answers.texts["the next run"].succeeded(), "{answers:?}");
        assert!(!fs::read_to_string(main.join(".git/description")).unwrap().contains("evil"));
    });
}

#[test]
fn no_new_repository_is_hidden_or_closed() {
    by_everybody(|who| {
        let field = Field::new(who);
        let calls: Vec<Call> = NEW_ONES
            .iter()
            .map(|(name, text)| command(name, &format!("mkdir '{name}'; cd '{name}'; {NEW}; {text}")))
            .collect();
        let answers = field.run(&calls, &[]);
        assert!(answers.texts.values().all(Answer::succeeded), "{answers:?}");
        assert_eq!(crate::site::find(&field.site.workspace(), b"evil"), None);
        let mode = |path: &str| {
            fs::metadata(field.site.workspace().join(path)).unwrap().permissions().mode() & 0o777
        };
        let modes = [
            "closed/c",
            "closed twice/c",
            "closed twice/c/c",
            "closed itself/b",
            "that may not be written/b",
        ]
        .map(mode);
        assert_eq!(modes, [0, 0, 0, 0, 0o555], "they are as closed as they were");
    });
}

/// With the work that it does otherwise; where commands may do so, the same runs a program.
#[test]
fn what_git_goes_on_with_runs_no_program() {
    by_everybody(|who| {
        for (name, text, later) in GOES_ON {
            let ran = |allowed: bool| {
                let field = Field::new(who);
                let work = field.site.workspace();
                let commit = |file: &str, text: &str| {
                    fs::write(work.join(file), text).unwrap();
                    git(&field, &work, &format!("add {file}"));
                    git(&field, &work, "commit -qm m");
                };
                git(&field, &work, "init -q -b main");
                git(&field, &work, "config user.name n");
                git(&field, &work, "config user.email e");
                commit("f", "1");
                git(&field, &work, "checkout -q -b side");
                commit("f", "2");
                git(&field, &work, "checkout -q main");
                commit("f", if name.contains("cherry") { "3" } else { "1\n" });
                commit("g", "4");
                let config = format!("sandbox: {{ gitPrograms: {allowed} }}\n");
                field.site.write("home/.uwf/agents/builtin.yaml", &config);
                let script = "mkdir git-merge-.; printf '#!/bin/sh\\ntouch evil\\n' > git-merge-./x; chmod +x git-merge-./x";
                field.run(&[command(name, &format!("{script}; {text}"))], &[]);
                later.iter().for_each(|args| goes_on(&field, args));
                work.join("evil").exists()
            };
            assert!(ran(true), "{name} is no attack");
            assert!(!ran(false), "{name}");
        }
    });
}

#[test]
fn what_stands_in_the_end_fails_the_run_by_name() {
    let field = Field::new(super::field::Who::Me);
    let elsewhere = field.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    git(&field, &elsewhere, "init -q");
    let lead = "mkdir s; ln -s ../../elsewhere/.git s/.git";
    let mended = field.run(&[command("a link", lead), command("later", "rm s/.git; rmdir s")], &[]);
    assert_eq!(mended.said.code, 0, "{mended:?}");
    let said = field.attempt(&[command("a link", lead)], &[]);
    assert_eq!(said.code, 7, "{said:?}");
    let (what, reply) = ("not undone: a `.git` leads to ", said.json());
    assert!(said.err.contains(&format!("git: {what}")), "{}", said.err);
    assert!(reply["isError"] == true && reply["frontmatter"]["phase"] == "git", "{reply}");
    assert!(reply["errorMessage"].as_str().unwrap().contains(what), "{reply}");
    let step = field.site.uwf(&["cas", "get", reply["stepHash"].as_str().unwrap()]).ok().json();
    let output = field.site.uwf(&["cas", "get", step["payload"]["output"].as_str().unwrap()]).ok();
    assert!(output.out.contains(what), "{output:?}");
}
