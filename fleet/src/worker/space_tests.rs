//! Two workers, each with a store and directories of its own, take turns at one thread, whose files go with it.

mod called;
mod git;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::{Value, json};
use uwf_engine::exec::{ExecOptions, StepAgentError, Unobserved, answer, hold, resume_once, step_once};
use uwf_engine::fixture::Place;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::{AdapterOutput, AgentRequest, Engine};
use uwf_snapshot::Options;

use super::tests::{column, opened, settings};
use super::*;
use crate::fixture::Postgres;
use crate::garbage::{Collect, YOUNGEST, collect};
use crate::queue::{Submitted, Terms};
use crate::sync;
use crate::workspace::{Workspace, Workspaces, snapshot_of};

/// What an agent does in a directory, and how it answers.
type Act<'a> = dyn Fn(&Path) -> Value + Sync + 'a;

struct Machine {
    place: Place,
    home: PathBuf,
    store: Store,
    spaces: Workspaces,
    _dir: tempfile::TempDir,
}

struct SpaceHost<'a> {
    machine: &'a Machine,
    act: &'a Act<'a>,
    /// A workflow that plays the roles of the thread, where it is not `act` itself.
    workflow: Option<&'a str>,
    told: Mutex<Vec<String>>,
}

impl Machine {
    fn new(shared: &[(&str, &Path)]) -> Machine {
        let (place, dir) = (Place::in_memory(), tempfile::tempdir().unwrap());
        let shared = shared.iter().map(|(name, path)| ((*name).to_owned(), path.to_path_buf())).collect();
        let env =
            ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
        let spaces = Workspaces {
            root: dir.path().join("spaces"),
            shared,
            repositories: Vec::new(),
            git_limit: Duration::from_secs(600),
            options: Options::default(),
            env,
            kept: 2,
        };
        Machine { store: place.store(), home: place.homes().uwf, place, spaces, _dir: dir }
    }

    /// Has a worker of this machine make one step, in which `act` does something; gives what it tells of.
    fn turn(&self, postgres: &Postgres, act: &Act<'_>) -> Vec<String> {
        self.turn_of(postgres, None, act)
    }

    /// The same, where a workflow plays the roles, and `act` those of that workflow.
    fn turn_of(&self, postgres: &Postgres, workflow: Option<&str>, act: &Act<'_>) -> Vec<String> {
        let (wind, counts) = (Wind::default(), Counts::default());
        let drained = |cwd: &Path| {
            wind.drain();
            act(cwd)
        };
        let host = SpaceHost { machine: self, act: &drained, workflow, told: Mutex::default() };
        let mut settings = settings("w", 20_000, Until::Once);
        settings.presence.parallel = 1;
        work(&settings, &host, &opened(postgres), (&wind, &counts)).unwrap();
        host.told.into_inner().unwrap()
    }
}

impl Host for SpaceHost<'_> {
    fn store(&self) -> &Store {
        &self.machine.store
    }

    fn home(&self) -> &Path {
        &self.machine.home
    }

    fn step(&self, step: &WantedStep<'_>) -> Result<StepReport, String> {
        let agent = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
            let output = (self.act)(cwd);
            match output.as_str() {
                Some(why) => Err(why.to_owned())?,
                None => Ok(answer(&self.machine.store, request, cwd, &output)?),
            }
        };
        self.machine.place.with_engine(|engine| {
            let engine =
                Engine { agent: Some(&agent), stop: step.stop, store: &self.machine.store, ..*engine };
            let (cwd, agent) = (step.cwd.map(PathBuf::from), self.workflow.map(AgentCommand::workflow));
            let options = ExecOptions { cwd, agent, ..ExecOptions::default() };
            let lock = hold(&engine, &step.lease.thread).map_err(|error| error.to_string())?;
            match step.answer {
                Some(text) => resume_once(&engine, &lock, Some(text), &options, &mut Unobserved),
                None => step_once(&engine, &lock, &options, &mut Unobserved),
            }
            .map_err(|error| error.to_string())
        })
    }

    fn forget(&self, _: &ThreadId) {}

    fn workspaces(&self) -> Option<&Workspaces> {
        Some(&self.machine.spaces)
    }

    fn tell(&self, happening: &Happening<'_>) {
        let text = match happening {
            Happening::Stepped(_, _, state) => (*state).to_owned(),
            Happening::Failed(_, why) => (*why).to_owned(),
            Happening::HandedBack(_) => "handed back".to_owned(),
            Happening::Lost(_) => "lost".to_owned(),
            _ => return,
        };
        self.told.lock().unwrap().push(text);
    }
}

/// A thread at the remote with this workspace.
fn begun(at: &mut Connection, workspace: impl FnOnce(&Store) -> Workspace) -> ThreadId {
    let place = Place::in_memory();
    let (store, thread) = (place.store(), place.flow_thread());
    let workspace = workspace(&store);
    sync::begin(at, &store, &thread, Some("writer")).unwrap();
    crate::nodes::put(at, &store, (&workspace.roots(), &mut Default::default())).unwrap();
    let terms = Terms { workspace, max_attempts: 2, ..Terms::default() };
    assert_eq!(queue::submit(at, &thread, &terms).unwrap(), Submitted::Is("ready".into()));
    thread
}

/// Whatever waits for its time is due.
fn hurry(at: &mut Connection) {
    at.client().execute("UPDATE uwf.thread SET ready_at = clock_timestamp()", &[]).unwrap();
}

fn nodes_there(at: &mut Connection) -> i64 {
    at.client().query_one("SELECT count(*) FROM uwf.node", &[]).unwrap().get(0)
}

fn again() -> Value {
    json!({"$status": "again"})
}

fn done() -> Value {
    json!({"$status": "done"})
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn write_all_kinds(cwd: &Path) {
    fs::write(cwd.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(cwd.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("nowhere/at all", cwd.join("link")).unwrap();
    fs::write(cwd.join("binary"), [0, 255, 10, 13, 0]).unwrap();
    fs::write(cwd.join("two\nlines"), "n").unwrap();
    fs::write(cwd.join(std::ffi::OsStr::from_bytes(b"\xff\"\\")), "u").unwrap();
    fs::create_dir_all(cwd.join("deep/er")).unwrap();
    fs::write(cwd.join("deep/er/file"), "d").unwrap();
    fs::remove_file(cwd.join("goes")).unwrap();
}

fn assert_all_kinds(cwd: &Path) {
    assert_eq!(mode(&cwd.join("run.sh")), 0o755);
    assert_eq!(fs::read_link(cwd.join("link")).unwrap(), Path::new("nowhere/at all"));
    assert_eq!(fs::read(cwd.join("binary")).unwrap(), [0, 255, 10, 13, 0]);
    assert_eq!(fs::read(cwd.join("two\nlines")).unwrap(), b"n");
    assert_eq!(fs::read(cwd.join(std::ffi::OsStr::from_bytes(b"\xff\"\\"))).unwrap(), b"u");
    assert_eq!(fs::read(cwd.join("deep/er/file")).unwrap(), b"d");
    assert!(!cwd.join("goes").exists());
}

#[test]
fn a_snapshot_goes_from_machine_to_machine_and_only_what_changed_is_sent() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let from = tempfile::tempdir().unwrap();
    for number in 0..40 {
        fs::create_dir_all(from.path().join(format!("d{number}"))).unwrap();
        fs::write(from.path().join(format!("d{number}/f")), format!("file {number}")).unwrap();
    }
    fs::write(from.path().join("goes"), "x").unwrap();
    fs::write(from.path().join(".gitignore"), "made\n").unwrap();
    let (a, b) = (Machine::new(&[]), Machine::new(&[]));
    let thread = begun(&mut at, |store| snapshot_of(store, from.path(), &Options::default()).unwrap().0);
    let places = Mutex::new(Vec::new());
    let told = a.turn(&postgres, &|cwd| {
        assert_eq!(fs::read_to_string(cwd.join("d7/f")).unwrap(), "file 7");
        assert!(cwd.starts_with(&a.spaces.root) && mode(cwd) == 0o700);
        places.lock().unwrap().push(cwd.to_owned());
        write_all_kinds(cwd);
        fs::create_dir(cwd.join("empty")).unwrap();
        again()
    });
    assert_eq!(told, ["leased", "handed back"]);
    let before = nodes_there(&mut at);
    b.turn(&postgres, &|cwd| {
        assert_all_kinds(cwd);
        assert!(cwd.join("empty").is_dir());
        fs::write(cwd.join("d7/f"), "changed").unwrap();
        // An ignored file is no part of a snapshot.
        fs::write(cwd.join("made"), "x").unwrap();
        again()
    });
    // The file, its directory, the root; and what a step is: its output, its detail, the step itself.
    let sent = nodes_there(&mut at) - before;
    assert!((4..=9).contains(&sent), "{sent}");
    b.turn(&postgres, &|cwd| {
        assert!(!cwd.join("made").exists(), "what has more than the snapshot is made anew");
        again()
    });
    let told = a.turn(&postgres, &|cwd| {
        assert_eq!(places.lock().unwrap()[0], cwd, "the same place on the same machine");
        assert_eq!(fs::read_to_string(cwd.join("d7/f")).unwrap(), "changed");
        done()
    });
    assert_eq!(told, ["done"]);
    assert_eq!(column(&mut at, "state", &thread), "done");
    assert_eq!(
        fs::read_dir(&a.spaces.root).unwrap().count(),
        0,
        "nothing is left of a thread that has ended"
    );
    b.spaces.prune();
    assert!(b.spaces.root.join(thread.as_str()).join("rest.json").is_file(), "it is kept for the next time");
    Workspaces { kept: 0, ..b.spaces.clone() }.prune();
    assert_eq!(fs::read_dir(&b.spaces.root).unwrap().count(), 0);
}

#[test]
fn what_a_failed_or_killed_step_has_left_is_in_no_later_one() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let from = tempfile::tempdir().unwrap();
    fs::write(from.path().join("a"), "first").unwrap();
    let (a, b) = (Machine::new(&[]), Machine::new(&[]));
    let thread = begun(&mut at, |store| snapshot_of(store, from.path(), &Options::default()).unwrap().0);
    let told = a.turn(&postgres, &|cwd| {
        fs::write(cwd.join("a"), "half").unwrap();
        json!("no model")
    });
    assert!(told[0].contains("no model"), "{told:?}");
    hurry(&mut at);
    // Killed between the snapshot and the head: the lease is taken while the step is made, the files are captured or not.
    b.turn(&postgres, &|cwd| {
        assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), "first");
        fs::write(cwd.join("a"), "stale").unwrap();
        let take =
            "UPDATE uwf.thread SET fence = fence + 1, lease_until = clock_timestamp() + interval '1 s'";
        postgres.client().execute(take, &[]).unwrap();
        again()
    });
    let free = "UPDATE uwf.thread SET state = 'ready', lease_until = NULL, attempts = 0";
    at.client().execute(free, &[]).unwrap();
    hurry(&mut at);
    // A process that was killed removes nothing.
    let left = b.spaces.root.join(thread.as_str());
    fs::create_dir_all(left.join("files")).unwrap();
    fs::write(left.join("files/a"), "killed").unwrap();
    b.turn(&postgres, &|cwd| {
        assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), "first");
        fs::write(cwd.join("a"), "second").unwrap();
        again()
    });
    let rest = left.join("rest.json");
    assert!(rest.is_file(), "what is just the snapshot is kept");
    // Somebody changes it while nobody has it.
    fs::write(left.join("files/a"), "dirty").unwrap();
    fs::write(left.join("files/more"), "dirty").unwrap();
    b.turn(&postgres, &|cwd| {
        assert_eq!(fs::read_to_string(cwd.join("a")).unwrap(), "second");
        assert!(!cwd.join("more").exists());
        done()
    });
    assert_eq!(column(&mut at, "state", &thread), "done");
}

#[test]
fn a_shared_directory_is_where_the_worker_says_and_a_worker_without_it_burns_no_attempt() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let shared = tempfile::tempdir().unwrap();
    fs::create_dir(shared.path().join("project")).unwrap();
    fs::write(shared.path().join("project/goes"), "x").unwrap();
    let elsewhere =
        shared.path().join("../").canonicalize().unwrap().join(shared.path().file_name().unwrap());
    let (a, b) = (Machine::new(&[("team", shared.path())]), Machine::new(&[("team", &elsewhere)]));
    let (none, gone) = (Machine::new(&[]), Machine::new(&[("team", Path::new("/none/such"))]));
    let workspace = json!({"kind": "shared", "root": "team", "dir": "project"});
    let thread = begun(&mut at, |_| Workspace::of(&workspace).unwrap());
    a.turn(&postgres, &|cwd| {
        write_all_kinds(cwd);
        again()
    });
    for (machine, why) in [
        (&none, "this worker knows no shared root \"team\""),
        (&gone, "there is no directory /none/such/project"),
    ] {
        hurry(&mut at);
        assert_eq!(machine.turn(&postgres, &|_| done()), ["handed back"]);
        assert_eq!(column(&mut at, "state", &thread), "ready");
        assert_eq!(column(&mut at, "attempts", &thread), "0");
        assert!(column(&mut at, "reason", &thread).starts_with(why));
        assert_eq!(column(&mut at, "(ready_at > clock_timestamp())", &thread), "true");
    }
    hurry(&mut at);
    assert_eq!(
        b.turn(&postgres, &|cwd| {
            assert_all_kinds(cwd);
            done()
        }),
        ["done"]
    );
}

#[test]
fn no_thread_works_where_its_worker_does_not_let_it() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (shared, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(outside.path(), shared.path().join("out")).unwrap();
    let machine = Machine::new(&[("team", shared.path())]);
    for workspace in [
        json!({"kind": "shared"}),
        json!({"kind": "shared", "root": outside.path()}),
        json!({"kind": "shared", "root": "team", "dir": "out"}),
        json!({"kind": "shared", "root": shared.path().join("out")}),
        json!({"kind": "git", "repository": outside.path(), "base": "HEAD"}),
        json!({"kind": "nonsense"}),
    ] {
        let thread = begun(&mut at, |_| Workspace::default());
        let set = "UPDATE uwf.thread SET workspace = $1 WHERE id = $2";
        at.client().execute(set, &[&workspace, &thread.as_str()]).unwrap();
        machine.turn(&postgres, &|cwd| panic!("it works in {}", cwd.display()));
        assert_eq!(column(&mut at, "steps", &thread), "0");
        at.client().execute("UPDATE uwf.thread SET state = 'held', lease_until = NULL", &[]).unwrap();
    }
}

#[test]
fn a_file_that_comes_back_is_sent_again_where_it_was_collected_meanwhile() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let from = tempfile::tempdir().unwrap();
    fs::write(from.path().join("f"), "it comes and goes").unwrap();
    let a = Machine::new(&[]);
    let thread = begun(&mut at, |store| snapshot_of(store, from.path(), &Options::default()).unwrap().0);
    at.client().execute("UPDATE uwf.node SET put = put - interval '1 day'", &[]).unwrap();
    let act = |cwd: &Path| {
        if cwd.join("f").exists() {
            fs::remove_file(cwd.join("f")).unwrap();
            return again();
        }
        let what = Collect { younger: YOUNGEST, dry_run: false, spared: &BTreeMap::new() };
        let collected = collect(&mut postgres.connection(), what, &mut |_, _| Ok(())).unwrap();
        assert!(collected[0].removed > 0, "nothing needs the file of before");
        fs::write(cwd.join("f"), "it comes and goes").unwrap();
        done()
    };
    let host = SpaceHost { machine: &a, act: &act, workflow: None, told: Mutex::default() };
    let mut settings = settings("w", 20_000, Until::Once);
    settings.presence.parallel = 1;
    let open = opened(&postgres);
    work(&settings, &host, &open, (&Wind::default(), &Counts::default())).unwrap();
    assert_eq!(column(&mut at, "state", &thread), "done", "{}", column(&mut at, "reason", &thread));
    let tree = column(&mut at, "workspace ->> 'tree'", &thread).parse().unwrap();
    let (client, team) = at.parts();
    let needed = crate::nodes::closure(client, team, &[tree]).unwrap();
    crate::nodes::get(&mut at, &Place::in_memory().store(), &needed).unwrap();
}
