//! Tests of `places`, with the real git.

use super::*;
use crate::scratch::git as git_program;

fn git(dir: &Path, args: &str) {
    let mut git = git_program();
    git.args(["-c", "user.name=a", "-c", "user.email=a"]).args(args.split(' ')).current_dir(dir);
    assert!(git.output().unwrap().status.success(), "{args}");
}

#[test]
fn the_directories_of_every_repository_are_listed_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("ws");
    fs::create_dir(&root).unwrap();
    git(&root, "init -q");
    git(&root, "init -q --bare --template= sub/bare");
    git(&root, "commit -qm m --allow-empty");
    git(&root, "config extensions.worktreeConfig true");
    git(&root, "worktree add -q ../linked");
    git(&root.with_file_name("linked"), "config --worktree a.b c");
    let place = |own: &str, common: &str, configs: &[&str], all: bool| {
        let common = root.join(common);
        GitPlace {
            own: root.join(own),
            configs: configs.iter().map(|file| root.join(file)).collect(),
            hooks: (common.join("hooks"), all),
            info: (common.join("info"), all),
            common,
        }
    };
    let linked = place(
        ".git/worktrees/linked",
        ".git",
        &[".git/config", ".git/worktrees/linked/config.worktree"],
        true,
    );
    let main = place(".git", ".git", &[".git/config"], true);
    let bare = place("sub/bare", "sub/bare", &["sub/bare/config"], false);
    let limit = Duration::from_secs(600);
    assert_eq!(places_of(&root, limit), [main.clone(), linked.clone(), bare]);
    assert_eq!(places_of(&root.with_file_name("linked"), limit), [main, linked]);
    assert!(places_of(&root.join("sub"), Duration::ZERO).is_empty());
}
