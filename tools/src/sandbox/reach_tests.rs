//! What a policy opens, in trees of our own.

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[&str]) -> Tree {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "ws", "tmp"].iter().chain(files) {
            let path = dir.path().join(name);
            match name.contains('.') && !name.ends_with('/') {
                true => {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, name).unwrap();
                }
                false => fs::create_dir_all(path).unwrap(),
            }
        }
        Tree(dir)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn policy(&self) -> Policy {
        Policy { home: Some(self.at("home")), ..Policy::new(self.at("ws"), self.at("tmp")) }
    }
}

fn reads(reach: &Reach, path: &Path) -> bool {
    let open = [&reach.readable, &reach.writable, &reach.devices].into_iter().flatten();
    open.into_iter().any(|open| path.starts_with(open))
}

#[test]
fn everything_but_secrets_is_readable() {
    let tree = Tree::new(&[
        "home/.ssh/id.key",
        "home/.config/gh/hosts.yml",
        "home/.config/app.toml",
        "home/notes.md",
    ]);
    let reach = Reach::of_commands(&tree.policy());
    for open in ["home/notes.md", "home/.config/app.toml", "ws/x", "tmp/x"] {
        assert!(reads(&reach, &tree.at(open)), "{open}");
    }
    for closed in ["home/.ssh/id.key", "home/.ssh", "home/.config/gh/hosts.yml", "home", "home/.aws/later"] {
        assert!(!reads(&reach, &tree.at(closed)), "{closed}");
    }
    assert!(reads(&reach, Path::new("/usr/bin/env")) && reads(&reach, Path::new("/dev/null")));
    assert!(!reads(&reach, Path::new("/dev/sda")) && !reads(&reach, Path::new("/")));
}

/// Each where it is, and where this user could read it otherwise.
#[test]
fn secrets_of_the_machine_are_closed() {
    let reach = Reach::of_commands(&Tree::new(&[]).policy());
    for closed in ["/etc/shadow", "/run/user", "/run/secrets", "/etc/sudoers"].map(Path::new) {
        let is_readable = rustix::fs::access(closed, Access::READ_OK).is_ok();
        assert!(!is_readable || !reads(&reach, closed), "{}", closed.display());
    }
    assert!(reads(&reach, Path::new("/etc/passwd")));
}

#[test]
fn private_directories_are_closed_to_commands_and_open_to_the_agent() {
    let tree = Tree::new(&["home/.uwf/config.yaml", "store/nodes.db", "other/x.txt"]);
    let policy = Policy { private: vec![tree.at("home/.uwf"), tree.at("store")], ..tree.policy() };
    let commands = Reach::of_commands(&policy);
    assert!(
        !reads(&commands, &tree.at("home/.uwf/config.yaml")) && !reads(&commands, &tree.at("store/nodes.db"))
    );
    assert!(reads(&commands, &tree.at("other/x.txt")));
    let agent = commands.of_agent(&policy);
    assert!(agent.may_write(&tree.at("store/nodes.db")) && !agent.may_write(&tree.at("other")));
}

#[test]
fn the_target_of_a_linked_secret_is_closed_too_and_links_open_nothing() {
    let tree = Tree::new(&["vault/id.key", "home/a.txt"]);
    std::os::unix::fs::symlink(tree.at("vault"), tree.at("home/.ssh")).unwrap();
    std::os::unix::fs::symlink(tree.at("home/.aws"), tree.at("home/shortcut")).unwrap();
    let reach = Reach::of_commands(&tree.policy());
    assert!(!reads(&reach, &tree.at("vault/id.key")));
    assert!(!reach.readable.contains(&tree.at("home/shortcut")));
}

#[test]
fn credentials_of_cargo_are_closed_whatever_their_ending_and_the_rest_can_be_opened() {
    let tree = Tree::new(&["home/.cargo/credentials.old", "home/.cargo/registry/i.txt"]);
    let policy = Policy { writable: vec![tree.at("home/.cargo")], ..tree.policy() };
    let reach = Reach::of_commands(&policy);
    assert!(
        reach.may_write(&tree.at("home/.cargo/registry"))
            && !reads(&reach, &tree.at("home/.cargo/credentials.old"))
    );
    // Without any, the whole directory is open: new files can be made in it.
    let tree = Tree::new(&["home/.cargo/registry/i.txt"]);
    let policy = Policy { writable: vec![tree.at("home/.cargo"), tree.at("absent")], ..tree.policy() };
    assert!(Reach::of_commands(&policy).writable.contains(&tree.at("home/.cargo")));
}

#[test]
fn what_lies_within_the_workspace_is_named() {
    let tree = Tree::new(&["home/.ssh/id.key", "home/src/x/"]);
    let within = |workspace: &str| {
        let policy =
            Policy { workspace: tree.at(workspace), private: vec![tree.at("ws/state")], ..tree.policy() };
        Reach::of_commands(&policy).exposed
    };
    assert_eq!(within("home/src/x"), None);
    assert_eq!(within("home"), Some(tree.at("home")));
    assert_eq!(within(""), Some(tree.at("home")));
    assert_eq!(within("home/.ssh"), Some(tree.at("home/.ssh")));
    assert_eq!(within("ws"), None, "it does not exist");
    fs::create_dir(tree.at("ws/state")).unwrap();
    assert_eq!(within("ws"), Some(tree.at("ws/state")));
}

#[test]
fn a_git_file_is_believed_only_when_the_worktree_is_known_to_git() {
    let tree = Tree::new(&["main/.git/worktrees/ws/", "main/.git/HEAD.x"]);
    let own = tree.at("main/.git/worktrees/ws");
    fs::write(tree.at("ws/.git"), format!("gitdir: {}\n", own.display())).unwrap();
    assert!(worktree::git_directories(&tree.at("ws")).is_empty());
    fs::write(own.join("gitdir"), format!("{}\n", tree.at("ws/.git").display())).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::write(tree.at("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_eq!(worktree::git_directories(&tree.at("ws")), [own, tree.at("main/.git")]);
    fs::create_dir(tree.at("ws/below")).unwrap();
    std::os::unix::fs::symlink("../.git", tree.at("ws/below/.git")).unwrap();
    assert!(worktree::git_directories(&tree.at("ws/below")).is_empty(), "it is another's");
    fs::write(tree.at("ws/.git"), format!("gitdir: {}\n", tree.at("home").display())).unwrap();
    assert!(worktree::git_directories(&tree.at("ws")).is_empty());
}

#[test]
fn of_a_narrowed_workspace_only_what_is_named_is_writable_to_commands() {
    let tree = Tree::new(&["ws/src/a.rs", "ws/b.md", "other/x.txt"]);
    std::os::unix::fs::symlink(tree.at("other"), tree.at("ws/out")).unwrap();
    let within = ["src", "missing", "out", "../other"].map(PathBuf::from).to_vec();
    let policy = Policy { within: Some(within), ..tree.policy() };
    let commands = Reach::of_commands(&policy);
    assert!(commands.may_write(&tree.at("ws/src/new.rs")) && commands.may_write(&tree.at("tmp/x")));
    for closed in ["ws/b.md", "ws/new.md", "other/x.txt"] {
        assert!(!commands.may_write(&tree.at(closed)) && reads(&commands, &tree.at(closed)), "{closed}");
    }
    assert!(commands.of_agent(&policy).may_write(&tree.at("ws/b.md")));
}
