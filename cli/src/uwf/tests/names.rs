//! What threads, steps and nodes may be called on a command line, and what TAB offers for them.

use serde_json::json;

use super::command_line::{CommandLine, Ran};
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status, ThreadId};
use uwf_store::Hash;

/// A thread with steps of a writer and a checker, in turn.
fn played(place: &Place, roles: &[&str]) -> (ThreadId, Vec<Hash>) {
    let (thread, store) = (place.flow_thread(), place.store());
    let mut head = thread::head(&store, &thread).unwrap().hash;
    let mut steps = Vec::new();
    for role in roles {
        let output = json!({"$status": if *role == "writer" { "again" } else { "fine" }});
        let step = place.step(&thread, steps.last().copied(), role, &output);
        thread::advance(&store, &thread, &head, &step, &Status::Idle).unwrap();
        head = step;
        steps.push(step);
    }
    (thread, steps)
}

fn shown(ran: &Ran) -> String {
    assert_eq!(ran.exit, 0, "{ran:?}");
    ran.json()["thread"].as_str().unwrap().to_owned()
}

#[test]
fn a_thread_is_named_by_a_part_of_its_id_or_as_the_latest_of_the_directory() {
    let place = Place::new();
    let threads = [place.flow_thread(), place.thread("another task"), place.thread("a third")];
    let show = |name: &str| place.uwf(&["thread", "show", name]);
    for thread in &threads {
        assert_eq!(shown(&show(&thread.as_str()[18..].to_lowercase())), thread.as_str());
        assert_eq!(shown(&show(&thread.as_str()[..25])), thread.as_str());
    }
    let listed = place.uwf(&["thread", "list"]).json();
    for (back, name) in ["@", "@-1", "@-2"].into_iter().enumerate() {
        assert_eq!(shown(&show(name)), listed[back]["thread"].as_str().unwrap());
    }
    let none = show("@-3");
    assert!(none.err.starts_with("error: `@-3` names no thread: there are 3 of "), "{none:?}");
}

#[test]
fn what_names_no_thread_or_several_is_told_with_what_to_type() {
    let place = Place::new();
    let (thread, steps) = played(&place, &["writer"]);
    let other = place.thread("another task");
    let shared = &thread.as_str()[..8];
    let several = place.uwf(&["thread", "show", shared]).err;
    assert!(
        several.starts_with(&format!("error: `{shared}` begins or ends the ids of 2 threads:\n")),
        "{several}"
    );
    for thread in [thread, other] {
        assert!(several.contains(&format!("\n  {thread}  idle  flow: ")), "{several}");
    }
    for (name, told) in [
        ("solve-issue", "error: `solve-issue` names no thread\n  hint: expected a thread's id, "),
        (
            "ZZZZ",
            "error: no thread has an id that begins or ends with `ZZZZ`\n  hint: `uwf thread list --all`",
        ),
        ("@1", "error: `@1` names no thread\n  hint: `@` is the latest thread"),
        (&format!("{thread}:1"), "names a step, and a thread is wanted"),
        (
            steps[0].as_str(),
            &format!("is a step of role writer, and a thread is wanted\n  hint: it is of thread {thread}"),
        ),
    ] {
        let ran = place.uwf(&["thread", "show", name]);
        assert!(ran.exit == 1 && ran.out.is_empty() && ran.err.contains(told), "{name}: {ran:?}");
    }
}

#[test]
fn a_name_that_means_nothing_makes_no_store() {
    let place = Place::new();
    for name in ["@", "ABC", "nothing!", "@:last", "ABC:1"] {
        for command in ["thread", "step", "cas"] {
            let ran = place.uwf(&[command, if command == "cas" { "get" } else { "show" }, name]);
            assert_eq!(
                (ran.exit, place.homes().ocas.join("nodes").exists()),
                (1, false),
                "{command} {name}: {ran:?}"
            );
        }
    }
}

#[test]
fn a_step_is_named_by_its_place_its_role_or_a_part_of_its_hash() {
    let place = Place::new();
    let (thread, steps) = played(&place, &["writer", "checker", "writer", "checker"]);
    let end = &thread.as_str()[20..];
    let asked = |name: &str| place.uwf(&["cas", "get", name]);
    for (name, step) in [
        ("@:1".to_owned(), 0),
        ("@:last".to_owned(), 3),
        ("@:writer".to_owned(), 2),
        ("@:writer.1".to_owned(), 0),
        (format!("{thread}:checker"), 3),
        (format!("{end}:checker.1"), 1),
        (format!("{end}:-2"), 2),
        (steps[1].as_str()[..9].to_owned(), 1),
        (steps[1].as_str()[4..].to_lowercase(), 1),
    ] {
        let (named, whole) = (asked(&name), asked(steps[step].as_str()));
        assert_eq!((named.exit, named.out), (0, whole.out), "{name}: {}", named.err);
        assert_eq!(place.uwf(&["step", "read", &name]).exit, 0, "{name}");
    }
    for (name, told) in [
        (
            "@:cheker".to_owned(),
            format!(
                "no step of thread {thread} is of role `cheker`\n  hint: did you mean `{thread}:checker`?"
            ),
        ),
        ("@:nobody".to_owned(), "hint: there are steps of writer, checker".to_owned()),
        ("@:writer.3".to_owned(), "writer has no step 3 in thread".to_owned()),
        ("@:9".to_owned(), "has no step 9: it has 4".to_owned()),
        ("@".to_owned(), "@ is a thread, and a step is wanted\n  hint: `@:last` is its last step".to_owned()),
        (end.to_owned(), format!("`{end}` is thread {thread}, and a step is wanted")),
        ("ZZZZZ".to_owned(), "no step has a hash that begins or ends with `ZZZZZ`".to_owned()),
        ("no step".to_owned(), "`no step` is no hash\n  hint: expected 13 characters".to_owned()),
    ] {
        let ran = place.uwf(&["step", "read", &name]);
        assert!(ran.exit == 1 && ran.out.is_empty() && ran.err.contains(&told), "{name}: {ran:?}");
    }
}

#[test]
fn tab_offers_what_there_is() {
    let place = Place::new();
    let (thread, _) = played(&place, &["writer", "checker"]);
    let offered = |args: &[&str]| place.completing(args);
    assert!(offered(&["thread", "exe"]).contains(&"exec".to_owned()));
    assert_eq!(offered(&["thread", "show", ""])[..2], ["@".to_owned(), thread.to_string()]);
    for typed in [format!("{thread}:"), "@:".to_owned()] {
        assert_eq!(
            offered(&["step", "show", &typed]),
            ["1", "2", "last"].map(|place| format!("{typed}{place}"))
        );
    }
    assert!(offered(&["thread", "start", "fl"]).contains(&"flow".to_owned()));
    assert_eq!(offered(&["thread", "exec", "--agent", "uwf-"]), ["uwf-builtin"]);
    assert!(offered(&["models", "claude-opus"]).iter().all(|model| model.starts_with("claude-opus")));
    assert!(Place::new().completing(&["thread", "show", "0"]).is_empty());
}
