use super::*;
use crate::journal::tests::run;
use crate::journal::{READABLE, VERSION};
use crate::provider::message::{Message, MessageKind, Speaker};

fn head(text: &str) -> Hash {
    text.parse().unwrap()
}

fn name(thread: u64, session: u64) -> JournalName {
    JournalName { thread: thread_id(thread), head: head("0123456789ABC"), session: ThreadId::new(session) }
}

/// The same id for the same number.
fn thread_id(number: u64) -> ThreadId {
    format!("{number:026}").parse().unwrap()
}

fn wanted(prompt: Option<&str>) -> WantedRun<'_> {
    let prompt = prompt.map_or(Prompt::Any, Prompt::This);
    let (thread, head) = (thread_id(1), head("0123456789ABC"));
    WantedRun { thread, head, role: Some("r"), prompt, stand_alone: false, workspace: None, agent: None }
}

/// A journal of role `r` that has begun.
fn put(dir: &Path, name: &JournalName, prompt: &str) -> Journal {
    let mut journal = Journal::create(dir, name.clone()).unwrap();
    journal.append(run(name, "r", prompt)).unwrap();
    let message = Message::text(Speaker::System, MessageKind::Opening, "rules");
    journal.append(Entry::Said { message, near: None, at: 11 }).unwrap();
    journal
}

/// The session that is found, and what was said of those that were not.
fn find(dir: &Path, wanted: &WantedRun<'_>) -> (Option<ThreadId>, Vec<String>) {
    let mut told = Vec::new();
    let found =
        Journals::list(dir).unwrap().find(wanted, &mut |passed| told.push(passed.to_string())).unwrap();
    (found.map(|journal| journal.name.session), told)
}

#[test]
fn the_youngest_of_the_same_visit_is_found() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(find(&dir.path().join("none"), &wanted(None)).0, None);
    let names = [name(1, 5), name(1, 6), name(1, 7), name(2, 8)];
    for (name, prompt) in names.iter().zip(["p", "p", "other", "p"]) {
        put(dir.path(), name, prompt);
    }
    assert_eq!(find(dir.path(), &wanted(Some("p"))).0, Some(names[1].session));
    assert_eq!(find(dir.path(), &wanted(None)).0, Some(names[2].session), "no prompt goes for any");
    assert_eq!(find(dir.path(), &wanted(Some("third"))).0, None);
    let usual = |prompt| WantedRun { prompt: Prompt::Usual(prompt), ..wanted(None) };
    assert_eq!(find(dir.path(), &usual("p")).0, Some(names[2].session), "it was interrupted");
    let reply = "{\"entry\":\"replied\",\"reply\":null,\"at\":12}\n";
    let path = dir.path().join(names[2].to_string());
    fs::write(&path, fs::read_to_string(&path).unwrap() + reply).unwrap();
    assert_eq!(find(dir.path(), &usual("p")).0, Some(names[1].session), "that of another prompt is over");
    assert_eq!(find(dir.path(), &usual("other")).0, Some(names[2].session));
    let other = WantedRun { role: Some("s"), ..wanted(None) };
    assert_eq!(find(dir.path(), &other).0, None);
    let moved = WantedRun { head: head("CBA9876543210"), ..wanted(None) };
    assert_eq!(find(dir.path(), &moved).0, None);
    let alone = WantedRun { stand_alone: true, ..wanted(None) };
    assert_eq!(find(dir.path(), &alone).0, None);
    let here = |here| WantedRun { workspace: Some(Path::new(here)), ..wanted(Some("other")) };
    assert_eq!(find(dir.path(), &here("/w")), (Some(names[2].session), vec![]));
    let (found, told) = find(dir.path(), &here("/elsewhere"));
    assert!(
        found.is_none() && told[0].ends_with(" is of a run in /w, and this one is in /elsewhere"),
        "{told:?}"
    );
}

#[test]
fn a_torn_line_is_cut_off_and_the_next_one_goes_on_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), &name(1, 5), "p").path().to_owned();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [whole.as_slice(), b"{\"entry\":\"answ"].concat()).unwrap();
    let journals = Journals::list(dir.path()).unwrap();
    let mut journal = journals.find(&wanted(None), &mut |_| unreachable!()).unwrap().unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    journal.append(Entry::Started { call_id: "a".into(), shown: None, at: 12 }).unwrap();
    assert_eq!(read::entries(&fs::read(&path).unwrap()).unwrap().0.len(), 3);
}

#[test]
fn a_run_that_had_not_begun_is_not_found_and_nobody_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), &name(1, 5), "p").path().to_owned();
    let whole = fs::read(&path).unwrap();
    for length in [0, 20, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(find(dir.path(), &wanted(None)), (None, vec![]), "{length}");
    }
}

#[test]
fn what_cannot_be_read_is_told_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = put(dir.path(), &name(1, 5), "p").path().to_owned();
    let whole = fs::read_to_string(&path).unwrap();
    let cases = [
        (whole.replacen("\"version\":5", "\"version\":7", 1), "it is of version 7"),
        (format!("garbage\n{whole}"), "line 1 cannot be read"),
        (whole.replacen("\n", "\ngarbage\n", 1), "line 2 cannot be read"),
    ];
    for (text, expected) in cases {
        fs::write(&path, &text).unwrap();
        let (found, told) = find(dir.path(), &wanted(None));
        assert_eq!(found, None);
        assert!(told.len() == 1 && told[0].contains(expected), "{told:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn what_an_older_version_wrote_is_found() {
    for version in READABLE {
        let dir = tempfile::tempdir().unwrap();
        let path = put(dir.path(), &name(1, 5), "p").path().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let version = format!("\"version\":{version},");
        fs::write(&path, text.replacen(&format!("\"version\":{VERSION},"), &version, 1)).unwrap();
        let (found, told) = find(dir.path(), &wanted(None));
        assert!(found.is_some() && told.is_empty(), "{version} {told:?}");
    }
}

#[test]
fn a_journal_that_is_held_is_neither_taken_nor_removed() {
    let dir = tempfile::tempdir().unwrap();
    let held = put(dir.path(), &name(1, 5), "p");
    let journals = Journals::list(dir.path()).unwrap();
    let error = journals.find(&wanted(None), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("role r of thread") && error.contains("another process"), "{error}");
    journals.discard(&wanted(None)).unwrap();
    journals.sweep(&thread_id(1), 7, &|_| Some(head("CBA9876543210")));
    assert!(held.path().exists());
    drop(held);
    journals.discard(&wanted(Some("other"))).unwrap();
    assert!(find(dir.path(), &wanted(None)).0.is_some());
    journals.discard(&wanted(None)).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn journals_of_heads_that_moved_on_go_with_their_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let (stays, unknown) = (name(1, 5), name(3, 5));
    let moved = JournalName { head: head("CBA9876543210"), ..name(1, 4) };
    let others: Vec<JournalName> = (10..30).map(|thread| name(thread, 9)).collect();
    for name in others.iter().chain([&stays, &moved, &unknown]) {
        let spool = put(dir.path(), name, "p").spool_dir();
        fs::create_dir(&spool).unwrap();
        fs::write(spool.join("output"), "x").unwrap();
    }
    let head_of = |thread: &ThreadId| match thread {
        thread if *thread == stays.thread => Some(stays.head),
        thread if *thread == unknown.thread => None,
        _ => Some(head("CBA9876543210")),
    };
    let listed = || Journals::list(dir.path()).unwrap();
    let sweep = |chance| listed().sweep(&stays.thread, chance, &head_of);
    let left = || {
        let mut left: Vec<JournalName> =
            listed().files.iter().filter_map(|file| JournalName::parse(file)).collect();
        left.sort();
        left
    };
    sweep(7);
    assert!(!left().contains(&moved), "all of the own thread");
    let first = left().len();
    assert!((23 - 1 - SWEPT..23 - SWEPT + 1).contains(&first), "some of the others: {first}");
    for chance in 0..200 {
        sweep(chance);
    }
    assert_eq!(left(), [stays, unknown]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "two journals with their outputs");
}

/// To open one waits for a writer, and to read one for ever; ended by the time limit of the test runner else.
#[test]
fn a_fifo_is_no_journal_and_nobody_waits_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let (run, fifo, other) = (name(1, 5), name(1, 6), name(2, 7));
    put(dir.path(), &run, "p");
    for name in [&fifo, &other] {
        let (path, mode) = (dir.path().join(name.to_string()), rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }
    let (found, told) = find(dir.path(), &wanted(None));
    assert_eq!(found, Some(run.session));
    assert!(told[0].ends_with("is not continued: it is no regular file"), "{told:?}");
    let journals = Journals::list(dir.path()).unwrap();
    journals.discard(&wanted(None)).unwrap();
    journals.sweep(&thread_id(1), 7, &|_| Some(head("ZZZZZZZZZZZZZ")));
    let left =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.collect();
    left.sort();
    assert_eq!(left, [fifo.to_string(), other.to_string()], "what is not ours stays");
}
