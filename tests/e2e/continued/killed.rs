//! SIGKILL at forty points: after chosen lines of the journal, in the middle of a line, and at any time.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{SEQUENCE, Work, lines, of_kind, script};

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

/// The forty points, the same ones every time; the undisturbed run tells how far they spread.
fn points(lines: usize, bytes: u64, time: Duration) -> Vec<When> {
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let first = (0..20).map(|n| When::Lines(1 + n * lines / 20));
    // The store's own files need some room, too.
    let from = (bytes / 3).max(34_000);
    let torn: Vec<When> = (0..10).map(|_| When::Bytes(from + random(bytes - from))).collect();
    let nanos = u64::try_from(time.as_nanos()).unwrap();
    let timed: Vec<When> = (0..10).map(|_| When::Time(Duration::from_nanos(random(nanos)))).collect();
    first.chain(torn).chain(timed).collect()
}

impl Work {
    /// Begins the run and has it killed; whether it came to its end before.
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
                When::Lines(lines) => self.lines().len() >= lines,
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
}

fn result(work: &Work, reply: &Value) -> Result {
    let usage = ["turns", "inputTokens", "outputTokens"].map(|key| reply["usage"][key].clone());
    let node =
        |hash: &Value| work.site.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json()["payload"].clone();
    let detail = node(&reply["detailHash"]);
    let lines = work.lines();
    let recorded = detail["messages"].as_array().unwrap().len();
    let said: Vec<&Value> = lines.iter().filter(|line| line.get("message").is_some()).collect();
    assert_eq!(recorded, said.len(), "the record is the conversation");
    let ids = |line: &Value| match &line["message"]["toolCallId"] {
        Value::Null => line["message"]["tool_call_id"].clone(),
        id => id.clone(),
    };
    Result {
        files: ["a.txt", "b.txt", "new.txt", "copy.txt"].map(|name| (name, work.file(name))).into(),
        frontmatter: reply["frontmatter"].clone(),
        body: reply["body"].clone(),
        usage,
        messages: said.iter().map(|line| (line["message"]["role"].clone(), ids(line))).collect(),
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

fn kill_and_continue(work: &mut Work, when: When, undisturbed: &Result) {
    work.begin_anew();
    work.killed(when);
    let answered = of_kind(&work.lines(), "answered").count() as u64;
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
    check_calls(&work, When::Time(time));
    let lines = work.lines();
    let spooled = of_kind(&lines, "finished").any(|line| {
        let text = line["message"]["content"].as_str().unwrap();
        text.contains("3000") && text.contains("3001") && !text.contains("2999")
    });
    assert!(spooled, "{SEQUENCE} names what seq prints");

    let bytes = work.journals()[0].metadata().unwrap().len();
    let points = points(lines.len(), bytes, time);
    assert_eq!(points.len(), 40);
    let undisturbed = &undisturbed;
    std::thread::scope(|scope| {
        for part in points.chunks(points.len().div_ceil(2)) {
            scope.spawn(move || {
                let mut work = Work::new(&script());
                part.iter().for_each(|when| kill_and_continue(&mut work, *when, undisturbed));
                work.site.verify();
            });
        }
    });
}
