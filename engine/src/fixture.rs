//! A place to test in: two homes, a project, a clock, agents that answer from a list, and a store that another
//! implementation wrote. For tests only, here and of the command line.

#![allow(
    clippy::unwrap_used,
    clippy::new_without_default,
    reason = "tests make their place by name, and end where it cannot be made"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_store::{Hash, Store, cbor};

use crate::builtin;
use crate::config::Config;
use crate::exec::{Engine, Observer};
use crate::home::{Env, Homes};
use crate::spawn::StopSignal;
use crate::spawn::lookup::Programs;
use crate::spawn::protocol::AgentCommand;
use crate::thread::{self, StepLinks, StepNode, ThreadId};
use crate::workflow;

/// When everything happens: 2027-01-15 08:00:00 UTC.
pub fn clock() -> u64 {
    1_800_000_000_000
}

/// A workflow with every kind of edge.
pub const FLOW: &str = include_str!("../workflow/testdata/workflows/flow.yaml");

/// Keeps what it is told.
#[derive(Default)]
pub struct Told(pub Vec<String>);

impl Observer for Told {
    fn spawning(&mut self, _: &str, _: &AgentCommand, _: &Path) {}
    fn warn(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
    fn agent_stderr(&mut self, _: &[u8]) {}
}

/// Homes and a project directory.
pub struct Place {
    dir: TempDir,
}

impl Place {
    /// Nothing but the project, which knows the workflow `flow`.
    pub fn new() -> Place {
        Place::within(tempfile::tempdir().unwrap())
    }

    /// The same in memory, where a sync costs nothing: for tests of many commands.
    pub fn in_memory() -> Place {
        Place::within(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn within(dir: TempDir) -> Place {
        let place = Place { dir };
        fs::create_dir_all(place.project().join(".workflows")).unwrap();
        fs::write(place.project().join(".workflows/flow.yaml"), FLOW).unwrap();
        place
    }

    /// The store that another implementation wrote, in its own layout, and its project.
    pub fn reference() -> Place {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        let dump: Value = serde_json::from_str(include_str!("../testdata/reference_store.json")).unwrap();
        materialise(&dump, &place.homes().ocas);
        let workflows = place.project().join(".workflows");
        fs::create_dir_all(&workflows).unwrap();
        fs::write(
            workflows.join("fix-bug.yaml"),
            include_str!("../workflow/testdata/workflows/fix-bug.yaml"),
        )
        .unwrap();
        place
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    pub fn homes(&self) -> Homes {
        Homes { uwf: self.path().join("uwf"), ocas: self.path().join("ocas") }
    }

    #[expect(clippy::disallowed_methods, reason = "a place of tests, and tests have an environment")]
    pub fn env(&self) -> Env {
        let path = |name: &str| self.path().join(name).into_os_string();
        // An installed agent is none of this place.
        let search = std::env::var_os("PATH").unwrap_or_default();
        let others = std::env::split_paths(&search).filter(|dir| !dir.join("uwf-builtin").exists());
        let search = std::env::join_paths(others).unwrap();
        [("HOME", path("")), ("UWF_HOME", path("uwf")), ("OCAS_HOME", path("ocas")), ("PATH", search)]
            .into_iter()
            .collect()
    }

    /// An engine of this place, without a configuration or a builtin agent.
    pub fn with_engine<T>(&self, run: impl FnOnce(&Engine<'_>) -> T) -> T {
        let (store, homes, env) = (self.store(), self.homes(), self.env());
        run(&Engine {
            store: &store,
            homes: &homes,
            config: &Config::default(),
            env: &env,
            builtin: &AgentCommand::new("no-builtin-agent-here", vec![]),
            programs: &Programs::look_up(["sh"], env.get("PATH")),
            stop: &StopSignal::default(),
            agent: None,
            conditions: None,
        })
    }

    pub fn store(&self) -> Store {
        crate::open_store(&self.homes().ocas, clock).unwrap()
    }

    /// A thread of `flow` that nothing was done in yet.
    pub fn flow_thread(&self) -> ThreadId {
        self.thread("A text, please.")
    }

    /// A thread with this task.
    pub fn thread(&self, task: &str) -> ThreadId {
        let (store, project) = (self.store(), self.project());
        let workflow = workflow::resolve(&store, "flow", &project).unwrap().ensure_stored(&store).unwrap();
        thread::start(&store, &workflow, task, project.to_str().unwrap()).unwrap()
    }

    /// Writes a step as an agent would, on `prev` (none: on the thread's start).
    pub fn step(&self, thread: &ThreadId, prev: Option<Hash>, role: &str, output: &Value) -> Hash {
        let store = self.store();
        let head = thread::head(&store, thread).unwrap();
        let flow = workflow::get(&store, &head.start(&store).unwrap().workflow).unwrap();
        let type_ = match output["$status"].as_str().unwrap() {
            "$SUSPEND" => builtin::SUSPEND_OUTPUT,
            "error" => builtin::ERROR_OUTPUT,
            _ => flow.roles[role].frontmatter,
        };
        let node = StepNode {
            start: head.start_hash(),
            prev,
            role: role.to_owned(),
            output: store.put(&type_, output).unwrap(),
            detail: store.put_text(RECORD).unwrap(),
            agent: "scripted".to_owned(),
            edge_prompt: "Do it.".to_owned(),
            started_at_ms: clock() - 1500,
            completed_at_ms: clock(),
            cwd: self.project().to_str().unwrap().to_owned(),
            assembled_prompt: None,
            usage: None,
            previous_attempts: None,
            links: StepLinks::default(),
        };
        store.put(&node.type_(), &serde_json::to_value(&node).unwrap()).unwrap()
    }

    /// An agent that prints one of `replies` at each call, the first one first; calls are logged, see [`Place::calls`].
    pub fn agent(&self, replies: &[String]) -> String {
        self.script(&format!(
            "n=$(cat \"$D/n\" 2>/dev/null || echo 1); echo $((n+1)) > \"$D/n\"\nsed -n \"${{n}}p\" <<'END'\n{}\nEND\n",
            replies.join("\n")
        ))
    }

    /// An agent of its own words, as a command line; `$D` is a directory of its own.
    pub fn script(&self, body: &str) -> String {
        let own = self.path().join(format!("agent-{}", fs::read_dir(self.path()).unwrap().count()));
        fs::create_dir_all(&own).unwrap();
        let (file, log) = (own.join("agent.sh"), self.path().join("calls"));
        let head = format!("D='{}'\necho \"$PWD|$*\" >> '{}'\n", own.display(), log.display());
        fs::write(&file, head + body).unwrap();
        format!("sh {}", file.display())
    }

    /// The calls that agents got so far: directory, bar, arguments.
    pub fn calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path().join("calls")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }
}

/// Writes nodes, index and variables as the other implementation lays them out.
fn materialise(dump: &Value, ocas: &Path) {
    for dir in ["nodes", "_index", "vars"] {
        fs::create_dir_all(ocas.join(dir)).unwrap();
    }
    for (hash, node) in dump["nodes"].as_object().unwrap() {
        fs::write(ocas.join(format!("nodes/{hash}.bin")), cbor::encode(node)).unwrap();
    }
    for (type_, hashes) in dump["index"].as_object().unwrap() {
        let mut file = fs::File::create(ocas.join("_index").join(type_)).unwrap();
        for hash in hashes.as_array().unwrap() {
            writeln!(file, "{}", hash.as_str().unwrap()).unwrap();
        }
    }
    let database = Connection::open(ocas.join("vars/_store.db")).unwrap();
    database.execute_batch(include_str!("../store/src/sqlite/vars.sql")).unwrap();
    for (table, columns) in [
        ("vars", &["name", "schema", "value", "created", "updated", "tags", "labels"][..]),
        ("history", &["name", "schema", "value", "position", "set_at"]),
    ] {
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let name = if table == "history" { "var_history" } else { table };
        let sql = format!("INSERT INTO {name}({}) VALUES ({})", columns.join(", "), places.join(", "));
        for row in dump[table].as_array().unwrap() {
            let values = columns.iter().map(|column| match &row[*column] {
                Value::String(text) => rusqlite::types::Value::from(text.clone()),
                number => rusqlite::types::Value::from(number.as_i64().unwrap()),
            });
            database.execute(&sql, rusqlite::params_from_iter(values)).unwrap();
        }
    }
}

/// What steps here have as their detail: a text, as agents without a type of their own write it.
const RECORD: &str = "a record of another shape";

/// Its hash.
const DETAIL: &str = "APJTCSABFR3XK";

/// The reply of an agent of today.
pub fn reply(step: &Hash, role: &str, error: Option<&str>) -> String {
    json!({
        "stepHash": step, "detailHash": DETAIL, "role": role, "frontmatter": {}, "body": "", "startedAtMs": 1,
        "completedAtMs": 2, "usage": null, "isError": error.is_some(), "errorMessage": error,
    })
    .to_string()
}
