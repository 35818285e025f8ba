//! The store as a whole, variables, and threads taken from one store to another.

use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use uwf_store::Hash;

use super::command_line::CommandLine;
use uwf_engine::fixture::{Place, clock, reply};
use uwf_engine::lock::ThreadLock;
use uwf_engine::thread::{self, ThreadId, head};

/// A node that was put two hours ago.
fn put(place: &Place, text: &str) -> Hash {
    let ran = place.run(&["cas", "put", "--type", "string", "-"], &json!(text).to_string(), false);
    let hash: Hash = ran.out.trim().parse().unwrap();
    let file = File::options().write(true).open(place.homes().ocas.join(format!("nodes/{hash}.bin")));
    file.unwrap()
        .set_modified(UNIX_EPOCH + Duration::from_millis(clock()) - Duration::from_secs(7200))
        .unwrap();
    hash
}

#[test]
fn gc_removes_what_nothing_leads_to() {
    let place = Place::new();
    let thread = place.flow_thread();
    let failed =
        place.step(&thread, None, "writer", &json!({"$status": "error", "error": "no", "phase": "answer"}));
    thread::record_failure(&place.store(), &thread, "writer", &failed).unwrap();
    let lost = put(&place, "lost");
    std::fs::create_dir_all(place.homes().uwf.join("sessions")).unwrap();
    let named = put(&place, "named in a journal");
    let journal = json!({"entry": "replied", "reply": {"stepHash": named}}).to_string();
    std::fs::write(place.homes().uwf.join("sessions/x.jsonl"), journal).unwrap();

    let would = place.uwf(&["cas", "gc", "--dry-run"]).json();
    assert_eq!((&would["removed"], &would["dryRun"]), (&json!(1), &json!(true)));
    assert!(place.store().has(&lost));
    let done = place.uwf(&["cas", "gc"]).json();
    assert_eq!(
        (&done["removed"], &done["temporary"], &done["bytes"]),
        (&json!(1), &json!(0), &would["bytes"])
    );
    assert!(!place.store().has(&lost) && place.store().has(&named) && place.store().has(&failed));
    assert_eq!(place.uwf(&["cas", "verify"]).exit, 0);
    let told = place.on_terminal(&["cas", "gc"]).out;
    assert!(told.starts_with("removed 0 nodes (0 B), kept "), "{told}");
}

#[test]
fn gc_leaves_what_was_put_since_the_oldest_run_began() {
    let place = Place::new();
    let thread = place.flow_thread();
    let lost = put(&place, "not yet named");
    let held = ThreadLock::acquire(&place.homes().uwf, &thread, &lost, 1_000).unwrap();
    assert_eq!(place.uwf(&["cas", "gc"]).json()["removed"], 0);
    drop(held);
    // An evaluation is a run, too.
    let locks = place.homes().ocas.join("evaluations");
    std::fs::create_dir_all(&locks).unwrap();
    let held = std::fs::File::create(locks.join("e.lock")).unwrap();
    held.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1)).unwrap();
    held.lock().unwrap();
    assert_eq!(place.uwf(&["cas", "gc"]).json()["removed"], 0);
    drop(held);
    assert_eq!(place.uwf(&["cas", "gc"]).json()["removed"], 1);
}

#[test]
fn journals_hold_what_they_name_while_their_threads_are_there() {
    let place = Place::new();
    let sessions = place.homes().uwf.join("sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    let gone = (1..4).map(|n| ThreadId::new(clock() - n));
    let threads: Vec<ThreadId> = gone.chain([place.flow_thread()]).collect();
    let named: Vec<Hash> = threads
        .iter()
        .map(|thread| {
            let hash = put(&place, &format!("named for {thread}"));
            let first = json!({"entry": "run", "thread": thread, "note": hash}).to_string();
            std::fs::write(sessions.join(format!("{thread}.jsonl")), first).unwrap();
            hash
        })
        .collect();
    assert_eq!(place.uwf(&["cas", "gc"]).json()["removed"], 3);
    let there: Vec<bool> = named.iter().map(|hash| place.store().has(hash)).collect();
    assert_eq!(there, [false, false, false, true]);
}

#[test]
fn a_damaged_store_is_not_collected_unless_one_insists() {
    let place = Place::new();
    let thread = place.flow_thread();
    let start = head(&place.store(), &thread).unwrap().start(&place.store()).unwrap().workflow;
    std::fs::remove_file(place.homes().ocas.join(format!("nodes/{start}.bin"))).unwrap();
    let ran = place.uwf(&["cas", "gc"]);
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains(&format!("node {start} is missing (referred to by ")), "{}", ran.err);
    assert!(ran.err.contains("hint: nothing was removed") && ran.err.contains("--force"), "{}", ran.err);
    assert_eq!(place.uwf(&["cas", "gc", "--force"]).exit, 0);
}

#[test]
fn the_store_of_another_implementation_can_be_kept_up() {
    let place = Place::reference();
    let index = |place: &Place| {
        let dir = place.homes().ocas.join("_index");
        let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|file| (std::fs::read(&file).unwrap(), file)).collect::<Vec<_>>()
    };
    let threads = place.uwf(&["thread", "list", "--all"]).json();
    let before = index(&place);
    assert_eq!(place.uwf(&["cas", "reindex"]).json()["struck"], 0);
    let again = place.uwf(&["cas", "reindex"]).json();
    assert_eq!((&again["added"], &again["struck"], &again["unreadable"]), (&json!(0), &json!(0), &json!(0)));
    assert!(index(&place).len() >= before.len());
    let gc = place.uwf(&["cas", "gc"]).json();
    assert_eq!(place.uwf(&["thread", "list", "--all"]).json(), threads);
    assert_eq!(place.uwf(&["cas", "verify"]).exit, 0, "{gc}");
    let stats = place.uwf(&["cas", "stats"]).json();
    assert_eq!(
        (&stats["threads"], &stats["workflows"], &stats["nodes"]),
        (&json!(5), &json!(1), &gc["kept"])
    );
    assert_eq!(place.uwf(&["cas", "gc"]).json()["removed"], 0);
}

#[test]
fn what_is_there_is_counted_by_type() {
    let place = Place::new();
    place.flow_thread();
    put(&place, "a text");
    let stats = place.uwf(&["cas", "stats"]).json();
    assert_eq!(
        (&stats["threads"], &stats["workflows"], &stats["variables"]),
        (&json!(1), &json!(0), &json!(34))
    );
    let names: Vec<&str> =
        stats["types"].as_array().unwrap().iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!((names[0], names.len()), ("@ocas/schema", 4), "{names:?}");
    let text = place.on_terminal(&["cas", "stats"]).out;
    assert!(text.starts_with("nodes      50 (") && text.contains("StartNode"), "{text}");
}

#[test]
fn schemas_are_listed_and_printed_by_any_of_their_names() {
    let place = Place::new();
    let listed = place.uwf(&["cas", "schema", "list"]).json();
    let rows = listed.as_array().unwrap();
    assert_eq!(rows.len(), 45);
    let bool_ = rows.iter().find(|row| row["hash"] == "1AVHCXEJVDCPP").unwrap();
    assert_eq!(bool_["names"], json!(["@ocas/bool", "@ocas/boolean"]));
    let by_name = place.uwf(&["cas", "schema", "get", "StepNode"]).json();
    assert_eq!(by_name["title"], "StepNode");
    assert_eq!(place.uwf(&["cas", "schema", "get", "0RXS7QWMG3KNV"]).json(), by_name);
    assert_eq!(place.uwf(&["cas", "schema", "get", "string"]).json(), json!({"type": "string"}));
    assert_eq!(place.uwf(&["cas", "schema", "get", "nothing"]).exit, 1);
}

#[test]
fn lines_are_stored_together_or_one_by_one_and_an_error_names_its_line() {
    let place = Place::new();
    let lines = "{\"type\":\"string\",\"payload\":\"a\"}\n\n{\"type\":\"integer\",\"payload\":\"b\"}\n";
    let a = Hash::of(&uwf_engine::builtin::TEXT, &json!("a"));
    let together = place.run(&["cas", "put", "--jsonl", "-"], lines, false);
    assert_eq!((together.exit, together.out.as_str()), (1, ""));
    assert!(
        together.err.starts_with("error: stdin:3 cannot be stored\n  caused by: the payload does not obey"),
        "{}",
        together.err
    );
    assert!(!place.store().has(&a));
    let each = place.run(&["cas", "put", "--jsonl", "--sync-each", "-"], lines, false);
    assert_eq!((each.exit, each.out), (1, format!("{a}\n")));
    assert!(place.store().has(&a));
    assert_eq!(
        place.run(&["cas", "hash", "--jsonl", "-"], lines, false).out.lines().next(),
        Some(a.as_str())
    );
    std::fs::write(place.project().join("bad.jsonl"), format!("{lines}nonsense\n")).unwrap();
    let bad = place.uwf(&["cas", "hash", "--jsonl", "bad.jsonl"]);
    assert!(bad.err.starts_with("error: bad.jsonl:4 is not {\"type\", \"payload\"}"), "{}", bad.err);
    assert_eq!(place.uwf(&["cas", "put", "--type", "string", "--sync-each", "x"]).exit, 2);
}

#[test]
fn variables_are_set_got_listed_and_remembered() {
    let place = Place::new();
    let (a, b) = (put(&place, "a"), put(&place, "b"));
    let set = place.uwf(&["var", "set", "@me/x", a.as_str(), "--tag", "kind=draft", "--tag", "by=me"]).json();
    assert_eq!((&set["value"], &set["tags"]), (&json!(a), &json!({"kind": "draft", "by": "me"})));
    assert_eq!(place.uwf(&["var", "set", "@me/x", b.as_str()]).json()["tags"]["by"], "me", "tags are kept");
    assert_eq!(place.on_terminal(&["var", "get", "@me/x"]).out, format!("{b}\n"));
    let past = place.uwf(&["var", "history", "@me/x"]).json();
    assert_eq!(past, json!([{"value": b, "setAt": clock()}, {"value": a, "setAt": clock()}]));
    let listed = place.on_terminal(&["var", "list", "@me/"]).out;
    assert!(listed.contains("by=me kind=draft") && listed.lines().count() == 2, "{listed}");
    assert_eq!(place.uwf(&["var", "list"]).json().as_array().unwrap().len(), 34);

    let wrong = |args: &[&str], exit: u8, words: &str| {
        let ran = place.uwf(&[&["var"], args].concat());
        assert_eq!((ran.exit, ran.out.as_str()), (exit, ""), "{args:?}");
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
    };
    wrong(&["get", "@me/y"], 1, "hint: did you mean @me/x?");
    wrong(&["get", "@me/x", "--schema", a.as_str()], 1, "there is: 7VQ43ZSJTEWA7");
    wrong(&["set", "me", a.as_str()], 1, "is not a variable name");
    wrong(&["set", "@me/x", "0000000000000"], 1, "no node 0000000000000");
    wrong(&["set", "@me/x", a.as_str(), "--tag", "=x"], 2, "is not KEY=VALUE");
    wrong(&["set", "@uwf/registry/x", a.as_str()], 1, "is no workflow");
    let thread = place.flow_thread();
    let name = format!("@uwf/thread/{thread}");
    wrong(&["set", &name, a.as_str()], 1, "is kept by the engine\n  hint: set by hand");
    let start = head(&place.store(), &thread).unwrap().hash;
    assert_eq!(place.uwf(&["var", "set", &name, start.as_str(), "--force"]).exit, 0);
}

#[test]
fn a_name_with_several_rows_shows_them_all() {
    let place = Place::reference();
    let database = rusqlite::Connection::open(place.homes().ocas.join("vars/_store.db")).unwrap();
    let rows = "INSERT INTO vars VALUES ('@me/x', '7VQ43ZSJTEWA7', '7VQ43ZSJTEWA7', 1, 1, '{}', '[\"old\"]'),
                ('@me/x', 'CTS5P6RD8HMCS', '7VQ43ZSJTEWA7', 2, 2, '{}', '[]')";
    database.execute(rows, []).unwrap();
    let got = place.uwf(&["-v", "var", "get", "@me/x"]);
    assert_eq!(got.json()["schema"], "CTS5P6RD8HMCS");
    assert!(got.err.contains("@me/x has 2 rows"), "{}", got.err);
    let one = place.uwf(&["var", "get", "@me/x", "--schema", "7VQ43ZSJTEWA7"]);
    assert_eq!((&one.json()["labels"], one.err.as_str()), (&json!(["old"]), ""));
    let listed = place.uwf(&["var", "list", "@me/x"]).json();
    let schemas: Vec<&Value> = listed.as_array().unwrap().iter().map(|row| &row["schema"]).collect();
    assert_eq!(schemas, ["CTS5P6RD8HMCS", "7VQ43ZSJTEWA7"]);
}

#[test]
fn an_export_follows_links_and_writes_into_what_is_no_file() {
    let place = Place::new();
    let thread = place.flow_thread();
    let at = |name: &str| place.project().join(name);
    std::os::unix::fs::symlink("real.jsonl", at("link")).unwrap();
    std::os::unix::fs::symlink("/dev/null", at("null")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let text = place.uwf(&["thread", "export", thread.as_str()]).out;
    let pipe = at("pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    for name in ["link", "null", "pipe"] {
        let ran = place.uwf(&["thread", "export", thread.as_str(), "-o", name]);
        assert_eq!(ran.exit, 0, "{name}: {ran:?}");
    }
    assert!(at("link").is_symlink() && at("null").is_symlink());
    assert_eq!(std::fs::read_to_string(at("real.jsonl")).unwrap(), text);
    assert_eq!(reader.join().unwrap(), text);
}

#[test]
fn a_thread_is_taken_to_another_store_and_goes_on_there() {
    let (here, there) = (Place::new(), Place::new());
    let thread = here.flow_thread();
    let written = here.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let agent = here.agent(&[reply(&written, "writer", None)]);
    assert_eq!(here.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]).exit, 0);

    let out = here.uwf(&["thread", "export", thread.as_str(), "-o", "t.jsonl"]).json();
    assert_eq!((&out["head"], &out["file"]), (&json!(written), &json!("t.jsonl")));
    let text = std::fs::read_to_string(here.project().join("t.jsonl")).unwrap();
    assert!(here.uwf(&["thread", "export", thread.as_str()]).out == text);

    let taken = there.run(&["thread", "import", "-"], &text, false).json();
    let expected = json!({
        "thread": thread, "head": written, "nodes": out["nodes"], "imported": true, "forwarded": false,
    });
    assert_eq!(taken, expected);
    std::fs::write(there.project().join("t.jsonl"), &text).unwrap();
    let again = there.on_terminal(&["thread", "import", "t.jsonl"]);
    assert_eq!(again.out, format!("{thread}: it was here already\n"));
    let checked = there.step(&thread, Some(written), "checker", &json!({"$status": "fine"}));
    let agent = there.agent(&[reply(&checked, "checker", None)]);
    let ran = there.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent, "--cwd", "."]);
    assert_eq!((ran.exit, &ran.json()["status"]), (0, &json!("end")), "{ran:?}");
    let refused = there.uwf(&["thread", "import", "t.jsonl"]);
    assert!(refused.exit == 1 && refused.err.contains("is here already, at "), "{}", refused.err);
    assert_eq!(here.uwf(&["thread", "import", "none.jsonl"]).exit, 1);
}

/// As another program, or a bad disk, might.
fn damage(place: &Place, thread: &ThreadId, how: &str) {
    let database = rusqlite::Connection::open(place.homes().ocas.join("vars/_store.db")).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    let sql = format!("UPDATE vars SET {how} WHERE name = '@uwf/thread/{thread}'");
    assert_eq!(database.execute(&sql, []).unwrap(), 1);
}

#[test]
fn what_is_mended_keeps_its_tags_where_they_can_be_read() {
    for (how, status) in
        [("value = 'x'", "suspended"), ("created = 'x'", "suspended"), ("tags = '{'", "idle")]
    {
        let place = Place::new();
        let (thread, store) = (place.flow_thread(), place.store());
        let start = head(&store, &thread).unwrap().hash;
        let asks = thread::Status::Suspended { role: "writer".into(), message: "Which?".into() };
        thread::advance(&store, &thread, &start, &start, &asks).unwrap();
        damage(&place, &thread, how);
        let name = format!("@uwf/thread/{thread}");
        let set = place.uwf(&["var", "set", &name, start.as_str(), "--force"]);
        assert_eq!(
            (set.exit, set.err.contains("are gone: the thread is idle now")),
            (0, status == "idle"),
            "{how}"
        );
        assert_eq!(place.uwf(&["thread", "show", thread.as_str()]).json()["status"], status, "{how}");
    }
}

#[test]
fn a_damaged_variable_is_named_and_can_be_mended_or_forgotten() {
    for (how, why) in [
        ("value = 'garbage'", "\"garbage\" is not a hash"),
        ("tags = '{bad'", "tags: key must be a string"),
        ("tags = x'00ff'", "tags: expected value"),
        ("created = 'x'", "created: it is no time in milliseconds"),
        ("labels = 5", "labels: invalid type: integer"),
        ("schema = '7VQ43ZSJTEWA7'", "is of type 44P8EP6N3NXZ5, not 7VQ43ZSJTEWA7"),
    ] {
        let place = Place::new();
        let thread = place.flow_thread();
        let (name, start) = (format!("@uwf/thread/{thread}"), head(&place.store(), &thread).unwrap().hash);
        damage(&place, &thread, how);
        let verified = place.on_terminal(&["cas", "verify"]);
        assert_eq!(verified.exit, 1, "{how}");
        assert!(verified.out.contains(&format!("variable {name} is damaged: ")), "{how}: {}", verified.out);
        assert!(verified.out.contains(why), "{how}: {}", verified.out);
        for listing in [&["thread", "list"][..], &["var", "list"], &["cas", "stats"]] {
            assert_eq!(place.uwf(listing).exit, 0, "{how}");
        }
        if !how.starts_with("schema") {
            let gc = place.uwf(&["cas", "gc"]);
            let is_lost = how.starts_with("value");
            assert_eq!(
                (gc.exit, gc.err.matches(&name).count()),
                if is_lost { (1, 1) } else { (0, 0) },
                "{how}: {}",
                gc.err
            );
            let shown = place.uwf(&["thread", "show", thread.as_str()]);
            assert!(shown.exit == 1 && shown.err.contains("uwf thread rm"), "{how}: {}", shown.err);
        }
        assert_eq!(place.uwf(&["var", "history", &name]).json()[0]["value"], json!(start), "{how}");
        assert_eq!(place.uwf(&["var", "set", &name, start.as_str(), "--force"]).exit, 0, "{how}");
        assert_eq!(place.uwf(&["thread", "show", thread.as_str()]).json()["status"], "idle", "{how}");
        assert_eq!(place.uwf(&["cas", "verify"]).exit, 0, "{how}");
        damage(&place, &thread, how);
        assert_eq!(place.uwf(&["thread", "rm", thread.as_str()]).exit, 0, "{how}");
        assert_eq!(place.uwf(&["cas", "verify"]).exit, 0, "{how}");
    }
}

#[test]
fn a_content_is_printed_as_it_is_in_one_piece_or_many() {
    let place = Place::new();
    let long = "a line\u{1b}[31m of output\n".repeat(100_000);
    let (older, store) = (put(&place, &long), place.store());
    let mut batch = store.batch();
    let listed = batch.put_blob(&mut long.as_bytes()).unwrap().hash;
    batch.commit().unwrap();
    let node = place.uwf(&["cas", "get", listed.as_str()]).json();
    assert_eq!((&node["type"], &node["payload"]["size"]), (&json!(uwf_store::BLOB), &json!(long.len())));
    for hash in [older, listed] {
        for format in [&[][..], &["--format", "json"]] {
            let ran = place.uwf(&[&["cas", "cat", hash.as_str()][..], format].concat());
            assert!((ran.exit, ran.out == long) == (0, true), "{hash}: {}", ran.err);
        }
        let shown = place.on_terminal(&["cas", "cat", hash.as_str()]).out;
        assert!(!shown.contains('\u{1b}') && shown.lines().count() == 100_000, "{hash}");
    }
    let ran = place.uwf(&["cas", "cat", uwf_store::schema::builtin::META_SCHEMA.as_str()]);
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("no content: expected a text") && ran.err.contains("hint: `uwf cas get"),
        "{}",
        ran.err
    );
    let gone = store.refs(&listed).unwrap()[0];
    std::fs::remove_file(place.homes().ocas.join(format!("nodes/{gone}.bin"))).unwrap();
    let ran = place.uwf(&["cas", "cat", listed.as_str()]);
    assert!(ran.exit == 1 && ran.err.contains(&format!("no node {gone} in the store")), "{}", ran.err);
}
