//! A step that one machine is in and another one ends: workers that are processes, with homes of their own, of which one is
//! killed or stopped at many points. With `SWEEP_POINTS=100` in the environment at so many.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use uwf_engine::exec::{ExecOptions, Unobserved, hold, step_once};
use uwf_engine::spawn::lookup::Programs;
use uwf_engine::spawn::protocol::JOURNAL_SINK;
use uwf_engine::{AgentCommand, Engine, Env, Homes, StepReport, ThreadId, config, open_store};
use uwf_fleet::fixture::Postgres;
use uwf_fleet::queue::{self, Claimant, Presence, Terms};
use uwf_fleet::worker::{Counts, Happening, Host, Settings, Until, WantedStep, Wind, work};
use uwf_fleet::workspace::{Workspace, snapshot_of};
use uwf_fleet::{Connection, nodes, schema, sync};
use uwf_store::Store;

use super::{Work, command, of_kind, script};
use crate::site::{AGENT, Site, UWF};

/// At how many points, where nobody says how many.
const POINTS: usize = 20;

/// What the agents have in their environment.
const KEY: &str = "sk-elsewhere-5f0c1d7e9b3a";

/// What a worker's process needs to know.
const REMOTE: &str = "UWF_TEST_REMOTE";
const NAME: &str = "UWF_TEST_NAME";
const ENDPOINT: &str = "UWF_TEST_ENDPOINT";
const LEASE: &str = "UWF_TEST_LEASE";

fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

struct Machine {
    homes: Homes,
    store: Store,
    env: Env,
    builtin: AgentCommand,
}

impl Machine {
    fn here() -> Machine {
        let var = |name: &str| std::env::var(name).unwrap();
        let home = PathBuf::from(var("HOME"));
        let homes = Homes { uwf: home.join(".uwf"), ocas: home.join(".ocas") };
        fs::create_dir_all(&homes.uwf).unwrap();
        let env = [("HOME", var("HOME")), ("PATH", var("PATH")), ("UWF_API_KEY", KEY.to_owned())];
        let args = ["--base-url", &var(ENDPOINT), "--model", "m"].map(str::to_owned).to_vec();
        let store = open_store(&homes.ocas, clock).unwrap();
        let builtin = AgentCommand::new(AGENT.to_owned(), args);
        Machine { store, homes, env: env.into_iter().collect(), builtin }
    }
}

impl Host for Machine {
    fn store(&self) -> &Store {
        &self.store
    }

    fn home(&self) -> &Path {
        &self.homes.uwf
    }

    fn step(&self, step: &WantedStep<'_>) -> Result<StepReport, String> {
        let mut env = self.env.clone();
        env.set(JOURNAL_SINK, step.sink);
        let engine = Engine {
            store: &self.store,
            homes: &self.homes,
            config: &config::load(&self.homes.uwf).unwrap(),
            env: &env,
            builtin: &self.builtin,
            programs: &Programs::look_up([AGENT], env.get("PATH")),
            stop: step.stop,
            agent: None,
            conditions: None,
        };
        let lock = hold(&engine, &step.lease.thread).map_err(|error| error.to_string())?;
        let options = ExecOptions { apart: true, ..ExecOptions::default() };
        step_once(&engine, &lock, &options, &mut Unobserved).map_err(|error| format!("{error}: {error:?}"))
    }

    fn forget(&self, _: &ThreadId) {}

    #[expect(clippy::print_stderr, reason = "for whoever looks at a test that has failed")]
    fn tell(&self, happening: &Happening<'_>) {
        let what = match happening {
            Happening::Claimed(..) => "claimed".to_owned(),
            Happening::Stepped(_, _, state) => format!("stepped: {state}"),
            Happening::Failed(_, why) => format!("failed: {why}"),
            Happening::Lost(_) => "lost".to_owned(),
            Happening::HandedBack(_) => "handed back".to_owned(),
            Happening::Unreachable(error) => error.to_string(),
        };
        eprintln!("{}: {what}", std::env::var(NAME).unwrap());
    }
}

#[test]
#[ignore = "a process of the tests below"]
fn worker_process() {
    let Ok(remote) = std::env::var(REMOTE) else { return };
    let address = remote.parse().unwrap();
    let lease = Duration::from_millis(std::env::var(LEASE).unwrap().parse().unwrap());
    let name = std::env::var(NAME).unwrap();
    let settings = Settings {
        claimant: Claimant { name, labels: vec![], workflow: None, lease },
        presence: Presence { version: "1".into(), host: "here".into(), parallel: 1 },
        until: Until::Empty,
        grace: Duration::from_secs(20),
        versions: schema::VERSIONS,
    };
    let open = || {
        let mut connection = Connection::open(&address, &Env::default())?;
        schema::ready(&mut connection, &schema::VERSIONS, schema::Access::Write)?;
        Ok(connection)
    };
    work(&settings, &Machine::here(), &open, (&Wind::default(), &Counts::default())).unwrap();
}

/// A thread that is submitted, and two machines.
struct Fleet {
    postgres: Postgres,
    at: Connection,
    work: Work,
    a: Site,
    b: Site,
    lease: Duration,
}

impl Fleet {
    /// None where Postgres is not installed.
    fn new(script: &str, lease: Duration) -> Option<Fleet> {
        let postgres = Postgres::start()?;
        let at = postgres.connection();
        let (a, b) = (Site::in_memory(), Site::in_memory());
        let mut fleet = Fleet { postgres, at, work: Work::new(script), a, b, lease };
        fleet.submit();
        Some(fleet)
    }

    /// The thread of `work` is to be run.
    fn submit(&mut self) {
        self.submit_in(Workspace::default());
    }

    fn submit_in(&mut self, workspace: Workspace) {
        let store = self.store();
        let thread = self.work.thread.parse().unwrap();
        assert!(sync::begin(&mut self.at, &store, &thread, None).unwrap());
        nodes::put(&mut self.at, &store, (&workspace.roots(), &mut HashSet::new())).unwrap();
        queue::submit(&mut self.at, &thread, &Terms { workspace, ..Terms::default() }).unwrap();
    }

    /// Where `work` was begun.
    fn store(&self) -> Store {
        open_store(&self.work.site.home().join(".ocas"), clock).unwrap()
    }

    fn worker(&self, (name, site): (&str, &Site)) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "continued::elsewhere::worker_process", "--ignored", "--nocapture"]);
        command.env("HOME", site.home()).env(REMOTE, self.postgres.url()).env(NAME, name);
        command.env(ENDPOINT, self.work.endpoint.url()).env(LEASE, self.lease.as_millis().to_string());
        command.env_remove("UWF_HOME").env_remove("OCAS_HOME").stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().unwrap()
    }

    /// The worker of the command line.
    fn real_worker(&self, site: &Site) -> Child {
        site.uwf(&["remote", "add", "team", &self.postgres.url(), "--offline"]);
        let mut command = site.command(UWF);
        command.args(["worker", "--remote", "team", "--until-empty", "--lease", "30s", "--shared-root"]);
        command.arg(self.work.site.workspace());
        command.env("UWF_BASE_URL", self.work.endpoint.url()).env("UWF_MODEL", "m");
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    /// Has the other machine end what there is.
    fn end(&self) {
        ended(self.worker(("b", &self.b)));
    }

    fn column(&mut self, column: &str) -> String {
        let sql = format!("SELECT {column}::text FROM uwf.thread WHERE id = $1");
        self.at.client().query_one(&sql, &[&self.work.thread]).unwrap().get(0)
    }

    /// What the remote has of the journals of the thread, by name.
    fn kept(&mut self) -> BTreeMap<String, Vec<u8>> {
        let sql = "SELECT name, bytes FROM uwf.journal WHERE thread = $1 ORDER BY name, start";
        let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for row in self.at.client().query(sql, &[&self.work.thread]).unwrap() {
            kept.entry(row.get(0)).or_default().extend(row.get::<_, Vec<u8>>(1));
        }
        kept
    }

    /// The lease of whoever is gone is over.
    fn lease_is_over(&mut self) {
        let over =
            "UPDATE uwf.thread SET lease_until = clock_timestamp() - interval '1 s' WHERE state = 'leased'";
        self.at.client().execute(over, &[]).unwrap();
    }
}

/// A worker has ended by itself.
fn ended(mut worker: Child) {
    let begun = Instant::now();
    while worker.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(120) {
            worker.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(worker.wait().unwrap().success());
}

/// The lines of the youngest journal of a thread in a home.
fn lines_of(site: &Site, thread: &str) -> Vec<Value> {
    let own = super::journals(site).into_iter().filter(|path| path.display().to_string().contains(thread));
    own.collect::<Vec<_>>().pop().map(|path| super::lines(&path)).unwrap_or_default()
}

/// The processes that a process has started.
fn children(pid: u32) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let listed: Vec<String> = listed.collect();
    let pids = listed.iter().flat_map(|list| list.split_whitespace());
    pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// When a worker is killed.
#[derive(Clone, Copy, Debug)]
enum When {
    /// As soon as the journal on its machine has so many lines.
    Lines(usize),
    /// So long after its step began.
    Time(Duration),
}

/// Has the first machine begin, and ends it: the worker alone, or all of its processes.
fn killed(fleet: &Fleet, (when, whole): (When, bool)) {
    let mut worker = fleet.worker(("a", &fleet.a));
    let (begun, mut has_lines) = (Instant::now(), None);
    while worker.try_wait().unwrap().is_none() {
        let count = lines_of(&fleet.a, &fleet.work.thread).len();
        if count > 0 {
            has_lines.get_or_insert_with(Instant::now);
        }
        let due = match when {
            When::Lines(lines) => count >= lines,
            When::Time(time) => has_lines.is_some_and(|since| since.elapsed() >= time),
        };
        if due {
            let agents = children(worker.id());
            worker.kill().unwrap();
            for agent in agents.iter().filter(|_| whole) {
                kill_process_group(*agent, Signal::KILL).ok();
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{when:?}: it hangs");
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn answered(bytes: &[u8]) -> u64 {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter(|line| line.starts_with(b"{\"entry\":\"answered\"")).count() as u64
}

/// Each command ran once; one that was cut off at most once, and its model was told.
fn check_commands(fleet: &Fleet, when: &str) {
    let lines = lines_of(&fleet.b, &fleet.work.thread);
    let log = fleet.work.file("log");
    let calls = of_kind(&lines, "answered")
        .flat_map(|line| line["message"]["tool_calls"].as_array().cloned().unwrap_or_default());
    for call in calls {
        let answers: Vec<&Value> = of_kind(&lines, "finished")
            .filter(|line| line["message"]["tool_call_id"] == call["id"])
            .collect();
        assert_eq!(answers.len(), 1, "{when}: {call}");
        let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
        let number = arguments["command"].as_str().and_then(|command| command.split(' ').nth(1));
        let Some(number) = number else { continue };
        let ran = log.lines().filter(|line| *line == number).count();
        let text = answers[0]["message"]["content"].as_str().unwrap();
        let cut_off = text.contains("may or may not have taken effect");
        assert!(ran == 1 || cut_off && ran == 0, "{when}: command {number} ran {ran} times: {text}");
    }
}

/// What was asked and is at the remote is not asked again; whatever the first machine had acknowledged is in the end.
fn kill_and_end(fleet: &mut Fleet, (when, whole): (When, bool)) {
    let case = format!("{when:?}, {}", if whole { "all of its processes" } else { "the worker alone" });
    killed(fleet, (when, whole));
    let kept = fleet.kept();
    let bytes = kept.values().next_back().cloned().unwrap_or_default();
    assert!(kept.len() <= 1 && !String::from_utf8_lossy(&bytes).contains(KEY), "{case}");
    let durable = answered(&bytes);
    fleet.lease_is_over();
    fleet.end();
    assert_eq!((fleet.column("state"), fleet.column("steps")), ("done".into(), "1".into()), "{case}");
    let asked = fleet.work.asked();
    for turn in 0..12 {
        let times = asked[&turn];
        let is_known = turn < durable || fleet.column("fence") == "1";
        assert!(
            times == 1 || !is_known && turn == durable && times == 2,
            "{case}: {turn} asked {times} times"
        );
    }
    assert_eq!(asked.len(), 12, "{case}");
    assert_eq!((fleet.work.file("a.txt"), fleet.work.file("copy.txt")), ("final\n".into(), "two\n".into()));
    assert_eq!(fleet.kept(), BTreeMap::new(), "{case}: the step is pushed");
    if fleet.column("fence") != "1" {
        check_commands(fleet, &case);
        let journals = super::journals(&fleet.b);
        let own = journals.iter().filter(|path| path.display().to_string().contains(&fleet.work.thread));
        let ended: Vec<Vec<u8>> = own.map(|path| fs::read(path).unwrap()).collect();
        assert!(ended.iter().any(|ended| ended.starts_with(&bytes)), "{case}: all that was kept goes on");
    }
}

#[test]
fn what_one_machine_was_killed_in_another_one_ends() {
    let Some(mut fleet) = Fleet::new(&script(), Duration::from_secs(30)) else { return };
    let begun = Instant::now();
    fleet.end();
    let time = begun.elapsed();
    let lines = lines_of(&fleet.b, &fleet.work.thread).len();
    assert!(lines > 60, "{lines}");
    let count = std::env::var("SWEEP_POINTS").map_or(POINTS, |count| count.parse().unwrap());
    for point in 0..count {
        let when = match point % 3 {
            0 => When::Time(time * u32::try_from(point).unwrap() / u32::try_from(count).unwrap() / 2),
            _ => When::Lines(2 + point * (lines - 2) / count),
        };
        fleet.work.begin_anew();
        fleet.submit();
        kill_and_end(&mut fleet, (when, point % 2 == 0));
    }
    let found = fleet.b.uwf(&["cas", "verify"]).json();
    let findings = found["findings"].as_array().unwrap().iter();
    // Threads that are known at the remote alone.
    assert_eq!(findings.filter(|finding| finding["kind"] != "lost").count(), 0, "{found}");
}

/// Stops the first machine in its sixth turn until its lease is over and another one has ended the thread; then it goes on.
fn zombie(whole: bool) {
    let Some(mut fleet) = Fleet::new(&script(), Duration::from_secs(3)) else { return };
    let mut worker = fleet.worker(("a", &fleet.a));
    let begun = Instant::now();
    while of_kind(&lines_of(&fleet.a, &fleet.work.thread), "answered").count() < 6 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not get on");
        std::thread::sleep(Duration::from_micros(200));
    }
    let pid = Pid::from_child(&worker);
    let agents = if whole { children(worker.id()) } else { Vec::new() };
    kill_process(pid, Signal::STOP).unwrap();
    agents.iter().for_each(|agent| kill_process_group(*agent, Signal::STOP).unwrap());
    fleet.end();
    assert_eq!(fleet.column("state"), "done");
    let before = (fleet.work.asked(), fleet.work.file("a.txt"));
    let head: String = fleet.column("head");
    agents.iter().for_each(|agent| kill_process_group(*agent, Signal::CONT).unwrap());
    kill_process(pid, Signal::CONT).unwrap();
    // With nothing left to do it ends, once its agent has.
    assert!(worker.wait().unwrap().success());
    assert_eq!(before, (fleet.work.asked(), fleet.work.file("a.txt")), "it asks no model");
    assert_eq!((fleet.column("head"), fleet.column("steps")), (head, "1".into()));
    assert_eq!(fleet.kept(), BTreeMap::new());
    // It begins no tool call. One that was under way when it was stopped may go on for a moment: its model was told so.
    check_commands(&fleet, "stopped");
}

#[test]
fn a_machine_that_slept_beyond_its_lease_does_nothing_more() {
    zombie(true);
}

#[test]
fn a_worker_that_slept_beyond_its_lease_holds_its_agent_up() {
    zombie(false);
}

/// `outer` has its role played by `inner`, which has two, one after the other.
fn below() -> [(&'static str, String); 2] {
    let role = "goal: Do it.\n    frontmatter: { type: object, required: [$status], properties: { $status: { const: done }, files: { type: integer } } }";
    let outer = format!(
        "name: outer\ndescription: d\nroles:\n  whole:\n    {role}\ngraph:\n  $START: {{ new: {{ role: whole, prompt: Do it. }} }}\n  whole: {{ done: {{ role: $END, prompt: Done. }} }}\n"
    );
    let inner = format!(
        "name: inner\ndescription: d\nroles:\n  first:\n    {role}\n  second:\n    {role}\ngraph:\n  $START: {{ new: {{ role: first, prompt: Begin. }} }}\n  first: {{ done: {{ role: second, prompt: Go on. }} }}\n  second: {{ done: {{ role: $END, prompt: Done. }} }}\n"
    );
    [("outer", outer), ("inner", inner)]
}

#[test]
fn a_workflow_that_plays_a_role_goes_on_elsewhere_inside_of_its_own_steps() {
    let slow = |number: u64| command(&format!("echo {number} >> log; sleep 0.05"));
    let script = super::play(&[slow(1), slow(2), super::ANSWER.to_owned()]);
    let Some(mut fleet) = Fleet::new(&script, Duration::from_secs(30)) else { return };
    // A step of the thread that is there.
    ended(fleet.real_worker(&fleet.b));
    for site in [&fleet.a, &fleet.b] {
        let config =
            "agents:\n  inner: { command: 'workflow:inner' }\nagentOverrides:\n  outer: { whole: inner }\n";
        fs::create_dir_all(site.home().join(".uwf")).unwrap();
        fs::write(site.home().join(".uwf/config.yaml"), config).unwrap();
    }
    for point in 0..6 {
        fleet.work.begin_anew();
        for (name, text) in below() {
            fleet.work.site.write(&format!("work/.workflow/{name}.yaml"), &text);
        }
        fleet.work.thread = fleet.work.site.start("outer", "The whole.");
        fleet.submit();
        let mut worker = fleet.real_worker(&fleet.a);
        let begun = Instant::now();
        while worker.try_wait().unwrap().is_none() {
            let log = fleet.work.file("log").lines().count();
            if log > point / 2 {
                std::thread::sleep(Duration::from_millis(40 * (point as u64 % 2)));
                worker.kill().unwrap();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it hangs");
            std::thread::sleep(Duration::from_micros(200));
        }
        let durable: u64 = fleet.kept().values().map(|bytes| answered(bytes)).sum();
        assert!(durable > 0, "{point}");
        fleet.lease_is_over();
        ended(fleet.real_worker(&fleet.b));
        assert_eq!((fleet.column("state"), fleet.column("steps")), ("done".into(), "1".into()));
        let asked: u64 = fleet.work.asked().values().sum();
        assert!(asked == 6 || asked == 7, "{point}: six turns, one perhaps once more: {asked}");
        let log = fleet.work.file("log");
        for number in ["1", "2"] {
            assert!(log.lines().filter(|line| *line == number).count() <= 2, "{point}: {log}");
        }
        assert!(log.lines().count() >= 3, "{point}: one may have been cut off: {log}");
    }
}

#[test]
fn what_a_file_tool_wrote_is_there_on_another_machine() {
    let write = "{ tool_calls: [{ name: write_file, arguments: { path: new.txt, content: 'by a tool' } }] }"
        .to_owned();
    let script = super::play(&[write, command("sleep 5"), command("cat new.txt"), super::ANSWER.to_owned()]);
    let Some(mut fleet) = Fleet::new(&script, Duration::from_secs(30)) else { return };
    fleet.work.begin_anew();
    let (workspace, _) =
        snapshot_of(&fleet.store(), &fleet.work.site.workspace(), &uwf_snapshot::Options::default()).unwrap();
    fleet.submit_in(workspace);
    // The thread that was submitted before does not matter.
    let forgotten = "DELETE FROM uwf.thread WHERE id <> $1";
    fleet.at.client().execute(forgotten, &[&fleet.work.thread]).unwrap();
    let mut worker = fleet.real_worker(&fleet.a);
    let begun = Instant::now();
    // The remote has it, too: what only the file has is asked again.
    let is_started = |line: &&[u8]| line.starts_with(b"{\"entry\":\"started\"");
    let started = |bytes: &Vec<u8>| bytes.split(|byte| *byte == b'\n').filter(is_started).count();
    while fleet.kept().values().map(started).sum::<usize>() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not get on");
        std::thread::sleep(Duration::from_millis(1));
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    fleet.lease_is_over();
    ended(fleet.real_worker(&fleet.b));
    assert_eq!((fleet.column("state"), fleet.column("fence")), ("done".into(), "2".into()));
    let head = fleet.column("head");
    fleet.b.uwf(&["clone", "team", &fleet.work.thread]).ok();
    let read = fleet.b.uwf(&["step", "read", &head]).ok().out;
    assert!(read.contains("by a tool"), "{read}");
    assert_eq!(fleet.work.asked().values().sum::<u64>(), 4, "nothing is asked twice");
}
