//! The queue against a real Postgres.

mod attempts;
mod wishes;

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::Connection;
use crate::fixture::{Options, Postgres};
use crate::heads::{Advance, RemoteHead, advance};

const HEAD: &str = "0000000000001";

fn claimant(name: &str) -> Claimant {
    Claimant { name: name.into(), labels: vec![], workflow: None, lease: Duration::from_secs(60) }
}

fn short(name: &str) -> Claimant {
    Claimant { lease: Duration::from_millis(50), ..claimant(name) }
}

/// A thread that was pushed, in this status.
fn pushed(connection: &mut Connection, n: u64, status: &str) -> ThreadId {
    let thread = ThreadId::new(1_800_000_000_000 + n);
    let (client, team) = connection.parts();
    client
        .execute(
            "INSERT INTO uwf.thread (team, id, head, tags, status, workflow, workflow_name, state)
             VALUES ($1, $2, $3, '{}', $4, 'W', 'solve', 'held')",
            &[&team, &thread.as_str(), &HEAD, &status],
        )
        .unwrap();
    thread
}

fn ready(connection: &mut Connection, n: u64, terms: &Terms) -> ThreadId {
    let thread = pushed(connection, n, "idle");
    assert_eq!(submit(connection, &thread, terms).unwrap(), Submitted::Is("ready".into()));
    thread
}

fn one(connection: &mut Connection, claimant: &Claimant) -> Option<Claim> {
    claim(connection, claimant).unwrap()
}

fn answered(answer: &str) -> Resumption<'_> {
    Resumption { answer: Some(answer), ..Resumption::default() }
}

fn state(connection: &mut Connection, thread: &ThreadId) -> String {
    let (client, team) = connection.parts();
    let state = "SELECT state FROM uwf.thread WHERE team = $1 AND id = $2";
    client.query_one(state, &[&team, &thread.as_str()]).unwrap().get(0)
}

fn set(connection: &mut Connection, thread: &ThreadId, what: &str) {
    let (client, team) = connection.parts();
    let sql = format!("UPDATE uwf.thread SET {what} WHERE team = $1 AND id = $2");
    client.execute(&sql, &[&team, &thread.as_str()]).unwrap();
}

/// The lease of a thread is over, and nobody has noticed.
fn lapse(connection: &mut Connection, thread: &ThreadId) {
    set(connection, thread, "lease_until = clock_timestamp() - interval '1 s'");
}

/// State, status, the status that its tags tell, and what is wished.
fn row(at: &mut Connection, thread: &ThreadId) -> [Option<String>; 4] {
    let sql = "SELECT state, status, tags ->> 'status', wish FROM uwf.thread WHERE id = $1";
    let row = at.client().query_one(sql, &[&thread.as_str()]).unwrap();
    [0, 1, 2, 3].map(|column| row.get(column))
}

#[test]
fn the_most_urgent_comes_first_and_of_these_the_oldest() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let terms = |priority| Terms { priority, ..Terms::default() };

    let threads: Vec<ThreadId> =
        (0..).zip([0, 5, 0, 5]).map(|(n, priority)| ready(&mut at, n, &terms(priority))).collect();
    let first = [(); 4].map(|()| one(&mut at, &claimant("a")).unwrap());
    let ids = first.each_ref().map(|claim| claim.lease.thread);
    assert_eq!((ids, first[3].lease.fence), ([threads[1], threads[3], threads[0], threads[2]], 1));
    assert_eq!(one(&mut at, &claimant("c")), None);
    assert_eq!(first[0].head.as_str(), HEAD);
    assert_eq!((first[0].attempt, &first[0].workspace), (1, &json!({ "kind": "shared" })));
}

#[test]
fn nobody_gets_what_another_has() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    for n in 0..60 {
        ready(&mut at, n, &Terms::default());
    }
    let claims: Vec<Lease> = thread::scope(|scope| {
        let workers: Vec<_> = (0..6)
            .map(|n| {
                let mut at = postgres.connection();
                scope.spawn(move || {
                    let name = claimant(&format!("w{n}"));
                    let mut mine = Vec::new();
                    while let Some(claim) = one(&mut at, &name) {
                        mine.push(claim.lease);
                    }
                    mine
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let threads: BTreeSet<ThreadId> = claims.iter().map(|lease| lease.thread).collect();
    assert_eq!((claims.len(), threads.len()), (60, 60));
}

#[test]
fn a_worker_gets_only_what_it_offers() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let terms = Terms { labels: vec!["gpu".into(), "big".into()], ..Terms::default() };
    let thread = ready(&mut at, 1, &terms);
    let offers = |labels: &[&str]| Claimant {
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        ..claimant("a")
    };
    assert_eq!(one(&mut at, &offers(&[])), None);
    assert_eq!(one(&mut at, &offers(&["gpu"])), None);
    let other = Claimant { workflow: Some("debate".into()), ..offers(&["gpu", "big"]) };
    assert_eq!(one(&mut at, &other), None);
    let named = Claimant { workflow: Some("solve".into()), ..offers(&["big", "gpu", "ssd"]) };
    assert_eq!(one(&mut at, &named).unwrap().lease.thread, thread);
}

#[test]
fn who_has_lost_the_lease_is_refused_everywhere() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms::default());
    let old = one(&mut at, &short("slow")).unwrap().lease;
    assert_eq!(heartbeat(&mut at, &short("slow"), &[old]).unwrap().held, [Beat { thread, wish: None }]);
    assert_eq!(reap(&mut at).unwrap(), []);
    thread::sleep(Duration::from_millis(60));
    let reaped = reap(&mut at).unwrap();
    assert_eq!(reaped, [Reaped { thread, worker: Some("slow".into()), is_dead: false }]);
    let refused = |at: &mut Connection| {
        assert_eq!(heartbeat(at, &short("slow"), &[old]).unwrap(), Beats::default());
        let team = at.team().to_owned();
        let mut transaction = at.transaction().unwrap();
        let held = check_held(&mut transaction, &team, &old);
        drop(transaction);
        for error in [
            hand_back(at, "slow", &old, &HandBack::Drained).map(drop),
            settle(at, "slow", &old, (Settled::Done, None)).map(drop),
            held,
        ] {
            let error = error.unwrap_err();
            assert!(matches!(error, FleetError::LeaseLost { fence: 1, .. }), "{error}");
        }
    };
    // Nobody has it, then somebody else.
    refused(&mut at);
    let new = one(&mut at, &claimant("quick")).unwrap();
    assert_eq!((new.lease, new.attempt), (Lease { thread, fence: 2 }, 2));
    refused(&mut at);
    let team = at.team().to_owned();
    check_held(&mut at.transaction().unwrap(), &team, &new.lease).unwrap();
    settle(&mut at, "quick", &new.lease, (Settled::Done, None)).unwrap();
    assert_eq!(state(&mut at, &thread), "done");
}

#[test]
fn a_row_that_is_no_thread_is_dead_and_in_no_other_ones_way() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let beheaded = ready(&mut at, 1, &Terms { priority: 2, ..Terms::default() });
    set(&mut at, &beheaded, "head = 'nowhere'");
    let named = "UPDATE uwf.thread SET id = 'nobody' WHERE id = $1";
    let nobody = ready(&mut at, 2, &Terms { priority: 1, ..Terms::default() });
    at.client().execute(named, &[&nobody.as_str()]).unwrap();
    let sound = ready(&mut at, 3, &Terms::default());
    assert_eq!(one(&mut at, &claimant("w")).unwrap().lease.thread, sound);
    assert_eq!(one(&mut at, &claimant("w")), None);
    let rows = "SELECT id, reason, (SELECT data ->> 'reason' FROM uwf.event e WHERE e.thread = t.id AND kind = 'dead')
                FROM uwf.thread t WHERE state = 'dead' ORDER BY priority";
    let found: Vec<(String, String, String)> = at
        .client()
        .query(rows, &[])
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    let why = [(&found[0], "\"nobody\" is no id"), (&found[1], "\"nowhere\" is no hash")];
    for ((_, reason, told), why) in why {
        assert!(reason.contains(why) && reason == told, "{reason}, {told}");
    }
    // Nor where its worker was killed.
    at.client()
        .batch_execute(
            "UPDATE uwf.thread SET state = 'leased', lease_until = '-infinity' WHERE id = 'nobody'",
        )
        .unwrap();
    assert_eq!(reap(&mut at).unwrap(), []);
    assert_eq!(
        at.client()
            .query("SELECT FROM uwf.thread WHERE id = 'nobody' AND state = 'ready'", &[])
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn what_nobody_may_claim_neither_waits_nor_is_waited_for() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_cost_usd: Some(1.5), ..Terms::default() });
    let mut is_there = |what: &str| {
        at.client().batch_execute(what).unwrap();
        let claims = one(&mut at, &claimant("w")).is_some();
        set(&mut at, &thread, "state = 'ready', lease_until = NULL, attempts = 0");
        let waits = waiting(&mut at).unwrap().threads == 1;
        let is_waited_for = !is_empty(&mut at, &claimant("w")).unwrap();
        assert_eq!((waits, is_waited_for), (claims, claims), "{what}");
        claims
    };
    assert!(is_there("SELECT"));
    assert!(!is_there("UPDATE uwf.team SET budget_usd = 0"));
    assert!(is_there("UPDATE uwf.team SET budget_usd = NULL"));
    assert!(!is_there("UPDATE uwf.thread SET cost_usd = 2"));
    assert!(is_there("UPDATE uwf.thread SET max_cost_usd = NULL"));
}

#[test]
fn who_waits_hears_of_a_submission_at_once() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let mut other = postgres.connection();
    listen(&mut at, News::Ready).unwrap();
    assert!(!wait(&mut at, Duration::from_millis(20)).unwrap());
    let begun = Instant::now();
    let waits = thread::spawn(move || (wait(&mut at, Duration::from_secs(30)).unwrap(), at));
    ready(&mut other, 1, &Terms::default());
    assert!(waits.join().unwrap().0);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_crash_of_the_database_keeps_what_was_acknowledged() {
    let Some(mut postgres) = Postgres::with(&Options { fsync: true, ..Options::default() }) else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms::default());
    let lease = one(&mut at, &claimant("w")).unwrap().lease;
    postgres.kill();
    let error = heartbeat(&mut at, &claimant("w"), &[lease]).unwrap_err();
    assert!(error.is_passing(), "{error:?}");
    postgres.restart();
    let mut at = postgres.connection();
    assert_eq!(heartbeat(&mut at, &claimant("w"), &[lease]).unwrap().held, [Beat { thread, wish: None }]);
}

#[test]
fn workers_are_seen_while_they_are_there() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let presence = Presence { version: "1".into(), host: "h".into(), parallel: 4 };
    come(&mut at, &claimant("w"), &presence).unwrap();
    come(&mut at, &claimant("w"), &presence).unwrap();
    come(&mut at, &claimant("killed"), &presence).unwrap();
    at.client()
        .execute("UPDATE uwf.worker SET seen = seen - interval '8 days' WHERE name = 'killed'", &[])
        .unwrap();
    come(&mut at, &claimant("w"), &presence).unwrap();
    is_here(&mut at, "w", ("draining", 3)).unwrap();
    let row = at.client().query_one("SELECT state, running, parallel FROM uwf.worker", &[]).unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, i32>(1), row.get::<_, i32>(2)), ("draining", 3, 4));
    go(&mut at, "w").unwrap();
    assert_eq!(at.client().query("SELECT 1 FROM uwf.worker", &[]).unwrap().len(), 0);
}

#[test]
fn a_locked_row_keeps_no_other_thread_from_its_lease() {
    let Some(postgres) = Postgres::start() else { return };
    let (mut at, mut other) = (postgres.connection(), postgres.connection());
    let (free, locked) = (ready(&mut at, 1, &Terms::default()), ready(&mut at, 2, &Terms::default()));
    let claims = [(); 2].map(|()| one(&mut at, &short("w")).unwrap());
    let leases: Vec<Lease> = claims.iter().map(|claim| claim.lease).collect();
    let mut transaction = other.transaction().unwrap();
    let lock = "SELECT FROM uwf.thread WHERE id = $1 FOR UPDATE";
    transaction.execute(lock, &[&locked.as_str()]).unwrap();
    let beat = |thread| Beat { thread, wish: None };
    let beats = heartbeat(&mut at, &claimant("w"), &leases).unwrap();
    assert_eq!(beats, Beats { held: vec![beat(free)], locked: vec![locked] });
    // It has the lease of before, and that one ends.
    drop(transaction);
    thread::sleep(Duration::from_millis(60));
    assert_eq!(reap(&mut at).unwrap().iter().map(|reaped| reaped.thread).collect::<Vec<_>>(), [locked]);
    let beats = heartbeat(&mut at, &claimant("w"), &leases).unwrap();
    assert_eq!(beats, Beats { held: vec![beat(free)], locked: vec![] });
}
