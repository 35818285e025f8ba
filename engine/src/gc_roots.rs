//! What must not be collected though no reference leads to it: the work that is going on, and what it may come back to.
//!
//! Apart from `store`, which knows neither threads nor runs:
//! - failed attempts are listed as text, which is no edge of the graph;
//! - a run that goes on names its nodes when it is over, so everything since the oldest one began is needed;
//! - a journal of a run or of a question may be continued while its thread is there, and may name nodes: the trees of its
//!   snapshots, a step that was stored but that the head has not moved to, a result that was left out of the requests.
//!   One that is stale names nothing that is needed.
//!
//! Knows one `$UWF_HOME`. Runs of another one on the same store are protected by the age of their nodes alone.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use uwf_store::schema::Violation;
use uwf_store::{Collect, Finding, Hash, Referrer, Store, StoreError, open_regular};

use crate::journals::{self, JournalFile, JournalStanding, JournalsError, KnownThreads};
use crate::lock;
use crate::thread::{self, Failures, ThreadError, ThreadId};

/// What a collection of `store` must keep for the sake of the threads in it and of the runs of `home`, of which these are
/// the `surveyed` journals.
///
/// # Errors
/// The failed attempts or the threads cannot be listed, or a journal, or the directory of the locks, cannot be read.
pub fn gc_roots(store: &Store, home: &Path, surveyed: &[JournalFile]) -> Result<Collect, JournalsError> {
    let (mut roots, mut findings) = (Vec::new(), Vec::new());
    for Failures { variable, steps } in thread::all_failures(store, None)? {
        match steps {
            Ok(steps) => roots.extend(steps),
            Err(ThreadError::Malformed { hash, source }) => findings.push(Finding::Invalid {
                hash,
                type_: variable.schema,
                violations: vec![Violation::whole(format!("it is no list of failed attempts: {source}"))],
                referred_by: vec![Referrer::Variable(variable.name)],
            }),
            // Whoever collects finds that by itself.
            Err(ThreadError::Store(StoreError::NotFound { .. } | StoreError::Corrupt { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // What was chosen for threads are a few small nodes: a database that comes back from a copy shall find them.
    if thread::entries(store).next().transpose()?.is_some() {
        let options = store.indexed(&thread::UWF_OPTIONS).map_err(ThreadError::from)?.into_iter();
        roots.extend(options.filter(|options| store.has(options)));
    }
    let stale = surveyed.iter().filter(|journal| journal.standing == JournalStanding::Stale);
    let stale: HashSet<&PathBuf> = stale.map(|journal| &journal.path).collect();
    let mut journals = files(&journals::directory(home), "jsonl")?;
    journals.retain(|journal| !stale.contains(journal));
    journals.extend(files(&journals::forks(home), "jsonl")?);
    let mut threads = KnownThreads::of(store)?;
    for journal in journals {
        match named_in(&journal, &mut threads, &mut roots) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(JournalsError::Io { path: journal, source });
            }
            _ => {}
        }
    }
    let since = lock::oldest_run(home);
    let since = since.map_err(|source| JournalsError::Io { path: home.join("running"), source })?;
    Ok(Collect { roots, findings, since, ..Collect::default() })
}

/// What a journal names, unless it is of a thread that is gone, to which nobody can come back.
fn named_in(journal: &Path, threads: &mut KnownThreads<'_>, found: &mut Vec<Hash>) -> io::Result<()> {
    let mut reader = BufReader::new(open_regular(journal)?);
    let mut first = Vec::new();
    reader.read_until(b'\n', &mut first)?;
    let entry: Option<Value> = serde_json::from_slice(&first).ok();
    let thread = entry.and_then(|entry| entry.get("thread")?.as_str()?.parse::<ThreadId>().ok());
    if thread.is_some_and(|thread| threads.is_gone(&thread)) {
        return Ok(());
    }
    hashes_in(first.as_slice().chain(reader), found)
}

/// The files with this extension in a directory and those below it; none if there is no such directory.
fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, JournalsError> {
    let failed = |source| JournalsError::Io { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            found.extend(files(&entry.path(), extension)?);
        } else if entry.path().extension().is_some_and(|found| found == extension) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Adds every word that is a hash, whatever it stands for and whatever is around it, since an agent names nodes in the
/// midst of a text: one too many keeps a node, one too few loses one.
fn hashes_in(file: impl Read, found: &mut Vec<Hash>) -> io::Result<()> {
    let mut word = String::with_capacity(Hash::LENGTH + 1);
    let mut end = |word: &mut String| {
        found.extend(word.parse::<Hash>());
        word.clear();
    };
    for byte in BufReader::with_capacity(1 << 16, file).bytes() {
        match byte? {
            byte if !Hash::is_character(byte) => end(&mut word),
            // One more than a hash has shows that it is none.
            byte if word.len() <= Hash::LENGTH => word.push(char::from(byte)),
            _ => {}
        }
    }
    end(&mut word);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use serde_json::json;

    use std::fs::File;

    use super::*;
    use crate::fixture::Place;
    use crate::lock::ThreadLock;
    use uwf_store::{Expect, VarChange};

    fn roots_of(place: &Place) -> Result<Collect, JournalsError> {
        let (store, home) = (place.store(), place.homes().uwf);
        let surveyed = journals::survey(&store, &home).unwrap();
        gc_roots(&store, &home, &surveyed)
    }

    #[test]
    fn failed_attempts_are_needed() {
        let place = Place::new();
        let (store, thread) = (place.store(), place.flow_thread());
        let step = place.step(
            &thread,
            None,
            "writer",
            &json!({"$status": "error", "error": "no", "phase": "answer"}),
        );
        assert_eq!(roots_of(&place).unwrap(), Collect::default());
        thread::record_failure(&store, &thread, "writer", &step).unwrap();
        assert_eq!(roots_of(&place).unwrap().roots, [step]);
    }

    #[test]
    fn a_hash_in_the_midst_of_a_text_is_found_and_a_part_of_a_longer_word_is_not() {
        let mut found = Vec::new();
        let text = "[result 0000000000001, 3 lines]\\n0000000000002 0123456789ABCD 0000000000003".as_bytes();
        let (first, last) = text.split_at(14);
        hashes_in(first.chain(last), &mut found).unwrap();
        let found: Vec<&str> = found.iter().map(Hash::as_str).collect();
        assert_eq!(found, ["0000000000001", "0000000000002", "0000000000003"]);
    }

    #[test]
    fn a_journal_of_a_question_needs_what_it_names() {
        let place = Place::new();
        let (store, home) = (place.store(), place.homes().uwf);
        let result = store.put_text("result").unwrap();
        let asks = home.join("cache/asks/session");
        fs::create_dir_all(&asks).unwrap();
        let line = json!({"entry": "left-out", "marks": [{"text": format!("[result {result}, 1 line]")}]});
        fs::write(asks.join("1.jsonl"), format!("{line}\n")).unwrap();
        assert_eq!(roots_of(&place).unwrap().roots, [result]);
    }

    #[test]
    fn a_list_of_failed_attempts_that_is_none_is_a_finding() {
        let place = Place::new();
        let (store, thread) = (place.store(), place.flow_thread());
        let head = thread::head(&store, &thread).unwrap().hash;
        let name = format!("{}{thread}/writer", thread::FAILED);
        let (schema, tags) = (crate::builtin::START_NODE, Default::default());
        let change = VarChange::Set { name: name.clone(), schema, value: head, tags, expect: Expect::Any };
        store.vars().apply(&[change]).unwrap();
        let found = roots_of(&place).unwrap();
        assert!(found.findings[0].to_string().contains("it is no list of failed attempts"), "{found:?}");
        let refused = store.gc(&found).unwrap_err().to_string();
        assert!(refused.contains(&name) && refused.contains(head.as_str()), "{refused}");
        store.gc(&Collect { force: true, ..found }).unwrap();
        let mut out = Vec::new();
        crate::export::export(&store, &thread, &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("uwf-thread"));
    }

    #[test]
    fn a_run_needs_everything_since_it_began_and_a_journal_what_it_names() {
        let place = Place::new();
        let (store, home) = (place.store(), place.homes().uwf);
        let (a, b) = (ThreadId::new(1), ThreadId::new(2));
        let workflow = store.put_text("w").unwrap();
        let _newer = ThreadLock::acquire(&home, &a, &workflow, 5000).unwrap();
        let _older = ThreadLock::acquire(&home, &b, &workflow, 3000).unwrap();
        fs::write(home.join("running").join(format!("{}.lock", ThreadId::new(3))), "").unwrap();
        fs::create_dir(home.join("sessions")).unwrap();
        let line = format!("{{\"reply\":{{\"stepHash\":\"{workflow}\",\"n\":\"0123456789ABCD\"}}}}\n");
        fs::write(home.join("sessions/x.jsonl"), line).unwrap();
        let gone = json!({"entry": "run", "thread": ThreadId::new(9), "head": workflow});
        fs::write(home.join("sessions/y.jsonl"), format!("{gone}\n")).unwrap();
        let thread = place.flow_thread();
        let head = thread::head(&store, &thread).unwrap().hash;
        let there = json!({"entry": "run", "thread": thread, "head": head});
        fs::write(home.join("sessions/z.jsonl"), there.to_string()).unwrap();
        let mut needed = roots_of(&place).unwrap().roots;
        needed.sort();
        let mut expected = vec![workflow, head];
        expected.sort();
        assert_eq!(needed, expected, "those of a thread that is gone are not");
        fs::remove_file(home.join("sessions/z.jsonl")).unwrap();
        let expected = Collect { roots: vec![workflow], since: Some(3000), ..Collect::default() };
        assert_eq!(roots_of(&place).unwrap(), expected);
        // Without a marker it is the time of the lock.
        fs::remove_file(home.join("running").join(format!("{b}.json"))).unwrap();
        let lock = File::open(home.join("running").join(format!("{b}.lock"))).unwrap();
        lock.set_modified(UNIX_EPOCH + Duration::from_millis(4000)).unwrap();
        assert_eq!(roots_of(&place).unwrap().since, Some(4000));
    }
}
