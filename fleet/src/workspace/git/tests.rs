//! What a repository, or a program that git starts, can do to a worker.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use uwf_engine::Env;
use uwf_snapshot::Options;

use super::*;
use crate::workspace::{Base, Below, Halt};

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(300);

struct Site {
    dir: PathBuf,
    spaces: Workspaces,
    lease: Lease,
    _temporary: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().canonicalize().unwrap();
        for name in ["repositories", "shared", "bin", "home"] {
            fs::create_dir(dir.join(name)).unwrap();
        }
        let mut env = Env::default();
        env.set("PATH", std::env::var_os("PATH").unwrap());
        env.set("HOME", dir.join("home"));
        let spaces = Workspaces {
            root: dir.join("spaces"),
            shared: [("team".to_owned(), dir.join("shared"))].into(),
            repositories: vec![dir.join("repositories")],
            git_limit: LONG,
            options: Options::default(),
            env,
            kept: 0,
        };
        let lease = Lease { thread: "06H001PZ6AWSX3WP7SZ64HX1AC".parse().unwrap(), fence: 1 };
        Site { dir, spaces, lease, _temporary: temporary }
    }

    fn script(&self, name: &str, text: &str) -> String {
        let path = self.dir.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\ncd '{}'\n{text}", self.dir.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A bare repository with a commit.
    fn repository(&self, at: &str) -> PathBuf {
        let (work, bare) = (self.dir.join("work"), self.dir.join(at));
        if !work.exists() {
            fs::create_dir(&work).unwrap();
            git(&work, &["init", "-q", "-b", "main"]);
            fs::write(work.join("file"), "x").unwrap();
            git(&work, &["add", "."]);
            git(&work, &["commit", "-q", "-m", "first"]);
        }
        git(&work, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        bare
    }

    fn open(&self, repository: &str, wish: Arc<HaltWish>) -> Result<Checkout, FleetError> {
        let repository = repository.parse().unwrap();
        let base: Base = "main".parse().unwrap();
        let branch = Branch { repository, base, commit: None, dir: Below::default() };
        Checkout::open(&self.spaces, (&branch, &self.lease), wish)
    }

    /// Has git speak to a program that does not end, that does not listen, and that holds on to its stderr.
    fn deaf_ssh(&mut self) {
        let text =
            "trap '' TERM\nsleep 120 >&- &\necho $! $$ > unfinished\nmv unfinished pids\nwait\nsleep 120\n";
        let ssh = self.script("ssh.sh", text);
        self.spaces.env.set("GIT_SSH_COMMAND", ssh);
    }

    fn pids(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.dir.join("pids")).unwrap();
        text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = git.arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn never() -> Arc<HaltWish> {
    Arc::new(|| None)
}

fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until a process is gone that was killed.
fn gone(pid: u32) {
    for _ in 0..3000 {
        if !runs(pid) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the process {pid} goes on");
}

#[test]
fn neither_hooks_nor_settings_of_a_repository_that_is_a_path_run() {
    let site = Site::new();
    let bare = site.repository("repositories/a.git");
    let other = site.repository("other.git");
    let owned = site.script("owned", "echo \"$0\" >> owned\ncat > /dev/null\n");
    let hooks = site.dir.join("hooks");
    fs::create_dir(&hooks).unwrap();
    for name in
        ["pre-receive", "update", "post-receive", "post-update", "reference-transaction", "push-to-checkout"]
    {
        for place in [&bare.join("hooks"), &hooks] {
            fs::create_dir_all(place).unwrap();
            symlink(&owned, place.join(name)).unwrap();
        }
    }
    fs::write(bare.join("objects/info/alternates"), format!("{}\n", other.join("objects").display()))
        .unwrap();
    for name in
        ["core.alternateRefsCommand", "core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook"]
    {
        git(&bare, &["config", name, &owned]);
    }
    git(&bare, &["config", "core.hooksPath", hooks.to_str().unwrap()]);
    for repository in [bare.display().to_string(), format!("file://{}", bare.display())] {
        let mut checkout = site.open(&repository, never()).unwrap();
        let at = checkout.at.clone();
        checkout.push(&at).unwrap();
        let branch = checkout.name();
        assert_eq!(git(&bare, &["rev-parse", &branch]), at.as_str());
        assert!(!site.dir.join("owned").exists(), "{}", fs::read_to_string(site.dir.join("owned")).unwrap());
        fs::remove_file(bare.join(branch)).unwrap();
    }
}

#[test]
fn a_path_is_a_repository_only_where_no_thread_can_write() {
    let mut site = Site::new();
    let outside = site.repository("outside.git");
    let shared = site.repository("shared/a.git");
    symlink(&outside, site.dir.join("repositories/out.git")).unwrap();
    symlink(&shared, site.dir.join("repositories/in.git")).unwrap();
    site.spaces.repositories.push(site.dir.join("shared"));
    for (path, why) in [
        (outside, "is in no directory whose repositories this worker uses"),
        (site.dir.join("repositories/out.git"), "is in no directory whose repositories this worker uses"),
        (shared, "is in a shared root"),
        (site.dir.join("repositories/in.git"), "is in a shared root"),
        (site.dir.join("repositories/none.git"), "there is no directory"),
    ] {
        let error = site.open(path.to_str().unwrap(), never()).unwrap_err();
        assert!(error.to_string().contains(why), "{}: {error}", path.display());
        assert!(matches!(error, FleetError::Workspace(error) if error.is_of_this_machine()));
    }
}

#[test]
fn a_command_ends_at_its_limit_with_all_that_it_has_started() {
    let mut site = Site::new();
    site.deaf_ssh();
    site.spaces.git_limit = Duration::from_secs(3);
    let error = site.open("git@example.invalid:a.git", never()).unwrap_err();
    assert!(error.to_string().ends_with("it took more than 3 seconds"), "{error}");
    site.pids().into_iter().for_each(gone);
}

#[test]
fn a_command_ends_when_the_worker_is_told_to_stop() {
    for halt in [Halt::Soon, Halt::Now] {
        let mut site = Site::new();
        site.deaf_ssh();
        let pids = site.dir.join("pids");
        let wish: Arc<HaltWish> = Arc::new(move || pids.exists().then_some(halt));
        let error = site.open("git@example.invalid:a.git", wish).unwrap_err();
        assert!(matches!(error, FleetError::Workspace(WorkspaceError::Stopped)), "{error}");
        site.pids().into_iter().for_each(gone);
    }
}

#[test]
fn a_step_that_was_made_is_kept_though_the_worker_is_to_end_but_not_without_a_lease() {
    let site = Site::new();
    let bare = site.repository("repositories/a.git");
    let mut checkout = site.open(bare.to_str().unwrap(), never()).unwrap();
    let at = checkout.at.clone();
    checkout.halting = Halting::new(Arc::new(|| Some(Halt::Now)), LONG);
    checkout.halting.keeps();
    assert!(matches!(checkout.push(&at), Err(FleetError::Workspace(WorkspaceError::Stopped))));
    checkout.halting = Halting::new(Arc::new(|| Some(Halt::Soon)), LONG);
    checkout.halting.keeps();
    checkout.push(&at).unwrap();
    assert_eq!(git(&bare, &["rev-parse", &checkout.name()]), at.as_str());
}

#[test]
fn nobody_waits_for_a_helper_that_outlives_its_command() {
    let mut site = Site::new();
    let path = site.script("git", "sleep 120 &\necho $! > pids\necho said\necho why >&2\n");
    site.spaces.env.set("PATH", format!("{}:/usr/bin:/bin", Path::new(&path).parent().unwrap().display()));
    let said = run(&Halting::new(never(), LONG), command(&site.spaces.env, &site.dir), None).unwrap();
    assert!(said.is_success);
    assert_eq!((said.text().as_str(), said.why.as_str()), ("said", "why"));
    // As the master of a connection of ssh does: it is no business of ours.
    let helper = site.pids()[0];
    assert!(runs(helper));
    let helper = rustix::process::Pid::from_raw(i32::try_from(helper).unwrap()).unwrap();
    rustix::process::kill_process(helper, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_mirror_that_somebody_has_is_not_waited_for_without_end() {
    let mut site = Site::new();
    let bare = site.repository("repositories/a.git");
    let checkout = site.open(bare.to_str().unwrap(), never()).unwrap();
    let held = checkout.hold().unwrap();
    let error = site.open(bare.to_str().unwrap(), Arc::new(|| Some(Halt::Soon))).unwrap_err();
    assert!(matches!(error, FleetError::Workspace(WorkspaceError::Stopped)), "{error}");
    site.spaces.git_limit = SHORT;
    let error = site.open(bare.to_str().unwrap(), never()).unwrap_err();
    assert!(error.to_string().starts_with("cannot lock the mirror of"), "{error}");
    assert!(matches!(error, FleetError::Workspace(error) if error.is_passing()));
    drop(held);
    site.spaces.git_limit = LONG;
    site.open(bare.to_str().unwrap(), never()).unwrap();
}
