//! Long runs: windows that fill up, circles, money.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde_json::{Value, json};

use crate::endpoint::{Asked, Endpoint, approved, call, text};
use crate::process::signal;
use crate::site::{AGENT, Said, Site, example};

fn reviewer(site: &Site, more: &[&str]) -> Said {
    let workflow = example("solve-issue/workflow.yaml");
    let mut args = vec!["run", &workflow, "--role", "reviewer", "-p", "Look", "--format", "json"];
    args.extend(more);
    site.agent(&args)
}

fn against(site: &Site, endpoint: &Endpoint, settings: &str) -> Said {
    let url = &endpoint.url;
    let provider = format!("provider: {{ baseUrl: {url}, stream: false }}\nmodel: m\n{settings}");
    site.write("home/.uwf/agents/builtin.yaml", &provider);
    reviewer(site, &[])
}

/// The turns of the record, in order.
fn record(site: &Site, reply: &Value) -> Vec<Value> {
    let node =
        |hash: &Value| site.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json()["payload"].clone();
    node(&reply["detailHash"])["messages"].as_array().unwrap().iter().map(node).collect()
}

fn kinds(record: &[Value], kind: &str) -> usize {
    record.iter().filter(|turn| turn["kind"] == kind).count()
}

/// A file of 4 KB for each turn.
fn files(site: &Site, count: usize) {
    for n in 0..count {
        site.write(&format!("work/f{n}.txt"), &format!("file {n}: {}\n", "word ".repeat(11)).repeat(64));
    }
}

/// How often a request does not begin with the messages of the one before.
fn breaks(asked: &[Asked]) -> Vec<usize> {
    let breaks = |n: &usize| !asked[*n].messages().starts_with(asked[n - 1].messages());
    (1..asked.len()).filter(breaks).collect()
}

#[test]
fn between_two_maskings_each_request_begins_with_the_one_before() {
    let site = Site::new();
    files(&site, 30);
    let endpoint = Endpoint::new(|n, _| match n {
        0..30 => (200, call(n, "read_file", &json!({"path": format!("f{n}.txt")}))),
        _ => (200, approved()),
    });
    let reply = against(&site, &endpoint, "contextWindow: 24000\n").ok().json();
    let asked = endpoint.asked();
    assert_eq!(asked.len(), 31);
    let breaks = breaks(&asked);
    let record = record(&site, &reply);
    assert!((2..=4).contains(&breaks.len()), "in batches: {breaks:?}");
    assert_eq!(kinds(&record, "left-out"), breaks.len());
    for (before, after) in asked.iter().zip(&asked[1..]) {
        let tokens = after.body.len() / 4;
        assert!(tokens < 24_000, "{tokens} tokens");
        let opening = |asked: &Asked| (0..2).map(|n| asked.json()["messages"][n].clone()).collect::<Vec<_>>();
        assert_eq!(opening(after), opening(before));
    }
    let last = asked.last().unwrap();
    assert!(last.body.contains(" lines: read again with tool_output]"), "{}", last.body);
    assert!(last.body.contains("file 29: word"), "what is new stays");
    // Nothing is lost: the record has every result, and the store has each under the name that the mark gives.
    for n in 0..30 {
        let said = |turn: &Value| match turn["contentRef"].as_str() {
            Some(hash) => site.uwf(&["cas", "get", hash]).ok().json()["payload"].clone(),
            None => turn["content"].clone(),
        };
        let whole = |turn: &&Value| said(turn).as_str().unwrap().contains(&format!("file {n}: word"));
        assert_eq!(record.iter().filter(whole).count(), 1);
    }
    let left_out = record.iter().find(|turn| turn["kind"] == "left-out").unwrap();
    let marks: Value = serde_json::from_str(left_out["content"].as_str().unwrap()).unwrap();
    let mark = marks["call00000"].as_str().unwrap();
    let hash = mark.strip_prefix("[result ").unwrap().split(',').next().unwrap();
    let kept = site.uwf(&["cas", "get", hash]).ok().json()["payload"].clone();
    assert!(kept.as_str().unwrap().contains("file 0: word"), "{kept}");
    let result = record.iter().find(|turn| turn["callId"] == "call00000").unwrap();
    assert_eq!(result["contentRef"], hash, "collecting keeps it");
    site.verify();
}

#[test]
fn a_run_that_goes_on_after_a_masking_sends_the_same_bytes() {
    let site = Site::new();
    files(&site, 14);
    let agent = Arc::new(AtomicU32::new(0));
    let victim = Arc::clone(&agent);
    let endpoint = Endpoint::new(move |n, asked| {
        if n == 12 {
            signal("-KILL", victim.load(Relaxed));
        }
        let file = (0..14).find(|n| !asked.messages().contains(&format!("f{n}.txt")));
        match file {
            Some(n) => (200, call(n, "read_file", &json!({"path": format!("f{n}.txt")}))),
            None => (200, approved()),
        }
    });
    let url = &endpoint.url;
    let provider = format!("provider: {{ baseUrl: {url}, stream: false }}\nmodel: m\ncontextWindow: 16000\n");
    site.write("home/.uwf/agents/builtin.yaml", &provider);
    let workflow = example("solve-issue/workflow.yaml");
    let mut command = site.command(AGENT);
    command.args(["run", &workflow, "--role", "reviewer", "-p", "Look", "--format", "json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    agent.store(child.id(), Relaxed);
    let killed = Said::of(child.wait_with_output().unwrap()).code(-1);
    let thread = killed.err.lines().find_map(|line| line.strip_prefix("thread ")).unwrap();
    assert_eq!(endpoint.asked().len(), 13);
    site.agent(&["run", "--continue", thread, "--format", "json"]).ok();
    let asked = endpoint.asked();
    assert!(asked[12].messages().contains("read again with tool_output]"), "something is left out");
    assert_eq!(asked[13].body, asked[12].body);
    site.verify();
}

#[test]
fn what_was_left_out_can_be_read_again() {
    let site = Site::new();
    files(&site, 12);
    let endpoint = Endpoint::new(|n, asked| match n {
        0..12 => (200, call(n, "read_file", &json!({"path": format!("f{n}.txt")}))),
        12 => {
            let messages = asked.json()["messages"].clone();
            let mark = messages[3]["content"].as_str().unwrap().to_owned();
            let hash = mark.strip_prefix("[result ").unwrap().split(',').next().unwrap().to_owned();
            (200, call(n, "tool_output", &json!({"hash": hash, "limit": 3})))
        }
        _ => (200, approved()),
    });
    against(&site, &endpoint, "contextWindow: 16000\n").ok();
    let asked = endpoint.asked();
    assert!(asked[13].messages().ends_with("\"tool_call_id\":\"call00012\"}"));
    let last = asked[13].json()["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert!(last.as_str().unwrap().contains("file 0: word"), "{last}");
}

#[test]
fn words_that_cannot_be_left_out_are_summed_up() {
    let site = Site::new();
    let long = "a long consideration ".repeat(200);
    let endpoint = Endpoint::new(move |n, asked| {
        let last = asked.json()["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        if last.as_str().unwrap().contains("Write a summary of your work") {
            return (200, text("- I saw that f0.txt has the words of turn 0."));
        }
        let mut turn = call(n, "list_dir", &json!({"path": ".", "depth": 1 + n % 7}));
        turn["choices"][0]["message"]["content"] = json!(format!("turn {n}: {long}"));
        if n < 14 { (200, turn) } else { (200, approved()) }
    });
    let reply = against(&site, &endpoint, "contextWindow: 16000\n").ok().json();
    let record = record(&site, &reply);
    let times = kinds(&record, "summed-up");
    assert!((1..=2).contains(&times), "{times}");
    assert_eq!(kinds(&record, "summary"), 2 * times, "the question and the answer");
    let asked = endpoint.asked();
    let last = asked.last().unwrap().json();
    let said: Vec<&str> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert!(said[1].contains("Look"), "the task stays");
    assert!(said[2].contains("I saw that f0.txt"), "then the summary: {}", said[2]);
    assert!(!said.iter().any(|text| text.starts_with("turn 0:")), "what it sums up is gone");
    assert!(said.iter().any(|text| text.starts_with("turn 13:")), "the last messages stay");
    site.verify();
}

#[test]
fn a_model_that_writes_no_summary_loses_nothing() {
    let site = Site::new();
    let long = "a long consideration ".repeat(200);
    let endpoint = Endpoint::new(move |n, asked| {
        let mut turn = call(n, "list_dir", &json!({"path": ".", "depth": 1 + n % 7}));
        turn["choices"][0]["message"]["content"] = json!(format!("turn {n}: {long}"));
        match asked.messages().contains("Write a summary of your work") {
            true => (200, call(n, "list_dir", &json!({"path": "."}))),
            false if n < 14 => (200, turn),
            false => (200, approved()),
        }
    });
    let reply = against(&site, &endpoint, "contextWindow: 16000\n").ok().json();
    let record = record(&site, &reply);
    let times = kinds(&record, "summed-up");
    assert!((1..=3).contains(&times), "it is not asked at every turn: {times}");
    let asked = endpoint.asked();
    let last = asked.last().unwrap().messages();
    assert!(last.contains("turn 0: a long"), "what was done stays");
    assert!(!last.contains("Write a summary of your work"), "the question goes");
    site.verify();
}

#[test]
fn an_endpoint_whose_window_is_smaller_than_was_said_is_asked_once_more() {
    let site = Site::new();
    files(&site, 8);
    let too_long = || {
        let message = "This model's maximum context length is 6000 tokens.";
        (400, json!({"error": {"message": message, "code": "context_length_exceeded"}}))
    };
    let endpoint = Endpoint::new(move |n, asked| match asked.body.len() {
        40_000.. => too_long(),
        _ if asked.messages().contains("f7.txt") => (200, approved()),
        _ => {
            let n = (0..8).find(|n| !asked.messages().contains(&format!("f{n}.txt"))).unwrap_or(n);
            (200, call(n, "read_file", &json!({"path": format!("f{n}.txt")})))
        }
    });
    let reply = against(&site, &endpoint, "").ok().json();
    let asked = endpoint.asked();
    let refused = asked.iter().filter(|one| one.body.len() >= 40_000).count();
    assert_eq!(refused, 1, "the window is learnt");
    assert!(kinds(&record(&site, &reply), "left-out") >= 1);

    let site = Site::new();
    let never = Endpoint::new(move |_, _| too_long());
    let said = against(&site, &never, "").code(5);
    assert_eq!(never.asked().len(), 1, "there is nothing to leave out");
    assert!(said.err.contains("longer than the model's context window"), "{}", said.err);
}

#[test]
fn a_run_in_circles_is_told_and_then_ended() {
    let site = Site::new();
    let grep = "  - tool_calls: [{ name: grep, arguments: { pattern: nowhere } }]\n";
    let told = "    expect: { last_contains: 3 times }\n";
    let grace = "    expect: { last_contains: This is your last turn }\n";
    let answer = "  - content: |\n      ---\n      $status: approved\n      ---\n";
    let mock = site.write("m.yaml", &format!("turns:\n{}{grep}{told}{grep}{answer}{grace}", grep.repeat(3)));
    let reply = reviewer(&site, &["--mock", &mock]).ok().json();
    let kept = record(&site, &reply);
    assert_eq!((kinds(&kept, "repeated"), kinds(&kept, "grace")), (1, 1));

    let prose = "  - content: I do not know.\n";
    let mock = site.write("n.yaml", &format!("turns:\n{}{prose}", grep.repeat(5)));
    let said = reviewer(&site, &["--mock", &mock]).code(4);
    let reply = said.json();
    assert_eq!(reply["frontmatter"]["phase"], "budget");
    let error = reply["errorMessage"].as_str().unwrap();
    assert!(error.contains("in circles: grep came 5 times"), "{error}");
    site.verify();
}

#[test]
fn money_ends_a_run_and_is_on_record() {
    let site = Site::new();
    let usage = json!({"prompt_tokens": 100_000, "completion_tokens": 1_000, "prompt_tokens_details": {"cached_tokens": 60_000}});
    let endpoint = Endpoint::new(move |n, _| {
        let mut turn = if n < 4 { call(n, "list_dir", &json!({"depth": n + 1})) } else { approved() };
        turn["usage"] = usage.clone();
        (200, turn)
    });
    // A turn: 40,000 × $1 + 60,000 × $0.10 + 1,000 × $4 a million = $0.05.
    let settings = "contextWindow: 1000000\nprices: { m: { input: 1, output: 4, cachedInput: 0.1 } }\nbudget: { usd: 0.2 }\n";
    let reply = against(&site, &endpoint, settings).ok().json();
    let asked = endpoint.asked();
    assert_eq!(asked.len(), 5, "four turns and the grace turn");
    assert!(asked[4].messages().contains("$0.2000 of $0.2000"), "{}", asked[4].messages());
    let detail =
        site.uwf(&["cas", "get", reply["detailHash"].as_str().unwrap()]).ok().json()["payload"].clone();
    assert_eq!(detail["cost"], 0.25);
    assert_eq!(detail["settings"]["prices"]["cachedInput"], 0.1);
    against(&Site::new(), &endpoint, "budget: { usd: 1 }\n")
        .fails(1, &["no price for the model m", "prices:"]);
    assert_eq!(endpoint.asked().len(), 5, "it is refused before anything is asked");
}
