//! What people do with git, in a repository and in a linked worktree of one.

use super::{Field, Work, by_everybody, works};

const INIT: &[Work] = &[("init", "git", "git init -q && git commit -qm m --allow-empty || true")];

const EVERYWHERE: &[Work] = &[
    ("who", "git", "git config user.name n && git config user.email e"),
    ("add and commit", "git", "echo x > new && git add new && git commit -qm one"),
    ("branch", "git", "git checkout -qb topic && echo y >> new"),
    ("stash", "git", "git stash -q && test $(wc -l < new) = 1 && git stash pop -q"),
    ("commit again", "git", "git commit -qam two && git log --oneline | grep two && git status --short"),
    ("merge", "git", "git checkout -q - && git merge -q topic && git diff HEAD~1 --stat | grep new"),
    ("tag", "git", "git tag v1 && git tag -am note v2 && git describe | grep v2"),
    (
        "rebase",
        "git",
        "git checkout -qb side HEAD~1 && echo z > z && git add z && git commit -qm side && git rebase -q v1 && test -f new",
    ),
    (
        "pick",
        "git",
        "git checkout -qb pick v1 && git cherry-pick side && test -f z && git revert --no-edit HEAD",
    ),
    (
        "patch",
        "git",
        "git format-patch -1 side --stdout > p && git reset -q --hard v1 && git am -q < p && git apply -R p && git checkout -q -- .",
    ),
    ("bisect", "git", "git bisect start HEAD v1~1 && git bisect run sh -c '! test -f z' && git bisect reset"),
    ("remote", "git", "git remote add origin https://example.com/x.git && git remote -v | grep example.com"),
    (
        "clone and push",
        "git",
        "git clone -q --bare . $TMPDIR/bare && git push -q $TMPDIR/bare HEAD:refs/heads/pushed && git -C $TMPDIR/bare branch | grep pushed",
    ),
    ("fetch", "git", "git fetch -q $TMPDIR/bare pushed && git log -1 FETCH_HEAD"),
    ("worktree", "git", "git worktree add -q tree && git -C tree log -1 && git worktree remove tree"),
    (
        "submodule",
        "git",
        "git -c protocol.file.allow=always submodule add -q $TMPDIR/bare sub && git commit -qm sub && git submodule status | grep sub",
    ),
    ("blame and grep", "git", "git blame new | grep y && git grep -q x"),
    ("tidy", "git", "git gc -q && git fsck && git reflog | grep -q commit"),
    (
        "a hook",
        "git",
        "git init -q $TMPDIR/h && cd $TMPDIR/h && printf '#!/bin/sh\\necho ran > ran\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && git -c user.name=n -c user.email=e commit -qm m --allow-empty && test -s ran",
    ),
];

#[test]
fn git_works_in_a_repository_and_in_a_linked_worktree() {
    by_everybody(|who| {
        let field = Field::new(who);
        works(&field, &[INIT, EVERYWHERE].concat(), &[]);
        let (main, linked) = (field.dir().join("main"), field.dir().join("linked"));
        let make = "git init -q \"$0\" && cd \"$0\" && git -c user.name=n -c user.email=e commit -qm m --allow-empty && git worktree add -q \"$1\"";
        let made = field.site.command("sh").args(["-c", make]).args([&main, &linked]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        works(&field, EVERYWHERE, &["--cwd", &linked.display().to_string()]);
    });
}
