//! `thread list` for people, what `--json` picks, `thread prune`, `cost`.

use serde_json::json;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status, record_failure};
use uwf_engine::{ThreadId, workflow};

/// A thread of `flow` that works in a directory of the place.
fn thread_in(place: &Place, directory: &str) -> ThreadId {
    let (store, project) = (place.store(), place.project());
    let dir = project.join(directory);
    std::fs::create_dir_all(&dir).unwrap();
    let dir = dir.canonicalize().unwrap();
    let workflow = workflow::resolve(&store, "flow", &project).unwrap().ensure_stored(&store).unwrap();
    thread::start(&store, &workflow, "A task.\nAnd more of it.", dir.to_str().unwrap()).unwrap()
}

fn end(thread: &ThreadId) -> &str {
    &thread.as_str()[18..]
}

#[test]
fn a_person_is_shown_the_threads_of_his_directory() {
    let place = Place::new();
    let (here, below, elsewhere) =
        (thread_in(&place, "."), thread_in(&place, "sub"), thread_in(&place, "../other"));
    let listed = |args: &[&str]| place.on_terminal(&[&["-v", "thread", "list"], args].concat());
    let own = listed(&[]);
    assert!(own.out.contains(end(&here)) && own.out.contains(end(&below)), "{own:?}");
    assert!(!own.out.contains(end(&elsewhere)) && !own.out.contains(here.as_str()), "{own:?}");
    assert!(own.out.contains("  A task.  ") && own.out.contains("  sub  "), "{own:?}");
    assert_eq!(own.err, "not shown: 1 of other directories; --all shows them\n");
    let all = listed(&["--all"]);
    assert!(all.out.contains(end(&elsewhere)) && all.err.is_empty(), "{all:?}");
    let few = listed(&["--take", "1"]);
    assert!(few.err.starts_with("the youngest 1 of 2; --take N shows more\n"), "{few:?}");
    // What is shown of an id names the thread.
    assert_eq!(place.uwf(&["thread", "show", end(&here)]).json()["thread"], json!(here));
    place.uwf(&["thread", "cancel", here.as_str()]);
    place.uwf(&["thread", "cancel", below.as_str()]);
    let none = listed(&[]);
    assert_eq!(none.out, "", "{none:?}");
    assert!(none.err.contains("--all` shows those of every status and directory"), "{none:?}");
    // A status that is typed wins over --all.
    let cancelled = listed(&["--all", "--status", "cancelled"]);
    assert!(cancelled.out.contains(end(&here)) && !cancelled.out.contains(end(&elsewhere)), "{cancelled:?}");
}

#[test]
fn a_directory_without_threads_has_those_of_the_nearest_above() {
    let place = Place::new();
    let (above, nearest) = (thread_in(&place, ".."), thread_in(&place, "."));
    std::fs::remove_dir_all(place.project().join(".git")).ok();
    let listed = place.on_terminal(&["thread", "list"]).out;
    assert!(listed.contains(end(&nearest)) && !listed.contains(end(&above)), "{listed}");
    place.uwf(&["thread", "cancel", nearest.as_str()]);
    let listed = place.on_terminal(&["thread", "list"]).out;
    assert!(listed.contains(end(&above)), "{listed}");
}

#[test]
fn a_row_says_why_its_thread_stands_so() {
    let place = Place::new();
    let (store, failed, asks) = (place.store(), place.flow_thread(), place.flow_thread());
    let error = json!({"$status": "error", "error": "401 Unauthorized\nmore", "phase": "provider"});
    let attempt = place.step(&failed, None, "writer", &error);
    record_failure(&store, &failed, "writer", &attempt).unwrap();
    let start = thread::head(&store, &asks).unwrap().hash;
    let suspended = Status::Suspended { role: "writer".into(), message: "Which branch?".into() };
    thread::advance(&store, &asks, &start, &start, &suspended).unwrap();
    let listed = place.on_terminal(&["thread", "list"]).out;
    for told in ["  failed: 401 Unauthorized  ", "  asks: Which branch?  "] {
        assert!(listed.contains(told), "{told}: {listed}");
    }
    let rows = place.uwf(&["thread", "list", "--all", "--json", "thread,status,reason,steps,cost"]).json();
    let row = |thread: &ThreadId| {
        let rows = rows.as_array().unwrap();
        rows.iter().find(|row| row["thread"] == json!(thread)).unwrap().clone()
    };
    assert_eq!(
        row(&failed),
        json!({"thread": failed, "status": "idle", "reason": "failed: 401 Unauthorized", "steps": 0, "cost": null})
    );
    assert_eq!(row(&asks)["reason"], "asks: Which branch?");
    // Nobody asked: it costs nothing.
    let plain = place.uwf(&["thread", "list", "--all"]).json();
    assert!(plain[0].get("reason").is_none() && plain[0]["task"] == "A text, please.", "{plain}");
}

#[test]
fn fields_are_picked_from_whatever_is_shown() {
    let place = Place::new();
    let thread = place.flow_thread();
    let shown = place.on_terminal(&["thread", "show", thread.as_str(), "--json", "thread,status,parent"]);
    assert_eq!(shown.json(), json!({"thread": thread, "status": "idle", "parent": null}));
    let whole = place.on_terminal(&["thread", "show", thread.as_str(), "--json"]).json();
    assert_eq!(whole["currentRole"], "writer");
    let row = ["thread", "list", "--json", "thread,status", "--jq"];
    let filtered = |filter: &str| place.uwf(&[&row[..], &[filter]].concat());
    assert_eq!(filtered(".[].thread").out, format!("{thread}\n"));
    assert_eq!(filtered(".[] | select(.status == \"end\")").out, "");
    assert_eq!((filtered(".[").exit, filtered(".thread").exit), (2, 1));
    assert_eq!(place.uwf(&["thread", "list", "--jq", "."]).exit, 2);
    let wrong = place.uwf(&["thread", "list", "--json", "statsu"]);
    assert_eq!((wrong.exit, wrong.out.as_str()), (2, ""));
    assert!(
        wrong.err.starts_with("error: no field `statsu`; did you mean `status`?\n  hint: the fields are ")
    );
    assert!(
        wrong.err.contains("reason")
            && !wrong.err.contains("compactedBy")
            && wrong.err.contains("workflowName"),
        "{}",
        wrong.err
    );
    assert_eq!(place.uwf(&["thread", "rm", thread.as_str(), "--json", "thread"]).exit, 2);
    assert_eq!(place.uwf(&["thread", "list", "--json", "thread", "--format", "yaml"]).exit, 2);
}

#[test]
fn old_threads_are_pruned_and_said_before() {
    let place = Place::new();
    let (ended, idle) = (place.flow_thread(), place.flow_thread());
    place.uwf(&["thread", "cancel", ended.as_str()]);
    let prune = |args: &[&str]| place.uwf(&[&["thread", "prune"], args].concat());
    // Everything happens now.
    assert_eq!(prune(&["--older", "1d", "--yes"]).json(), json!({"removed": [], "dryRun": false}));
    let later = "2030-01-01";
    let dry = prune(&["--older", later, "--dry-run"]);
    assert_eq!(dry.json(), json!({"removed": [ended], "dryRun": true}));
    let refused = prune(&["--older", later]);
    assert_eq!((refused.exit, refused.out.as_str()), (1, ""));
    assert!(
        refused.err.contains("1 thread would be removed") && refused.err.contains("--yes"),
        "{refused:?}"
    );
    assert_eq!(prune(&["--older", later, "--yes", "--status", "running"]).exit, 1);
    assert_eq!(prune(&["--older", "soon", "--yes"]).exit, 2);
    assert_eq!(place.uwf(&["thread", "list", "--all"]).json().as_array().unwrap().len(), 2);
    assert_eq!(prune(&["--older", later, "--yes"]).json()["removed"], json!([ended]));
    let left = place.uwf(&["thread", "list", "--all"]).json();
    assert_eq!((left[0]["thread"].clone(), left.as_array().unwrap().len()), (json!(idle), 1));
}

#[test]
fn pruning_goes_by_how_a_thread_stands_and_what_was_done_in_it_last() {
    let place = Place::new();
    let (idle, paused, tried) = (place.flow_thread(), place.flow_thread(), place.flow_thread());
    place.uwf(&["thread", "pause", paused.as_str()]);
    let journals = uwf_engine::journals::directory(&place.homes().uwf);
    std::fs::create_dir_all(&journals).unwrap();
    let head = thread::head(&place.store(), &tried).unwrap().hash;
    let journal = std::fs::File::create(journals.join(format!("{tried}.{head}.{tried}.jsonl"))).unwrap();
    // In 2033.
    journal.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000)).unwrap();
    let old = |status: &str| {
        let args = ["thread", "prune", "--older", "2030-01-01", "--dry-run", "--status", status];
        place.uwf(&args).json()["removed"].clone()
    };
    assert_eq!(old("idle"), json!([idle]), "a journal was written since");
    assert_eq!(old("paused"), json!([paused]));
}

#[test]
fn costs_are_told_of_a_thread_or_of_all() {
    let place = Place::new();
    let thread = place.flow_thread();
    let none = place.on_terminal(&["-v", "cost"]);
    assert_eq!(none.err, "no agent has played yet\n");
    let start = thread::head(&place.store(), &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    thread::advance(&place.store(), &thread, &start, &step, &Status::Idle).unwrap();
    let spent = place.uwf(&["cost", thread.as_str(), "--by", "role"]).json();
    assert_eq!((&spent["by"], &spent["thread"]), (&json!("role"), &json!(thread)));
    assert_eq!((&spent["total"]["runs"], &spent["rows"][0]["name"]), (&json!(1), &json!("writer")));
    let total = json!({
        "runs": 1, "failedRuns": 0, "turns": 0, "inputTokens": 0, "cachedTokens": 0, "outputTokens": 0, "cost": null,
        "unpricedRuns": 0,
    });
    assert_eq!(spent["total"], total);
    assert_eq!(place.uwf(&["cost", "--since", "1d"]).json()["total"]["runs"], 1);
    assert_eq!(place.uwf(&["cost", "--since", "soon"]).exit, 2);
    assert_eq!(place.uwf(&["cost", "01KAZZZZZZZZZZZZZZZZZZZZZZ"]).exit, 1);
    assert_eq!(place.uwf(&["cost", "--by", "mood"]).exit, 2);
}
