//! Stores with many threads and with long ones, written through the engine's own library.

use std::collections::BTreeMap;

use serde_json::json;
use uwf_engine::builtin;
use uwf_engine::{StartNode, StepLinks, StepNode, ThreadId, workflow};
use uwf_store::{Expect, Hash, Store, VarChange};

use crate::bench_home::BenchHome;

/// A role that can go on for ever.
const WORKFLOW: &str = "\
name: rounds
description: One role, round after round
roles:
  worker:
    goal: You answer.
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [more, done] }, n: { type: integer } } }
graph:
  $START:
    new: { role: worker, prompt: Answer. }
  worker:
    more: { role: worker, prompt: 'Round {{n}} is over.' }
    done: { role: $END, prompt: Done. }
";

/// Nodes written with one sync.
const BATCH: usize = 50_000;

/// A store with the workflow `rounds`, which threads can be written into.
pub(crate) struct Threads {
    store: Store,
    workflow: Hash,
    output: Hash,
    cwd: String,
    detail: Hash,
    nodes: Vec<(Hash, serde_json::Value)>,
    heads: Vec<VarChange>,
}

/// A thread that was written.
pub(crate) struct Written {
    pub(crate) thread: ThreadId,
    /// Its steps, the oldest first.
    pub(crate) steps: Vec<Hash>,
    /// The steps behind its head that are not its own yet.
    pub(crate) ahead: Vec<Hash>,
}

impl Threads {
    /// In the store of `home`.
    pub(crate) fn of(home: &BenchHome) -> Threads {
        let file = home.write("rounds.yaml", WORKFLOW);
        let store = uwf_engine::open_store(&home.dir().join(".ocas"), now).unwrap();
        let checked = workflow::load(file.as_ref()).unwrap();
        let hash = workflow::put(&store, &checked).unwrap();
        let output = workflow::get(&store, &hash).unwrap().roles["worker"].frontmatter;
        let detail = store.put_text("no record").unwrap();
        let cwd = home.dir().join("work").display().to_string();
        Threads { store, workflow: hash, output, cwd, detail, nodes: Vec::new(), heads: Vec::new() }
    }

    /// A thread of `steps` steps, and `ahead` more behind its head that are not its own yet. All are in the store after
    /// [`Threads::flush`].
    pub(crate) fn thread(&mut self, task: &str, steps: usize, ahead: usize) -> Written {
        let start =
            StartNode { workflow: self.workflow, prompt: task.to_owned(), cwd: self.cwd.clone(), call: None };
        let start = self.add(builtin::START_NODE, json!(start));
        let mut all: Vec<Hash> = Vec::new();
        for n in 0..steps + ahead {
            let step = self.step(start, all.last().copied(), n);
            all.push(step);
        }
        let ahead = all.split_off(steps);
        let head = all.last().map_or((builtin::START_NODE, start), |step| (builtin::STEP_NODE, *step));
        let thread = ThreadId::new(now());
        let (schema, value) = head;
        let name = format!("@uwf/thread/{thread}");
        self.heads.push(VarChange::Set {
            name,
            schema,
            value,
            tags: BTreeMap::new(),
            expect: Expect::Absent,
        });
        Written { thread, steps: all, ahead }
    }

    fn step(&mut self, start: Hash, prev: Option<Hash>, n: usize) -> Hash {
        let output = self.add(self.output, json!({"$status": "more", "n": n}));
        let step = StepNode {
            start,
            prev,
            role: "worker".to_owned(),
            output,
            detail: self.detail,
            agent: "bench".to_owned(),
            edge_prompt: format!("Round {n} is over."),
            started_at_ms: 1,
            completed_at_ms: 2,
            cwd: self.cwd.clone(),
            assembled_prompt: None,
            usage: None,
            previous_attempts: None,
            links: StepLinks::default(),
        };
        self.add(builtin::STEP_NODE, json!(step))
    }

    fn add(&mut self, type_: Hash, payload: serde_json::Value) -> Hash {
        let hash = Hash::of(&type_, &payload);
        self.nodes.push((type_, payload));
        hash
    }

    /// Writes what was added.
    pub(crate) fn flush(&mut self) {
        for batch in self.nodes.chunks(BATCH) {
            self.store.put_all(batch).unwrap();
        }
        self.store.vars().apply(&self.heads).unwrap();
        self.nodes.clear();
        self.heads.clear();
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}
