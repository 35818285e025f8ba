//! SIGKILL at forty points: after chosen lines of the journal, in the middle of a line, and at any time. With
//! `SWEEP_POINTS=200` in the environment at so many.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kept::collect;
use super::{SEQUENCE, Work, lines, of_kind, script};

/// At how many points, where nobody says how many.
const POINTS: usize = 40;

/// After so many points the store is collected before the run goes on.
const COLLECTED: usize = 5;

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum When {
    /// As soon as the journal has so many lines.
    Lines(usize),
    /// When the journal has so many bytes: the line that goes beyond is torn there.
    Bytes(u64),
    /// So long after its start.
    Time(Duration),
}

/// So many points, the same ones every time, each another one: as many as there are lines, at most half; of the others
/// two thirds in the middle of a line. The undisturbed run tells how far they spread.
fn points(count: usize, (lines, bytes, time): (usize, u64, Duration)) -> Vec<When> {
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let at_lines: BTreeSet<usize> = (0..count / 2).map(|n| 1 + n * lines / (count / 2)).collect();
    let torn_count = (count - at_lines.len()) * 2 / 3;
    // The store's own files need some room, too.
    let from = (bytes / 3).max(34_000);
    let mut torn = BTreeSet::new();
    while torn.len() < torn_count {
        torn.insert(from + random(bytes - from));
    }
    let nanos = u64::try_from(time.as_nanos()).unwrap();
    let mut timed = BTreeSet::new();
    while timed.len() < count - at_lines.len() - torn_count {
        timed.insert(random(nanos));
    }
    let torn = torn.into_iter().map(When::Bytes);
    let timed = timed.into_iter().map(|nanos| When::Time(Duration::from_nanos(nanos)));
    at_lines.into_iter().map(When::Lines).chain(torn).chain(timed).collect()
}

impl Work {
    /// Begins the run and has it killed, unless it came to its end before.
    fn killed(&self, when: When) {
        let mut command = match when {
            When::Bytes(bytes) => {
                let mut command = self.site.command("prlimit");
                command.arg(format!("--fsize={bytes}")).arg(crate::site::AGENT).args(self.args());
                command
            }
            _ => self.agent(),
        };
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            let due = match when {
                When::Lines(lines) => self.line_count() >= lines,
                When::Time(time) => begun.elapsed() >= time,
                When::Bytes(_) => false,
            };
            assert!(begun.elapsed() < Duration::from_secs(60), "{when:?}: it hangs");
            if due {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        child.wait().unwrap();
    }

    /// How many lines the youngest journal has, without reading what they say.
    fn line_count(&self) -> usize {
        let bytes = self.journals().last().and_then(|journal| std::fs::read(journal).ok());
        bytes.unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
    }

    fn node(&self, hash: &Value) -> Value {
        self.site.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json()["payload"].clone()
    }
}

/// What must not depend on whether a run was disturbed.
#[derive(Debug, PartialEq)]
struct Result {
    files: BTreeMap<&'static str, String>,
    frontmatter: Value,
    body: Value,
    usage: [Value; 3],
    /// Who spoke, and which call it was about.
    messages: Vec<(Value, Value)>,
    /// Which files tools changed. What a call that was cut off made of one is told by the trees alone.
    changed: Vec<Value>,
    /// The workspace as it was before the run, and after it but for the log of commands, with every content and mode.
    before: Value,
    after: Value,
}

fn result(work: &Work, reply: &Value) -> Result {
    let usage = ["turns", "inputTokens", "outputTokens"].map(|key| reply["usage"][key].clone());
    let detail = work.node(&reply["detailHash"]);
    let lines = work.lines();
    let recorded = detail["messages"].as_array().unwrap().len();
    let said: Vec<&Value> = lines.iter().filter(|line| line.get("message").is_some()).collect();
    assert_eq!(recorded, said.len(), "the record is the conversation");
    let ids = |line: &Value| match &line["message"]["toolCallId"] {
        Value::Null => line["message"]["tool_call_id"].clone(),
        id => id.clone(),
    };
    let snapshots = &detail["snapshots"];
    assert!(snapshots["failed"].is_null(), "{snapshots}");
    let mut after = work.node(&snapshots["after"]["tree"]);
    after["entries"].as_object_mut().unwrap().remove("log").unwrap();
    Result {
        files: ["a.txt", "b.txt", "new.txt", "copy.txt"].map(|name| (name, work.file(name))).into(),
        frontmatter: reply["frontmatter"].clone(),
        body: reply["body"].clone(),
        usage,
        messages: said.iter().map(|line| (line["message"]["role"].clone(), ids(line))).collect(),
        changed: detail["changes"].as_array().unwrap().iter().map(|change| change["path"].clone()).collect(),
        before: snapshots["before"].clone(),
        after,
    }
}

/// Each call has started once and is answered once; what is said to have finished ran once, what was cut off at most
/// once.
fn check_calls(work: &Work, when: When) {
    let lines = work.lines();
    let log = work.file("log");
    for call in of_kind(&lines, "answered")
        .flat_map(|line| line["message"]["tool_calls"].as_array().cloned().unwrap_or_default())
    {
        let id = &call["id"];
        let started = of_kind(&lines, "started").filter(|line| line["callId"] == *id).count();
        let finished: Vec<&Value> =
            of_kind(&lines, "finished").filter(|line| line["message"]["tool_call_id"] == *id).collect();
        assert_eq!((started, finished.len()), (1, 1), "{when:?}: {call}");
        let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
        let Some(number) = arguments["command"].as_str().and_then(|command| command.split(' ').nth(1)) else {
            continue;
        };
        let ran = log.lines().filter(|line| *line == number).count();
        let text = finished[0]["message"]["content"].as_str().unwrap();
        let cut_off = text.contains("may or may not have taken effect");
        assert!(ran == 1 || cut_off && ran == 0, "{when:?}: command {number} ran {ran} times: {text}");
    }
}

fn kill_and_continue(work: &mut Work, (when, collected): (When, bool), undisturbed: &Result) {
    work.begin_anew();
    work.killed(when);
    let answered = of_kind(&work.lines(), "answered").count() as u64;
    if collected {
        collect(work);
    }
    let said = work.run().ok();
    let asked = work.asked();
    for turn in 0..12 {
        let times = asked[&turn];
        assert!(
            times == 1 || turn == answered && times == 2,
            "{when:?}: turn {turn} was asked for {times} times"
        );
    }
    assert_eq!(asked.len(), 12, "{when:?}");
    let reply = said.reply();
    assert_eq!(result(work, &reply), *undisturbed, "{when:?}: {}", said.err);
    check_calls(work, when);
    let journals = work.journals();
    let (_, before) = journals.split_last().unwrap();
    let begun = before.iter().filter(|journal| of_kind(&lines(journal), "answered").count() > 0);
    assert_eq!(begun.count(), 0, "{when:?}: only a run that had not asked anything is begun again");
}

#[test]
fn a_run_that_is_killed_anywhere_ends_as_if_nothing_had_happened() {
    let work = Work::new(&script());
    let begun = Instant::now();
    let reply = work.run().ok().reply();
    let time = begun.elapsed();
    assert_eq!((&reply["frontmatter"]["files"], &reply["usage"]["turns"]), (&json!(4), &json!(12)));
    let undisturbed = result(&work, &reply);
    assert_eq!(undisturbed.files["a.txt"], "final\n");
    assert_eq!(undisturbed.files["b.txt"], "was read long ago\n");
    assert_eq!(undisturbed.files["copy.txt"], "two\n");
    assert_eq!(undisturbed.after["entries"].as_object().unwrap().len(), 5, "four files and a directory");
    check_calls(&work, When::Time(time));
    let lines = work.lines();
    assert_eq!(of_kind(&lines, "snapshot").count(), 6, "before it, after each command, and at its end");
    let spooled = of_kind(&lines, "finished").any(|line| {
        let text = line["message"]["content"].as_str().unwrap();
        text.contains("3000") && text.contains("3001") && !text.contains("2999")
    });
    assert!(spooled, "{SEQUENCE} names what seq prints");

    let bytes = work.journals()[0].metadata().unwrap().len();
    let count = std::env::var("SWEEP_POINTS").map_or(POINTS, |count| count.parse().unwrap());
    let points = points(count, (lines.len(), bytes, time));
    assert_eq!(points.len(), count);
    let points: Vec<(When, bool)> =
        points.into_iter().enumerate().map(|(n, when)| (when, n % COLLECTED == 0)).collect();
    let undisturbed = &undisturbed;
    std::thread::scope(|scope| {
        for part in points.chunks(points.len().div_ceil(2)) {
            scope.spawn(move || {
                let mut work = Work::new(&script());
                part.iter().for_each(|point| kill_and_continue(&mut work, *point, undisturbed));
                work.site.verify();
            });
        }
    });
}
