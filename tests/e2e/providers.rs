//! Whole runs against every vendor's dialect: the servers of `vendors` refuse whatever their vendor would refuse.
//!
//! Each run is of seven turns and more: calls side by side, turns with and without thoughts, a text that is no answer, an
//! answer that is sent back, old results that are left out, the last turn without tools, and an end in the middle of it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::site::{AGENT, Said, Site};
use crate::vendors::{Fault, Kind, Mode, Seen, Turn, Vendor};

const WORKFLOW: &str = "\
name: providers
description: One role
roles:
  worker:
    goal: You work.
    frontmatter: { type: object, required: [$status, files], properties: { $status: { const: done }, files: { type: integer } } }
graph:
  $START:
    new: { role: worker, prompt: Work. }
  worker:
    done: { role: $END, prompt: Done. }
";

const ANSWER: &str = "---\n$status: done\nfiles: 3\n---\nAll of it.\n";

/// Each vendor, and what settings call its dialect; `None` is found by the path of the base URL, or is the usual one.
const KINDS: [(Kind, Option<&str>); 22] = [
    (Kind::OpenAi, Some("openai")),
    (Kind::Azure, Some("azure")),
    (Kind::Xai, Some("xai")),
    (Kind::AnthropicAdaptive, Some("anthropic")),
    (Kind::AnthropicEnabled, Some("anthropic")),
    (Kind::Bedrock, None),
    (Kind::MiniMaxMessages, None),
    (Kind::DeepSeekMessages, None),
    (Kind::Gemini, Some("google")),
    (Kind::OpenRouterClaude, Some("openrouter-marks")),
    (Kind::OpenRouterGemini, Some("openrouter")),
    (Kind::DeepSeek, Some("deepseek")),
    (Kind::Moonshot, Some("moonshot")),
    (Kind::Zai, Some("zai")),
    (Kind::MiniMax, Some("minimax")),
    (Kind::Qwen, Some("qwen")),
    (Kind::Mistral, Some("mistral")),
    (Kind::Groq, Some("groq")),
    (Kind::Cerebras, Some("cerebras")),
    (Kind::Ollama, None),
    (Kind::Vllm, None),
    (Kind::Generic, None),
];

/// A place with some files to read, and the settings for a vendor.
struct Work {
    site: Site,
    workflow: String,
}

impl Work {
    fn new() -> Work {
        let site = Site::in_memory();
        let lines =
            |word: &str| (0..600).map(|n| format!("{word} {n}: the quick brown fox\n")).collect::<String>();
        for (name, text) in [("a.txt", lines("a")), ("b.txt", lines("b")), ("c.txt", "small\n".to_owned())] {
            site.write(&format!("work/{name}"), &text);
        }
        let workflow = site.write("workflow.yaml", WORKFLOW);
        Work { site, workflow }
    }

    /// Connects it, with `more` settings of the provider and of the file.
    fn connect(&self, vendor: &Vendor, mode: &Mode, provider: &str, more: &str) {
        let text = format!(
            "provider: {{ baseUrl: '{}', apiKey: key-of-the-vendor{provider} }}\nmodel: '{}'\n{more}",
            vendor.url, mode.model
        );
        self.site.write("home/.uwf/agents/builtin.yaml", &text);
    }

    fn run(&self, options: &[&str]) -> Said {
        let args = ["run", &self.workflow, "--role", "worker", "-p", "Work.", "--format", "json"];
        self.site.agent(&[&args[..], options].concat())
    }
}

fn dialect(name: Option<&str>) -> String {
    name.map(|name| format!(", dialect: {name}")).unwrap_or_default()
}

fn read(path: &str) -> Turn {
    Turn::call("read_file", json!({ "path": path }))
}

fn may_call(seen: &Seen) -> bool {
    let choice = &seen.body["tool_choice"];
    choice != "none" && choice["type"] != "none"
}

fn is_summary(seen: &Seen) -> bool {
    seen.last.contains("Write a summary of your work")
}

/// A model that does everything that a model may do.
fn works(seen: &Seen) -> Turn {
    if is_summary(seen) {
        return Turn::text("- What was done so far, in short.");
    }
    match seen.turn {
        _ if !may_call(seen) => Turn::text(ANSWER),
        0 => read("a.txt").and("list_dir", json!({})).thinking("Let me look at both."),
        1 => Turn::call("grep", json!({"pattern": "fox", "path": "c.txt"})),
        2 => read("b.txt").and("read_file", json!({"path": "c.txt"})).thinking("And the rest.").interleaved(),
        3 => read("c.txt").saying("One more."),
        4 => Turn::text("I am done.").thinking("That was all."),
        5 => Turn::text("---\n$status: done\nfiles: many\n---\nAll.\n"),
        _ => Turn::text(ANSWER).thinking("A number, then."),
    }
}

/// A model that never stops by itself.
fn goes_on(seen: &Seen) -> Turn {
    match seen.turn {
        _ if !may_call(seen) => Turn::text(ANSWER),
        turn if turn % 2 == 0 => {
            read("c.txt").and("grep", json!({"pattern": format!("a {turn}")})).thinking("Hm.")
        }
        turn => Turn::call("grep", json!({"pattern": format!("b {turn}")})),
    }
}

fn answered(said: Said, vendor: &Vendor, what: &str) -> Value {
    assert_eq!(said.code, 0, "{what}: {}\n{}\n{:#?}", said.out, said.err, vendor.refusals());
    let reply = said.json();
    assert_eq!(reply["frontmatter"], json!({"$status": "done", "files": 3}), "{what}");
    reply
}

/// Runs against each vendor, as a stream and not; the table knows each, so nothing is refused.
fn against_each(options: &[&str], more: &str, script: fn(&Seen) -> Turn, check: fn(&Vendor, &Value, &str)) {
    for (kind, name) in KINDS {
        for stream in [true, false] {
            let work = Work::new();
            let mode = Mode::new(kind).ordered().max_output(128_000);
            let vendor = Vendor::answering(mode.clone(), script);
            let provider = format!(", stream: {stream}{}", dialect(name));
            work.connect(&vendor, &mode, &provider, more);
            let what = format!("{kind:?}, stream: {stream}");
            let reply = answered(work.run(options), &vendor, &what);
            let refusals = vendor.refusals();
            // What nothing knows of learns as it goes, once.
            let learns = matches!(kind, Kind::Generic | Kind::Bedrock | Kind::DeepSeekMessages);
            assert!(refusals.is_empty() || (learns && refusals.len() <= 2), "{what}: {refusals:#?}");
            check(&vendor, &reply, &what);
            work.site.verify();
        }
    }
}

#[test]
fn every_vendor_takes_a_whole_run() {
    against_each(&[], "contextWindow: 100000\n", works, |_, reply, what| {
        assert_eq!(reply["usage"]["turns"], 7, "{what}");
    });
}

#[test]
fn every_vendor_takes_reasoning_asked_for() {
    against_each(&["--reasoning-effort", "medium"], "contextWindow: 100000\n", works, |_, reply, what| {
        assert_eq!(reply["usage"]["turns"], 7, "{what}");
    });
}

#[test]
fn every_vendor_takes_what_room_was_made_in() {
    against_each(&["--reasoning-effort", "medium"], "contextWindow: 12000\n", works, |vendor, _, what| {
        let left_out = |asked: &crate::vendors::Asked| asked.body.contains("tool_output");
        let last = vendor.completions().pop().unwrap();
        assert!(left_out(&last) && last.body.contains("lines: read again"), "{what}: nothing was left out");
    });
}

#[test]
fn every_vendor_takes_the_last_turn_without_tools() {
    against_each(&["--max-turns", "6"], "contextWindow: 100000\n", goes_on, |vendor, reply, what| {
        assert_eq!(reply["usage"]["turns"], 7, "{what}");
        let last: Value = serde_json::from_str(&vendor.completions().pop().unwrap().body).unwrap();
        assert!(
            last["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
            "{what}: they stay declared"
        );
    });
}

#[test]
fn every_vendor_takes_a_run_that_was_killed_and_goes_on() {
    for (kind, name) in KINDS {
        let work = Work::new();
        let mode = Mode::new(kind).ordered();
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, &dialect(name), "contextWindow: 12000\n");
        let args = ["run", &work.workflow, "--role", "worker", "-p", "Work.", "--reasoning-effort", "low"];
        let mut command = work.site.command(AGENT);
        let mut child = command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while vendor.completions().iter().filter(|asked| asked.status == 200).count() < 4 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{kind:?}: it hangs");
            assert!(child.try_wait().unwrap().is_none(), "{kind:?}: {:#?}", vendor.refusals());
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let said = Said::of(child.wait_with_output().unwrap());
        let thread = said.err.lines().find_map(|line| line.strip_prefix("thread ")).unwrap().to_owned();
        let said = work.site.agent(&["run", "--continue", &thread, "--format", "json"]);
        let before = vendor.refusals().len();
        answered(said, &vendor, &format!("{kind:?}"));
        assert!(before <= 2, "{kind:?}: {:#?}", vendor.refusals());
        work.site.verify();
    }
}

/// What the table does not know is learnt once, and remembered for the thread.
#[test]
fn a_dialect_that_is_not_known_is_learnt_once_for_a_thread() {
    for (kind, most) in [
        (Kind::OpenAi, 1),
        (Kind::Gemini, 0),
        (Kind::DeepSeek, 1),
        (Kind::Moonshot, 1),
        (Kind::Generic, 1),
        (Kind::Mistral, 2),
    ] {
        let work = Work::new();
        let mode = Mode::new(kind);
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, "", "contextWindow: 100000\n");
        let looped =
            WORKFLOW.replace("done: { role: $END, prompt: Done. }", "done: { role: worker, prompt: Again. }");
        let workflow = work.site.write("loop.yaml", &looped);
        let thread = work.site.start(&workflow, "Work.");
        for step in 1..=2 {
            work.site.uwf(&["thread", "exec", &thread]).ok();
            let refusals = vendor.refusals();
            assert!(refusals.len() <= most, "{kind:?}, step {step}: {refusals:#?}");
        }
        work.site.verify();
    }
}

#[test]
fn an_empty_thought_may_have_to_be_a_blank() {
    for kind in [Kind::DeepSeek, Kind::Moonshot] {
        let work = Work::new();
        let mode = Mode::new(kind).only_a_space();
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, "", "contextWindow: 100000\n");
        answered(work.run(&[]), &vendor, &format!("{kind:?}"));
        assert!(vendor.refusals().len() <= 2, "{:#?}", vendor.refusals());
    }
}

#[test]
fn a_temperature_that_is_refused_is_left_out_and_people_are_told() {
    let work = Work::new();
    let mode = Mode { model: "kimi-of-tomorrow".into(), ..Mode::new(Kind::Moonshot) };
    let vendor = Vendor::answering(mode.clone(), works);
    work.connect(&vendor, &mode, ", dialect: moonshot", "contextWindow: 100000\n");
    let said = work.run(&["--temperature", "0.3"]);
    assert!(said.err.contains("`temperature` is left out from here on"), "{}", said.err);
    answered(said, &vendor, "temperature");
    assert_eq!(vendor.refusals().len(), 1, "{:#?}", vendor.refusals());
}

/// The key: whether one was sent, and from where, is told where it is refused.
#[test]
fn a_key_that_is_missing_is_named() {
    let work = Work::new();
    let mode = Mode::new(Kind::OpenAi);
    let vendor = Vendor::answering(mode.clone(), works);
    let text = format!("provider: {{ baseUrl: '{}', dialect: openai }}\nmodel: gpt-6-sol\n", vendor.url);
    work.site.write("home/.uwf/agents/builtin.yaml", &text);
    let said = work.run(&[]).code(5);
    assert!(said.err.contains("answered 401") && said.err.contains("no key was sent"), "{}", said.err);
    assert!(said.err.contains("(request req_"), "the id of the request, for support: {}", said.err);
}

/// The words of each vendor for a conversation that is too long: the run makes room and goes on.
#[test]
fn every_vendors_word_for_too_long_makes_room() {
    for (kind, name) in KINDS.into_iter().filter(|(kind, _)| *kind != Kind::Ollama) {
        let work = Work::new();
        let mode = Mode::new(kind).ordered().max_output(128_000).window(9000);
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, &dialect(name), "contextWindow: 100000\n");
        let what = format!("{kind:?}");
        answered(work.run(&[]), &vendor, &what);
        let refusals = vendor.refusals();
        assert!((1..=3).contains(&refusals.len()), "{what}: {refusals:#?}");
        assert!(vendor.completions().pop().unwrap().body.contains("lines: read again"), "{what}");
    }
}

/// A stream that is cut off, an error within one, and a vendor that is busy: asked again, and nothing half done.
#[test]
fn every_vendor_may_fail_in_passing() {
    // What is cut off of a refusal teaches nothing: where there is one first, it is another matter.
    for (kind, name) in KINDS.into_iter().filter(|(kind, _)| *kind != Kind::Generic) {
        let work = Work::new();
        let mode = Mode::new(kind)
            .ordered()
            .max_output(128_000)
            .fault(Fault::Cut { events: 3 })
            .fault(Fault::InStream { events: 2 })
            .fails(1, 503, &[("retry-after-ms", "5")], "Overloaded");
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, &dialect(name), "contextWindow: 100000\n");
        let reply = answered(work.run(&[]), &vendor, &format!("{kind:?}"));
        assert_eq!(reply["usage"]["turns"], 7, "{kind:?}");
    }
}

#[test]
fn a_vendor_that_says_so_is_not_asked_again() {
    for (headers, message, words) in [
        (&[("x-should-retry", "false")][..], "The engine is gone", "failed"),
        (&[], "Your account has insufficient balance", "insufficient balance"),
    ] {
        let work = Work::new();
        let mode = Mode::new(Kind::OpenAi).fails(9, 503, headers, message);
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, ", dialect: openai", "contextWindow: 100000\n");
        let said = work.run(&[]).code(5);
        assert_eq!(vendor.completions().len(), 1, "{}", said.err);
        assert!(said.err.to_lowercase().contains(words) || said.err.contains(message), "{}", said.err);
    }
}

/// What the agent says that a run cost.
fn cost(site: &Site, reply: &Value) -> f64 {
    let detail = reply["detailHash"].as_str().unwrap();
    site.uwf(&["cas", "get", detail]).ok().json()["payload"]["cost"].as_f64().unwrap()
}

const PRICES: &str =
    "prices: { claude-opus-5-5: { input: 4, output: 20, cachedInput: 0.2, cacheWrite: 5 } }\n";

/// Forty turns with Claude: nearly all of what is sent is read from the cache, and our sum is the vendor's own.
#[test]
fn a_long_run_with_claude_is_paid_at_the_cached_price() {
    let script = |seen: &Seen| match seen.turn {
        turn if turn < 39 => {
            let arguments = json!({"path": "a.txt", "offset": 1 + turn * 10, "limit": 120});
            Turn::call("read_file", arguments).thinking("On.")
        }
        _ => Turn::text(ANSWER),
    };
    for stream in [true, false] {
        let work = Work::new();
        let mode = Mode::new(Kind::AnthropicAdaptive).max_output(128_000);
        let vendor = Vendor::answering(mode.clone(), script);
        let more = format!("contextWindow: 1000000\n{PRICES}");
        work.connect(&vendor, &mode, &format!(", dialect: anthropic, stream: {stream}"), &more);
        let reply = answered(work.run(&["--reasoning-effort", "low"]), &vendor, "forty turns");
        assert_eq!(reply["usage"]["turns"], 40);
        let charged = vendor.charged();
        let sent = charged.input + charged.cached + charged.written;
        assert!(charged.cached * 10 >= sent * 9, "{charged:?}");
        assert!(
            (cost(&work.site, &reply) - charged.usd).abs() < 1e-6,
            "{} is not {}",
            cost(&work.site, &reply),
            charged.usd
        );
        assert_eq!(reply["usage"]["inputTokens"], sent);
    }
}

#[test]
fn a_cost_that_is_told_wins_and_limits_a_run_without_prices() {
    for (kind, name) in [(Kind::OpenRouterClaude, "openrouter-marks"), (Kind::Xai, "xai")] {
        let work = Work::new();
        let mode = Mode::new(kind).max_output(128_000);
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, &format!(", dialect: {name}"), "contextWindow: 100000\n");
        let reply = answered(work.run(&["--max-cost", "9"]), &vendor, name);
        assert!(
            (cost(&work.site, &reply) - vendor.charged().usd).abs() < 1e-6,
            "{name}: {:?}",
            vendor.charged()
        );
        let said = work.run(&["--max-cost", "0.000001"]);
        let reply = answered(said, &vendor, name);
        assert_eq!(reply["usage"]["turns"], 2, "one turn, and the last one");
    }
    let work = Work::new();
    let mode = Mode::new(Kind::DeepSeek);
    let vendor = Vendor::answering(mode.clone(), works);
    work.connect(&vendor, &mode, ", dialect: openrouter", "contextWindow: 100000\n");
    let reply = answered(work.run(&["--max-cost", "9"]), &vendor, "nobody tells");
    assert_eq!(reply["usage"]["turns"], 2, "a limit that cannot be kept ends the run");
}

#[test]
fn a_servers_own_window_is_asked_for_and_a_silent_cut_is_seen() {
    for kind in [Kind::Vllm, Kind::Ollama] {
        let work = Work::new();
        let mode = Mode::new(kind).window(9000);
        let vendor = Vendor::answering(mode.clone(), works);
        work.connect(&vendor, &mode, "", "");
        let said = work.run(&[]);
        assert!(said.err.contains("the server has a window of 9000 tokens"), "{kind:?}: {}", said.err);
        answered(said, &vendor, &format!("{kind:?}"));
        assert!(vendor.completions().pop().unwrap().body.contains("lines: read again"), "{kind:?}");
    }
    let work = Work::new();
    let mode = Mode::new(Kind::Ollama).window(6000);
    let vendor = Vendor::answering(mode.clone(), works);
    work.connect(&vendor, &mode, "", "contextWindow: 100000\n");
    let said = work.run(&[]);
    assert!(said.err.contains("if it cuts what is longer than its window"), "{}", said.err);
}

#[test]
fn the_doctor_tries_a_call_and_its_result() {
    for (kind, name) in KINDS {
        let work = Work::new();
        let mode = Mode::new(kind).max_output(128_000).cache_min(500);
        let turns = vec![
            Turn::call("echo", json!({"text": "ready"})).thinking("Echo."),
            Turn::text("It gave ready."),
        ];
        let vendor = Vendor::start(mode.clone(), turns);
        work.connect(&vendor, &mode, &dialect(name), "contextWindow: 100000\n");
        let said = work.site.agent(&["doctor", "--online", "--format", "json"]);
        let online = said.ok().json()["online"].clone();
        let what = format!("{kind:?}: {online:#}\n{:#?}", vendor.refusals());
        assert_eq!((&online["error"], &online["toolCalled"]), (&Value::Null, &json!(true)), "{what}");
        assert_eq!(online["window"], json!({"tokens": 100_000, "from": "settings"}), "{what}");
        if matches!(kind, Kind::AnthropicAdaptive | Kind::OpenRouterClaude | Kind::Qwen | Kind::OpenAi) {
            assert!(online["usage"]["cachedTokens"].as_u64() > Some(0), "{what}");
        }
    }
}
