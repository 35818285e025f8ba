//! Claims beside bare ones of the database, and a long thread beside its bytes.

use std::sync::Barrier;
use std::thread::scope;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_engine::{Status, ThreadId, open_store, thread, workflow};
use uwf_fleet::fixture::Postgres;
use uwf_fleet::queue::{self, Claimant};
use uwf_fleet::sync;
use uwf_store::{Hash, Store};

use crate::{median, now, tell};

/// How many claim at once, and how often each.
const CLAIMANTS: usize = 8;
const CLAIMS: usize = 250;
/// How one of them claims: its number, and what has something done so often.
type Claiming<'a> = dyn Fn(usize, &mut Often<'_>) + Sync + 'a;
type Often<'a> = dyn FnMut(&mut dyn FnMut()) + 'a;

/// How long the long thread is.
const STEPS: usize = 1_000;

pub(crate) fn measure(postgres: &Postgres) {
    claims(postgres);
    pull(postgres);
}

pub(crate) fn claimant(name: &str) -> Claimant {
    Claimant { name: name.into(), labels: Vec::new(), workflow: None, lease: Duration::from_secs(600) }
}

fn claims(postgres: &Postgres) {
    let mut client = postgres.client();
    crate::large::threads(postgres, CLAIMANTS * CLAIMS * 2, "ready");
    client
        .batch_execute(
            "CREATE TABLE q (id bigint PRIMARY KEY, state text NOT NULL) WITH (fillfactor = 60);
             CREATE INDEX ON q (id) WHERE state = 'ready';
             INSERT INTO q SELECT i, 'ready' FROM generate_series(1, 4000) AS i; ANALYZE",
        )
        .unwrap();
    // From when all are connected.
    let per_second = |claim: &Claiming<'_>| {
        let ready = Barrier::new(CLAIMANTS + 1);
        let begun = scope(|scope| {
            for number in 0..CLAIMANTS {
                let ready = &ready;
                scope.spawn(move || {
                    claim(number, &mut |once| {
                        ready.wait();
                        (0..CLAIMS).for_each(|_| once());
                    });
                });
            }
            ready.wait();
            Instant::now()
        });
        (CLAIMANTS * CLAIMS) as f64 / begun.elapsed().as_secs_f64()
    };
    let bare = per_second(&|_, each| {
        let mut client = postgres.client();
        let sql =
            "UPDATE q SET state = 'leased' WHERE id = (SELECT id FROM q WHERE state = 'ready' ORDER BY id
                   LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id";
        let prepared = client.prepare(sql).unwrap();
        each(&mut || assert_eq!(client.query(&prepared, &[]).unwrap().len(), 1));
    });
    let ours = per_second(&|number, each| {
        let (mut at, claimant) = (postgres.connection(), claimant(&format!("w{number}")));
        queue::prepare_claims(&mut at).unwrap();
        each(&mut || assert!(queue::claim(&mut at, &claimant).unwrap().is_some()));
    });
    tell("claims a second, 8 workers; bare SKIP LOCKED", ours, bare, "");
    client.batch_execute("DELETE FROM uwf.thread; DELETE FROM uwf.event; DROP TABLE q").unwrap();
}

fn pull(postgres: &Postgres) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = open_store(&dir.path().join("here"), now).unwrap();
    let thread = long(&store, dir.path());
    let mut at = postgres.connection();
    sync::begin(&mut at, &store, &thread, Some("worker")).unwrap();
    let mut number = 0;
    let pulled = median(3, || {
        number += 1;
        let there = open_store(&dir.path().join(format!("there-{number}")), now).unwrap();
        sync::fetch(&mut at, &there, &thread).unwrap();
    });
    let mut client = postgres.client();
    let bytes = median(3, || {
        client.query("SELECT hash, type, made, bytes, digest, refs FROM uwf.node", &[]).unwrap();
    });
    tell("pull of a thread of 1,000 steps; its rows alone", pulled, bytes, "ms");
    let again = median(3, || drop(sync::fetch(&mut at, &store, &thread).unwrap()));
    tell("the same where it is there already", again, bytes, "ms");
}

/// A thread of many steps.
fn long(store: &Store, dir: &std::path::Path) -> ThreadId {
    let file = dir.join("rounds.yaml");
    std::fs::write(&file, ROUNDS).unwrap();
    let hash = workflow::put(store, &workflow::load(&file).unwrap()).unwrap();
    let thread = thread::start(store, &hash, "The task.", "/").unwrap();
    let schema = workflow::get(store, &hash).unwrap().roles["worker"].frontmatter;
    let output = store.put(&schema, &json!({"$status": "more"})).unwrap();
    let mut prev: Option<Hash> = None;
    for number in 0..STEPS {
        let head = thread::head(store, &thread).unwrap();
        let detail =
            store.put_text(&format!("what was said in step {number}: {}", "word ".repeat(100))).unwrap();
        let node = json!({
            "start": head.start_hash(), "prev": prev, "role": "worker", "output": output, "detail": detail, "agent": "bench",
            "edgePrompt": "Answer.", "startedAtMs": now(), "completedAtMs": now(), "cwd": "/", "assembledPrompt": null,
            "usage": null, "previousAttempts": null,
        });
        let step = store.put(&uwf_engine::builtin::STEP_NODE, &node).unwrap();
        thread::advance(store, &thread, &head.hash, &step, &Status::Idle).unwrap();
        prev = Some(step);
    }
    thread
}

const ROUNDS: &str = "\
name: rounds
description: One role, round after round
roles:
  worker:
    goal: You answer.
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [more] } } }
graph:
  $START:
    new: { role: worker, prompt: Answer. }
  worker:
    more: { role: worker, prompt: Once more. }
";
