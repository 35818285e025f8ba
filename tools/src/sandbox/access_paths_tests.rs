//! What a policy opens, in trees of our own.

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[&str]) -> Tree {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "ws", "run/tmp"].iter().chain(files) {
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
        Policy { home: Some(self.at("home")), ..Policy::new(self.at("ws"), self.at("run")) }
    }
}

fn reads(access: &AccessPaths, path: &Path) -> bool {
    let open = [&access.readable, &access.writable, &access.devices].into_iter().flatten();
    open.into_iter().any(|open| path.starts_with(open))
}

#[test]
fn of_a_home_what_is_known_to_be_no_secret_is_readable() {
    let tree = Tree::new(&[
        "home/.ssh/id.key",
        "home/.config/app.toml",
        "home/notes.md",
        "home/.rustup/settings.toml",
        "home/.cargo/bin/",
        "home/.cache/pip/http.x",
        "home/tools/bin/",
        "home/tools/share/",
        "home/tools/token.txt",
        "home/other/x.txt",
    ]);
    let programs = ["home/tools/bin", "home", "absent"].map(|name| tree.at(name)).to_vec();
    let policy = Policy { programs, readable: vec![tree.at("home/other")], ..tree.policy() };
    let access = AccessPaths::of_commands(&policy, &[]);
    for open in [
        "home/.rustup/settings.toml",
        "home/.cargo/bin",
        "home/.cache/pip/http.x",
        "home/tools/share",
        "home/other/x.txt",
        "ws/x",
    ] {
        assert!(reads(&access, &tree.at(open)) && !access.is_hidden(&tree.at(open)), "{open}");
    }
    for closed in [
        "home/notes.md",
        "home/tools/token.txt",
        "home/.config/app.toml",
        "home/.ssh/id.key",
        "home",
        "home/.aws/later",
    ] {
        assert!(!reads(&access, &tree.at(closed)) && access.is_hidden(&tree.at(closed)), "{closed}");
    }
    assert!(reads(&access, Path::new("/usr/bin/env")) && reads(&access, Path::new("/dev/null")));
    assert!(!reads(&access, Path::new("/dev/sda")) && !reads(&access, Path::new("/")));
}

#[test]
fn secrets_of_the_machine_are_closed() {
    let access = AccessPaths::of_commands(&Tree::new(&[]).policy(), &[]);
    for closed in
        ["/etc/shadow", "/run/user", "/run/secrets", "/etc/sudoers", "/tmp/x", "/root/x"].map(Path::new)
    {
        assert!(!reads(&access, closed), "{}", closed.display());
    }
    assert!(reads(&access, Path::new("/etc/passwd")));
}

#[test]
fn what_links_in_a_secret_s_directory_lead_to_and_what_is_mounted_twice_is_closed_too() {
    let tree = Tree::new(&["keys/id.key", "home/.ssh/deep/", "again/.ssh/", "ws2/"]);
    std::os::unix::fs::symlink(tree.at("keys"), tree.at("home/.ssh/deep/keys")).unwrap();
    let root = tree.at("");
    let mounts =
        format!("1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 {0}home {0}again rw - ext4 a rw\n", root.display());
    let access = AccessPaths::of_commands(&tree.policy(), &mountinfo::parse(&mounts));
    for closed in ["keys/id.key", "again/.ssh/id", "again/notes"] {
        assert!(!reads(&access, &tree.at(closed)), "{closed}: {:?}", access.hidden);
    }
}

#[test]
fn private_directories_are_closed_to_commands_and_open_to_the_agent() {
    let tree = Tree::new(&["home/.uwf/config.yaml", "store/nodes.db"]);
    let policy = Policy { private: vec![tree.at("home/.uwf"), tree.at("store")], ..tree.policy() };
    let commands = AccessPaths::of_commands(&policy, &[]);
    assert!(
        !reads(&commands, &tree.at("home/.uwf/config.yaml")) && !reads(&commands, &tree.at("store/nodes.db"))
    );
    let agent = commands.of_agent(&policy);
    assert!(agent.may_write(&tree.at("store/nodes.db")) && !agent.may_write(&tree.at("other")));
}

#[test]
fn the_target_of_a_linked_secret_is_closed_too_and_links_open_nothing() {
    let tree = Tree::new(&["vault/id.key", "home/a.txt"]);
    std::os::unix::fs::symlink(tree.at("vault"), tree.at("home/.ssh")).unwrap();
    std::os::unix::fs::symlink(tree.at("home/.aws"), tree.at("home/shortcut")).unwrap();
    let access = AccessPaths::of_commands(&tree.policy(), &[]);
    assert!(!reads(&access, &tree.at("vault/id.key")));
    assert!(!access.readable.contains(&tree.at("home/shortcut")));
}

#[test]
fn credentials_of_cargo_are_closed_whatever_their_ending_and_the_rest_can_be_opened() {
    let tree = Tree::new(&["home/.cargo/credentials.old", "home/.cargo/registry/i.txt"]);
    let policy = Policy { writable: vec![tree.at("home/.cargo")], ..tree.policy() };
    let access = AccessPaths::of_commands(&policy, &[]);
    assert!(
        access.may_write(&tree.at("home/.cargo/registry"))
            && !reads(&access, &tree.at("home/.cargo/credentials.old"))
    );
    // Without any, the whole directory is open: new files can be made in it.
    let tree = Tree::new(&["home/.cargo/registry/i.txt"]);
    let policy = Policy { writable: vec![tree.at("home/.cargo"), tree.at("absent")], ..tree.policy() };
    assert!(AccessPaths::of_commands(&policy, &[]).writable.contains(&tree.at("home/.cargo")));
}

#[test]
fn what_lies_within_the_workspace_is_named() {
    let tree = Tree::new(&["home/.ssh/id.key", "home/src/x/"]);
    let within = |workspace: &str| {
        let policy =
            Policy { workspace: tree.at(workspace), private: vec![tree.at("ws/state")], ..tree.policy() };
        AccessPaths::of_commands(&policy, &[]).exposed
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
    let commands = AccessPaths::of_commands(&policy, &[]);
    assert!(commands.may_write(&tree.at("ws/src/new.rs")) && commands.may_write(&tree.at("run/tmp/x")));
    for closed in ["ws/b.md", "ws/new.md"] {
        assert!(!commands.may_write(&tree.at(closed)) && reads(&commands, &tree.at(closed)), "{closed}");
    }
    assert!(!commands.may_write(&tree.at("other/x.txt")));
    assert!(commands.of_agent(&policy).may_write(&tree.at("ws/b.md")));
}

#[test]
fn a_socket_s_name_is_what_follows_its_numbers() {
    let name = |line: &str| socket_name(line.as_bytes()).map(|name| name.display().to_string());
    let numbers = "ffff8880: 00000002 00000000 00010000 0001 01 21430";
    assert_eq!(name(&format!("{numbers} /run/a b/s")).as_deref(), Some("/run/a b/s"));
    assert_eq!(name(&format!("{numbers} private/s")).as_deref(), Some("private/s"));
    assert_eq!(name("ffff8880: 00000002 00000000 00010000 0001 01    14 s").as_deref(), Some("s"));
    assert_eq!((name(numbers), name(""), name(&format!("{numbers} @/x"))), (None, None, None));
    assert_eq!(name("Num       RefCount Protocol Flags    Type St Inode Path"), None);
}

#[test]
fn servers_of_the_machine_are_hidden_wherever_their_sockets_are() {
    let tree = Tree::new(&["seen/"]);
    let at = std::os::unix::net::UnixListener::bind(tree.at("seen/s.sock")).unwrap();
    let bind = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('relative'); s.listen(); print(flush=True); sys.stdin.read()";
    let mut server = std::process::Command::new("python3");
    server.args(["-c", bind]).current_dir(tree.at("seen"));
    server.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut server = server.spawn().unwrap();
    std::io::Read::read_exact(server.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let found = sockets(Path::new("/ws"));
    server.kill().unwrap();
    server.wait().unwrap();
    drop(at);
    for socket in ["seen/s.sock", "seen/relative"] {
        assert!(found.contains(&tree.at(socket)), "{socket}: {found:?}");
    }
}
