//! `step list --before --take` and `T:-n`: pages of a long thread, and what they cost.

use serde_json::{Value, json};
use uwf_store::Hash;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status, ThreadId};

/// A thread of so many steps.
fn thread_of(place: &Place, task: &str, count: usize) -> (ThreadId, Vec<Hash>) {
    let (store, thread) = (place.store(), place.thread(task));
    let mut steps = Vec::new();
    for _ in 0..count {
        let step = place.step(&thread, steps.last().copied(), "writer", &json!({"$status": "again"}));
        let from = thread::head(&store, &thread).unwrap().hash;
        thread::advance(&store, &thread, &from, &step, &Status::Idle).unwrap();
        steps.push(step);
    }
    (thread, steps)
}

/// The hashes of a list, the start as `start`.
fn hashes(listed: &Value) -> Vec<String> {
    let is_start = |node: &Value| node.get("prompt").is_some();
    let nodes = listed["steps"].as_array().unwrap();
    let hash = |node: &Value| match is_start(node) {
        true => "start".to_owned(),
        false => node["hash"].as_str().unwrap().to_owned(),
    };
    nodes.iter().map(hash).collect()
}

#[test]
fn pages_from_the_end_to_the_start_are_the_whole_list() {
    let place = Place::new();
    let (thread, steps) = thread_of(&place, "a task", 7);
    let list = |more: &[&str]| place.uwf(&[&["step", "list", thread.as_str()], more].concat()).json();
    let whole = hashes(&list(&[]));
    assert_eq!(whole.len(), 8);
    for take in 1..=8 {
        let (mut pages, mut before): (Vec<Vec<String>>, Option<String>) = (Vec::new(), None);
        loop {
            let take = take.to_string();
            let page = match &before {
                None => list(&["--take", &take]),
                Some(step) => list(&["--before", step, "--take", &take]),
            };
            pages.insert(0, hashes(&page));
            match page["earlier"].as_str() {
                Some(step) => before = Some(step.to_owned()),
                None => break,
            }
        }
        assert_eq!(pages.concat(), whole, "{take}");
    }
    assert_eq!(hashes(&list(&["--before", steps[0].as_str()])), ["start"]);
    assert_eq!(hashes(&list(&["--before", &format!("{thread}:-1")])), whole[..7]);
    assert!(list(&[]).get("earlier").is_none(), "the whole list is as it was");
}

#[test]
fn a_step_is_named_from_the_end_as_well() {
    let place = Place::new();
    let (thread, steps) = thread_of(&place, "a task", 3);
    for (number, step) in [("-1", steps[2]), ("-3", steps[0]), ("1", steps[0])] {
        let read = place.uwf(&["step", "read", &format!("{thread}:{number}"), "--format", "json"]).json();
        assert_eq!(read["step"], json!(step), "{number}");
    }
    let told = place.uwf(&["step", "read", &format!("{thread}:-4")]);
    assert!(told.err.starts_with(&format!("error: thread {thread} has no step -4: it has 3\n")), "{told:?}");
    let fresh = place.flow_thread();
    let told = place.uwf(&["step", "read", &format!("{fresh}:-1")]);
    assert!(told.err.starts_with(&format!("error: thread {fresh} has no step -1: it has 0\n")), "{told:?}");
}

#[test]
fn a_page_has_the_numbers_that_cost_no_walk() {
    let place = Place::new();
    let (thread, steps) = thread_of(&place, "a task", 5);
    let numbers = |more: &[&str]| {
        let text = place.on_terminal(&[&["-v", "step", "list", thread.as_str()], more].concat());
        let is_row = |line: &&str| steps.iter().any(|step| line.contains(step.as_str()));
        let number = |line: &str| line.split_whitespace().next().unwrap().to_owned();
        (text.out.lines().filter(is_row).map(number).collect::<Vec<_>>().join(" "), text.err)
    };
    assert_eq!(numbers(&[]).0, "1 2 3 4 5");
    let (last, note) = numbers(&["--take", "2"]);
    assert_eq!(last, "-2 -1");
    assert!(note.contains(&format!("uwf step list {thread} --before {} --take 2", steps[3])), "{note}");
    let [from_start, from_end] = [format!("{thread}:5"), format!("{thread}:-1")];
    assert_eq!(numbers(&["--before", &from_start, "--take", "2"]).0, "3 4");
    assert_eq!(numbers(&["--before", &from_end, "--take", "2"]).0, "-3 -2");
    assert_eq!(numbers(&["--before", steps[2].as_str(), "--take", "2"]).0, "1 2");
    let unnumbered = numbers(&["--before", steps[3].as_str(), "--take", "2"]).0;
    assert_eq!(unnumbered, format!("{} {}", steps[1], steps[2]));
}

#[test]
fn what_names_no_step_of_the_thread_is_told() {
    let place = Place::new();
    let (thread, _) = thread_of(&place, "a task", 2);
    let (other, others) = thread_of(&place, "another task", 2);
    let start = thread::head(&place.store(), &thread).unwrap().start_hash();
    let text = place.store().put_text("no step").unwrap();
    for (before, exit, told) in [
        (others[1].to_string(), 1, format!("{} is not a step of thread {thread}", others[1])),
        (start.to_string(), 1, format!("{start} is not a step of thread {thread}")),
        (
            format!("{other}:1"),
            1,
            format!("{other}:1 names a step of thread {other}, and the steps of thread {thread}"),
        ),
        (format!("{thread}:3"), 1, format!("thread {thread} has no step 3: it has 2")),
        (format!("{thread}:-3"), 1, format!("thread {thread} has no step -3: it has 2")),
        (format!("{thread}:0"), 1, format!("`{thread}:0` names no step")),
        (thread.to_string(), 1, format!("{thread} is a thread, and a step is wanted")),
        ("9GDHFMG6KAC8V".to_owned(), 1, "9GDHFMG6KAC8V".to_owned()),
        (text.to_string(), 1, format!("{text} is not a step of a thread: it is of type 7VQ43ZSJTEWA7")),
    ] {
        let ran = place.uwf(&["step", "list", thread.as_str(), "--before", &before]);
        assert_eq!((ran.exit, ran.out.as_str()), (exit, ""), "{before}: {ran:?}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains(&told), "{before}: {ran:?}");
    }
    for take in ["0", "-1", "many", ""] {
        let ran = place.uwf(&["step", "list", thread.as_str(), "--take", take]);
        assert_eq!((ran.exit, ran.out.as_str()), (2, ""), "{take}: {ran:?}");
    }
}

/// Nodes that a page does not show are not even looked at.
#[test]
fn a_page_reads_no_other_steps() {
    let place = Place::new();
    let (thread, steps) = thread_of(&place, "a task", 6);
    for lost in [0, 1, 5] {
        std::fs::remove_file(place.homes().ocas.join(format!("nodes/{}.bin", steps[lost]))).unwrap();
    }
    let head = place.uwf(&["step", "list", thread.as_str(), "--before", steps[4].as_str(), "--take", "2"]);
    assert!(head.err.contains("the head of thread"), "the thread is asked for its start: {head:?}");
    let (thread, steps) = thread_of(&place, "another task", 6);
    for lost in [0, 1, 4] {
        std::fs::remove_file(place.homes().ocas.join(format!("nodes/{}.bin", steps[lost]))).unwrap();
    }
    let page = place.uwf(&["step", "list", thread.as_str(), "--before", steps[3].as_str(), "--take", "1"]);
    assert_eq!(hashes(&page.json()), [steps[2].to_string()], "{page:?}");
    let short = place.uwf(&["step", "list", thread.as_str(), "--before", steps[3].as_str(), "--take", "2"]);
    assert!(short.err.contains(&format!("the step before step {} cannot be read", steps[2])), "{short:?}");
}
