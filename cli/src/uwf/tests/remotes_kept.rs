//! `uwf remote roles|team|gc|prune` against a Postgres of the test's own.

use serde_json::json;
use uwf_engine::export::head_in;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status};
use uwf_fleet::fixture::Postgres;
use uwf_fleet::{Connection, sync};
use uwf_store::Store;

use super::command_line::CommandLine;

fn place(postgres: &Postgres) -> Place {
    let place = Place::new();
    assert_eq!(place.uwf(&["remote", "add", "lab", &postgres.url(), "--create"]).exit, 0);
    place
}

#[test]
fn roles_are_made_or_printed_and_teams_are_set() {
    let printed = Place::new().uwf(&["remote", "roles", "--print"]);
    assert!(
        printed.exit == 0 && printed.out.contains("GRANT USAGE ON SCHEMA uwf TO uwf_reader"),
        "{printed:?}"
    );
    let Some(postgres) = Postgres::start() else { return };
    let place = place(&postgres);
    let made = place.uwf(&["remote", "roles"]);
    assert_eq!(made.json(), json!({"name": "lab", "roles": ["uwf_reader", "uwf_submitter", "uwf_worker"]}));
    postgres.client().batch_execute("CREATE ROLE anna LOGIN; GRANT uwf_submitter TO anna").unwrap();

    assert_eq!(
        place.uwf(&["remote", "team", "add", "lab", "blue"]).json(),
        json!({"team": "blue", "added": true})
    );
    let set = place.uwf(&[
        "remote",
        "team",
        "set",
        "lab",
        "blue",
        "--budget",
        "50",
        "--per",
        "day",
        "--max-threads",
        "7",
    ]);
    assert_eq!((set.json()["budgetUsd"].as_f64(), &set.json()["period"]), (Some(50.0), &json!("day")));
    place.uwf(&["remote", "team", "join", "lab", "blue", "anna"]);
    let list = place.uwf(&["remote", "team", "list", "lab", "--format", "text"]);
    assert!(
        list.out.contains("$50 per day") && list.out.contains("0 of 7") && list.out.contains("anna"),
        "{list:?}"
    );
    let lifted = place.uwf(&["remote", "team", "set", "lab", "blue", "--max-threads", "none"]);
    assert_eq!(lifted.json()["maxThreads"], json!(null));
    assert_eq!(place.uwf(&["remote", "team", "set", "lab", "blue"]).exit, 2, "nothing is set");
    assert_eq!(place.uwf(&["remote", "team", "set", "lab", "blue", "--budget", "-1"]).exit, 2);
    let unknown = place.uwf(&["remote", "team", "set", "lab", "green", "--budget", "1"]);
    assert!(unknown.err.contains("uwf remote team add lab green"), "{unknown:?}");

    // Who is no owner sees his team, and is told what he may not.
    let anna = Place::new();
    anna.uwf(&["remote", "add", "lab", &postgres.url_of("anna")]);
    assert_eq!(anna.uwf(&["remote", "team", "list", "--json", "name", "--jq", ".[].name"]).out, "blue\n");
    for args in [
        &["remote", "roles"][..],
        &["remote", "team", "set", "lab", "blue", "--budget", "none"],
        &["remote", "team", "join", "lab", "default", "anna"],
        &["remote", "gc"],
        &["remote", "prune", "--older-than", "1d", "--no-export"],
    ] {
        let refused = anna.uwf(args);
        assert!(
            refused.exit == 1 && refused.err.contains("may not do that") && refused.err.contains("hint:"),
            "{refused:?}"
        );
    }
}

#[test]
fn what_is_old_is_exported_removed_and_collected() {
    let Some(postgres) = Postgres::start() else { return };
    let place = place(&postgres);
    let thread = place.flow_thread();
    let mut at = postgres.connection();
    uwf_fleet::sync::begin(&mut at, &place.store(), &thread, None).unwrap();
    let old = "UPDATE uwf.thread SET state = 'done', status = 'end', tags = '{\"status\": \"end\", \"completedAt\": \"7\"}',
                   updated = updated - interval '99 days';
               UPDATE uwf.node SET put = put - interval '99 days'";
    postgres.client().batch_execute(old).unwrap();

    assert_eq!(place.uwf(&["remote", "gc"]).json()[0]["removed"], 0);
    assert_eq!(place.uwf(&["remote", "prune", "--older-than", "90d"]).exit, 2, "it says where they go");
    let wrong = place.uwf(&["remote", "prune", "--older-than", "long", "--dry-run"]);
    assert!(wrong.exit == 2 && wrong.err.contains("90d"), "{wrong:?}");
    let dry = place.uwf(&["remote", "prune", "--older-than", "90d", "--dry-run"]);
    assert_eq!(
        (&dry.json()["removed"][0]["thread"], &dry.json()["dryRun"]),
        (&json!(thread.to_string()), &json!(true))
    );
    let dir = place.homes().uwf.join("archive");
    let dir = dir.to_str().unwrap();
    let pruned = place.uwf(&["remote", "prune", "--older-than", "90d", "--export", dir]);
    assert_eq!((pruned.exit, pruned.json()["removed"].as_array().unwrap().len()), (0, 1), "{pruned:?}");
    let elsewhere = Place::new();
    let imported = elsewhere.uwf(&["thread", "import", &format!("{dir}/default/{thread}.jsonl")]);
    assert_eq!(imported.exit, 0, "{imported:?}");

    let dry = place.uwf(&["remote", "gc", "--dry-run"]);
    let gone = place.uwf(&["remote", "gc", "--younger", "1h"]);
    assert_eq!(dry.json(), gone.json());
    assert!(gone.json()[0]["removed"].as_u64().unwrap() > 3, "{gone:?}");
    let left: i64 = postgres.client().query_one("SELECT count(*) FROM uwf.node", &[]).unwrap().get(0);
    assert_eq!(left, 0);
}

#[test]
fn a_thread_that_cannot_be_exported_stays_and_the_others_go() {
    let Some(postgres) = Postgres::start() else { return };
    let place = place(&postgres);
    let (damaged, sound) = (place.thread("one"), place.thread("two"));
    let mut at = postgres.connection();
    for thread in [&damaged, &sound] {
        uwf_fleet::sync::begin(&mut at, &place.store(), thread, None).unwrap();
    }
    let old = "UPDATE uwf.thread SET state = 'done', status = 'end', tags = '{\"status\": \"end\", \"completedAt\": \"7\"}',
                   updated = updated - interval '99 days'";
    let mut client = postgres.client();
    client.batch_execute(old).unwrap();
    // The oldest one, which is the first.
    let older = "UPDATE uwf.thread SET updated = updated - interval '1 day' WHERE id = $1 RETURNING head";
    let head: String = client.query_one(older, &[&damaged.as_str()]).unwrap().get(0);
    assert_eq!(client.execute("DELETE FROM uwf.node WHERE hash = $1", &[&head]).unwrap(), 1);
    let dir = place.homes().uwf.join("archive");
    let prune = || place.uwf(&["remote", "prune", "--older-than", "90d", "--export", dir.to_str().unwrap()]);
    let pruned = prune();
    assert_eq!((pruned.exit, pruned.json()["removed"].as_array().unwrap().len()), (1, 1), "{pruned:?}");
    assert_eq!(pruned.json()["removed"][0]["thread"], sound.as_str());
    assert_eq!(pruned.json()["kept"][0]["thread"], damaged.as_str());
    assert!(pruned.err.contains(&format!("warning: thread {damaged} cannot be exported")), "{pruned:?}");
    assert!(dir.join(format!("default/{sound}.jsonl")).exists());
    assert!(!dir.join(format!("default/{damaged}.jsonl")).exists());
    assert_eq!(prune().json()["removed"], json!([]));
    // A directory that cannot be made ends it.
    std::fs::write(place.path().join("file"), "").unwrap();
    let file = place.path().join("file");
    let stopped = place.uwf(&["remote", "prune", "--older-than", "90d", "--export", file.to_str().unwrap()]);
    assert!(stopped.exit == 1 && stopped.err.contains("cannot write"), "{stopped:?}");
}

#[test]
fn an_older_copy_of_a_thread_is_kept_beside_what_was_kept_before() {
    let Some(postgres) = Postgres::start() else { return };
    let (place, elsewhere) = (place(&postgres), place(&postgres));
    let (store, older, thread) = (place.store(), elsewhere.store(), place.flow_thread());
    let mut at = postgres.connection();
    let dir = place.homes().uwf.join("some/archive");
    let prune = |at: &mut Connection, store: &Store| {
        sync::begin(at, store, &thread, None).unwrap();
        let old =
            "UPDATE uwf.thread SET state = 'done', status = 'end', updated = updated - interval '99 days'";
        at.client().batch_execute(old).unwrap();
        let dir = dir.to_str().unwrap();
        let pruned = place.uwf(&["remote", "prune", "--older-than", "90d", "--export", dir]);
        assert_eq!((pruned.exit, pruned.json()["removed"].as_array().unwrap().len()), (0, 1), "{pruned:?}");
    };
    let file = dir.join(format!("default/{thread}.jsonl"));
    let kept = || head_in(&mut std::fs::read(&file).unwrap().as_slice()).unwrap();
    let start = thread::head(&store, &thread).unwrap().hash;
    sync::begin(&mut at, &store, &thread, None).unwrap();
    sync::fetch(&mut at, &older, &thread).unwrap();
    at.client().batch_execute("DELETE FROM uwf.thread").unwrap();
    let mut prev = None;
    let mut step = |text: &str| {
        let from = thread::head(&store, &thread).unwrap().hash;
        let step = place.step(&thread, prev, "writer", &json!({"$status": "again", "dir": text}));
        thread::advance(&store, &thread, &from, &step, &Status::Idle).unwrap();
        prev = Some(step);
        step
    };
    let one = step("one");
    prune(&mut at, &store);
    assert_eq!(kept(), one);
    prune(&mut at, &older);
    assert_eq!(kept(), one, "it has a step that the older copy has not");
    let beside = dir.join(format!("default/{thread}-{start}.jsonl"));
    assert_eq!(head_in(&mut std::fs::read(beside).unwrap().as_slice()).unwrap(), start);
    let two = step("two");
    prune(&mut at, &store);
    assert_eq!(kept(), two);
}
