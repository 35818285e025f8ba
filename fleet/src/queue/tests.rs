//! The queue against a real Postgres.

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
fn too_many_attempts_without_progress_make_a_dead_letter() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_attempts: 2, ..Terms::default() });
    let lost = |at: &mut Connection| {
        let lease = one(at, &short("w")).unwrap().lease;
        thread::sleep(Duration::from_millis(60));
        (lease, reap(at).unwrap()[0].is_dead)
    };
    assert!(!lost(&mut at).1);
    // Progress begins the count again.
    let lease = one(&mut at, &short("w")).unwrap().lease;
    let team = at.team().to_owned();
    made_progress(at.client(), &team, &lease).unwrap();
    thread::sleep(Duration::from_millis(60));
    assert!(!reap(&mut at).unwrap()[0].is_dead);
    assert!(!lost(&mut at).1);
    assert!(lost(&mut at).1);
    assert_eq!((state(&mut at, &thread).as_str(), one(&mut at, &claimant("w"))), ("dead", None));
    let reason = "SELECT reason FROM uwf.thread";
    let reason: String = at.client().query_one(reason, &[]).unwrap().get(0);
    assert_eq!(reason, "2 workers in a row were not heard of any more while they had it; the last one was w");
    assert_eq!(retry(&mut at, &thread).unwrap(), Wished::Done);
    assert_eq!(one(&mut at, &claimant("w")).unwrap().attempt, 1);
    let not_dead = Wished::NotNow { state: "leased".into(), status: "idle".into() };
    assert_eq!(retry(&mut at, &thread).unwrap(), not_dead);
}

#[test]
fn what_failed_waits_and_what_was_handed_back_does_not() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_attempts: 2, ..Terms::default() });
    let first = one(&mut at, &claimant("w")).unwrap();
    assert!(!hand_back(&mut at, "w", &first.lease, &HandBack::Drained).unwrap());
    let again = one(&mut at, &claimant("w")).unwrap();
    assert_eq!((again.lease.fence, again.attempt), (2, 1));
    let failed = HandBack::Failed("the model is gone".into());
    assert!(!hand_back(&mut at, "w", &again.lease, &failed).unwrap());
    assert_eq!((state(&mut at, &thread).as_str(), one(&mut at, &claimant("w"))), ("ready", None));
    let row = at.client().query_one(
        "SELECT extract(epoch FROM ready_at - clock_timestamp())::float8, reason FROM uwf.thread",
        &[],
    );
    let (delay, reason): (f64, String) = row.map(|row| (row.get(0), row.get(1))).unwrap();
    assert!((1.0..2.1).contains(&delay), "{delay}");
    assert_eq!(reason, "the model is gone");
    set(&mut at, &thread, "ready_at = clock_timestamp()");
    let last = one(&mut at, &claimant("w")).unwrap();
    assert!(hand_back(&mut at, "w", &last.lease, &failed).unwrap());
    assert_eq!(state(&mut at, &thread), "dead");
}

#[test]
fn budgets_of_a_thread_and_of_the_team_end_its_steps() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_cost_usd: Some(1.5), ..Terms::default() });
    set(&mut at, &thread, "cost_usd = 1.5");
    assert_eq!(one(&mut at, &claimant("w")), None);
    set(&mut at, &thread, "cost_usd = 1.4");
    assert!(!is_spent(&mut at).unwrap());
    at.client()
        .batch_execute(
            "UPDATE uwf.team SET budget_usd = 10, budget_period = 'day';
             INSERT INTO uwf.event (team, kind, data) VALUES ('default', 'step', '{\"cost_usd\": 4}'), ('default', 'step', '{\"cost_usd\": 6}');",
        )
        .unwrap();
    assert!(is_spent(&mut at).unwrap());
    assert_eq!(one(&mut at, &claimant("w")), None);
    // Tomorrow there is more.
    at.client().batch_execute("UPDATE uwf.event SET at = at - interval '1 day'").unwrap();
    assert_eq!(one(&mut at, &claimant("w")).unwrap().max_cost_usd, Some(1.5));
    at.client().batch_execute("UPDATE uwf.team SET budget_period = NULL").unwrap();
    assert!(is_spent(&mut at).unwrap());
}

#[test]
fn who_has_cost_what_it_may_goes_on_with_a_higher_limit_alone() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_cost_usd: Some(1.5), ..Terms::default() });
    let to = |most| Resumption { max_cost_usd: Some(most), ..Resumption::default() };
    for state_then in ["paused", "dead", "held", "waiting"] {
        set(&mut at, &thread, &format!("state = '{state_then}', cost_usd = 1.5, max_cost_usd = 1.5"));
        for how in [Resumption::default(), answered("go on"), to(1.0)] {
            let error = resume(&mut at, &thread, how).unwrap_err();
            assert!(error.to_string().contains("has cost $1.5000, and may cost $1"), "{error}");
            assert!(error.hint_at("team").unwrap().contains("--remote team --max-cost USD"));
        }
        assert_eq!(state(&mut at, &thread), state_then);
        assert_eq!(resume(&mut at, &thread, to(2.0)).unwrap(), Wished::Done);
        let claim = one(&mut at, &claimant("w")).unwrap();
        assert_eq!(claim.max_cost_usd, Some(2.0));
        hand_back(&mut at, "w", &claim.lease, &HandBack::Drained).unwrap();
    }
    set(&mut at, &thread, "state = 'dead', cost_usd = 2");
    assert!(retry(&mut at, &thread).is_err());
}

#[test]
fn attempts_that_have_used_up_the_limit_have_the_thread_wait_for_a_higher_one() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_cost_usd: Some(1.5), ..Terms::default() });
    let is_given_back = |at: &mut Connection, lease: &Lease| {
        assert!(!hand_back(at, "w", lease, &HandBack::Failed("no model".into())).unwrap());
    };
    let is_freed = |at: &mut Connection, lease: &Lease| {
        lapse(at, &lease.thread);
        assert!(!reap(at).unwrap()[0].is_dead);
    };
    for (leave, most) in [(&is_given_back as &dyn Fn(&mut Connection, &Lease), 2.0), (&is_freed, 3.0)] {
        let lease = one(&mut at, &claimant("w")).unwrap().lease;
        set(&mut at, &thread, "cost_usd = max_cost_usd");
        leave(&mut at, &lease);
        assert_eq!(state(&mut at, &thread), "paused");
        let reason = at.client().query_one("SELECT reason FROM uwf.thread", &[]).unwrap();
        let reason: String = reason.get(0);
        assert!(reason.starts_with("its steps have cost $") && reason.contains(" of $"), "{reason}");
        let higher = Resumption { max_cost_usd: Some(most), ..Resumption::default() };
        assert_eq!(resume(&mut at, &thread, higher).unwrap(), Wished::Done);
    }
    assert_eq!(one(&mut at, &claimant("w")).unwrap().max_cost_usd, Some(3.0));
}

#[test]
fn a_text_is_for_a_thread_that_asks_and_for_no_other() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms::default());
    for state_then in ["paused", "dead", "held"] {
        set(&mut at, &thread, &format!("state = '{state_then}', answer = 'of before'"));
        let error = resume(&mut at, &thread, answered("go on")).unwrap_err();
        assert!(error.to_string().contains("has asked nothing, so it cannot be answered"), "{error}");
        assert!(error.hint_at("team").unwrap().contains("--remote team` has it go on, without `-p`"));
        assert_eq!(state(&mut at, &thread), state_then);
        assert_eq!(resume(&mut at, &thread, Resumption::default()).unwrap(), Wished::Done);
        let claim = one(&mut at, &claimant("w")).unwrap();
        assert_eq!(claim.answer, None);
        hand_back(&mut at, "w", &claim.lease, &HandBack::Drained).unwrap();
    }
    // Whoever has written it: nobody is told what was not asked for.
    set(&mut at, &thread, "answer = 'unasked'");
    assert_eq!(one(&mut at, &claimant("w")).unwrap().answer, None);
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
fn whoever_wants_something_of_a_thread_waits_for_no_worker_that_is_gone() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let abandoned = |at: &mut Connection, n: u64, wished: Option<Wish>| {
        let thread = ready(at, n, &Terms::default());
        let claim = one(at, &claimant("gone")).unwrap();
        assert_eq!(claim.lease.thread, thread);
        if let Some(wished) = wished {
            wish(at, &thread, wished, 7).unwrap();
        }
        lapse(at, &thread);
        thread
    };
    let thread = abandoned(&mut at, 1, None);
    assert_eq!(wish(&mut at, &thread, Wish::Pause, 7).unwrap(), Wished::Done);
    assert_eq!(state(&mut at, &thread), "paused");
    let thread = abandoned(&mut at, 2, Some(Wish::Pause));
    assert_eq!(resume(&mut at, &thread, Resumption::default()).unwrap(), Wished::Done);
    assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), Wished::Done);
    for wished in [None, Some(Wish::Cancel)] {
        let thread = abandoned(&mut at, wished.map_or(3, |_| 4), wished);
        assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), Wished::Done);
        let cancelled = [Some("done"), Some("cancelled"), Some("cancelled"), None];
        assert_eq!(row(&mut at, &thread), cancelled.map(|word| word.map(str::to_owned)));
    }
}

#[test]
fn a_pause_takes_no_cancel_back() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms::default());
    let lease = one(&mut at, &claimant("w")).unwrap().lease;
    let asked = Wished::Asked { worker: Some("w".into()) };
    assert_eq!(wish(&mut at, &thread, Wish::Pause, 7).unwrap(), asked);
    assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), asked);
    let error = wish(&mut at, &thread, Wish::Pause, 7).unwrap_err().to_string();
    assert!(error.contains("is being cancelled, so it cannot be paused"), "{error}");
    assert_eq!(heartbeat(&mut at, &claimant("w"), &[lease]).unwrap().held[0].wish, Some(Wish::Cancel));
}

#[test]
fn a_step_that_fills_every_disk_is_not_begun_without_end() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let thread = ready(&mut at, 1, &Terms { max_attempts: 2, ..Terms::default() });
    let mut left = |why: HandBack| {
        set(&mut at, &thread, "ready_at = clock_timestamp()");
        let claim = one(&mut at, &claimant("w")).unwrap();
        assert_eq!(claim.attempt, 1);
        hand_back(&mut at, "w", &claim.lease, &why).unwrap()
    };
    for _ in 0..19 {
        assert!(!left(HandBack::Stranded("No space left on device".into())));
        // To have no directory for it is something else.
        assert!(!left(HandBack::Elsewhere("no such root".into())));
    }
    assert!(left(HandBack::Stranded("No space left on device".into())));
    assert_eq!(retry(&mut at, &thread).unwrap(), Wished::Done);
    let claim = one(&mut at, &claimant("w")).unwrap();
    assert!(!hand_back(&mut at, "w", &claim.lease, &HandBack::Stranded("full".into())).unwrap());
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
fn a_wish_is_obeyed_at_once_or_told_to_the_worker() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let [one_ready, run, lost, waiting] = [1, 2, 3, 4].map(|n| match n {
        4 => pushed(&mut at, n, "suspended"),
        _ => ready(&mut at, n, &Terms { priority: i32::try_from(n).unwrap(), ..Terms::default() }),
    });
    assert_eq!(wish(&mut at, &one_ready, Wish::Pause, 7).unwrap(), Wished::Done);
    assert_eq!(state(&mut at, &one_ready), "paused");
    assert_eq!(wish(&mut at, &one_ready, Wish::Cancel, 7).unwrap(), Wished::Done);
    assert_eq!(wish(&mut at, &one_ready, Wish::Cancel, 7).unwrap(), Wished::Done);
    let ended = Wished::NotNow { state: "done".into(), status: "cancelled".into() };
    assert_eq!(wish(&mut at, &one_ready, Wish::Pause, 7).unwrap(), ended);
    assert_eq!(resume(&mut at, &one_ready, Resumption::default()).unwrap(), ended);
    let claims = [(); 2].map(|()| one(&mut at, &claimant("w")).unwrap());
    for thread in [run, lost] {
        let asked = Wished::Asked { worker: Some("w".into()) };
        assert_eq!(wish(&mut at, &thread, Wish::Cancel, 7).unwrap(), asked);
    }
    let lease = claims.iter().find(|claim| claim.lease.thread == run).unwrap().lease;
    assert_eq!(heartbeat(&mut at, &claimant("w"), &[lease]).unwrap().held[0].wish, Some(Wish::Cancel));
    // Whoever cannot be told any more has it no longer either.
    lapse(&mut at, &lost);
    assert_eq!(reap(&mut at).unwrap().len(), 1);
    let tags = "SELECT status, tags ->> 'status', tags ->> 'completedAt' FROM uwf.thread WHERE id = $1";
    let row = at.client().query_one(tags, &[&lost.as_str()]).unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("cancelled", "cancelled"));
    assert!(row.get::<_, &str>(2).parse::<u64>().unwrap() > 1_600_000_000_000);
    assert_eq!(submit(&mut at, &waiting, &Terms::default()).unwrap(), Submitted::Is("waiting".into()));
    assert_eq!(resume(&mut at, &waiting, answered("the second one")).unwrap(), Wished::Done);
    let claim = one(&mut at, &claimant("w")).unwrap();
    assert_eq!((claim.lease.thread, claim.answer.as_deref()), (waiting, Some("the second one")));
    assert_eq!(wish(&mut at, &ThreadId::new(9), Wish::Pause, 7).unwrap(), Wished::Unknown);
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

/// State, status, the status that its tags tell, and what is wished.
fn row(at: &mut Connection, thread: &ThreadId) -> [Option<String>; 4] {
    let sql = "SELECT state, status, tags ->> 'status', wish FROM uwf.thread WHERE id = $1";
    let row = at.client().query_one(sql, &[&thread.as_str()]).unwrap();
    [0, 1, 2, 3].map(|column| row.get(column))
}

#[test]
fn what_is_to_be_cancelled_is_that_however_its_worker_leaves_it() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let cancelled =
        [Some("done"), Some("cancelled"), Some("cancelled"), None].map(|word| word.map(str::to_owned));
    let mut next = 0;
    let mut leave = |leave: &dyn Fn(&mut Connection, &Lease)| {
        next += 1;
        let thread = ready(&mut at, next, &Terms::default());
        let lease = one(&mut at, &claimant("a")).unwrap().lease;
        assert_eq!(
            wish(&mut at, &thread, Wish::Cancel, 7).unwrap(),
            Wished::Asked { worker: Some("a".into()) }
        );
        leave(&mut at, &lease);
        row(&mut at, &thread)
    };
    for why in [HandBack::Drained, HandBack::Failed("no".into()), HandBack::Elsewhere("no".into())] {
        assert_eq!(leave(&|at, lease| assert!(!hand_back(at, "a", lease, &why).unwrap())), cancelled);
    }
    for settled in [Settled::Dead, Settled::Paused, Settled::Waiting] {
        let how = (settled, Some("why"));
        assert_eq!(leave(&|at, lease| assert!(!settle(at, "a", lease, how).unwrap())), cancelled);
    }
    let ended = leave(&|at, lease| assert!(!settle(at, "a", lease, (Settled::Done, None)).unwrap()));
    assert_eq!(ended, [Some("done"), Some("idle"), None, None].map(|word| word.map(str::to_owned)));
    let to = |tags: &[(&str, &str)]| RemoteHead {
        head: "0000000000002".parse().unwrap(),
        tags: tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        variables: vec![],
    };
    for (wanted, tags, found) in [
        ("leased", &[][..], "cancelled"),
        ("waiting", &[("status", "suspended")], "cancelled"),
        ("dead", &[], "cancelled"),
        ("done", &[("status", "end")], "end"),
    ] {
        let to = to(tags);
        let row = leave(&|at, lease| {
            let step = Advance {
                lease: *lease,
                worker: "a",
                from: HEAD.parse().unwrap(),
                to: &to,
                played: None,
                role: None,
                state: wanted,
                reason: Some("why"),
                cost_usd: 0.5,
                tokens: 1,
                next_lease: Duration::from_secs(60),
                kept: None,
            };
            assert_eq!(advance(at, &step).unwrap(), "done");
            assert_eq!(advance(at, &step).unwrap(), "done", "whose answer was lost");
        });
        assert_eq!(row, [Some("done"), Some(found), Some(found), None].map(|word| word.map(str::to_owned)));
    }
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
