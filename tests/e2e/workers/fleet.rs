//! A remote of a test's own, and machines that run threads of it: each with homes of its own.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use uwf_engine::thread::ThreadId;
use uwf_engine::{Env, open_store};
use uwf_fleet::fixture::{Options, Postgres};
use uwf_fleet::queue::{self, Submitted, Terms};
use uwf_fleet::workspace::snapshot_of;
use uwf_fleet::{Address, Connection, nodes, sync};

use crate::site::{AGENT, Site, UWF};

/// A chain of as many roles as there are steps.
const ROLES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// What the scripted model says.
const ANSWER: &str = "turns:\n  - content: \"---\\n$status: done\\n---\\nCounted.\"\n";

/// A remote, and the machine that submits threads to it.
pub(crate) struct Fleet {
    pub(crate) postgres: Postgres,
    pub(crate) submitter: Site,
}

impl Fleet {
    /// Threads of so many steps, 6 at most; none where there is no Postgres.
    pub(crate) fn new(steps: usize) -> Option<Fleet> {
        Fleet::with(steps, &Options::default())
    }

    pub(crate) fn with(steps: usize, options: &Options) -> Option<Fleet> {
        let postgres = Postgres::with(options)?;
        drop(postgres.connection());
        let submitter = Site::in_memory();
        submitter.write("work/chain.yaml", &workflow(steps));
        Some(Fleet { postgres, submitter })
    }

    pub(crate) fn connection(&self) -> Connection {
        self.postgres.connection()
    }

    /// Begins so many threads and has them run.
    pub(crate) fn submit(&self, count: usize) -> Vec<ThreadId> {
        let first: ThreadId = self.submitter.start("chain.yaml", "count").parse().unwrap();
        let store = open_store(&self.submitter.home().join(".ocas"), now).unwrap();
        let start = uwf_engine::thread::head(&store, &first).unwrap().start(&store).unwrap();
        let another = |_| uwf_engine::thread::start(&store, &start.workflow, "count", &start.cwd).unwrap();
        let threads: Vec<ThreadId> = std::iter::once(first).chain((1..count).map(another)).collect();
        let mut at = self.connection();
        for thread in &threads {
            assert!(sync::begin(&mut at, &store, thread, Some("one")).unwrap());
            let submitted = queue::submit(&mut at, thread, &Terms { max_attempts: 50, ..Terms::default() });
            assert_eq!(submitted.unwrap(), Submitted::Is("ready".into()));
        }
        threads
    }

    /// Has a thread run in a snapshot of the submitter's directory.
    pub(crate) fn in_a_snapshot(&self, thread: &ThreadId) {
        let store = open_store(&self.submitter.home().join(".ocas"), now).unwrap();
        let (workspace, _) =
            snapshot_of(&store, &self.submitter.workspace(), &uwf_snapshot::Options::default()).unwrap();
        let mut at = self.connection();
        nodes::put(&mut at, &store, (&workspace.roots(), &mut HashSet::new())).unwrap();
        queue::submit(&mut at, thread, &Terms { workspace, max_attempts: 50, ..Terms::default() }).unwrap();
    }

    /// A machine whose agents are scripted, and write a line when they begin and when they have a step.
    pub(crate) fn machine(&self) -> Machine {
        Machine::within(Site::in_memory(), self)
    }

    /// The same with its homes in this directory.
    pub(crate) fn machine_at(&self, dir: &Path) -> Machine {
        Machine::within(Site::below(dir), self)
    }

    /// A column of a thread's row.
    pub(crate) fn column(&self, thread: &ThreadId, column: &str) -> String {
        let sql = format!("SELECT coalesce({column}::text, '') FROM uwf.thread WHERE id = $1");
        self.postgres.client().query_one(&sql, &[&thread.as_str()]).unwrap().get(0)
    }

    /// What a query of one number gives.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.postgres.client().query_one(sql, &[]).unwrap().get(0)
    }

    /// The same of a database that may be in trouble.
    pub(crate) fn try_count(&self, sql: &str) -> Option<i64> {
        let address: Address = self.postgres.url().parse().unwrap();
        let mut connection = Connection::open(&address, &Env::default()).ok()?;
        Some(connection.client().query_one(sql, &[]).ok()?.get(0))
    }
}

pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

fn workflow(steps: usize) -> String {
    let mut text = "name: chain\ndescription: Roles one after another\nroles:\n".to_owned();
    for role in &ROLES[..steps] {
        text += &format!(
            "  {role}:\n    goal: You count.\n    frontmatter:\n      type: object\n      required: [$status]\n      \
             properties: {{ $status: {{ enum: [done] }} }}\n"
        );
    }
    text += "graph:\n  $START: { new: { role: one, prompt: Begin. } }\n";
    for (at, role) in ROLES[..steps].iter().enumerate() {
        let next = if at + 1 == steps { "$END" } else { ROLES[at + 1] };
        text += &format!("  {role}: {{ done: {{ role: {next}, prompt: Go on. }} }}\n");
    }
    text
}

/// A machine that runs threads.
pub(crate) struct Machine {
    pub(crate) site: Site,
    /// Where the threads of the submitter work.
    shared: PathBuf,
    url: String,
    calls: String,
    clock: Option<Clock>,
}

/// A clock of a machine's own, by a library that its programs are started with: how far it is off stands in a file. Only what people
/// set is off by it; the time since the start is everybody's.
pub(crate) struct Clock {
    library: PathBuf,
    file: String,
}

impl Clock {
    /// None where the library is not installed.
    fn of(site: &Site) -> Option<Clock> {
        let found = fs::read_dir("/usr/lib").unwrap().filter_map(Result::ok);
        let mut found = found.map(|dir| dir.path().join("faketime/libfaketimeMT.so.1"));
        let library = found.find(|library| library.exists());
        assert!(library.is_some() || std::env::var_os("UWF_REQUIRE_FAKETIME").is_none(), "no libfaketime");
        Some(Clock { library: library?, file: site.write("clock", "+0s") })
    }

    /// Sets it to so many seconds after the right time.
    pub(crate) fn set(&self, seconds: i64) {
        let new = format!("{}.new", self.file);
        fs::write(&new, format!("{seconds:+}s")).unwrap();
        fs::rename(new, &self.file).unwrap();
    }
}

impl Machine {
    fn within(site: Site, fleet: &Fleet) -> Machine {
        let script =
            site.write("mock.yaml", "turns:\n  - content: \"---\\n$status: done\\n---\\nCounted.\"\n");
        // Where it is written whatever becomes of this machine's disk.
        let name = site.home().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let calls = fleet.submitter.write(&format!("calls-{name}"), "");
        // A line for each that begins, and each that has a step: the thread, the role, the seconds since the machine began.
        let agent = format!(
            "role=; for word; do [ \"$before\" = --role ] && role=$word; before=$word; done\n\
             read up rest < /proc/uptime; echo \"begin $UWF_STEP_OF $role $up\" >> {calls}\n\
             {AGENT} --mock {script} \"$@\"\ncode=$?\n\
             read up rest < /proc/uptime; [ $code = 0 ] && echo \"end $UWF_STEP_OF $role $up\" >> {calls}\nexit $code\n"
        );
        let agent = site.write("agent.sh", &agent);
        let config =
            format!("agents: {{ counted: {{ command: sh, args: [{agent}] }} }}\ndefaultAgent: counted\n");
        site.write("home/.uwf/config.yaml", &config);
        let (shared, url) = (fleet.submitter.workspace(), fleet.postgres.url());
        Machine { site, shared, url, calls, clock: None }
    }

    /// Agents that run this script of the shell instead, with the real one as `$AGENT`.
    pub(crate) fn played_by(self, script: &str) -> Machine {
        let mock =
            self.site.write("mock.yaml", "turns:\n  - content: \"---\\n$status: done\\n---\\nCounted.\"\n");
        self.site.write("agent.sh", &format!("AGENT='{AGENT} --mock {mock}'\n{script}"));
        self
    }

    /// A model that thinks for so many milliseconds.
    pub(crate) fn slow(self, ms: u32) -> Machine {
        self.site.write("mock.yaml", &format!("{ANSWER}    delay_ms: {ms}\n"));
        self
    }

    /// The same by another way to the remote.
    pub(crate) fn by(self, url: String) -> Machine {
        Machine { url, ..self }
    }

    /// The same with a clock of its own, where that can be.
    pub(crate) fn with_a_clock(self) -> Machine {
        let clock = Clock::of(&self.site);
        Machine { clock, ..self }
    }

    /// Its own clock.
    pub(crate) fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// A worker that is to be started here.
    pub(crate) fn worker(&self, args: &[&str]) -> Command {
        let mut command = self.site.command(UWF);
        // Once: later the disk may be full.
        if !self.site.home().join(".uwf/remotes.json").exists() {
            let said = self.site.uwf(&["remote", "add", "team", &self.url, "--offline"]);
            assert!(said.code == 0, "{said:?}");
        }
        command.args(["worker", "--remote", "team", "--shared-root"]).arg(&self.shared).args(args);
        if let Some(Clock { library, file }) = &self.clock {
            command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", file);
            command.envs(["FAKETIME_NO_CACHE", "FAKETIME_DONT_FAKE_MONOTONIC"].map(|name| (name, "1")));
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A worker that runs, its words in the file `log`.
    pub(crate) fn start(&self, args: &[&str]) -> Worker {
        let log = fs::File::options().create(true).append(true).open(self.log()).unwrap();
        let mut command = self.worker(args);
        command.stdout(Stdio::null()).stderr(log);
        Worker(command.spawn().unwrap())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.site.home().join("log")
    }

    /// What its agents have begun and ended, a line each.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(&self.calls).unwrap();
        calls.lines().map(str::to_owned).collect()
    }
}

/// A running worker; it is killed with the test.
pub(crate) struct Worker(pub(crate) Child);

impl Worker {
    pub(crate) fn signal(&self, name: &str) {
        crate::process::signal(name, self.0.id());
    }

    /// Waits until it ends by itself. Gives its exit status.
    pub(crate) fn wait(mut self) -> i32 {
        self.0.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
