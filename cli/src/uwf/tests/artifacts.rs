//! What is kept of steps: listed, shown with their thread and their step, and written to files.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use uwf_engine::fixture::{FLOW, Place};
use uwf_engine::thread::{self, ThreadId};
use uwf_store::Hash;

use super::command_line::CommandLine;

/// A place with a thread of two steps that both left `a.md`, the second one more files and a node.
fn place() -> (Place, ThreadId, [Hash; 2]) {
    let place = Place::new();
    let goal = "    goal: You write.\n";
    let text = FLOW.replacen(goal, &format!("{goal}    artifacts: [a.md, 'out/**?', /dir]\n"), 1);
    fs::write(place.project().join(".workflows/flow.yaml"), text).unwrap();
    let thread = place.flow_thread();
    fs::write(place.project().join("a.md"), "first\n").unwrap();
    let first = exec(&place, &thread, None, &json!({"$status": "again"}));
    fs::write(place.project().join("a.md"), "second\n").unwrap();
    fs::create_dir(place.project().join("out")).unwrap();
    fs::write(place.project().join("out/b.bin"), [0, 0xff]).unwrap();
    let node = place
        .store()
        .put(&uwf_engine::builtin::SUSPEND_OUTPUT, &json!({"$status": "$SUSPEND", "reason": "x"}));
    let second = exec(&place, &thread, Some(first), &json!({"$status": "checked", "dir": node.unwrap()}));
    fs::remove_file(place.project().join("a.md")).unwrap();
    (place, thread, [first, second])
}

fn exec(place: &Place, thread: &ThreadId, prev: Option<Hash>, output: &Value) -> Hash {
    let step = place.step(thread, prev, "writer", output);
    let ran = place.uwf(&["thread", "exec", thread.as_str(), "--agent", &place.agent(&[step.to_string()])]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    thread::head(&place.store(), thread).unwrap().hash
}

#[test]
fn they_are_listed_and_shown() {
    let (place, thread, [first, second]) = place();
    let id = thread.as_str();
    let rows = place.uwf(&["thread", "artifacts", id]).json();
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a.md", "a.md", "out/b.bin", "dir"]);
    assert_eq!(rows[0]["step"], json!(first));
    let (content, size) = (rows[2]["content"].clone(), 2);
    let expected = json!({
        "number": 2, "step": second, "role": "writer", "name": "out/b.bin", "path": "out/b.bin", "content": content,
        "size": size,
    });
    assert_eq!(rows[2], expected);
    assert_eq!((&rows[3]["path"], &rows[3]["size"]), (&Value::Null, &Value::Null));
    let table = place.uwf(&["thread", "artifacts", id, "--format", "text"]).out;
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["#", "STEP", "ROLE", "NAME", "SIZE", "CONTENT"]);
    assert_eq!(lines[3], ["2", second.as_str(), "writer", "out/b.bin", "2", "B", content.as_str().unwrap()]);

    assert_eq!(place.uwf(&["thread", "show", id]).json()["artifacts"], rows);
    let shown = place.uwf(&["thread", "show", id, "--format", "text"]).out;
    assert!(
        shown.contains(&format!("artifact   out/b.bin, 2 B, {} (step 2)\n", content.as_str().unwrap())),
        "{shown}"
    );
    let read = place.uwf(&["thread", "read", id]).out;
    assert!(read.contains("**Artifacts:**\n\n- `a.md`, 7 B, ") && read.contains("- `dir`, "), "{read}");
    let read = place.uwf(&["step", "read", first.as_str()]).out;
    assert!(read.contains("- `a.md`, 6 B, "), "{read}");
    // The record of these agents is a text, which has no fields.
    assert!(place.uwf(&["step", "show", first.as_str()]).json().is_string());
    // The role that comes next is told.
    let route = thread::head(&place.store(), &thread).unwrap();
    assert_eq!(route.hash, second);
}

#[test]
fn one_is_written_to_stdout_or_a_file_that_is_not_there() {
    let (place, thread, [first, second]) = place();
    let id = thread.as_str();
    let get = |args: &[&str]| place.uwf(&[&["thread", "artifacts", "get", id], args].concat());
    let read = |name: &str| fs::read(place.project().join(name)).unwrap();
    assert_eq!(get(&["a.md"]).out, "second\n", "the newest one");
    assert_eq!(get(&["a.md", "-o", "-"]).out, "second\n");
    let short = |args: &[&str]| place.uwf(&[&["thread", "artifacts", id], args].concat());
    assert_eq!(short(&["a.md"]).out, "second\n", "as get does");
    assert_eq!(short(&["a.md", "--step", first.as_str()]).out, "first\n");
    assert_eq!(short(&["-o", "x"]).exit, 2, "a list goes nowhere");
    for step in [first.as_str(), &format!("{id}:1")] {
        assert_eq!(get(&["a.md", "--step", step]).out, "first\n");
    }
    assert_eq!(get(&["dir"]).out, "{\"$status\":\"$SUSPEND\",\"reason\":\"x\"}\n");
    let written = get(&["out/b.bin", "-o", "b.bin"]).json();
    assert_eq!(
        (&written["file"], &written["size"], &written["step"]),
        (&json!("b.bin"), &json!(2), &json!(second))
    );
    assert_eq!(read("b.bin"), [0, 0xff]);

    let refused = get(&["a.md", "-o", "b.bin"]);
    assert_eq!(refused.exit, 1);
    assert!(
        refused.err.contains("b.bin is there already") && refused.err.contains("--force"),
        "{}",
        refused.err
    );
    assert_eq!(read("b.bin"), [0, 0xff]);
    assert_eq!(get(&["a.md", "-o", "b.bin", "--force"]).exit, 0);
    assert_eq!(read("b.bin"), b"second\n");
    symlink("b.bin", place.project().join("link")).unwrap();
    assert_eq!(get(&["a.md", "-o", "link"]).exit, 1);
    symlink("new", place.project().join("to-new")).unwrap();
    assert_eq!(get(&["a.md", "-o", "to-new"]).exit, 0);
    assert_eq!(read("new"), b"second\n");
    assert_eq!(get(&["a.md", "-o", "/dev/null"]).exit, 0);
}

#[test]
fn what_is_not_there_is_told() {
    let (place, thread, [first, _]) = place();
    let (id, other) = (thread.as_str(), place.flow_thread());
    for (args, words) in [
        (&["get", id, "b.md"][..], &["has no artifact `b.md`", "did you mean `a.md`?"][..]),
        (&["get", id, "report.pdf"], &["has no artifact `report.pdf`", "lists them"]),
        (&["get", id, "out/b.bin", "--step", first.as_str()], &["step", "has no artifact `out/b.bin`"]),
        (&["get", other.as_str(), "a.md"], &["has no artifact `a.md`", "it has none"]),
        (&["get", id, "a.md", "-o", "none/x"], &["cannot write none/x", "No such file"]),
        (&["get", id, "a.md", "-o", "out"], &["cannot write out", "directory"]),
        (&["get", id, "a.md", "--step", "x"], &["x"]),
        (&["get", id, "a.md", "--step", &format!("{id}:9")], &["has no step 9"]),
        (&["get", "01KAZZZZZZZZZZZZZZZZZZZZZZ", "a.md"], &["no such thread"]),
        (&["01KAZZZZZZZZZZZZZZZZZZZZZZ"], &["no such thread"]),
    ] {
        let ran = place.uwf(&[&["thread", "artifacts"], args].concat());
        assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{args:?}: {ran:?}");
        words.iter().for_each(|word| assert!(ran.err.contains(word), "{args:?}: {}", ran.err));
    }
    for args in [&[][..], &["get"], &["get", id], &["get", id, "a.md", "--force"]] {
        assert_eq!(place.uwf(&[&["thread", "artifacts"], args].concat()).exit, 2, "{args:?}");
    }
    assert_eq!(place.uwf(&["thread", "artifacts", other.as_str()]).json(), json!([]));
}

#[test]
fn a_name_cannot_write_lines_of_its_own() {
    let place = Place::new();
    let goal = "    goal: You write.\n";
    let text = FLOW.replacen(goal, &format!("{goal}    artifacts: ['out/*']\n"), 1);
    fs::write(place.project().join(".workflows/flow.yaml"), text).unwrap();
    let thread = place.flow_thread();
    let name = "out/`a`\n# Task\n\u{1b}[2J\t**b**";
    fs::create_dir(place.project().join("out")).unwrap();
    fs::write(place.project().join(name), "x").unwrap();
    let step = exec(&place, &thread, None, &json!({"$status": "again"}));
    let (id, step) = (thread.as_str(), step.as_str());
    let shown = "out/`a`\\u000a# Task\\u000a\\u001b[2J\\u0009**b**";
    let text = ["--format", "text"];
    for (args, expected) in [
        (&["thread", "show", id][..], format!("artifact   {shown}, 1 B, ")),
        (&["thread", "artifacts", id], format!("  {shown}  1 B   ")),
        (&["thread", "read", id], format!("\n- ``{shown}``, 1 B, ")),
        (&["step", "read", step], format!("\n- ``{shown}``, 1 B, ")),
        (&["thread", "artifacts", "get", id, name, "-o", "got"], format!("{shown}: 1 B in got\n")),
    ] {
        let ran = place.uwf(&[args, &text].concat());
        assert!(ran.exit == 0 && ran.out.contains(&expected), "{args:?}: {ran:?}");
        assert!(!ran.out.contains('\u{1b}') && !ran.out.contains("\n# Task\n"), "{args:?}: {ran:?}");
    }
    let told = place.uwf(&["thread", "artifacts", "get", id, &name[..name.len() - 1]]);
    assert!(told.err.contains(&format!("did you mean `{shown}`?")), "{}", told.err);
    // Programs are given the name as it is.
    assert_eq!(place.uwf(&["thread", "show", id]).json()["artifacts"][0]["name"], name);
}
