//! Journals at a real Postgres: what is taken, what is refused, and what comes back.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::time::Duration;

use uwf_engine::ThreadId;
use uwf_engine::fixture::Place;
use uwf_engine::journals::sink::{JournalSink, KeepAnswer, KeepRequest};
use uwf_engine::journals::{self, JournalName, spool_dir};
use uwf_store::Hash;

use super::*;
use crate::fixture::Postgres;
use crate::heads;
use crate::queue::{self, Claim, Claimant, Lease, Terms};
use crate::{Connection, sync};

type Lengths = BTreeMap<JournalName, u64>;

/// A thread that somebody has claimed.
struct Case {
    postgres: Postgres,
    at: Connection,
    place: Place,
    claim: Claim,
    name: JournalName,
}

fn claimant(name: &str) -> Claimant {
    Claimant { name: name.into(), labels: vec![], workflow: None, lease: Duration::from_secs(60) }
}

impl Case {
    fn new() -> Option<Case> {
        let postgres = Postgres::start()?;
        let (mut at, place) = (postgres.connection(), Place::in_memory());
        let thread = place.flow_thread();
        sync::begin(&mut at, &place.store(), &thread, Some("writer")).unwrap();
        queue::submit(&mut at, &thread, &Terms::default()).unwrap();
        let claim = queue::claim(&mut at, &claimant("a")).unwrap().unwrap();
        let name = JournalName { thread, head: claim.head, session: ThreadId::new(7) };
        Some(Case { postgres, at, place, claim, name })
    }

    fn append(&mut self, start: usize, bytes: &str) -> Result<(), FleetError> {
        let (lease, head) = (self.claim.lease, self.claim.head);
        self.append_as(&lease, &head, (start, bytes))
    }

    fn append_as(
        &mut self,
        lease: &Lease,
        head: &Hash,
        (start, bytes): (usize, &str),
    ) -> Result<(), FleetError> {
        let piece = Piece { name: &self.name, start: start as u64, bytes: bytes.as_bytes(), nodes: &[] };
        append(&mut self.at, (lease, head), &piece)
    }

    fn rows(&mut self) -> Vec<(i64, i64, String)> {
        let rows = self.at.client().query("SELECT start, fence, bytes FROM uwf.journal ORDER BY start", &[]);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        rows.unwrap().iter().map(|row| (row.get(0), row.get(1), text(row.get(2)))).collect()
    }

    /// Whoever has it is not heard of any more, and somebody else claims it.
    fn claimed_again(&mut self) -> Claim {
        let over = "UPDATE uwf.thread SET lease_until = clock_timestamp() - interval '1 s'";
        self.at.client().execute(over, &[]).unwrap();
        queue::reap(&mut self.at).unwrap();
        queue::claim(&mut self.at, &claimant("b")).unwrap().unwrap()
    }

    /// Brings thread and journals to another machine.
    fn restored(&mut self, claim: &Claim) -> Result<(Place, Restored, HashSet<Hash>), FleetError> {
        let other = Place::in_memory();
        let (store, thread) = (other.store(), claim.lease.thread);
        let standing = sync::fetch(&mut self.at, &store, &thread)?;
        let (home, mut known) = (other.homes().uwf, HashSet::new());
        let kept = restore(&mut self.at, (&store, &home), (&claim.lease, &standing), &mut known)?;
        Ok((other, kept, known))
    }

    fn file(&self, place: &Place) -> std::path::PathBuf {
        journals::directory(&place.homes().uwf).join(self.name.to_string())
    }

    /// Writes a journal on this machine, and asks to keep it.
    fn keep(&mut self, lines: &str, kept: &mut Lengths) -> Result<(), FleetError> {
        let path = self.file(&self.place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, lines).unwrap();
        self.keep_to(lines.len(), kept)
    }

    fn keep_to(&mut self, length: usize, kept: &mut Lengths) -> Result<(), FleetError> {
        let (store, home) = (self.place.store(), self.place.homes().uwf);
        let mut stream = Stream {
            store: &store,
            home: &home,
            lease: &self.claim.lease,
            head: self.claim.head,
            known: &mut HashSet::new(),
            kept,
            has_progressed: false,
        };
        stream.keep(&mut self.at, &KeepRequest { name: self.name.clone(), length: length as u64 })
    }

    fn attempts(&mut self) -> i32 {
        self.at.client().query_one("SELECT attempts FROM uwf.thread", &[]).unwrap().get(0)
    }
}

fn refusal(result: Result<(), FleetError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn pieces_follow_each_other_and_the_same_again_is_ones_own() {
    let Some(mut case) = Case::new() else { return };
    case.append(0, "one\n").unwrap();
    case.append(4, "two\n").unwrap();
    let rows = case.rows();
    assert_eq!(rows, [(0, 1, "one\n".into()), (4, 1, "two\n".into())]);
    // An answer was lost: the same, a part of it, or it and more.
    for (start, bytes) in [(0, "one\n"), (4, "two\n"), (0, "one\ntwo\n"), (2, "e\nt")] {
        case.append(start, bytes).unwrap();
        assert_eq!(case.rows(), rows, "{start} {bytes:?}");
    }
    case.append(4, "two\nthree\n").unwrap();
    assert_eq!(case.rows()[2], (8, 1, "three\n".into()));
}

#[test]
fn gaps_other_lines_and_lines_of_another_step_are_refused_and_change_nothing() {
    let Some(mut case) = Case::new() else { return };
    let (lease, thread_head) = (case.claim.lease, case.claim.head);
    assert!(refusal(case.append(4, "two\n")).contains("does not reach to 4"));
    case.append(0, "one\n").unwrap();
    assert!(refusal(case.append(9, "two\n")).contains("does not reach to 9"));
    assert!(refusal(case.append(0, "ONE\n")).contains("other lines at 0"));
    assert!(refusal(case.append(2, "E\ntwo\n")).contains("other lines at 2"));
    let late = refusal(case.append_as(&lease, &"0123456789ABC".parse().unwrap(), (4, "two\n")));
    assert!(late.contains(&format!("stands at {thread_head}")), "{late}");
    assert_eq!(case.rows(), [(0, 1, "one\n".into())]);
}

#[test]
fn who_has_lost_the_lease_writes_nothing_and_the_next_one_goes_on() {
    let Some(mut case) = Case::new() else { return };
    let (first, head) = (case.claim.lease, case.claim.head);
    case.append(0, "one\n").unwrap();
    let second = case.claimed_again();
    for (start, bytes) in [(4, "two\n"), (0, "one\n")] {
        let lost = case.append_as(&first, &head, (start, bytes));
        assert!(matches!(lost, Err(FleetError::LeaseLost { .. })), "{lost:?}");
    }
    case.append_as(&second.lease, &head, (4, "2\n")).unwrap();
    let third = case.claimed_again();
    case.append_as(&third.lease, &head, (6, "3\n")).unwrap();
    assert_eq!(case.rows(), [(0, 1, "one\n".into()), (4, 2, "2\n".into()), (6, 3, "3\n".into())]);
    let (other, kept, _) = case.restored(&third).unwrap();
    assert_eq!(fs::read_to_string(case.file(&other)).unwrap(), "one\n2\n3\n");
    assert_eq!(kept.lengths, BTreeMap::from([(case.name.clone(), 8)]));
}

#[test]
fn lines_at_the_same_time_leave_one_of_each() {
    let Some(mut case) = Case::new() else { return };
    let (lease, head, name) = (case.claim.lease, case.claim.head, case.name.clone());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (postgres, name) = (&case.postgres, &name);
            scope.spawn(move || {
                let mut at = postgres.connection();
                for turn in 0_u64..30 {
                    let bytes = format!("line {turn:03}\n");
                    let piece = Piece { name, start: turn * 9, bytes: bytes.as_bytes(), nodes: &[] };
                    append(&mut at, (&lease, &head), &piece).unwrap();
                }
            });
        }
    });
    let rows = case.rows();
    assert!(rows.iter().enumerate().all(|(at, row)| row.0 == at as i64 * 9), "{rows:?}");
    assert_eq!(rows.len(), 30);
}

/// Pieces of a text cut anywhere, written in any order with many of them twice: what is there is always a beginning of it.
#[test]
fn whatever_comes_in_whatever_order_what_is_there_is_a_beginning() {
    let Some(mut case) = Case::new() else { return };
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut reached = 0;
    for _ in 0..400 {
        let start = random((reached + 20).min(text.len()));
        let end = (start + 1 + random(30)).min(text.len());
        let is_gap = start > reached;
        let done = case.append(start, &text[start..end]);
        assert_eq!(done.is_err(), is_gap, "{start}..{end} after {reached}: {done:?}");
        if !is_gap {
            reached = reached.max(end);
        }
        let there: String = case.rows().into_iter().map(|row| row.2).collect();
        assert_eq!(there, text[..reached]);
    }
    assert_eq!(reached, text.len());
}

#[test]
fn a_torn_tail_is_cut_off_and_what_is_not_whole_is_told() {
    let Some(mut case) = Case::new() else { return };
    case.append(0, "one\n").unwrap();
    case.append(4, "two\nthr").unwrap();
    case.append(11, "ee").unwrap();
    let claim = case.claimed_again();
    let (other, kept, _) = case.restored(&claim).unwrap();
    assert_eq!(fs::read_to_string(case.file(&other)).unwrap(), "one\ntwo\n");
    assert_eq!(kept.lengths[&case.name], 8);
    assert_eq!(case.rows(), [(0, 1, "one\n".into()), (4, 2, "two\n".into())]);
    case.append_as(&claim.lease, &claim.head, (8, "3\n")).unwrap();
    case.at.client().execute("DELETE FROM uwf.journal WHERE start = 4", &[]).unwrap();
    let gap = case.restored(&claim).map(drop).unwrap_err().to_string();
    assert!(gap.contains("lines are missing, or twice there, at 4"), "{gap}");
}

#[test]
fn nodes_that_lines_name_travel_with_them() {
    let Some(mut case) = Case::new() else { return };
    let (store, mut kept) = (case.place.store(), Lengths::new());
    let (tree, result) = (store.put_text("tree").unwrap(), store.put_text("result").unwrap());
    let spool = spool_dir(&case.file(&case.place));
    fs::create_dir_all(&spool).unwrap();
    fs::write(spool.join("output-x.txt"), "the full output").unwrap();
    let said = store.put_text("said").unwrap();
    // The kind comes first, as agents write it. What a model says names no nodes.
    let text = format!(
        r#"{{"entry":"snapshot","snapshot":{{"tree":"{tree}"}},"at":7}}
{{"entry":"left-out","marks":[{{"text":"[result {result}, 3 lines]"}}]}}
{{"entry":"finished","facts":{{"spool":"/elsewhere/output-x.txt"}}}}
{{"entry":"said","message":{{"content":"{said}"}}}}
"#
    );
    case.keep(&text, &mut kept).unwrap();
    let claim = case.claimed_again();
    let (other, kept, known) = case.restored(&claim).unwrap();
    assert_eq!(kept.latest, Some(tree));
    let mut output = String::new();
    let named: Vec<String> = case.at.client().query_one("SELECT nodes FROM uwf.journal", &[]).unwrap().get(0);
    assert_eq!(named.len(), 3);
    for hash in named.iter().map(|name| name.parse::<Hash>().unwrap()) {
        std::io::Read::read_to_string(&mut other.store().blob(&hash).unwrap(), &mut output).unwrap();
        assert!(known.contains(&hash));
    }
    for text in ["tree", "result", "the full output"] {
        assert!(output.contains(text), "{output}");
    }
    assert_eq!(output.len(), "treeresultthe full output".len());
}

#[test]
fn a_step_that_somebody_has_gone_past_elsewhere_leaves_nothing_in_a_later_one() {
    let Some(mut case) = Case::new() else { return };
    let (store, mut kept) = (case.place.store(), Lengths::new());
    let tree = store.put_text("half made").unwrap();
    case.keep(
        &format!("{{\"entry\":\"snapshot\",\"snapshot\":{{\"tree\":\"{tree}\"}},\"at\":7}}\n"),
        &mut kept,
    )
    .unwrap();
    // Its worker was killed, and somebody has made this step on another machine, and pushed it.
    let thread = case.claim.lease.thread;
    let step = case.place.step(&thread, None, "writer", &serde_json::json!({"$status": "again"}));
    uwf_engine::thread::advance(&store, &thread, &case.claim.head, &step, &uwf_engine::thread::Status::Idle)
        .unwrap();
    let over = "UPDATE uwf.thread SET lease_until = clock_timestamp() - interval '1 s'";
    case.at.client().execute(over, &[]).unwrap();
    // Nobody else frees it.
    assert_eq!(
        sync::push(&mut case.at, &store, &thread, Some("writer")).unwrap(),
        sync::Pushed::Moved { steps: 1 }
    );
    let claim = queue::claim(&mut case.at, &claimant("b")).unwrap().unwrap();
    assert_eq!((claim.head, case.rows().len()), (step, 1));
    let (other, kept, _) = case.restored(&claim).unwrap();
    assert_eq!((kept, case.rows().len()), (Restored::default(), 0));
    assert!(!case.file(&other).exists());
}

#[test]
fn only_a_turn_that_was_paid_for_counts_as_progress_and_a_failed_step_takes_it_back() {
    let Some(mut case) = Case::new() else { return };
    let mut kept = Lengths::new();
    let (run, turn) = ("{\"entry\":\"run\"}\n", "{\"entry\":\"answered\"}\n");
    case.keep(run, &mut kept).unwrap();
    assert_eq!(case.attempts(), 1);
    case.keep(&format!("{run}{turn}"), &mut kept).unwrap();
    assert_eq!((case.attempts(), kept[&case.name]), (0, (run.len() + turn.len()) as u64));
    let lease = case.claim.lease;
    forget_attempt(&mut case.at, &lease, 1).unwrap();
    assert_eq!((case.attempts(), case.rows().len()), (1, 0));
}

#[test]
fn only_whole_lines_of_this_step_that_are_in_the_file_are_kept() {
    let Some(mut case) = Case::new() else { return };
    let mut kept = Lengths::new();
    case.keep("one\ntwo\n", &mut kept).unwrap();
    assert!(refusal(case.keep_to(20, &mut kept)).contains("it has 8 bytes, not 20"));
    assert!(refusal(case.keep_to(4, &mut kept)).contains("8 bytes of it are kept, not 4"));
    assert!(refusal(case.keep("one\ntwo\nthr", &mut kept)).contains("no line of it ends at 11"));
    let own = case.name.clone();
    case.name.head = "0123456789ABC".parse().unwrap();
    assert!(refusal(case.keep("one\n", &mut kept)).contains("the step goes on from"));
    case.name = JournalName { thread: ThreadId::new(9), ..own };
    assert!(refusal(case.keep("one\n", &mut kept)).contains("none that plays for this one"));
    assert_eq!(case.rows().len(), 1);
}

#[test]
fn what_an_earlier_run_has_left_here_gives_way_to_what_the_remote_has() {
    let Some(mut case) = Case::new() else { return };
    case.append(0, "one\n").unwrap();
    let claim = case.claimed_again();
    let (other, ..) = case.restored(&claim).unwrap();
    let (store, home) = (other.store(), other.homes().uwf);
    assert!(heads::is_brought(&store, &claim.lease.thread).unwrap());
    // It was killed before these lines came to the remote, and others went on.
    let unsent = JournalName { session: ThreadId::new(99), ..case.name.clone() };
    fs::write(journals::directory(&home).join(unsent.to_string()), "unsent\n").unwrap();
    fs::write(case.file(&other), "one\ntwo\n").unwrap();
    let standing = heads::RemoteHead::of(&store, &claim.lease.thread).unwrap();
    restore(&mut case.at, (&store, &home), (&claim.lease, &standing), &mut HashSet::new()).unwrap();
    assert_eq!(fs::read_to_string(case.file(&other)).unwrap(), "one\n");
    assert_eq!(fs::read_dir(journals::directory(&home)).unwrap().count(), 1);
}

#[test]
fn agents_are_answered_and_a_worker_that_is_gone_is_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let lease = Lease { thread: ThreadId::new(1), fence: 3 };
    let head = "0123456789ABC".parse().unwrap();
    let name = JournalName { thread: lease.thread, head, session: ThreadId::new(2) };
    let request = |length| KeepRequest { name: name.clone(), length };
    let keeper = Keeper::open(dir.path(), &lease).unwrap();
    assert!(Keeper::open(dir.path(), &lease).is_ok(), "what a killed worker left is in nobody's way");
    drop(keeper);
    let keeper = Keeper::open(dir.path(), &lease).unwrap();
    let path = keeper.path().to_owned();
    let mut asked = Vec::new();
    let mut keep = |request: &KeepRequest| {
        asked.push(request.length);
        match request.length {
            7 => KeepAnswer::Refused("no more".into()),
            _ => KeepAnswer::Kept { until: Duration::from_secs(1 << 40) },
        }
    };
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| keeper.serve(&mut keep));
        let sinks = [(); 2].map(|()| JournalSink::connect(&path).unwrap());
        for length in [1, 2, 3] {
            for sink in &sinks {
                sink.ask(&request(length)).unwrap();
                sink.wait().unwrap();
            }
        }
        // Who says what is no question is not heard any more; others are.
        let mut stranger = std::os::unix::net::UnixStream::connect(&path).unwrap();
        std::io::Write::write_all(&mut stranger, b"give me all\n").unwrap();
        assert_eq!(std::io::Read::read(&mut stranger, &mut [0; 9]).unwrap(), 0);
        sinks[0].ask(&request(7)).unwrap();
        assert_eq!(sinks[0].wait().unwrap_err().to_string(), "no more");
        keeper.close();
        serving.join().unwrap().unwrap();
        // Nobody answers any more; the connection ends with its worker.
        assert!(sinks[1].ask(&request(4)).and_then(|()| sinks[1].wait()).is_err());
    });
    assert_eq!(asked, [1, 1, 2, 2, 3, 3, 7]);
    drop(keeper);
    assert!(JournalSink::connect(&path).is_err() && !path.exists());
}
