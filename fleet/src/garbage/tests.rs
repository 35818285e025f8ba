//! Garbage at a real Postgres, with pushes in between.

use std::collections::HashSet;
use std::sync::RwLock;
use std::thread;

use uwf_engine::ThreadId;
use uwf_engine::fixture::Place;
use uwf_store::Store;

use super::*;
use crate::fixture::Postgres;
use crate::heads::RemoteHead;
use crate::{nodes, sync};

const ALL: Collect<'_> = Collect { younger: YOUNGEST, dry_run: false, spared: &BTreeMap::new() };

fn none(_: &str, _: &[String]) -> Result<(), FleetError> {
    Ok(())
}

/// Has all nodes look as if they had been put a day ago.
fn age(postgres: &Postgres) {
    postgres.client().execute("UPDATE uwf.node SET put = put - interval '1 day'", &[]).unwrap();
}

fn gc(at: &mut Connection) -> Collected {
    collect(at, ALL, &mut none).unwrap().remove(0)
}

fn count(postgres: &Postgres) -> i64 {
    postgres.client().query_one("SELECT count(*) FROM uwf.node", &[]).unwrap().get(0)
}

fn put(at: &mut Connection, store: &Store, roots: &[Hash]) -> usize {
    nodes::put(at, store, (roots, &mut HashSet::new())).unwrap()
}

/// What a thread needs, as it is known here.
fn needed(at: &mut Connection, store: &Store, thread: &ThreadId) -> i64 {
    let roots = RemoteHead::of(store, thread).unwrap().roots();
    let (client, team) = at.parts();
    i64::try_from(nodes::closure(client, team, &roots).unwrap().len()).unwrap()
}

/// Whether all that the remote's threads need is there.
fn is_whole(postgres: &Postgres) -> bool {
    let missing = "WITH RECURSIVE reached (hash) AS (
            SELECT head FROM uwf.thread UNION SELECT value FROM uwf.variable UNION SELECT unnest(also) FROM uwf.variable
            UNION SELECT unnest(node.refs) FROM reached JOIN uwf.node ON node.hash = reached.hash)
        SELECT count(*) FROM reached WHERE NOT EXISTS (SELECT FROM uwf.node WHERE node.hash = reached.hash)";
    postgres.client().query_one(missing, &[]).unwrap().get::<_, i64>(0) == 0
}

#[test]
fn what_no_thread_needs_goes_and_what_is_young_or_needed_stays() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let (store, kept, gone) = (place.store(), place.flow_thread(), place.flow_thread());
    for thread in [&kept, &gone] {
        sync::begin(&mut at, &store, thread, None).unwrap();
    }
    let extra = store.put_text("nobody needs it").unwrap();
    put(&mut at, &store, &[extra]);
    postgres.client().execute("DELETE FROM uwf.thread WHERE id = $1", &[&gone.as_str()]).unwrap();
    let before = count(&postgres);
    assert_eq!(gc(&mut at).removed, 0, "all of it is young");
    age(&postgres);
    let counted = collect(&mut at, Collect { dry_run: true, ..ALL }, &mut none).unwrap().remove(0);
    assert_eq!(count(&postgres), before);
    let collected = gc(&mut at);
    assert_eq!(collected, counted);
    assert!(collected.removed >= 2 && collected.bytes > 0, "{collected:?}");
    assert_eq!(count(&postgres), needed(&mut at, &store, &kept));
    assert!(is_whole(&postgres));
    // All of it can be put again.
    assert!(sync::begin(&mut at, &store, &gone, None).unwrap());
    assert!(is_whole(&postgres));
    assert_eq!(gc(&mut at).removed, 0);
}

#[test]
fn journals_workspaces_and_failed_attempts_are_needed() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let (store, thread) = (place.store(), place.flow_thread());
    sync::begin(&mut at, &store, &thread, None).unwrap();
    let text = |text: &str| store.put_text(text).unwrap();
    let held = [text("a tree of a journal"), text("a tree of a workspace"), text("a failed step")];
    put(&mut at, &store, &held);
    let [journal, workspace, failed] = held.map(|hash| hash.to_string());
    let mut client = postgres.client();
    let id = thread.as_str();
    client
        .execute(
            "INSERT INTO uwf.journal (team, thread, name, start, fence, bytes, nodes) VALUES ('default', $1, 'j', 0, 1, 'x', ARRAY[$2])",
            &[&id, &journal],
        )
        .unwrap();
    let kind = serde_json::json!({"kind": "tree", "at": {"tree": workspace}});
    client.execute("UPDATE uwf.thread SET workspace = $2 WHERE id = $1", &[&id, &kind]).unwrap();
    client
        .execute(
            "INSERT INTO uwf.variable (team, thread, name, value, also) SELECT 'default', $1, 'f', head, ARRAY[$2] FROM uwf.thread",
            &[&id, &failed],
        )
        .unwrap();
    age(&postgres);
    assert_eq!(gc(&mut at).removed, 0);
    client
        .batch_execute(
            "DELETE FROM uwf.journal; DELETE FROM uwf.variable; UPDATE uwf.thread SET workspace = '{}'",
        )
        .unwrap();
    assert!(gc(&mut at).removed >= 3);
    assert_eq!(count(&postgres), needed(&mut at, &store, &thread));
}

#[test]
fn what_a_push_has_found_is_there_when_its_head_is_set() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let (store, thread) = (place.store(), place.flow_thread());
    let roots = RemoteHead::of(&store, &thread).unwrap().roots();
    // Garbage of an earlier push, that a later one finds.
    put(&mut at, &store, &roots);
    age(&postgres);
    let mut pusher = postgres.connection();
    assert_eq!(put(&mut pusher, &store, &roots), 0, "all of it is there");
    assert_eq!(gc(&mut at).removed, 0, "it was asked for");
    assert!(sync::begin(&mut pusher, &store, &thread, None).unwrap());
    assert!(is_whole(&postgres));
}

#[test]
fn a_node_that_is_confirmed_while_it_is_looked_at_stays_and_one_that_is_gone_is_missing() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let place = Place::in_memory();
    let store = place.store();
    let text = store.put_text("a text").unwrap();
    put(&mut at, &store, &[text]);
    age(&postgres);
    let total = count(&postgres);
    // A push has asked, and its transaction is not over: the collection does not wait for it.
    let mut pusher = postgres.client();
    let mut asking = pusher.transaction().unwrap();
    let all = "SELECT hash FROM uwf.have((SELECT array_agg(hash) FROM uwf.node))";
    assert_eq!(asking.query(all, &[]).unwrap().len() as i64, total);
    assert_eq!(gc(&mut at).removed, 0);
    asking.commit().unwrap();
    assert_eq!(gc(&mut at).removed, 0);
    // The other way: what is being removed is waited for, and is not there.
    age(&postgres);
    let mut sweeper = postgres.client();
    let mut sweeping = sweeper.transaction().unwrap();
    sweeping.execute("DELETE FROM uwf.node WHERE hash = $1", &[&text.as_str()]).unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let mut client = postgres.client();
            client.query("SELECT hash FROM uwf.have(ARRAY[$1])", &[&text.as_str()]).unwrap().len()
        });
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')";
        while !postgres.client().query_one(waits, &[]).unwrap().get::<_, bool>(0) {
            thread::yield_now();
        }
        sweeping.commit().unwrap();
        assert_eq!(asked.join().unwrap(), 0);
    });
}

#[test]
fn pushes_and_collections_at_the_same_time_leave_all_threads_whole() {
    const PUSHERS: usize = 3;
    const ROUNDS: usize = 12;
    let Some(postgres) = Postgres::start() else { return };
    postgres.connection();
    // A push that is going on is an hour younger than it may be old: only what no push has just found is made old.
    let pushing = RwLock::new(());
    let removed = thread::scope(|scope| {
        let pushers: Vec<_> = (0..PUSHERS)
            .map(|_| {
                scope.spawn(|| {
                    // All push the same nodes, and their own beside them.
                    let place = Place::in_memory();
                    let store = place.store();
                    let mut at = postgres.connection();
                    for _ in 0..ROUNDS {
                        let thread = place.flow_thread();
                        let held = pushing.read().unwrap();
                        while let Err(error) = sync::begin(&mut at, &store, &thread, None) {
                            assert!(error.is_passing(), "{error}");
                        }
                        drop(held);
                        assert!(is_whole(&postgres));
                        at.client()
                            .execute("DELETE FROM uwf.thread WHERE id = $1", &[&thread.as_str()])
                            .unwrap();
                    }
                    let last = place.flow_thread();
                    let _held = pushing.read().unwrap();
                    sync::begin(&mut at, &store, &last, None).unwrap();
                })
            })
            .collect();
        let mut at = postgres.connection();
        let mut removed = 0;
        while pushers.iter().any(|pusher| !pusher.is_finished()) {
            let held = pushing.write().unwrap();
            age(&postgres);
            drop(held);
            removed += gc(&mut at).removed;
        }
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        removed + gc(&mut at).removed
    });
    let threads: i64 = postgres.client().query_one("SELECT count(*) FROM uwf.thread", &[]).unwrap().get(0);
    assert_eq!(threads as usize, PUSHERS);
    assert!(is_whole(&postgres), "{removed} were removed");
}

#[test]
fn objects_are_told_after_their_rows_are_gone_and_only_the_owner_collects() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    postgres
        .client()
        .batch_execute(
            "INSERT INTO uwf.node (team, hash, digest, type, made, object, size, put)
             VALUES ('default', '0000000000001', decode(repeat('00', 32), 'hex'), 'T', 1, 'default/1', 9, '2020-01-01')",
        )
        .unwrap();
    let mut told = Vec::new();
    let collected = collect(&mut at, ALL, &mut |team, keys| {
        assert_eq!((count(&postgres), team), (0, "default"));
        told.extend_from_slice(keys);
        Ok(())
    });
    let collected = collected.unwrap().remove(0);
    assert_eq!((told, collected.objects, collected.bytes), (vec!["default/1".to_owned()], 1, 9));
    crate::access::apply_roles(&mut at).unwrap();
    postgres.client().batch_execute("CREATE ROLE w LOGIN; GRANT uwf_worker TO w").unwrap();
    let error = collect(&mut postgres.connection_of("w"), ALL, &mut none).unwrap_err();
    assert!(matches!(error, FleetError::NotPermitted { .. }), "{error:?}");
}
