//! Files that go as a branch of a repository.

use super::*;

fn git(dir: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = git.arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A bare repository with a commit, hooks and a submodule, and where it is.
fn repository(dir: &Path) -> PathBuf {
    let (work, bare, other) = (dir.join("work"), dir.join("a.git"), dir.join("other"));
    for path in [&work, &other] {
        fs::create_dir(path).unwrap();
        git(path, &["init", "-q", "-b", "main"]);
        fs::write(path.join("goes"), "x").unwrap();
        git(path, &["add", "."]);
        git(path, &["commit", "-q", "-m", "first"]);
    }
    git(&work, &["submodule", "add", "-q", other.to_str().unwrap(), "module"]);
    fs::write(work.join(".gitattributes"), "* text=auto eol=crlf filter=evil\n").unwrap();
    fs::write(work.join("kept"), "one\ntwo\n").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "second"]);
    git(dir, &["clone", "-q", "--bare", "work", "a.git"]);
    bare
}

fn branch_of(dir: &Path, bare: &Path) -> (Machine, Machine, Workspace) {
    let machine = || {
        let mut machine = Machine::new(&[]);
        machine.spaces.repositories.push(dir.to_owned());
        machine
    };
    let value = json!({"kind": "git", "repository": bare, "base": "main"});
    (machine(), machine(), Workspace::of(&value).unwrap())
}

#[test]
fn a_branch_goes_from_machine_to_machine_with_a_commit_for_each_step() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let dir = tempfile::tempdir().unwrap();
    let bare = repository(dir.path());
    let (a, b, workspace) = branch_of(dir.path(), &bare);
    let thread = begun(&mut at, |_| workspace);
    let told = a.turn(&postgres, &|cwd| {
        assert_eq!(fs::read(cwd.join("kept")).unwrap(), b"one\ntwo\n", "no line ending is changed");
        assert!(cwd.join("module").is_dir());
        assert_eq!(git(cwd, &["log", "-1", "--format=%s"]), "second");
        write_all_kinds(cwd);
        fs::write(cwd.join("module/lost"), "x").unwrap();
        // What an agent says to git is nothing to the worker.
        let hook = cwd.join(".git/hooks");
        fs::create_dir_all(&hook).unwrap();
        fs::write(hook.join("pre-commit"), "#!/bin/sh\ntouch \"$HOME/owned\"\nexit 1\n").unwrap();
        git(cwd, &["config", "core.fsmonitor", "touch /tmp/owned"]);
        fs::create_dir_all(cwd.join("nested/.git")).unwrap();
        fs::write(cwd.join("nested/file"), "n").unwrap();
        again()
    });
    assert_eq!(told, ["leased", "handed back"], "{}", column(&mut at, "reason", &thread));
    let branch = format!("uwf/{thread}");
    let message = git(&bare, &["log", "-1", "--format=%an %s%n%b", &branch]);
    for line in ["uwf writer: a step of thread", "Uwf-Thread: ", "Uwf-Step: ", "Uwf-Fence: 1"] {
        assert!(message.contains(line), "{message}");
    }
    assert_eq!(column(&mut at, "workspace ->> 'commit'", &thread), git(&bare, &["rev-parse", &branch]));
    b.turn(&postgres, &|cwd| {
        assert_all_kinds(cwd);
        assert!(!cwd.join(".git/hooks/pre-commit").exists());
        assert_eq!(fs::read(cwd.join("nested/file")).unwrap(), b"n");
        assert!(cwd.join("module").is_dir() && !cwd.join("module/lost").exists());
        fs::remove_file(cwd.join("two\nlines")).unwrap();
        again()
    });
    let told = a.turn(&postgres, &|cwd| {
        assert!(!cwd.join("two\nlines").exists());
        done()
    });
    assert_eq!(told, ["done"]);
    assert_eq!(
        git(&bare, &["rev-list", "--count", &format!("main..{branch}")]),
        "2",
        "nothing changed, no commit"
    );
    assert_eq!(git(&bare, &["ls-tree", &branch, "module"]).split(' ').next(), Some("160000"));
}

#[test]
fn a_push_whose_head_did_not_move_is_replaced_and_a_stale_worker_replaces_nothing() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let dir = tempfile::tempdir().unwrap();
    let bare = repository(dir.path());
    let (a, b, workspace) = branch_of(dir.path(), &bare);
    let thread = begun(&mut at, |_| workspace.clone());
    let branch = format!("uwf/{thread}");
    // The lease is over when the files are pushed: the branch moves, the head does not.
    let told = a.turn(&postgres, &|cwd| {
        fs::write(cwd.join("kept"), "stale").unwrap();
        let take = "UPDATE uwf.thread SET fence = fence + 1";
        postgres.client().execute(take, &[]).unwrap();
        again()
    });
    assert_eq!(told, ["lost"]);
    assert_eq!(git(&bare, &["show", &format!("{branch}:kept")]), "stale");
    let free = "UPDATE uwf.thread SET state = 'ready', lease_until = NULL, attempts = 0";
    at.client().execute(free, &[]).unwrap();
    let store = &a.store;
    let told = b.turn(&postgres, &|cwd| {
        assert_eq!(fs::read(cwd.join("kept")).unwrap(), b"one\ntwo\n");
        fs::write(cwd.join("kept"), "right").unwrap();
        again()
    });
    assert_eq!(told, ["leased", "handed back"]);
    assert_eq!(git(&bare, &["show", &format!("{branch}:kept")]), "right");
    assert_eq!(git(&bare, &["rev-list", "--count", &format!("main..{branch}")]), "1");
    // One that was stopped all the while has the lease of before, and the branch as it was.
    let lease = queue::Lease { thread, fence: 1 };
    let opened = a.spaces.open(store, (&lease, &workspace), None, std::sync::Arc::new(|| None));
    assert!(matches!(opened, Err(FleetError::LeaseLost { .. })));
    // Somebody's own commit stays, and so does the worker's that somebody has amended.
    let clone = dir.path().join("clone");
    git(dir.path(), &["clone", "-q", "-b", &branch, "a.git", "clone"]);
    fs::write(clone.join("mine"), "x").unwrap();
    git(&clone, &["add", "."]);
    for commit in [&["commit", "-q", "-m", "mine"][..], &["commit", "-q", "--amend", "--no-edit"]] {
        git(&clone, commit);
        git(&clone, &["push", "-q", "--force"]);
        b.turn(&postgres, &|_| panic!("nothing is done on top of that"));
        assert_eq!(column(&mut at, "state", &thread), "dead");
        assert!(column(&mut at, "reason", &thread).starts_with("somebody else moved the branch"));
        queue::retry(&mut at, &thread).unwrap();
        git(&clone, &["reset", "-q", "--hard", "HEAD~1"]);
        fs::write(clone.join("mine"), "y").unwrap();
        git(&clone, &["add", "."]);
    }
}

#[test]
fn a_repository_that_refuses_is_told_of_and_the_step_is_not_made_again() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let dir = tempfile::tempdir().unwrap();
    let bare = repository(dir.path());
    let (a, _, workspace) = branch_of(dir.path(), &bare);
    git(&bare, &["config", "receive.hideRefs", "refs/heads/uwf"]);
    let thread = begun(&mut at, |_| workspace);
    a.turn(&postgres, &|cwd| {
        fs::write(cwd.join("kept"), "new").unwrap();
        again()
    });
    assert_eq!(column(&mut at, "state", &thread), "dead");
    let reason = column(&mut at, "reason", &thread);
    assert!(
        reason.contains("refuses the commit of the step") && reason.contains("deny updating a hidden ref"),
        "{reason}"
    );
    // One that is not there is tried again.
    fs::rename(&bare, dir.path().join("gone.git")).unwrap();
    fs::create_dir(&bare).unwrap();
    assert!(queue::retry(&mut at, &thread).is_ok());
    hurry(&mut at);
    let told = a.turn(&postgres, &|_| panic!("it has no directory"));
    assert_eq!(told, ["handed back"]);
    assert!(
        column(&mut at, "reason", &thread).starts_with("cannot reach"),
        "{}",
        column(&mut at, "reason", &thread)
    );
}
