//! Tests of `repositories`, with the real git.

use super::*;
use crate::scratch::git as git_program;

fn git(dir: &Path, args: &str) {
    let mut git = git_program();
    git.args(["-c", "user.name=a", "-c", "user.email=a"]).args(args.split(' ')).current_dir(dir);
    assert!(git.output().unwrap().status.success(), "{args}");
}

#[test]
fn what_runs_programs_in_the_first_repository_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("ws");
    fs::create_dir(&root).unwrap();
    assert_eq!(programs_at(&root), GitPrograms::default());
    git(&root, "init -q");
    git(&root, "commit -qm m --allow-empty");
    git(&root, "config extensions.worktreeConfig true");
    git(&root, "worktree add -q ../linked");
    git(&root.with_file_name("linked"), "config --worktree a.b c");
    let programs = |configs: &[&str]| GitPrograms {
        hooks: Some(root.join(".git/hooks")),
        configs: configs.iter().map(|file| root.join(".git").join(file)).collect(),
    };
    assert_eq!(programs_at(&root), programs(&["config"]));
    let linked = ["config", "worktrees/linked/config.worktree"];
    assert_eq!(programs_at(&root.with_file_name("linked")), programs(&linked));
    fs::rename(root.join(".git/config"), root.join("c")).unwrap();
    std::os::unix::fs::symlink("../c", root.join(".git/config")).unwrap();
    assert_eq!(programs_at(&root), programs(&[]));
}
